"""Commands on model files: predict, evaluate, explain, report, inspect, verify, convert, demo."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from sklearn.datasets import load_iris

import weald
from weald.cli.main import run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    iris = load_iris(as_frame=True)
    frame = iris.data.set_axis(["a", "b", "c", "d"], axis=1)
    frame = frame.assign(color=np.resize(["red", "blue"], 150), name=[f"n{i}" for i in range(150)])
    frame = frame.assign(y=iris.target_names[iris.target])
    frame.to_csv(folder / "t.csv", index=False)
    features = frame[["a", "b", "c", "d", "color"]]
    forest = weald.RandomForestClassifier(12, random_state=0).fit(features, frame["y"])
    forest.save(folder / "m.weald")
    numbers = weald.RandomForestRegressor(8, random_state=0).fit(features, frame["a"] * 2 + frame["d"])
    numbers.save(folder / "r.weald")
    frame.assign(z=frame["a"] * 2 + frame["d"]).to_csv(folder / "z.csv", index=False)
    return folder, forest, features, frame, numbers


def ask(capsys, *arguments):
    assert run([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_training_writes_a_model_that_predicts_the_same(place, tmp_path, capsys):
    folder, forest, features, *_ = place
    out = tmp_path / "m.weald"
    facts = ask(capsys, "train", folder / "t.csv", "-t", "y", "-n", 12, "--id", "name", "-o", out)
    assert facts["fingerprint"] == forest.forest_.fingerprint()
    assert facts["bytes"] == out.stat().st_size
    np.testing.assert_array_equal(weald.load(out).predict(features), forest.predict(features))


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet", "p.feather", "p.jsonl"])
def test_predictions_of_a_file_are_those_of_the_model(place, tmp_path, capsys, name):
    folder, forest, features, *_ = place
    out = tmp_path / name
    facts = ask(capsys, "predict", folder / "m.weald", folder / "t.csv", "-o", out, "--probabilities", "--id", "name")
    assert facts["rows"] == 150
    if name.endswith(".parquet"):
        table = parquet.read_table(out).to_pandas()
    elif name.endswith(".feather"):
        table = feather.read_feather(out)
    else:
        table = pd.read_csv(out) if ".csv" in name else pd.read_json(out, lines=True)
    assert table["prediction"].tolist() == forest.predict(features).tolist()
    np.testing.assert_allclose(
        table[[f"probability_{k}" for k in forest.classes_]], forest.predict_proba(features), rtol=1e-12
    )
    assert table["name"].tolist() == [f"n{i}" for i in range(150)]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_predictions_go_to_a_pipe_as_csv(place, capfdbinary):
    folder, _, features, *_ = place
    assert run(["predict", str(folder / "r.weald"), str(folder / "t.csv")]) == 0
    output = csv.read_csv(pa.BufferReader(capfdbinary.readouterr().out)).column("prediction").to_numpy()
    np.testing.assert_array_equal(output, place[4].predict(features))


def test_a_file_is_predicted_piece_by_piece(place, tmp_path, capsys):
    folder, *_ = place
    rows = (folder / "t.csv").read_text().splitlines()
    large = tmp_path / "large.csv"
    large.write_text("\n".join([rows[0], *(rows[1:] * 1000)]))  # 150,000 rows: more than one piece
    out = tmp_path / "p.parquet"
    assert ask(capsys, "predict", folder / "m.weald", large, "-o", out)["rows"] == 150_000
    assert parquet.ParquetFile(out).num_row_groups > 1
    output = parquet.read_table(out).column("prediction").to_pylist()
    assert output[:150] == output[-150:]


def test_columns_are_found_by_name_in_any_order_and_a_lack_is_named(place, tmp_path, capsys):
    folder, forest, features, frame, _ = place
    turned = tmp_path / "turned.csv"
    frame[["color", "d", "c", "b", "a"]].to_csv(turned, index=False)
    out = tmp_path / "p.csv"
    ask(capsys, "predict", folder / "m.weald", turned, "-o", out)
    assert pd.read_csv(out)["prediction"].tolist() == forest.predict(features).tolist()
    frame.rename(columns={"color": "colour"}).to_csv(turned, index=False)
    assert run(["predict", str(folder / "m.weald"), str(turned), "-o", str(tmp_path / "q.csv")]) == 2
    output = capsys.readouterr().err
    assert "lacks 1 of the 5 columns" in output
    assert "Did you mean 'colour'?" in output
    assert not list(tmp_path.glob("*q.csv*"))
    lines = tmp_path / "turned.jsonl"
    frame.rename(columns={"color": "colour"}).to_json(lines, orient="records", lines=True)
    for words in (["predict"], ["evaluate", "-t", "y"]):
        assert run([words[0], str(folder / "m.weald"), str(lines), *words[1:]]) == 2
        assert "Did you mean 'colour'?" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["name", "nr"])
def test_json_lines_are_predicted_with_names_of_rows(place, tmp_path, capsys, column):
    folder, forest, features, frame, _ = place
    lines, out = tmp_path / "t.jsonl", tmp_path / "p.jsonl"
    frame.assign(nr=range(150)).to_json(lines, orient="records", lines=True)
    ask(capsys, "predict", folder / "m.weald", lines, "-o", out, "--id", column)
    found = pd.read_json(out, lines=True)
    assert found["prediction"].tolist() == forest.predict(features).tolist()
    assert found[column].tolist() == frame.assign(nr=range(150))[column].tolist()


def test_a_word_among_numbers_is_refused(place, tmp_path, capsys):
    folder, *_ = place
    broken = tmp_path / "broken.csv"
    broken.write_text((folder / "t.csv").read_text().replace("5.1,3.5", "oops,3.5", 1))
    assert run(["predict", str(folder / "m.weald"), str(broken), "-o", str(tmp_path / "p.csv")]) == 2
    assert "'oops'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [broken]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("a,b,c,d,color\n", "has no rows"),
        ("a,b,c,d,color\n1,2,3,4,red\n1,2\n", "differ in length"),
        ("a,b,c,d,color,color\n1,2,3,4,red,blue\n", "more than one column named 'color'"),
        ("a,b,c,d,color\n1,2,3,4,caf\xe9\n", "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_predicted_is_refused_and_nothing_is_written(place, tmp_path, capsys, content, words):
    file = tmp_path / "bad.csv"
    file.write_bytes(content.encode("latin-1"))
    assert run(["predict", str(place[0] / "m.weald"), str(file), "-o", str(tmp_path / "p.parquet")]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [file]


def test_evaluation_counts_right(place, capsys):
    folder, forest, features, frame, _ = place
    facts = ask(capsys, "evaluate", folder / "m.weald", folder / "t.csv", "-t", "y")
    found = {m["metric"]: m["value"] for m in facts["metrics"]}
    assert found["accuracy"] == pytest.approx(forest.score(features, frame["y"]))
    assert np.array(facts["confusion"]).sum() == 150
    assert run(["evaluate", str(folder / "m.weald"), str(folder / "t.csv"), "-t", "Y"]) == 1
    assert "Did you mean 'y'?" in capsys.readouterr().err
    assert run(["evaluate", str(folder / "r.weald"), str(folder / "t.csv"), "-t", "y"]) == 1
    assert "not numbers" in capsys.readouterr().err


def test_a_model_knows_its_target(place, tmp_path, capsys):
    folder, forest, *_ = place
    model, table = tmp_path / "m.weald", folder / "t.csv"
    ask(capsys, "train", table, "-t", "y", "-n", 3, "--id", "name", "-o", model)
    facts = ask(capsys, "evaluate", model, table)
    assert (facts["target"], facts["training_rows"]) == ("y", True)
    assert ask(capsys, "audit", model, table)["passed"]
    ask(capsys, "report", model, table, "-o", tmp_path / "page.html")
    ask(capsys, "tune", table, "-t", "y", "-n", 3, "--budget", 1, "--id", "name", "-o", model)
    assert ask(capsys, "inspect", model)["target"] == "y"
    forest = weald.RandomForestClassifier(3, random_state=0).fit(place[2], place[3]["y"].to_numpy())
    forest.save(model)
    assert run(["evaluate", str(model), str(table)]) == 1
    assert "saved without the name of its target. Give it with --target." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["m", "r"])
def test_predictions_on_the_screen_are_json_on_request(place, capsys, name):
    folder, forest, features, frame, numbers = place
    model = forest if name == "m" else numbers
    facts = ask(capsys, "predict", folder / f"{name}.weald", folder / "t.csv", "--id", "name", "--probabilities")
    assert [row["name"] for row in facts["predictions"]] == frame["name"].tolist()
    assert [row["prediction"] for row in facts["predictions"]] == model.predict(features).tolist()
    assert (facts["rows"], facts["warnings"]) == (150, [])
    if name == "m":
        found = [[row[f"probability_{k}"] for k in forest.classes_] for row in facts["predictions"]]
        assert found == forest.predict_proba(features).tolist()


def test_places_where_nothing_can_be_written_are_refused(place, tmp_path, capsys):
    model, table = str(place[0] / "m.weald"), str(place[0] / "t.csv")
    for words in (["predict", model, table], ["report", model], ["convert", model], ["tune", table, "-t", "y"]):
        assert run([*words, "--out", str(tmp_path / "gone" / "file.c")]) == 1
        assert "There is no folder" in capsys.readouterr().err


def test_rows_of_the_training_are_noticed(place, tmp_path, capsys):
    folder, *_ = place
    for model, file, target in (("m", "t", "y"), ("r", "z", "z")):
        facts = ask(capsys, "evaluate", folder / f"{model}.weald", folder / f"{file}.csv", "-t", target)
        assert facts["training_rows"] is True
        assert "trained on" in " ".join(facts["warnings"])
        lines = (folder / f"{file}.csv").read_text().splitlines()
        turned = tmp_path / "turned.csv"
        turned.write_text("\n".join([lines[0], *reversed(lines[1:])]))
        assert ask(capsys, "evaluate", folder / f"{model}.weald", turned, "-t", target)["training_rows"] is True
        turned.write_text("\n".join(lines[:-1]))
        assert ask(capsys, "evaluate", folder / f"{model}.weald", turned, "-t", target)["training_rows"] is False


def test_names_of_rows_are_text_as_they_stand(place, tmp_path, capsys):
    folder, *_ = place
    file, out = tmp_path / "t.csv", tmp_path / "p.csv"
    lines = (folder / "t.csv").read_text().splitlines()
    file.write_text("\n".join(["nr," + lines[0], *(f"{i:04}," + line for i, line in enumerate(lines[1:]))]))
    ask(capsys, "predict", folder / "m.weald", file, "-o", out, "--id", "nr")
    assert pd.read_csv(out, dtype=str)["nr"].tolist() == [f"{i:04}" for i in range(150)]


def test_contributions_add_up_to_the_prediction(place, capsys):
    folder, forest, features, _, numbers = place
    facts = ask(capsys, "explain", folder / "m.weald", folder / "t.csv", "--row", 70)
    proba = forest.predict_proba(features[70:71])[0]
    assert facts["prediction"] == facts["class"] == forest.predict(features[70:71])[0]
    assert facts["probability"] == pytest.approx(proba.max())
    assert facts["average"] + sum(c["contribution"] for c in facts["contributions"]) == pytest.approx(proba.max())
    for label, p in zip(forest.classes_, proba, strict=True):
        facts = ask(capsys, "explain", folder / "m.weald", folder / "t.csv", "--row", 70, "--class", label)
        assert (facts["prediction"], facts["class"]) == (forest.predict(features[70:71])[0], label)
        assert facts["average"] + sum(c["contribution"] for c in facts["contributions"]) == pytest.approx(p)
    facts = ask(capsys, "explain", folder / "r.weald", folder / "t.csv", "--row", 3)
    assert facts["prediction"] == pytest.approx(numbers.predict(features[3:4])[0])
    total = facts["average"] + sum(c["contribution"] for c in facts["contributions"])
    assert total == pytest.approx(facts["prediction"])
    assert run(["explain", str(folder / "m.weald"), str(folder / "t.csv"), "--class", "Setosa"]) == 1
    assert "Did you mean 'setosa'?" in capsys.readouterr().err
    assert run(["explain", str(folder / "r.weald"), str(folder / "t.csv"), "--class", "setosa"]) == 1
    assert "--class is for classification" in capsys.readouterr().err
    assert run(["explain", str(folder / "m.weald"), str(folder / "t.csv"), "--row", "150"]) == 1
    assert "rows 0 to 149" in capsys.readouterr().err


def test_a_row_is_explained_in_words_and_as_json(place, capsys):
    folder, forest, features, frame, _ = place
    facts = ask(capsys, "explain", folder / "m.weald", folder / "t.csv", "--row", 70)
    found = forest.explain_row(features[70:71], features, frame["y"])
    assert facts["changes"] == found.to_dict()["changes"]
    assert [n["row"] for n in facts["neighbors"]] == [n.row for n in found.neighbors]
    assert run(["explain", str(folder / "m.weald"), str(folder / "t.csv"), "--row", "70"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("row 70: predicted ")
    assert "Training rows that determine the prediction:" in output


def test_a_report_on_a_model_file(place, tmp_path, capsys):
    folder, forest, *_ = place
    page = tmp_path / "page.html"
    ask(capsys, "report", folder / "m.weald", folder / "t.csv", "-t", "y", "-o", page)
    assert forest.forest_.fingerprint() in page.read_text()


def test_a_model_file_is_looked_into(place, capsys):
    folder, forest, *_ = place
    facts = ask(capsys, "inspect", folder / "m.weald")
    assert facts["fingerprint"] == forest.forest_.fingerprint()
    assert [f["feature"] for f in facts["features"]] == ["a", "b", "c", "d", "color"]
    assert facts["deepest"] == forest.get_depth().max()
    assert facts["rows"] == 150
    assert facts["changed_params"] == {"n_estimators": 12, "random_state": 0}
    assert run(["inspect", str(folder / "m.weald")]) == 0
    assert forest.forest_.fingerprint() in capsys.readouterr().out


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_multi_output_models_are_looked_into_and_not_reported(tmp_path, capsys, task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = np.column_stack([X[:, 0] + rng.normal(size=80), X[:, 1]])
    kind = weald.RandomForestRegressor
    if task == "classes":
        kind, Y = weald.RandomForestClassifier, np.where(Y > 0, "yes", "no")
    model = kind(40, oob_score=True, random_state=0).fit(X, Y)
    file = tmp_path / "m.weald"
    model.save(file)
    facts = ask(capsys, "inspect", file)
    assert facts["n_targets"] == 2
    assert facts["fingerprint"] == [forest.fingerprint() for forest in model.forests_]
    assert facts["classes"] == ([["no", "yes"]] * 2 if task == "classes" else None)
    assert facts["nodes"] == model.forests_[0].n_nodes
    assert [f["feature"] for f in facts["features"]] == ["x0", "x1", "x2"]
    assert run(["inspect", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "targets      2\n" in shown
    score = "accuracy {:.4g}: fraction of rows with every target right" if task == "classes" else "R² {:.4g}, mean over"
    assert score.format(model.oob_score_) in shown
    assert all(forest.fingerprint() in shown for forest in model.forests_)
    assert run(["report", str(file), "-o", str(tmp_path / "page.html")]) == 1
    output = capsys.readouterr().err
    assert "A report covers one target, and this model has 2. Train a model for each target." in output
    assert not (tmp_path / "page.html").exists()


def test_a_trained_model_shows_its_out_of_bag_score(place, tmp_path, capsys):
    folder, *_ = place
    for table, target, score in (("t.csv", "y", "accuracy"), ("z.csv", "z", "R²")):
        model = tmp_path / "m.weald"
        facts = ask(capsys, "train", folder / table, "-t", target, "-n", 20, "--id", "name", "-o", model)
        found = {m["metric"]: m["value"] for m in facts["metrics"]}[score]
        assert ask(capsys, "inspect", model)["oob_score"] == pytest.approx(found)
        assert run(["inspect", str(model)]) == 0
        output = capsys.readouterr().out
        assert f"out-of-bag   {score} {found:.4g}" in output
        assert f"target       {target}\n" in output
        assert "rows         150\n" in output


def test_a_model_file_is_verified(place, tmp_path, capsys):
    folder, forest, *_ = place
    model = folder / "m.weald"
    assert ask(capsys, "verify", model)["fingerprint"] == forest.forest_.fingerprint()
    assert run(["verify", str(model), "--fingerprint", "00ff"]) == 2
    broken = tmp_path / "broken.weald"
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    broken.write_bytes(content)
    assert run(["verify", str(broken)]) == 2
    assert run(["verify", str(folder / "t.csv")]) == 2
    assert run(["verify", str(folder / "gone.weald")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_model_is_audited(place, tmp_path, capsys):
    folder, forest, *_ = place
    model, table = folder / "m.weald", folder / "t.csv"
    facts = ask(capsys, "audit", model, table, "-t", "y", "--all")
    assert facts["passed"]
    assert facts["trees"] == list(range(forest.forest_.n_trees))
    assert facts["chance_unnoticed"]["0.1"] == 0
    facts = ask(capsys, "audit", model, table, "-t", "y", "-n", 2, "--seed", 1)
    assert facts["chance_unnoticed"]["0.1"] == pytest.approx(0.81)
    assert facts["trees"] == ask(capsys, "audit", model, table, "-t", "y", "-n", 2, "--seed", 1)["trees"]
    shorter = tmp_path / "short.csv"
    shorter.write_text("\n".join(table.read_text().splitlines()[:-1]))
    assert run(["audit", str(model), str(shorter), "-t", "y"]) == 2
    said = capsys.readouterr().out
    assert "data: not that of the fit" in said
    assert "FAILED:" in said
    assert run(["audit", str(model), str(table), "-t", "y", "-n", "0"]) == 1
    assert run(["audit", str(model), str(folder / "gone.csv"), "-t", "y"]) == 2


def test_an_audit_compares_the_hash_that_training_kept(tmp_path, capsys):
    table, model = tmp_path / "t.csv", tmp_path / "m.weald"
    table.write_text("a,b,w,y\n" + "".join(f"{i % 7},{i % 3},{1 + i % 2},{'xy'[i % 7 > 3]}\n" for i in range(60)))
    ask(capsys, "train", table, "-t", "y", "-n", 4, "--weight", "w", "--data-hash", "-o", model)
    assert run(["audit", str(model), str(table), "--weight", "w"]) == 0
    assert "data: the cryptographic hash agrees" in capsys.readouterr().out
    assert run(["audit", str(model), str(table)]) == 2  # without the weights it is another table


def test_two_models_are_compared(place, tmp_path, capsys):
    folder, *_ = place
    table, model, other = folder / "t.csv", tmp_path / "a.weald", tmp_path / "b.weald"
    for file, depth in ((model, 3), (other, 2)):
        ask(capsys, "train", table, "-t", "y", "-n", 3, "--id", "name", "--max-depth", depth, "-o", file)
    assert ask(capsys, "diff", model, model)["same"]
    assert run(["diff", str(model), str(other)]) == 1
    assert "differs: max_depth=3, not 2" in capsys.readouterr().out
    assert run(["diff", str(model), str(other), "--data", str(table), "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["facts"] == ["max_depth=3, not 2"]
    assert "best splits" in facts["trees"][0]["why"][0]


def test_a_model_is_converted(place, tmp_path, capsys):
    folder, *_ = place
    out = tmp_path / "m.c"
    assert ask(capsys, "convert", folder / "m.weald", "-o", out)["to"] == "c"
    assert "forest_predict" in out.read_text()
    out = tmp_path / "m.json"
    assert ask(capsys, "convert", folder / "m.weald", "-o", out)["to"] == "json"
    assert json.loads(out.read_text())
    out = tmp_path / "m.js"
    if shutil.which("node"):
        assert ask(capsys, "convert", folder / "m.weald", "-o", out)["to"] == "js"
        assert "export default forest;" in out.read_text()
    out = tmp_path / "m.sql"
    words = ["--table", "it's", "--keep", "name"]
    facts = ask(capsys, "convert", folder / "m.weald", "-o", out, "--dialect", "sqlite", *words)
    assert "1000 rows in SQLite: probabilities equal bit for bit" in facts["parity"]
    assert 'FROM "it\'s" AS d' in out.read_text()
    facts = ask(capsys, "convert", folder / "m.weald", "-o", out, "--dialect", "postgresql", *words)
    assert "not compared" in facts["parity"]
    assert run(["convert", str(folder / "m.weald"), "-o", str(out)]) == 1
    assert "SQL needs --dialect" in capsys.readouterr().err
    assert run(["convert", str(folder / "m.weald"), "-o", str(tmp_path / "m.c"), "--keep", "name"]) == 1
    assert "are for SQL only" in capsys.readouterr().err
    assert run(["convert", str(folder / "m.weald"), "-o", str(tmp_path / "m.xyz")]) == 1
    assert "The format of m.xyz is unknown" in capsys.readouterr().err


KINDS = {
    "hard": lambda: weald.RandomForestClassifier(12, voting="hard", random_state=0),
    "boosted": lambda: weald.RandomForestClassifier(8, resampling="boosting", max_depth=2, random_state=0),
    "tree": lambda: weald.DecisionTreeClassifier(max_depth=3),
    "extra": lambda: weald.ExtraTreesClassifier(8, random_state=0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_commands_take_models_of_every_kind(place, tmp_path, capsys, kind):
    folder, _, features, frame, _ = place
    model, table = KINDS[kind]().fit(features, frame["y"]), folder / "t.csv"
    file = tmp_path / "m.weald"
    model.save(file)
    grown = model.forest_.fingerprint()
    assert ask(capsys, "inspect", file)["fingerprint"] == grown
    assert ask(capsys, "audit", file, table, "-t", "y", "--all")["passed"]
    facts = ask(capsys, "explain", file, table, "--row", 60)
    assert facts["prediction"] == model.predict(features[60:61])[0]
    assert facts["probability"] == pytest.approx(model.predict_proba(features[60:61]).max())
    facts = ask(capsys, "evaluate", file, table, "-t", "y")
    assert facts["metrics"][0]["value"] == pytest.approx(model.score(features, frame["y"]))
    assert facts["training_rows"]
    assert ("out-of-bag" in " ".join(facts["warnings"])) == (kind == "hard")
    ask(capsys, "report", file, table, "-t", "y", "-o", tmp_path / "page.html")


def test_models_without_names_of_columns_are_looked_into_and_not_fed_with_files(place, tmp_path, capsys):
    folder, _, _, frame, _ = place
    X = frame[["a", "b", "c", "d"]].to_numpy()
    for model in (weald.DecisionTreeClassifier(), weald.KernelForestClassifier(3, random_state=0)):
        file = tmp_path / "m.weald"
        model.fit(X, frame["y"]).save(file)
        assert ask(capsys, "inspect", file)["estimator"] == type(model).__name__
        assert run(["predict", str(file), str(folder / "t.csv")]) == 2
        assert "without column names" in capsys.readouterr().err


def test_the_demonstration_leaves_a_table_a_model_and_a_page(tmp_path, capsys):
    facts = ask(capsys, "demo", tmp_path / "demo")
    assert sorted(file.name for file in (tmp_path / "demo").iterdir()) == ["iris.csv", "iris.html", "iris.weald"]
    assert facts["task"] == "classification"


def test_the_guide_shows_what_the_demonstration_says(tmp_path, capsys, monkeypatch):
    guide = (Path(__file__).parents[2] / "docs" / "start" / "command-line.md").read_text()
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    output = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "\n".join(["```text", *output, "```"]) in guide


def test_quantiles_are_columns_of_the_predictions(place, tmp_path, capsys):
    folder, _, features, *_ = place
    model, out = tmp_path / "q.weald", tmp_path / "p.csv"
    ask(
        capsys,
        "train",
        folder / "z.csv",
        "-t",
        "z",
        "-n",
        8,
        "-x",
        "y",
        "--id",
        "name",
        "--set",
        "keep_targets=true",
        "-o",
        model,
    )
    ask(capsys, "predict", model, folder / "z.csv", "-o", out, "--quantiles", "0.1, 0.5,0.9")
    table = pd.read_csv(out)
    assert list(table) == ["prediction", "quantile_0.1", "quantile_0.5", "quantile_0.9"]
    expected = weald.load(model).predict_quantiles(features, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(table.iloc[:, 1:], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "quantiles", "words"),
    [
        ("m", "0.5", "predicts classes. Use --probabilities."),
        ("r", "0.5", "Train it with --set keep_targets=true."),
        ("r", "1.5", "are not numbers between 0 and 1"),
        ("r", "0.1,high", "are not numbers between 0 and 1"),
        ("r", "nan", "are not numbers between 0 and 1"),
        ("r", "", "are not numbers between 0 and 1"),
    ],
)
def test_quantiles_that_cannot_be_are_refused(place, capsys, name, quantiles, words):
    folder = place[0]
    assert run(["predict", str(folder / f"{name}.weald"), str(folder / "t.csv"), "--quantiles", quantiles]) == 1
    assert words in capsys.readouterr().err


@pytest.fixture(scope="module")
def sure(place):
    """Models that keep their errors."""
    folder, _, features, frame, _ = place
    numbers = weald.RandomForestRegressor(12, keep_errors=True, keep_targets=True, random_state=0)
    numbers.fit(features, frame["a"] * 2 + frame["d"]).save(folder / "ri.weald")
    classes = weald.RandomForestClassifier(12, keep_errors=True, random_state=0)
    classes.fit(features, frame["y"]).save(folder / "mi.weald")
    new = frame.assign(a=frame["a"] + 0.01, z=frame["a"] * 2 + frame["d"])
    new.to_csv(folder / "new.csv", index=False)
    return folder, numbers, classes, new[["a", "b", "c", "d", "color"]], new


@pytest.mark.parametrize("method", [None, "oob-scaled", "jackknife+ab", "cqr"])
def test_intervals_are_columns_of_the_predictions(sure, tmp_path, capsys, method):
    folder, numbers, _, X, _ = sure
    out = tmp_path / "p.csv"
    how = "0.8" if method is None else f"0.8, {method}"
    ask(capsys, "predict", folder / "ri.weald", folder / "new.csv", "-o", out, "--interval", how)
    table = pd.read_csv(out)
    assert list(table) == ["prediction", "lower", "upper"]
    np.testing.assert_allclose(table.iloc[:, 1:], numbers.predict_interval(X, 0.8, method=method), rtol=1e-12)


@pytest.mark.parametrize("method", ["lac", "aps"])
def test_sets_are_a_column_of_the_predictions(sure, tmp_path, capsys, method):
    folder, _, classes, X, _ = sure
    out = tmp_path / "p.csv"
    ask(capsys, "predict", folder / "mi.weald", folder / "new.csv", "-o", out, "--set", f"0.99,{method}")
    found = pd.read_csv(out, keep_default_na=False)["set"].tolist()
    sets = classes.predict_set(X, 0.99, method=method)
    assert found == ["|".join(classes.classes_[row]) for row in sets]
    assert any("|" in text for text in found)


def test_the_draws_of_sets_do_not_depend_on_the_pieces_of_a_file(sure, tmp_path, capsys, monkeypatch):
    folder, *_ = sure
    model, data, found = folder / "mi.weald", folder / "new.csv", []
    pd.read_csv(data).to_parquet(tmp_path / "new.parquet", row_group_size=40)
    for file in (data, tmp_path / "new.parquet"):
        ask(capsys, "predict", model, file, "-o", tmp_path / "p.csv", "--set", "0.8,aps")
        found.append((tmp_path / "p.csv").read_text())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mi", "--interval 0.9", "predicts classes. Use --set."),
        ("ri", "--set 0.9", "predicts numbers. Use --interval."),
        ("r", "--interval 0.9", "Train it with --set keep_errors=true."),
        ("m", "--set 0.9", "Train it with --set keep_errors=true."),
        ("ri", "--interval 90", "is not a number between 0 and 1"),
        ("ri", "--interval 0", "is not a number between 0 and 1"),
        ("ri", "--interval nan", "is not a number between 0 and 1"),
        ("ri", "--interval cqr", "is not a number between 0 and 1"),
        ("mi", "--set 1", "is not a number between 0 and 1"),
        ("ri", "--interval 0.9,naive", "method='naive' is not allowed"),
        ("mi", "--set 0.9,cqr", "method='cqr' is not allowed"),
    ],
)
def test_intervals_and_sets_that_cannot_be_are_refused(sure, capsys, name, options, words):
    folder = sure[0]
    assert run(["predict", str(folder / f"{name}.weald"), str(folder / "new.csv"), *options.split()]) == 1
    assert words in " ".join(capsys.readouterr().err.split())


def test_evaluate_shows_the_coverage(sure, capsys):
    folder, numbers, classes, X, new = sure
    facts = ask(capsys, "evaluate", folder / "ri.weald", folder / "new.csv", "-t", "z", "--coverage", 0.8)
    low, high = numbers.predict_interval(X, 0.8).T
    expected = {"asked": 0.8, "found": ((low <= new["z"]) & (new["z"] <= high)).mean(), "width": np.mean(high - low)}
    assert facts["coverage"] == pytest.approx(expected)
    facts = ask(capsys, "evaluate", folder / "mi.weald", folder / "new.csv", "-t", "y")
    sets = classes.predict_set(X)
    found = sets[np.arange(150), np.searchsorted(classes.classes_, new["y"])].mean()
    assert facts["coverage"] == pytest.approx({"asked": 0.9, "found": found, "classes": sets.sum(axis=1).mean()})
    assert run(["evaluate", str(folder / "ri.weald"), str(folder / "new.csv"), "-t", "z"]) == 0
    assert "90 % intervals contain" in capsys.readouterr().out
    assert run(["evaluate", str(folder / "mi.weald"), str(folder / "new.csv"), "-t", "y"]) == 0
    assert "90 % sets contain" in capsys.readouterr().out
    assert run(["evaluate", str(folder / "ri.weald"), str(folder / "new.csv"), "-t", "z", "--coverage", "90"]) == 1
    assert "is not between 0 and 1" in capsys.readouterr().err


def test_evaluate_shows_no_coverage_of_training_rows(sure, capsys):
    folder = sure[0]
    facts = ask(capsys, "evaluate", folder / "mi.weald", folder / "t.csv", "-t", "y")
    assert facts["training_rows"]
    assert "coverage" not in facts
