"""A tree as text."""

import numpy as np
import pytest

import weald
from tests.laws.cases import make_table


def test_a_tree_is_written_with_its_questions_answers_and_missing_values():
    x = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [4.0, 1.0], [8.0, 5.0], [np.nan, 5.0]])
    model = weald.DecisionTreeClassifier().fit(x, ["a", "a", "c", "c", "b", "b"])
    expected = """
x0 ≤ 2.5
├─ yes: a (2 of 2 rows)
└─ no: x0 ≤ 6
   ├─ yes: c (2 of 2 rows)
   └─ no or missing: b (2 of 2 rows)
"""
    written = model.export_text()
    assert written.replace("x1", "x0").count("\n") == expected.strip().count("\n")
    assert weald.DecisionTreeClassifier(max_features=1).fit(x[:, :1], ["a", "a", "c", "c", "b", "b"]).export_text() == (
        expected.strip()
    )


def test_a_single_leaf_is_one_line():
    assert weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 3.0]).export_text() == "3 (2 rows)"


def test_weights_turn_counts_into_shares():
    model = weald.DecisionTreeClassifier(max_depth=1, class_weight={0: 1, 1: 3})
    text = model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).export_text()
    assert "% of" in text


@pytest.mark.parametrize("max_depth", [0, 1, 3])
def test_what_is_left_out_is_counted(max_depth):
    table = make_table(150, ("many", "few"), 3, seed=1)
    model = weald.DecisionTreeClassifier().fit(table.X, table.target)
    lines = model.export_text(max_depth=max_depth).splitlines()
    hidden = sum(int(line.split("… ")[1].split(" nodes")[0]) for line in lines if "…" in line)
    assert len(lines) + hidden == model.tree_.node_count
    assert len(model.export_text(max_depth=None).splitlines()) == model.tree_.node_count


def test_lines_are_in_pre_order_and_indented_by_depth():
    table = make_table(80, ("many", "few"), 0, missing=0.2, seed=1)
    model = weald.DecisionTreeRegressor().fit(table.X, table.target)
    nodes = model.nodes(frame="dict")
    for line, depth, split in zip(
        model.export_text(max_depth=None).splitlines(), nodes["depth"], nodes["split"], strict=True
    ):
        indent = max(line.find("├"), line.find("└"))
        assert indent == 3 * (depth - 1) if depth else indent == -1
        assert split is None or split.removesuffix(" or missing") in line


@pytest.mark.parametrize("max_depth", [-1, 2.5, "all", True])
def test_a_depth_is_a_whole_number(max_depth):
    model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
    with pytest.raises(weald.ParameterError, match="max_depth="):
        model.export_text(max_depth=max_depth)
