"""How often 95 % intervals of the out-of-bag error contain the error on new rows.

    python -m benchmarks.accuracy.error_intervals [--trials 100] [--write]

For each setting, forests are fitted to many tables from the same source. The true error is measured on 20,000 new rows,
and averaged over the forests for the expected error. "independent" and "delta" are the methods of `error_interval`.
"""

import warnings

import numpy as np

from benchmarks import measure
from weald import RandomForestClassifier, RandomForestRegressor

# Name -> classes or not, rows, trees, noise of the target.
SETTINGS = {
    "regression, little noise": (False, 100, 500, 1.0),
    "regression, much noise": (False, 100, 500, 5.0),
    "two classes, little noise": (True, 100, 500, 0.5),
    "two classes, much noise": (True, 100, 500, 5.0),
    "two classes, 100 trees": (True, 100, 100, 0.5),
}
METHODS = ("independent", "delta")


def make(n_rows, of_classes, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = mean + noise * rng.normal(size=n_rows)
    return X, (y > 14.4).astype(int) if of_classes else y


def trial(setting, seed, new, n_jobs):
    """True error, and the interval of each method."""
    of_classes, n_rows, n_trees, noise = setting
    kind = RandomForestClassifier if of_classes else RandomForestRegressor
    model = kind(n_trees, oob_score=True, random_state=seed, n_jobs=n_jobs).fit(*make(n_rows, of_classes, noise, seed))
    predicted = model.predict(new[0])
    error = np.mean(predicted != new[1]) if of_classes else np.mean((predicted - new[1]) ** 2)
    return float(error), [model.oob_.error_interval(method=method) for method in METHODS]


def line_of(name, setting, given):
    of_classes, n_rows, n_trees, noise = setting
    new = make(given.new, of_classes, noise, 10**6)
    found = [trial(setting, seed, new, given.jobs) for seed in range(given.trials)]
    errors = np.array([error for error, _ in found])
    cells = []
    for k in range(len(METHODS)):
        low, high = np.array([intervals[k] for _, intervals in found]).T
        of_this = np.mean((low <= errors) & (errors <= high))
        of_all = np.mean((low <= errors.mean()) & (errors.mean() <= high))
        cells += [f"{100 * of_this:.0f} %", f"{100 * of_all:.0f} %", f"{np.mean(high - low):.3f}"]
    return [name, f"{n_rows}", f"{n_trees}", *cells]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "out-of-bag-error.md")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--new", type=int, default=20_000)
    given = parser.parse_args()
    settings = SETTINGS
    if given.quick:
        given.trials, given.new = 3, 100
        settings = {name: (c, 30, 20, noise) for name, (c, _, _, noise) in list(SETTINGS.items())[::2]}
    warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
    lines = []
    for name, setting in settings.items():
        lines.append(line_of(name, setting, given))
        measure.say(*lines[-1])
    of_each = ("this forest", "expected", "width")
    header = ["", "rows", "trees", *(f"{method}: {part}" for method in METHODS for part in of_each)]
    text = measure.markdown(header, lines)
    text += f"\n\n{given.trials} trials each. {measure.describe_machine('weald')}."
    measure.publish(given, "error-intervals", text)


if __name__ == "__main__":
    main()
