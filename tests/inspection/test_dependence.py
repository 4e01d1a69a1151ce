"""Partial dependence, individual conditional expectations, accumulated local effects and Friedman's H."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, partial_dependence

import weald
from weald import codes
from weald.errors import DataError, DataTypeError, ParameterError, WealdError
from weald.inspection import dependence_request

pytestmark = pytest.mark.sanitize

RNG = np.random.default_rng(3)
N = 150
NUMBERS = RNG.normal(size=(N, 4))
TARGET = NUMBERS[:, 0] * NUMBERS[:, 1] + NUMBERS[:, 2] + 0.1 * RNG.normal(size=N)
THREE = np.digitize(TARGET, [-0.5, 0.5])
WEIGHTS = RNG.random(N)


def make_frame():
    frame = pd.DataFrame({"a": NUMBERS[:, 0], "b": RNG.integers(0, 6, N).astype(float)})
    frame["color"] = RNG.choice(["red", "green", "blue", "black"], N)
    frame["size"] = pd.Categorical(RNG.choice(["s", "m", "l"], N), categories=["s", "m", "l"], ordered=True)
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), "D")
    frame.loc[RNG.random(N) < 0.1, "a"] = np.nan
    frame.loc[RNG.random(N) < 0.1, "color"] = None
    return frame


FRAME = make_frame()
MIXED = FRAME["a"].fillna(0) + (FRAME["color"] == "red") * FRAME["b"] + (FRAME["size"] == "l")
MANY = pd.DataFrame({"id": RNG.choice([f"c{i}" for i in range(80)], N), "a": NUMBERS[:, 0]})

CASES = {
    "forest": (weald.RandomForestRegressor(8, random_state=1), NUMBERS, TARGET),
    "classes": (weald.RandomForestClassifier(8, random_state=1), NUMBERS, THREE),
    "hard votes": (weald.RandomForestClassifier(8, voting="hard", random_state=1), NUMBERS, THREE),
    "weighted votes": (weald.RandomForestClassifier(8, resampling="boosting", random_state=1), NUMBERS, THREE),
    "frame": (weald.RandomForestRegressor(8, random_state=1), FRAME, MIXED),
    "frame of classes": (weald.RandomForestClassifier(8, random_state=1), FRAME, MIXED > 1),
    "many categories": (weald.RandomForestRegressor(8, random_state=1), MANY, TARGET),
    "extra trees": (weald.ExtraTreesRegressor(8, random_state=1), FRAME, MIXED),
    "shrunk values": (weald.ExtraTreesRegressor(8, random_state=1, shrinkage=5.0), FRAME, MIXED),
    "shrunk probabilities": (weald.RandomForestClassifier(8, random_state=1, shrinkage=5.0), NUMBERS, THREE),
    "order": (weald.RandomForestRegressor(8, monotonic_cst=[1, 0, 0, 0], random_state=1), NUMBERS, TARGET),
    "tree": (weald.DecisionTreeClassifier(random_state=1), NUMBERS, THREE),
    "several targets": (weald.RandomForestRegressor(8, random_state=1), NUMBERS, NUMBERS[:, :2] + 1),
}


def fit(case, **given):
    model, X, y = CASES[case]
    return copy.copy(model).set_params(**given).fit(X, y), X


def predict(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def with_value(X, feature, value):
    """Set a feature to a value in all rows."""
    if isinstance(X, pd.DataFrame):
        changed = X.copy()
        column = X.columns[feature]
        changed[column] = pd.Series([value] * len(X), index=X.index).astype(X[column].dtype)
        return changed
    changed = X.copy()
    changed[:, feature] = value
    return changed


def values_to_try(X, feature):
    column = (X.iloc[:, feature] if isinstance(X, pd.DataFrame) else pd.Series(X[:, feature])).dropna()
    if column.dtype.kind in "OSU" or isinstance(column.dtype, pd.CategoricalDtype | pd.StringDtype):
        return sorted(column.unique())
    return [*column.sort_values().iloc[[0, 10, 77, -1]]]


@pytest.mark.parametrize("case", CASES)
def test_partial_dependence_is_the_mean_prediction_with_the_feature_set(case):
    model, X = fit(case)
    curves = weald.dependence(model, X, sample_weight=WEIGHTS)
    for feature, curve in enumerate(curves):
        for value in values_to_try(X, feature):
            expected = np.average(predict(model, with_value(X, feature, value)), axis=0, weights=WEIGHTS)
            np.testing.assert_allclose(curve.at(value), expected, rtol=0, atol=1e-12)
        missing = np.average(
            predict(model, with_value(X, feature, None if curve.axes[0].labels is not None else np.nan)),
            axis=0,
            weights=WEIGHTS,
        )
        np.testing.assert_allclose(curve.missing, missing, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", ["forest", "frame", "many categories"])
def test_partial_dependence_of_two_features_is_the_mean_prediction_with_both_set(case):
    model, X = fit(case)
    (curve,) = weald.dependence(model, X, [(0, 1)], points="thresholds")
    for one in values_to_try(X, 0)[:5]:
        for other in values_to_try(X, 1)[:5]:
            expected = predict(model, with_value(with_value(X, 0, one), 1, other)).mean(axis=0)
            np.testing.assert_allclose(curve.at(one, other), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", ["forest", "classes", "hard votes", "order", "tree"])
def test_scikit_learn_agrees_at_its_grid(case):
    model, X = fit(case)
    theirs = partial_dependence(model, X, [1], grid_resolution=15, method="brute")
    ours = weald.dependence(model, X)[1].at(theirs["grid_values"][0])
    ours = ours.T if ours.ndim > 1 else ours[None]
    np.testing.assert_allclose(ours, theirs["average"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_engines_agree(case):
    few = {} if case == "tree" else {"n_estimators": 2}
    (native, X), (reference, _) = fit(case, engine="native", **few), fit(case, engine="reference", **few)
    ordered = [f for f in range(X.shape[1]) if f not in native.schema_.categorical]
    pairs = [(0, 1), (X.shape[1] - 1, 0)]
    for weight in (None, WEIGHTS[:20]):
        for features, given in (
            (None, {}),
            (pairs, {"points": 7}),
            (ordered, {"kind": "ale", "points": 9}),
        ):
            found, same = (
                weald.dependence(model, X[:20], features, sample_weight=weight, **given)
                for model in (native, reference)
            )
            for one, other in zip(found, same, strict=True):
                np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("kind", ["partial", "ale"])
def test_threads_do_not_change_the_bits(kind, monkeypatch):
    monkeypatch.setattr(dependence_request, "ROWS_AT_ONCE", 64)
    expected = None
    for n_jobs in (1, 2, 5):
        model, X = fit("classes", n_jobs=n_jobs)
        found = weald.dependence(model, X, kind=kind, sample_weight=WEIGHTS)
        expected = found if expected is None else expected
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.values, other.values)


def test_whole_weights_are_copies_of_rows():
    model, X = fit("forest")
    whole = RNG.integers(0, 3, N)
    found = weald.dependence(model, X, sample_weight=whole)
    copies = weald.dependence(model, np.repeat(X, whole, axis=0))
    for one, other in zip(found, copies, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("kind", ["partial", "individual", "ale"])
def test_sparse_tables_give_the_same(make, kind):
    X = np.where(NUMBERS > 0.5, NUMBERS, 0.0)
    model = weald.RandomForestRegressor(8, random_state=0).fit(X, TARGET)
    dense, thin = weald.dependence(model, X, kind=kind), weald.dependence(model, make(X), kind=kind)
    for one, other in zip(dense, thin, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_local_effects_are_sums_of_mean_differences_inside_bins():
    """Brute force: at the edges of bins, the curve is that of Apley and Zhu."""
    model, X = fit("frame")
    (curve,) = weald.dependence(model, X, ["a"], kind="ale", points=10)
    column = X["a"].to_numpy()
    edges = np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0, 1, 11), method="inverted_cdf"))
    effects = [0.0]
    for low, high in itertools.pairwise(edges):
        inside = X[((column > low) | (low == edges[0])) & (column >= low) & (column <= high)]
        effects.append((model.predict(inside.assign(a=high)) - model.predict(inside.assign(a=low))).mean())
    found = curve.at(edges)
    np.testing.assert_allclose(found - found[0], np.cumsum(effects), atol=1e-12)
    assert abs(np.mean(curve.at(column[~np.isnan(column)]))) < 1e-12


def test_individual_curves_are_predictions():
    model, X = fit("frame of classes")
    curve = weald.dependence(model, X, ["color"], kind="individual")["color"]
    assert curve.individual.shape == (N, 4, 2)
    np.testing.assert_array_equal(curve.individual[:, 1], model.predict_proba(with_value(X, 2, curve.labels()[1])))
    partial = weald.dependence(model, X, ["color"])[0]
    np.testing.assert_allclose(curve.average, partial.average, atol=1e-12)
    np.testing.assert_allclose(curve.missing, partial.missing, atol=1e-12)


def test_categories_are_complete():
    model, X = fit("many categories")
    curve = weald.dependence(model, X, ["id"])[0]
    assert curve.labels() == model.categories_[0].tolist()
    assert len(curve.to_frame()) == len(curve.labels()) > 60
    assert abs(curve.axes[0].frequencies.sum() - 1) < 1e-12


def test_several_targets_have_their_own_columns():
    model, X = fit("several targets")
    found = weald.dependence(model, X, [0])[0]
    assert found.outputs == (0, 1)
    for target in (0, 1):
        alone = weald.dependence(model.of_target(target), X, [0])[0]
        np.testing.assert_array_equal(found.average[:, target], alone.average)


def test_kernel_forests_depend_on_their_columns():
    model = weald.KernelForestRegressor(5, random_state=0).fit(NUMBERS[:60], TARGET[:60])
    found = weald.dependence(model, NUMBERS[:60], [0, 3])
    assert len(found) == 2
    assert np.isfinite(found[0].average).all()


def test_huge_targets_do_not_overflow():
    y = np.where(NUMBERS[:, 0] > 0, 1e308, -1e308)
    model = weald.RandomForestRegressor(5, random_state=0).fit(NUMBERS, y)
    curve = weald.dependence(model, NUMBERS, [0])[0]
    assert np.isfinite(curve.average).all()
    np.testing.assert_allclose(curve.average[[0, -1]], [-1e308, 1e308], rtol=0.5)


def test_points_are_those_asked_for():
    model, X = fit("frame")
    found = weald.dependence(model, X, ["a", "color"], points={"a": [0.5, -1.0, 0.5]})
    assert found["a"].axes[0].points.tolist() == [-1.0, 0.5]
    with pytest.raises(DataError, match="at 2 points"):
        found["a"].at(0.4)
    assert weald.dependence(model, X, ["a"], points=5)[0].axes[0].points.shape == (5,)
    day = pd.Timestamp("2020-02-01")
    exact = weald.dependence(model, X, ["when"])["when"]
    assert exact.at(day) == pytest.approx(model.predict(X.assign(when=day)).mean(), abs=1e-12)


def test_pairs_of_large_forests_have_quantiles_unless_all_thresholds_are_asked_for():
    model = weald.RandomForestRegressor(20, random_state=0).fit(NUMBERS, TARGET)
    curve = weald.dependence(model, NUMBERS, [("x0", "x1")])["x1", "x0"]
    assert [len(axis.points) for axis in curve.axes] == [100, 100]
    assert not curve.axes[0].is_exact
    exact = weald.dependence(model, NUMBERS, [(0, 1)], points="thresholds")[0]
    one, other = curve.axes[0].points[::9], curve.axes[1].points[::9]
    np.testing.assert_allclose(curve.at(one, other), exact.at(one, other), atol=1e-12)


def test_h_is_that_of_the_definition():
    model, X = fit("classes")
    found = weald.h_statistic(model, X, [0, 1, 2], rows=40)
    rows = X[np.linspace(0, N - 1, 40).astype(int)]

    def center(columns):
        means = []
        for row in rows:
            changed = rows.copy()
            changed[:, columns] = row[columns]
            means.append(model.predict_proba(changed).mean(axis=0))
        return np.array(means) - np.mean(means, axis=0)

    for pair, h, strength in zip([(0, 1), (0, 2), (1, 2)], found.values, found.strengths, strict=True):
        joint = center(list(pair))
        rest = joint - center([pair[0]]) - center([pair[1]])
        assert h == pytest.approx((rest**2).sum() / (joint**2).sum(), abs=1e-10)
        assert strength == pytest.approx(np.sqrt((rest**2).mean(axis=0).sum()), abs=1e-10)


def test_h_finds_interactions_among_the_most_important_features():
    X = np.random.default_rng(0).normal(size=(400, 14))
    y = X[:, 3] * X[:, 7] + X[:, 1]
    found = weald.h_statistic(weald.RandomForestRegressor(30, random_state=0).fit(X, y), X, rows=200)
    assert len(found.pairs) == 45
    assert found.pairs[found.order()[0]] == ("x3", "x7")
    assert found.to_frame()["feature"][0] == "x3"
    assert "x3 and x7" in repr(found)


def test_ale_is_of_all_features_with_an_order_by_default():
    found = weald.dependence(MIXED_TREE, FRAME, kind="ale")
    assert [curve.names[0] for curve in found] == [name for name in FRAME.columns if name != "color"]


@pytest.mark.parametrize("kind", ["partial", "individual", "ale"])
def test_progress_is_shown(kind, capsys):
    features = [0, (1, 2)] if kind == "partial" else None
    quiet = weald.dependence(TREE, NUMBERS, features, kind=kind)
    shown = weald.dependence(TREE, NUMBERS, features, kind=kind, verbose=1)
    assert f"{len(NUMBERS)} of {len(NUMBERS)} rows" in capsys.readouterr().err
    for one, other in zip(quiet, shown, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_scikit_learns_functions_work():
    pytest.importorskip("matplotlib").use("Agg")
    model, X = fit("classes")
    PartialDependenceDisplay.from_estimator(model, X, [0, (1, 2)], target=1, grid_resolution=5)
    regressor, frame = fit("frame")
    PartialDependenceDisplay.from_estimator(
        regressor, frame.dropna(), ["color", "a"], categorical_features=["color"], grid_resolution=5
    )
    PartialDependenceDisplay.from_estimator(regressor, frame, ["a"], kind="both", subsample=20, grid_resolution=5)


TREE = weald.DecisionTreeRegressor(max_depth=3).fit(NUMBERS, TARGET)
MIXED_TREE = weald.DecisionTreeRegressor(max_depth=3).fit(FRAME, MIXED)
REFUSED = {
    "no model": (lambda: weald.dependence("x", NUMBERS), WealdError, "fitted tree or forest"),
    "not fitted": (lambda: weald.dependence(weald.RandomForestRegressor(), NUMBERS), NotFittedError, "not fitted"),
    "no table": (lambda: weald.dependence(TREE, None), WealdError, "X is None"),
    "other features": (lambda: weald.dependence(TREE, NUMBERS[:, :2]), WealdError, "2 features"),
    "unknown name": (lambda: weald.dependence(TREE, NUMBERS, ["age"]), ParameterError, "'age', which is not a feature"),
    "unknown number": (lambda: weald.dependence(TREE, NUMBERS, [4]), ParameterError, "number from 0 to 3"),
    "true": (lambda: weald.dependence(TREE, NUMBERS, [True]), ParameterError, "not a feature"),
    "no features": (lambda: weald.dependence(TREE, NUMBERS, []), ParameterError, "features is empty"),
    "three at once": (lambda: weald.dependence(TREE, NUMBERS, [(0, 1, 2)]), ParameterError, "one feature or two"),
    "one twice": (lambda: weald.dependence(TREE, NUMBERS, [(1, "x1")]), ParameterError, "one feature twice"),
    "kind": (lambda: weald.dependence(TREE, NUMBERS, kind="both"), ParameterError, "kind='both'"),
    "points": (lambda: weald.dependence(TREE, NUMBERS, points=0), ParameterError, "points=0"),
    "points as text": (lambda: weald.dependence(TREE, NUMBERS, points="all"), ParameterError, "points='all'"),
    "no points": (lambda: weald.dependence(TREE, NUMBERS, points={0: []}), ParameterError, "no values for x0"),
    "too many points": (
        lambda: weald.dependence(TREE, NUMBERS, [(0, 1)], points=dict.fromkeys((0, 1), range(20_000))),
        ParameterError,
        "20000 x 20000 points",
    ),
    "too many rows": (
        lambda: weald.dependence(TREE, np.zeros((20_000, 4)), kind="individual", points={0: range(20_000)}),
        ParameterError,
        "more than 2 GiB",
    ),
    "a pair of curves": (lambda: weald.dependence(TREE, NUMBERS, [(0, 1)], kind="ale"), ParameterError, "has a pair"),
    "no order": (lambda: weald.dependence(MIXED_TREE, FRAME, ["color"], kind="ale"), ParameterError, "color has categ"),
    "bins by value": (
        lambda: weald.dependence(TREE, NUMBERS, kind="ale", points={0: [1.0]}),
        ParameterError,
        "number of bins",
    ),
    "weights": (lambda: weald.dependence(TREE, NUMBERS, sample_weight=[1.0]), DataError, "sample_weight has 1"),
    "negative weights": (lambda: weald.dependence(TREE, NUMBERS, sample_weight=-WEIGHTS), DataError, "Negative"),
    "names": (lambda: weald.dependence(TREE, NUMBERS, names=["a"]), ParameterError, "names has 1"),
    "unknown category": (
        lambda: weald.dependence(MIXED_TREE, FRAME, ["color"])[0].at("pink"),
        DataError,
        "'pink' is not a category",
    ),
    "values of one": (
        lambda: weald.dependence(TREE, NUMBERS, [(0, 1)])[0].at(1.0),
        ParameterError,
        "curve has 2 feature",
    ),
    "h, no model": (lambda: weald.h_statistic([1], NUMBERS), WealdError, "h_statistic got"),
    "h, not fitted": (lambda: weald.h_statistic(weald.RandomForestRegressor(), NUMBERS), NotFittedError, "not fitted"),
    "h, no table": (lambda: weald.h_statistic(TREE, None), WealdError, "X is None"),
    "h, other features": (lambda: weald.h_statistic(TREE, NUMBERS[:, :2]), WealdError, "2 features"),
    "h, unknown name": (lambda: weald.h_statistic(TREE, NUMBERS, ["age", 1]), ParameterError, "not a feature"),
    "h, no features": (lambda: weald.h_statistic(TREE, NUMBERS, []), ParameterError, "features is empty"),
    "h, weights": (lambda: weald.h_statistic(TREE, NUMBERS, sample_weight=[1.0]), DataError, "sample_weight has 1"),
    "h, names": (lambda: weald.h_statistic(TREE, NUMBERS, names=["a"]), ParameterError, "names has 1"),
    "h, one feature": (lambda: weald.h_statistic(TREE, NUMBERS, [1, 1]), ParameterError, "Give 2 to 100"),
    "h, a pair": (lambda: weald.h_statistic(TREE, NUMBERS, [(0, 1)]), ParameterError, "Give single features"),
    "h, rows": (lambda: weald.h_statistic(TREE, NUMBERS, rows=1), ParameterError, "rows=1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_words(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()


def test_codes_and_collections_are_refused_in_words(tmp_path):
    frame = pd.DataFrame(NUMBERS, columns=list("abcd")).assign(y=TARGET)
    store = codes.from_chunks(lambda: iter([frame]), folder=tmp_path / "store", target="y")
    with pytest.raises(DataTypeError, match="codes instead of values"):
        weald.dependence(weald.RandomForestRegressor(2).fit(store), store)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(DataError, match="Dask collection"):
        weald.dependence(TREE, dask.from_array(NUMBERS, chunks=(50, 4)))
