"""`weald train`, `cv` and `tune`: inferred types and tasks, output and scores."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.cli.columns import choose
from weald.cli.failures import UserError, for_the_shell
from weald.cli.main import run
from weald.engines.progress import listening


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    iris = load_iris(as_frame=True)
    iris.frame.assign(target=iris.target_names[iris.target]).to_csv(place / "iris.csv", index=False)
    load_diabetes(as_frame=True).frame.to_csv(place / "diabetes.csv", index=False)
    return place


def ask(capsys, *arguments):
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_forest_from_a_file_is_that_of_the_library(folder, capsys):
    facts = ask(capsys, "train", folder / "iris.csv", "--target", "target", "-n", 20, "--seed", 3)
    iris = load_iris(as_frame=True)
    forest = weald.RandomForestClassifier(20, random_state=3).fit(iris.data, iris.target_names[iris.target])
    assert facts["fingerprint"] == forest.forest_.fingerprint()
    assert facts["task"] == "classification"
    found = {m["metric"]: m["value"] for m in facts["metrics"]}
    assert found["accuracy"] == pytest.approx(1 - forest.out_of_bag(iris.data, iris.target_names[iris.target]).error)


def test_probabilities_are_calibrated_on_request(folder, tmp_path, capsys):
    model, data = tmp_path / "m.weald", folder / "iris.csv"
    facts = ask(capsys, "train", data, "-t", "target", "-n", 40, "--calibrate", "sigmoid", "-o", model)
    assert facts["calibration"] == "sigmoid"
    iris = load_iris(as_frame=True)
    labels = iris.target_names[iris.target]
    forest = weald.RandomForestClassifier(40, calibrate="sigmoid", random_state=0).fit(iris.data, labels)
    np.testing.assert_array_equal(weald.load(model).predict_proba(iris.data), forest.predict_proba(iris.data))
    found = {m["metric"]: m["value"] for m in facts["metrics"]}
    output = forest.oob_.calibrated_probabilities("sigmoid")
    assert found["Brier score"] == pytest.approx(np.mean(np.sum((output - np.eye(3)[iris.target]) ** 2, axis=1)))
    assert run(["train", str(data), "-t", "target", "-n", "20", "--calibrate", "beta"]) == 0
    assert "probabilities calibrated out of bag: beta" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["iris.csv", "--calibrate", "platt"], "calibrate='platt' is not allowed"),
        (["iris.csv", "--calibrate", "beta", "--model", "tree"], "not for a DecisionTreeClassifier"),
        (["diabetes.csv", "--calibrate", "beta"], "not for a RandomForestRegressor"),
    ],
)
def test_calibrations_that_cannot_be_are_refused(folder, capsys, arguments, words):
    assert run(["train", str(folder / arguments[0]), "-t", "target", "-n", "5", *arguments[1:]]) == 1
    assert words in capsys.readouterr().err


def test_rows_are_held_out_and_counted(folder, capsys):
    facts = ask(capsys, "train", folder / "diabetes.csv", "-t", "target", "-n", 5, "--holdout", 0.2)
    assert facts["task"] == "regression"
    assert facts["rows"] + facts["rows_held_out"] == 442
    assert {m["rows"] for m in facts["metrics"]} == {"out of bag", "held out"}


def test_every_parameter_can_be_set(folder, capsys):
    settings = ["-s", "max_depth=2", "-s", "criterion=entropy", "-s", "class_weight={'setosa': 2}"]
    facts = ask(capsys, "train", folder / "iris.csv", "-t", "target", "-n", 4, *settings)
    iris = load_iris(as_frame=True)
    given = {"max_depth": 2, "criterion": "entropy", "class_weight": {"setosa": 2}}
    forest = weald.RandomForestClassifier(4, random_state=0, **given).fit(iris.data, iris.target_names[iris.target])
    assert facts["fingerprint"] == forest.forest_.fingerprint()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "Target"], "Did you mean 'target'?"),
        (["--target", "targt"], "Did you mean 'target'?"),
        (["--target", "target", "--exclude", "petal lenth (cm)"], "Did you mean 'petal length (cm)'"),
        (["--target", "target", "--set", "max_dept=3"], "Did you mean 'max_depth'"),
        (["--target", "target", "--set", "max_depth"], "has no value"),
        (["--target", "target", "--set", "max_depth=0"], "max_depth=0 is not allowed"),
        (["--target", "target", "--task", "clustering"], "--task 'clustering' is not allowed"),
        (["--target", "target", "--task", "regression"], "not numbers"),
        (["--target", "target", "--holdout", "2"], "is not a fraction"),
        (["--target", "target", "--model", "bush"], "There is no model 'bush'"),
        (["--target", "target", "--out", "gone/model.weald"], "There is no folder"),
        (["--target", "target", "--report", "."], "is a folder"),
        (["--target", "target", "--id", "target"], "'target' is the target"),
        (["--target", "target", "--exclude", "target"], "'target' is the target"),
        (["--target", "petal width (cm)", "--weight", "target"], "not numbers"),
        (["--target", "target", "--categorical", "petal width (cm)"], "for columns of text or integers"),
        ([], "Missing option '--target'"),
        (["--target", "target", "--treees", "3"], "See 'weald train --help'."),
        (["--target", "target", "--treees", "3"], "No such option"),
    ],
)
def test_user_errors_say_what_to_do_and_exit_with_1(folder, capsys, arguments, words):
    assert run(["train", str(folder / "iris.csv"), *arguments]) == 1
    output = capsys.readouterr().err
    assert words in output
    assert output.startswith("weald: ")


def test_a_name_that_is_like_nothing_lists_what_there_is():
    with pytest.raises(UserError, match="Available: 'a', 'b'"):
        choose("zzzz", ["a", "b"])


def test_the_task_is_found_out(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = ["x,few,many,share,flag"]
    lines += [f"{rng.normal()},{i % 3},{i},{i / 7},{'true' if i % 2 else 'false'}" for i in range(60)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(lines))
    tasks = {t: ask(capsys, "train", file, "-t", t, "-n", 2)["task"] for t in ("few", "many", "share", "flag")}
    assert tasks == {"few": "classification", "many": "regression", "share": "regression", "flag": "classification"}


DAYS = [f"2024-01-{i % 28 + 1:02}" for i in range(60)]


def write_days(file, days):
    rows = [f"{i * 7 % 30},{day},{'ab'[i % 28 > 14]}" for i, day in enumerate(days)]
    file.write_text("\n".join(["x,day,y", *rows]) + "\n")
    return file


def test_dates_become_numbers_and_are_no_target(tmp_path, capsys):
    file, model = write_days(tmp_path / "t.csv", DAYS), tmp_path / "m.weald"
    facts = ask(capsys, "train", file, "-t", "y", "-n", 5, "--out", model)
    assert {c["column"]: c["done"] for c in facts["columns"]}["day"] == "numbers: days since 1970-01-01 UTC"
    assert facts["importances"][0]["feature"] == "day"
    assert weald.load(model).schema_.times == {1: "dates"}
    assert run(["train", str(file), "-t", "day"]) == 1
    assert "holds dates or times" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["", " 00:00", "T00:00:00", "T00:00:00Z", "T02:00:00+02:00"])
def test_text_with_dates_is_read_as_dates_on_request_and_in_predictions(tmp_path, capsys, time):
    days = [None, *(day + time for day in DAYS[1:])]
    table = pa.table({"x": [i * 7 % 30 for i in range(60)], "day": days, "y": ["ab"[i % 28 > 14] for i in range(60)]})
    pq.write_table(table, tmp_path / "t.parquet")
    model = tmp_path / "m.weald"
    facts = ask(capsys, "train", tmp_path / "t.parquet", "-t", "y", "-n", 5, "--dates", "day", "--out", model)
    assert {c["column"]: c["done"] for c in facts["columns"]}["day"] == "numbers: days since 1970-01-01 UTC"
    expected = weald.RandomForestClassifier(5, random_state=0).fit(
        pd.DataFrame({"x": table["x"].to_pylist(), "day": pd.to_datetime([None, *DAYS[1:]])}), table["y"].to_pylist()
    )
    assert facts["fingerprint"] == expected.forest_.fingerprint()
    predicted = {}
    for name in ("t.parquet", "t.csv"):
        write_days(tmp_path / "t.csv", ["" if day is None else day for day in days])
        assert run(["predict", str(model), str(tmp_path / name), "--out", str(tmp_path / f"{name}.csv")]) == 0
        predicted[name] = (tmp_path / f"{name}.csv").read_text()
    assert predicted["t.parquet"] == predicted["t.csv"]


def test_text_without_dates_is_refused_as_dates(tmp_path, capsys):
    file = write_days(tmp_path / "t.csv", [*DAYS[:-1], "soon"])
    assert run(["train", str(file), "-t", "y", "--dates", "day"]) == 2
    assert "column 'day' should hold dates, but has 'soon'. Write dates as 2015-03-14" in capsys.readouterr().err
    write_days(file, [*(day + "T00:00:00Z" for day in DAYS[:-1]), "2024-01-02T00:00"])
    assert run(["train", str(file), "-t", "y", "--dates", "day"]) == 2
    assert "has '2024-01-02T00:00 without a time zone among others'" in capsys.readouterr().err
    assert run(["train", str(file), "-t", "y", "--dates", "x"]) == 1
    assert "--dates is for columns of dates, but 'x' holds integers" in capsys.readouterr().err
    assert run(["train", str(file), "-t", "y", "--dates", "dya"]) == 1
    assert "Did you mean 'day'" in capsys.readouterr().err


def test_columns_that_name_rows_are_kept_on_request_with_a_note(tmp_path, capsys):
    file = write_days(tmp_path / "t.csv", [f"case {i}" for i in range(60)])
    facts = ask(capsys, "train", file, "-t", "y", "-n", 2, "--categorical", "day")
    assert "'day' (60 categories)" in facts["warnings"][0]


def test_rows_without_a_target_are_left_out_and_counted(tmp_path, capsys):
    file = tmp_path / "t.csv"
    file.write_text("x,y\n" + "".join(f"{i},{'' if i % 5 == 0 else 'ab'[i % 2]}\n" for i in range(50)))
    facts = ask(capsys, "train", file, "-t", "y", "-n", 3)
    assert (facts["rows"], facts["rows_without_target"]) == (40, 10)


def test_strange_names_cannot_steer_the_terminal(tmp_path, capsys):
    file = tmp_path / "t.csv"
    file.write_text("\x1b[31mred,[bold]b[/bold],y\n" + "".join(f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(30)))
    assert run(["train", str(file), "-t", "y", "-n", "3"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[bold]b[/bold]" in out
    assert run(["train", str(file), "-t", "\x1b[31mre"]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_report_is_written_beside(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    facts = ask(capsys, "train", folder / "iris.csv", "-t", "target", "-n", 5, "--report", page)
    assert facts["report"] == str(page)
    assert facts["fingerprint"] in page.read_text()


def test_one_who_listens_hears_of_the_same_forest():
    X, y = load_iris(return_X_y=True)
    heard = []
    with listening(heard.append):
        told = weald.RandomForestClassifier(50, random_state=0, n_jobs=1).fit(X, y)
    quiet = weald.RandomForestClassifier(50, random_state=0, oob_score=True).fit(X, y)
    assert told.forest_.fingerprint() == quiet.forest_.fingerprint()
    assert [g.n_done for g in heard] == [*range(3, 50, 3), 50]
    assert heard[-1].error == quiet.oob_error_
    with listening(heard.append):
        weald.ExtraTreesClassifier(4, random_state=0).fit(X, y)
    assert heard[-1].error is None


def test_cross_validation_and_tuning(folder, capsys):
    facts = ask(capsys, "cv", folder / "iris.csv", "-t", "target", "-n", 5, "-k", 3)
    scores = [s["accuracy"] for s in facts["scores"]]
    assert len(scores) == 3
    assert facts["means"]["accuracy"]["mean"] == pytest.approx(np.mean(scores))
    facts = ask(capsys, "tune", folder / "iris.csv", "-t", "target", "-n", 5, "-g", "max_features=1,4")
    assert facts["best_error"] == min(step["error"] for step in facts["tried"])
    assert all(step["low"] < step["error"] < step["high"] for step in facts["tried"])
    facts = ask(
        capsys, "tune", folder / "iris.csv", "-t", "target", "-n", 5, "-g", "max_features=1,4", "-m", "roc_auc_ovr"
    )
    assert facts["best_score"] == max(step["score"] for step in facts["tried"])
    assert run(["tune", str(folder / "iris.csv"), "-t", "target", "-m", "roc_auk"]) == 1
    assert "There is no metric 'roc_auk'. Did you mean 'roc_auc'" in capsys.readouterr().err
    assert run(["cv", str(folder / "iris.csv"), "-t", "target", "-n", "5", "-k", "3"]) == 0
    assert "±: standard error of the mean over 3 folds" in capsys.readouterr().out
    assert run(["tune", str(folder / "iris.csv"), "-t", "target", "-g", "max_features"]) == 1


@pytest.mark.parametrize("command", ["train", "cv", "tune"])
def test_a_task_that_is_none_is_refused_by_every_command(folder, capsys, command):
    assert run([command, str(folder / "iris.csv"), "--target", "target", "--task", "sorting"]) == 1
    assert "--task 'sorting' is not allowed" in capsys.readouterr().err


def test_a_command_has_only_the_options_of_a_group_that_it_takes(capsys):
    def options(command):
        assert run([command, "--help"]) == 0
        return {word for word in capsys.readouterr().out.split() if word.startswith("--")}

    assert options("train") - options("cv") == {
        *("--out", "--report", "--holdout", "--calibrate", "--data-hash"),
        *("--weight", "--max-depth", "--min-samples-leaf", "--max-features"),
    }
    assert options("cv") - options("train") == {"--folds"}


def test_the_command_of_the_best_candidate_has_no_defaults_and_trains_it(folder, capsys):
    given = ["-t", "target", "-n", 8, "--exclude", "petal width (cm)", "--seed", 3]
    facts = ask(capsys, "tune", folder / "iris.csv", *given, "-g", "min_samples_leaf=1,40", "-g", "max_depth=1,None")
    assert facts["changed_params"] == {}
    facts = ask(capsys, "tune", folder / "iris.csv", *given, "-g", "min_samples_leaf=1,3", "-g", "max_features=1,3")
    assert set(facts["changed_params"]) <= {"min_samples_leaf", "max_features"}
    words = shlex.split(facts["command"])
    assert words[:2] == ["weald", "train"]
    assert words.count("--set") == len(facts["changed_params"])
    again = ask(capsys, *words[1:])
    assert again["fingerprint"] == facts["fingerprint"]


@pytest.mark.parametrize("missing", [False, True])
def test_integers_are_categories_on_request(tmp_path, capsys, missing):
    zips = [100 + i * 7 % 31 for i in range(90)]
    labels = ["ab"[z % 2] for z in zips]
    given = [None if missing and i % 10 == 0 else z for i, z in enumerate(zips)]
    rows = [f"{i % 5},{'' if z is None else z},{y}" for i, (z, y) in enumerate(zip(given, labels, strict=True))]
    file, model = tmp_path / "t.csv", tmp_path / "m.weald"
    file.write_text("\n".join(["x,zip,y", *rows]) + "\n")
    facts = ask(capsys, "train", file, "-t", "y", "-n", 5, "--categorical", "zip", "-o", model)
    assert {c["column"]: c["done"] for c in facts["columns"]}["zip"] == "categories"
    frame = pd.DataFrame({"x": [i % 5 for i in range(90)], "zip": pd.Series(given, dtype="Int64").astype("category")})
    expected = weald.RandomForestClassifier(5, random_state=0).fit(frame, labels)
    assert facts["fingerprint"] == expected.forest_.fingerprint()
    assert ask(capsys, "audit", model, file, "--all")["passed"]
    assert ask(capsys, "evaluate", model, file)["training_rows"]
    pq.write_table(pa.table({"x": frame["x"], "zip": pa.array(given, pa.float64())}), tmp_path / "floats.parquet")
    for name in ("t.csv", "floats.parquet"):
        found = ask(capsys, "predict", model, tmp_path / name, "--probabilities")["predictions"]
        assert [row["probability_b"] for row in found] == expected.predict_proba(frame)[:, 1].tolist()


def test_times_are_those_of_the_work_and_not_of_imports(folder):
    """All modules are imported before the clock starts."""
    code = """
