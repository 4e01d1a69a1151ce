"""Errors form a tree, and one name catches them all."""

import inspect
import re

import pytest
from sklearn.exceptions import DataConversionWarning

import weald
from weald import errors


def drawn() -> dict[str, str]:
    """Read the tree in the docstring: name -> base outside weald, in brackets."""
    return dict(re.findall(r"── (\w+) \((\w+)\)", errors.__doc__))


def test_the_tree_is_drawn_as_it_is():
    classes = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert set(classes) == {"WealdError", *drawn()}
    for name, base in drawn().items():
        assert [b.__name__ for b in classes[name].__bases__] == ["WealdError", base]


@pytest.mark.parametrize(
    ("arguments", "x", "y"),
    [
        ({"max_depth": 0}, [[1.0]], [1]),
        ({}, [[1j]], [1]),
        ({}, [[{}]], [1]),
        ({}, [1.0], [1]),
        ({}, [[1.0]], [1, 2]),
        ({}, [[1.0]], None),
    ],
)
@pytest.mark.parametrize("model", [weald.RandomForestClassifier, weald.DecisionTreeRegressor])
def test_one_name_catches_all_errors(model, arguments, x, y):
    with pytest.raises(weald.WealdError):
        model(**arguments).fit(x, y)


def test_a_warning_points_at_the_line_of_the_user():
    with pytest.warns(UserWarning, match="every tree") as caught:
        weald.RandomForestClassifier(1, oob_score=True).fit([[1.0], [2.0]], [0, 1])
    assert [warning.filename for warning in caught] == [__file__]


def test_a_warning_of_another_kind_does_so_too():
    with pytest.warns(DataConversionWarning, match="column-vector y") as caught:
        weald.RandomForestClassifier(1).fit([[1.0], [2.0]], [[0], [1]])
    assert [warning.filename for warning in caught] == [__file__]


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = weald.RandomForestRegressor(2).fit([[1.0], [2.0]], [1, 2])
    before = dict(vars(model))
    for x, y in [([[1.0, 2.0]], [float("nan")]), ([[{}]], [1]), ([[1.0, 2.0]], None)]:
        with pytest.raises(weald.WealdError):
            model.fit(x, y)
        assert vars(model) == before


def test_a_failed_first_fit_leaves_nothing_behind():
    model = weald.DecisionTreeClassifier()
    before = dict(vars(model))
    with pytest.raises(weald.WealdError):
        model.fit([[1.0, 2.0]], [float("nan")])
    assert vars(model) == before
