"""SHAP values of models: they add up to predictions, agree with shap, and refuse what has none."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import weald
from tests.io.export.models import MODELS, fitted, make_frame, make_table
from weald.errors import DataError, ExportError, ParameterError, WealdError

RNG = np.random.default_rng(0)


def rows_of(name):
    """The training rows of a model of `MODELS`."""
    if "categories" in name:
        return make_frame()[0]
    n_features = fitted(name).n_features_in_
    return np.array([[1.0], [2.5], [np.nan]]) if n_features == 1 else make_table()[0][:60]


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


def assert_adds_up(explanation, predictions):
    error = np.abs(explanation.predictions - predictions)
    scale = np.abs(explanation.base_values) + np.abs(explanation.values).sum(axis=1)
    assert (error <= 1e-12 * scale).all()


@pytest.mark.parametrize("name", MODELS)
def test_base_values_and_values_add_up_to_predictions(name):
    model, X = fitted(name), rows_of(name)
    explanation = weald.explain(model, X, interactions=True)
    assert_adds_up(explanation, answers(model, X))
    np.testing.assert_array_equal(model.shap_values(X), explanation.values)
    np.testing.assert_array_equal(model.shap_values(X, interactions=True), explanation.interactions)
    np.testing.assert_allclose(explanation.interactions.sum(axis=2), explanation.values, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(explanation.interactions, np.swapaxes(explanation.interactions, 1, 2))


@pytest.mark.parametrize("name", MODELS)
def test_with_a_background_the_base_value_is_its_mean_prediction(name):
    model, X = fitted(name), rows_of(name)
    explanation = weald.explain(model, X, background=X[3:30] if len(X) > 3 else X)
    assert_adds_up(explanation, answers(model, X))
    expected = answers(model, X[3:30] if len(X) > 3 else X).mean(axis=0)
    np.testing.assert_allclose(explanation.base_values[0], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "name", ["leaves of several classes", "bound leaves", "categories in regression", "hard votes"]
)
def test_the_reference_engine_gives_the_same_bits(name):
    model, X = fitted(name), rows_of(name)[:5]
    native = weald.explain(model, X, interactions=True)
    model.engine = "reference"
    try:
        reference = weald.explain(model, X, interactions=True)
    finally:
        model.engine = "native"
    np.testing.assert_array_equal(reference.values, native.values)
    np.testing.assert_array_equal(reference.interactions, native.interactions)


@pytest.mark.parametrize(
    "name", ["leaves of several classes", "votes of different weight", "bound leaves", "regression"]
)
def test_shap_computes_the_same_values(name):
    shap = pytest.importorskip("shap")
    model, X = fitted(name), rows_of(name)[:20]
    explainer = shap.TreeExplainer(model.to_shap(check=False).model)
    expected = explainer.shap_values(X, check_additivity=False)
    explanation = weald.explain(model, X)
    np.testing.assert_allclose(explanation.values, expected, rtol=0, atol=1e-6)  # shap computes in single precision
    np.testing.assert_allclose(explanation.base_values[0], explainer.expected_value, atol=1e-6)


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.ExtraTreesRegressor])
def test_shap_computes_the_same_values_against_a_background(kind):
    shap = pytest.importorskip("shap")
    X = np.where(RNG.random((200, 5)) < 0.1, np.nan, RNG.normal(size=(200, 5)))  # thresholds of shap are single
    y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]), [-0.5, 0.5])
    model = kind(8, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(model.to_shap(check=False).model, X[:40], feature_perturbation="interventional")
    expected = explainer.shap_values(X[50:70], check_additivity=False)
    explanation = weald.explain(model, X[50:70], background=X[:40])
    np.testing.assert_allclose(explanation.values, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(explanation.base_values[0], explainer.expected_value, atol=1e-6)


@pytest.mark.parametrize("is_of_classes", [True, False])
def test_out_of_bag_values_add_up_to_out_of_bag_predictions(is_of_classes):
    X, signal = make_frame()
    y = np.where(signal > 1, "yes", "no") if is_of_classes else signal
    weight = RNG.integers(0, 3, len(y))
    kind = weald.RandomForestClassifier if is_of_classes else weald.RandomForestRegressor
    model = kind(12, random_state=0).fit(X, y, weight)
    order = RNG.permutation(len(y))
    shuffled = (X.iloc[order], y[order], weight[order])
    with pytest.warns(UserWarning, match="OOB"):
        out = model.out_of_bag(*shuffled)
    explanation = weald.explain(model, *shuffled, out_of_bag=True, interactions=True)
    assert (explanation.data[out.mask] == X.iloc[order].astype(object)[out.mask]).any(axis=0).all()
    assert np.isnan(explanation.values[~out.mask]).all()
    expected = out.probabilities if is_of_classes else out.predictions
    assert_adds_up(explanation[out.mask], expected[out.mask])
    against = weald.explain(model, *shuffled, out_of_bag=True, background=X[weight > 0][:20])
    assert_adds_up(against[out.mask], expected[out.mask])
    pairs = explanation.interactions[out.mask].sum(axis=2)
    np.testing.assert_allclose(pairs, explanation.values[out.mask], rtol=1e-12, atol=1e-15)


def test_several_targets_have_an_output_each():
    X = RNG.normal(size=(80, 4))
    numbers = np.column_stack([X[:, 0], X[:, 1] ** 2, np.ones(80)])
    model = weald.RandomForestRegressor(25, random_state=0).fit(X, numbers)
    explanation = weald.explain(model, X[:9])
    assert explanation.output_names == [0, 1, 2]
    assert_adds_up(explanation, model.predict(X[:9]))
    np.testing.assert_array_equal(explanation.of_output(1).values, weald.explain(model.of_target(1), X[:9]).values)
    out = weald.explain(model, X, numbers, out_of_bag=True)
    assert_adds_up(out, np.column_stack(model.out_of_bag(X, numbers).averages))

    classes = np.column_stack([X[:, 0] > 0, np.digitize(X[:, 1], [-0.5, 0.5])]).astype(int)
    model = weald.RandomForestClassifier(8, random_state=0).fit(X, classes)
    for one, expected in zip(weald.explain(model, X[:9]), model.predict_proba(X[:9]), strict=True):
        assert_adds_up(one, expected)
    assert [values.shape for values in model.shap_values(X[:9])] == [(9, 4, 2), (9, 4, 3)]


def test_sparse_and_dense_tables_give_the_same_values():
    X = np.where(RNG.random((90, 6)) < 0.3, RNG.normal(size=(90, 6)), 0.0)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    model = weald.RandomForestRegressor(7, random_state=0).fit(X, y)
    found = weald.explain(model, sparse.csr_matrix(X))
    np.testing.assert_array_equal(found.values, model.shap_values(X))
    np.testing.assert_array_equal(found.data, X)
    expected = weald.explain(model, X, background=X[:9]).values
    np.testing.assert_array_equal(
        weald.explain(model, sparse.csr_matrix(X), background=sparse.csr_matrix(X[:9])).values, expected
    )
    tall = weald.explain(weald.RandomForestRegressor(7, random_state=0).fit(sparse.csr_matrix(X), y), X)
    np.testing.assert_array_equal(tall.values, found.values)


def test_huge_targets_add_up_or_are_refused():
    X, signal = make_table(n_classes=0)
    y = np.clip(signal, -1, 1) * 1.7e308
    model = weald.RandomForestRegressor(6, random_state=0).fit(X, y)
    explanation = weald.explain(model, X)
    np.testing.assert_allclose(
        explanation.base_values / 8 + (explanation.values / 8).sum(axis=1), model.predict(X) / 8, rtol=1e-12, atol=1e296
    )
    tree = weald.DecisionTreeRegressor().fit([[0.0]] * 99 + [[1.0]], [-1.7e308] * 99 + [1.7e308])
    with pytest.raises(DataError, match="exceed the range"):
        tree.shap_values([[1.0]])


def test_pruned_compacted_merged_and_loaded_models_are_explained(tmp_path):
    X, y = make_table()
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, y)
    other = weald.RandomForestClassifier(4, random_state=1).fit(X, y)
    model.save(tmp_path / "a.weald")
    np.testing.assert_array_equal(weald.load(tmp_path / "a.weald").shap_values(X[:9]), model.shap_values(X[:9]))
    for made in (model.compact(), model.truncate(max_depth=3, ccp_alpha=0.01), weald.merge([model, other]), model[1:3]):
        assert_adds_up(weald.explain(made, X[:50]), made.predict_proba(X[:50]))


def test_models_of_scikit_learn_are_explained():
    from sklearn.ensemble import RandomForestClassifier

    X, y = make_table(missing=0)
    X = X[:, :3].astype(np.float32)
    weight = RNG.random(len(y))
    model = weald.from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, y, weight))
    assert_adds_up(weald.explain(model, X[:50]), model.predict_proba(X[:50]))


# ---------------------------------------------------------------------------------------------------- explanations


def test_rows_are_shown_as_given():
    X, y = make_frame()
    X = X.assign(day=pd.date_range("2020-01-01", periods=len(X)))
    explanation = weald.explain(weald.RandomForestRegressor(3, random_state=0).fit(X, y), X)
    assert explanation.feature_names == list(X.columns)
    is_known = X["few"].notna().to_numpy()
    few = list(X.columns).index("few")
    assert explanation.data[is_known, few].tolist() == X["few"][is_known].tolist()
    assert explanation.data[~is_known, few].tolist() == [None] * (~is_known).sum()
    assert explanation.data[3, -1].startswith("2020-01-04")
    assert explanation.ordered.tolist() == [True, False, False, True, False, True]


def test_parts_of_an_explanation():
    X, y = make_table()
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    explanation = weald.explain(model, X, interactions=True)
    assert repr(explanation) == "<explanation: 400 rows, 6 features, 3 outputs>"
    assert len(explanation[10:20]) == 10
    assert len(explanation[-1]) == 1
    one = explanation[[3, 5]].of_output("b")
    np.testing.assert_array_equal(one.values, explanation.values[[3, 5], :, 1])
    np.testing.assert_array_equal(one.interactions, explanation.interactions[[3, 5], :, :, 1])
    assert repr(one) == "<explanation: 2 rows, 6 features>"
    two = weald.explain(weald.RandomForestClassifier(5, random_state=0).fit(X, y > 0), X)
    np.testing.assert_array_equal(two.one_output().values, two.values[..., 1])


def test_an_explanation_becomes_one_of_shap():
    shap, plt = pytest.importorskip("shap"), pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")  # shap's plots measure texts
    model = fitted("categories")
    explanation = weald.explain(model, make_frame()[0])
    converted = explanation.to_shap()
    assert isinstance(converted, shap.Explanation)
    np.testing.assert_array_equal(converted.values, explanation.values)
    assert converted[:, :, "yes"].values.shape == (400, 5)
    shap.plots.beeswarm(converted[:, :, "yes"], show=False)
    shap.plots.waterfall(converted[3, :, "yes"], show=False)
    shap.plots.bar(converted[:, :, "no"], show=False)
    plt.close("all")


def test_progress_is_shown(capsys):
    X, y = make_table()
    weald.explain(weald.RandomForestClassifier(3, random_state=0).fit(X, y), X, verbose=1)
    assert "400 of 400 rows" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ bad inputs

X, Y = make_table()
FOREST = weald.RandomForestClassifier(3, random_state=0).fit(X, Y)
EXPLANATION = weald.explain(FOREST, X[:5])
CURVES = RNG.normal(size=(30, 12))


@pytest.mark.parametrize(
    ("explain", "error", "message"),
    [
        (lambda: weald.explain(weald.RandomForestClassifier(), X), NotFittedError, "not fitted"),
        (lambda: FOREST.shap_values(X[:, :4]), WealdError, "features"),
        (lambda: FOREST.shap_values(X[:0]), WealdError, "0 sample"),
        (lambda: weald.explain(FOREST, X, Y), ParameterError, "y is used only with out_of_bag=True"),
        (lambda: weald.explain(FOREST, X, out_of_bag=True), ParameterError, "needs y"),
        (lambda: weald.explain(FOREST, X[:9], Y[:9], out_of_bag=True), DataError, "fit"),
        (lambda: weald.explain(FOREST, X, interactions="yes"), ParameterError, "interactions='yes' is not allowed"),
        (lambda: weald.explain(FOREST, X, background=X[:9], interactions=True), ParameterError, "path-dependent game"),
        (lambda: weald.explain(FOREST, X, background=X[:9, :4]), WealdError, "features"),
        (lambda: weald.explain(FOREST, X, background=X[:0]), WealdError, "0 sample"),
        (lambda: weald.explain(FOREST, X, background=5), WealdError, "2"),
        (lambda: weald.explain(FOREST, X, feature_names=["a"]), ParameterError, "1 names for 6 features"),
        (lambda: EXPLANATION.of_output("z"), ParameterError, "'z' is not an output. Give one of"),
        (lambda: EXPLANATION.of_output(1).of_output(1), ParameterError, "one output already"),
        (EXPLANATION.beeswarm, ParameterError, "there are 3. Choose one"),
        (lambda: EXPLANATION.of_output(1).waterfall(5), DataError, "row=5 is not a row"),
        (
            lambda: weald.KernelForestClassifier(3, random_state=0).fit(CURVES, np.arange(30) % 2).shap_values(CURVES),
            ParameterError,
            "its columns have no SHAP values",
        ),
        (
            lambda: weald.explain(
                weald.RandomForestClassifier(3, bootstrap=False, random_state=0).fit(X, Y), X, Y, out_of_bag=True
            ),
            DataError,
            "no out-of-bag rows",
        ),
        (lambda: fitted("categories").to_shap(), ExportError, r"Use weald.explain\(model, X\)"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_words(explain, error, message):
    with pytest.raises(error, match=message):
        explain()


def test_a_dask_collection_is_refused():
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(WealdError, match="Dask collection"):
        FOREST.shap_values(dask_array.from_array(X))
    with pytest.raises(WealdError, match="background is a Dask collection"):
        weald.explain(FOREST, X, background=dask_array.from_array(X))
