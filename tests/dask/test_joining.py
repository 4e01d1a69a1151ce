"""Parts of a forest, in any order of arrival, are joined to the forest."""

import numpy as np
import pytest

import weald
from weald.dask.joining import Joining, TreeArrays, join


def forest_of(kind, n_trees=9):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300)])
    model = getattr(weald, kind)(n_trees, random_state=0, categorical_features=[1])
    y = X[:, 0] + X[:, 1] + rng.normal(size=300)
    return model.fit(X, y > 1 if kind.endswith("Classifier") else y).forest_


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "RandomForestRegressor"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_parts_in_any_order_make_the_forest(kind, order, n_threads):
    forest = forest_of(kind)
    parts = [forest.take(trees) for trees in ([0, 1], [2, 3, 4], [5], [6, 7, 8])]
    joining = Joining(forest.n_trees, n_threads)
    for number in order:
        joining.add(number, TreeArrays.of(parts[number]))
    joined = joining.forest()
    joining.close()
    assert joined.fingerprint() == forest.fingerprint()
    assert joined.origins == forest.origins
    assert not any(array.flags.writeable for array in joined.arrays().values())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_more_nodes_than_expected_find_room(n_threads):
    forest = forest_of("RandomForestClassifier")
    small = forest.take([int(np.argmin(np.diff(forest.tree_start)))])
    joining = Joining(2, n_threads)
    joining.add(0, TreeArrays.of(small))
    for number in range(9):
        joining.add(1 + number, TreeArrays.of(forest.take([number])))
    assert joining.forest().fingerprint() == small.join(forest).fingerprint()
    joining.close()


def test_what_goes_wrong_on_a_thread_is_told():
    forest = forest_of("RandomForestClassifier")
    broken = TreeArrays.of(forest.take([0]))
    broken.arrays["threshold"] = broken.arrays["threshold"][:-1]
    joining = Joining(1, 2)
    joining.add(0, broken)
    with pytest.raises(ValueError, match="shape mismatch"):
        joining.forest()
    joining.close()


def small_forest(**how):
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(200, 3)), how.pop("weight", None)
    kind = how.pop("kind", "RandomForestClassifier")
    y = X[:, 0] + rng.normal(size=200)
    y = np.digitize(y, [-0.5, 0.5][: how.pop("n_cuts", 2)]) if kind == "RandomForestClassifier" else y
    return getattr(weald, kind)(3, random_state=0, **how).fit(X, y, sample_weight=weight).forest_


@pytest.mark.filterwarnings("ignore:class_weight weighs the class:UserWarning")
@pytest.mark.parametrize(
    "how",
    [
        {"weight": np.linspace(0.1, 2, 200)},
        {"class_weight": {0: 0.5, 1: 2.0, 2: 1e10}, "bootstrap": False},
        {"min_samples_leaf": 20},
        {"ccp_alpha": 0.01},
        {"n_cuts": 1, "monotonic_cst": [1, 0, 0]},
        {"kind": "RandomForestRegressor", "weight": np.linspace(0.1, 2, 200)},
        {"kind": "RandomForestRegressor", "max_leaf_nodes": 4},
        {"min_samples_leaf": 150},
    ],
)
def test_nothing_is_lost_on_the_way(how):
    forest = small_forest(**how)
    joined = join([TreeArrays.of(forest.take([t])) for t in range(forest.n_trees)])
    assert joined.fingerprint() == forest.fingerprint()
    for name, array in joined.arrays().items():
        assert array.dtype == getattr(forest, name).dtype


def test_trees_of_several_fits_keep_their_origins():
    forest = forest_of("RandomForestClassifier").take([0, 4, 2])
    assert (
        join([TreeArrays.of(forest), TreeArrays.of(forest.take([1]))]).origins == forest.join(forest.take([1])).origins
    )


def test_trees_on_their_way_are_half_as_large_or_less():
    rng = np.random.default_rng(0)
    model = weald.RandomForestClassifier(1, random_state=0).fit(rng.normal(size=(5000, 4)), rng.integers(0, 2, 5000))
    assert TreeArrays.of(model.forest_).__sizeof__() < model.forest_.n_bytes / 2
