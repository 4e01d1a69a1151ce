"""If threads would finish at different times, several of them grow one tree: the forest is the same."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import weald
from tests import training_tables
from weald.engines import params
from weald.engines.native import NativeEngine

N_ROWS = 45_000  # minimum size for subtrees to be shared


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(N_ROWS, 6)), 3)
    X[rng.random(X.shape) < 0.02] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
    return X, signal + rng.normal(size=N_ROWS)


@pytest.mark.parametrize("n_trees", [1, 4, 8])
@pytest.mark.parametrize("task", ["two classes", "four classes", "numbers", "weighted bag"])
def test_threads_do_not_change_the_forest(table, task, n_trees):
    X, number = table
    y = {"two classes": number > 1, "four classes": np.digitize(number, [0, 1, 2])}.get(task, number)
    given = {"n_estimators": n_trees, "random_state": 5}
    if task == "weighted bag":
        y, given["class_weight"] = np.digitize(number, [0, 2]), "balanced_subsample"
    kind = weald.RandomForestRegressor if task == "numbers" else weald.RandomForestClassifier
    alone = kind(n_jobs=1, **given).fit(X, y).forest_
    for n_jobs in (2, 3, 4):  # numbers of trees that divide evenly by many threads, by two, and not by three
        together = kind(n_jobs=n_jobs, **given).fit(X, y).forest_
        assert together.fingerprint() == alone.fingerprint()


def test_categories_do_not_change_that(table):
    X, y = table
    labels = np.digitize(np.nan_to_num(X[:, 1]), np.linspace(-2, 2, 30))
    given = {"n_estimators": 1, "random_state": 5, "categorical_features": [6]}
    alone = weald.RandomForestRegressor(n_jobs=1, **given).fit(np.column_stack([X, labels]), y).forest_
    together = weald.RandomForestRegressor(n_jobs=3, **given).fit(np.column_stack([X, labels]), y).forest_
    assert (alone.flags & 2).any()
    assert together.fingerprint() == alone.fingerprint()


def coded_table(table, model, y):
    """Code a table as on a worker of a cluster, for calls that share it."""
    reading = training_tables.read(model, table[0], y, None)
    coded = training_tables.code(model, reading)
    return coded, params.resolve(params.gather(model), reading.table, reading.classes, None)


@pytest.mark.parametrize("n_slots", [2, 3, 9])
@pytest.mark.parametrize("task", ["two classes", "numbers"])
def test_calls_that_share_threads_grow_the_same_trees(table, task, n_slots):
    kind, y = weald.RandomForestRegressor, table[1]
    if task == "two classes":
        kind, y = weald.RandomForestClassifier, table[1] > 1
    model = kind(n_estimators="auto")
    coded, growth = coded_table(table, model, y)
    engine = NativeEngine()
    with ThreadPoolExecutor(3) as pool:  # fewer than slots, as many, more; and fewer towards the end
        shared = list(pool.map(lambda tree: engine.grow_with_help(coded, growth, 5, tree, 1, n_slots), range(5)))
    alone = [engine.grow(coded, growth, 5, tree, 1) for tree in range(5)]
    assert [forest.fingerprint() for forest in shared] == [forest.fingerprint() for forest in alone]


def test_helpers_grow_whole_trees_of_short_tables(table):
    X, y = (some[:500] for some in table)
    coded, growth = coded_table((X, y), weald.RandomForestRegressor(n_estimators="auto"), y)
    alone, shared = (NativeEngine().grow_with_help(coded, growth, 5, 0, 30, n_slots) for n_slots in (1, 4))
    assert shared.fingerprint() == alone.fingerprint()


def test_a_single_tree_is_the_same(table):
    X, y = table
    alone = weald.DecisionTreeRegressor(n_jobs=1).fit(X, y)
    assert weald.DecisionTreeRegressor(n_jobs=3).fit(X, y).forest_.fingerprint() == alone.forest_.fingerprint()


@pytest.mark.parametrize("task", ["classes", "weighted classes", "numbers"])
def test_large_forests_are_their_trees_one_behind_the_other(table, task):
    X, number = (some[:2000] for some in table)
    X = np.column_stack([X, np.digitize(np.nan_to_num(X[:, 1]), np.linspace(-2, 2, 30))])
    kind = weald.RandomForestRegressor if task == "numbers" else weald.RandomForestClassifier
    y = number if task == "numbers" else np.digitize(number, [0, 1, 2])
    weight = np.linspace(0.5, 2, len(y)) if task == "weighted classes" else None
    given = {"random_state": 5, "categorical_features": [6], "n_jobs": 3, "max_features": 1.0}
    forest = kind(n_estimators=40, **given).fit(X, y, weight).forest_
    arrays = forest.arrays()
    assert sum(array.nbytes for array in arrays.values()) > 2**20  # smaller forests are joined by one thread
    grown = kind(n_estimators=1, warm_start=True, **given)
    for n_trees in range(1, 41):
        grown.set_params(n_estimators=n_trees).fit(X, y, weight)
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(grown.forest_, name), array, err_msg=name)
