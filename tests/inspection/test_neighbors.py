"""A forest weighs neighbors: its predictions are weighted means of training targets, exactly."""

import numpy as np
import pytest

import weald

RNG = np.random.default_rng(8)
N = 120
X = RNG.normal(size=(N, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
Y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
CLASSES = np.digitize(Y, [0.2, 1.5])
NEW = RNG.normal(size=(30, 4))
WEIGHTS = {"none": None, "whole": RNG.integers(0, 3, N), "fractional": RNG.random(N)}


def forest_of(kind, **given):
    model = weald.RandomForestRegressor if kind == "numbers" else weald.RandomForestClassifier
    return model(15, random_state=2, min_samples_leaf=2, **given)


# ----------------------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_mean_is_a_weighted_mean_of_training_targets(weight, bootstrap):
    weight = WEIGHTS[weight]
    forest = forest_of("numbers", bootstrap=bootstrap).fit(X, Y, weight)
    found = forest.weights(NEW, X, Y, weight)
    assert found.shape == (30, N)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    # Targets are stored as integers: 2^-35 of their range with fixed-point weights, about 2^-50 otherwise.
    np.testing.assert_allclose(found @ Y, forest.predict(NEW), rtol=1e-9 if weight is WEIGHTS["fractional"] else 1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample", {0: 2.5}])
def test_shares_are_weighted_means_of_classes(class_weight, voting, weight):
    weight = WEIGHTS[weight]
    forest = forest_of("classes", class_weight=class_weight, voting=voting).fit(X, CLASSES, weight)
    found = forest.neighbors(X, CLASSES, weight).weights(NEW)
    np.testing.assert_allclose(found @ np.eye(3)[CLASSES], forest.predict_proba(NEW), atol=1e-13)


@pytest.mark.filterwarnings("ignore:.*in the bag of every tree")  # two rows are in every bag, and have no weights
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_training_rows_own_weights_are_those_of_out_of_bag_predictions(weight):
    weight = WEIGHTS[weight]
    forest = forest_of("numbers").fit(X, Y, weight)
    expected = forest.out_of_bag(X, Y, weight).predictions
    found = forest.neighbors(X, Y, weight).weights()
    known = ~np.isnan(expected)
    np.testing.assert_allclose((found @ Y)[known], expected[known], rtol=1e-12)
    assert found[np.flatnonzero(~known)].nnz == 0
    assert (found.diagonal() == 0).all()


def test_bags_of_groups_are_weighed_too():
    groups = np.arange(N) // 4
    forest = forest_of("numbers").fit(X, Y, groups=groups)
    found = forest.weights(NEW, X, Y, groups=groups)
    np.testing.assert_allclose(found @ Y, forest.predict(NEW), rtol=1e-12)
    leaf = forest.estimators_[0].apply(X[:1])[0]
    counts = forest.leaf_rows(0, leaf, X, Y, groups=groups).counts
    assert counts.sum() == forest.forest_.size[leaf]


def test_the_order_of_training_rows_is_the_users():
    forest = forest_of("numbers").fit(X, Y)
    turned = forest.neighbors(X[::-1], Y[::-1]).weights(NEW).toarray()
    np.testing.assert_array_equal(turned[:, ::-1], forest.neighbors(X, Y).weights(NEW).toarray())


def test_nearest_rows_are_those_that_weigh_most():
    neighbors = forest_of("numbers").fit(X, Y).neighbors(X, Y)
    rows, weights = neighbors.nearest(NEW, k=4)
    whole = neighbors.weights(NEW).toarray()
    np.testing.assert_array_equal(rows, np.argsort(-whole, axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(weights, np.take_along_axis(whole, rows, axis=1))


def test_where_there_are_fewer_neighbors_the_rest_is_empty():
    neighbors = weald.RandomForestRegressor(1, random_state=0).fit(X, Y).neighbors(X, Y)
    rows, weights = neighbors.nearest(NEW, k=10)
    assert (rows[:, -1] == -1).all()
    assert (weights[rows == -1] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)


# ------------------------------------------------------------------------------------------------------------ leaves


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_leaf_is_made_of_rows_that_its_path_leads_to(kind):
    y = Y if kind == "numbers" else CLASSES
    forest = forest_of(kind).fit(X, y)
    neighbors = forest.neighbors(X, y)
    tree = forest.estimators_[3]
    for leaf in np.unique(tree.apply(X)):
        found = neighbors.leaf_rows(3, leaf)
        assert found.counts.sum() == tree.forest_.size[leaf]
        assert (tree.apply(X)[found.rows] == leaf).all()
        np.testing.assert_array_equal(found.targets, y[found.rows])
        if kind == "numbers":
            assert np.average(found.targets, weights=found.counts) == pytest.approx(tree.forest_.value[leaf])
    assert forest.leaf_rows(3, leaf, X, y).rows.tolist() == found.rows.tolist()


@pytest.mark.parametrize(("tree", "leaf"), [(15, 0), (-1, 0), (0, 0), (0, 10_000)])
def test_there_is_no_such_leaf(tree, leaf):
    forest = forest_of("numbers").fit(X, Y)
    with pytest.raises(weald.ParameterError, match=r"no tree|not a leaf"):
        forest.leaf_rows(tree, leaf, X, Y)


# ------------------------------------------------------------------------------------------------------- proximities


def brute_force(forest, out_of_bag=None):
    leaves = forest.apply(X)
    same = leaves[:, None] == leaves[None]
    if out_of_bag is None:
        return same.mean(axis=2)
    both = out_of_bag.T[:, None] & out_of_bag.T[None]
    return (same & both).sum(axis=2) / np.maximum(1, both.sum(axis=2))


@pytest.fixture(scope="module")
def classes():
    forest = forest_of("classes").fit(X, CLASSES)
    return forest, forest.neighbors(X, CLASSES)


def test_proximity_is_the_share_of_common_leaves(classes):
    forest, neighbors = classes
    expected = brute_force(forest)
    np.testing.assert_allclose(forest.proximity(X).toarray(), expected, rtol=1e-15)
    np.testing.assert_allclose(neighbors.proximity().toarray(), expected, rtol=1e-15)
    leaves = forest.apply(NEW)[:, None] == forest.apply(X)[None]
    np.testing.assert_allclose(forest.proximity(NEW, X).toarray(), leaves.mean(axis=2), rtol=1e-15)
    np.testing.assert_allclose(neighbors.proximity(NEW).toarray(), leaves.mean(axis=2), rtol=1e-15)


def test_only_the_largest_proximities_are_kept(classes):
    forest, _ = classes
    found = forest.proximity(X, k=3).toarray()
    whole = brute_force(forest)
    assert (np.count_nonzero(found, axis=1) == 3).all()
    np.testing.assert_allclose(np.sort(found, axis=1)[:, -3:], np.sort(whole, axis=1)[:, -3:])


def test_out_of_bag_proximity_counts_trees_that_have_seen_neither(classes):
    forest, neighbors = classes
    is_new = neighbors.training.out_of_bag(range(15))
    expected = brute_force(forest, is_new)
    np.testing.assert_allclose(neighbors.proximity(out_of_bag=True).toarray(), expected, rtol=1e-15)


@pytest.mark.parametrize("out_of_bag", [False, True])
def test_outliers_have_little_in_common_with_their_class(classes, out_of_bag):
    forest, neighbors = classes
    near = brute_force(forest, neighbors.training.out_of_bag(range(15)) if out_of_bag else None)
    found = neighbors.outliers(out_of_bag=out_of_bag)
    for k in range(3):
        raw = N / (near[k == CLASSES][:, k == CLASSES] ** 2).sum(axis=1)
        away = raw - np.median(raw)
        np.testing.assert_allclose(found[k == CLASSES], away / (1.4826 * np.median(np.abs(away))), rtol=1e-10)


def test_rows_without_weight_have_no_neighbors():
    weight = WEIGHTS["whole"]
    neighbors = forest_of("numbers").fit(X, Y, weight).neighbors(X, Y, weight)
    near = neighbors.proximity()
    assert near.shape == (N, N)
    assert near[np.flatnonzero(weight == 0)].nnz == 0
    assert np.isnan(neighbors.outliers()[weight == 0]).all()


def test_what_cannot_be_asked_is_refused(classes):
    forest, neighbors = classes
    with pytest.raises(weald.ParameterError, match="k=0"):
        forest.proximity(X, k=0)
    with pytest.raises(weald.ParameterError, match="k=None"):
        neighbors.nearest(NEW, k=None)
    with pytest.raises(weald.ParameterError, match="Leave X out"):
        neighbors.proximity(NEW, out_of_bag=True)
    with pytest.raises(weald.DataError, match="grown from other data"):
        forest.neighbors(X[:-1], CLASSES[:-1])


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_engines_see_the_same_neighbors(kind):
    y = Y if kind == "numbers" else CLASSES
    native = forest_of(kind, max_features=2).fit(X, y)
    reference = forest_of(kind, max_features=2, engine="reference").fit(X, y)
    one, other = native.neighbors(X, y), reference.neighbors(X, y)
    pairs = [
        (one.weights(NEW), other.weights(NEW)),
        (one.weights(k=3), other.weights(k=3)),
        (native.proximity(X, NEW), reference.proximity(X, NEW)),
        (one.proximity(out_of_bag=True, k=5), other.proximity(out_of_bag=True, k=5)),
    ]
    for found, expected in pairs:
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    np.testing.assert_array_equal(one.outliers(), other.outliers())


def test_a_result_that_no_memory_could_hold_is_refused(classes, monkeypatch):
    forest, neighbors = classes
    monkeypatch.setattr("weald.inspection.neighbors.MOST_ENTRIES", 500)
    with pytest.raises(weald.DataError, match=r"more than [\d,]+ entries.*Give k"):
        forest.proximity(X)
    with pytest.raises(weald.DataError, match="Give k"):
        neighbors.proximity()
    assert forest.proximity(X, k=2).nnz == 2 * N


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0, 1], ids=["large pure leaves", "small leaves"])
def test_100_000_rows_have_neighbors(noise):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100_000, 5))
    y = x[:, 0] + noise * rng.normal(size=len(x)) > 0
    forest = weald.RandomForestClassifier(20, random_state=0).fit(x, y)
    near = forest.proximity(x, k=5)
    assert near.shape == (100_000, 100_000)
    assert (np.diff(near.indptr) == 5).all()
    assert (near.max(axis=1).toarray() == 1).all()
    neighbors = forest.neighbors(x, y)
    assert (neighbors.nearest(k=5).weights[:, 0] > 0).mean() > 0.99
    assert len(neighbors.outliers()) == 100_000


# --------------------------------------------------------------------------------------------------------- single trees


@pytest.mark.parametrize("kind", [weald.DecisionTreeClassifier, weald.DecisionTreeRegressor])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_single_tree_has_neighbors_weights_and_proximities(kind, weighted):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(9, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    weight = rng.integers(1, 4, size=80) if weighted else None
    tree = kind(max_depth=3).fit(X, y, weight)
    weights = tree.weights(new, X, y, weight)
    if kind is weald.DecisionTreeClassifier:
        np.testing.assert_allclose(weights @ np.eye(3)[y], tree.predict_proba(new))
    else:
        np.testing.assert_allclose(weights @ y, tree.predict(new))
    leaves, of_new = tree.apply(X), tree.apply(new)
    np.testing.assert_array_equal(tree.proximity(new, X).toarray(), of_new[:, None] == leaves)
    for leaf in np.unique(leaves):
        found = tree.leaf_rows(int(leaf), X, y, weight)
        np.testing.assert_array_equal(found.rows, np.flatnonzero(leaves == leaf))
        np.testing.assert_array_equal(found.counts, np.ones(80)[found.rows] if weight is None else weight[found.rows])
        np.testing.assert_array_equal(found.targets, y[found.rows])


def test_a_tree_of_a_forest_has_the_neighbors_of_its_bag():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "yes", "no")
    forest = weald.RandomForestClassifier(4, random_state=0).fit(X, y)
    tree = forest.estimators_[2]
    leaf = int(tree.apply(X[:1])[0])
    one, all_ = tree.leaf_rows(leaf, X, y), forest.leaf_rows(2, leaf, X, y)
    np.testing.assert_array_equal(one.rows, all_.rows)
    np.testing.assert_array_equal(one.counts, all_.counts)
    np.testing.assert_allclose(tree.weights(X, X, y) @ (y == "yes"), tree.predict_proba(X)[:, 1])
