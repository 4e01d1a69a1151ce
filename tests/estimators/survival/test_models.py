"""Survival models: forms of y, bad inputs, warm starts, merging, weights."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weald
from weald import DataError, ExtraSurvivalTrees, ParameterError, RandomSurvivalForest, SurvivalTree, WealdError

MODELS = (SurvivalTree, RandomSurvivalForest, ExtraSurvivalTrees)


def make_rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.6, np.round(rng.exponential(np.exp(-X[:, 0])), 1)
    return X, y


def forms_of(y):
    event, time = y["event"], y["time"]
    return {
        "structured": y,
        "other order": np.array(list(zip(time, event, strict=True)), dtype=[("t", float), ("dead", bool)]),
        "numbers": np.column_stack([time + 0.05, event]),
        "dict": {"time": time, "event": event},
        "pandas": pd.DataFrame({"time": time, "event": event}),
        "pandas, 0 and 1": pd.DataFrame({"status": event.astype(int), "time": time}),
        "polars": pl.DataFrame({"time": time, "event": event}),
        "rows": [[float(t), bool(e)] for t, e in zip(time, event, strict=True)],
    }


@pytest.mark.parametrize("form", forms_of(make_rows()[1]))
def test_every_form_of_y_gives_the_same_forest(form):
    X, y = make_rows()
    first, other = (RandomSurvivalForest(3, random_state=0).fit(X, target) for target in (y, forms_of(y)[form]))
    assert first.forest_.fingerprint() == other.forest_.fingerprint()
    assert np.array_equal(first.event_times_ + (0.05 if form == "numbers" else 0), other.event_times_)


def bad_targets():
    _X, y = make_rows(40)
    time, event = y["time"], y["event"]
    return {
        "none": (None, "y is None"),
        "one column": (time, "one number for each row"),
        "three columns": (np.column_stack([time, event, event]), "3 columns"),
        "negative times": ({"time": time - 1, "event": event}, "negative"),
        "missing times": ({"time": np.where(event, time, np.nan), "event": event}, "finite"),
        "infinite times": ({"time": np.where(event, time, np.inf), "event": event}, "finite"),
        "missing events": ({"time": time, "event": np.where(event, 1.0, np.nan)}, "Neither column"),
        "no events": ({"time": time, "event": np.zeros(40, dtype=bool)}, "all are censored"),
        "all censored at 0": ({"time": np.zeros(40), "event": np.zeros(40, dtype=bool)}, "all are censored"),
        "status 1 and 2": ({"time": time, "status": event + 1}, "begins with"),
        "both binary": ({"one": event.astype(float), "other": event.astype(float)}, "unclear"),
        "two booleans": ({"one": event, "other": ~event}, "unclear"),
        "texts": ({"time": time.astype(str), "event": event}, "not numbers"),
        "dates": ({"time": np.datetime64("2020-01-01") + time.astype(int), "event": event}, "not numbers"),
        "other length": ({"time": time[:30], "event": event[:30]}, "40 rows"),
        "columns of two lengths": ({"time": time[:30], "event": event}, "rows"),
        "complex": ({"time": time.astype(complex), "event": event}, "neither a number"),
        "a number": (3.0, "shape"),
    }


@pytest.mark.parametrize("case", bad_targets())
def test_bad_targets_are_refused_in_words(case):
    y, words = bad_targets()[case]
    with pytest.raises(WealdError, match=words):
        RandomSurvivalForest(2).fit(make_rows(40)[0], y)


def test_a_table_with_a_single_time_is_one_leaf():
    X, y = make_rows(40)
    y["time"] = 3.0
    forest = RandomSurvivalForest(3, random_state=0).fit(X, y)
    assert forest.unique_times_.tolist() == [3.0]
    assert forest.predict_survival_function(X, return_array=True).shape == (40, 1)
    y["event"] = True
    assert SurvivalTree().fit(X, y).get_n_leaves() == 1


def test_rows_of_weight_0_do_not_count():
    X, y = make_rows()
    weight = np.ones(150)
    weight[:30] = 0
    y["time"][:10] = 99.0
    one, other = (
        RandomSurvivalForest(15, random_state=0, oob_score=True).fit(*data)
        for data in ((X, y, weight), (X[30:], y[30:]))
    )
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    assert np.array_equal(one.unique_times_, other.unique_times_)
    assert one.oob_score_ == other.oob_score_
    assert np.isnan(one.oob_prediction_[:30]).all()
    with pytest.raises(DataError, match="all are censored"):
        SurvivalTree().fit(X, y, (~y["event"]).astype(float))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"criterion": "squared_error"}, "log_rank"),
        ({"n_estimators": "auto"}, "Give a number"),
        ({"oob_score": max}, "concordance"),
        ({"engine": "dask"}, "in memory"),
        ({"bootstrap": "balanced"}, "balanced"),
        ({"bootstrap": False, "oob_score": True}, "Out of bag"),
    ],
)
def test_parameters_without_meaning_are_refused(given, words):
    X, y = make_rows(30)
    with pytest.raises((ParameterError, ValueError), match=words):
        RandomSurvivalForest(**{"n_estimators": 2, **given}).fit(X, y)
    for name in ("ccp_alpha", "monotonic_cst", "shrinkage", "keep_targets", "class_weight"):
        with pytest.raises(TypeError, match=name):
            RandomSurvivalForest(**{name: 1})


def test_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="checkpoint"):
        RandomSurvivalForest(2).fit(*make_rows(30), checkpoint=tmp_path)


@pytest.mark.parametrize("kind", [RandomSurvivalForest, ExtraSurvivalTrees])
def test_a_warm_start_and_a_merge_give_the_forest_of_one_fit(kind):
    X, y = make_rows()
    whole = kind(6, random_state=3).fit(X, y)
    grown = kind(2, random_state=3, warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    joined = weald.merge([whole[:2], whole[2:]])
    for other in (grown, joined):
        assert other.forest_.fingerprint() == whole.forest_.fingerprint()
        for predict in ("predict_survival_function", "predict_cumulative_hazard_function"):
            assert np.array_equal(getattr(other, predict)(X, True), getattr(whole, predict)(X, True))
    y["time"] += 1
    with pytest.raises(DataError, match="times"):
        grown.set_params(n_estimators=8).fit(X, y)
    with pytest.raises(DataError, match="times"):
        weald.merge([whole, kind(2).fit(X, y)])


def test_a_forest_is_the_mean_of_its_trees():
    X, y = make_rows()
    forest = RandomSurvivalForest(5, random_state=0).fit(X, y)
    for predict in ("predict_survival_function", "predict_cumulative_hazard_function"):
        trees = np.mean([getattr(tree, predict)(X, True) for tree in forest], axis=0)
        np.testing.assert_allclose(getattr(forest, predict)(X, True), trees, atol=1e-12)
    np.testing.assert_allclose(forest.predict(X), np.mean([tree.predict(X) for tree in forest], axis=0))


def test_functions_are_those_of_the_array():
    X, y = make_rows()
    forest = RandomSurvivalForest(5, random_state=0).fit(X, y)
    values, functions = forest.predict_survival_function(X, True), forest.predict_survival_function(X)
    assert (np.diff(values, axis=1) <= 0).all()
    for function, row in zip(functions, values, strict=True):
        assert np.array_equal(function(forest.unique_times_), row)
        assert function(-1.0) == 1.0
        assert function(1e9) == row[-1]


def test_the_tools_of_scikit_learn_work():
    X, y = make_rows()
    pipeline = make_pipeline(StandardScaler(), RandomSurvivalForest(10, random_state=0))
    search = GridSearchCV(pipeline, {"randomsurvivalforest__min_samples_leaf": [3, 10]}, cv=2).fit(X, y)
    assert 0.5 < search.best_score_ < 1
    assert clone(RandomSurvivalForest(7, max_depth=3)).get_params()["max_depth"] == 3


def test_text_columns_and_missing_values_are_read():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(y["time"] > 1, "slow", "fast")
    frame.loc[::7, "a"] = np.nan
    forest = RandomSurvivalForest(20, random_state=0, oob_score=True).fit(frame, y)
    assert forest.oob_score_ > RandomSurvivalForest(20, random_state=0, oob_score=True).fit(X, y).oob_score_
    assert forest.predict(frame.iloc[:2]).shape == (2,)
