"""The decision path of a row as text."""

import numpy as np
import pandas as pd
import pytest

import weald
from tests.laws.cases import CRITERIA, is_of_classes, make_table, suited

each = pytest.mark.parametrize("criterion", CRITERIA)


@each
def test_the_steps_are_those_of_the_decision_path(criterion):
    table = make_table(100, ("many", "few"), 3 if is_of_classes(criterion) else 0, missing=0.2, seed=2)
    table = suited(criterion, table)
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    model = kind(criterion=criterion).fit(table.X, table.target)
    paths = model.decision_path(table.X)
    for row in range(0, 100, 9):
        told = model.explain_row(table.X[row])
        assert [*(step.node for step in told.steps), told.leaf] == paths[[row]].indices.tolist()
        assert told.prediction == model.predict(table.X[[row]])[0]
        assert told.leaf == model.apply(table.X[[row]])[0]
        np.testing.assert_array_equal(np.ravel(told.value), model.tree_.value[told.leaf, 0])
        for step in told.steps:
            children = model.tree_.children_left, model.tree_.children_right
            assert step.to == children[step.side == "right"][step.node]
        assert len(str(told).splitlines()) == len(told.steps) + 1


def test_the_words_say_the_value_and_the_bound():
    x = np.array([[1.0], [2.0], [3.0], [4.0], [8.0], [np.nan]])
    model = weald.DecisionTreeClassifier().fit(x, ["a", "a", "a", "a", "b", "b"])
    assert str(model.explain_row([2.5])).splitlines() == [
        "at the root  →  a (4 of 6 rows)",
        "x0 is 2.5, at most 6  →  a (4 of 4 rows)",
    ]
    assert model.explain_row([7.0]).steps[0].words == "x0 is 7, more than 6"
    assert model.explain_row([np.nan]).steps[0].words == "x0 is missing"
    present = weald.DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], ["a", "a", "b"])
    assert present.explain_row([5.0]).steps[0].words == "x0 is 5, which is not missing"


def test_a_row_may_come_in_many_forms():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "size": [3.0, 1.0, 2.0]})
    model = weald.DecisionTreeRegressor().fit(frame, [1.0, 2.0, 3.0])
    forms = [
        frame.iloc[[1]],
        frame.iloc[1],
        {"size": 1.0, "age": 2.0},
        [2.0, 1.0],
        (2.0, 1.0),
        np.array([2.0, 1.0]),
    ]
    assert {str(model.explain_row(form)) for form in forms} == {str(model.explain_row(forms[0]))}
    assert model.explain_row(forms[0]).prediction == 2.0


def test_what_is_not_one_row_is_refused():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "size": [3.0, 1.0, 2.0]})
    model = weald.DecisionTreeRegressor().fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(weald.DataError, match="x has 3 rows"):
        model.explain_row(frame)
    with pytest.raises(weald.DataError, match="no value for 'size'"):
        model.explain_row({"age": 1.0})
    with pytest.raises(weald.DataError, match="2 features"):
        model.explain_row([1.0])
    with pytest.raises(weald.DataError, match="without"):
        weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).explain_row({"age": 1.0})
