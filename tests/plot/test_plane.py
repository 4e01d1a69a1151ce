"""Partitions and boundaries show the predictions of models, everywhere in the plane."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.datasets import load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import weald
from weald.plot import BoundaryDisplay, PartitionDisplay
from weald.plot.boundary import _grid_rows
from weald.plot.plane import limits_of, lines_between, read_points

X, Y = make_moons(150, noise=0.3, random_state=0)
IRIS = load_iris(as_frame=True)
PETALS = IRIS.data[["petal length (cm)", "petal width (cm)"]]


def middles(edges):
    return (edges[1:] + edges[:-1]) / 2


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.integers(0, 2)))
def test_lines_stand_wherever_neighbors_differ_and_nowhere_else(winner):
    x, y = np.arange(winner.shape[1] + 1.0), np.arange(winner.shape[0] + 1.0)
    length = sum(np.abs(end - start).sum() for start, end in lines_between(winner, x, y))
    assert length == (winner[1:] != winner[:-1]).sum() + (winner[:, 1:] != winner[:, :-1]).sum()


@pytest.mark.parametrize("n_trees", [1, 7])
def test_a_boundary_of_trees_is_exact(n_trees):
    model = weald.RandomForestClassifier(n_trees, random_state=1).fit(X, Y)
    display = BoundaryDisplay.from_estimator(model, X, Y)
    assert display.exact
    rng = np.random.default_rng(0)
    points = rng.uniform([display.x[0], display.y[0]], [display.x[-1], display.y[-1]], size=(500, 2))
    column, row = np.searchsorted(display.x, points[:, 0]) - 1, np.searchsorted(display.y, points[:, 1]) - 1
    assert (display.values[row, column] == model.predict_proba(points)).all()


def test_a_boundary_of_many_thresholds_is_drawn_on_a_grid():
    model = weald.RandomForestClassifier(20, random_state=1).fit(X, Y)
    display = BoundaryDisplay.from_estimator(model, X, resolution=30)
    assert not display.exact
    assert display.values.shape == (30, 30, 2)
    grid = np.column_stack([np.tile(middles(display.x), 30), np.repeat(middles(display.y), 30)])
    assert (display.values.reshape(-1, 2) == model.predict_proba(grid)).all()


@pytest.mark.parametrize("model", [KNeighborsClassifier(3), SVC()], ids=["shares", "labels"])
def test_other_classifiers_are_drawn_too(model):
    display = BoundaryDisplay.from_estimator(model.fit(X, Y), X, Y, resolution=20)
    assert display.values.shape == (20, 20, 2)
    assert np.allclose(display.values.sum(axis=2), 1)


def test_regressors_are_drawn_as_numbers():
    model = weald.RandomForestRegressor(3, random_state=1).fit(X, X[:, 0])
    display = BoundaryDisplay.from_estimator(model, X, X[:, 0], resolution=50)
    assert display.labels is None
    assert display.values.ndim == 2


def test_other_features_stand_still():
    model = weald.RandomForestClassifier(5, random_state=1).fit(IRIS.data, IRIS.target)
    display = BoundaryDisplay.from_estimator(model, IRIS.data, IRIS.target, features=(3, 2))
    assert display.names == ("petal width (cm)", "petal length (cm)")
    rows = np.tile(np.median(IRIS.data, axis=0), (len(display.x) - 1, 1))
    rows[:, 3], rows[:, 2] = middles(display.x), middles(display.y)[0]
    asked = model.predict_proba(type(IRIS.data)(rows, columns=IRIS.data.columns))
    assert (display.values[0] == asked).all()
    held = BoundaryDisplay.from_estimator(model, IRIS.data, features=(3, 2), at=IRIS.data.iloc[0])
    assert not np.array_equal(held.values, display.values)


def test_columns_that_are_no_numbers_stand_at_their_commonest_value():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": ["x", "y", "y"], "c": [3.0, 4.0, 9.0]})
    rows = _grid_rows(frame, (0, 2), None, np.array([0.0, 1.0]), np.array([5.0]))
    assert rows.to_dict("list") == {"a": [0.0, 1.0], "b": ["y", "y"], "c": [5.0, 5.0]}
    plain = _grid_rows(frame.to_numpy(), (0, 2), None, np.array([0.0, 1.0]), np.array([5.0]))
    assert plain.tolist() == [[0.0, "y", 5.0], [1.0, "y", 5.0]]
    with pytest.raises(weald.DataError, match="two numerical features"):
        read_points(frame)


def test_categories_stand_still_beside_the_plane_and_are_refused_in_it():
    frame = IRIS.data.iloc[:, :2].assign(color=pd.Categorical(np.where(np.arange(150) % 3, "blue", "red")))
    model = weald.RandomForestClassifier(3, random_state=0).fit(frame, IRIS.target)
    display = BoundaryDisplay.from_estimator(model, frame, IRIS.target)
    rows = frame.iloc[: len(display.x) - 1].assign(color="blue")
    rows.iloc[:, 0], rows.iloc[:, 1] = middles(display.x), middles(display.y)[0]
    assert (display.values[0] == model.predict_proba(rows)).all()
    coded = frame.assign(color=np.arange(150) % 2)
    model = weald.RandomForestClassifier(3, categorical_features=["color"]).fit(coded, IRIS.target)
    with pytest.raises(weald.DataError, match="Column 2 has categories"):
        BoundaryDisplay.from_estimator(model, coded, features=(0, 2))


def test_missing_and_infinite_values_leave_the_plane_finite():
    points = np.array([[0.0, np.nan], [1.0, 2.0], [np.inf, 4.0]])
    (x0, x1), (y0, y1) = limits_of(points)
    assert x0 < 0
    assert 1 < x1 < 2
    assert y0 < 2
    assert 4 < y1 < 5
    with pytest.raises(weald.DataError, match="without finite numbers"):
        limits_of(np.array([[np.nan, 1.0]]))


def test_a_grid_needs_cells():
    with pytest.raises(weald.ParameterError, match="resolution=0 is not allowed"):
        BoundaryDisplay.from_estimator(weald.DecisionTreeClassifier().fit(X, Y), X, resolution=0)


def test_features_of_the_plane_must_be_there():
    with pytest.raises(weald.DataError, match="X has 2 columns"):
        BoundaryDisplay.from_estimator(weald.DecisionTreeClassifier().fit(X, Y), X, features=(0, 2))


# ------------------------------------------------------------------------------------------------------- partitions


def partition(**given):
    model = weald.DecisionTreeClassifier(max_leaf_nodes=6).fit(PETALS, IRIS.target)
    return model, PartitionDisplay.from_estimator(model, PETALS, IRIS.target, **given)


def test_regions_hold_what_the_tree_says():
    model, display = partition()
    regions = display._regions()
    leaves = np.flatnonzero(~display.sketch.is_open)
    x0, x1, y0, y1 = regions[leaves].T
    centers = PETALS.iloc[: len(leaves)].copy()
    centers.iloc[:, 0], centers.iloc[:, 1] = (x0 + x1) / 2, (y0 + y1) / 2
    assert (model.apply(centers) == display.sketch.node[leaves]).all()
    (a, b), (c, d) = display.limits
    assert ((x1 - x0) * (y1 - y0)).sum() == pytest.approx((b - a) * (d - c))


def test_cuts_come_by_depth_and_each_has_its_letter():
    _, display = partition()
    depth = display.sketch.depth[np.searchsorted(display.sketch.node, display.cuts_)]
    assert (np.diff(depth) >= 0).all()
    assert [text.get_text() for text in display.ax_.texts] == list("abcde")


def test_impurities_are_those_of_the_growing_tree():
    model, display = partition()
    tree = model.tree_
    leaves, total = {0}, tree.n_node_samples[0]
    for cut, after in zip(display.cuts_, display.impurities[1:], strict=True):
        leaves = leaves - {cut} | {tree.children_left[cut], tree.children_right[cut]}
        assert after == pytest.approx(sum(tree.impurity[n] * tree.n_node_samples[n] for n in leaves) / total)


def test_the_first_cuts_can_be_drawn_alone():
    _, display = partition(n_cuts=2, with_tree=False)
    assert len(display.cuts_) == 2
    assert display.tree_ax_ is None
    assert [text.get_text() for text in display.ax_.texts] == ["a", "b"]


def test_partitions_of_regressors_forests_and_missing_values_are_drawn():
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    models = [
        weald.DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0]),
        weald.RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, Y, sample_weight=np.arange(150) % 3 + 0.5),
        weald.DecisionTreeClassifier(max_depth=3).fit(holed, Y),
    ]
    for model in models:
        _, axes = plt.subplots(1, 2)
        display = PartitionDisplay.from_estimator(model, holed, Y, ax=axes[0], tree_ax=axes[1])
        display.figure_.canvas.draw()
        assert display.tree_ax_ is axes[1]


def test_a_partition_needs_two_features():
    model = weald.DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(weald.DataError, match="grown on 4 features"):
        PartitionDisplay.from_estimator(model, IRIS.data)
