"""Parts of a forest, in whatever order they come, make the forest."""

import numpy as np
import pytest

import weald
from weald.joining import Joining


def forest_of(kind, n_trees=9):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300)])
    model = getattr(weald, kind)(n_trees, random_state=0, categorical_features=[1])
    y = X[:, 0] + X[:, 1] + rng.normal(size=300)
    return model.fit(X, y > 1 if kind.endswith("Classifier") else y).forest_


@pytest.mark.parametrize("kind", ["RandomForestClassifier", "RandomForestRegressor"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_parts_in_any_order_make_the_forest(kind, order):
    forest = forest_of(kind)
    parts = [forest.take(trees) for trees in ([0, 1], [2, 3, 4], [5], [6, 7, 8])]
    joining = Joining(forest.n_trees)
    for number in order:
        joining.add(number, parts[number])
    joined = joining.forest()
    assert joined.fingerprint() == forest.fingerprint()
    assert joined.origins == forest.origins
    assert not any(array.flags.writeable for array in joined._arrays().values())


def test_more_nodes_than_expected_find_room():
    forest = forest_of("RandomForestClassifier")
    small = forest.take([int(np.argmin(np.diff(forest.tree_start)))])
    joining = Joining(2)
    joining.add(0, small)
    for number in range(9):
        joining.add(1 + number, forest.take([number]))
    assert joining.forest().fingerprint() == small.join(forest).fingerprint()
