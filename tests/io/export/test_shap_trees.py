"""shap predicts what weald predicts, and its values add up to it."""

import sys

import numpy as np
import pytest
import shap

import weald
from tests.io.export.models import MODELS, fitted, has_sets, make_frame
from weald.io.export.parity import answer, rows_to_compare

NUMERIC = [name for name in MODELS if "categories" not in name]


@pytest.mark.parametrize("name", NUMERIC)
def test_shap_predicts_the_same_at_the_edges_of_leaves(name):
    parity = fitted(name).to_shap().parity
    assert parity.n_rows == 1000
    assert parity.largest_difference < 4e-15


@pytest.mark.parametrize("name", ["leaves of several classes", "hard votes", "votes of different weight", "regression"])
def test_values_add_up_to_the_prediction(name):
    import shap

    model = fitted(name)
    explainer = shap.TreeExplainer(model.to_shap().model)
    rows = rows_to_compare(model, None)[:40]
    values = explainer.shap_values(rows, check_additivity=False)
    ours = answer(model, rows)
    total = values.reshape(*rows.shape, -1).sum(axis=1) + explainer.expected_value
    assert total == pytest.approx(ours, abs=1e-9)


def test_values_are_those_of_the_definition():
    """Two features, each row of the square once: a value is the mean gain of knowing the feature, in both orders."""
    import shap

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0.0, 1.0, 2.0, 7.0])
    model = weald.DecisionTreeRegressor().fit(X, y)
    found = shap.TreeExplainer(model.to_shap().model).shap_values(X)
    of_first, of_second = y.reshape(2, 2).mean(axis=1), y.reshape(2, 2).mean(axis=0)
    for row, (i, j) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        first = (of_first[i] - y.mean() + y[row] - of_second[j]) / 2
        assert found[row] == pytest.approx([first, y[row] - y.mean() - first])


@pytest.mark.parametrize("name", ["categories", "categories in regression"])
def test_sets_of_categories_are_refused_by_name(name):
    assert has_sets(name)
    with pytest.raises(weald.ExportError, match=r"column '(few|many|flag)' of X is split into sets of categories"):
        fitted(name).to_shap()


def test_ordered_categories_are_cut_like_numbers():
    frame, signal = make_frame()
    model = weald.RandomForestRegressor(4, random_state=0).fit(frame[["number", "grade"]], signal)
    assert model.to_shap(X=frame[["number", "grade"]]).parity.n_rows == 1400


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(weald.ExportError, match=r"pip install shap.*check=False"):
        fitted("one leaf").to_shap()


def test_shap_explains_with_background_data():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    explained = shap.TreeExplainer(model.to_shap().model, X[:10])
    values = explained.shap_values(X)
    np.testing.assert_allclose(values.sum(axis=1) + explained.expected_value, model.predict(X), rtol=1e-4, atol=1e-6)
