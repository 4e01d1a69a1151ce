"""A sparse table gives the same results as the dense table, bit for bit."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import weald
from tests.laws.cases import CORES, CRITERIA, REFERENCE, Case, is_of_classes, make_growth, make_table
from weald.data.table import Table

pytestmark = pytest.mark.sanitize

each = pytest.mark.parametrize("criterion", CRITERIA)


def make_sparse(n_rows, n_columns, *, filled=0.1, n_values=None, seed=0):
    """Make a table, most of it zero: negative values, missing ones, stored zeros, full and empty columns."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n_rows, n_columns)) < filled, np.round(rng.normal(size=(n_rows, n_columns)), 1), 0.0)
    X[rng.random(X.shape) < 0.01] = np.nan
    X[:, 0] = rng.normal(size=n_rows)
    X[:, 1] = 0.0
    X[:, 2] = np.nan
    X[:, 3] = np.where(rng.random(n_rows) < 0.5, 0.0, -1.0)
    if n_values:
        X[:, 4] = np.where(rng.random(n_rows) < 0.3, 0.0, rng.integers(-n_values, n_values, n_rows))
    stored = sparse.csr_array(X)
    stored.data[stored.data == -1.0] = 0.0  # some zeros are stored
    return stored.toarray(), stored


def tables(criterion, weights="none", **words):
    X, stored = make_sparse(words.pop("n_rows", 120), words.pop("n_columns", 25), **words)
    plain = make_table(len(X), ("many",), 3 if is_of_classes(criterion) else 0, weights=weights, target="noise")
    signal = np.nan_to_num(X[:, [0, 3, 5, 6]]).sum(axis=1)
    target = np.digitize(signal, [-0.5, 0.5]).astype(np.int32) if plain.n_classes else signal
    rest = (target, plain.n_classes, plain.weight, plain.weights_whole, plain.size)
    return Table(X, *rest), Table(stored, *rest)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@each
def test_sparse_and_dense_tables_give_the_same_forest(criterion, weights):
    dense, stored = tables(criterion, weights)
    for given in ({}, {"max_features": 25}, {"max_leaf_nodes": 9}, {"bootstrap": False}):
        growth = make_growth(dense, criterion, **given)
        expected = look(REFERENCE, Case(dense, growth))
        for engine in (REFERENCE, *CORES.values()):
            found = look(engine, Case(stored, growth))
            for name, array in found.items():
                assert np.array_equal(array, expected[name], equal_nan=True), name


def look(engine, case):
    """Run all operations of an engine on a table."""
    coded = engine.code(case.table, case.max_bins, 1, None)
    forest = engine.grow(coded, case.growth, case.seed, 0, case.n_trees, 1, None)
    predicted = engine.sum_votes_out_of_bag(coded, case.growth, forest, case.table.X, "soft", 1, None)
    return {
        "data fingerprints": np.array([coded.fingerprint, coded.values], dtype=np.uint64),
        **forest.arrays(),
        "soft votes out of bag": predicted.sums,
        "soft trees out of bag": predicted.n_trees,
    }


@pytest.mark.parametrize("max_bins", [0, 2, 7, 300])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_sparse_columns_have_the_codes_of_dense_ones(max_bins, weights):
    dense, stored = tables("squared_error", weights, n_rows=700, n_columns=8, n_values=400)
    for engine in CORES.values():
        one, other = engine.code(dense, max_bins, 2, None), engine.code(stored, max_bins, 2, None)
        assert (one.fingerprint, one.values) == (other.fingerprint, other.values)
        for f in range(8):
            for a, b in zip(one.column(f), other.column(f), strict=True):
                assert np.array_equal(a, b)


def test_a_sample_of_sparse_rows_is_that_of_dense_ones():
    n_rows = 2**18 + 500
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n_rows, 2)) < 0.2, rng.integers(-900, 900, (n_rows, 2)), 0).astype(float)
    rest = (rng.integers(0, 2, n_rows).astype(np.int32), 2, None, True, n_rows)
    (engine, *_) = CORES.values()
    one, other = (engine.code(Table(x, *rest), 50, 2, None) for x in (X, sparse.csr_array(X)))
    assert (one.fingerprint, one.values) == (other.fingerprint, other.values)
    assert len(one.column(0)[1]) == 50


FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr")


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("layout", FORMATS)
def test_every_format_and_index_is_read(layout, index):
    X, stored = make_sparse(90, 12)
    y = X[:, 3] + X[:, 5] > 0
    given = stored.asformat(layout)
    if layout in ("csr", "csc"):
        given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few trees, some rows are in every bag
        one, other = (
            weald.RandomForestClassifier(5, random_state=0, oob_score=True).fit(x, y, sample_weight=np.arange(90) % 3)
            for x in (X, given)
        )
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    assert one.oob_error_ == other.oob_error_
    for method in ("predict", "predict_proba", "apply"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(given))
    assert (one.decision_path(X)[0] != other.decision_path(given)[0]).nnz == 0


def test_entries_of_one_place_are_added_up_and_the_users_own_stays():
    stored = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3, 3])), shape=(3, 2))
    tree = weald.DecisionTreeClassifier().fit(stored, [0, 1, 0])
    assert stored.nnz == 3
    assert tree.predict(sparse.csr_array(np.array([[3.0, 0.0], [0.0, 5.0]]))).tolist() == [0, 1]


