"""Conditions of splits as text."""

import numpy as np
import pytest

import weald
from weald.forest.describe.conditions import Names, format_number, questions


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2.4500000000000006, "2.45"),
        (0.1234567, "0.1235"),
        (-12.3456, "-12.35"),
        (2013.5, "2013.5"),
        (1234567.0, "1234567"),
        (123456.789, "123456.8"),
        (1e12, "1.000e+12"),
        (1.5e-9, "1.500e-09"),
        (np.inf, "inf"),
        (999.99999, "1000"),
    ],
)
def test_numbers_are_short_but_keep_their_whole_part(number, words):
    assert format_number(number) == words


def ask(x, y, **given):
    model = weald.DecisionTreeClassifier(**given).fit(x, y)
    return questions(model.forest_, Names.of(model))


def test_a_split_has_words_for_both_sides():
    (split, *leaves) = ask([[1.0], [2.0], [4.0]], [0, 0, 1])
    assert (split.left, split.right) == ("x0 ≤ 3", "x0 > 3")
    assert leaves == [None, None]
    assert split.describe_value(2.5, left=True) == "x0 is 2.5, at most 3"
    assert split.describe_value(np.nan, left=True) == "x0 is missing"


def test_missing_values_are_named_where_they_do_not_go_to_the_heavier_side():
    x = np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [np.nan]])
    heavier = ask(x, [0, 0, 0, 1, 1, 0])[0]
    assert (heavier.left, heavier.right, heavier.missing_left) == ("x0 ≤ 5", "x0 > 5", True)
    x = np.array([[1.0], [2.0], [3.0], [4.0], [8.0], [np.nan]])
    lighter = ask(x, [0, 0, 0, 0, 1, 1])[0]
    assert (lighter.left, lighter.right, lighter.missing_left) == ("x0 ≤ 6", "x0 > 6 or missing", False)


def test_present_against_missing():
    split = ask([[1.0], [2.0], [np.nan], [np.nan]], [0, 0, 1, 1])[0]
    assert (split.left, split.right) == ("x0 is present", "x0 is missing")


def test_names_are_those_of_the_table_or_those_given():
    import pandas as pd

    model = weald.DecisionTreeClassifier().fit(pd.DataFrame({"age": [1.0, 2.0]}), ["a", "b"])
    assert Names.of(model).features == ["age"]
    given = Names.of(model, ["years"], ["A", "B"])
    assert given.features == ["years"]
    assert given.classes.tolist() == ["A", "B"]
    with pytest.raises(weald.DataError, match="feature_names has 2 names for 1 features"):
        Names.of(model, ["a", "b"])
    with pytest.raises(weald.DataError, match="class_names has 1 names for 2 classes"):
        Names.of(model, None, ["a"])
