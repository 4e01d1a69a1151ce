"""Results as data frames."""

import importlib

import numpy as np
import pandas as pd
import polars as pl
import pytest

import weald
from weald.data import result_frame

COLUMNS = {"name": ["a", None], "number": np.array([1, 2]), "shares": np.array([[0.5, 0.5], [1.0, 0.0]])}


def test_each_kind_of_frame_holds_the_same():
    plain, pandas, polars = (result_frame.as_frame(COLUMNS, kind) for kind in ("dict", "pandas", "polars"))
    assert plain is COLUMNS
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    for frame in (pandas, polars):
        assert list(frame.columns) == list(COLUMNS)
        assert [tuple(row) for row in frame["shares"]] == [(0.5, 0.5), (1.0, 0.0)]
        assert list(frame["number"]) == [1, 2]
    assert polars["name"].to_list() == ["a", None]
    assert pandas["name"].isna().tolist() == [False, True]


def test_an_unknown_kind_is_refused():
    with pytest.raises(weald.ParameterError, match="frame='excel' is not allowed\\. Give 'pandas', 'polars', 'dict'"):
        result_frame.as_frame(COLUMNS, "excel")


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    def refuse(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(result_frame, "import_module", refuse)
    assert importlib.import_module is not refuse
    with pytest.raises(weald.ParameterError, match="needs polars, which is not installed"):
        result_frame.as_frame(COLUMNS, "polars")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_half_characters_are_refused_by_name(kind):
    tree = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], np.array(["\ud800", "b"], dtype=object))
    with pytest.raises(weald.DataError, match=f"'.ud800' contains half a character .* which {kind} does not support"):
        tree.nodes(frame=kind)
    assert tree.nodes(frame="dict")["prediction"].tolist()[1:] == ["\ud800", "b"]
