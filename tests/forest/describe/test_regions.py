"""Leaves as boxes and as rules."""

import time

import numpy as np
import pandas as pd
import pytest

import weald
from tests.laws.cases import CRITERIA, is_of_classes, make_table, suited
from weald.data.schema import Labeled
from weald.forest.describe.regions import Interval

each = pytest.mark.parametrize("criterion", CRITERIA)


def grow(criterion, missing=0.2, **given):
    table = make_table(120, ("many", "few", "rounded"), 3 if is_of_classes(criterion) else 0, missing=missing, seed=3)
    table = suited(criterion, table)
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    return kind(criterion=criterion, **given).fit(table.X, table.target), table


@pytest.mark.parametrize("missing", [0.0, 0.4])
@each
def test_every_row_is_in_the_region_of_its_leaf_and_in_no_other(criterion, missing):
    model, table = grow(criterion, missing)
    rng = np.random.default_rng(0)
    odd = rng.choice([np.nan, np.inf, -np.inf, 0.0, *model.forest_.threshold], size=(200, 3))
    X = np.concatenate([table.X, odd])
    leaves = model.apply(X)
    regions = model.regions()
    assert [region.leaf for region in regions] == np.flatnonzero(model.tree_.children_left < 0).tolist()
    for region in regions:
        np.testing.assert_array_equal(region.contains(X), leaves == region.leaf)


@each
def test_a_region_says_what_its_leaf_says(criterion):
    model, table = grow(criterion, max_depth=3)
    for region in model.regions():
        rows = region.contains(table.X)
        assert region.samples == rows.sum()
        assert region.share == pytest.approx(rows.mean())
        assert (model.predict(table.X[rows]) == region.prediction).all()
        assert region.impurity == model.tree_.impurity[region.leaf]
        np.testing.assert_array_equal(np.ravel(region.value), model.tree_.value[region.leaf, 0])


def test_boxes_without_missing_values_are_corners():
    model, table = grow("squared_error", missing=0.0, max_depth=4)
    for region in model.regions():
        inside = ((region.low < table.X) & (region.high >= table.X)).all(axis=1)
        np.testing.assert_array_equal(inside, model.apply(table.X) == region.leaf)


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (Interval("x", 1.0, 2.5), "1 < x ≤ 2.5"),
        (Interval("x", high=2.5), "x ≤ 2.5"),
        (Interval("x", low=1.0), "x > 1"),
        (Interval("x", low=1.0, mentions_missing=True), "x > 1 or missing"),
        (Interval("x", low=1.0, missing=False, mentions_missing=True), "x > 1"),
        (Interval("x", low=np.inf), "x is missing"),
        (Interval("x", missing=False), "x is present"),
    ],
)
def test_intervals_have_words(interval, words):
    assert interval.words == words


def test_a_rule_names_each_feature_once():
    x = np.arange(8.0).reshape(-1, 1)
    model = weald.DecisionTreeRegressor().fit(x, np.arange(8.0) ** 2)
    assert model.rules(feature_names=["age"])[2] == "if 1.5 < age ≤ 2.5: 4 (1 rows)"
    assert weald.DecisionTreeRegressor().fit(x, np.ones(8)).rules() == ["always: 1 (8 rows)"]


def test_rules_name_missing_values_that_leave_the_heavier_side():
    x = np.array([[1.0], [2.0], [3.0], [4.0], [8.0], [np.nan]])
    rules = weald.DecisionTreeClassifier().fit(x, ["a", "a", "a", "a", "b", "b"]).rules()
    assert rules == ["if x0 ≤ 6: a (4 of 4 rows)", "if x0 > 6 or missing: b (2 of 2 rows)"]
    present = weald.DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], ["a", "a", "b"]).rules()
    assert present == ["if x0 is present: a (2 of 2 rows)", "if x0 is missing: b (1 of 1 rows)"]


def test_rules_of_many_categories_take_time_in_proportion():
    labels = np.arange(60_000) % 30_000
    X = pd.DataFrame({"kind": pd.Categorical([f"c{label}" for label in labels])})
    tree = weald.DecisionTreeClassifier(max_depth=3).fit(X, np.random.default_rng(0).integers(0, 3, len(X)))
    begin = time.process_time()
    regions = tree.regions()
    assert time.process_time() - begin < 3  # takes a fifth of a second; a linear search for each label took 10 seconds
    rows = tree.schema_.categories[0].look_up(Labeled(labels, X["kind"].cat.categories), "X")[0][:, None]
    assert (sum(region.contains(rows) for region in regions) == 1).all()


def test_a_region_prints_as_its_rule():
    tree = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
    assert [repr(region) for region in tree.regions()] == [
        f"<leaf {region.leaf}: {rule}>" for region, rule in zip(tree.regions(), tree.rules(), strict=True)
    ]
    assert "x0 ≤ 1.5" in repr(tree.regions()[0])
