"""Cost-complexity pruning: the smallest subtree of minimal cost, its theorem, and scikit-learn's path."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestRegressor as SklearnForest
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

import weald
from tests.laws.cases import CRITERIA, is_of_classes, make_table, suited
from tests.laws.test_medians import median_of
from weald import _core
from weald.data.task import OF_MEDIANS
from weald.forest import pruning

each = pytest.mark.parametrize("criterion", CRITERIA)
X, Y = load_iris(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)


def grow(criterion, n_rows=60, seed=0, weights="none", **given):
    table = make_table(
        n_rows, ("many", "few"), 3 if is_of_classes(criterion) else 0, weights=weights, missing=0.05, seed=seed
    )
    table = suited(criterion, table)
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    return kind(criterion=criterion, **given).fit(table.X, table.target, sample_weight=table.weight), table


# ---------------------------------------------------------------------------------------------------- both engines


def random_tree(dice, n_splits, decreases):
    """Make the arrays of a tree in pre-order with random shapes and decreases."""
    feature, right, decrease = [], [], []

    def add(n):
        node = len(feature)
        feature.append(0 if n else -1)
        right.append(0)
        decrease.append(dice.choice(decreases) * dice.choice([0.0, 1.0, 1.0, dice.random()]) if n else 0.0)
        if n:
            n_left = dice.randrange(n)
            add(n_left)
            right[node] = len(feature)
            add(n - 1 - n_left)

    add(n_splits)
    return np.array(feature, np.int32), np.array(right, np.int32), np.array(decrease)


SCALES = {"equal": [1.0], "near": [0.5, 1.0, 3.0], "far": [1e-30, 1.0], "all": [5e-324, 1e-300, 1e-20, 1.0, 1e300]}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(15))
def test_strengths_of_the_core_have_the_bits_of_those_in_python(scale, seed):
    dice = random.Random(seed)
    feature, right, decrease = random_tree(dice, dice.choice([0, 1, 5, 60]), SCALES[scale])
    nodes = {"feature": feature, "right": right, "decrease": decrease}
    found = _core.link_strengths(nodes | {"tree_start": np.array([0, len(feature)])}, 1)
    np.testing.assert_array_equal(found, pruning.strengths_of_tree(feature, right, decrease))


def test_nodes_that_are_no_tree_have_no_strengths():
    nodes = {"feature": np.array([0, -1, -1], np.int32), "decrease": np.zeros(3), "tree_start": np.array([0, 3])}
    for right in (1, 3, -1):
        with pytest.raises(ValueError, match="a child is out of range"):
            _core.link_strengths(nodes | {"right": np.array([right, 0, 0], np.int32)}, 1)


# ---------------------------------------------------------------------------------------------------- the definition


def all_subtrees(forest, node=0):
    """List every way to prune the branch below a node, as sets of the splits that stay."""
    if forest.feature[node] < 0:
        return [frozenset()]
    below = itertools.product(all_subtrees(forest, node + 1), all_subtrees(forest, int(forest.right[node])))
    return [frozenset(), *(frozenset({node}) | left | right for left, right in below)]


def smallest_of_least_cost(forest, alpha):
    """Search all subtrees for the smallest of minimal cost, in exact fractions. A split lowers it by its decrease.

    T_alpha is unique: it is part of every subtree of least cost.
    """
    decrease = [Fraction(d) for d in forest.decrease.tolist()]

    def cost(splits):
        return alpha * len(splits) - sum((decrease[s] for s in splits), Fraction(0))

    return min(all_subtrees(forest), key=lambda splits: (cost(splits), len(splits)))


def splits_of(model, pruned):
    """Find which splits of a tree are left in a pruned one: the nodes of a path have the same conditions."""
    found, waiting = set(), [(0, 0)]
    while waiting:
        old, new = waiting.pop()
        if pruned.forest_.feature[new] >= 0:
            found.add(old)
            waiting += [(old + 1, new + 1), (int(model.forest_.right[old]), int(pruned.forest_.right[new]))]
    return frozenset(found)


@pytest.mark.parametrize("seed", range(4))
@each
def test_a_pruned_tree_is_the_smallest_subtree_of_least_cost(criterion, seed):
    model, _ = grow(criterion, n_rows=40, seed=seed, max_leaf_nodes=9)
    unit = -2 * model.forest_.target_exponent
    strengths = np.unique(np.ldexp(pruning.link_strengths(model.forest_), -unit))
    between = [Fraction(a) / 2 + Fraction(b) / 2 for a, b in itertools.pairwise(strengths[np.isfinite(strengths)])]
    for alpha in [Fraction(0), *between, Fraction(float(strengths[-1])) * 2]:
        pruned = model.prune(float(np.ldexp(float(alpha), unit)))
        assert splits_of(model, pruned) == smallest_of_least_cost(model.forest_, alpha)


@st.composite
def random_trees(draw):
    """Grow a tree of any shape with decreases from a few values, so that there are ties."""
    n_splits = draw(st.integers(1, 7))
    feature, right, stack = [], [], [-1]
    left_to_make = n_splits
    while stack:
        parent = stack.pop()
        node = len(feature)
        if parent >= 0:
            right[parent] = node
        cut = left_to_make > 0 and (not stack or draw(st.booleans()))
        left_to_make -= cut
        feature.append(0 if cut else -1)
        right.append(0)
        if cut:
            stack += [node, -1]
    values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 0.1, 0.3, 1e-30, 1e30])
    decrease = [draw(values) if f == 0 else 0.0 for f in feature]
    return np.array(feature, dtype=np.int32), np.array(right, dtype=np.int32), np.array(decrease)


def as_forest(trees, target_exponent=0):
    """Make a forest of trees with these splits and decreases; rows and leaf values do not matter here."""
    n_nodes = sum(len(feature) for feature, _, _ in trees)
    feature, right, decrease = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    grown = weald.DecisionTreeRegressor(random_state=0).fit([[0.0], [1.0]], [0.0, 1.0]).forest_
    zeros = {name: np.zeros(n_nodes, getattr(grown, name).dtype) for name in ("threshold", "flags", "value")}
    return replace(
        grown, feature=feature, right=right, decrease=decrease, target_exponent=target_exponent,
        tree_start=np.cumsum([0, *(len(feature) for feature, _, _ in trees)]), **zeros,
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(random_trees(), min_size=1, max_size=3), st.sampled_from([0, 40, -480, 500]))
def test_for_one_alpha_the_splits_are_those_whose_strengths_exceed_it(trees, target_exponent):
    """Also if alpha equals a strength or is an adjacent double, where sums in doubles are not sufficient."""
    forest = as_forest(trees, target_exponent)
    strengths = pruning.link_strengths(forest)
    found = np.unique(strengths[np.isfinite(strengths)])
    for alpha in (0.0, 1e-320, np.inf, *found, *np.nextafter(found, np.inf), *np.nextafter(found, 0.0)):
        np.testing.assert_array_equal(pruning.stronger_splits(forest, alpha), strengths > alpha)


class Shape:
    """The values of a forest that `smallest_of_least_cost` needs."""

    def __init__(self, feature, right, decrease):
        self.feature, self.right, self.decrease = feature, right, decrease


@settings(max_examples=150, deadline=None)
@given(random_trees())
def test_of_any_tree_the_strengths_say_which_splits_are_worth_their_leaves(arrays):
    strengths = pruning.strengths_of_tree(*arrays)
    shape = Shape(*arrays)
    found = sorted({float(s) for s in strengths if np.isfinite(s)})
    between = [Fraction(a) / 2 + Fraction(b) / 2 for a, b in itertools.pairwise(found)]
    for alpha in [Fraction(0), *between, 2 * Fraction(found[-1]) + 1]:
        kept = frozenset(np.flatnonzero([Fraction(s) > alpha if np.isfinite(s) else False for s in strengths]).tolist())
        assert kept == smallest_of_least_cost(shape, alpha)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(CRITERIA),
    st.integers(0, 10**6),
    st.sampled_from(["none", "whole", "fractional"]),
    st.lists(st.floats(0, 0.5), min_size=2, max_size=4),
)
def test_a_greater_alpha_leaves_a_subtree_of_what_a_smaller_one_leaves(criterion, seed, weights, alphas):
    model, _ = grow(criterion, seed=seed, weights=weights)
    scale = 1.0 if is_of_classes(criterion) else max(model.tree_.impurity[0], 1e-300)
    trees = [model.prune(alpha * scale) for alpha in sorted(alphas)]
    for larger, smaller in itertools.pairwise([model, *trees]):
        assert splits_of(model, smaller) <= splits_of(model, larger)
        assert smaller.forest_.fingerprint() == larger.prune(smaller.ccp_alpha).forest_.fingerprint()


# ---------------------------------------------------------------------------------------------------------- the path


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@each
def test_the_path_lists_every_tree_that_pruning_can_leave(criterion, weights):
    model, table = grow(criterion, weights=weights)
    path = model.pruning_path(frame="dict")
    alphas = path["alpha"]
    assert alphas[0] == 0
    assert (np.diff(alphas) > 0).all()
    assert path["leaves"][-1] == 1
    assert (np.diff(path["leaves"]) < 0).all()
    for i, alpha in enumerate(alphas):
        pruned = model.prune(alpha)
        assert pruned.get_n_leaves() == path["leaves"][i]
        assert pruned.total_impurity() == pytest.approx(path["impurity"][i], rel=1e-9, abs=1e-9)
        assert pruned.training_error() == pytest.approx(path["error"][i], rel=1e-9, abs=1e-9)
        wrong = pruned.predict(table.X) != table.target
        error = wrong if is_of_classes(criterion) else (pruned.predict(table.X) - table.target) ** 2
        error = np.abs(pruned.predict(table.X) - table.target) if criterion in OF_MEDIANS else error
        assert np.average(error, weights=table.weight) == pytest.approx(path["error"][i], rel=1e-8, abs=1e-8)
        if i + 1 < len(alphas):
            just_before = np.nextafter(alphas[i + 1], 0)
            assert model.prune(just_before).forest_.fingerprint() == pruned.forest_.fingerprint()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_path_of_a_classifier_is_that_of_scikit_learn(criterion):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 4)).astype(np.float32)
    y = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=400) > 0).astype(int) + (x[:, 2] > 1)
    shared = {"criterion": criterion, "min_samples_leaf": 20}
    ours = weald.DecisionTreeClassifier(**shared).cost_complexity_pruning_path(x, y)
    theirs = SklearnClassifier(**shared, random_state=0).cost_complexity_pruning_path(x, y)
    np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(ours.impurities, theirs.impurities, atol=1e-12)


def test_the_path_of_a_regressor_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    y = x[:, 0] * 3 + np.sin(x[:, 1]) + rng.normal(size=300)
    weight = rng.uniform(1, 2, size=300)
    for w in (None, weight):
        ours = weald.DecisionTreeRegressor().cost_complexity_pruning_path(x, y, w)
        theirs = SklearnRegressor(random_state=0).cost_complexity_pruning_path(x, y, w)
        np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(ours.impurities, theirs.impurities, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.1, 10])
def test_a_tree_pruned_by_ccp_alpha_is_that_of_scikit_learn(alpha):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = x[:, 0] * 3 + np.sin(x[:, 1]) + rng.normal(size=200)
    ours = weald.DecisionTreeRegressor(ccp_alpha=alpha).fit(x, y)
    theirs = SklearnRegressor(ccp_alpha=alpha, random_state=0).fit(x, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x))


# ------------------------------------------------------------------------------------------------------- pruned trees


@pytest.mark.parametrize("alpha", [0.005, 0.05, 5.0])
@each
def test_a_pruned_tree_holds_what_its_rows_say(criterion, alpha):
    model, table = grow(criterion, weights="whole", ccp_alpha=alpha)
    full, _ = grow(criterion, weights="whole")
    nodes = model.tree_
    paths = model.decision_path(table.X).toarray().astype(bool)
    assert paths[:, 0].all()
    for node, rows in enumerate(paths.T):
        assert rows.any()
        assert nodes.weighted_n_node_samples[node] == table.weight[rows].sum()
        assert nodes.n_node_samples[node] == table.weight[rows].sum()
        if is_of_classes(criterion):
            counts = np.bincount(table.target[rows], weights=table.weight[rows], minlength=3)
            np.testing.assert_allclose(nodes.value[node, 0], counts / counts.sum())
        elif criterion in OF_MEDIANS:
            assert nodes.value[node, 0, 0] == pytest.approx(median_of(table.target[rows], table.weight[rows]))
        else:
            assert nodes.value[node, 0, 0] == pytest.approx(np.average(table.target[rows], weights=table.weight[rows]))
    assert (nodes.feature >= 0).sum() == (model.forest_.decrease > 0).sum() or criterion == "misclassification"
    assert full.prune(alpha).forest_.fingerprint() == model.forest_.fingerprint()


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_each_tree_of_a_forest_is_pruned(kind):
    x, y, alpha = (X, Y, 0.02) if kind is weald.RandomForestClassifier else (XR, YR, 30.0)
    full = kind(n_estimators=5, random_state=1).fit(x, y)
    pruned = kind(n_estimators=5, random_state=1, ccp_alpha=alpha).fit(x, y)
    assert pruned.forest_.n_nodes < full.forest_.n_nodes
    for before, after in zip(full.estimators_, pruned.estimators_, strict=True):
        assert before.prune(alpha).forest_.fingerprint() == after.forest_.fingerprint()
    assert pruned.predict(x).shape == y.shape
    assert pruned.forest_.origins == full.forest_.origins


def test_forests_lose_leaves_to_the_same_alpha_as_those_of_scikit_learn():
    shared = {"n_estimators": 20, "random_state": 0, "ccp_alpha": 100.0, "max_features": None}
    ours = weald.RandomForestRegressor(**shared).fit(XR, YR).get_n_leaves().mean()
    theirs = np.mean([tree.get_n_leaves() for tree in SklearnForest(**shared).fit(XR, YR).estimators_])
    assert 2 < ours < 30
    assert ours == pytest.approx(theirs, rel=0.25)


def test_growing_on_prunes_the_new_trees_too():
    shared = {"random_state": 1, "ccp_alpha": 0.02}
    model = weald.RandomForestClassifier(n_estimators=3, warm_start=True, **shared).fit(X, Y)
    grown = model.set_params(n_estimators=6).fit(X, Y)
    at_once = weald.RandomForestClassifier(n_estimators=6, **shared).fit(X, Y)
    assert grown.forest_.fingerprint() == at_once.forest_.fingerprint()


def test_no_alpha_prunes_nothing_and_zero_prunes_what_gains_nothing():
    corners, classes = [[0, 0], [0, 1], [1, 0], [1, 1]], ["a", "b", "b", "a"]
    model = weald.DecisionTreeClassifier(ccp_alpha=0.0).fit(corners, classes)
    assert model.get_n_leaves() == model.prune(0).get_n_leaves() == 4  # the second cuts make up for the first
    alike = weald.DecisionTreeClassifier(criterion="misclassification").fit(
        [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "a"]
    )
    assert alike.get_n_leaves() == 3
    useless = weald.DecisionTreeClassifier(criterion="misclassification", max_depth=1).fit(
        [[0.0], [1.0], [2.0]], ["a", "a", "b"]
    )
    assert useless.get_n_leaves() == 2
    wasted = weald.DecisionTreeClassifier(criterion="misclassification", max_depth=1).fit(
        [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "a"]
    )
    assert (wasted.get_n_leaves(), wasted.prune(0).get_n_leaves()) == (2, 1)
    assert wasted.pruning_path(frame="dict")["leaves"].tolist() == [1]


def test_pruning_leaves_the_tree_as_it_is():
    model = weald.DecisionTreeClassifier().fit(X, Y)
    before = model.forest_.fingerprint()
    pruned = model.prune(0.1)
    assert model.forest_.fingerprint() == before
    assert (model.ccp_alpha, pruned.ccp_alpha) == (0.0, 0.1)
    assert pruned.prune(0.01).ccp_alpha == 0.1
    assert pruned.prune(1).get_n_leaves() == 1
    assert pruned.prune(1).pruning_path(frame="dict")["alpha"].tolist() == [0.0]


@pytest.mark.parametrize("alpha", [-1, np.nan, np.inf, None, "much"])
def test_alpha_is_a_number_from_0(alpha):
    with pytest.raises(weald.ParameterError, match="alpha="):
        weald.DecisionTreeClassifier().fit(X, Y).prune(alpha)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_tiny_and_huge_targets_are_pruned_alike(scale):
    models = [weald.DecisionTreeRegressor(max_leaf_nodes=20).fit(XR, YR * s) for s in (1.0, scale)]
    ours, scaled = (model.pruning_path(frame="dict") for model in models)
    assert ours["leaves"].tolist() == scaled["leaves"].tolist()
    np.testing.assert_allclose(scaled["alpha"], ours["alpha"] * scale**2, rtol=1e-6)
    pruned = models[1].prune(scaled["alpha"][3])
    assert pruned.get_n_leaves() == ours["leaves"][3]
