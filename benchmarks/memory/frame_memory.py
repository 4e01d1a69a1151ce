"""How much memory a fit takes in addition to a large data frame.

    python -m benchmarks.memory.frame_memory [--gigabytes 1] [--write]

Each frame is created in its own process; then a forest of a few small trees is fitted, so that reading and coding are
measured. `--write` puts the table into docs/guides/input-data.md.
"""

import contextlib
import re
from pathlib import Path

import numpy as np

from benchmarks import measure

PAGE = measure.ROOT / "docs" / "guides" / "input-data.md"
N_COLUMNS = 50
LEVELS = [f"level {i}" for i in range(200)]


def make_pandas(gigabytes, dtype):
    import pandas as pd

    n_rows = int(gigabytes * 2**30 / N_COLUMNS / np.dtype(dtype).itemsize)
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.random((N_COLUMNS, n_rows), dtype=np.float32).astype(dtype).T)


def make_mixed(gigabytes, library):
    """Half of the columns are float32, half are categorical."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    n_rows = int(gigabytes * 2**30 / (N_COLUMNS / 2 * (4 + (1 if library == "pandas" else 4))))
    rng = np.random.default_rng(0)
    columns = {}
    for i in range(N_COLUMNS):
        if i % 2:
            numbers = rng.integers(0, 200 if library != "pandas" else 120, n_rows, dtype=np.uint8)
            coded = pa.DictionaryArray.from_arrays(numbers.astype(np.int32), LEVELS)
            columns[f"c{i}"] = {
                "pandas": lambda n=numbers: pd.Categorical.from_codes(n.astype(np.int8), LEVELS[:120]),
                "polars": lambda c=coded: pl.from_arrow(c),
                "arrow": lambda c=coded: c,
            }[library]()
        else:
            columns[f"c{i}"] = rng.random(n_rows, dtype=np.float32)
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[library](columns)


@contextlib.contextmanager
def watch_memory():
    """Yield a list that holds, at the end, the peak megabytes inside the block above those in use before."""
    status, grown = Path("/proc/self/status"), []

    def read(key):
        return int(re.search(rf"{key}:\s+(\d+)", status.read_text())[1]) / 1024

    before = read("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    yield grown
    grown.append(read("VmHWM") - before)


FRAMES = {
    "pandas, float64": lambda size: make_pandas(size, "float64"),
    "pandas, float32": lambda size: make_pandas(size, "float32"),
    "pandas, float32 and categories": lambda size: make_mixed(size, "pandas"),
    "polars, float32 and categories": lambda size: make_mixed(size, "polars"),
    "arrow, float32 and categories": lambda size: make_mixed(size, "arrow"),
}


def fit_once(name, gigabytes):
    """Return the number of rows, and the megabytes that reading, a fit and a prediction take."""
    import weald
    from weald.data.table import read_features

    frame = FRAMES[name](gigabytes)
    n_rows = len(frame)
    y = np.arange(n_rows) % 2
    model = weald.RandomForestClassifier(2, max_depth=3, random_state=0)
    with watch_memory() as reading:
        read_features(weald.RandomForestClassifier(), frame, reset=True)
    with watch_memory() as fitting:
        model.fit(frame, y)
    with watch_memory() as predicting:
        model.predict(frame)
    return n_rows, reading[0], fitting[0], predicting[0]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    arguments = parser.parse_args()
    size = 0.02 if arguments.quick else arguments.gigabytes
    rows = []
    for name in FRAMES:
        n_rows, *megabytes = measure.afresh(fit_once, name, size)
        rows.append([name, f"{n_rows:,}", *(f"{m / 1024:.2f}" for m in megabytes)])
        measure.say(rows[-1])
    table = measure.markdown([f"data frame of {size:g} GB", "rows", "read", "fit", "predict"], rows)
    machine = measure.describe_machine("weald", "pandas", "polars", "pyarrow")
    caption = f"{N_COLUMNS} columns; peak memory in GB, without the frame itself. {machine}."
    measure.publish(arguments, "memory", f"{table}\n\n{caption}")


if __name__ == "__main__":
    main()
