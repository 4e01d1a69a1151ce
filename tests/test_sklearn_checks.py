"""scikit-learn's own checks of estimators: none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import weald

# One column for each row is much for the engine in plain Python.
FEW = {"native": {}, "reference": {"n_prototypes": 30}}

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
        weald.KernelForestClassifier(n_estimators=5, engine=engine, **FEW[engine]),
        weald.KernelForestRegressor(n_estimators=5, engine=engine, **FEW[engine]),
    )
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_blame(estimator, check):
    check(estimator)