import sys, time
from pathlib import Path
clock, counts = time.perf_counter, []

def look():
    counts.append({name for name in sys.modules if name.startswith(("weald", "sklearn", "scipy", "pyarrow", "numpy"))})
    return clock()

time.perf_counter = look
from weald.cli.options import ColumnOptions, FitOptions
from weald.cli.train import fit_file
trained = fit_file(Path(sys.argv[1]), "target", ColumnOptions(), FitOptions(trees="3"), quiet=True)
assert list(trained.timings) == ["reading the file", "growing the trees"]
assert len(counts) == 4
print(sorted(counts[1] - counts[0]), sorted(counts[3] - counts[2]))
"""
    for name in ("iris.csv", "diabetes.csv"):
        given = [sys.executable, "-c", code, str(folder / name)]
        done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=240)
        assert done.stdout == "[] []\n", done.stderr


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("Fit with bootstrap=True.", "Fit with --set bootstrap=True."),
        ("Set max_features=5.", "Use --set max_features=5."),
        ("text, for example by pandas.to_datetime; give", "text with --dates; give"),
        ("Give each forest its own random_state.", "Give each forest its own --seed."),
        ("10 bytes are allowed. Set max_bytes of load.", "10 bytes are allowed."),
        ("Use a regressor, or cut y into classes.", "Use --task regression, or cut y into classes."),
        ("max_depth=0 is not allowed. Give 1.", "max_depth=0 is not allowed. Give 1."),
    ],
)
def test_advice_for_python_becomes_advice_for_the_shell(python, shell):
    assert for_the_shell(python) == shell


def test_notes_and_errors_have_no_advice_for_python(tmp_path, capsys):
    file = write_days(tmp_path / "t.csv", [f"case {i}" for i in range(60)])
    assert (
        run(["train", str(file), "-t", "y", "-n", "2", "--categorical", "day", "--set", "class_weight=balanced"]) == 0
    )
    output = capsys.readouterr().err
    assert "note: " in output
    assert not re.search(r"pandas|numpy|\w\(|random_state|(?<!--set )bootstrap=", output)
