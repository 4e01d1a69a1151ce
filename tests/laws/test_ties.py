"""Ties between features favor no column, also if all features are considered.

A duplicated column ties at every node, so it shows which one wins. On noise the importances of columns are
exchangeable. A single tree without a seed is the exception: it draws nothing, and the first column wins.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import weald
from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import (
    CORES,
    CRITERIA,
    ENGINES,
    OF_SEVERAL_TARGETS,
    REFERENCE,
    Case,
    cases,
    change,
    hold_against_definition,
    is_of_classes,
    make_growth,
    make_table,
    suited,
)
from tests.laws.test_multi_output import grow as grow_targets
from tests.laws.test_multi_output import other_targets, with_targets
from weald.estimators.fit import random_state_of

each = pytest.mark.parametrize("criterion", CRITERIA)
some_data = given(data=st.data())

TREES = (weald.DecisionTreeClassifier, weald.DecisionTreeRegressor)
ESTIMATORS = (
    *TREES,
    *(weald.ExtraTreeClassifier, weald.ExtraTreeRegressor),
    *(weald.RandomForestClassifier, weald.RandomForestRegressor),
    *(weald.ExtraTreesClassifier, weald.ExtraTreesRegressor),
)
every = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def looking_at_all(case, **changes):
    """Let every node consider all features."""
    return replace(case, growth=replace(case.growth, max_features=case.table.n_features, **changes))


def with_twins(table, n_times=3):
    """Duplicate columns, every other one mirrored."""
    signs = [1 if turn % 2 == 0 else -1 for turn in range(n_times)]
    return change(table, X=np.column_stack([sign * table.X for sign in signs]))


# ------------------------------------------------------------------------------------------------------ engines agree


@pytest.mark.sanitize
@each
@some_data
@settings(max_examples=8 if UNDER_SANITIZERS else 60)
def test_engines_agree_on_ties_of_all_features(criterion, data):
    hold_against_definition(looking_at_all(data.draw(cases(criterion)), ties_by_column=False))


@pytest.mark.parametrize("criterion", OF_SEVERAL_TARGETS)
@some_data
@settings(max_examples=12)
def test_engines_agree_on_ties_of_all_features_with_several_targets(criterion, data):
    case = looking_at_all(data.draw(cases(criterion)), ties_by_column=False, category_penalty=0.0)
    case = with_targets(case, other_targets(case))
    expected = [forest.fingerprint() for forest in grow_targets(REFERENCE, case)]
    for engine in CORES.values():
        assert [forest.fingerprint() for forest in grow_targets(engine, case)] == expected


@pytest.mark.sanitize
@pytest.mark.parametrize("ties_by_column", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_rows", [2, 3, 7, 20, 70, 300])
@each
def test_engines_agree_on_columns_that_are_there_several_times(criterion, n_rows, missing, ties_by_column):
    """Few rows and many, so that each search method is used; more columns than a vector has lanes."""
    for n_classes, max_bins in itertools.product((2, 5) if is_of_classes(criterion) else (0,), (0, 255)):
        table = make_table(n_rows, ("many", "few", "binary", "binary"), n_classes, missing=missing, seed=n_rows)
        table = with_twins(table)
        growth = make_growth(table, criterion, max_features=12, max_depth=7, ties_by_column=ties_by_column)
        hold_against_definition(Case(table, growth, max_bins, n_trees=1))
        random = replace(growth, random_cuts=True, bootstrap=False)
        hold_against_definition(Case(table, random, max_bins, n_trees=1))


@pytest.mark.parametrize("n_copies", [16, 17, 30])
@each
def test_engines_agree_on_ties_of_wide_tables(criterion, n_copies):
    """As many features as a word has bits, and more."""
    table = make_table(
        30, ("many", "few", "binary", "rounded") * n_copies, 2 if is_of_classes(criterion) else 0, seed=3
    )
    for how in ({}, {"random_cuts": True}, {"feature_weights": (0.0, 1.0, 3.0, 1.0) * n_copies}):
        growth = make_growth(table, criterion, max_features=table.n_features, **how)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("target", ["noise", "rounded", "balanced"])
@each
def test_engines_agree_on_ties_of_bins_that_are_handed_down(criterion, target):
    table = make_table(1500, ("many", "few", "binary"), 2 if is_of_classes(criterion) else 0, target=target, seed=4)
    table = with_twins(table)
    hold_against_definition(Case(table, make_growth(table, criterion, max_features=9, max_depth=4), n_trees=1))


# --------------------------------------------------------------------------------------------- no column is preferred


def make_model(kind, max_features, seed):
    words = {"n_estimators": 8} if "n_estimators" in kind().get_params() else {}
    return kind(max_features=max_features, random_state=seed, **words)


def mean_importances(kind, max_features, tables):
    """Average the importances of columns over models of several tables; return means and their standard errors."""
    found = [make_model(kind, max_features, seed).fit(X, y).feature_importances_ for seed, (X, y) in enumerate(tables)]
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))


def noise(kind, n_tables, n_rows, n_columns):
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 9, (n_rows, n_columns)), rng.normal(size=n_rows)
        yield X, (y > 0) if kind.__name__.endswith("Classifier") else y


@pytest.mark.parametrize("max_features", [1, 2, 4])
@every
def test_columns_of_noise_are_exchangeable(kind, max_features):
    """Each has the same importance on average, at any position."""
    means, errors = mean_importances(kind, max_features, noise(kind, 200, 25, 4))
    assert np.all(np.abs(means - 1 / 4) < 4 * errors)


@pytest.mark.parametrize("max_features", [1, 3, 5])
@every
def test_copies_of_a_column_share_its_importance(kind, max_features):
    tables = [(np.repeat(X, 5, axis=1), y) for X, y in noise(kind, 200, 25, 1)]
    means, errors = mean_importances(kind, max_features, tables)
    assert np.all(np.abs(means - 1 / 5) < 4 * errors)


@pytest.mark.parametrize("engine", ENGINES)
@each
def test_where_ties_go_by_column_the_first_copy_wins(criterion, engine):
    table = suited(criterion, make_table(40, ("many",), 2 if is_of_classes(criterion) else 0))
    table = change(table, X=np.repeat(table.X, 5, axis=1))
    growth = make_growth(table, criterion, max_features=5)
    coded = ENGINES[engine].code(table, 0, 1, None)
    grown = [ENGINES[engine].grow(coded, g, 1, 0, 5, 1, None) for g in (growth, replace(growth, ties_by_column=True))]
    used = [set(forest.feature[forest.feature >= 0].tolist()) for forest in grown]
    assert used == [{0, 1, 2, 3, 4}, {0}]


# -------------------------------------------------------------------------------------------------------- single trees


def table_with_ties(kind):
    rng = np.random.default_rng(5)
    X = np.repeat(rng.integers(0, 6, (60, 3)), 2, axis=1)
    return X, (X.sum(axis=1) % 3 if kind.__name__.endswith("Classifier") else rng.integers(0, 3, 60).astype(float))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TREES)
def test_a_tree_without_a_seed_draws_none_and_ties_go_to_the_first_column(kind, engine):
    X, y = table_with_ties(kind)
    before = np.random.get_state()  # noqa: NPY002  (None draws from the global generator)
    trees = [kind(engine=engine).fit(X, y) for _ in range(2)]
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert {tree.seed_ for tree in trees} == {0}
    assert trees[0].growth_.ties_by_column
    assert trees[0].forest_.fingerprint() == trees[1].forest_.fingerprint()
    assert set(trees[0].forest_.feature.tolist()) <= {-1, 0, 2, 4}


@pytest.mark.parametrize("kind", TREES)
def test_a_tree_without_a_seed_is_saved_and_grown_again(kind, tmp_path):
    X, y = table_with_ties(kind)
    tree = kind().fit(X, y)
    tree.save(tmp_path / "tree.weald")
    loaded = weald.load(tmp_path / "tree.weald")
    assert (loaded.growth_, loaded.seed_, loaded.random_state) == (tree.growth_, 0, None)
    assert random_state_of(loaded) is None
    again = clone(loaded).set_params(random_state=random_state_of(loaded)).fit(X, y)
    assert again.forest_.fingerprint() == tree.forest_.fingerprint()
    seeded = kind(random_state=4).fit(X, y)
    assert random_state_of(seeded) == 4


@pytest.mark.parametrize("kind", TREES)
def test_a_tree_of_a_seed_breaks_ties_by_it(kind):
    X, y = table_with_ties(kind)
    prints = {kind(random_state=seed).fit(X, y).forest_.fingerprint() for seed in (0, 0, 1, None)}
    assert len(prints) == 3


@pytest.mark.parametrize("how", [{}, {"max_depth": 3}, {"max_leaf_nodes": 6}, {"min_samples_leaf": 4}])
@pytest.mark.parametrize("kind", TREES)
def test_a_tree_is_a_forest_of_one_without_bootstrap(kind, how):
    X, y = table_with_ties(kind)
    forest_of = weald.RandomForestClassifier if kind is weald.DecisionTreeClassifier else weald.RandomForestRegressor
    for seed in range(5):
        forest = forest_of(1, bootstrap=False, max_features=None, random_state=seed, **how).fit(X, y).forest_
        assert kind(random_state=seed, **how).fit(X, y).forest_.fingerprint() == forest.fingerprint()


@pytest.mark.parametrize(
    "how", [{"max_features": 2}, {"splitter": "random"}, {"max_features": 2, "feature_weights": [1, 1, 1, 0, 0, 0]}]
)
@pytest.mark.parametrize("kind", TREES)
def test_a_tree_that_draws_has_a_seed(kind, how):
    X, y = table_with_ties(kind)
    tree = kind(**how).fit(X, y)
    assert not tree.growth_.ties_by_column
    again = kind(random_state=tree.seed_, **how).fit(X, y)
    assert again.forest_.fingerprint() == tree.forest_.fingerprint()


@pytest.mark.parametrize("kind", TREES)
def test_features_of_weight_0_are_not_counted(kind):
    """Two of six features have a weight, and two are considered: these are all."""
    X, y = table_with_ties(kind)
    how = {"max_features": 2, "feature_weights": [1, 1, 0, 0, 0, 0]}
    assert kind(**how).fit(X, y).growth_.ties_by_column
    tree = kind(**how, random_state=3).fit(X, y)
    assert set(tree.forest_.feature.tolist()) <= {-1, 0, 1}
