"""How much faster are more threads? Coding, one tree, and many trees, on 1,000,000 x 28.

    python benchmarks/threads.py [--threads 1,2,4] [--trees 100] [--repeats 3] [--write]

It needs weald and nothing of the repository but this folder. By default threads double from one to as many as the
process may use. Each measurement runs in a process of its own; numbers of threads take turns, and the best of the
repeats counts. The forests must be the same bit for bit. What the machine itself gains by threads is measured beside
it: with arithmetic alone, step by step or many steps at a time, and with memory alone, read through or here and there.
"""

import functools
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import data
import measure
import numpy as np
from threadpoolctl import threadpool_limits

from weald.data.table import read_table
from weald.engines.native import NativeEngine
from weald.engines.params import count_bins

WORKS = {"coding": 0, "one tree": 1, "many trees": 100}


def run(name, n_rows, n_trees, n_threads):
    """Seconds to fit trees (no trees: to code the table), and the fingerprint of what came out."""
    import weald

    X, y, _, _ = data.load(name, n_rows)
    forest = weald.RandomForestClassifier(n_estimators=n_trees or 1, n_jobs=n_threads, random_state=0)
    if not n_trees:
        return code(forest, X, y, n_threads)
    return measure.time_fit("weald", forest, X, y), forest.forest_.fingerprint()


def code(forest, X, y, n_threads):
    """Raw floats to codes and ranks: the part of a fit that comes before the first tree."""
    table = read_table(forest, X, y, None, classify=True).table
    seconds = measure.clock_often(lambda: NativeEngine().code(table, count_bins(forest.max_bins), n_threads))
    return seconds, str(NativeEngine().code(table, count_bins(forest.max_bins), n_threads).fingerprint)


def hash_often(n_bytes, _):
    """One step after the other: the block stays in a core's own cache, and is so large that Python hardly counts."""
    block, hashing = bytes(1 << 20), hashlib.sha256()
    for _ in range(n_bytes // len(block)):
        hashing.update(block)


def multiply_often(n_bytes, _):
    """As many steps at a time as a core can do: products of matrices that stay in its own cache."""
    one, product = np.ones((128, 128)), np.empty((128, 128))
    for _ in range(n_bytes // (2 * one.nbytes)):
        np.matmul(one, one, out=product)


def read_often(n_bytes, large):
    """Memory alone: sums over more than a cache holds."""
    for _ in range(n_bytes // large.nbytes):
        large.sum()


def pick_often(n_bytes, large):
    """Memory here and there: as the codes of a node's rows are picked, from about as much as 1,000,000 x 28 codes."""
    some = large[: 1 << 23]  # as many lines of the cache as there are places
    places = np.random.default_rng().integers(len(some), size=1 << 20)  # others in each thread
    picked = np.empty(len(places))
    for _ in range(n_bytes // picked.nbytes):
        some.take(places, out=picked, mode="clip")


# Jobs without weald -> what does a share of it, and the bytes of the whole.
LIMITS = {
    "arithmetic, step by step": (hash_often, 4 << 30),
    "arithmetic, many steps at a time": (multiply_often, 8 << 30),
    "reading memory alone": (read_often, 32 << 30),
    "picking from memory alone": (pick_often, 4 << 30),
}


def run_limit(limit, n_threads):
    """Seconds until threads have done a job together, and no fingerprint."""
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
    """1, 2, 4 and so on, and n."""
    return sorted({2**k for k in range(n.bit_length())} | {n})


TEXT = """\
Seconds for {rows:,} rows of {columns} columns ({title}); in brackets, how many times as fast as one thread.

{table}

{repeats}. The results are the same bit for bit. The last four rows have nothing to do with weald: they hash a small
block, multiply small matrices, add up a large array, and pick numbers here and there from an array of 64 MB. They show
what threads can gain on this machine: to hash is one long chain of steps, which leaves most of a core to whoever else
has a share in it; a product of matrices needs all of it. Measured with `benchmarks/threads.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--threads", help="numbers with commas")
    parser.add_argument("--trees", type=int, default=WORKS["many trees"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", default="collisions", help=f"one of: {', '.join(data.DATA_SETS)}")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows, given.data = 1, 3, 500, "small"
    threads = [int(n) for n in given.threads.split(",")] if given.threads else doubling(given.jobs)
    works = WORKS | {"many trees": given.trees}
    n_columns = data.load(given.data).X_train.shape[1]  # made here, not while somebody is measured
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
