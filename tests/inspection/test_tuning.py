"""tune finds what exhaustive search finds, and reports its path."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import make_scorer, mean_absolute_error

import weald
from tests import training_tables
from weald.errors import DataError, ParameterError
from weald.inspection.tuning import suggest_grid

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:150] for part in load_diabetes(return_X_y=True))
GRID = {"max_features": [1, 2, 4], "min_samples_leaf": [1, 5, 20]}


def forest(**given):
    return weald.RandomForestClassifier(**{"n_estimators": 40, "random_state": 0, **given})


def test_the_whole_grid_is_tried_and_the_lowest_error_wins():
    found = weald.tune(forest(), X, Y, grid=GRID, search="grid")
    errors = {
        (m, leaf): forest(oob_score=True, max_features=m, min_samples_leaf=leaf).fit(X, Y).oob_error_
        for m, leaf in itertools.product(*GRID.values())
    }
    assert [step.error for step in found.path] == list(errors.values())
    assert found.best_error == min(errors.values())
    assert tuple(found.best_params.values()) == min(errors, key=errors.get)
    same = clone(forest()).set_params(**found.best_params).fit(X, Y)
    assert found.best_estimator.forest_.fingerprint() == same.forest_.fingerprint()
    np.testing.assert_array_equal(found.best_estimator.predict(X), same.predict(X))


def test_one_by_one_never_gets_worse_and_ends_where_no_single_step_helps():
    found = weald.tune(forest(), X, Y, grid=GRID)
    best = [step.error for step in found.path if step.is_best]
    assert best == sorted(best, reverse=True)
    assert found.best_error == best[-1]
    for name, values in GRID.items():
        for value in values:
            near = forest(oob_score=True, **{**found.best_params, name: value}).fit(X, Y)
            assert near.oob_error_ >= found.best_error


STOPPING = {
    "max_depth": [2, 4, None],
    "min_samples_split": [2, 0.1],
    "n_estimators": [20, 40],
    "ccp_alpha": [0.0, 0.02],
    "min_impurity_decrease": [0.0, 0.01],
    "max_leaf_nodes": [None, 5],
}


@pytest.mark.parametrize("names", [*itertools.combinations(STOPPING, 2), ("max_depth",), ("max_leaf_nodes",)], ids=str)
@pytest.mark.parametrize("given", [{}, {"max_samples": 0.7}, {"max_leaf_nodes": 7, "ccp_alpha": 0.01}], ids=str)
def test_stopping_rules_are_compared_with_one_forest(names, given):
    grid = {name: STOPPING[name] for name in names}
    found = weald.tune(forest(**given), X, Y, grid=grid, search="grid")
    assert found.n_forests == 1
    assert found.n_settings == len(list(itertools.product(*grid.values())))
    for step in found.path:
        model = forest(**{**given, "oob_score": True, **step.params}).fit(X, Y)
        assert step.error == model.oob_error_
        assert step.interval == pytest.approx(model.oob_.error_interval())
    same = forest(**{**given, "oob_score": True, **found.best_params}).fit(X, Y)
    assert found.best_estimator.forest_.fingerprint() == same.forest_.fingerprint()
    assert found.best_error == found.best_estimator.oob_error_
    assert found.best_estimator.get_params() == same.get_params()


@pytest.mark.parametrize("search", ["grid", "one_by_one"])
@pytest.mark.parametrize("labels", [Y, (np.arange(len(Y)) % 7 == 0).astype(int)])
def test_numbers_of_trees_that_leave_rows_without_a_score_do_not_win(search, labels):
    numbers = list(range(1, 41))
    given = forest(n_estimators=1, oob_score=True)
    found = weald.tune(given, X, labels, grid={"n_estimators": numbers}, search=search)
    surface = forest(oob_score=True).fit(X, labels).oob_.surface(values={"n_estimators": numbers})
    assert (surface.fractions[:5] < 1).all()
    assert surface.fractions[-1] == 1
    assert [step.error for step in found.path[:40]] == surface.errors.tolist()
    whole = surface.errors[surface.fractions == 1]
    assert found.best_error == whole.min() == surface.errors[found.best_params["n_estimators"] - 1]
    assert surface.fractions[found.best_params["n_estimators"] - 1] == 1
    assert not any(step.is_best for step in found.path[:5])


def test_an_unknown_error_gives_way_to_a_known_one():
    few = weald.RandomForestClassifier(1, random_state=3)  # the bag of the first tree has both rows
    found = weald.tune(few, X[:1].repeat(2, 0), ["a", "b"], grid={"n_estimators": [1, 30]})
    assert np.isnan(found.path[0].error)
    assert not found.path[0].is_best
    assert found.best_params == {"n_estimators": 30}


def test_other_parameters_need_a_forest_for_each_combination():
    grid = {"max_features": [1, 4], "max_depth": [1, 2, 3], "min_samples_leaf": [1, 5]}
    found = weald.tune(forest(), X, Y, grid=grid, search="grid")
    assert (found.n_forests, found.n_settings) == (4, 12)
    errors = {
        setting: forest(oob_score=True, **dict(zip(grid, setting, strict=True))).fit(X, Y).oob_error_
        for setting in itertools.product(*grid.values())
    }
    assert {tuple(step.params[name] for name in grid): step.error for step in found.path} == errors
    assert found.best_error == min(errors.values())


def test_the_number_of_trees_may_be_found_by_itself():
    found = weald.tune(forest(n_estimators="auto"), X, Y, grid={"max_depth": [2, None]})
    assert found.best_estimator.n_estimators == "auto"
    assert found.n_forests == 1


def test_kernel_forests_are_grown_for_each_setting():
    rng = np.random.default_rng(0)
    series, labels = rng.normal(size=(60, 10)), np.arange(60) % 2
    kernel = weald.KernelForestClassifier(20, random_state=0)
    assert weald.tune(kernel, series, labels, grid={"max_depth": [1, 2]}, search="grid").n_forests == 2


def test_no_forest_is_grown_twice():
    found = weald.tune(forest(max_features="sqrt"), X, Y, grid={"max_features": ["sqrt", 2, 0.5, "log2"]})
    assert len(found.path) == 1  # four names for the same number


def test_the_budget_is_kept():
    assert weald.tune(forest(), X, Y, budget=4).n_forests == 4
    assert len(weald.tune(forest(), X, Y, grid=GRID, search="grid", budget=1).path) == 1


def test_the_default_grid_suits_the_table():
    given = weald.RandomForestRegressor(30, random_state=0)
    found = weald.tune(given, XR, YR, budget=6)
    assert list(found.best_params) == [
        "max_features",
        "min_samples_leaf",
        "max_samples",
        "max_depth",
        "min_samples_split",
        "min_impurity_decrease",
    ]
    assert not hasattr(given, "forest_")


def test_another_metric_decides_and_its_highest_score_wins():
    grid = {"min_samples_leaf": [1, 40]}
    given = weald.RandomForestRegressor(30, random_state=0)
    of_loss = make_scorer(mean_absolute_error, greater_is_better=False)
    for scoring in (
        of_loss,
        lambda truth, predicted: -mean_absolute_error(truth, predicted),
        "neg_mean_absolute_error",
    ):
        found = weald.tune(given, XR, YR, grid, scoring=scoring)
        expected = mean_absolute_error(YR, found.best_estimator.oob_prediction_)
        assert -found.best_score == found.best_error == pytest.approx(expected)
        assert found.best_score == max(step.score for step in found.path)
        assert [*found.table()] == ["min_samples_leaf", "score", "seconds", "best"]
        assert "score -" in repr(found)
    score = weald.tune(forest(), X, Y, grid=grid, scoring="neg_log_loss")
    assert score.best_score == score.best_estimator.oob_.score("neg_log_loss")


def test_a_grid_may_have_arrays_and_ranges():
    expected = weald.tune(forest(), X, Y, {"max_features": [1, 2, 3], "min_samples_leaf": [1, 5]}, search="grid")
    grid = {"max_features": range(1, 4), "min_samples_leaf": np.array([1, 5])}
    assert weald.tune(forest(), X, Y, grid, search="grid").best_params == expected.best_params


def test_the_path_is_a_table():
    found = weald.tune(forest(), X, Y, grid=GRID)
    table = found.table()
    assert [*table] == ["max_features", "min_samples_leaf", "error", "low", "high", "seconds", "best"]
    assert {len(column) for column in table.values()} == {len(found.path)}
    assert len(str(found).splitlines()) == 1 + len(found.path)
    assert f"best of {len(found.path)} settings from {found.n_forests} forests" in repr(found)


def test_weights_count():
    weight = np.arange(len(X)) % 3
    found = weald.tune(forest(max_samples=100), X, Y, sample_weight=weight, grid={"max_features": [1, 4]})
    for step in found.path:
        model = forest(max_samples=100, oob_score=True, **step.params).fit(X, Y, sample_weight=weight)
        assert step.error == model.oob_error_


def test_a_seed_that_is_drawn_is_drawn_once():
    found = weald.tune(forest(random_state=None), X, Y, grid={"max_features": [1, 1]}, search="grid")
    assert len(found.path) == 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"search": "random"}, ParameterError, "search='random'"),
        ({"budget": 0}, ParameterError, "budget=0"),
        ({"grid": {}}, ParameterError, "grid={}"),
        ({"grid": {"max_features": 2}}, ParameterError, "Give a dict of lists"),
        ({"grid": {"max_features": "sqrt"}}, ParameterError, "Give a dict of lists"),
        ({"grid": [2, 4]}, ParameterError, "Give a dict of lists"),
        ({"scoring": "auc"}, ParameterError, "'auc' is not a scorer"),
        ({"grid": {"max_leafs": [1]}}, ParameterError, "max_leafs"),
        ({"grid": {"max_features": [0]}}, ParameterError, "max_features=0"),
        ({"forest": weald.DecisionTreeClassifier()}, ParameterError, "got a DecisionTreeClassifier"),
        ({"forest": weald.RandomForestClassifier(bootstrap=False)}, ParameterError, "bootstrap=False"),
        ({"y": Y[:-1]}, DataError, "149"),
    ],
)
def test_what_cannot_be_done_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        weald.tune(**{"forest": forest(), "X": X, "y": Y, **given})


def test_every_suggestion_is_allowed():
    reading = training_tables.read(weald.RandomForestRegressor(), XR, YR, None)
    for name, values in suggest_grid(reading.table).items():
        for value in values:
            weald.RandomForestRegressor(2, **{name: value}).fit(XR, YR)
