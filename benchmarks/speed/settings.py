"""Training time with other parameters than in the README's table, compared with other libraries.

    python -m benchmarks.speed.settings [--cases NAMES] [--repeats 3] [--jobs N] [--write]

Regression with all features in each node and trees of limited depth, entropy, a hundred classes, out-of-bag estimates.
Measured as in table.py. LightGBM and XGBoost, if installed, are measured only on trees of limited depth, which they
grow in reasonable time.
"""

from typing import NamedTuple

from benchmarks import measure
from benchmarks.speed import table


class Case(NamedTuple):
    """A data set and parameters."""

    title: str
    name: str
    parameters: dict
    boosters: bool = False


ALL_TO_12 = {"max_features": 1.0, "max_depth": 12}
CASES = {
    "all-12": Case("regression, all features, depth 12", "friedman", ALL_TO_12, boosters=True),
    "all-12-small": Case("regression, all features, depth 12, small", "friedman-small", ALL_TO_12, boosters=True),
    "all-small": Case("regression, all features, small", "friedman-small", {"max_features": 1.0}),
    "entropy": Case("two classes, entropy", "clusters", {"criterion": "entropy", "n_estimators": 20}),
    "hundred": Case("hundred classes", "hundred", {}),
    "oob": Case("two classes, out-of-bag estimates", "clusters", {"oob_score": True, "n_estimators": 20}),
}
# oneDAL has one classification criterion, and uses scikit-learn for the others.
CANNOT = {"scikit-learn-intelex": "criterion"}


def measure_case(case, libraries, given):
    """Return the task, what was fitted, and the best by library, as table.measure_in_turns does."""
    able = [
        x
        for x in libraries
        if CANNOT.get(x) not in case.parameters and (case.boosters or measure.LIBRARIES[x][1] != "boosters")
    ]
    given.parameters = case.parameters
    given.trees = 3 if given.quick else None
    task, (_, *shape), best = table.measure_in_turns(case.name, able, given, table.Kept.begin(None, "", given.jobs))
    return task, [case.title, *shape], best


TEXT = """\
Seconds to fit, {repeats}, {jobs} threads; in brackets, weald's speedup; bold: the fastest of the other libraries.

{speed}

Test error, and memory of the fit in addition to the data.

{errors}

LightGBM and XGBoost draw 63.2 % of the rows without replacement instead of a bag; – is not measured. Measured with
`benchmarks/speed/settings.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("--cases", default=",".join(CASES), help="names with commas")
    parser.add_argument("--libraries", default=",".join(measure.installed(boosters=True)), help="names with commas")
    given = parser.parse_args()
    given.limit = given.runs = None
    given.rows = 200 if given.quick else None
    given.repeats = 1 if given.quick else given.repeats
    libraries = given.libraries.split(",")
    found = [measure_case(CASES[name], libraries, given) for name in given.cases.split(",")]
    text = TEXT.format(
        repeats=measure.best_of(given).lower(),
        jobs=given.jobs,
        speed=table.show_speed(found, libraries, given.limit),
        errors=table.show_errors(found, libraries),
        machine=measure.describe_machine(*(measure.LIBRARIES[library][0] for library in libraries)),
    )
    measure.publish(given, "settings", text)


if __name__ == "__main__":
    main()
