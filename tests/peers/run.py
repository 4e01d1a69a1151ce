"""Run the tests of scikit-learn and of packages around it with weald's classes, and explain what fails.

    python -m tests.peers.run [PACKAGE ...] [--short] [--jobs N] [--keep FOLDER] [--write]        (make peers)

The tests are those that the installed packages ship. They are written into a temporary folder, with weald's classes in
the place of scikit-learn's, and run there by pytest. `tests/peers/<package>.toml` explains what may fail. The exit
status is 1 if a failure is not explained, or if an explanation explains nothing. shap ships no tests: its API is tried
by `shap_api.py`. `--short` runs what takes a minute, `--write` brings docs/coming-from/compatibility.md up to date.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from tests.peers.page import write_page
from tests.peers.reasons import Judgment, Outcome, judge, read_reasons
from tests.peers.rewrite import PREFIX, choose_tests, find_tests, package_folder, write_tests

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


class Peer(NamedTuple):
    """A package whose tests are run."""

    package: str
    distribution: str
    files: tuple[str, ...] = ()  # path prefixes of the test files; empty: all files that name a class
    short: tuple[str, ...] = ()
    own: str = ""  # a script of weald, if the package has no tests
    plugins: tuple[str, ...] = ()


PEERS = {
    peer.package: peer
    for peer in (
        Peer(
            "sklearn",
            "scikit-learn",
            short=("ensemble/tests/test_forest.py", "tests/test_multioutput.py", "tree/tests/test_monotonic_tree.py"),
            plugins=("sklearn.conftest",),
        ),
        Peer("imblearn", "imbalanced-learn"),
        Peer(
            "doubleml",
            "DoubleML",
            # The models that DoubleML is named after, and its checks of learners; all of its tests take hours.
            files=(
                "plm/tests/test_plr",
                "irm/tests/test_irm",
                "irm/tests/test_iivm",
                "irm/tests/test_apo.py",
                "tests/",
            ),
        ),
        Peer("shap", "shap", own="shap_api.py"),
    )
}


def run(peer: Peer, folder: Path, n_jobs: int, *, short: bool = False, only: Sequence[str] = ()) -> list[Outcome]:
    """Run the tests of a package in a folder, and return the outcome of each."""
    if peer.own:
        (folder / (PREFIX + peer.package)).mkdir()
        shutil.copy(HERE / peer.own, folder / (PREFIX + peer.package) / f"test_{peer.own}")
    else:
        chosen = only or (peer.short if short else peer.files)
        files = [path for path in find_tests(peer.package) if not chosen or path.as_posix().startswith(tuple(chosen))]
        write_tests(peer.package, files, folder)
    chosen_tests = {str(p.relative_to(folder)): sorted(choose_tests(p.read_text())) for p in folder.rglob("test_*.py")}
    (folder / "chosen.json").write_text(json.dumps(chosen_tests), encoding="utf-8")
    record = folder / "record.jsonl"
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\ntimeout = 300\n", encoding="utf-8")
    plugins = [word for name in (*peer.plugins, "tests.peers.record") for word in ("-p", name)]
    options = ["-q", "--tb=short", "-n", str(n_jobs), f"--record={record}", f"--chosen={folder / 'chosen.json'}"]
    command = [sys.executable, "-m", "pytest", *plugins, *options, "."]
    # One thread for each process: the tests fit small forests.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    given = {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    with (folder / "log").open("w", encoding="utf-8") as log:
        subprocess.run(command, cwd=folder, env={**os.environ, **given}, stdout=log, stderr=log, check=False)
    return read_record(record, peer.package)


def read_record(path: Path, package: str) -> list[Outcome]:
    """Read what the plugin recorded; a test that failed more than once, in its teardown say, counts once."""
    found: dict[str, Outcome] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        test = entry["test"].removeprefix(f"{PREFIX}{package}/")
        if test in found and found[test].outcome == "failed":
            continue
        found[test] = Outcome(test, entry["outcome"], entry["uses_weald"], entry["output"])
    return list(found.values())


def report(peer: Peer, judgment: Judgment) -> None:
    """Print the results of a run."""
    counts = judgment.counts()
    others = sum(not o.uses_weald and o.outcome == "passed" for o in judgment.outcomes)
    print(f"{peer.distribution} {version(peer.distribution)}: {counts.total()} tests use weald ({others} others pass)")
    for kind, n_tests in counts.most_common():
        print(f"  {n_tests:6} {kind}")
    print(f"  {judgment.share_passed():.1%} of the tests pass that are not about private details or missing criteria")
    for outcome in judgment.unexplained:
        output = " ".join(outcome.output.split())
        print(f"UNEXPLAINED {outcome.test}\n    {output[:240]}")
    for text in judgment.idle:
        print(f"EXPLAINS NOTHING {text}")


def main(words: Sequence[str] | None = None) -> int:
    """Run the tests of some packages, or of all that are installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--short", action="store_true", help="run what takes a minute")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="worker processes")
    parser.add_argument("--only", nargs="+", default=(), metavar="FILE", help="files, by the beginning of their paths")
    parser.add_argument("--recorded", action="store_true", help="judge what is in the folder, and run nothing")
    parser.add_argument("--keep", type=Path, help="a folder for the tests and their record, which is kept")
    parser.add_argument("--write", action="store_true", help="bring docs/coming-from/compatibility.md up to date")
    given = parser.parse_args(words)
    judged: dict[str, Judgment] = {}
    for name in given.packages or PEERS:
        peer = PEERS[name]
        if package_folder(name) is None:
            print(f"{peer.distribution} is not installed: its tests are left out")
            continue
        kept = None if given.keep is None else given.keep.resolve() / name
        if kept is not None and given.recorded:
            judged[name] = judge(read_record(kept / "record.jsonl", name), read_reasons(name))
            report(peer, judged[name])
            continue
        if kept is not None:
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
        with tempfile.TemporaryDirectory() if kept is None else nullcontext(kept) as folder:
            outcomes = run(peer, Path(folder), given.jobs, short=given.short, only=given.only)
        judged[name] = judge(outcomes, read_reasons(name))
        report(peer, judged[name])
    if given.write:
        found = {name: (PEERS[name].distribution, judgment) for name, judgment in judged.items()}
        write_page(
            ROOT / "docs" / "coming-from" / "compatibility.md", found, {name: read_reasons(name) for name in PEERS}
        )
    return 0 if judged and all(judgment.is_good and judgment.outcomes for judgment in judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
