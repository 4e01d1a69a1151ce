"""Explanations of splits: the winner is the split of the tree, and gains are those of the rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import weald
from tests.laws.cases import CRITERIA, ENGINES, is_of_classes, make_table, suited
from tests.laws.test_counts import half_deviance
from tests.laws.test_medians import mean_deviation
from weald import impurity
from weald.engines.reference import definition

each = pytest.mark.parametrize("criterion", CRITERIA)
OF = {"gini": impurity.gini, "entropy": impurity.entropy, "misclassification": impurity.misclassification}

OF_NUMBERS = {"poisson": half_deviance, "absolute_error": mean_deviation}


def make(criterion, weights="none", n_rows=40, seed=0):
    n_classes = 3 if is_of_classes(criterion) else 0
    table = make_table(n_rows, ("many", "few", "rounded"), n_classes, weights=weights, missing=0.1, seed=seed)
    return suited(criterion, table)


def single(criterion, **given):
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    return kind(criterion=criterion, **given)


def assert_winners_are_the_splits(tree, X, y, weight=None):
    """Explain every node; its first candidate must be its split, with its gain and its sides."""
    nodes = tree.nodes(frame="dict")
    for node in range(tree.tree_.node_count):
        told = tree.explain_split(node, X, y, weight)
        assert told.samples == nodes["samples"][node]
        if nodes["split"][node] is None:
            assert told.why.startswith("It is a leaf: ")
            continue
        cuts = told.candidates("dict")
        assert cuts["feature"][0] == nodes["feature"][node]
        assert cuts["threshold"][0] == nodes["threshold"][node]
        assert cuts["gain"][0] == pytest.approx(nodes["gain"][node], rel=1e-12, abs=1e-15)
        assert cuts["samples_left"][0] == nodes["samples"][nodes["left"][node]]
        assert cuts["samples_right"][0] == nodes["samples"][nodes["right"][node]]
        assert cuts["missing"][0] in (None, nodes["missing"][node])
        assert (np.diff(cuts["gain"]) <= 1e-12).all()
        assert "was chosen" in told.why


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@each
def test_the_winner_is_the_split_of_the_tree(criterion, weights):
    table = make(criterion, weights)
    tree = single(criterion).fit(table.X, table.target, sample_weight=table.weight)
    assert_winners_are_the_splits(tree, table.X, table.target, table.weight)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "limits",
    [
        {"min_samples_leaf": 4},
        {"max_features": 1, "random_state": 5},
        {"min_weight_fraction_leaf": 0.1},
        {"max_bins": 5},
        {"max_depth": 3, "min_samples_split": 20},
    ],
    ids=lambda limits: next(iter(limits)),
)
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_limits_hold_when_cuts_are_listed_again(criterion, limits, engine):
    table = make(criterion, seed=1)
    tree = single(criterion, engine=engine, **limits).fit(table.X, table.target)
    assert_winners_are_the_splits(tree, table.X, table.target)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_trees_of_a_forest_see_their_bags(kind, weights):
    table = make("gini" if kind is weald.RandomForestClassifier else "squared_error", weights)
    given = {"class_weight": "balanced_subsample"} if kind is weald.RandomForestClassifier else {}
    forest = kind(n_estimators=3, random_state=0, max_depth=4, **given)
    forest.fit(table.X, table.target, sample_weight=table.weight)
    for tree in forest.estimators_:
        assert_winners_are_the_splits(tree, table.X, table.target, table.weight)


def test_groups_and_strata_are_given_again():
    table = make("gini", n_rows=60)
    design = {"groups": np.arange(60) // 3, "stratify": (np.arange(60) // 3) % 2}
    forest = weald.RandomForestClassifier(n_estimators=2, random_state=0).fit(table.X, table.target, **design)
    tree = forest.estimators_[1]
    told = tree.explain_split(0, table.X, table.target, **design)
    assert told.candidates("dict")["gain"][0] == pytest.approx(tree.nodes(frame="dict")["gain"][0])
    with pytest.raises(weald.DataError, match="groups or stratify differ"):
        tree.explain_split(0, table.X, table.target)


@each
def test_gains_are_those_of_the_rows(criterion):
    table = make(criterion, "whole")
    if criterion in definition.OF_COUNTS:
        table = replace(table, target=table.target + 1)  # sides with zeros only are not admissible
    tree = single(criterion, max_depth=2).fit(table.X, table.target, sample_weight=table.weight)
    names = ["x0", "x1", "x2"]
    inside = tree.decision_path(table.X).toarray().astype(bool)
    for node in np.flatnonzero(tree.tree_.children_left >= 0):
        rows = inside[:, node]
        X, y, w = table.X[rows], table.target[rows], table.weight[rows].astype(int)
        cuts = tree.explain_split(node, table.X, table.target, table.weight).candidates("dict")
        n_expected = 0
        for f in range(3):
            values, missing = X[:, f], np.isnan(X[:, f])
            n_distinct = len(np.unique(values[~missing]))
            n_expected += (n_distinct - 1) * (2 if missing.any() else 1) + missing.any()
        assert len(cuts["gain"]) == n_expected
        for i in range(len(cuts["gain"])):
            values = X[:, names.index(cuts["feature"][i])]
            left = np.where(np.isnan(values), cuts["missing"][i] == "left", values <= cuts["threshold"][i])
            assert cuts["samples_left"][i] == w[left].sum()
            assert cuts["samples_right"][i] == w[~left].sum()
            if is_of_classes(criterion):
                sides = [np.bincount(y[s], weights=w[s], minlength=3) for s in (left, ~left)]
                expected = impurity.gain(*sides, OF[criterion])
            elif criterion in OF_NUMBERS:
                sides = sum(OF_NUMBERS[criterion](y[s], w[s]) * w[s].sum() for s in (left, ~left)) / w.sum()
                expected = OF_NUMBERS[criterion](y, w) - sides
            else:
                sides = [np.repeat(y[s], w[s]) for s in (left, ~left)]
                expected = impurity.gain(*sides, impurity.squared_error)
            assert cuts["gain"][i] == pytest.approx(expected, abs=1e-9)


# ------------------------------------------------------------------------------------------------------------- why


def why(x, y, node=0, **given):
    x = np.array(x, dtype=float)
    return weald.DecisionTreeClassifier(**given).fit(x, y).explain_split(node, x, y).why


def test_the_greater_gain_wins():
    told = why([[1, 1], [2, 0], [3, 1], [4, 0]], [0, 0, 1, 1])
    assert told == "x0 ≤ 2.5 was chosen: it has the largest gain. The next, x0 ≤ 1.5, has 0.166667."


def test_of_equal_gains_the_earlier_feature_wins():
    told = why([[1, 5], [2, 6]], [0, 1])
    assert told == "x0 ≤ 1.5 was chosen among 2 splits of equal gain: x0 was considered before x1."


def test_of_equal_gains_the_more_even_cut_wins():
    told = why([[1], [2], [3], [4]], [0, 1, 1, 0], max_depth=1)
    assert told.startswith("x0 ≤ 1.5 was chosen among 2 splits of equal gain: it comes first")
    told = why([[1], [1], [2], [2], [3], [3], [4], [4]], [0, 1] * 4)
    assert told == "x0 ≤ 2.5 was chosen among 3 splits of equal gain: its sides are the closest in size."
    told = why([[1], [2], [3], [4], [5], [6]], [0, 1, 0, 1, 0, 1])
    assert told.startswith(
        "x0 ≤ 1.5 was chosen among 2 splits of equal gain: it comes first: lower thresholds come first"
    )


def test_ties_of_misclassification_are_broken_by_gini():
    told = why([[1], [2], [3], [4], [5]], [0, 0, 0, 1, 0], criterion="misclassification")
    assert told.endswith("it has the largest Gini gain, which breaks ties.")


def test_the_only_cut_wins():
    assert why([[1], [2]], [0, 1]) == "x0 ≤ 1.5 was chosen: it is the only split."


@pytest.mark.parametrize(
    ("given", "node", "reason"),
    [
        ({}, 1, "all its rows are of one class"),
        ({"max_depth": 1}, 2, "the maximum depth, max_depth=1"),
        ({"min_samples_split": 5}, 2, "fewer rows than min_samples_split=5"),
        ({"min_samples_leaf": 3}, 2, "no split leaves enough rows or weight on both sides"),
        ({"max_leaf_nodes": 2}, 2, "the tree has max_leaf_nodes=2"),
        ({"ccp_alpha": 0.25}, 2, "its subtree was pruned, ccp_alpha=0.25"),
        (
            {"min_impurity_decrease": 0.25},
            2,
            "the impurity of the tree by 0.1875, less than min_impurity_decrease=0.25",
        ),
    ],
)
def test_a_leaf_has_its_reason(given, node, reason):
    x, y = [[1], [2], [3], [4], [5], [6], [7], [8]], [0, 0, 0, 0, 1, 1, 1, 2]
    told = why(x, y, node, **given)
    assert told.startswith("It is a leaf: ")
    assert reason in told


def test_equal_targets_are_a_reason():
    x = [[1.0], [2.0], [3.0]]
    model = weald.DecisionTreeRegressor().fit(x, [1.0, 1.0, 1.0])
    told = model.explain_split(0, x, [1.0, 1.0, 1.0])
    assert told.why == "It is a leaf: all its rows have the same target."
    assert str(told) == f"node 0: 3 rows, impurity 0\n{told.why}"


def test_the_printed_form_shows_the_best_cuts():
    table = make("gini")
    told = weald.DecisionTreeClassifier().fit(table.X, table.target).explain_split(0, table.X, table.target)
    lines = str(told).splitlines()
    assert lines[0].startswith("node 0: 40 rows, impurity 0.")
    assert lines[1] == f"{len(told.candidates())} splits of 3 features, by gain:"
    assert lines[-1] == told.why
    assert len(lines) == 12
    assert set(told.looked_at) == {"x0", "x1", "x2"}


# ------------------------------------------------------------------------------------------------------------ edges


def test_the_order_of_rows_does_not_matter():
    table = make("gini")
    model = weald.DecisionTreeClassifier().fit(table.X, table.target)
    one, two = (model.explain_split(0, table.X[::s], table.target[::s]) for s in (1, -1))
    assert str(one) == str(two)


def test_other_data_and_other_nodes_are_refused():
    table = make("gini")
    model = weald.DecisionTreeClassifier().fit(table.X, table.target)
    with pytest.raises(weald.DataError, match="This tree was grown from other data"):
        model.explain_split(0, table.X[1:], table.target[1:])
    for node in (-1, model.tree_.node_count, 1.5, "root"):
        with pytest.raises(weald.ParameterError, match="does not exist"):
            model.explain_split(node, table.X, table.target)


# ------------------------------------------------------------------------------------------------------ constraints


@pytest.mark.parametrize(
    "given",
    [
        {"monotonic_cst": [1, 0, -1]},
        {"interaction_cst": [[0, 1], [2]]},
        {"feature_weights": [1.0, 0.2, 3.0], "max_features": 1, "random_state": 2},
        {"splitter": "random", "random_state": 3},
    ],
    ids=lambda given: next(iter(given)),
)
def test_constraints_hold_when_cuts_are_listed_again(given):
    table = make("squared_error", n_rows=80, seed=2)
    tree = weald.DecisionTreeRegressor(**given).fit(table.X, table.target)
    assert tree.get_n_leaves() > 5
    assert_winners_are_the_splits(tree, table.X, table.target)


# ------------------------------------------------------------------------------------------------------- categories


@pytest.mark.parametrize("penalty", [0.0, 1.5])
def test_cuts_of_categories_are_listed_again(penalty):
    rng = np.random.default_rng(1)
    color = rng.choice(["red", "green", "blue", "white", "black", *(f"shade {i}" for i in range(7))], 200)
    size = pd.Categorical(rng.choice(["s", "m", "l"], 200), ["s", "m", "l"], ordered=True)
    frame = pd.DataFrame({"color": pd.Categorical(color), "size": size, "weight": rng.normal(size=200).round(1)})
    y = 3.0 * (color == "red") + 2.0 * (color == "blue") + (size == "l") + rng.normal(size=200)
    frame.loc[rng.random(200) < 0.1, "color"] = None
    model = weald.DecisionTreeRegressor(min_samples_leaf=5, category_penalty=penalty).fit(frame, y)
    nodes = model.nodes(frame="dict")
    assert ("after the category penalty" in str(model.explain_split(0, frame, y))) == (penalty > 0)
    for node in np.flatnonzero(nodes["left"] >= 0):
        cuts = model.explain_split(node, frame, y).candidates("dict")
        assert cuts["gain"][0] == pytest.approx(nodes["gain"][node], rel=1e-9)
        assert cuts["feature"][0] == nodes["feature"][node]
        assert cuts["split"][0].removesuffix(" or missing") == nodes["split"][node].removesuffix(" or missing")
        labels = nodes["categories"][node]
        assert (labels is None) == (nodes["feature"][node] != "color")
        assert labels is None or set(labels) <= set(color)
    assert any(labels for labels in nodes["categories"])


def test_one_cut_of_one_feature_is_not_plural():
    tree = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"])
    assert "1 split of 1 feature, by gain:" in str(tree.explain_split(0, [[1.0], [2.0]], ["a", "b"]))
    tree = weald.DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    assert "2 splits of 1 feature, by gain:" in str(tree.explain_split(0, [[1.0], [2.0], [3.0]], ["a", "b", "b"]))
