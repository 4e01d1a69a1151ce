"""How the time of a fit is distributed over coding and nodes of different sizes.

    python -m benchmarks.speed.where [--data NAMES] [--trees N] [--repeats 3] [--write]

Trees are grown repeatedly with increasing `min_samples_split`: smaller nodes become leaves, and the time saved is the
time of these nodes. With one thread, CPU time can be measured, which other programs affect little; settings alternate,
and the best of the repeats counts. Each measurement runs in its own process.
"""

import itertools
import time

from benchmarks import data, measure

SHOWN = ("clusters", "cover", "wide", "friedman", "friedman-small")
BINS = {"": {}, " 255": {"max_bins": 255}}
# Sizes are numbers of draws. Nodes of two draws are the smallest that can be split.
SIZES = (2, 5, 33, 257, 4097)
NAMES = ("2 to 4", "5 to 32", "33 to 256", "257 to 4,096", "more")


def run(name, n_rows, n_trees, parameters):
    """Return the CPU seconds of a fit; a fit without splits measures reading, coding and bags."""
    X, y, _, _ = data.load(name, n_rows)
    forest = measure.make_forest(
        "weald", data.DATA_SETS[name].task, n_estimators=n_trees, n_jobs=1, random_state=0, **parameters
    )
    forest.fit(X[:100], y[:100])  # the first fit of a process includes setup
    times = []
    while sum(times) < 1 and len(times) < 10:
        began = time.process_time()
        forest.fit(X, y)
        times.append(time.process_time() - began)
    return min(times)


def best_times(name, bins, given):
    """Return the best seconds by the minimum size of a split node; the last is without splits."""
    best, n_trees = {}, given.trees or data.DATA_SETS[name].n_trees
    for _ in range(given.repeats):
        for size in (*SIZES, 2**31 - 1):
            seconds = measure.afresh(run, name, given.rows, n_trees, BINS[bins] | {"min_samples_split": size})
            measure.say(f"{name}{bins}, nodes from {size:,}: {seconds:.3f} s")
            best[size] = min(best.get(size, seconds), seconds)
    return list(best.values())


def shares(times):
    """Return fractions of the total: coding, then nodes from the largest to the smallest, clipped at 0."""
    spent = [max(0.0, more - less) for more, less in itertools.pairwise(times)]
    return [share / times[0] for share in (times[-1], *reversed(spent))]


def row(name, bins, times):
    return [f"{data.DATA_SETS[name].title}{bins and ', `max_bins=255`'}", *(f"{s:.0%}" for s in shares(times))]


TEXT = """\
Fractions of the time of a fit with one thread: reading, coding and drawing bags, then nodes by their number of draws.

{table}

{repeats}, {trees}. Measured with `benchmarks/speed/where.py` on
{machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--data", default=",".join(SHOWN), help="comma-separated names")
    parser.add_argument("--trees", type=int, help="overrides the number of each data set")
    parser.add_argument("--rows", type=int, help="maximum number of training rows")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows, given.data = 1, 2, 500, "friedman-small"
    names = given.data.split(",")
    for name in names:
        data.load(name)  # created before the measurements begin
    rows = [row(name, bins, best_times(name, bins, given)) for name in names for bins in BINS]
    header = ["", "coding", *reversed(NAMES)]
    text = TEXT.format(
        table=measure.markdown(header, rows),
        repeats=measure.best_of(given),
        trees=f"{given.trees} trees" if given.trees else "as many trees as in the README's table",
        machine=measure.describe_machine("weald"),
    )
    measure.publish(given, "where", text)


if __name__ == "__main__":
    main()
