"""Where the time of a fit goes: to coding, and to nodes of which size.

    python benchmarks/where.py [--data NAMES] [--trees N] [--repeats 3] [--write]

Trees are grown again and again with a larger `min_samples_split`: nodes of fewer rows become leaves, and what the fit
takes less was spent on them. With one thread the processor's time can be taken, which other programs disturb little;
runs take turns, and the best of the repeats counts. Each measurement runs in a process of its own.
"""

import itertools
import time

import data
import measure

SHOWN = ("clusters", "cover", "wide", "friedman", "friedman-small")
BINS = {"": {}, " 255": {"max_bins": 255}}
# Nodes are counted by their draws. Two draws are the least that can be divided.
SIZES = (2, 5, 33, 257, 4097)
NAMES = ("2 to 4", "5 to 32", "33 to 256", "257 to 4,096", "more")


def run(name, n_rows, n_trees, parameters):
    """Seconds that the processor spends on a fit; one that divides no node leaves reading, coding and bags."""
    X, y, _, _ = data.load(name, n_rows)
    forest = measure.make_forest(
        "weald", data.DATA_SETS[name].task, n_estimators=n_trees, n_jobs=1, random_state=0, **parameters
    )
    forest.fit(X[:100], y[:100])  # the first fit of a process sets things up
    times = []
    while sum(times) < 1 and len(times) < 10:
        began = time.process_time()
        forest.fit(X, y)
        times.append(time.process_time() - began)
    return min(times)


def best_times(name, bins, given):
    """Return the best seconds by the least size of a node that is divided; the last is that of no division at all."""
    best, n_trees = {}, given.trees or data.DATA_SETS[name].n_trees
    for _ in range(given.repeats):
        for size in (*SIZES, 2**31 - 1):
            seconds = measure.afresh(run, name, given.rows, n_trees, BINS[bins] | {"min_samples_split": size})
            measure.say(f"{name}{bins}, nodes from {size:,}: {seconds:.3f} s")
            best[size] = min(best.get(size, seconds), seconds)
    return list(best.values())


def shares(times):
    """Shares of the whole: coding, then nodes from the largest to the smallest. Noise must not make one negative."""
    spent = [max(0.0, more - less) for more, less in itertools.pairwise(times)]
    return [share / times[0] for share in (times[-1], *reversed(spent))]


def row(name, bins, times):
    return [f"{data.DATA_SETS[name].title}{bins and ', `max_bins=255`'}", *(f"{s:.0%}" for s in shares(times))]


TEXT = """\
Shares of a fit's time with one thread: reading, coding and drawing bags, then nodes by the number of their draws.

{table}

{repeats}, {trees}. Measured with `benchmarks/where.py` on
{machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--data", default=",".join(SHOWN), help="names with commas")
    parser.add_argument("--trees", type=int, help="instead of those of each data set")
    parser.add_argument("--rows", type=int, help="use no more for training")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows, given.data = 1, 2, 500, "friedman-small"
    names = given.data.split(",")
    for name in names:
        data.load(name)  # made here, not while somebody is measured
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
