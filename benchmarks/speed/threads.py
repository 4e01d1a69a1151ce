"""Speedup by threads: coding, one tree, and many trees, on 1,000,000 x 28.

    python -m benchmarks.speed.threads [--threads 1,2,4] [--trees 100] [--repeats 3] [--write]

It needs weald and only this folder of the repository. By default, the number of threads doubles from one to the number
that the process may use. Each measurement runs in its own process; numbers of threads alternate, and the best of the
repeats counts. The forests must be the same bit for bit. For comparison, the speedup of the machine is measured: serial
and parallel arithmetic, and sequential and random memory access.
"""

import functools
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import data, measure
from weald.data.table import read_table
from weald.engines.native import NativeEngine
from weald.engines.params import count_bins

WORKS = {"coding": 0, "one tree": 1, "many trees": 100}


def run(name, n_rows, n_trees, n_threads):
    """Return the seconds to fit trees (no trees: to code the table), and the fingerprint of the result."""
    import weald

    X, y, _, _ = data.load(name, n_rows)
    forest = weald.RandomForestClassifier(n_estimators=n_trees or 1, n_jobs=n_threads, random_state=0)
    if not n_trees:
        return code(forest, X, y, n_threads)
    return measure.time_fit("weald", forest, X, y), forest.forest_.fingerprint()


def code(forest, X, y, n_threads):
    """Convert floats to codes and ranks: the part of a fit before the first tree."""
    table = read_table(forest, X, y, None, classify=True).table
    seconds = measure.clock_often(lambda: NativeEngine().code(table, count_bins(forest.max_bins), n_threads))
    return seconds, str(NativeEngine().code(table, count_bins(forest.max_bins), n_threads).fingerprint)


def hash_often(n_bytes, _):
    """Serial arithmetic on a block that fits into the cache of a core; the time in Python is negligible."""
    block, hashing = bytes(1 << 20), hashlib.sha256()
    for _ in range(n_bytes // len(block)):
        hashing.update(block)


def multiply_often(n_bytes, _):
    """Parallel arithmetic: products of matrices that fit into the cache of a core."""
    one, product = np.ones((128, 128)), np.empty((128, 128))
    for _ in range(n_bytes // (2 * one.nbytes)):
        np.matmul(one, one, out=product)


def read_often(n_bytes, large):
    """Sequential memory access: sums over an array larger than the caches."""
    for _ in range(n_bytes // large.nbytes):
        large.sum()


def pick_often(n_bytes, large):
    """Random memory access, as to the codes of a node's rows, in the memory of about 1,000,000 x 28 codes."""
    some = large[: 1 << 23]  # one cache line per element
    places = np.random.default_rng().integers(len(some), size=1 << 20)  # different elements in each thread
    picked = np.empty(len(places))
    for _ in range(n_bytes // picked.nbytes):
        some.take(places, out=picked, mode="clip")


# Jobs without weald -> the function of one thread, and the bytes of all threads.
LIMITS = {
    "arithmetic, serial (hashing)": (hash_often, 4 << 30),
    "arithmetic, parallel (matrix product)": (multiply_often, 8 << 30),
    "memory, sequential": (read_often, 32 << 30),
    "memory, random access": (pick_often, 4 << 30),
}


def run_limit(limit, n_threads):
    """Return the seconds in which threads do a job together; there is no fingerprint."""
    job, n_bytes = LIMITS[limit]
    large = np.ones(1 << 25)
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as pool:
        began = time.perf_counter()
        list(pool.map(job, [n_bytes // n_threads] * n_threads, [large] * n_threads))
        return time.perf_counter() - began, None


def measure_work(work, n_trees, threads, given):
    return measure_often(work, threads, given, lambda n: measure.afresh(run, given.data, given.rows, n_trees, n))


def measure_often(work, threads, given, measure_once):
    """Return the best seconds by number of threads."""
    best, prints = {}, set()
    for _ in range(given.repeats):
        for n_threads in threads:
            seconds, fingerprint = measure_once(n_threads)
            measure.say(f"{work}, {n_threads} threads: {seconds:.3f} s")
            best[n_threads] = min(best.get(n_threads, seconds), seconds)
            prints.add(fingerprint)
    if len(prints) > 1:
        raise SystemExit(f"{work}: the number of threads changed the result: {prints}")
    return best


def doubling(n):
    """Return 1, 2, 4 and so on, and n."""
    return sorted({2**k for k in range(n.bit_length())} | {n})


TEXT = """\
Seconds for {rows:,} rows of {columns} columns ({title}); in brackets, the speedup over one thread.

{table}

{repeats}. The results are the same bit for bit. The last four rows do not use weald: they hash a small block, multiply
small matrices, add up a large array, and read random elements of an array of 64 MB. They show the speedup that this
machine allows: hashing is a serial chain of operations, which leaves most of a physical core to its other hardware
thread; a matrix product uses all of it. Measured with `benchmarks/speed/threads.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--threads", help="comma-separated numbers")
    parser.add_argument("--trees", type=int, default=WORKS["many trees"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", default="collisions", help=f"one of: {', '.join(data.DATA_SETS)}")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows, given.data = 1, 3, 500, "small"
    threads = [int(n) for n in given.threads.split(",")] if given.threads else doubling(given.jobs)
    works = WORKS | {"many trees": given.trees}
    n_columns = data.load(given.data).X_train.shape[1]  # created before the measurements begin
    rows = []
    found = {
        f"{n_trees} trees" if n_trees > 1 else work: measure_work(work, n_trees, threads, given)
        for work, n_trees in works.items()
    }
    for limit in () if given.quick else LIMITS:
        found[limit] = measure_often(limit, threads, given, functools.partial(measure.afresh, run_limit, limit))
    for title, best in found.items():
        cells = [f"{measure.digits(best[n])} ({best[threads[0]] / best[n]:.2f}×)" for n in threads[1:]]
        rows.append([title, measure.digits(best[threads[0]]), *cells])
    header = ["", *(f"{n} thread{'s' * (n > 1)}" for n in threads)]
    text = TEXT.format(
        rows=given.rows,
        columns=n_columns,
        title=data.DATA_SETS[given.data].title,
        table=measure.markdown(header, rows),
        repeats=measure.best_of(given),
        machine=measure.describe_machine("weald"),
    )
    measure.publish(given, "threads", text)


if __name__ == "__main__":
    main()
