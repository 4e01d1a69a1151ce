"""Scripts that use scikit-learn's trees and forests run unchanged with weald's."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, GradientBoostingRegressor, IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import weald
from weald import accel
from weald.accel import estimators, records

FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
NAMES = (*FORESTS, *TREES)


@pytest.fixture(autouse=True)
def installed():
    records.forget()
    accel.install()
    yield
    accel.uninstall()


def make_table(n_rows=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 6))
    signal = X[:, 0] + X[:, 1] ** 2
    return X, np.array(["low", "middle", "high"])[np.digitize(signal, [0.0, 1.5])], signal


def kind_of(name):
    return getattr(sklearn.ensemble if name in FORESTS else sklearn.tree, name)


def make(name, **given):
    few = {"n_estimators": 5} if name in FORESTS else {}
    return kind_of(name)(**{"random_state": 0, **few, **given})


def fit(name, **given):
    X, labels, numbers = make_table()
    return make(name, **given).fit(X, labels if "Classifier" in name else numbers)


def fits():
    return {(fits.estimator, fits.reason): fits.count for fits in accel.summary().fits}


# ------------------------------------------------------------------------------------------------- scikit-learn's way


SMALL = [getattr(estimators, name)(**({"n_estimators": 4} if name in FORESTS else {})) for name in NAMES]


# scikit-learn also exempts its own forests from these checks
OF_BAGS = "a weight of k is not the row k times: bags have as many draws as the table has rows"
EQUIVALENCE = {f"check_sample_weight_equivalence_on_{kind}_data": OF_BAGS for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore:class_weight weighs the class:UserWarning")  # a weight ratio of 1e-7
@parametrize_with_checks(
    SMALL, expected_failed_checks=lambda model: EQUIVALENCE if getattr(model, "bootstrap", False) else {}
)
def test_scikit_learn_finds_nothing_to_blame(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_defaults_are_scikit_learns(name):
    assert kind_of(name) is getattr(estimators, name)
    assert kind_of(name)().get_params() == estimators.THEIRS[name]().get_params()


@pytest.mark.parametrize("name", NAMES)
def test_weald_fits_with_the_defaults_of_scikit_learn(name):
    model = fit(name)
    ours = model.weald_.get_params()
    assert type(model.weald_) is getattr(weald, name)
    assert ours["n_jobs"] == 1
    assert ours["max_features"] == model.max_features
    assert ours.get("bootstrap") == getattr(model, "bootstrap", None)
    assert fits() == {(name, ""): 1}


@pytest.mark.parametrize("name", NAMES)
def test_it_predicts_what_its_own_trees_of_scikit_learn_predict(name):
    X, _, _ = make_table()
    model = fit(name, min_samples_leaf=3)
    theirs = estimators.THEIRS[name]
    for method in ("predict", "apply", *(["predict_proba", "predict_log_proba"] if "Classifier" in name else [])):
        with np.errstate(divide="ignore"):
            assert np.array_equal(getattr(model, method)(X), getattr(theirs, method)(model, X)), method
    assert (model.decision_path(X)[0] != theirs.decision_path(model, X)[0]).sum() == 0
    assert model.feature_importances_ == pytest.approx(theirs.feature_importances_.fget(model))


def test_more_threads_are_used_when_they_are_asked_for():
    assert fit("RandomForestClassifier", n_jobs=2).weald_.n_jobs == 2
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert fit("RandomForestClassifier").weald_.n_jobs == 2


def test_the_seed_of_numpy_is_the_seed_where_none_is_given():
    seeds = []
    for _ in range(2):
        np.random.seed(3)  # noqa: NPY002  (what scripts do)
        seeds.append(fit("RandomForestClassifier", random_state=None).weald_.seed_)
    assert seeds[0] == seeds[1]


def test_a_bag_has_as_many_draws_as_there_are_rows_whatever_they_weigh():
    X, labels, _ = make_table()
    weight = np.full(len(X), 1000)
    assert make("RandomForestClassifier").fit(X, labels, weight).weald_.growth_.n_draws == 200
    half = make("RandomForestClassifier", max_samples=0.5)
    assert half.fit(X, labels).weald_.growth_.n_draws == 100


def test_more_features_than_there_are_mean_all_of_them():
    assert fit("RandomForestClassifier", max_features=50).weald_.growth_.max_features == 6


def test_columns_of_a_frame_are_remembered_by_name():
    X, labels, _ = make_table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = make("ExtraTreesClassifier").fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("fedcba")])


@pytest.mark.parametrize("n_targets", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_several_targets(name, n_targets):
    X, labels, numbers = make_table()
    Y = np.column_stack([labels if "Classifier" in name else numbers] * n_targets)
    model = make(name).fit(X, Y)
    assert model.n_outputs_ == n_targets
    assert np.array_equal(model.predict(X), estimators.THEIRS[name].predict(model, X))


def test_out_of_bag_results_have_scikit_learns_names():
    model = fit("RandomForestClassifier", n_estimators=60, oob_score=True)
    assert model.oob_score_ > 0.5
    assert model.oob_decision_function_.shape == (200, 3)


# -------------------------------------------------------------------------------------------------- isinstance


@pytest.mark.parametrize("name", NAMES)
def test_isinstance_says_yes_both_ways(name):
    theirs = estimators.THEIRS[name]
    assert isinstance(make(name), theirs)  # imported before `install`
    assert isinstance(theirs(), kind_of(name))  # a model created by scikit-learn itself
    assert not isinstance(GradientBoostingRegressor(), kind_of(name))
    # single trees of weald count as scikit-learn's, so that its plot_tree accepts them; forests do not.
    assert isinstance(getattr(weald, name)(), theirs) == (name not in FORESTS)


def test_subclasses_of_a_script_are_its_own():
    class Mine(sklearn.ensemble.RandomForestRegressor):
        pass

    X, _, numbers = make_table()
    model = clone(Mine(n_estimators=3, random_state=0)).fit(X, numbers)
    assert type(model.weald_) is weald.RandomForestRegressor
    assert not isinstance(sklearn.ensemble.RandomForestRegressor(), Mine)
    assert not isinstance(estimators.THEIRS["RandomForestRegressor"](), Mine)


@pytest.mark.parametrize("name", NAMES)
def test_clones_and_pickles(name):
    X, _, _ = make_table()
    model = fit(name)
    size = len(pickle.dumps(model))
    getattr(model, "estimators_" if name in FORESTS else "tree_")
    assert len(pickle.dumps(model)) == size  # converted trees are not pickled
    accel.uninstall()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert type(clone(model)) is type(model)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_workers_of_joblib_fit_and_send_back():
    X, labels, _ = make_table()
    models = joblib.Parallel(n_jobs=2)(
        joblib.delayed(make("RandomForestClassifier", random_state=seed).fit)(X, labels) for seed in range(3)
    )
    here = make("RandomForestClassifier", random_state=2).fit(X, labels)
    assert models[2].weald_.forest_.fingerprint() == here.weald_.forest_.fingerprint()
    assert len(cross_val_score(here, X, labels, cv=3, n_jobs=2)) == 3


# --------------------------------------------------------------------------------------------- what scikit-learn fits


@pytest.mark.parametrize("name", ["ExtraTreesRegressor", "DecisionTreeRegressor"])
def test_what_weald_lacks_is_left_to_scikit_learn(name):
    X, _, numbers = make_table()
    reason, weight = "sample_weight has negative weights", [-1] + [1] * (len(X) - 1)
    model = make(name).fit(X, numbers, weight)
    assert not hasattr(model, "weald_")
    theirs = estimators.THEIRS[name](**model.get_params()).fit(X, numbers, weight)
    assert np.array_equal(model.predict(X), theirs.predict(X))
    assert fits() == {(name, reason): 1}
    assert f"{name}: 1 fit by scikit-learn, because {reason}" in str(accel.summary())
    model.fit(X, numbers)
    assert hasattr(model, "weald_")


def test_negative_weights_are_left_to_scikit_learn():
    X, _, numbers = make_table()
    weight = np.ones(len(X))
    weight[0] = -1
    assert not hasattr(make("DecisionTreeRegressor").fit(X, numbers, weight), "weald_")
    assert fits() == {("DecisionTreeRegressor", "sample_weight has negative weights"): 1}


def test_what_weald_refuses_is_left_to_scikit_learn_with_its_words():
    model = fit("DecisionTreeClassifier", class_weight={"low": -1, "middle": 1, "high": 1})
    assert not hasattr(model, "weald_")
    assert "class_weight" in str(accel.summary())


@pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])
@pytest.mark.parametrize("name", ["RandomForestRegressor", "DecisionTreeRegressor"])
def test_counts_and_medians_are_fitted_by_weald(name, criterion):
    X, _, numbers = make_table()
    model = make(name, criterion=criterion).fit(X, np.abs(numbers))
    assert model.weald_.criterion == criterion
    assert model.predict(X).min() >= 0


def test_negative_counts_are_left_to_scikit_learn_which_raises_its_error():
    X, _, numbers = make_table()
    with pytest.raises(ValueError, match="negative which is not allowed for Poisson regression"):
        make("DecisionTreeRegressor", criterion="poisson").fit(X, -np.abs(numbers))


def test_a_search_over_criteria_is_fitted_by_weald():
    X, _, numbers = make_table(60)
    grid = {"criterion": ["squared_error", "absolute_error"]}
    search = GridSearchCV(make("RandomForestRegressor", max_depth=2), grid, cv=2).fit(X, numbers)
    assert fits() == {("RandomForestRegressor", ""): 5}
    assert search.predict(X).shape == (60,)


@pytest.mark.parametrize("bad", [{"max_depth": 0}, {"max_features": "third"}, {"criterion": "no"}])
def test_errors_of_parameters_are_scikit_learns(bad):
    with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter of .* must be"):
        fit("RandomForestClassifier", **bad)


def test_errors_of_tables_are_scikit_learns():
    X, labels, _ = make_table()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity"):
        make("RandomForestClassifier").fit(X, labels)
    with pytest.raises(ValueError, match="bootstrap"):
        fit("ExtraTreesClassifier", oob_score=True)


# -------------------------------------------------------------------------------------------------- warm starts


def test_a_warm_start_goes_on_with_wealds_trees():
    X, labels, _ = make_table()
    model = make("RandomForestClassifier", n_estimators=3, warm_start=True).fit(X, labels)
    assert len(model.estimators_) == 3
    model.set_params(n_estimators=7).fit(X, labels)
    assert len(model.estimators_) == 7
    whole = make("RandomForestClassifier", n_estimators=7).fit(X, labels)
    assert model.weald_.forest_.fingerprint() == whole.weald_.forest_.fingerprint()


def test_a_warm_start_can_go_on_with_scikit_learns_trees_and_says_so():
    X, _, numbers = make_table()
    model = make("ExtraTreesRegressor", n_estimators=2, warm_start=True).fit(X, numbers)
    model.set_params(n_estimators=4, max_depth=3).fit(X, numbers, [-1] + [1] * (len(X) - 1))
    assert len(model.estimators_) == 4
    assert not hasattr(model, "weald_")
    model.set_params(n_estimators=5).fit(X, numbers)
    assert ("ExtraTreesRegressor", "warm_start continues with trees that scikit-learn grew") in fits()
    assert len(model.estimators_) == 5


# ------------------------------------------------------------------------------- what scikit-learn is made of itself


def test_parts_of_scikit_learn_keep_its_own_trees():
    X, labels, numbers = make_table()
    AdaBoostClassifier(n_estimators=2, random_state=0).fit(X, labels)
    GradientBoostingRegressor(n_estimators=2).fit(X, numbers)
    IsolationForest(n_estimators=2, random_state=0).fit(X)
    BaggingClassifier(n_estimators=2, random_state=0).fit(X, labels)
    sklearn.ensemble.RandomTreesEmbedding(n_estimators=2, random_state=0).fit(X)
    assert accel.summary().fits == ()


def test_trees_that_a_script_hands_to_them_are_wealds():
    X, labels, _ = make_table()
    for ensemble in (AdaBoostClassifier, BaggingClassifier):
        model = ensemble(make("DecisionTreeClassifier", max_depth=2), n_estimators=3, random_state=0).fit(X, labels)
        assert hasattr(model.estimators_[0], "weald_")
        assert model.score(X, labels) > 0.5


def test_partial_dependence_and_pruning_paths_work():
    from sklearn.inspection import partial_dependence

    X, _, numbers = make_table()
    model = fit("RandomForestRegressor")
    by_trees = partial_dependence(model, X, [0], method="recursion", grid_resolution=5).average
    assert by_trees.shape == (1, 5)
    path = make("DecisionTreeRegressor").cost_complexity_pruning_path(X, numbers)
    assert len(path.ccp_alphas) > 3


def test_samples_of_trees_are_the_rows_of_wealds_bags():
    X, labels, _ = make_table()
    model = fit("RandomForestClassifier")
    bags = model.weald_.bags(np.asarray(X, dtype=np.float32), labels)
    found = [np.bincount(rows, minlength=len(bag)) for rows, bag in zip(model.estimators_samples_, bags, strict=True)]
    np.testing.assert_array_equal(found, bags)
