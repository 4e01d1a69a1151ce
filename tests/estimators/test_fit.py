"""A fit warns of suspicious columns."""

import warnings

import numpy as np
import pandas as pd
import pytest

import weald


def rows(n, **columns):
    return pd.DataFrame({"x": np.arange(n), **columns})


def names(n):
    return [f"name {i}" for i in range(n)]


def warnings_of(X, y=None, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weald.DecisionTreeRegressor(**given).fit(X, np.arange(len(X)) % 7.0 if y is None else y)
    return [str(w.message) for w in caught]


def test_columns_with_a_category_for_nearly_each_row_are_named_once():
    (said,) = warnings_of(rows(60, name=names(60), few=["a", "b"] * 30, day=names(31) + names(29)))
    assert said.startswith("X has 60 rows, and columns with a category for nearly each of them: 'name' (60 categories)")
    assert "'day' (31 categories)" in said
    assert "'few'" not in said
    assert "pandas.to_datetime" in said


@pytest.mark.parametrize(
    ("X", "given"),
    [
        (rows(49, name=names(49)), {}),
        (rows(60, name=names(30) * 2), {}),
        (rows(60, name=pd.Categorical(names(60), ordered=True)), {}),
        (rows(60, when=pd.date_range("2020-01-01", periods=60)), {}),
        (rows(60), {}),
    ],
    ids=["a small table", "half as many as rows", "ordered", "dates", "numbers"],
)
def test_other_columns_are_not_named(X, given):
    assert warnings_of(X, **given) == []


def test_numbers_that_are_called_categories_are_named_by_their_place():
    (said,) = warnings_of(np.arange(60.0).reshape(-1, 1), categorical_features=[0])
    assert "nearly each of them: 0 (60 categories)." in said


def test_of_many_columns_the_first_are_named():
    (said,) = warnings_of(pd.DataFrame({f"c{i}": names(60) for i in range(9)}))
    assert "'c4' (60 categories) and 4 more." in said


def test_predictions_and_looks_at_the_training_data_do_not_warn_again():
    X, y = rows(240, name=names(240)), np.arange(240) % 7.0
    with pytest.warns(UserWarning, match="nearly each of them") as caught:
        model = weald.RandomForestRegressor(40, random_state=0).fit(X, y)
    assert len(caught) == 1
    model.out_of_bag(X, y)
    model.predict(X)


def test_code_stores_warn_as_tables_do(tmp_path):
    X, y = rows(60, name=names(60)), np.arange(60) % 7.0
    store = weald.codes.from_chunks([(X[:30], y[:30]), (X[30:], y[30:])], folder=tmp_path / "codes")
    with pytest.warns(UserWarning, match="nearly each of them: 'name' .60 categories"):
        weald.RandomForestRegressor(3, random_state=0).fit(store)
