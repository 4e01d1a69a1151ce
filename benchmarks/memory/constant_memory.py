"""Does the memory of `predict_chunks` grow with the number of rows? 1, 10 and 100 million rows.

    python -m benchmarks.memory.constant_memory [--rows 1000000,100000000] [--write]

Rows are generated chunk by chunk, and predictions are discarded, as when they are written to a file.
"""

import numpy as np

from benchmarks import data, measure

N_FEATURES = 20
PIECE = 100_000


def pieces(n_rows):
    """Yield chunks of different rows without end: rotated columns of one table of noise."""
    noise = np.random.default_rng(0).normal(size=(PIECE, N_FEATURES)).astype(np.float32)
    for begin in range(0, n_rows, PIECE):
        yield np.roll(noise, begin // PIECE, axis=1)[: n_rows - begin]


def run(n_rows, n_jobs, n_train):
    """Return seconds and megabytes above the memory in use before."""
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

A forest of 20 trees; rows are generated in chunks of {piece:,}. Measured with
`benchmarks/memory/constant_memory.py` on {machine}."""


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "deployment" / "production.md")
    parser.add_argument("--rows", default="1000000,10000000,100000000", help="comma-separated numbers")
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
