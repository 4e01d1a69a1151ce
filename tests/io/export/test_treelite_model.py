"""Treelite predicts what weald predicts."""

import sys

import numpy as np
import pytest
import treelite

import weald
from tests.io.export.models import MODELS, fitted
from weald.io.export.parity import answer, rows_to_compare


@pytest.mark.parametrize("name", MODELS)
def test_treelite_predicts_the_same_at_the_edges_of_leaves(name):
    parity = fitted(name).to_treelite().parity
    assert parity.n_rows == 1000
    assert parity.is_exact != (name == "votes of different weight"), str(parity)
    assert parity.largest_difference < 1e-15


def test_a_file_of_treelite_can_be_read_again(tmp_path):
    model = fitted("categories")
    model.to_treelite(tmp_path / "forest.tl", check=False)
    rows = rows_to_compare(model, None)
    again = treelite.gtil.predict(treelite.Model.deserialize(str(tmp_path / "forest.tl")), rows)
    assert np.array_equal(again.reshape(len(rows), -1), answer(model, rows))


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(weald.ExportError, match="pip install treelite"):
        fitted("one leaf").to_treelite()
