"""scikit-learn's own checks of estimators: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import weald

ESTIMATORS = [
    weald.DecisionTreeClassifier(engine="reference"),
    weald.DecisionTreeRegressor(engine="reference"),
    weald.RandomForestClassifier(n_estimators=5, engine="reference"),
    weald.RandomForestRegressor(n_estimators=5, engine="reference"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_blame(estimator, check):
    check(estimator)
