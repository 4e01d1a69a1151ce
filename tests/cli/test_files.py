"""Unusable files give a clear message and exit code 2, and leave no incomplete output."""

import gzip
import json
import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from weald.cli import reading
from weald.cli.main import run
from weald.cli.reading import read_table

GOOD = "a,b,y\n" + "".join(f"{i},{'xyz'[i % 3]},{'no' if i % 4 else 'yes'}\n" for i in range(40))

BAD = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "has no header"),
    "header_only": (b"a,b,y\n", "has no rows"),
    "ragged": (b"a,b,y\n1,2,3\n1,2\n", "differ in length: the header has 3 columns, but the line '1,2' has 2"),
    "latin": ("a,b,y\n1,caf\xe9,x\n2,b,z\n".encode("latin-1"), "UTF-8"),
    "latin_header": ("caf\xe9,b,y\n1,2,3\n".encode("latin-1"), "is not UTF-8"),
    "utf16": ("a,b,y\n1,2,3\n".encode("utf-16"), "UTF-8"),
    "twins": (b"a,a,y\n1,2,3\n4,5,6\n", "more than one column named 'a'"),
    "one_class": (b"a,y\n1,x\n2,x\n3,x\n", "has only one value"),
    "all_missing": (b"a,y\n1,\n2,\n", "has no values"),
    "no_features": (b"a,y\n,1\n,2\n", "no feature columns"),
    "names_as_target": (b"a,y\n" + b"".join(b"%d,name%d\n" % (i, i) for i in range(1500)), "looks like row names"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_words_and_leaves_nothing(name, tmp_path, capsys):
    content, words = BAD[name]
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    out, page = tmp_path / "model.weald", tmp_path / "page.html"
    assert run(["train", str(file), "--target", "y", "--out", str(out), "--report", str(page)]) == 2
    output = capsys.readouterr()
    assert words in output.err
    assert "Traceback" not in output.err
    assert output.out == ""
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_read_is_not_written_over(tmp_path, capsys):
    file, model = tmp_path / "good.csv", tmp_path / "model.weald"
    file.write_text(GOOD)
    assert run(["train", str(file), "--target", "y", "--trees", "3", "--out", str(model)]) == 0
    for words in (
        ["train", file, "--target", "y", "--out", file],
        ["train", file, "--target", "y", "--report", tmp_path / "." / "good.csv"],
        ["tune", file, "--target", "y", "--out", file],
        ["predict", model, file, "--out", file],
        ["predict", model, file, "--out", model],
        ["report", model, file, "--target", "y", "--out", file],
        ["convert", model, "--out", model, "--to", "json"],
    ):
        before = file.read_bytes(), model.read_bytes()
        assert run([str(word) for word in words]) == 1
        assert "is an input file" in capsys.readouterr().err
        assert (file.read_bytes(), model.read_bytes()) == before


def test_a_broken_parquet_file_is_refused(tmp_path, capsys):
    file = tmp_path / "bad.parquet"
    file.write_bytes(b"PAR1 nonsense")
    assert run(["train", str(file), "--target", "y"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_broken_gzip_file_is_refused(tmp_path, capsys):
    file = tmp_path / "bad.csv.gz"
    file.write_bytes(gzip.compress(GOOD.encode())[:-20])
    assert run(["train", str(file), "--target", "y"]) == 2
    assert "bad.csv.gz" in capsys.readouterr().err


def test_a_file_of_a_strange_kind_is_a_user_error(tmp_path, capsys):
    file = tmp_path / "table.xlsx"
    file.write_bytes(b"x")
    assert run(["train", str(file), "--target", "y"]) == 1
    assert "has no known extension" in capsys.readouterr().err


def test_errors_are_json_where_json_is_asked_for(tmp_path, capsys):
    assert run(["train", str(tmp_path / "gone.csv"), "--target", "y", "--json"]) == 2
    output = json.loads(capsys.readouterr().err)
    assert output["code"] == 2
    assert "does not exist" in output["error"]


def write(table, path):
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "feather":
        feather.write_feather(table, path)
    else:
        rows = table.to_pylist()
        text = (
            GOOD
            if kind == "csv"
            else GOOD.replace(",", "\t")
            if kind == "tsv"
            else "".join(json.dumps(r) + "\n" for r in rows)
        )
        path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.feather", "t.jsonl", "t.ndjson.gz"])
def test_all_kinds_of_files_hold_the_same_table(name, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text(GOOD)
    table = read_table(plain)
    file = tmp_path / name
    write(table, file)
    assert read_table(file).to_pylist() == table.to_pylist()


TEXTS = ["t.csv", "t.csv.gz", "t.jsonl", "t.ndjson.gz"]
TYPES = {"a": pa.float64(), "b": pa.string()}


@pytest.mark.parametrize("name", [*TEXTS, "t.parquet", "t.feather"])
def test_a_file_read_in_pieces_is_the_file(name, tmp_path, monkeypatch):
    plain, file = tmp_path / "plain.csv", tmp_path / name
    plain.write_text(GOOD)
    table = read_table(plain)
    write(table, file)
    monkeypatch.setattr(reading, "BLOCK", 64)  # a few lines
    pieces = [*reading.read_batches(file, {**TYPES, "y": None}, rows=7)]
    assert len(pieces) > 5
    assert max(piece.num_rows for piece in pieces) <= 7
    assert [row for piece in pieces for row in piece.to_pylist()] == table.to_pylist()


@pytest.mark.parametrize("name", TEXTS)
def test_columns_that_a_model_does_not_need_may_change_what_they_hold(name, tmp_path, monkeypatch):
    table = pa.table({"a": np.arange(90), "b": ["p"] * 90, "note": [*map(str, range(80)), *["words"] * 10]})
    file = tmp_path / name
    lines = [f"{r['a']},{r['b']},{r['note']}" for r in table.to_pylist()]
    text = "\n".join(["a,b,note", *lines])
    if "csv" not in name:
        rows = [{**r, "note": int(r["note"]) if r["note"].isdigit() else r["note"]} for r in table.to_pylist()]
        text = "\n".join(map(json.dumps, rows))
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    monkeypatch.setattr(reading, "BLOCK", 256)
    pieces = [*reading.read_batches(file, TYPES)]
    assert [value for piece in pieces for value in piece.column("a").to_pylist()] == [*range(90)]
    assert {name for piece in pieces for name in piece.schema.names} == {"a", "b", "note"}


def test_a_line_longer_than_a_block_is_one_line(tmp_path, monkeypatch):
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps({"a": i, "b": "x" * 100 * i}) + "\n" for i in range(9)))
    monkeypatch.setattr(reading, "BLOCK", 50)
    found = [row for piece in reading.read_batches(file, TYPES) for row in piece.to_pylist()]
    assert [len(row["b"]) for row in found] == [*range(0, 900, 100)]


@pytest.mark.slow
def test_ten_thousand_columns_are_read(tmp_path, capsys):
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(10_000)]
    lines = [",".join([*names, "y"])] + [
        ",".join([*map(str, rng.integers(0, 9, 10_000)), "ab"[i % 2]]) for i in range(12)
    ]
    file = tmp_path / "wide.csv"
    file.write_text("\n".join(lines))
    assert run(["train", str(file), "--target", "y", "--trees", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["columns"]) == 10_001


def test_many_categories_are_stated_and_can_be_kept(tmp_path, capsys):
    table = pa.table({"id": [f"n{i}" for i in range(300)], "x": np.arange(300.0), "y": ["a", "b"] * 150})
    file = tmp_path / "t.parquet"
    parquet.write_table(table, file)
    assert run(["train", str(file), "-t", "y", "-n", "3", "--json"]) == 0
    done = {c["column"]: c["done"] for c in json.loads(capsys.readouterr().out)["columns"]}
    assert done["id"].startswith("left out: looks like row names")
    assert run(["train", str(file), "-t", "y", "-n", "3", "--categorical", "id", "--json"]) == 0
    done = {c["column"]: c["done"] for c in json.loads(capsys.readouterr().out)["columns"]}
    assert done == {"id": "categories", "x": "numbers", "y": "target"}


def test_a_long_cell_and_a_long_header_are_read(tmp_path):
    cell, wide = tmp_path / "cell.csv", tmp_path / "wide.csv"
    cell.write_text("x,text,y\n" + "0.5,red,a\n" * 50 + f"0.5,{'r' * 3_000_000},a\n" + "0.5,red,b\n" * 50)
    names = [f"name_of_gene_{i}" for i in range(80_000)]
    wide.write_text(",".join(names) + "\n" + (",".join(["0.123456789012345"] * len(names)) + "\n") * 2)
    assert read_table(cell).num_rows == 101
    assert read_table(wide).shape == (2, 80_000)


@pytest.mark.parametrize("name", TEXTS)
def test_a_line_that_is_too_long_is_named_by_every_command(name, tmp_path, capsys, monkeypatch):
    file, model, out = tmp_path / name, tmp_path / "m.weald", tmp_path / "p.csv"
    (tmp_path / "good.csv").write_text(GOOD)
    assert run(["train", str(tmp_path / "good.csv"), "-t", "y", "-n", "2", "-o", str(model)]) == 0
    rows = [{"a": i, "b": "x" * (3000 if i == 30 else 1), "y": "no" if i % 4 else "yes"} for i in range(40)]
    text = "a,b,y\n" + "".join(f"{r['a']},{r['b']},{r['y']}\n" for r in rows)
    text = text if "csv" in name else "".join(json.dumps(r) + "\n" for r in rows)
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    predict = ["predict", str(model), str(file), "--out", str(out)]
    commands = (predict, ["train", str(file), "-t", "y", "-n", "2"], ["cv", str(file), "-t", "y", "-n", "2"])
    monkeypatch.setattr(reading, "BLOCK", 200)
    monkeypatch.setattr(reading, "LONGEST_LINE", 1000)
    for words in commands:
        capsys.readouterr()
        assert run(words) == 2
        assert f"{name} has a line of more than 1,000 bytes" in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setattr(reading, "LONGEST_LINE", 2**25)  # a line longer than a block is allowed
    assert [run(words) for words in commands] == [0, 0, 0]
    assert out.read_text().count("\n") == 41


def test_two_outputs_of_one_name_are_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one.out")
    for report in ("one.out", "other/../one.out", "link"):
        words = ["train", "not_there.csv", "-t", "y", "-o", tmp_path / "one.out", "--report", tmp_path / report]
        assert run([str(word) for word in words]) == 1
        assert "would be written twice" in capsys.readouterr().err
    assert run(["train", "not_there.csv", "-t", "y", "-o", "/dev/null", "--report", "/dev/null"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_a_demonstration_keeps_files_of_others(tmp_path, capsys):
    (tmp_path / "iris.html").write_text("mine")
    assert run(["demo", str(tmp_path)]) == 1
    assert "iris.html exists and would be overwritten" in capsys.readouterr().err
    (tmp_path / "iris.csv").write_text(GOOD)
    assert run(["demo", str(tmp_path)]) == 1
    assert "iris.csv exists and would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "iris.html").read_text() == "mine"
    assert run(["demo", str(tmp_path / "iris.csv")]) == 1
    assert [run(["demo", str(tmp_path / "new")]) for _ in range(2)] == [0, 0]


NESTED = {
    "list": pa.array([[1]] * 40),
    "struct": pa.array([{"k": 1}] * 40),
    "map": pa.array([[("k", 1)]] * 40, pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff", b"\xfe"] * 20),
}


@pytest.mark.parametrize("kind", NESTED)
def test_columns_that_are_no_numbers_or_labels_are_refused_in_words(kind, tmp_path, capsys):
    good, file, model = tmp_path / "good.csv", tmp_path / "t.parquet", tmp_path / "m.weald"
    good.write_text(GOOD)
    assert run(["train", str(good), "-t", "y", "-n", "2", "-o", str(model)]) == 0
    table = read_table(good).append_column("v", NESTED[kind])
    parquet.write_table(table, file)
    assert run(["train", str(file), "-t", "y", "-n", "2"]) == 0  # as a feature it would be left out
    for command in ("train", "cv", "tune"):
        assert run([command, str(file), "-t", "v", "-n", "2"]) == 1
    assert run(["evaluate", str(model), str(file), "-t", "v"]) == 1
    assert run(["predict", str(model), str(file), "--id", "v", "-o", str(tmp_path / "p.csv")]) == 1
    assert run(["predict", str(model), str(file), "--id", "v", "-o", str(tmp_path / "p.jsonl")]) == 0
    parquet.write_table(table.drop_columns("b").append_column("b", NESTED[kind]), file)
    for words in (["predict"], ["explain"], ["evaluate", "-t", "y"], ["report", "-t", "y"]):
        capsys.readouterr()
        assert run([words[0], str(model), str(file), *words[1:]]) == 2
        assert "but the model needs numbers or text" in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


ENCODED = {
    "dictionary": pa.array(["no", "yes"] * 20).dictionary_encode(),
    "numbers by code": pa.array([1, 2] * 20).dictionary_encode(),
    "half floats": pa.array(np.array([0, 1] * 20, dtype=np.float16)),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([20, 40], pa.int32()), pa.array(["no", "yes"])),
}


@pytest.mark.parametrize("kind", ENCODED)
def test_targets_in_encodings_of_arrow_are_read(kind, tmp_path, capsys):
    (tmp_path / "good.csv").write_text(GOOD)
    file = tmp_path / "t.feather"
    feather.write_feather(read_table(tmp_path / "good.csv").append_column("v", ENCODED[kind]), file, "uncompressed")
    assert run(["train", str(file), "-t", "v", "-n", "2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["task"], facts["rows"]) == ("classification", 40)


def test_deeply_nested_json_is_refused(tmp_path, capsys):
    file = tmp_path / "deep.jsonl"
    file.write_text('{"x": ' + "[" * 5000 + "]" * 5000 + ', "y": "a"}\n')
    assert run(["train", str(file), "-t", "y"]) == 2
    assert "nested too deeply" in capsys.readouterr().err


ODD = ["9" * 20, "9" * 5000, "-" * 3000 + "1", "[" * 300 + "]" * 300, "[" * 100_000, "'", "(", "\x1b[2J", "b'a'", "1j"]


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_odd_values_of_options_are_refused_in_one_line(value, tmp_path, capsys):
    file = tmp_path / "good.csv"
    file.write_text(GOOD)
    train = ["train", str(file), "-t", "y"]
    features = [] if value.isdigit() and len(value) < 99 else [["--max-features", value]]  # that is: all of them
    for words in (["-n", value], *features, ["--set", f"criterion={value}"], ["--set", value]):
        given = [f"{words[0]}={words[1]}"] if value.startswith("-") else words
        assert run([*train, *given]) == 1
        output = capsys.readouterr().err
        assert len(output.splitlines()) == 1
        assert "\x1b" not in output
    for name in ("--id", "--weight", "--exclude"):
        assert run([*train, name, ""]) == 1
        assert "There is no column ''" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.jsonl", "p.parquet", "p.feather"])
def test_predictions_keep_links_and_modes_and_an_old_file_until_the_end(name, tmp_path, capsys):
    good, bad, model, out = (tmp_path / file for file in ("good.csv", "bad.csv", "m.weald", name))
    good.write_text(GOOD)
    bad.write_text(GOOD + "1,x\n")
    assert run(["train", str(good), "-t", "y", "-n", "2", "-o", str(model)]) == 0
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o600)
    out.symlink_to(real)
    assert run(["predict", str(model), str(bad), "-o", str(out)]) == 2
    assert real.read_text() == "old"
    assert run(["predict", str(model), str(good), "-o", str(out)]) == 0
    assert out.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert read_table(out).num_rows == 40
    assert len([*tmp_path.iterdir()]) == 5


def test_predictions_go_into_a_named_pipe(tmp_path):
    good, model, pipe, got = tmp_path / "good.csv", tmp_path / "m.weald", tmp_path / "pipe.csv", []
    good.write_text(GOOD)
    assert run(["train", str(good), "-t", "y", "-n", "2", "-o", str(model)]) == 0
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    assert run(["predict", str(model), str(good), "-o", str(pipe)]) == 0
    reader.join(30)
    assert got[0].count("\n") == 41
    assert pipe.is_fifo()
