"""scikit-learn's own tests pass with weald's classes, or the list explains why not."""

import re
from pathlib import Path

import pytest

from tests.peers import page, run
from tests.peers.reasons import CLASSES, Outcome, Reason, judge, read_reasons
from tests.peers.rewrite import choose_tests, replace

PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "compatibility.md"


@pytest.mark.slow
def test_scikit_learns_own_tests_pass_or_are_explained(tmp_path, capsys):
    status = run.main(["sklearn", "--short", "--jobs", "2", "--keep", str(tmp_path)])
    assert status == 0, capsys.readouterr().out + (tmp_path / "sklearn" / "log").read_text()[-3000:]


@pytest.mark.parametrize("package", run.PEERS)
def test_each_reason_has_a_class_and_a_sentence(package):
    for reason in read_reasons(package):
        assert reason.kind in CLASSES
        assert re.fullmatch(r"[A-Zw`±].*\.", reason.why), reason.why
        assert reason.tests


def test_the_page_lists_the_reasons():
    reasons = {name: read_reasons(name) for name in run.PEERS}
    assert page.part_of(PAGE.read_text(encoding="utf-8"), "reasons") == page.table_of_reasons(reasons)


def outcome(test, what="failed"):
    return Outcome(test, what, uses_weald=True, output="")


def test_a_failure_without_a_reason_and_a_reason_without_a_failure_are_reported():
    reasons = [Reason(("a.py::test_x", "a.py::test_y[*b*]"), "wording", "Why.")]
    good = judge(
        [outcome("a.py::test_x[1-a]"), outcome("a.py::test_y[abc]"), outcome("a.py::test_z", "passed")], reasons
    )
    assert good.is_good
    assert good.counts() == {"wording": 2, "passed": 1}
    bad = judge([outcome("a.py::test_x2"), outcome("a.py::test_x", "passed")], reasons)
    assert [found.test for found in bad.unexplained] == ["a.py::test_x2"]
    assert bad.idle == ["a.py::test_x"]


def test_reasons_of_tests_that_did_not_run_are_not_idle():
    assert judge([outcome("a.py::test_z", "passed")], [Reason(("a.py::test_x",), "wording", "Why.")]).is_good


def test_classes_are_replaced_where_they_are_imported_and_where_modules_are_asked():
    text = (
        "from sklearn.tree import (\n    DecisionTreeClassifier as T,\n    export_text,\n)\nfrom sklearn import tree\n"
    )
    text += "é = tree.ExtraTreeRegressor()\nfrom sklearn.ensemble import BaggingClassifier\n"
    names = {}
    exec(replace(text), names)  # noqa: S102  (it is our own text)
    assert names["T"].__module__ == names["é"].__class__.__module__ == "weald.estimators.trees"
    assert names["BaggingClassifier"].__module__.startswith("sklearn")
    assert replace(text).count("\n") == text.count("\n")


def test_tests_are_chosen_that_come_upon_a_class_by_a_list_or_a_fixture():
    text = "ALL = [ExtraTreeRegressor]\ndef made(): return ALL\n"
    text += "def test_a(made): ...\ndef test_b(): ALL\ndef test_c(): BaggingClassifier\n"
    assert choose_tests(text) == {"test_a", "test_b"}
