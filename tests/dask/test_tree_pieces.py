"""A tree grown in pieces equals the tree that one thread grows."""

import numpy as np
import pytest

import weald
from tests import training_tables
from weald.dask.joining import TreeArrays
from weald.dask.tree_pieces import Piece, make_tree
from weald.engines import params
from weald.engines.native import NativeEngine
from weald.engines.reference.engine import ReferenceEngine

N_ROWS = 3000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(N_ROWS, 6)), 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 5] = np.digitize(np.nan_to_num(X[:, 1]), np.linspace(-2, 2, 30))
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
    return X, signal + rng.normal(size=N_ROWS)


TASKS = {
    "two classes": (weald.RandomForestClassifier, {}),
    "four classes": (weald.RandomForestClassifier, {}),
    "numbers": (weald.RandomForestRegressor, {}),
    "categories": (weald.RandomForestRegressor, {"categorical_features": [5], "max_features": 1.0}),
    "classes of categories": (weald.RandomForestClassifier, {"categorical_features": [5], "max_features": 1.0}),
    "bound": (weald.RandomForestClassifier, {"monotonic_cst": [1, 0, 0, 0, 0, 0], "max_features": 1.0}),
    "drawn cuts": (weald.ExtraTreesRegressor, {}),
    "few leaves": (weald.RandomForestClassifier, {"min_samples_leaf": 500}),
    "one leaf": (weald.RandomForestRegressor, {"max_depth": 0}),
    "weights": (weald.RandomForestRegressor, {}),
    "medians": (weald.RandomForestRegressor, {"criterion": "absolute_error"}),
    "counts": (weald.RandomForestRegressor, {"criterion": "poisson"}),
    "empty bags": (weald.RandomForestClassifier, {"max_samples": 1, "class_weight": {0: 0}}),
    "empty bags, bound": (
        weald.RandomForestClassifier,
        {"max_samples": 1, "class_weight": {1: 0}, "monotonic_cst": [1, 0, 0, 0, 0, 0]},
    ),
    "few bins": (weald.RandomForestClassifier, {"max_bins": 7}),
}


def coded_table(engine, task, X, number):
    kind, given = TASKS[task]
    model = kind(n_estimators="auto", **given)
    y = (
        number
        if kind.__name__.endswith("Regressor")
        else np.digitize(number, [1] if task != "four classes" else [0, 1, 2])
    )
    y = np.maximum(y, 0.0) if task == "counts" else y
    weight = np.linspace(0.5, 2, len(y)) if task == "weights" else None
    reading = training_tables.read(model, X, y, weight)
    growth = params.resolve(params.gather(model), reading.table, reading.classes, None)
    return engine.code(reading.table, params.count_bins(model.max_bins)), growth


def grow_in_pieces(coded, growth, tree, n_pieces):
    grown = [NativeEngine().grow_piece(coded, growth, 5, tree, i, n_pieces) for i in range(n_pieces)]
    return make_tree([Piece(TreeArrays.of(forest), begin, end) for forest, begin, end in grown])


@pytest.mark.parametrize("n_pieces", [1, 2, 3, 16])
@pytest.mark.parametrize("task", TASKS)
def test_the_tree_is_the_same(table, task, n_pieces):
    coded, growth = coded_table(NativeEngine(), task, *table)
    for tree in range(3):
        alone = NativeEngine().grow(coded, growth, 5, tree, 1)
        joined = grow_in_pieces(coded, growth, tree, n_pieces)
        for name, array in alone.arrays().items():
            np.testing.assert_array_equal(getattr(joined, name), array, err_msg=name)
        assert joined.fingerprint() == alone.fingerprint()


@pytest.mark.parametrize("task", ["two classes", "four classes", "numbers", "classes of categories"])
def test_the_tree_of_a_long_table_is_the_same(table, task):
    X, number = (np.concatenate([some + 0.01 * i for i in range(20)]) for some in table)
    X[:, 5] = np.round(X[:, 5])
    coded, growth = coded_table(NativeEngine(), task, X, number)
    alone = NativeEngine().grow(coded, growth, 5, 1, 1)
    assert grow_in_pieces(coded, growth, 1, 4).fingerprint() == alone.fingerprint()


def test_it_is_that_of_the_reference(table):
    X, number = (some[:300] for some in table)
    coded, growth = coded_table(NativeEngine(), "two classes", X, number)
    reference = ReferenceEngine()
    tree = reference.grow(coded_table(reference, "two classes", X, number)[0], growth, 5, 2, 1)
    assert grow_in_pieces(coded, growth, 2, 4).fingerprint() == tree.fingerprint()


def test_more_pieces_than_rows(table):
    X, number = (some[:5] for some in table)
    coded, growth = coded_table(NativeEngine(), "numbers", X, number)
    alone = NativeEngine().grow(coded, growth, 5, 0, 1)
    assert grow_in_pieces(coded, growth, 0, 9).fingerprint() == alone.fingerprint()


def test_a_piece_leaves_others_alone(table):
    coded, growth = coded_table(NativeEngine(), "numbers", *table)
    n_nodes = NativeEngine().grow(coded, growth, 5, 0, 1).n_nodes
    sizes = []
    for i in range(4):
        forest, begin, end = NativeEngine().grow_piece(coded, growth, 5, 0, i, 4)
        sizes.append(end - begin)
        assert forest.n_nodes < end - begin + 100  # the nodes on the way to the piece, and placeholders
    assert sum(sizes) == n_nodes
    assert max(sizes) < n_nodes / 3


def test_trees_that_have_no_pieces_are_refused(table):
    coded, growth = coded_table(NativeEngine(), "numbers", *table)
    with pytest.raises(ValueError, match="out of range"):
        NativeEngine().grow_piece(coded, growth, 5, 0, 4, 4)
    bound = params.resolve(
        params.gather(weald.RandomForestRegressor(max_leaf_nodes=8)),
        training_tables.read(weald.RandomForestRegressor(), *table, None).table,
        None,
        None,
    )
    with pytest.raises(ValueError, match="cannot be grown in parts"):
        NativeEngine().grow_piece(coded, bound, 5, 0, 0, 4)
