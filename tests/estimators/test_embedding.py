"""Leaves of random trees as features: the same for every engine, order of rows and number of threads."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomTreesEmbedding as Theirs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import weald
from weald import RandomTreesEmbedding


def make_table(n_rows=120, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    X[:, 2] = np.round(X[:, 2])
    X[X > 1.8] = np.nan
    return X


def embed(X, **given):
    return RandomTreesEmbedding(**{"n_estimators": 6, "random_state": 1, **given}).fit(X)


@pytest.mark.parametrize(
    "given",
    [{}, {"max_leaf_nodes": 7}, {"min_impurity_decrease": 0.001}, {"min_samples_leaf": 5}, {"max_depth": None}],
    ids=["plain", "best first", "impurity", "large leaves", "deep"],
)
def test_engines_agree(given):
    X = make_table()
    native, reference = (embed(X, engine=engine, **given) for engine in ("native", "reference"))
    assert (native.transform(X) != reference.transform(X)).nnz == 0
    assert native.forest_.fingerprint() == reference.forest_.fingerprint()


def test_each_row_has_one_leaf_in_each_tree_and_each_leaf_has_rows():
    X = make_table()
    model = embed(X)
    marks = model.transform(X)
    assert marks.format == "csr"
    assert marks.shape == (120, model.model_.get_n_leaves().sum())
    assert (marks.sum(axis=1) == 6).all()
    assert (marks.sum(axis=0) > 0).all()
    assert set(marks.data) == {1.0}
    assert model.model_.get_depth().max() <= 5


def test_the_order_of_rows_and_threads_change_nothing():
    X = make_table()
    model = embed(X, max_leaf_nodes=9)
    shuffled = embed(X[::-1], max_leaf_nodes=9, n_jobs=3)
    assert model.forest_.fingerprint() == shuffled.forest_.fingerprint()


def test_a_weight_of_two_is_the_row_twice():
    X = make_table(60)
    weight = np.arange(60) % 3
    weighted = RandomTreesEmbedding(4, random_state=1, min_samples_leaf=3).fit(X, sample_weight=weight)
    copied = RandomTreesEmbedding(4, random_state=1, min_samples_leaf=3).fit(np.repeat(X, weight, axis=0))
    assert weighted.forest_.fingerprint() == copied.forest_.fingerprint()


def test_sparse_tables_are_like_dense_ones():
    X = np.nan_to_num(make_table())
    X[X < 0.5] = 0
    model = embed(X)
    of_sparse = embed(sparse.csr_array(X))
    assert model.forest_.fingerprint() == of_sparse.forest_.fingerprint()
    assert (model.transform(X) != of_sparse.transform(sparse.csc_array(X))).nnz == 0


def test_dense_output_is_the_same_matrix():
    X = make_table()
    dense = embed(X, sparse_output=False)
    assert np.array_equal(dense.transform(X), embed(X).fit_transform(X).toarray())


def test_names_tell_tree_and_node():
    X = make_table()
    model = embed(X)
    names = model.get_feature_names_out()
    marks = model.transform(X).tocsr()
    leaves = model.apply(X)
    expected = [[f"randomtreesembedding_{t}_{node}" for t, node in enumerate(row)] for row in leaves]
    assert [[names[i] for i in marks[r].indices] for r in range(len(X))] == expected
    with pytest.raises(weald.DataError, match="input_features should have length equal"):
        model.get_feature_names_out(["a"])


def test_frames_with_categories_and_names():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0] * 5, "kind": ["a", "b", "c", None] * 5})
    model = embed(frame)
    assert model.feature_names_in_.tolist() == ["size", "kind"]
    assert model.transform(frame).shape[0] == 20
    with pytest.raises(weald.DataError, match="feature names"):
        model.transform(frame[["kind", "size"]])
    with pytest.raises(weald.DataError, match="not equal to feature_names_in_"):
        model.get_feature_names_out(["kind", "size"])


def test_output_can_be_a_data_frame():
    X = make_table()
    model = embed(X, sparse_output=False).set_output(transform="pandas")
    assert list(model.transform(X).columns) == list(model.get_feature_names_out())


def test_a_warm_start_adds_trees():
    X = make_table()
    model = embed(X, n_estimators=3, warm_start=True, random_state=None)
    first = model.transform(X)
    model.set_params(n_estimators=8).fit(X)
    assert len(model.estimators_) == 8
    assert (model.transform(X)[:, : first.shape[1]] != first).nnz == 0
    assert model.forest_.fingerprint() == embed(X, n_estimators=8, random_state=model.seed_).forest_.fingerprint()


def test_a_fit_that_fails_changes_nothing():
    X = make_table()
    model = embed(X)
    before = model.forest_.fingerprint()
    with pytest.raises(weald.DataError):
        model.fit(np.empty((0, 4)))
    assert model.forest_.fingerprint() == before
    assert model.n_features_in_ == 4


@pytest.mark.parametrize(
    "given", [{"n_estimators": "auto"}, {"max_depth": "sqrt"}, {"sparse_output": 1}, {"engine": "no"}]
)
def test_wrong_parameters_are_named(given):
    with pytest.raises(weald.ParameterError, match=next(iter(given))):
        embed(make_table(), **given)


def test_before_a_fit_there_is_nothing_to_ask():
    for ask in ("transform", "apply"):
        with pytest.raises(NotFittedError):
            getattr(RandomTreesEmbedding(), ask)(make_table())
    assert not hasattr(RandomTreesEmbedding(), "feature_names_in_")


def test_parameters_and_defaults_are_scikit_learns():
    theirs, ours = Theirs().get_params(), RandomTreesEmbedding().get_params()
    assert {name: ours[name] for name in theirs} == theirs


def test_a_linear_model_follows_a_circle():
    X = np.random.default_rng(0).normal(size=(600, 2))
    inside = (X**2).sum(axis=1) < 1
    model = make_pipeline(RandomTreesEmbedding(random_state=0), LogisticRegression(max_iter=500))
    assert model.fit(X[:400], inside[:400]).score(X[400:], inside[400:]) > 0.9
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert clone(model[0]).get_params() == model[0].get_params()
