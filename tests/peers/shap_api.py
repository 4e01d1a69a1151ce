"""shap includes no tests: this script tests its API with weald's models."""

import numpy as np
import pytest
import shap
from sklearn.datasets import load_diabetes, load_iris

import weald

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:100] for part in load_diabetes(return_X_y=True))
CLASSIFIERS = {
    "tree": weald.DecisionTreeClassifier(max_depth=3),
    "forest": weald.RandomForestClassifier(5, random_state=0),
    "extra trees": weald.ExtraTreesClassifier(5, random_state=0),
}
REGRESSORS = {
    "tree": weald.DecisionTreeRegressor(max_depth=3),
    "forest": weald.RandomForestRegressor(5, random_state=0),
    "extra trees": weald.ExtraTreesRegressor(5, random_state=0),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_values_of_a_regressor_add_up_to_its_predictions(name):
    model = REGRESSORS[name].fit(XR, YR)
    explainer = shap.TreeExplainer(model.to_shap(check=False).model)
    values = explainer.shap_values(XR[:10])
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, model.predict(XR[:10]), rtol=1e-5)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_values_of_a_classifier_add_up_to_its_probabilities(name):
    model = CLASSIFIERS[name].fit(X, Y)
    explainer = shap.TreeExplainer(model.to_shap(check=False).model)
    values = np.asarray(explainer.shap_values(X[::15]))
    added = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(added, model.predict_proba(X[::15]), atol=1e-6)


def test_background_rows_are_taken():
    model = REGRESSORS["forest"].fit(XR, YR)
    explainer = shap.TreeExplainer(model.to_shap(check=False).model, data=XR[:20])
    values = explainer.shap_values(XR[:5], check_additivity=False)
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, model.predict(XR[:5]), rtol=1e-4)


def test_the_explainer_of_any_function_takes_predictions():
    model = CLASSIFIERS["forest"].fit(X, Y)
    explainer = shap.explainers.Permutation(model.predict_proba, X[:20], seed=0)
    found = explainer(X[::50])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict_proba(X[::50]), atol=1e-8)
