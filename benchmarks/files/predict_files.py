"""Memory of `weald predict` for files of two sizes.

    python -m benchmarks.files.predict_files [--rows 250000,1000000] [--write]

The files are written in chunks to a temporary folder. Each is predicted in its own process.
"""

import gzip
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure

N_FEATURES = 8
PIECE = 65_536
KINDS = ("csv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "feather")


def pieces(n_rows):
    """Make tables of numbers and one text column."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    for begin in range(0, n_rows, PIECE):
        n = min(PIECE, n_rows - begin)
        columns = {f"x{f}": rng.normal(size=n).round(4) for f in range(N_FEATURES)}
        yield pa.table(columns | {"kind": rng.choice(["oak", "ash", "elm"], n)})


def write(path, n_rows):
    """Write a file of the format of its name."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    schema = next(pieces(1)).schema
    if ".jsonl" in path.name:
        with gzip.open(path, "wb", compresslevel=1) if path.suffix == ".gz" else path.open("wb") as stream:
            for table in pieces(n_rows):
                names = [f'"{name}": {{}}'.replace("{}", '"{}"' if name == "kind" else "{}") for name in schema.names]
                line = "{{" + ", ".join(names) + "}}\n"
                columns = [column.to_pylist() for column in table.columns]
                stream.write("".join(line.format(*row) for row in zip(*columns, strict=True)).encode())
        return
    make = {"csv": csv.CSVWriter, "parquet": parquet.ParquetWriter, "feather": ipc.new_file}
    compression = "gzip" if path.suffix == ".gz" else None
    kind = path.suffixes[0][1:]
    with pa.output_stream(str(path), compression=compression) as stream, make[kind](stream, schema) as writer:
        for table in pieces(n_rows):
            writer.write_table(table)


def train(path):
    """Save a model."""
    import weald

    table = next(pieces(2000))
    label = table.column("x0").to_numpy() + table.column("x1").to_numpy() > 0
    weald.RandomForestClassifier(20, random_state=0).fit(table, label).save(path)


def run(model, data, out, n_jobs):
    """Return seconds, and peak megabytes of the whole process."""
    from weald.cli.main import run as weald

    with measure.MemoryWatch() as memory:
        seconds = measure.clock(
            lambda: weald(["predict", model, data, "-o", out, "--probabilities", "--jobs", str(n_jobs)])
        )
    return seconds, memory.before + memory.megabytes


TEXT = """\
{table}

Megabytes of the whole process at its peak, with a forest of 20 trees and a table of {columns} columns. Measured with
`benchmarks/files/predict_files.py` on {machine}."""


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "start" / "command-line.md")
    parser.add_argument("--kinds", default=",".join(KINDS), help="endings with commas")
    parser.add_argument("--rows", default="250000,1000000", help="numbers with commas")
    given = parser.parse_args()
    numbers = [1000, 2000] if given.quick else [int(n) for n in given.rows.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "model.weald")
        train(model)
        for kind in given.kinds.split(","):
            line = [f"`.{kind}`"]
            for n_rows in numbers:
                file, out = Path(place, f"table.{kind}"), Path(place, "out.parquet")
                write(file, n_rows)
                seconds, megabytes = measure.afresh(run, str(model), str(file), str(out), given.jobs)
                measure.say(f"{kind}, {n_rows:,} rows: {seconds:.2f} s, {megabytes:.0f} MB")
                line += [f"{file.stat().st_size / 1e6:,.0f} MB", f"{measure.digits(seconds)} s", f"{megabytes:.0f} MB"]
                file.unlink()
            rows.append(line)
    heads = [head for n in numbers for head in (f"{n:,} rows", "time", "memory")]
    table = measure.markdown(["file", *heads], rows)
    machine = measure.describe_machine("weald", "pyarrow")
    measure.publish(given, "predict-files", TEXT.format(table=table, columns=N_FEATURES + 1, machine=machine))


if __name__ == "__main__":
    main()