def test_rows_of_many_columns_are_walked_block_by_block():
    stored = sparse.csr_array(sparse.random_array((200, 2**16), density=1e-3, rng=0))
    y = stored[:, [5]].toarray().ravel() + np.arange(200) % 2
    tree = weald.DecisionTreeRegressor(max_features=2**10, random_state=0).fit(stored, y)
    np.testing.assert_array_equal(tree.predict(stored), tree.predict(stored.toarray()))


def test_a_row_of_a_very_large_weight_is_many_rows():
    X, stored = make_sparse(300, 12)
    weight = np.where(np.arange(300) % 50 == 0, 70_000, 1)
    y = np.nan_to_num(X[:, 3] + X[:, 5]) > 0
    one, other = (
        weald.RandomForestClassifier(3, random_state=0, bootstrap=False, max_features=0.5).fit(x, y, weight)
        for x in (X, stored)
    )
    assert one.forest_.fingerprint() == other.forest_.fingerprint()


def test_large_nodes_of_few_filled_cells_are_searched_alike():
    """If most rows are zero, they are searched as one row per class."""
    rng = np.random.default_rng(0)
    filled = rng.random((3000, 40)) < np.where(np.arange(40) < 20, 0.02, 0.002)
    X = np.where(filled, rng.integers(-3, 4, (3000, 40)), 0).astype(float)
    X[rng.random(X.shape) < 0.0005] = np.nan
    for n_classes in (2, 4, 7):
        y = (np.nan_to_num(X[:, ::4]).sum(axis=1) + rng.integers(0, 2, 3000)) % n_classes
        for given in ({}, {"class_weight": "balanced", "min_samples_leaf": 5}, {"max_leaf_nodes": 30}):
            one, other = (
                weald.RandomForestClassifier(2, random_state=0, **given).fit(x, y) for x in (X, sparse.csc_array(X))
            )
            assert one.forest_.fingerprint() == other.forest_.fingerprint()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_rows", [40, 200, 256, 300])
def test_nodes_that_are_sorted_whole_are_searched_whole(n_rows, n_classes):
    """Searches of few rows have already read all rows of the node, so none may be left out."""
    rng = np.random.default_rng(n_rows + n_classes)
    X = np.where(rng.random((n_rows, 30)) < 0.04, rng.integers(1, 5, (n_rows, 30)), 0).astype(float)
    y = (X.sum(axis=1) + rng.integers(0, n_classes, n_rows)).astype(np.int32) % n_classes
    rest = (y, n_classes, None, True, n_rows)
    dense, stored = Table(X, *rest), Table(sparse.csr_array(X), *rest)
    for criterion in filter(is_of_classes, CRITERIA):
        growth = make_growth(dense, criterion, max_features=30, bootstrap=False, max_depth=3)
        expected = look(REFERENCE, Case(dense, growth, n_trees=1))
        for engine in CORES.values():
            found = look(engine, Case(stored, growth, n_trees=1))
            assert all(np.array_equal(array, expected[name], equal_nan=True) for name, array in found.items())


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("given", [{}, {"max_features": 3}, {"n_jobs": 3}, {"max_leaf_nodes": 60}], ids=str)
def test_wide_tables_are_searched_alike_from_copies_of_their_cells(n_classes, given):
    """Deeper in a tree, the stored cells of a node's rows are copied, and some of these once more."""
    rng = np.random.default_rng(n_classes)
    X = np.where(rng.random((1500, 200)) < 0.05, rng.integers(-3, 4, (1500, 200)), 0).astype(float)
    X[rng.random(X.shape) < 0.002] = np.nan
    X[:, 0] = rng.normal(size=1500)
    signal = np.nan_to_num(X[:, ::10]).sum(axis=1) + rng.normal(size=1500)
    y = np.floor(signal) % n_classes if n_classes else signal
    weight = np.where(rng.random(1500) < 0.01, 70_000, rng.integers(1, 4, 1500))  # rows that occur several times
    kind = weald.RandomForestClassifier if n_classes else weald.RandomForestRegressor
    for more in ({}, {"bootstrap": False, "sample_weight": weight}):
        sample_weight = more.pop("sample_weight", None)
        parameters = {"max_features": "sqrt", "random_state": 0, **given, **more}
        one, other = (kind(2, **parameters).fit(x, y, sample_weight) for x in (X, sparse.csr_array(X)))
        assert one.forest_.fingerprint() == other.forest_.fingerprint()


def test_cells_that_are_stored_twice_are_added_up():
    rng = np.random.default_rng(0)
    rows, columns, values = np.sort(rng.integers(0, 50, 300)), rng.integers(0, 6, 300), rng.integers(1, 4, 300) * 1.0
    stored = sparse.csr_array((values, columns, np.searchsorted(rows, np.arange(51))), shape=(50, 6))
    assert not stored.has_canonical_format
    X, before = stored.toarray(), stored.nnz
    y = X[:, 0] > 2
    one, other = (weald.RandomForestClassifier(5, random_state=0).fit(x, y) for x in (X, stored))
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    assert np.array_equal(one.predict_proba(X), one.predict_proba(stored))
    assert stored.nnz == before  # the caller's table is unchanged
