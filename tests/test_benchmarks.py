"""The benchmarks run, on little data. What they measure there means nothing."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "benchmarks"
# A test of a script starts many processes, one after the other.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def run(script, *options, folder):
    """Run a benchmark that keeps its data in a folder; return what it prints."""
    command = [sys.executable, SCRIPTS / script, *options]
    env = {"PATH": "", "WEALD_BENCH_DATA": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_the_table_goes_between_its_marks_and_nowhere_else(tmp_path, folder):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- benchmarks -->\nold\n<!-- /benchmarks -->\nafter\n")
    quick = ["--quick", "--data", "small,friedman-small", "--libraries", "scikit-learn,weald,weald max_bins=255"]
    printed = run("table.py", *quick, "--write", page, folder=folder)
    assert "failed" not in printed
    assert page.read_text() == f"before\n<!-- benchmarks -->\n{printed}<!-- /benchmarks -->\nafter\n"
    assert (
        len(
            re.findall(
                r"^\| two classes, small \| 200 × 20 \| 3 \| [\d.]+ \| [\d.]+ \([\d.]+×\)", printed, re.MULTILINE
            )
        )
        == 1
    )
    assert len(re.findall(r"\*\*[\d.]+×\*\*", printed)) == 4


def test_small_data_is_measured(folder):
    assert len(re.findall(r"\| [\d.,]+ ms \(\d+\) \| [\d.]+× \|", run("small.py", "--quick", folder=folder))) == 3


def test_accuracy_is_compared_on_made_data_and_on_files(tmp_path, folder):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    kind = rng.choice(["a", "b", None], size=300)
    parts = np.where(np.arange(300) < 200, "train", "test")
    pl.DataFrame({"split": parts, "size": size, "kind": kind, "target": np.where(size > 0, "y", "n")}).write_parquet(
        tmp_path / "split.parquet"
    )
    pl.DataFrame({"size": size, "kind": kind, "target": size**2}).write_parquet(tmp_path / "whole.parquet")
    page = tmp_path / "accuracy.md"
    names = "small,friedman-small,split,whole"
    printed = run("accuracy.py", "--quick", "--data", names, "--folder", tmp_path, "--write", page, folder=folder)
    assert page.read_text().endswith(printed)
    verdicts = re.findall(r"^\| ([\w-]+) \|.*\| (?:better|within noise|worse) \|$", printed, re.MULTILINE)
    assert verdicts == ["small"] + 3 * ["friedman-small"] + ["split"] + 3 * ["whole"]


def test_interrupts_are_measured(folder):
    printed = run("interrupt.py", "--rows", "2000", "--features", "5", "--moments", "1", folder=folder)
    assert len(printed.splitlines()) == 9


def test_imbalanced_classes_are_measured(folder):
    printed = run("imbalanced.py", "--rows", "400", "--trees", "40", "--seeds", "1", folder=folder)
    assert len(re.findall(r"^\| `.*` (\| [01]\.\d{3} ){6}\|$", printed, re.MULTILINE)) == 5
