"""Models of scikit-learn predict the same in weald, for every input that scikit-learn accepts."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, tree
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import weald
from weald.io.export.sklearn_trees import cut_at, place_in_pre_order


def make_table(n_rows=400, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] *= 1e30
    X[:, 3] *= 1e-42  # smaller than the normal float32 numbers
    signal = X[:, 0] + X[:, 1] / 2 + 0.3 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.digitize(signal, [-0.5, 0.5]), signal


# name -> estimator, share of missing values
MODELS = {
    "random forest": (RandomForestClassifier(12, random_state=0), 0.1),
    "leaves of several classes": (RandomForestClassifier(9, min_samples_leaf=6, random_state=1), 0.0),
    "best first": (RandomForestClassifier(7, max_leaf_nodes=15, random_state=2), 0.1),
    "pruned": (RandomForestClassifier(7, ccp_alpha=0.01, random_state=3), 0.0),
    "extra-trees": (ensemble.ExtraTreesClassifier(7, random_state=4), 0.1),
    "one tree": (tree.DecisionTreeClassifier(random_state=5), 0.1),
    "one extra-tree": (tree.ExtraTreeClassifier(random_state=6), 0.0),
    "entropy": (RandomForestClassifier(5, criterion="log_loss", random_state=7), 0.0),
    "regression": (RandomForestRegressor(9, random_state=8), 0.1),
    "absolute error": (RandomForestRegressor(4, criterion="absolute_error", max_depth=4, random_state=9), 0.0),
    "extra-trees regression": (ensemble.ExtraTreesRegressor(6, random_state=10), 0.0),
    "one regression tree": (tree.DecisionTreeRegressor(max_leaf_nodes=9, random_state=11), 0.1),
}
WEIGHTED = {
    "class weights": RandomForestClassifier(9, class_weight="balanced_subsample", min_samples_leaf=5, random_state=0),
    "bound leaves": RandomForestClassifier(9, monotonic_cst=[1, 0, 0, 0, 0], min_samples_leaf=4, random_state=1),
}


def fit(model, missing=0.0):
    X, classes, numbers = make_table(missing=missing)
    return X, model.fit(X, classes if hasattr(model, "predict_proba") else numbers)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_equal_bit_for_bit_at_the_edges_of_leaves(name):
    X, theirs = fit(*MODELS[name])
    ours, parity = weald.from_sklearn(theirs, X=X, return_parity=True)
    assert parity.is_exact, str(parity)
    assert parity.n_rows == 1400
    assert type(ours).__module__.startswith("weald")
    assert type(ours).__name__ == type(theirs).__name__
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-14)


@pytest.mark.parametrize("name", WEIGHTED)
def test_leaves_whose_weights_are_rounded_differ_in_the_last_bit_at_most(name):
    X, classes, _ = make_table(missing=0.0)
    theirs = WEIGHTED[name].fit(X, classes > 0)
    ours, parity = weald.from_sklearn(theirs, X=X, return_parity=True)
    assert parity.largest_difference <= 2**-52
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_doubles_are_cut_as_their_float32_neighbors_would_be():
    rng = np.random.default_rng(0)
    base = np.concatenate(
        [rng.normal(size=300), rng.normal(size=100) * 1e-40, rng.normal(size=100) * 8e37, [0.0, -0.0, 1.0, 3.4e38]]
    )
    thresholds = np.concatenate([base, base.astype(np.float32), np.nextafter(base.astype(np.float32), np.float32(9))])
    cut = cut_at(thresholds)
    for x in (cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf), thresholds):
        with np.errstate(over="ignore"):
            assert ((x.astype(np.float32) <= thresholds) == (x <= cut)).all()
    assert cut_at(np.array([np.inf, -np.inf])).tolist() == [np.inf, -np.inf]


def test_nodes_stand_in_pre_order_however_they_were_grown():
    left, right = np.array([1, 5, -1, -1, -1, -1, 3]), np.array([2, 6, -1, -1, -1, -1, 4])
    assert place_in_pre_order(left, right).tolist() == [0, 1, 6, 4, 5, 2, 3]


def test_names_of_features_and_labels_of_classes_come_along():
    X, classes, _ = make_table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    theirs = RandomForestClassifier(3, random_state=0).fit(frame, np.array(["x", "y", "z"])[classes])
    ours = weald.from_sklearn(theirs)
    assert ours.feature_names_in_.tolist() == list("abcde")
    assert ours.predict(frame).tolist() == theirs.predict(frame).tolist()
    with pytest.raises(weald.DataError, match="feature names"):
        ours.predict(frame[list("edcba")])


def test_the_forest_can_be_used_like_one_that_was_grown_here():
    X, theirs = fit(RandomForestClassifier(4, max_depth=3, random_state=0))
    ours = weald.from_sklearn(theirs)
    assert ours.max_depth == 3
    assert ours.estimators_[0].tree_.n_leaves == theirs.estimators_[0].tree_.n_leaves
    assert ours.estimators_[0].export_text().startswith("x1 ≤ -0.35")
    assert ours[:2].predict_proba(X) + ours[2:].predict_proba(X) == pytest.approx(2 * ours.predict_proba(X))
    assert ours.set_params(engine="reference").predict_proba(X[:20]).tolist() == theirs.predict_proba(X[:20]).tolist()
    with pytest.raises(weald.DataError, match="not grown by weald, so their training data is unknown"):
        ours.out_of_bag(X, make_table()[1])


def test_impurities_and_sizes_are_those_of_scikit_learn():
    _, theirs = fit(tree.DecisionTreeClassifier(max_leaf_nodes=12, random_state=0))
    ours = weald.from_sklearn(theirs).tree_
    order = np.argsort(place_in_pre_order(theirs.tree_.children_left, theirs.tree_.children_right))
    assert ours.impurity == pytest.approx(theirs.tree_.impurity[order], abs=1e-14)
    assert ours.n_node_samples.tolist() == theirs.tree_.n_node_samples[order].tolist()
    assert ours.value == pytest.approx(theirs.tree_.value[order])


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
def test_counts_and_medians_keep_their_criterion(criterion):
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 7
    theirs = RandomForestRegressor(3, criterion=criterion, min_samples_leaf=4, random_state=0).fit(X, y)
    ours, parity = weald.from_sklearn(theirs, return_parity=True)
    assert ours.criterion == criterion
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    assert ("impurities are those of scikit-learn" in str(parity)) == (criterion == "poisson")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (ensemble.GradientBoostingClassifier(), "does not support GradientBoostingClassifier"),
        (RandomForestClassifier(), "not fitted"),
        (RandomForestRegressor(2).fit([[1.0], [2.0]], [[1.0, 2.0], [3.0, 4.0]]), "one target.*has 2"),
        (42, "does not support int"),
    ],
    ids=["another kind", "not fitted", "two targets", "no model"],
)
def test_what_cannot_be_read_is_refused(model, words):
    with pytest.raises(weald.ExportError, match=words):
        weald.from_sklearn(model)


def test_a_model_that_predicts_otherwise_is_found():
    class Other(RandomForestRegressor):
        def predict(self, X):
            return 1 - super().predict(X)

    _, theirs = fit(Other(3, random_state=0))
    with pytest.raises(weald.ExportError, match="does not predict the same as weald"):
        weald.from_sklearn(theirs)
