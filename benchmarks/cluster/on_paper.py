"""Estimated time and memory for 1,000,000,000 rows on 100 workers, calculated from one small fit.

    python -m benchmarks.cluster.on_paper [--workers 100] [--threads 4] [--trees 500] [--gigabits 10] [--write]

Measured: seconds and nodes of a tree from 1,000,000 rows of 28 columns on one thread, and seconds to draw its bag and
predict its out-of-bag rows. All else is calculated: rows x log(rows) for growing and predicting, bytes divided by
network bandwidth for transfers. For out-of-bag estimates, all trees are also sent to all workers.
"""

import math
import time

from benchmarks import data, measure
from weald import RandomForestClassifier
from weald.codes.bins import SAMPLE_SIZE
from weald.dask.cluster import AT_ONCE
from weald.dask.coding import COLUMNS_TO_CUT
from weald.dask.work_split import bytes_on_a_worker
from weald.data.table import read_table
from weald.engines.native import NativeEngine
from weald.engines.params import count_bins

PAGE = measure.ROOT / "docs" / "how-it-works" / "dask.md"
NODE = 47  # bytes of a node in a grown forest of two classes, leaves included
NODE_ON_ITS_WAY = 17  # from worker to client
N_CODES, VALUE = 65_535, 4  # codes of a binned column, and bytes of a float32 value
PARTITION = 1_000_000  # rows


def measure_a_tree(X, y):
    """Return seconds of a tree on one thread without coding, nodes per row, and seconds to draw its bag and predict."""
    forest = RandomForestClassifier(1, n_jobs=1, random_state=0)
    table = read_table(forest, X, y, None, classify=True).table
    engine = NativeEngine()
    coded = engine.code(table, count_bins(forest.max_bins))
    forest.fit(X[:1000], y[:1000])
    forest.fit(X, y)
    grow = cpu_seconds(lambda: engine.grow(coded, forest.growth_, 0, 0, 1))
    speak = cpu_seconds(lambda: engine.sum_votes_out_of_bag(coded, forest.growth_, forest.forest_, table.X, "soft"))
    return grow, forest.forest_.n_nodes / len(y), speak


def cpu_seconds(work):
    """Measure CPU seconds of one thread."""
    began = time.process_time()
    work()
    return time.process_time() - began


def gigabytes(n_bytes):
    return f"{measure.digits(n_bytes / 1e9)} GB"


def plan(n_rows, n_columns, found, given):
    """Return a row of the table."""
    grow, nodes, speak, n_before = found
    widths = [2] * n_columns
    codes = n_rows * sum(widths)
    ratio = n_rows / n_before
    n_partitions = max(1, n_rows // PARTITION)
    # Sampled hashes and their number of copies; sampled values; bins for all workers; largest values of each partition.
    n_blocks = min(given.workers * given.threads, max(1, n_columns // COLUMNS_TO_CUT))
    settle = SAMPLE_SIZE * 16 + n_blocks * SAMPLE_SIZE * n_columns * (VALUE + 1)
    settle += n_columns * N_CODES * VALUE * (2 * given.workers + n_partitions)
    share = given.trees * ratio * math.log2(n_rows) / math.log2(n_before) / (given.workers * given.threads)
    n_nodes = given.trees * nodes * n_rows
    network = given.gigabits * 1e9 / 8
    rounds = 8 + math.ceil(math.log(n_partitions, AT_ONCE))
    return [
        f"{n_rows:,}",
        gigabytes(codes),
        gigabytes(bytes_on_a_worker(n_rows, widths, given.threads, classes=True)),
        rounds,
        gigabytes(settle),
        gigabytes(codes * (given.workers - 1)),
        measure.digits(codes / network),
        measure.digits(share * grow),
        measure.digits(share * speak + n_nodes * NODE_ON_ITS_WAY / network),
        gigabytes(n_nodes * NODE),
        gigabytes(n_nodes * NODE_ON_ITS_WAY),
        measure.digits(n_nodes * NODE_ON_ITS_WAY / network),
    ]


TEXT = """\
{table}

{columns} columns of two-byte codes, {trees} trees, {workers} workers of {threads} threads, {gigabits:g} Gbit/s
into each. **Calculated** from one tree with {rows:,} rows on one thread ({grow:.2f} s, {nodes:.2f} nodes per row;
{speak:.2f} s to draw its bag and predict its out-of-bag rows), scaled by rows × log(rows).
`benchmarks/cluster/on_paper.py` on {machine}."""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", default="collisions")
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--gigabits", type=float, default=10.0)
    given = parser.parse_args()
    if given.quick:
        given.rows, given.data = 500, "small"
    X, y, _, _ = data.load(given.data, given.rows)
    grow, nodes, speak = measure_a_tree(X, y)
    found = (grow, nodes, speak, len(y))
    rows = [plan(10**k, X.shape[1], found, given) for k in (6, 7, 8, 9)]
    header = [
        "rows", "codes", "memory of a worker", "rounds", "binning", "sending codes", "seconds to send",
        "seconds to grow", "seconds out-of-bag", "forest", "forest, sent", "seconds to the client",
    ]  # fmt: skip
    text = TEXT.format(
        table=measure.markdown(header, rows),
        columns=X.shape[1],
        rows=len(y),
        grow=grow,
        nodes=nodes,
        speak=speak,
        machine=measure.describe_machine("weald"),
        **{name: getattr(given, name) for name in ("trees", "workers", "threads", "gigabits")},
    )
    measure.publish(given, "paper", text)


if __name__ == "__main__":
    main()
