"""Speedup by vector instructions: the README's data sets with each instruction set of this processor.

    python -m benchmarks.speed.simd [--data NAMES] [--repeats 3] [--jobs N] [--write]

Each measurement runs in its own process with `WEALD_SIMD` set; sets alternate, and the best of the repeats counts. The
script fails if the forests differ in any bit.
"""

import os

from benchmarks import data, measure
from benchmarks.speed import table


def supported():
    """Instruction sets, slowest first."""
    from weald import _core

    return _core.supported()[::-1]


def run(simd, name, n_train, n_trees, n_jobs):
    """Return the seconds of a fit, and the fingerprint of the forest."""
    os.environ["WEALD_SIMD"] = simd  # before weald is imported
    task = data.DATA_SETS[name].task
    X, y, _, _ = data.load(name, n_train)
    forest = measure.make_forest("weald", task, n_estimators=n_trees, n_jobs=n_jobs, random_state=0)
    return measure.time_fit("weald", forest, X, y), forest.forest_.fingerprint()


def measure_set(name, sets, given):
    """Return the best seconds by instruction set."""
    n_trees = given.trees or data.DATA_SETS[name].n_trees
    data.load(name)  # created before the measurements begin
    best, prints = {}, set()
    for _ in range(given.repeats):
        for simd in sets:
            seconds, fingerprint = measure.afresh(run, simd, name, given.rows, n_trees, given.jobs)
            measure.say(f"{name}, {simd}: {seconds:.4f} s")
            best[simd] = min(best.get(simd, seconds), seconds)
            prints.add(fingerprint)
    if len(prints) > 1:
        raise SystemExit(f"{name}: the instruction set changed the forest: {prints}")
    return best


def row(name, best, sets):
    first = best[sets[0]]
    cells = [f"{measure.digits(best[simd])} ({first / best[simd]:.2f}×)" for simd in sets[1:]]
    return [data.DATA_SETS[name].title, measure.digits(first), *cells]


TEXT = """\
Seconds to fit; in brackets, the speedup over plain x86-64 (`baseline`). On each data set, all forests had the same
fingerprint.

{table}

{repeats}, {jobs} threads. Measured with `benchmarks/speed/simd.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--data", default=",".join(table.SHOWN), help="comma-separated names")
    parser.add_argument("--trees", type=int, help="overrides the number of each data set")
    parser.add_argument("--rows", type=int, help="maximum number of training rows")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    sets = supported()
    rows = [row(name, measure_set(name, sets, given), sets) for name in given.data.split(",")]
    text = TEXT.format(
        table=measure.markdown(["data", *sets], rows),
        repeats=measure.best_of(given),
        jobs=given.jobs,
        machine=measure.describe_machine("weald"),
    )
    measure.publish(given, "simd", text)


if __name__ == "__main__":
    main()
