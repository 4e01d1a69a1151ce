"""The page docs/coming-from/compatibility.md: results of the tests of peers, and reasons of failures.

The text is written by hand; the tables between two marks are generated from the lists of reasons and a run.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from tests.peers.reasons import CLASSES, Judgment, Reason

COLUMNS = ("passed", *CLASSES, "skipped")


def write_page(path: Path, judged: Mapping[str, tuple[str, Judgment]], reasons: Mapping[str, list[Reason]]) -> None:
    """Update the page: `judged` has the name of the distribution and the judgment by package."""
    text = path.read_text(encoding="utf-8")
    text = put(text, "counts", table_of_counts(judged))
    text = put(text, "reasons", table_of_reasons(reasons))
    path.write_text(text, encoding="utf-8")


def put(text: str, mark: str, part: str) -> str:
    """Replace the text between two marks."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
    assert begin in text, f"the page has no {begin}"
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}{part}{end}", text, flags=re.DOTALL)


def part_of(text: str, mark: str) -> str:
    """Find the text between two marks."""
    found = re.search(f"<!-- {mark} -->\n(.*?)<!-- /{mark} -->", text, flags=re.DOTALL)
    return found[1] if found else ""


def table_of_counts(judged: Mapping[str, tuple[str, Judgment]]) -> str:
    """Write how many tests of each part of a package pass, and why others do not."""
    lines = [_row("tests of", *COLUMNS), _row(*["---"] + ["--:"] * len(COLUMNS))]
    for distribution, judgment in judged.values():
        parts: dict[str, list[str]] = {}
        for outcome in judgment.outcomes:
            parts.setdefault(outcome.file.rpartition("/tests/")[0] or "other", []).append(outcome.test)
        counts = judgment.counts()
        lines.append(_row(f"**{distribution} {version(distribution)}**", *(counts[column] for column in COLUMNS)))
        for part, tests in sorted(parts.items()):
            known = set(tests)
            counts = judgment.counts([outcome for outcome in judgment.outcomes if outcome.test in known])
            if len(parts) > 1 and counts.total():
                lines.append(_row(f"`{part.replace('/', '.')}`", *(counts[column] for column in COLUMNS)))
        share = f"{judgment.share_passed():.1%}"
        lines.append(_row(f"pass rate, without private details and missing criteria: {share}", *[""] * len(COLUMNS)))
    return "\n" + "\n".join(lines) + "\n\n"


def table_of_reasons(reasons: Mapping[str, list[Reason]]) -> str:
    """Write why tests fail, class by class."""
    parts = []
    for kind, words in CLASSES.items():
        found = [(package, reason) for package, listed in reasons.items() for reason in listed if reason.kind == kind]
        if not found:
            continue
        rows = [_row(reason.why, ", ".join(_names(package, reason))) for package, reason in found]
        head = [f"### {kind[0].upper()}{kind[1:]}", "", words, "", _row("why", "tests"), "|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n" + "\n\n".join(parts) + "\n\n"


def _names(package: str, reason: Reason) -> list[str]:
    """Name the tests of a reason without their files, each once."""
    names = [test.rpartition("::")[2] for test in reason.tests]
    return [f"`{name}`" for name in dict.fromkeys(names)]


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
