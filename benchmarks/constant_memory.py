"""Does the memory of a prediction grow with the rows? Piece by piece, 1, 10 and 100 million rows.

    python benchmarks/constant_memory.py [--rows 1000000,100000000] [--write]

The rows are made as they are asked for, and the predictions are dropped, as one that writes them to a file would.
"""

import data
import measure
import numpy as np

N_FEATURES = 20
PIECE = 100_000


def pieces(n_rows):
    """Different rows without end, cheaply: the columns of one table of noise, turned on."""
    noise = np.random.default_rng(0).normal(size=(PIECE, N_FEATURES)).astype(np.float32)
    for begin in range(0, n_rows, PIECE):
        yield np.roll(noise, begin // PIECE, axis=1)[: n_rows - begin]


def run(n_rows, n_jobs, n_train):
    """Seconds, and megabytes beyond what was there before."""
    import weald

    X, y, _, _ = data.load("small", n_train)
    forest = weald.RandomForestClassifier(n_estimators=20, n_jobs=n_jobs, random_state=0).fit(X, y)
    total = 0.0
    with measure.MemoryWatch() as memory:

        def predict():
            nonlocal total
            chunks = forest.predict_chunks(pieces(n_rows), dtype="float32", n_rows=n_rows, verbose=1)
            total = sum(float(shares[:, 1].mean()) * len(shares) for shares in chunks)

        seconds = measure.clock(predict)
    return seconds, memory.megabytes, total / n_rows


TEXT = """\
{table}

A forest of 20 trees; rows are made in pieces of {piece:,} as they are asked for. Measured with
`benchmarks/constant_memory.py` on {machine}."""


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "production.md")
    parser.add_argument("--rows", default="1000000,10000000,100000000", help="numbers with commas")
    given = parser.parse_args()
    numbers = [1000, 2000] if given.quick else [int(n) for n in given.rows.split(",")]
    data.load("small")
    rows = []
    for n_rows in numbers:
        seconds, megabytes, _ = measure.afresh(run, n_rows, given.jobs, 200 if given.quick else None)
        measure.say(f"{n_rows:,} rows: {seconds:.2f} s, {megabytes:.0f} MB")
        rows.append([f"{n_rows:,}", measure.digits(seconds), f"{megabytes:.0f}"])
    table = measure.markdown(["rows", "seconds", "memory, MB"], rows)
    text = TEXT.format(table=table, piece=PIECE, machine=measure.describe_machine("weald"))
    measure.publish(given, "constant-memory", text)


if __name__ == "__main__":
    main()
