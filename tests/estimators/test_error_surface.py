"""Choosing from an error surface, its tables, and what it refuses. Its numbers are in tests/laws."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss

import weald
from weald.errors import DataError, DataTypeError, ParameterError
from weald.estimators.error_surface import ErrorSurface, suggest_values

X, Y = load_iris(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, Y)


def surface_of(errors, leaves, spread=0.1, fractions=None):
    errors = np.array(errors, dtype=float)
    fractions = np.ones_like(errors) if fractions is None else np.array(fractions)
    return ErrorSurface(
        ("max_depth",), (list(range(1, len(errors) + 1)),), errors, np.full_like(errors, spread), np.array(leaves),
        fractions, np.full_like(errors, 100.0), "error",
    )  # fmt: skip


def test_the_minimum_is_the_smallest_of_equal_ones():
    assert surface_of([0.3, 0.2, 0.2, 0.4], [1, 2, 3, 4]).choose() == {"max_depth": 2}
    assert surface_of([0.3, 0.2, 0.2, 0.4], [1, 3, 2, 4]).choose() == {"max_depth": 3}


def test_one_standard_error_takes_the_fewest_leaves_within_it():
    assert surface_of([0.31, 0.29, 0.2, 0.4], [1, 2, 3, 4]).choose("one_standard_error") == {"max_depth": 2}
    assert surface_of([0.31, 0.29, 0.2, 0.4], [1, 2, 3, 4], 0.01).choose("one_standard_error") == {"max_depth": 3}


def test_settings_that_leave_rows_without_a_score_are_not_chosen():
    assert surface_of([0.1, 0.2, 0.3], [1, 2, 3], fractions=[0.5, 1, 1]).choose() == {"max_depth": 2}


def test_without_any_error_nothing_is_chosen():
    with pytest.raises(DataError, match="no error is known"):
        surface_of([np.nan, np.nan], [1, 2]).choose()


def test_the_table_has_a_row_for_each_setting(forest):
    surface = forest.oob_.surface(
        "n_estimators", "max_depth", values={"n_estimators": [10, 30], "max_depth": [2, 5, 3]}
    )
    table = surface.table()
    assert table["n_estimators"] == [10, 10, 10, 30, 30, 30]
    assert table["max_depth"] == [2, 5, 3] * 2
    assert table["error"] == surface.errors.ravel().tolist()
    assert surface.n_settings == 6
    assert "6 settings" in repr(surface)


def test_the_axes_stand_in_the_order_of_the_names(forest):
    one = forest.oob_.surface("max_depth", "n_estimators")
    two = forest.oob_.surface("n_estimators", "max_depth")
    assert np.array_equal(one.errors, two.errors.T)
    assert one.values == two.values[::-1]


@pytest.mark.parametrize("kind", [np.array, iter, range, tuple], ids=["array", "iterator", "range", "tuple"])
def test_values_may_come_in_any_sequence(forest, kind):
    values = kind(2, 5) if kind is range else kind([2, 3, 4])
    found = forest.oob_.surface("max_depth", values={"max_depth": values})
    assert found.values == ([2, 3, 4],)
    assert type(found.choose()["max_depth"]) is int


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_those_of_the_truncated_forest(forest, level):
    numbers = weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(XR, YR)
    for model, table in ((forest, (X, Y)), (numbers, (XR, YR))):
        low, high = model.oob_.surface("max_depth", "n_estimators", values={"n_estimators": [20, 30]}).intervals(level)
        expected = model.truncate(max_depth=2, n_estimators=20).out_of_bag(*table).error_interval(level)
        assert (low[1, 0], high[1, 0]) == pytest.approx(expected)


def test_other_metrics_are_those_of_truncated_forests(forest):
    values = {"max_depth": [1, 3]}
    for scoring in ("neg_log_loss", "accuracy", lambda y, predicted: float(np.mean(y == predicted))):
        found = forest.oob_.surface(values=values, scoring=scoring)
        for depth, number in zip(values["max_depth"], found.errors, strict=True):
            out = forest.truncate(max_depth=depth).out_of_bag(X, Y)
            assert number == -out.score(scoring)
        with pytest.raises(ParameterError, match="needs standard errors"):
            found.choose("one_standard_error")
    assert found.choose()["max_depth"] in {1, 3}
    probabilities = forest.truncate(max_depth=1).out_of_bag(X, Y).probabilities
    found = forest.oob_.surface(values=values, scoring="neg_log_loss")
    assert found.errors[0] == pytest.approx(log_loss(Y, probabilities))


def test_new_data_may_have_weights_and_other_metrics():
    model = weald.RandomForestRegressor(10, random_state=0).fit(XR[:300], YR[:300])
    weight = np.arange(1.0, 143.0)
    found = weald.surface(model, XR[300:], YR[300:], values={"max_depth": [3]}, sample_weight=weight)
    predicted = model.truncate(max_depth=3).predict(XR[300:])
    assert found.errors[0] == pytest.approx(np.average((predicted - YR[300:]) ** 2, weights=weight))
    found = weald.surface(model, XR[300:], YR[300:], values={"max_depth": [3]}, scoring="neg_mean_absolute_error")
    assert found.errors[0] == pytest.approx(np.abs(predicted - YR[300:]).mean())


def test_out_of_bag_again_has_the_same_surface(forest):
    again = forest.out_of_bag(X, Y).surface("max_depth")
    assert np.array_equal(again.errors, forest.oob_.surface("max_depth").errors)


def test_an_early_fit_of_growing_forests_is_not_remembered():
    model = weald.RandomForestClassifier(30, oob_score=True, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=40).fit(X, Y)
    assert model.oob_.surface("n_estimators").errors[-1] == model.oob_error_
    model.set_params(n_estimators=45, max_depth=2).fit(X, Y)
    with pytest.raises(ParameterError, match="different stopping rules"):
        model.oob_.surface("max_depth", values={"max_depth": [1]})


@pytest.mark.parametrize("name", ["max_depth", "min_samples_split", "max_leaf_nodes", "n_estimators", "ccp_alpha"])
def test_suggested_values_are_few_and_end_with_the_forest_as_it_is(name):
    model = weald.RandomForestRegressor(80, random_state=0).fit(XR, YR)
    values = suggest_values(model, name)
    assert len(values) <= 64
    assert len(set(values)) == len(values)
    assert model.truncate(**{name: values[-1]}).forest_.fingerprint() == model.forest_.fingerprint()


def test_trees_that_are_roots_have_a_surface():
    model = weald.RandomForestClassifier(25, oob_score=True, random_state=0).fit(np.zeros((20, 2)), np.arange(20) % 2)
    for name in ("max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha"):
        assert (model.oob_.surface(name).errors == model.oob_error_).all()


def test_code_stores_have_a_surface(tmp_path, forest):
    store = weald.codes.from_chunks([(X[:80], Y[:80]), (X[80:], Y[80:])], folder=tmp_path)
    model = weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(store)
    for found in (model.oob_, model.out_of_bag(store)):
        assert np.array_equal(found.surface("max_depth").errors, forest.oob_.surface("max_depth").errors)


def test_sparse_tables_have_a_surface(forest):
    model = weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(sparse.csr_matrix(X), Y)
    assert np.array_equal(model.oob_.surface("max_depth").errors, forest.oob_.surface("max_depth").errors)


def test_data_that_was_changed_in_place_is_refused():
    for kind, data in ((weald.RandomForestClassifier, (X, Y)), (weald.RandomForestRegressor, (XR, YR))):
        table, target = data[0].copy(), data[1].astype(float)
        model = kind(30, oob_score=True, random_state=0).fit(table, target)
        before = model.oob_.surface("max_depth").errors
        kept = table.copy()
        table[:, 1] = table[::-1, 1]
        with pytest.raises(DataError, match="changed in place after the fit"):
            model.oob_.surface("max_depth")
        table[:] = kept
        assert np.array_equal(model.oob_.surface("max_depth").errors, before)
        table[:, 0] *= 2.0  # the same ranks
        with pytest.raises(DataError, match="changed in place after the fit"):
            model.oob_.surface("max_depth")
        assert np.array_equal(model.out_of_bag(kept, target).surface("max_depth").errors, before)


def test_rows_of_weight_0_are_left_out():
    model = weald.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, Y, np.arange(150) % 3)
    assert model.oob_.surface("max_depth").errors[-1] == model.oob_error_


def test_one_block_of_sums_is_in_memory_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    table, classes = rng.normal(size=(4000, 2)), rng.integers(0, 8, 4000)
    model = weald.RandomForestClassifier(20, oob_score=True, random_state=0, min_samples_leaf=100).fit(table, classes)
    values = {"max_depth": range(1, 9), "min_samples_split": range(2, 90, 8)}  # 22 MiB of sums
    monkeypatch.setattr("weald.estimators.error_surface.BLOCK_BYTES", 2**21)
    tracemalloc.start()
    model.oob_.surface(values=values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


def test_ctrl_c_stops_a_surface(forest):
    def interrupt(truth, predicted):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forest.oob_.surface("max_depth", scoring=interrupt)


def test_progress_is_shown_if_asked_for(forest, capsys):
    forest.oob_.surface("max_depth", verbose=1)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("leave", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copied_forest_asks_for_its_data(forest, leave):
    with pytest.raises(DataError, match=r"forest.out_of_bag\(X, y\)"):
        leave(forest).oob_.surface("max_depth")


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("names", "given", "words"),
    [
        ((), {}, "A surface is over parameters"),
        (({"max_depth": [2, 4]},), {}, "A surface is over parameters"),
        (("min_samples_leaf",), {}, "'min_samples_leaf' was given"),
        (("depth",), {}, "'depth' was given"),
        (("max_depth", "max_depth"), {}, "each named once"),
        (("max_depth",), {"values": {"max_depth": []}}, "Give a list of values"),
        (("max_depth",), {"values": {"max_depth": 3}}, "Give a list of values"),
        (("max_depth",), {"values": {"max_depth": "deep"}}, "Give a list of values"),
        (("max_depth",), {"values": {"max_depth": np.array(3)}}, "Give a list of values"),
        (("max_depth",), {"values": [2, 4]}, "Give a dict of lists"),
        (("max_depth",), {"values": {"max_depth": [0]}}, "max_depth=0 is not allowed"),
        (("max_depth",), {"values": {"max_features": [1]}}, "'max_features' was given"),
        (("n_estimators",), {"values": {"n_estimators": [31]}}, "more than the 30 trees"),
        (("ccp_alpha",), {"values": {"ccp_alpha": [-1.0]}}, "ccp_alpha=-1.0 is not allowed"),
        (("max_depth",), {"scoring": "unknown"}, "is not a scorer"),
    ],
    ids=str,
)
def test_what_is_no_setting_is_refused(forest, names, given, words):
    with pytest.raises(ParameterError, match=words):
        forest.oob_.surface(*names, **given)


def test_a_looser_setting_is_refused():
    model = weald.RandomForestClassifier(30, max_depth=3, oob_score=True, random_state=0).fit(X, Y)
    with pytest.raises(ParameterError, match="looser than max_depth=3"):
        model.oob_.surface("max_depth", values={"max_depth": [2, 4]})


def test_rules_have_names(forest):
    with pytest.raises(ParameterError, match="rule='best' is not allowed"):
        forest.oob_.surface("max_depth").choose("best")


def test_only_models_of_weald_have_a_surface():
    with pytest.raises(DataTypeError, match="LinearRegression"):
        weald.surface(LinearRegression(), X, Y, "max_depth")


def test_several_targets_are_refused():
    model = weald.RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ParameterError, match="2 targets"):
        weald.surface(model, X, np.column_stack([Y, Y]), "max_depth")


def test_sums_beyond_the_doubles_are_refused():
    model = weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(
        XR, np.where(YR > 100, 1.7e308, 1.6e308)
    )
    with pytest.raises(DataError, match="overflow"):
        model.oob_.surface("max_depth")
