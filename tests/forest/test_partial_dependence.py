"""scikit-learn's partial dependence of single trees: by recursion, as for its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence

import weald

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = 3 * X[:, 0] - X[:, 1] * X[:, 2] + RNG.normal(size=300)
WEIGHT = RNG.integers(1, 5, size=300)


@pytest.mark.parametrize("kind", ["DecisionTreeRegressor", "ExtraTreeRegressor"])
@pytest.mark.parametrize("features", [[0], [2, 0]])
def test_recursion_is_that_of_scikit_learn(kind, features):
    model = getattr(weald, kind)(min_samples_leaf=3, random_state=0).fit(X, Y, WEIGHT)
    ours, theirs = (
        partial_dependence(m, X, features, method="recursion", grid_resolution=12)
        for m in (model, model.to_sklearn().model)
    )
    np.testing.assert_allclose(ours["average"], theirs["average"], rtol=1e-12, atol=1e-12)


def test_where_all_features_are_given_it_is_the_prediction():
    frame = pd.DataFrame({"kind": pd.Categorical(np.array(["a", "b", "c"])[np.arange(300) % 3]), "x": X[:, 0]})
    frame.loc[::7, "x"] = np.nan
    frame.loc[::11, "kind"] = None
    shift = frame["kind"].map({"a": -2.0, "b": 4.0, "c": 1.0}).astype(float).fillna(9.0)
    y = np.where(frame["x"].isna(), 7.0, X[:, 0]) + shift
    model = weald.DecisionTreeRegressor(random_state=0).fit(frame, y)
    values = frame.to_numpy(dtype=object)
    found = model._compute_partial_dependence_recursion(values, np.array([0, 1]))
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)


def test_dates_are_read_as_in_the_fit():
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=300), "x": X[:, 0]})
    model = weald.DecisionTreeRegressor(max_depth=4).fit(frame, np.arange(300.0))
    found = model._compute_partial_dependence_recursion(frame[["day"]].to_numpy(), np.array([0]))
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)


def test_several_targets_have_a_curve_each():
    both = np.column_stack([Y, Y**2])
    model = weald.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, both)
    curves = partial_dependence(model, X, [0], grid_resolution=10)["average"]
    for number in (0, 1):
        one = partial_dependence(model.of_target(number), X, [0], grid_resolution=10)["average"]
        np.testing.assert_array_equal(curves[number], one[0])
