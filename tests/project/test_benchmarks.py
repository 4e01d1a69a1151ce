"""The benchmarks run, on small data. Their measurements there are meaningless."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import measure, peer_forests

ROOT = Path(__file__).parents[2]
# A test of a script starts many processes, one after the other.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def run(script, *options, folder):
    """Run a benchmark that keeps its data in a folder; return what it prints."""
    command = [sys.executable, "-m", f"benchmarks.{script}", *options]
    env = {"PATH": os.defpath, "WEALD_BENCH_DATA": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=ROOT)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def test_the_service_answers_under_load(folder):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    printed = run("speed.service", "--quick", folder=folder)
    models = [line.split(" | ")[2] for line in printed.splitlines() if line.startswith("| 1")]
    assert models == [*2 * ["weald", "scikit-learn", "no model"], "weald", "no model"]


def test_looking_inside_a_tree_is_timed(folder):
    printed = run("speed.look_inside", "--rows", "2000", folder=folder)
    assert re.search(r"export_text\(\) +\d+\.\d+ s", printed)
    assert "scikit-learn: pruning path" in printed


def test_stopping_rules_from_one_fit_are_compared_with_fits(folder):
    printed = run("accuracy.stopping_rules", "--quick", folder=folder)
    assert len(re.findall(r"^\| (?:small|friedman-small) \| depth", printed, re.MULTILINE)) == 2


def test_surfaces_of_many_settings_are_timed(folder):
    printed = run("accuracy.stopping_rules", "--large", "--quick", folder=folder)
    assert len(re.findall(r"^\| `.*` \| [\d,]+ \| \d+\.\d+ \|$", printed, re.MULTILINE)) == 6


def test_calibrated_forests_are_compared(tmp_path, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    for name, target in (("sonar", table.a > 0), ("satimage", np.arange(300) % 3)):
        table.assign(target=np.asarray(target).astype(str)).to_parquet(tmp_path / f"{name}.parquet")
    printed = run("accuracy.calibration", str(tmp_path), "--quick", folder=folder)
    assert len(re.findall(r"^\| (?:sonar|satimage)(?: \| \**[\d.]+\**){7} \|$", printed, re.MULTILINE)) == 4


def test_prediction_intervals_and_sets_are_compared(tmp_path, folder):
    for package in ("mapie", "crepes", "quantile_forest"):
        pytest.importorskip(package)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc")).assign(d=np.resize(["x", "y", None], 300))
    table.assign(target=table.a + rng.normal(size=300)).to_parquet(tmp_path / "boston.parquet")
    table.assign(target=np.where(table.a > 0, "yes", "no")).to_parquet(tmp_path / "adult.parquet")
    printed = run("accuracy.intervals", str(tmp_path), "--quick", folder=folder)
    assert len(re.findall(r"^\| (?:boston|skewed noise)(?: \| [\d.]+){8} \|$", printed, re.MULTILINE)) == 5
    assert len(re.findall(r"^\| adult(?: \| [\d.]+){3,4} ", printed, re.MULTILINE)) == 2


def test_the_coverage_of_intervals_of_the_error_is_measured(folder):
    printed = run("accuracy.error_intervals", "--quick", folder=folder)
    assert len(re.findall(r"^\| (?:regression|two classes).* %", printed, re.MULTILINE)) == 3


def test_the_table_goes_between_its_marks_and_nowhere_else(tmp_path, folder):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- benchmarks -->\nold\n<!-- /benchmarks -->\nafter\n")
    quick = ["--quick", "--data", "small,friedman-small", "--libraries", "scikit-learn,weald,weald max_bins=255"]
    printed = run("speed.table", *quick, "--write", page, folder=folder)
    assert "failed" not in printed
    assert page.read_text() == f"before\n<!-- benchmarks -->\n{printed}<!-- /benchmarks -->\nafter\n"
    assert (
        len(
            re.findall(
                r"^\| two classes, small, 200 × 20, 3 trees \| [\d.]+ \| [\d.]+ \| [\d.]+ \(\*\*", printed, re.MULTILINE
            )
        )
        == 1
    )
    assert len(re.findall(r"\*\*[\d.]+×\*\*", printed)) == 2


def test_ydf_takes_part_where_it_is_installed(folder):
    pytest.importorskip("ydf", reason="YDF is not installed")
    quick = ["--quick", "--data", "small,friedman-small", "--libraries", "scikit-learn,YDF,weald"]
    printed = run("speed.table", *quick, folder=folder)
    row = r"^\| .*small, 200 × 20, 3 trees \| [\d.]+(?: \| [\d.]+ \((?:\*\*)?[\d.]+×(?:\*\*)?\)){2} \|"
    assert len(re.findall(row, printed, re.MULTILINE)) == 2


def test_a_library_that_takes_too_long_is_skipped(folder):
    printed = run(
        "speed.table", "--quick", "--data", "small", "--libraries", "scikit-learn", "--limit", "0.01", folder=folder
    )
    assert "3 trees | > 0.01 |" in printed


def test_measurements_that_are_kept_are_not_repeated(tmp_path, folder):
    runs = tmp_path / "runs.jsonl"
    quick = ["--quick", "--data", "small", "--libraries", "scikit-learn,weald", "--runs", runs]
    first = run("speed.table", *quick, folder=folder)
    assert run("speed.table", *quick, folder=folder) == first
    assert len(runs.read_text().splitlines()) == 3


def test_the_headline_of_the_readme_has_the_extremes_of_its_table():
    text = (Path(__file__).parents[2] / "README.md").read_text()
    table = text.split("<!-- benchmarks -->")[1].split("\n\n")[1]
    at_sklearn = table.splitlines()[0].split(" | ").index("scikit-learn")
    ratios = [
        (re.search(r"([\d.]+)×", line.split(" | ")[at_sklearn])[1], re.search(r"\*\*([\d.]+)×\*\*", line)[1])
        for line in table.splitlines()[2:]
    ]
    of_sklearn, of_peers = (sorted(map(float, column)) for column in zip(*ratios, strict=True))
    headline = " ".join(text.split("<!-- headline -->")[1].split("<!-- /headline -->")[0].split())
    assert f"training is {of_sklearn[0]:g} to {of_sklearn[-1]:g} times as fast as scikit-learn" in headline
    assert f"{of_peers[0]:g} to {of_peers[-1]:g} times as fast as the fastest other CPU library" in headline


def test_the_optional_libraries_of_the_table_have_makers():
    assert {of[2]["peer"] for of in measure.OPTIONAL.values()} == set(peer_forests.PEERS)


PAGE_BLOCKS = {
    "speed.small": ("small", r"\| [\d.,]+ ms \(\d+\) \| [\d.]+× \|", 3),
    "speed.growth": ("growth", r"^\| exponent \| \*\*-?[\d.]+\*\* \|", 2),
    "speed.threads": ("threads", r"^\| (?:coding|one tree|3 trees) \| [\d.]+ ", 3),
    "speed.simd": ("simd", r"^\| (?:two classes|regression), small \| [\d.]+ ", 2),
    "speed.settings": ("settings", r"^\| regression, all features, depth 12, small, 200 × 20, 3 trees \|", 1),
    "speed.where": ("where", r"^\| regression, small(?:, `max_bins=255`)? \|(?: \d+% \|){6}$", 2),
    "speed.costs": ("costs", r"\*\*[\d.]+\*\* \|$", 8),
}
OPTIONS = {
    "speed.simd": ["--data", "small,friedman-small"],
    "speed.settings": ["--cases", "all-12-small", "--libraries", "scikit-learn,weald,weald max_bins=255"],
    "speed.growth": ["--libraries", "scikit-learn,weald"],
}


@pytest.mark.parametrize("script", PAGE_BLOCKS)
def test_a_script_of_the_page_on_speed_writes_its_block(script, tmp_path, folder):
    mark, pattern, n_found = PAGE_BLOCKS[script]
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n<!-- {mark} -->\n<!-- /{mark} -->\nafter\n")
    printed = run(script, "--quick", *OPTIONS.get(script, []), "--write", page, folder=folder)
    assert "failed" not in printed
    assert len(re.findall(pattern, printed, re.MULTILINE)) == n_found
    assert page.read_text() == f"before\n<!-- {mark} -->\n{printed}<!-- /{mark} -->\nafter\n"


def test_the_page_on_speed_has_a_place_for_each_script():
    page = (ROOT / "docs" / "benchmarks" / "speed.md").read_text()
    marks = [mark for mark, _, _ in PAGE_BLOCKS.values()]
    assert sorted(re.findall(r"^<!-- (\w+) -->$", page, re.MULTILINE)) == sorted(marks)
    assert sorted(re.findall(r"^<!-- /(\w+) -->$", page, re.MULTILINE)) == sorted(marks)


def test_kernel_forests_are_measured(folder):
    printed = run("accuracy.kernels", "--quick", "--repeats", "1", folder=folder)
    assert re.search(r"^\| moons \| 133 \+ 67 × 2 \| .*[\d.]+", printed, re.MULTILINE)
    assert "the same fingerprint" in printed


@pytest.mark.parametrize(
    ("script", "options", "mark", "pattern"),
    [
        (
            "speed.predict",
            ["--data", "small", "--libraries", "scikit-learn,weald"],
            "predict",
            r"two classes, small \| 3 \|",
        ),
        ("memory.constant_memory", [], "constant-memory", r"^\| 2,000 \| [\d.]+ \| \d+ \|$"),
    ],
)
def test_a_script_of_the_page_on_production_writes_its_block(script, options, mark, pattern, tmp_path, folder):
    page = tmp_path / "production.md"
    page.write_text(f"before\n<!-- {mark} -->\n<!-- /{mark} -->\nafter\n")
    printed = run(script, "--quick", *options, "--write", page, folder=folder)
    assert re.search(pattern, printed, re.MULTILINE)
    assert page.read_text() == f"before\n<!-- {mark} -->\n{printed}<!-- /{mark} -->\nafter\n"
    assert f"<!-- {mark} -->\n" in (ROOT / "docs" / "deployment" / "production.md").read_text()


def test_shap_values_are_measured(tmp_path, folder):
    page = tmp_path / "page.md"
    page.write_text("<!-- shap-values -->\n<!-- /shap-values -->\n")
    printed = run("speed.shap_values", "--quick", "--write", page, folder=folder)
    assert len(re.findall(r"\| weald \| 40 \| [\d.]+ s \| [\d.]+ s \|  \| \de-1\d \|$", printed, re.MULTILINE)) == 2
    assert page.read_text() == f"<!-- shap-values -->\n{printed}<!-- /shap-values -->\n"
    assert "<!-- shap-values -->\n" in (ROOT / "docs" / "guides" / "explaining-predictions.md").read_text()


def test_predictions_of_files_are_measured(tmp_path, folder):
    page = tmp_path / "command-line.md"
    page.write_text("<!-- predict-files -->\n<!-- /predict-files -->\n")
    printed = run("files.predict_files", "--quick", "--kinds", "csv,jsonl.gz", "--write", page, folder=folder)
    assert len(re.findall(r"^\| `[.\w]+` (\| \d+ MB \| [\d.]+ s \| \d+ MB ){2}\|$", printed, re.MULTILINE)) == 2
    assert page.read_text() == f"<!-- predict-files -->\n{printed}<!-- /predict-files -->\n"
    assert "<!-- predict-files -->\n" in (ROOT / "docs" / "start" / "command-line.md").read_text()


def test_more_threads_are_compared(folder):
    printed = run("speed.predict", "--quick", "--data", "small", "--threads", "1,2", folder=folder)
    assert re.search(r"^\| 2 \| [\d.]+ \| [\d.]+× \|$", printed, re.MULTILINE)


def test_extra_trees_are_compared(folder):
    printed = run("speed.extra_trees", "--quick", "--seeds", "1", folder=folder)
    assert len(re.findall(r"\| 200 × \d+ \| 3 \| [\d.]+ \| [\d.]+ \| [\d.]+× \|", printed)) == 5


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
    printed = run("accuracy.forests", "--quick", "--data", names, "--folder", tmp_path, "--write", page, folder=folder)
    assert page.read_text().endswith(printed)
    verdicts = re.findall(r"^\| ([\w-]+) \|.*\| (?:better|within noise|worse) \|$", printed, re.MULTILINE)
    assert verdicts == ["small"] + 3 * ["friedman-small"] + ["split"] + 3 * ["whole"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository with its history")
def test_the_steps_of_the_log_are_in_the_history(folder):
    lines = run("speed.history", "--list", folder=folder).splitlines()
    assert len(lines) > 2
    assert all(re.match(r"[0-9a-f]{12}  \w", line) for line in lines[:-1])
    assert lines[-1].startswith("today  ")


def test_interrupts_are_measured(folder):
    printed = run("speed.interrupt", "--rows", "2000", "--features", "5", "--moments", "1", folder=folder)
    assert len(printed.splitlines()) == 9


def test_sizes_of_leaves_are_compared(tmp_path, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=300), "kind": rng.choice(["u", "v"], 300)})
    table.assign(target=np.where(table["x"] > 0, "a", "b")).to_parquet(tmp_path / "adult.parquet")
    printed = run("accuracy.leaf_sizes", tmp_path, "--quick", folder=folder)
    assert re.search(r"^\| weald \| as it is \| 8 draws \| \d+ \| [\d.]+ \| \d+% \| [\d.]+ \|$", printed, re.MULTILINE)


def test_imbalanced_classes_are_measured(folder):
    printed = run("accuracy.imbalanced", "--rows", "400", "--trees", "40", "--seeds", "1", folder=folder)
    assert len(re.findall(r"^\| `.*` (\| [01]\.\d{3} ){6}\|$", printed, re.MULTILINE)) == 5


def test_tuning_is_compared_with_cross_validation(tmp_path, folder):
    page = tmp_path / "page.md"
    page.write_text("<!-- tuning -->\n<!-- /tuning -->\n")
    printed = run("accuracy.tuning", "--quick", "--write", page, folder=folder)
    assert len(re.findall(r"^\| [\w-]+ \| m = \d+, leaf \d+ \|.* times cheaper \|$", printed, re.MULTILINE)) == 2
    assert page.read_text() == f"<!-- tuning -->\n{printed}<!-- /tuning -->\n"


def test_ways_to_make_trees_differ_are_compared(folder):
    printed = run("accuracy.resampling", "--quick", folder=folder)
    assert len(re.findall(r"[\d.]+ %(?:\*\*)? \([\d.]+\)", printed)) == 8


def test_the_cost_of_importance_is_measured(tmp_path, folder):
    page = tmp_path / "feature-importance.md"
    page.write_text("<!-- permutation-cost -->\n<!-- /permutation-cost -->\n")
    printed = run("speed.importance", "--quick", "--write", page, folder=folder)
    assert len(re.findall(r"\| [\d.]+ fits \|", printed)) == 2
    assert printed in page.read_text()


def test_exports_are_measured(tmp_path, folder):
    page = tmp_path / "export.md"
    page.write_text("<!-- exports -->\n<!-- /exports -->\n")
    printed = run("files.exports", "--quick", "--repeats", "1", "--write", page, folder=folder)
    assert len(re.findall(r"^\| [\w,. `]+ (\| [\d.,]+ (s|MB) ){3}\|", printed, re.MULTILINE)) == 5
    assert len(re.findall(r"^\| (?:scikit-learn|weald) \| [\d.,]+ µs \| [\d.,]+ ms \|$", printed, re.MULTILINE)) == 2
    assert page.read_text() == f"<!-- exports -->\n{printed}<!-- /exports -->\n"


def test_sparse_tables_are_measured(tmp_path, folder):
    page = tmp_path / "sparse-matrices.md"
    page.write_text("<!-- sparse -->\n<!-- /sparse -->\n")
    printed = run("speed.sparse", "--quick", "--write", page, folder=folder)
    assert page.read_text() == f"<!-- sparse -->\n{printed}<!-- /sparse -->\n"
    assert len(re.findall(r"^\| (weald|scikit-learn) (\| [\d.]+ ){3}\|$", printed, re.MULTILINE)) == 2


def test_the_cost_of_neighbors_is_measured(folder):
    printed = run("speed.neighbors", "--quick", folder=folder)
    assert len(re.findall(r"^\| [\w ]+ (\| [\d.]+ s ){4}\| [\d.]+ GiB \| \d+ s \|$", printed, re.MULTILINE)) == 3


def test_a_table_larger_than_memory_is_timed(folder):
    printed = run("memory.larger_than_memory", "--quick", "--pure", "1", "--oob", folder=folder)
    assert re.search(r"fit 1 trees, pure leaves \| \d", printed)
    assert re.search(r"out-of-bag estimates \| \d", printed)
    assert "20,000 rows of 20 columns" in printed


def test_categories_are_compared_with_ordinal_codes(tmp_path, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["a", "b", None], 90), "x": rng.normal(size=90)})
    frame.assign(split="train", target=np.where(frame.x > 0, "yes", "no")).to_parquet(tmp_path / "titanic.parquet")
    frame.assign(target=frame.x).to_parquet(tmp_path / "servo.parquet")
    page = tmp_path / "page.md"
    page.write_text("<!-- categories -->\n<!-- /categories -->\n")
    tables = "servo,titanic,meaningless labels,only labels"
    printed = run("accuracy.categories", tmp_path, "--quick", "--only", tables, "--write", page, folder=folder)
    assert len(re.findall(r"^\| .*titanic \+ id \| [\d.]+ / [\d.]+ \| ", printed, re.MULTILINE)) == 1
    assert re.search(r"^categories: \d+ of 10 at least as good as ordinal codes", printed, re.MULTILINE)
    assert page.read_text() == f"<!-- categories -->\n{printed}<!-- /categories -->\n"
    printed = run(
        "accuracy.categories",
        "--quick",
        "--only",
        "exclusive",
        "--model",
        "extra",
        "--penalties",
        "default",
        folder=folder,
    )
    assert "of 1 at least as good" in printed
