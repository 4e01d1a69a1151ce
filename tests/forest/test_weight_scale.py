"""Node weights are in the user's units: sums of sample weight times class weight, as in scikit-learn."""

import io
import pickle

import numpy as np
import pytest
from sklearn import ensemble, tree

import weald
from weald.forest.forest import Forest

N = 90
RNG = np.random.default_rng(8)
X = np.arange(3.0 * N).reshape(3, N).T
Y = (np.arange(N) // 11) % 3
NUMBERS = np.sin(np.arange(N)) + RNG.normal(size=N)
FRACTIONS = RNG.random(N) + 0.5
ENGINES = ["native", "reference"]
CLASS_WEIGHTS = [None, {0: 0.5, 1: 2.0, 2: 1.0}, "balanced"]


def weights_of(model):
    """Get the arrays of a tree, or of all trees."""
    trees = [model] if hasattr(model, "tree_") else list(model)
    return np.concatenate([one.tree_.weighted_n_node_samples for one in trees])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weight", [FRACTIONS, FRACTIONS * 1e12, FRACTIONS * 1e-12, np.full(N, 0.5)])
def test_nodes_weigh_what_they_weigh_in_scikit_learn(engine, weight):
    for ours, theirs, y in (
        (weald.DecisionTreeRegressor, tree.DecisionTreeRegressor, NUMBERS),
        (weald.DecisionTreeClassifier, tree.DecisionTreeClassifier, Y),
    ):
        mine = ours(engine=engine, max_depth=3).fit(X[:, :1], y, weight).tree_
        other = theirs(random_state=0, max_depth=3).fit(X[:, :1], y, weight).tree_
        np.testing.assert_array_equal(mine.threshold, other.threshold)
        np.testing.assert_allclose(mine.weighted_n_node_samples, other.weighted_n_node_samples, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
@pytest.mark.parametrize("weight", [None, np.arange(N) % 3 + 1.0, FRACTIONS])
def test_class_weights_count(engine, class_weight, weight):
    how = {"max_depth": 3, "random_state": 0}
    mine = weald.DecisionTreeClassifier(engine=engine, class_weight=class_weight, **how).fit(X, Y, weight).tree_
    if class_weight == "balanced":  # scikit-learn counts rows here, weald sums weights
        of_class = np.bincount(Y, weights=weight)
        class_weight = dict(enumerate(of_class.sum() / (3 * of_class)))
    other = tree.DecisionTreeClassifier(class_weight=class_weight, **how).fit(X, Y, weight).tree_
    assert mine.weighted_n_node_samples[0] == pytest.approx(other.weighted_n_node_samples[0], rel=2e-6)
    np.testing.assert_allclose(mine.class_weights.sum(axis=1), mine.weighted_n_node_samples, rtol=1e-12)
    np.testing.assert_allclose(mine.class_weights[0], other.value[0, 0] * other.weighted_n_node_samples[0], rtol=2e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_trees_without_bootstrap_weigh_what_those_of_scikit_learn_do(engine):
    how = {"n_estimators": 3, "bootstrap": False, "max_features": None, "random_state": 0, "max_depth": 2}
    mine = weald.RandomForestRegressor(engine=engine, **how).fit(X[:, :1], NUMBERS, FRACTIONS)
    theirs = ensemble.RandomForestRegressor(**how).fit(X[:, :1], NUMBERS, FRACTIONS)
    for one, other in zip(mine.estimators_, theirs.estimators_, strict=True):
        np.testing.assert_allclose(one.tree_.weighted_n_node_samples, other.tree_.weighted_n_node_samples, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 3, 1: 1, 2: 0.25}])
def test_draws_weigh_as_their_classes(engine, class_weight):
    forest = weald.RandomForestClassifier(3, class_weight=class_weight, random_state=0, engine=engine).fit(X, Y)
    for one in forest.estimators_:
        shares = one.tree_.value[0, 0]
        weights = one.tree_.class_weights[0]
        np.testing.assert_allclose(weights / weights.sum(), shares, rtol=1e-12)
        if class_weight == "balanced_subsample":  # all classes have equal weight, in total the number of draws
            np.testing.assert_allclose(weights, np.full(3, N / 3), rtol=1e-5)


def test_engines_agree_about_scales():
    y = np.column_stack([Y, Y == 1])
    for class_weight in [*CLASS_WEIGHTS, "balanced_subsample"]:
        for weight in (None, FRACTIONS, np.full(N, 5e-324), np.where(Y == 1, 1e308, 1e-308)):
            for bootstrap in (True, False):
                how = {"class_weight": class_weight, "bootstrap": bootstrap, "random_state": 0}
                found = [weald.RandomForestClassifier(2, engine=e, **how).fit(X, Y, weight).forest_ for e in ENGINES]
                np.testing.assert_array_equal(found[0].weight_scale, found[1].weight_scale)
                assert np.isfinite(found[0].weight_scale).all()
                assert (found[0].weight_scale > 0).all()
                if not isinstance(class_weight, dict):
                    both = [weald.RandomForestClassifier(2, engine=e, **how).fit(X, y, weight) for e in ENGINES]
                    for one, other in zip(*(model.forests_ for model in both), strict=True):
                        np.testing.assert_array_equal(one.weight_scale, other.weight_scale)


def test_the_largest_weights_are_finite_or_infinite_as_their_sum():
    weight = np.full(N, 1.7e308)
    assert np.isposinf(weald.DecisionTreeClassifier().fit(X, Y, weight).tree_.weighted_n_node_samples[0])
    tiny = weald.DecisionTreeClassifier().fit(X, Y, np.full(N, 1e-300)).tree_
    assert tiny.weighted_n_node_samples[0] == pytest.approx(N * 1e-300, rel=1e-9)


def test_without_weights_nothing_is_kept_beside_the_forest():
    assert not len(weald.RandomForestClassifier(2, random_state=0).fit(X, Y).forest_.weight_scale)
    assert not len(weald.RandomForestClassifier(2, random_state=0).fit(X, Y, FRACTIONS).forest_.weight_scale)
    assert not len(weald.DecisionTreeRegressor().fit(X, Y, np.full(N, 3)).forest_.weight_scale)


def test_the_scale_of_weights_is_no_part_of_the_fingerprint():
    """Weights twice as large give the same trees."""
    one, two = (weald.DecisionTreeClassifier().fit(X, Y, FRACTIONS * k) for k in (1, 2))
    assert one.forest_.fingerprint() == two.forest_.fingerprint()
    np.testing.assert_array_equal(2 * weights_of(one), weights_of(two))


def saved_and_loaded(model, tmp_path):
    for name, how in (("plain", {}), ("mappable", {"mappable": True})):
        model.save(tmp_path / name, **how)
        yield weald.load(tmp_path / name)
        if how:
            yield weald.load(tmp_path / name, mmap=True)
    yield pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("weight", [None, FRACTIONS])
def test_scales_are_saved(tmp_path, weight):
    single = weald.DecisionTreeClassifier(class_weight="balanced").fit(X, Y, weight)
    for again in saved_and_loaded(single, tmp_path):
        np.testing.assert_array_equal(weights_of(again), weights_of(single))
    forest = weald.RandomForestClassifier(3, class_weight="balanced_subsample", random_state=0).fit(X, Y, weight)
    for again in saved_and_loaded(forest, tmp_path):
        np.testing.assert_array_equal(again.forest_.weight_scale, forest.forest_.weight_scale)


def test_scales_go_with_their_trees():
    forest = weald.RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0).fit(X, Y).forest_
    plain = weald.RandomForestClassifier(2, random_state=0).fit(X, Y).forest_
    np.testing.assert_array_equal(forest.take([3, 1]).weight_scale, forest.weight_scale[[3, 1]])
    joined = plain.join(forest)
    np.testing.assert_array_equal(joined.weight_scale, [1, 1, *forest.weight_scale])
    assert isinstance(joined.in_user_weights(joined.weight), np.ndarray)
    assert Forest.take(joined, [0]).in_user_weights(joined.take([0]).weight)[0] == plain.weight[0]


def test_a_pruned_tree_keeps_its_scale():
    whole = weald.DecisionTreeRegressor().fit(X, NUMBERS, FRACTIONS)
    pruned = weald.DecisionTreeRegressor(ccp_alpha=0.01).fit(X, NUMBERS, FRACTIONS)
    assert pruned.tree_.node_count < whole.tree_.node_count
    assert weights_of(pruned)[0] == weights_of(whole)[0] == pytest.approx(FRACTIONS.sum(), rel=1e-9)


def test_a_file_with_wrong_scales_is_refused():
    from weald.io.files import read_forest, write_forest

    forest = weald.DecisionTreeClassifier().fit(X, Y, FRACTIONS).forest_
    for wrong in ([-1.0], [0.0], [np.nan], [np.inf], [1.0, 1.0]):
        with pytest.raises(weald.errors.FormatError, match="Weight scales must be"):
            write_forest(forest.with_arrays({"weight_scale": np.array(wrong)}))
    assert read_forest(io.BytesIO(write_forest(forest)).getvalue()).weight_scale == forest.weight_scale
