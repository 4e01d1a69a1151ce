"""The identities of the textbook: i(h) = sum over leaves of p_t i(t), and each split lowers it by p_t times its gain.

`h` is a tree, `p_t` the share of the weight in node t, `i(t)` its impurity.
"""

import numpy as np
import pytest

import weald
from tests.laws.cases import CRITERIA, ENGINES, change, is_of_classes, make_table
from weald.engines.reference import definition

each = pytest.mark.parametrize("criterion", CRITERIA)
# A regression node stores its variance under every criterion: only the decreases of squared error add up to it.
of_impurity = pytest.mark.parametrize("criterion", [c for c in CRITERIA if c not in definition.OF_COUNTS])
both = pytest.mark.parametrize("engine", ENGINES)

# The textbook formulas, from class fractions or from targets with their fractions.
TEXTBOOK = {
    "gini": lambda p: 1 - (p**2).sum(),
    "entropy": lambda p: -(p[p > 0] * np.log2(p[p > 0])).sum(),
    "misclassification": lambda p: 1 - p.max(),
}
LIMITS = {
    "full": {},
    "shallow": {"max_depth": 3},
    "wide leaves": {"min_samples_leaf": 5},
    "few leaves": {"max_leaf_nodes": 6},
    "worthwhile cuts": {"min_impurity_decrease": 0.01},
    "some features": {"max_features": 1, "random_state": 5},
}


def fit(criterion, engine, *, weights="none", limits="full", **given):
    """Fit a tree to a table; return both, and the weight of each row."""
    table = make_table(
        90, ("many", "rounded", "few"), 3 if is_of_classes(criterion) else 0, weights=weights, missing=0.05
    )
    if criterion in definition.OF_COUNTS:
        table = change(table, target=np.abs(table.target))
    model = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    tree = model(criterion=criterion, engine=engine, **LIMITS[limits], **given)
    tree.fit(table.X, table.target, sample_weight=table.weight)
    return tree, table, np.ones(90) if table.weight is None else table.weight


def node_probabilities(tree):
    return tree.tree_.weighted_n_node_samples / tree.tree_.weighted_n_node_samples[0]


def total_impurity(tree):
    leaves = tree.tree_.children_left < 0
    return (node_probabilities(tree) * tree.tree_.impurity)[leaves].sum()


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
@of_impurity
def test_each_split_lowers_the_impurity_by_its_share_of_the_gain(criterion, engine, weights, limits):
    tree, _, _ = fit(criterion, engine, weights=weights, limits=limits)
    nodes, forest = tree.tree_, tree.forest_
    p, i = node_probabilities(tree), nodes.impurity
    split = np.flatnonzero(nodes.children_left >= 0)
    left, right = nodes.children_left[split], nodes.children_right[split]
    stored = np.ldexp(forest.decrease[split], -2 * forest.target_exponent)
    np.testing.assert_allclose(p[split], p[left] + p[right], rtol=1e-14)
    np.testing.assert_allclose(stored, p[split] * i[split] - p[left] * i[left] - p[right] * i[right], atol=1e-9)
    assert (stored >= 0).all()


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
@of_impurity
def test_the_impurity_of_a_tree_is_that_of_the_root_less_all_decreases(criterion, engine, weights, limits):
    tree, _, _ = fit(criterion, engine, weights=weights, limits=limits)
    stored = np.ldexp(tree.forest_.decrease, -2 * tree.forest_.target_exponent)
    assert total_impurity(tree) == pytest.approx(tree.tree_.impurity[0] - stored.sum(), abs=1e-9)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c in TEXTBOOK])
def test_nodes_hold_the_shares_and_impurities_of_the_rows_that_reach_them(criterion, engine, weights):
    tree, table, weight = fit(criterion, engine, weights=weights)
    paths = tree.decision_path(table.X).toarray().astype(bool)
    for node, rows in enumerate(paths.T):
        shares = np.bincount(table.target[rows], weights=weight[rows], minlength=3) / weight[rows].sum()
        np.testing.assert_allclose(tree.tree_.value[node, 0], shares, rtol=1e-9)
        assert tree.tree_.impurity[node] == pytest.approx(TEXTBOOK[criterion](shares), abs=1e-9)
        assert node_probabilities(tree)[node] == pytest.approx(weight[rows].sum() / weight.sum(), rel=1e-9)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
def test_nodes_hold_the_mean_and_variance_of_the_rows_that_reach_them(engine, weights):
    tree, table, weight = fit("squared_error", engine, weights=weights)
    paths = tree.decision_path(table.X).toarray().astype(bool)
    for node, rows in enumerate(paths.T):
        y, w = table.target[rows], weight[rows]
        mean = np.average(y, weights=w)
        assert tree.tree_.value[node, 0, 0] == pytest.approx(mean, abs=1e-8)
        assert tree.tree_.impurity[node] == pytest.approx(np.average((y - mean) ** 2, weights=w), abs=1e-8)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
def test_the_misclassification_impurity_of_a_tree_is_its_training_error(engine, weights, limits):
    tree, table, weight = fit("misclassification", engine, weights=weights, limits=limits)
    error = np.average(tree.predict(table.X) != table.target, weights=weight)
    assert total_impurity(tree) == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@both
def test_the_squared_error_of_a_tree_is_its_training_error(engine, weights, limits):
    tree, table, weight = fit("squared_error", engine, weights=weights, limits=limits)
    error = np.average((tree.predict(table.X) - table.target) ** 2, weights=weight)
    assert total_impurity(tree) == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 2.5, 2: 0.25}])
@both
@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c in TEXTBOOK])
def test_class_weights_weigh_the_rows_of_a_class(criterion, engine, class_weight):
    tree, table, _ = fit(criterion, engine, class_weight=class_weight, max_depth=3)
    counts = np.bincount(table.target)
    of_class = 90 / (3 * counts) if class_weight == "balanced" else np.array(list(class_weight.values()))
    paths = tree.decision_path(table.X).toarray().astype(bool)
    for node, rows in enumerate(paths.T):
        shares = np.bincount(table.target[rows], weights=of_class[table.target[rows]], minlength=3)
        shares /= shares.sum()
        np.testing.assert_allclose(tree.tree_.value[node, 0], shares, atol=1e-5)
        assert tree.tree_.impurity[node] == pytest.approx(TEXTBOOK[criterion](shares), abs=1e-4)


# -------------------------------------------------------------------------------------------------------- zero gain


@pytest.mark.parametrize("n_copies", [1, 50])
@both
@each
def test_the_xor_square_is_learned_though_no_first_cut_gains_anything(criterion, engine, n_copies):
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat(n_copies, axis=0)
    y = (x[:, 0] != x[:, 1]).astype(int) + (criterion in definition.OF_COUNTS)  # a side must not consist of zeros only
    model = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    tree = model(criterion=criterion, engine=engine).fit(x, y)
    assert tree.predict(x).tolist() == y.tolist()
    assert tree.forest_.decrease[0] == 0
    assert tree.get_n_leaves() == 4
    stump = model(criterion=criterion, engine=engine, min_impurity_decrease=1e-9).fit(x, y)
    assert stump.get_n_leaves() == 1


@both
@each
def test_a_full_tree_of_distinct_rows_makes_no_error(criterion, engine):
    tree, table, _ = fit(criterion, engine)
    np.testing.assert_allclose(tree.predict(table.X), table.target, rtol=1e-12)
