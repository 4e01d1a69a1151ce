"""The confusion matrix counts predicted and true classes."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

import weald
from weald.errors import ParameterError
from weald.plot import ConfusionDisplay

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def drawn(display):
    """Read the numbers from the figure: by row, then by column."""
    texts = sorted(display.ax_.texts, key=lambda text: (text.get_position()[1], text.get_position()[0]))
    words = [text.get_text() for text in texts]
    return np.array([0 if word == "·" else int(word) for word in words]).reshape(3, 3)


def test_counts_are_drawn_by_true_class_and_class_said():
    tree = weald.DecisionTreeClassifier(max_depth=2).fit(X, NAMES[Y])
    display = ConfusionDisplay.from_estimator(tree, X, NAMES[Y])
    assert (display.counts == confusion_matrix(NAMES[Y], tree.predict(X))).all()
    assert (drawn(display) == display.counts).all()
    assert display.labels == list(NAMES)


def test_out_of_bag_rows_are_counted_once_each():
    forest = weald.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    display = ConfusionDisplay.from_out_of_bag(forest, class_names=NAMES)
    predicted = forest.oob_decision_function_.argmax(axis=1)
    assert (display.counts == confusion_matrix(Y, predicted)).all()
    assert (drawn(display) == display.counts).all()


def test_a_class_that_never_comes_has_an_empty_row():
    tree = weald.DecisionTreeClassifier().fit(X, Y)
    display = ConfusionDisplay.from_estimator(tree, X[:100], Y[:100])
    assert display.counts.tolist() == [[50, 0, 0], [0, 50, 0], [0, 0, 0]]


def test_other_classifiers_can_be_judged_too():
    model = KNeighborsClassifier(1).fit(X, Y)
    assert np.trace(ConfusionDisplay.from_estimator(model, X, Y, class_names=NAMES).counts) == 150
    with pytest.raises(weald.DataError, match="class_names has 2 names for 3 classes"):
        ConfusionDisplay.from_estimator(model, X, Y, class_names=NAMES[:2])


def test_numbers_have_no_confusion():
    with pytest.raises(weald.ParameterError, match="predicts numbers, not classes"):
        ConfusionDisplay.from_estimator(weald.DecisionTreeRegressor().fit(X, Y), X, Y)


def test_out_of_bag_results_are_enough():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = weald.RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, labels)
    expected = ConfusionDisplay.from_out_of_bag(forest)
    for found in (forest.oob_, forest.out_of_bag(X, labels)):
        display = ConfusionDisplay.from_out_of_bag(found)
        np.testing.assert_array_equal(display.counts, expected.counts)
        assert display.labels == expected.labels == ["setosa", "versicolor", "virginica"]
    assert ConfusionDisplay.from_out_of_bag(forest.oob_, class_names=["a", "b", "c"]).labels == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="class_names has 2 names, but there are 3 classes"):
        ConfusionDisplay.from_out_of_bag(forest.oob_, class_names=["a", "b"])
