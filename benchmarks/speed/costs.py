"""What does each parameter cost? weald compared with itself, with one parameter changed; and fixed costs.

    python -m benchmarks.speed.costs [--repeats 5] [--jobs N] [--write]

Both forests of a pair are fitted alternately in one process, and the best of the repeats counts. Then: reading the
importances, coding 1,000,000 x 28 floats into codes and ranks, and `import weald` after scikit-learn's forests.
"""

import subprocess
import sys
from typing import NamedTuple

from benchmarks import data, measure
from benchmarks.speed import threads


class Choice(NamedTuple):
    """A parameter that is changed, and the data sets to measure it on."""

    title: str
    names: tuple[str, ...]
    parameters: dict


CLASSES, VALUES = ("clusters", "cover"), ("friedman",)
CHOICES = (
    Choice('`criterion="entropy"`', CLASSES, {"criterion": "entropy"}),
    Choice('`criterion="misclassification"`', CLASSES, {"criterion": "misclassification"}),
    Choice("`oob_score=True`", CLASSES + VALUES, {"oob_score": True}),
    Choice("`max_bins=255`", CLASSES + VALUES, {"max_bins": 255}),
    Choice("`max_features=1.0`", CLASSES + VALUES, {"max_features": 1.0}),
    Choice("`max_depth=12`", CLASSES + VALUES, {"max_depth": 12}),
    Choice("`bootstrap=False`", CLASSES + VALUES, {"bootstrap": False}),
    Choice('`class_weight="balanced"`', CLASSES, {"class_weight": "balanced"}),
)


def make(name, n_trees, n_jobs, **parameters):
    task = data.DATA_SETS[name].task
    return measure.make_forest("weald", task, n_estimators=n_trees, n_jobs=n_jobs, random_state=0, **parameters)


def fit_pair(name, n_train, n_trees, n_jobs, repeats, parameters):
    """Return the best seconds without and with the change."""
    X, y, _, _ = data.load(name, n_train)
    pair = make(name, n_trees, n_jobs), make(name, n_trees, n_jobs, **parameters)
    for forest in pair:
        forest.fit(X[:100], y[:100])
    times = [[measure.clock(lambda f=forest: f.fit(X, y)) for forest in pair] for _ in range(repeats)]
    return [min(of) for of in zip(*times, strict=True)]


def read_importances(name, n_train, n_trees, n_jobs):
    """Seconds to fit, and to read the importances."""
    X, y, _, _ = data.load(name, n_train)
    forest = make(name, n_trees, n_jobs)
    return measure.time_fit("weald", forest, X, y), measure.clock(lambda: forest.feature_importances_)


IMPORT = """
import time
import {first}
began = time.perf_counter()
import {then}
print(time.perf_counter() - began)
"""


def import_after(first, then):
    """Return the seconds to import one module after another, in a new process."""
    return float(subprocess.check_output([sys.executable, "-c", IMPORT.format(first=first, then=then)]))


# --------------------------------------------------------------------------------------------------------------- show


def choice_rows(given):
    for choice in CHOICES:
        for name in ("small",) if given.quick else choice.names:
            n_trees = given.trees or min(20, data.DATA_SETS[name].n_trees)
            data.load(name)  # created before the measurements begin
            without, with_ = measure.afresh(
                fit_pair, name, given.rows, n_trees, given.jobs, given.repeats, choice.parameters
            )
            measure.say(f"{choice.title}, {name}: {without:.3f} s, {with_:.3f} s")
            title = data.DATA_SETS[name].title
            yield [choice.title, title, *map(measure.digits, (without, with_)), f"**{with_ / without:.2f}**"]


def once_rows(given):
    name, n_rows = ("small", 500) if given.quick else ("collisions", 1_000_000)
    n_columns = data.load(name).X_train.shape[1]
    read_from = "small" if given.quick else "clusters"

    def best(measured):
        return min(measured() for _ in range(given.repeats))

    fit, read = best(lambda: measure.afresh(read_importances, read_from, given.rows, given.trees or 20, given.jobs))
    yield ["reading `feature_importances_`", f"{1000 * read:.1f} ms, {100 * read / fit:.2f} % of the fit"]
    coding, _ = best(lambda: measure.afresh(threads.run, name, n_rows, 0, given.jobs))
    yield [f"coding {n_rows:,} × {n_columns}", f"{measure.digits(coding)} s"]
    own = best(lambda: import_after("sys", "sklearn.ensemble"))
    yield ["`import sklearn.ensemble`", f"{measure.digits(own)} s"]
    beyond = best(lambda: import_after("sklearn.ensemble", "weald"))
    yield ["`import weald` after it", f"{measure.digits(beyond)} s"]


TEXT = """\
Seconds to fit with weald's defaults, and with one parameter changed; the ratio is the cost of the change.

{choices}

{repeats}, {jobs} threads, up to 20 trees. Fixed costs:

{once}

Measured with `benchmarks/speed/costs.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.set_defaults(repeats=5)
    parser.add_argument("--trees", type=int, help="instead of 20")
    parser.add_argument("--rows", type=int, help="maximum number of training rows")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    header = ["parameter", "data", "default", "changed", "ratio"]
    text = TEXT.format(
        choices=measure.markdown(header, list(choice_rows(given))),
        repeats=measure.best_of(given),
        jobs=given.jobs,
        once=measure.markdown(["operation", "cost"], list(once_rows(given))),
        machine=measure.describe_machine("scikit-learn", "weald"),
    )
    measure.publish(given, "costs", text)


if __name__ == "__main__":
    main()
