"""Why some tests of peers fail with weald: one list for each package, `tests/peers/<package>.toml`.

read_reasons    a package             ->  its list
judge           outcomes and reasons  ->  what is explained, what is not, which reasons explain nothing
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).parent

# Classes of failures, with their text in the docs. The pass rate excludes the first two.
CLASSES = {
    "missing criterion": "A criterion, or an option with a criterion, that weald does not have.",
    "private detail": "The test uses what scikit-learn does not document: private names, the layout of its trees.",
    "documented difference": "weald differs on purpose, and the docs describe the difference.",
    "wording": "The same error or warning in other words, or of another class of the same kind.",
    "not applicable": "The test is about the environment of the model: timing, memory, other libraries.",
}
LEFT_OUT = ("missing criterion", "private detail")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test."""

    test: str
    outcome: str  # "passed", "failed" or "skipped"
    uses_weald: bool
    output: str  # the error, or why the test was skipped

    @property
    def file(self) -> str:
        """The file of the test, inside its package."""
        return self.test.partition("::")[0]


@dataclass(frozen=True)
class Reason:
    """Why some tests fail. `*` stands for anything; a name without brackets means all cases of that test."""

    tests: tuple[str, ...]
    kind: str
    why: str

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [_pattern(test) for test in self.tests]

    def covers(self, test: str) -> bool:
        """Return whether a test is one of these."""
        return any(pattern.fullmatch(test) for pattern in self._patterns)

    def idle(self, failed: Sequence[str], ran: Sequence[str]) -> list[str]:
        """List the patterns of tests that ran of which none failed."""
        pairs = zip(self.tests, self._patterns, strict=True)
        return [
            text
            for text, pattern in pairs
            if any(map(pattern.fullmatch, ran)) and not any(map(pattern.fullmatch, failed))
        ]


def _pattern(test: str) -> re.Pattern[str]:
    plain = ".*".join(re.escape(part) for part in test.split("*"))
    return re.compile(plain + ("" if "[" in test else r"(\[.*\])?"), re.DOTALL)


@dataclass(frozen=True)
class Judgment:
    """The outcomes of a run, and how they are explained."""

    outcomes: Sequence[Outcome]
    explained: dict[str, Reason]  # by failed test
    unexplained: list[Outcome] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)  # patterns that no longer explain a failure

    @property
    def is_good(self) -> bool:
        """Whether every failure is explained and every explanation is used."""
        return not self.unexplained and not self.idle

    def counts(self, outcomes: Sequence[Outcome] | None = None) -> Counter[str]:
        """Count the tests that use weald: "passed", "skipped", "unexplained" or the class of the reason."""
        found: Counter[str] = Counter()
        for outcome in self.outcomes if outcomes is None else outcomes:
            if outcome.outcome == "failed":
                found[self.explained[outcome.test].kind if outcome.test in self.explained else "unexplained"] += 1
            elif outcome.uses_weald:
                found[outcome.outcome] += 1
        return found

    def share_passed(self) -> float:
        """The fraction of tests that pass, among those that use weald, without the excluded classes."""
        counts = self.counts()
        n_tests = counts.total() - counts["skipped"] - sum(counts[kind] for kind in LEFT_OUT)
        return counts["passed"] / n_tests if n_tests else 1.0


def read_reasons(package: str) -> list[Reason]:
    """Read the list of a package; there is none for packages of which all tests pass."""
    path = HERE / f"{package}.toml"
    if not path.exists():
        return []
    with path.open("rb") as file:
        entries = tomllib.load(file)["reason"]
    return [Reason(tuple(entry["tests"]), entry["class"], entry["why"]) for entry in entries]


def judge(outcomes: Sequence[Outcome], reasons: Sequence[Reason]) -> Judgment:
    """Explain each failure by the first reason that covers it."""
    failed = [outcome for outcome in outcomes if outcome.outcome == "failed"]
    names, ran = [outcome.test for outcome in failed], [o.test for o in outcomes if o.outcome != "skipped"]
    found = {test: next((reason for reason in reasons if reason.covers(test)), None) for test in names}
    explained = {test: reason for test, reason in found.items() if reason is not None}
    unexplained = [outcome for outcome in failed if outcome.test not in explained]
    idle = [text for reason in reasons for text in reason.idle(names, ran)]
    return Judgment(outcomes, explained, unexplained, idle)
