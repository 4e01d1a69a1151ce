"""Faults that broke other libraries, and the test that checks each of them here."""

import ast
from pathlib import Path

import pytest

from tests.data.test_bad_inputs import SCRIPTS

TESTS = Path(__file__).parents[1]

# File -> fault -> test; words after "script:" name one of the scripts of test_bad_inputs.py, * is the whole file.
FAULTS = {
    "data/test_bad_inputs.py": {
        "a child out of range": "script:forests with a child, a feature or a class out of range",
        "an array that is declared longer than it is": "script:arrays of other lengths",
        "many more threads than there can be": "script:many more threads than there can be",
        "a share of features below one": "test_a_thousandth_of_the_features_is_one",
        "more bins than rows": "test_more_codes_than_rows_change_nothing",
        "parameters out of range": "test_bad_parameters_are_refused_by_name",
        "no memory for the trees": "script:no memory for the trees",
        "more leaves to name than 32 bits can count": "script:more leaves to name than 32 bits can count",
        "weights of another shape": "test_bad_weights_are_refused_by_name",
        "memory that grows over repeated fits": "test_memory_does_not_grow_over_repeated_fits",
        "two models of one file that disturb each other": "script:two models of one file",
        "tables at the edge": "test_tables_at_the_edge_are_learned_alike",
        "odd types, orders and strides": "test_odd_features_are_read",
        "bad features": "test_bad_features_are_refused_by_name",
        "bad targets": "test_bad_targets_are_refused_by_name",
        "a table that another thread writes to": "script:a table that another thread writes to",
        "a subinterpreter": "test_a_subinterpreter_is_refused_when_weald_is_imported",
    },
    "data/test_categories.py": {
        "the index of a set of categories out of range": "test_tampered_sets_are_refused",
    },
    "engines/test_interrupt.py": {
        "an error among parallel work": "test_an_error_of_the_watcher_stops_the_fit",
        "Ctrl-C that is not heard": "test_a_fit_is_interrupted_and_leaves_the_estimator_as_it_was",
    },
    "io/test_safety.py": {
        "children that are not side by side": "test_a_wrong_file_that_is_signed_is_refused_or_harmless",
        "nodes of a model that were tampered with": "test_every_value_of_every_byte_counts",
        "a model without trees": "test_a_forest_that_claims_too_many_trees_features_or_classes_is_refused",
        "a safe reader that falls back to an unsafe one": "test_what_is_no_weald_file_is_refused_and_not_run",
    },
    "io/export/test_onnx_graph.py": {
        "an exported graph with wrong ids": "*",
    },
    "io/test_files.py": {
        "a pickle that was damaged": "test_a_damaged_pickle_is_refused",
    },
    "reports/test_report.py": {
        "a page that asks for something from elsewhere": "test_a_page_asks_for_nothing_from_elsewhere",
        "columns named like markup": "test_hostile_names_are_text_and_nothing_else",
    },
    "dask/test_fit.py": {
        "a worker that is lost": "test_a_worker_that_dies_costs_nothing_but_time",
        "a cluster that waits for ever": "test_a_cluster_without_workers_is_named",
        "workers without data": "test_any_partitions_give_the_same_forest",
    },
    "engines/test_fork.py": {
        "a fork after a fit": "test_after_a_fit_a_child_can_fit",
        "a pool that a child lacks": "test_a_fork_while_another_thread_fits_leaves_a_child_that_can_fit",
    },
    "engines/test_threads.py": {
        "more threads than there is a share of the machine": "test_the_share_is_what_joblib_says",
    },
    "engines/test_beyond_32_bits.py": {
        "more than 2**31 filled cells": "test_tables_of_more_than_2_to_the_31_cells_are_predicted",
    },
    "laws/test_sparse.py": {
        "64-bit indices": "test_every_format_and_index_is_read",
    },
    "laws/test_packed.py": {
        "shares that depend on threads": "test_neither_threads_nor_order_nor_batches_change_a_bit",
    },
    "golden/test_golden.py": {
        "ties that another Python decides otherwise": "*",
    },
    "project/test_symbols.py": {
        "two runtimes in one process": "test_nothing_is_shown_but_the_door_for_python",
    },
    "estimators/test_concurrent_use.py": {
        "one estimator, several threads": "test_one_estimator_fitted_by_several_threads_is_fitted_by_one_of_them",
    },
    "data/test_mmap_checks.py": {
        "a map of a file that was cut short": "test_a_map_of_a_file_that_was_cut_short_is_refused_before_it_is_read",
    },
}


@pytest.mark.parametrize(("file", "fault"), [(file, fault) for file, faults in FAULTS.items() for fault in faults])
def test_a_fault_has_a_test(file, fault):
    name = FAULTS[file][fault]
    if name.startswith("script:"):
        assert name.removeprefix("script:") in SCRIPTS
        return
    names = {node.name for node in ast.walk(ast.parse((TESTS / file).read_text())) if isinstance(node, ast.FunctionDef)}
    assert name in names or (name == "*" and any(found.startswith("test_") for found in names))
