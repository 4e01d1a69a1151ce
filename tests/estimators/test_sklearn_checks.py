"""scikit-learn's own checks of estimators: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import weald

ESTIMATORS = [
    estimator
    for engine in ("native", "reference")
    for estimator in (
        weald.DecisionTreeClassifier(engine=engine),
        weald.DecisionTreeRegressor(engine=engine),
        weald.RandomForestClassifier(n_estimators=5, engine=engine),
        weald.RandomForestRegressor(n_estimators=5, engine=engine),
        weald.ExtraTreeClassifier(engine=engine),
        weald.ExtraTreeRegressor(engine=engine),
        weald.ExtraTreesClassifier(n_estimators=5, engine=engine),
        weald.ExtraTreesRegressor(n_estimators=5, engine=engine),
        weald.RandomTreesEmbedding(n_estimators=5, engine=engine),
    )
]
KERNELS = [
    weald.KernelForestClassifier(n_estimators=5, engine="native"),
    weald.KernelForestRegressor(n_estimators=5, engine="native"),
]
# Each prototype is a column, and the plain Python engine is slow, so there are few.
KERNELS_IN_PYTHON = [
    weald.KernelForestClassifier(n_estimators=5, engine="reference", n_prototypes=30),
    weald.KernelForestRegressor(n_estimators=5, engine="reference", n_prototypes=30),
]


@pytest.mark.filterwarnings("ignore:class_weight weighs the class:UserWarning")  # a weight ratio of 1e-7
@parametrize_with_checks(ESTIMATORS + KERNELS)
def test_scikit_learn_finds_nothing_to_blame(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:class_weight weighs the class:UserWarning")
@parametrize_with_checks(KERNELS_IN_PYTHON)
def test_scikit_learn_finds_nothing_to_blame_in_plain_python(estimator, check):
    check(estimator)
