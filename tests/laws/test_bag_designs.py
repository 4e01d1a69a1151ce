"""Strata and groups: every engine draws the same bags, whatever the order of rows and the names of groups."""

from dataclasses import replace

import numpy as np
import pytest

from tests.laws.cases import (
    CORES,
    CRITERIA,
    ENGINES,
    REFERENCE,
    Case,
    assert_same,
    change,
    fingerprint,
    grow,
    is_of_classes,
    make_growth,
    make_table,
    outcome,
)
from weald.engines.bagging import plan_bags

pytestmark = pytest.mark.sanitize

each = pytest.mark.parametrize("criterion", CRITERIA)
both = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())

# bootstrap, max_samples, kinds of groups and strata
DESIGNS = {
    "balanced": ("balanced", None, None, None),
    "balanced, fewer": ("balanced", 0.4, None, None),
    "by class": (True, {0: 7, 1: 0.5}, None, None),
    "strata": (True, None, None, "any"),
    "strata, fewer": (True, 0.3, None, "any"),
    "groups": (True, None, "any", None),
    "groups, few": (True, 3, "any", None),
    "groups in strata": (True, None, "in strata", "any"),
    "balanced groups": ("balanced", None, "in classes", None),
}


def designs(criterion):
    return [
        name
        for name, (bootstrap, max_samples, groups, _) in DESIGNS.items()
        if is_of_classes(criterion)
        or (bootstrap is True and not isinstance(max_samples, dict) and groups != "in classes")
    ]


each_design = pytest.mark.parametrize(
    ("criterion", "design"), [(criterion, design) for criterion in CRITERIA for design in designs(criterion)]
)


def make_case(criterion, design, weights="none", seed=0):
    """Make a small table with groups and strata, and growth parameters. Groups need integer weights."""
    bootstrap, max_samples, groups, strata = DESIGNS[design]
    weights = "whole" if groups and weights == "fractional" else weights
    rng = np.random.default_rng(seed)
    table = make_table(
        60, ("few", "rounded", "few"), 3 if is_of_classes(criterion) else 0, weights=weights, missing=0.1, seed=seed
    )
    of_stratum = rng.integers(0, 3, 60).astype(np.int32)
    inside = {"in strata": of_stratum, "in classes": table.target, "any": np.zeros(60), None: None}[groups]
    if inside is not None:
        numbers = np.unique(inside * 10 + rng.integers(0, 10, 60), return_inverse=True)[1].astype(np.int32)
        table = replace(table, groups=numbers)
    if strata:
        table = replace(table, strata=of_stratum)
    bags = plan_bags(bootstrap, max_samples, table, np.arange(3))
    growth = make_growth(table, criterion).with_bags(bags)
    return Case(table, growth, seed=seed, n_trees=3)


def take_rows(table, rows):
    arrays = {name: getattr(table, name) for name in ("X", "target", "weight", "groups", "strata")}
    return change(table, **{name: None if array is None else array[rows] for name, array in arrays.items()})


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@each_design
def test_engines_draw_the_same_bags_and_grow_the_same_trees(criterion, design, weights):
    for seed in range(2):
        case = make_case(criterion, design, weights, seed)
        expected, origins = outcome(REFERENCE, case), grow(REFERENCE, case).origins
        for engine in CORES.values():
            assert_same(outcome(engine, case), expected)
            assert grow(engine, case).origins == origins


@both
@each_design
def test_neither_the_order_of_rows_nor_the_names_of_groups_matter(criterion, design, engine):
    case = make_case(criterion, design)
    rng = np.random.default_rng(1)
    shuffled = take_rows(case.table, rng.permutation(60))
    if shuffled.groups is not None:
        shuffled = replace(shuffled, groups=rng.permutation(60)[shuffled.groups].astype(np.int32))
        shuffled = replace(shuffled, groups=np.unique(shuffled.groups, return_inverse=True)[1].astype(np.int32))
    one, other = grow(engine, case), grow(engine, case.on(shuffled))
    assert one.fingerprint() == other.fingerprint()
    assert one.origins == other.origins


@both
@each_design
def test_a_weight_of_k_is_the_row_k_times(criterion, design, engine):
    case = make_case(criterion, design, "whole")
    copies = take_rows(case.table, np.repeat(np.arange(60), case.table.weight.astype(int)))
    assert fingerprint(engine, case.on(change(copies, weight=None))) == fingerprint(engine, case)


@both
@each
def test_one_stratum_is_no_stratum(criterion, engine):
    table = make_table(40, ("many", "few"), 3 if is_of_classes(criterion) else 0, weights="fractional")
    growth = make_growth(table, criterion)
    plain = Case(table, growth)
    stratified = replace(table, strata=np.zeros(40, dtype=np.int32))
    case = Case(stratified, growth.with_bags(plan_bags(True, None, stratified, None)))
    assert case.growth.strata == "given"
    assert fingerprint(engine, case) == fingerprint(engine, plain)


def bags_of(engine, case):
    coded = engine.code(case.table, case.max_bins, 1, None)
    return engine.bags(coded, case.growth, grow(engine, case).origins, 1)


@both
@pytest.mark.parametrize("weights", ["none", "whole"])
@pytest.mark.parametrize("design", [name for name, (*_, groups, _) in DESIGNS.items() if groups])
def test_groups_are_whole_in_or_out_of_a_bag(design, weights, engine):
    case = make_case("gini", design, weights)
    times = bags_of(engine, case) / (1 if case.table.weight is None else case.table.weight)
    for bag in times:
        of_group = [set(bag[case.table.groups == g]) for g in range(case.table.groups.max() + 1)]
        assert all(len(drawn) == 1 for drawn in of_group)
        assert sum(next(iter(drawn)) for drawn in of_group) == sum(case.growth.draws)


@both
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("design", [name for name, (*_, groups, _) in DESIGNS.items() if not groups])
def test_each_stratum_has_its_draws(design, weights, engine):
    case = make_case("gini", design, weights)
    strata = case.table.target if case.table.strata is None else case.table.strata
    for bag in bags_of(engine, case):
        assert tuple(np.bincount(strata, weights=bag).astype(int)) == case.growth.draws
