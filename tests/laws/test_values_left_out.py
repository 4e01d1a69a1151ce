"""If the number of trees is known, the values of codes need not be stored: they are looked up in the table."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import CORES, CRITERIA, NATIVE, REFERENCE, assert_same, cases, make_growth, make_table, outcome
from weald import DecisionTreeRegressor, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from weald.estimators import features

pytestmark = pytest.mark.sanitize

MANY = 16  # minimum number of trees for reading the table again


def in_other_shapes(table):
    """Pass the table as doubles, as floats if they are exact, and with strides between rows and columns."""
    yield table
    with np.errstate(over="ignore"):
        floats = table.X.astype(np.float32)
    yield replace(table, X=floats)
    yield replace(table, X=np.repeat(floats.T, 2, axis=0)[::2].T)


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=10 if UNDER_SANITIZERS else 60)
def test_values_that_were_left_out_are_found_in_the_table(criterion, data):
    case = data.draw(cases(criterion))
    case = replace(case, growth=replace(case.growth, random_cuts=False))
    for table in in_other_shapes(case.table):
        of_table = replace(case, table=table)
        expected = outcome(REFERENCE, of_table)
        for engine in CORES.values():
            for n_at_once, n_threads in ((1, 1), (MANY, 2)):
                assert_same(outcome(engine, of_table, n_threads, n_at_once), expected)


@pytest.mark.parametrize("max_bins", [0, 300, 65535])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_many_rows_and_codes_of_any_width(n_classes, max_bins):
    table = make_table(900, ["many", "rounded", "infinite", "names", "many"], n_classes, missing=0.1, seed=3)
    growth = make_growth(table, "gini" if n_classes else "squared_error", max_features=2)
    grown = [
        NATIVE.grow(NATIVE.code(table, max_bins, 2, None, n_at_once), growth, 5, 0, MANY, 2).fingerprint()
        for n_at_once in (0, 1, MANY)
    ]
    assert len(set(grown)) == 1


def test_the_table_lives_as_long_as_the_codes():
    table = make_table(500, ["many"] * 4, 2)
    growth = make_growth(table, "gini")
    expected = NATIVE.grow(NATIVE.code(table, 65535), growth, 0, 0, MANY).fingerprint()
    coded = NATIVE.code(replace(table, X=table.X.copy()), 65535, 1, None, MANY)
    rubble = [np.full_like(table.X, np.nan) for _ in range(50)]  # the memory of the copy, if it was freed
    assert NATIVE.grow(coded, growth, 0, 0, MANY).fingerprint() == expected
    assert len(rubble) == 50


def test_random_cuts_are_refused_where_values_were_left_out():
    table = make_table(50, ["many"] * 3, 2)
    coded = NATIVE.code(table, 65535, 1, None, 1)
    with pytest.raises(ValueError, match="random thresholds need the values"):
        NATIVE.grow(coded, make_growth(table, "gini", random_cuts=True), 0, 0, 1)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(MANY, random_state=0),
        RandomForestClassifier(4, random_state=0, warm_start=True),
        RandomForestClassifier(4, random_state=0, resampling="boosting"),
        RandomForestClassifier("auto", random_state=0, max_estimators=30),
        RandomForestRegressor(MANY, random_state=0, oob_score=True, max_bins=100),
        DecisionTreeRegressor(),
        ExtraTreesClassifier(4, random_state=0),
    ],
    ids=lambda model: str(model).partition("(")[0],
)
@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
def test_estimators_grow_the_same_trees_whatever_is_kept(model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    expected = model.fit(X, y).forest_.fingerprint()
    monkeypatch.setattr(features, "MANY_CELLS", 0)
    assert model.__class__(**model.get_params()).fit(X, y).forest_.fingerprint() == expected
