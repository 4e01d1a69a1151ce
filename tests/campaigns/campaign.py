"""What campaigns share: a budget of time, cases in a process of their own, and the page that shows the figures.

    Campaign     a name, and the work that finds faults and counts cases
    Budget       how long it may run, and from which seed
    run_cases    cases in a forked process: a crash, a hang or an error is a fault, and names its case
    main         the command line of a campaign: `python -m tests.campaigns.files --seconds 300 --write`

A campaign repeats one kind of misfortune many times and stops at the first fault. `--short` is the form that runs with
every change. `--write` puts the figures into docs/project/trust.md.
"""

import argparse
import mmap
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from benchmarks import measure

PAGE = measure.ROOT / "docs" / "project" / "trust.md"
LONG, SHORT = 120.0, 5.0  # seconds
HANGS_AFTER = 60.0  # seconds without a finished case


class FaultError(Exception):
    """What a campaign looks for."""


@dataclass
class Budget:
    """How long a campaign may run, and from which seed."""

    seconds: float
    seed: int
    began: float = field(default_factory=time.monotonic)

    def part(self, share: float) -> "Budget":
        """Return a part of the whole budget, from now on."""
        return Budget(self.seconds * share, self.seed)

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() - self.began > self.seconds

    def dice(self, what: str) -> random.Random:
        """Return random numbers for one purpose."""
        return random.Random(f"{what} {self.seed}")


Figures = list[tuple[str, str, str]]  # what, how many cases, what became of them


def run_cases(cases: Iterable[object], check: Callable[[object], str], budget: Budget) -> Counter[str]:
    """Check cases in a forked process until the time is used up; count the outcomes.

    An exception, a signal or a minute without progress is a fault.
    """
    shared = mmap.mmap(-1, 1 << 16)
    child = os.fork()
    if child == 0:
        _check_all(cases, check, budget, shared)
    status = _wait(child, shared)
    text = shared[:].rstrip(b"\0").decode()
    number, outcomes, fault = text.split("\n", 2) if text.count("\n") >= 2 else (text, "", "")
    if fault:
        raise FaultError(fault)
    if status != 0:
        raise FaultError(f"{number}: the process ended with status {status}")
    counts: Counter[str] = Counter()
    for entry in outcomes.split("|"):
        name, _, n = entry.rpartition(":")
        counts[name] += int(n or 0)
    return counts


def _check_all(cases, check, budget, shared) -> None:
    """Check cases in this process, and end it."""
    counts, code, fault = Counter(), 0, ""
    try:
        warnings.simplefilter("ignore")
        for number, case in enumerate(cases):
            if budget.is_over and number:
                break
            _note(shared, f"case {number}: {str(case)[:200]}")
            counts[check(case)] += 1
    except BaseException:  # noqa: BLE001  (whatever it is, it is the fault)
        fault = f"case {number}: {str(case)[:500]}\n{traceback.format_exc()}"
    _note(shared, "done\n" + "|".join(f"{name}:{n}" for name, n in counts.items()) + "\n" + fault)
    os._exit(code)


def _note(shared, text: str) -> None:
    content = text.encode()[: len(shared) - 1]
    shared[:] = content + bytes(len(shared) - len(content))


def _wait(child: int, shared) -> int:
    """Wait for a process; kill it if it finishes no case for a minute."""
    last, since = shared[:200], time.monotonic()
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if shared[:200] != last:
            last, since = shared[:200], time.monotonic()
        if time.monotonic() - since > HANGS_AFTER:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise FaultError(f"{shared[:].rstrip(bytes(1)).decode()}: no progress for {HANGS_AFTER:.0f} s")
        time.sleep(0.05)


def told(counts: Counter[str]) -> str:
    """Describe counts of outcomes."""
    return ", ".join(f"{n:,} {name}" for name, n in counts.most_common()) or "none"


def main(name: str, docstring: str, work: Callable[[Budget], Figures]) -> None:
    """Run a campaign from the command line."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=LONG, help="how long to look for faults")
    parser.add_argument("--short", action="store_true", help=f"{SHORT:g} seconds: the form that runs with every change")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"put the figures into {PAGE.name}")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    began, processor = time.monotonic(), os.times()
    budget = Budget(SHORT if given.short else given.seconds, given.seed)
    try:
        figures = work(budget)
    except FaultError as fault:
        print(f"{name}: FAULT\n{fault}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    used = os.times()
    cpu = sum(used[:4]) - sum(processor[:4])
    table = measure.markdown(["What", "Cases", "Outcome"], figures)
    machine = measure.describe_machine("weald")
    caption = (
        f"{time.monotonic() - began:.0f} s on the clock, {cpu:.0f} s of processor time, seed {given.seed}; no fault "
        f"found. {machine}."
    )
    print(f"{table}\n\n{caption}")  # noqa: T201
    if given.write:
        measure.write_block(PAGE, name, f"{table}\n\n{caption}\n")
