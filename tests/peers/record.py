"""A pytest plugin that records the outcome of each test, and whether the test used weald.

`pytest -p tests.peers.record --record FILE` writes one line of JSON for each test.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from weald.estimators.base import TreeModel

USES_WEALD = "uses weald"
_made: list[str] = []  # classes that were instantiated since the test began


def _watch() -> None:
    """Record when a model is made, or asked for its parameters, which includes `clone` and `fit`."""
    plain_get_params = TreeModel.get_params

    def make(cls: type[TreeModel], *args: Any, **given: Any) -> TreeModel:
        _made.append(cls.__name__)
        return object.__new__(cls)

    def get_params(self: TreeModel, deep: bool = True) -> dict[str, Any]:
        _made.append(type(self).__name__)
        return dict(plain_get_params(self, deep))

    TreeModel.__new__ = make  # type: ignore[assignment]
    TreeModel.get_params = get_params  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", help="a file for one line of JSON per test")
    parser.addoption("--chosen", help="a JSON file of lists of tests by file; others are left out")


def pytest_configure(config: pytest.Config) -> None:
    _watch()
    path = config.getoption("--record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path = config.getoption("--chosen")
    if path:
        chosen = json.loads(Path(path).read_text(encoding="utf-8"))
        items[:] = [item for item in items if _is_chosen(item, chosen)]


def _is_chosen(item: pytest.Item, chosen: dict[str, list[str]]) -> bool:
    name = getattr(item, "originalname", item.name)
    return name in chosen.get(item.nodeid.partition("::")[0], [name])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    _made.clear()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    if _made:
        item.user_properties[:] = [(USES_WEALD, True)]
    yield


class Recorder:
    """Writes a line for each test when it is over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.write_text("", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the outcome of a test: of its setup and teardown only if not "passed"."""
        if report.when != "call" and report.passed:
            return
        self._write(report.nodeid, report.outcome, report, uses=(USES_WEALD, True) in report.user_properties)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record the files that cannot be imported."""
        if report.failed:
            self._write(report.nodeid, "failed", report, uses=True)

    def _write(self, test: str, outcome: str, report: Any, *, uses: bool) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        output = crash.message if crash is not None else str(report.longrepr or "")
        entry = {"test": test, "outcome": outcome, "uses_weald": uses, "output": output[:600]}
        entry["seconds"] = round(getattr(report, "duration", 0.0), 2)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
