"""Shrunk models in the rest of the library: where shrinkage is supported, and where it is refused with the reason."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import partial_dependence
from sklearn.model_selection import cross_val_score

import weald
from weald.errors import ParameterError

X, Y = load_iris(return_X_y=True)
XB, YB = load_breast_cancer(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)


def classifier(n_estimators=10, **given):
    return weald.RandomForestClassifier(n_estimators, random_state=0, **given)


def regressor(n_estimators=10, **given):
    return weald.RandomForestRegressor(n_estimators, random_state=0, **given)


# -------------------------------------------------------------------------------------------------------------- models


def test_a_single_tree_gains_by_shrinkage():
    plain, shrunk = (weald.DecisionTreeRegressor(random_state=0, shrinkage=s) for s in (0.0, 100.0))
    assert cross_val_score(shrunk, XR, YR).mean() > cross_val_score(plain, XR, YR).mean() + 0.2


@pytest.mark.parametrize("make", [weald.ExtraTreesClassifier, weald.RandomForestClassifier])
def test_trees_of_a_shrunk_forest_are_shrunk_trees(make):
    forest = make(5, random_state=0, shrinkage=4.0).fit(X, Y)
    mean = sum(tree.predict_proba(X) for tree in forest.estimators_) / 5
    np.testing.assert_allclose(forest.predict_proba(X), mean, rtol=1e-14)
    assert [tree.shrinkage for tree in forest] == [4.0] * 5
    assert forest[1:3].forest_.fingerprint() == forest.forest_.take([1, 2]).fingerprint()
    assert forest[2].forest_.fingerprint() == forest.forest_.take([2]).fingerprint()


def test_the_trees_of_a_forest_that_chose_lambda_have_a_number():
    forest = regressor(30, shrinkage="oob", oob_score=True).fit(XR, YR)
    assert forest.shrinkage_ > 0
    assert {tree.shrinkage for tree in forest} == {forest.shrinkage_}
    assert pickle.loads(pickle.dumps(forest)).shrinkage_ == forest.shrinkage_
    assert forest.get_params()["shrinkage"] == "oob"


def test_merged_forests_have_one_lambda():
    one, other = regressor(3, shrinkage=5).fit(XR, YR), regressor(3, shrinkage=9).set_params(random_state=1).fit(XR, YR)
    with pytest.raises(ParameterError, match="Forests of shrinkage 5 and 9 cannot be merged"):
        weald.merge([one, other])
    merged = weald.merge([one, other.truncate(shrinkage=5)])
    assert merged.shrinkage_ == 5
    np.testing.assert_allclose(merged.predict(XR), (one.predict(XR) + other.truncate(shrinkage=5).predict(XR)) / 2)


@pytest.mark.parametrize("shrinkage", [7.0, "oob"])
def test_a_warm_start_shrinks_all_trees_alike(shrinkage):
    model = classifier(6, shrinkage=2.0, warm_start=True, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows in every bag
        model.fit(XB, YB).set_params(n_estimators=14, shrinkage=shrinkage).fit(XB, YB)
        fitted = classifier(14, shrinkage=shrinkage, oob_score=True).fit(XB, YB)
    assert model.forest_.fingerprint() == fitted.forest_.fingerprint()
    assert model.oob_error_ == fitted.oob_error_


def test_growth_until_the_error_settles_reads_the_errors_of_shrunk_trees():
    model = regressor("auto", shrinkage=20.0, oob_score=True).fit(XR, YR)
    fitted = regressor(len(model), shrinkage=20.0, oob_score=True).fit(XR, YR)
    assert model.forest_.fingerprint() == fitted.forest_.fingerprint()
    np.testing.assert_array_equal(model.oob_.curve.error, fitted.oob_.curve.error)


def test_a_checkpoint_resumes_with_another_lambda(tmp_path):
    model = regressor(6, shrinkage=2.0).fit(XR, YR, checkpoint=tmp_path, every=2)
    again = regressor(6, shrinkage=3.0).fit(XR, YR, checkpoint=tmp_path, every=2)
    assert model.shrinkage_ == 2.0
    assert again.forest_.fingerprint() == regressor(6, shrinkage=3.0).fit(XR, YR).forest_.fingerprint()


def test_a_pruned_tree_is_shrunk_along_the_paths_that_are_left():
    tree = weald.DecisionTreeRegressor(random_state=0, shrinkage=30.0).fit(XR, YR)
    fitted = weald.DecisionTreeRegressor(random_state=0, shrinkage=30.0, ccp_alpha=50.0).fit(XR, YR)
    assert tree.prune(50.0).forest_.fingerprint() == fitted.forest_.fingerprint()
    choice = tree.choose_alpha(XR, YR, method="holdout", one_standard_error=False)
    for at in (0, len(choice.alphas) // 2, -1):
        predicted = tree.prune(float(choice.alphas[at])).predict(XR)
        assert choice.errors[at] == pytest.approx(np.mean((predicted - YR) ** 2))


def test_targets_of_leaves_stay_with_the_trees():
    model = regressor(5, keep_targets=True, min_samples_leaf=5).fit(XR, YR)
    shrunk = model.truncate(shrinkage=10.0)
    np.testing.assert_array_equal(shrunk.predict_quantiles(XR, 0.5), model.predict_quantiles(XR, 0.5))
    assert not np.array_equal(shrunk.predict(XR), model.predict(XR))


@pytest.mark.parametrize("is_class", [True, False])
def test_the_training_error_is_that_of_shrunk_predictions(is_class):
    data = (XB, YB) if is_class else (XR, YR)
    make = weald.DecisionTreeClassifier if is_class else weald.DecisionTreeRegressor
    tree = make(random_state=0, shrinkage=300.0).fit(*data)
    predicted = tree.predict(data[0])
    expected = np.mean(predicted != YB) if is_class else np.mean((predicted - YR) ** 2)
    assert tree.training_error() == pytest.approx(expected)
    assert tree.nodes(frame="dict")["error"][0] == pytest.approx(np.mean(YB == 0) if is_class else YR.var())


def test_descriptions_show_shrunk_predictions():
    tree = weald.DecisionTreeClassifier(max_depth=1, shrinkage=50.0).fit(X, Y)
    value = tree.predict_proba(X[:1])[0, 0]
    assert value == pytest.approx(1 / 3 + (2 / 3) / (1 + 50 / 150))
    assert f"probability {value:.2f}, 50 rows" in tree.export_text()
    numbers = weald.DecisionTreeRegressor(max_depth=1, shrinkage=500.0).fit(XR, YR)
    assert f"{numbers.predict(XR[:1])[0]:.1f}"[:4] in numbers.export_text()
    assert numbers.regions()[0].prediction in numbers.predict(XR)


def test_partial_dependence_is_that_of_shrunk_predictions():
    tree = weald.DecisionTreeRegressor(max_depth=1, shrinkage=500.0).fit(XR, YR)
    feature = int(tree.tree_.feature[0])
    found = partial_dependence(tree, XR, [feature], method="recursion", kind="average", grid_resolution=5)
    rows = np.repeat(XR[:1], 5, axis=0)
    rows[:, feature] = found["grid_values"][0]
    np.testing.assert_allclose(found["average"][0], tree.predict(rows))


def test_tune_compares_lambdas_with_one_forest():
    found = weald.tune(classifier(20), XB, YB, {"shrinkage": [0.0, 1.0, 20.0], "max_depth": [3, None]}, search="grid")
    assert (found.n_forests, found.n_settings) == (1, 6)
    assert found.best_params["shrinkage"] == found.best_estimator.shrinkage_ == found.best_estimator.shrinkage
    assert found.best_estimator.oob_error_ == found.best_error
    all_of_them = weald.tune(classifier(20), XB, YB, {"shrinkage": [0.3, "oob"], "max_depth": [2, 4]}, search="grid")
    assert (all_of_them.n_forests, all_of_them.n_settings) == (1, 2 * 9)
    chosen = weald.tune(classifier(20, shrinkage="oob"), XB, YB, {"max_depth": [2, None]}, search="grid")
    alone = [classifier(20, shrinkage="oob", oob_score=True, max_depth=d).fit(XB, YB).oob_error_ for d in (2, None)]
    assert chosen.n_forests == 1
    assert chosen.best_error == min(alone)


def test_a_code_store_and_a_sparse_table_are_shrunk_alike(tmp_path):
    store = weald.codes.from_chunks([(X[:80], Y[:80]), (X[80:], Y[80:])], folder=tmp_path)
    model = classifier(30, shrinkage="oob", oob_score=True)
    expected = classifier(30, shrinkage="oob", oob_score=True).fit(X, Y)
    assert model.fit(store).forest_.fingerprint() == expected.forest_.fingerprint()
    assert model.oob_error_ == expected.oob_error_


# ------------------------------------------------------------------------------------------------------------ refusals

MONOTONIC = {"monotonic_cst": [1] + [0] * 9}
BAD = {
    "a negative number": (lambda: regressor(shrinkage=-1.0).fit(XR, YR), "shrinkage=-1.0 is not allowed"),
    "not a number": (lambda: regressor(shrinkage=float("nan")).fit(XR, YR), "shrinkage=nan is not allowed"),
    "infinity": (lambda: regressor(shrinkage=float("inf")).fit(XR, YR), "shrinkage=inf is not allowed"),
    "a word": (lambda: regressor(shrinkage="auto").fit(XR, YR), 'Give a number from 0 or "oob"'),
    "nothing": (lambda: regressor(shrinkage=None).fit(XR, YR), "shrinkage=None is not allowed"),
    "a flag": (lambda: regressor(shrinkage=True).fit(XR, YR), "shrinkage=True is not allowed"),
    "a tree without a bag": (
        lambda: weald.DecisionTreeRegressor(shrinkage="oob").fit(XR, YR),
        "shrinkage='oob' is not allowed. Give a number from 0",
    ),
    "no bags": (lambda: regressor(bootstrap=False, shrinkage="oob").fit(XR, YR), "needs out-of-bag errors"),
    "monotonic": (lambda: regressor(shrinkage=1.0, **MONOTONIC).fit(XR, YR), "monotonic only up to rounding"),
    "monotonic, later": (lambda: regressor(**MONOTONIC).fit(XR, YR).truncate(shrinkage=1.0), "up to rounding"),
    "boosting": (
        lambda: classifier(resampling="boosting", shrinkage=1.0).fit(X, Y),
        "shrinkage=1.0 cannot be used with resampling='boosting'",
    ),
    "boosting, later": (
        lambda: classifier(resampling="arcing", max_depth=2).fit(X, Y).truncate(shrinkage=1.0),
        "shrinkage=1.0 cannot be used with resampling='arcing'",
    ),
    "several targets": (
        lambda: regressor(shrinkage="oob").fit(XR, np.column_stack([YR, YR])),
        "shrinkage='oob' does not support multi-output targets",
    ),
    "compacted": (lambda: classifier(20).fit(X.round(), Y).compact().truncate(shrinkage=1.0), "after compact"),
    "compacting": (lambda: classifier(shrinkage=1.0).fit(X, Y).compact(), "shrinkage=1 cannot be compacted"),
    "a surface of words": (
        lambda: classifier(oob_score=True, n_estimators=40).fit(X, Y).oob_.surface(values={"shrinkage": ["oob"]}),
        "shrinkage='oob' is not allowed",
    ),
    "weights of neighbors": (
        lambda: regressor(shrinkage=1.0).fit(XR, YR).neighbors(XR, YR).weights(XR[:2]),
        "a prediction is no mean over the rows",
    ),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD)
def test_what_cannot_be_shrunk_is_refused_with_the_reason(call, words):
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        call()


def test_kernel_forests_have_no_shrinkage():
    with pytest.raises(TypeError, match="shrinkage"):
        weald.KernelForestClassifier(shrinkage=1.0)
