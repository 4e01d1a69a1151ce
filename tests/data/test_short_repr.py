"""Results print their numbers, and of arrays only the shape."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import weald
from weald.data.short_repr import short_repr

X, Y = load_breast_cancer(return_X_y=True)
SHORT = 200


@pytest.fixture(scope="module")
def results():
    forest = weald.RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, Y)
    tree = weald.DecisionTreeClassifier().fit(X, Y)
    found, near = forest.oob_, forest.neighbors(X, Y)
    several = weald.RandomForestClassifier(30, random_state=0).fit(X, np.column_stack([Y, Y]))
    return {
        "Threshold": found.threshold(),
        "Calibration": found.calibration(),
        "Curve": found.curve,
        "Neighbors": near,
        "Nearest": near.nearest(X[:9]),
        "LeafRows": near.leaf_rows(0, int(forest.apply(X[:1])[0, 0])),
        "Forest": forest.forest_,
        "Tree": tree.tree_,
        "Schema": forest.schema_,
        "AlphaChoice": tree.choose_alpha(X, Y),
        "RowExplanation": tree.explain_row(X[0]),
        "SplitExplanation": tree.explain_split(0, X, Y),
        "OutOfBagOfTargets": several.out_of_bag(X, np.column_stack([Y, Y])),
    }


def test_results_are_short(results):
    assert {name: len(repr(result)) for name, result in results.items() if len(repr(result)) > SHORT} == {}
    assert [name for name, result in results.items() if "array(" in repr(result) or " object at " in repr(result)] == []
    assert repr(results["Threshold"]).startswith(f"Threshold(value={results['Threshold'].value:.4g}, score=")
    assert repr(results["Neighbors"]) == "<neighbors: 569 training rows, 20 trees>"
    assert "9 × 5 array" in repr(results["Nearest"])


def test_short_values_are_shown_in_full():
    explained = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "b"]).explain_row([1.0])
    assert "prediction='a'" in short_repr(explained)
    assert f"leaf={explained.leaf}" in short_repr(explained)
