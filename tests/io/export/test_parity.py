"""Test rows lie at the edges of leaves, and reports state the result."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import weald
from tests.io.export.models import MODELS, fitted
from weald.engines.choose import open_engine
from weald.io.export.parity import Parity, compare, edge_rows, n_categories, not_compared


@pytest.mark.parametrize("name", MODELS)
def test_many_rows_lie_on_a_threshold_or_one_ulp_above(name):
    model = fitted(name)
    forest = model.forest_
    rows = edge_rows(forest, n_categories(model))[:500]
    is_cut = (forest.feature >= 0) & (forest.flags & 2 == 0)
    at_edge = np.zeros(len(rows), dtype=bool)
    for f in range(forest.n_features):
        edges = forest.threshold[is_cut & (forest.feature == f)]
        at_edge |= np.isin(rows[:, f], edges) | np.isin(rows[:, f], np.nextafter(edges, np.inf))
    assert at_edge.mean() > 0.3 or not is_cut.any()


@pytest.mark.parametrize("side", [-np.inf, np.inf])
@pytest.mark.parametrize("name", ["two classes", "categories", "regression"])
def test_one_ulp_more_or_less_in_thresholds_is_noticed(name, side):
    model = fitted(name)
    forest, rows = model.forest_, edge_rows(model.forest_, n_categories(model))[:500]
    is_cut = (forest.feature >= 0) & (forest.flags & 2 == 0)
    moved = np.where(is_cut, np.nextafter(forest.threshold, side), forest.threshold)
    engine = open_engine("auto")
    right, wrong = (engine.leaves(f, rows, 1, None) for f in (forest, dataclasses.replace(forest, threshold=moved)))
    assert (right != wrong).any(axis=1).mean() > 0.25


def test_rows_are_the_same_each_time():
    forest = fitted("two classes").forest_
    assert np.array_equal(edge_rows(forest, [0] * 6), edge_rows(forest, [0] * 6), equal_nan=True)


def test_many_features_make_fewer_rows():
    model = weald.DecisionTreeClassifier().fit(np.eye(3, 20_000), [0, 1, 2])
    assert edge_rows(model.forest_, [0] * 20_000).shape == (209, 20_000)


def test_a_report_says_what_was_found():
    ours, theirs = np.array([[0.5, 0.5], [0.0, np.nan]]), np.array([[0.5, 0.5 + 2**-52], [-0.0, np.nan]])
    parity = compare("prog 1.0", "probabilities", ours, theirs, 1e-12, "names")
    assert parity == Parity("prog 1.0", "probabilities", 2, 4, 1, 2**-52, ("names",))
    assert not parity.is_exact
    assert str(parity) == (
        "2 rows in prog 1.0: 1 of 4 probabilities differ, by 2.2e-16 at most\nnot carried over: names"
    )
    assert compare("prog 1.0", "probabilities", ours, ours, 0.0).is_exact
    assert not not_compared().is_exact


@pytest.mark.parametrize(
    ("theirs", "found"), [([[1.0], [3.0]], "by at most 1"), ([[1.0], [np.nan]], "by at most inf"), ([[1.0]], "shape")]
)
def test_a_wrong_answer_is_an_error(theirs, found):
    with pytest.raises(weald.ExportError, match=found):
        compare("prog 1.0", "predictions", np.array([[1.0], [2.0]]), np.array(theirs), 1e-12)


def many_categories():
    rng = np.random.default_rng(3)
    names = np.array([f"name {i:02}" for i in rng.integers(0, 50, 150)])
    return pd.DataFrame({"name": names, "x": rng.normal(size=150)}), names > "name 25"


def test_many_categories_that_are_cut_in_order_are_exported(tmp_path):
    X, y = many_categories()
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    assert 0 in model.forest_.feature
    assert not len(model.forest_.category_sets)
    with_sets = weald.RandomForestClassifier(5, category_penalty=0, random_state=1).fit(X, y)
    for forest in (model, weald.merge([model, with_sets])):
        exports = {"to_c": "a.c", "to_onnx": "a.onnx", "to_treelite": "a.treelite", "to_json": "a.json"}
        for export, name in exports.items():
            assert getattr(forest, export)(tmp_path / name).parity.n_rows > 0
        again = weald.from_json(tmp_path / "a.json")
        assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert "labels of categories: rows have their numbers" in model.to_sklearn().parity.lost
