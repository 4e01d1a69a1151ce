"""A fit warns of suspicious columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import weald
from weald.errors import ParameterError


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
    (message,) = warnings_of(rows(60, name=names(60), few=["a", "b"] * 30, day=names(31) + names(29)))
    assert message.startswith(
        "X has 60 rows, and columns with a category for nearly each of them: 'name' (60 categories)"
    )
    assert "'day' (31 categories)" in message
    assert "'few'" not in message
    assert "pandas.to_datetime" in message


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
    (message,) = warnings_of(np.arange(60.0).reshape(-1, 1), categorical_features=[0])
    assert "nearly each of them: 0 (60 categories)." in message


def test_of_many_columns_the_first_are_named():
    (message,) = warnings_of(pd.DataFrame({f"c{i}": names(60) for i in range(9)}))
    assert "'c4' (60 categories) and 4 more." in message


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


def test_max_features_may_be_a_function_of_their_number(tmp_path):
    X, y = load_iris(return_X_y=True)
    forest = weald.RandomForestClassifier(5, max_features=lambda n: n - 1, random_state=0).fit(X, y)
    same = weald.RandomForestClassifier(5, max_features=3, random_state=0).fit(X, y)
    assert forest.forest_.fingerprint() == same.forest_.fingerprint()
    forest.save(tmp_path / "m.weald")
    assert weald.load(tmp_path / "m.weald").max_features == 3
    for wrong in (lambda n: n - 4, lambda n: n + 1, lambda n: n / 2, str):
        with pytest.raises(ParameterError, match="returns a whole number from 1 to 4"):
            weald.RandomForestClassifier(5, max_features=wrong).fit(X, y)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier", "RandomForestRegressor"])
def test_the_mean_path_length_counts_splits(name):
    kind = getattr(weald, name)
    X, y = load_iris(return_X_y=True)
    is_tree = kind is weald.DecisionTreeClassifier
    model = kind(random_state=0) if is_tree else kind(7, bootstrap=False, max_features=2, random_state=0)
    model.fit(X, y)
    leaves = model.apply(X).reshape(150, -1)
    start, depth = model.forest_.tree_start[:-1], model.forest_.depth()
    expected = depth[leaves + start].mean(axis=1)
    np.testing.assert_allclose(model.mean_path_length(X), expected)
    assert model.mean_path_length() == pytest.approx(expected.mean())  # without bootstrap every row is in every bag
