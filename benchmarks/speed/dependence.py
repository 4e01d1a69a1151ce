"""Seconds of partial dependence: weald's one pass over all features, and scikit-learn's brute force on the same model.

    python -m benchmarks.speed.dependence [--rows 10000] [--features 50] [--trees 100] [--points 100]
        [--repeats 3] [--write]

Forests are grown on `rows` rows of `features` normal features. weald computes all features, at `points` quantiles of
each and at every threshold; scikit-learn's `partial_dependence(method="brute")` predicts all rows once for each point,
with weald's own `predict`. Its time is proportional to the number of features, so only some are measured (`measured`),
between weald's runs, and the time of all is the mean of these times their number. The largest difference is that at the
same points.
"""

import numpy as np

from benchmarks import measure


def make(n_rows, n_features, task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n_rows)
    return X, (y > 0).astype(int) if task == "classes" else y


def measure_task(task, n_rows, n_features, n_trees, n_points, n_jobs, repeats, measured):
    from sklearn.inspection import partial_dependence

    import weald

    X, y = make(n_rows, n_features, task)
    forest = measure.make_forest("weald", task, n_estimators=n_trees, random_state=0, n_jobs=n_jobs).fit(X, y)
    grid = weald.dependence(forest, X, points=n_points)
    seconds, away = {"points": [], "thresholds": [], "ale": [], "brute": []}, 0.0
    for _ in range(repeats):
        seconds["points"].append(measure.clock(lambda: weald.dependence(forest, X, points=n_points)))
        seconds["thresholds"].append(measure.clock(lambda: weald.dependence(forest, X)))
        seconds["ale"].append(measure.clock(lambda: weald.dependence(forest, X, kind="ale")))
    for feature in range(min(measured, n_features)):
        points, theirs = grid[feature].axes[0].points, []
        brute = lambda f=feature, p=points, found=theirs: found.append(  # noqa: E731
            partial_dependence(forest, X, [f], custom_values={f: p}, method="brute")["average"]
        )
        seconds["brute"].append(measure.clock(brute))
        ours = grid[feature].average[:, -1] if task == "classes" else grid[feature].average
        away = max(away, float(np.abs(ours - theirs[0][0]).max()))
    best = {name: min(found) for name, found in seconds.items() if name != "brute"}
    return [*best.values(), float(np.mean(seconds["brute"])) * n_features, away]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "partial-dependence.md")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--measured", type=int, default=3, help="features that scikit-learn is measured on")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.features, given.trees, given.points, given.repeats = 200, 4, 3, 5, 1
    lines = []
    for task in ("values", "classes"):
        found = measure.afresh(
            measure_task, task, given.rows, given.features, given.trees, given.points, given.jobs, given.repeats,
            given.measured,
        )  # fmt: skip
        measure.say(task, found)
        points, thresholds, ale, brute, away = found
        name = "regression" if task == "values" else "two classes"
        lines.append(
            [
                name,
                f"{points:.2f} s",
                f"{thresholds:.2f} s",
                f"{ale:.2f} s",
                f"{brute:,.0f} s",
                f"{brute / points:,.0f}",
            ]
            + [f"{away:.0e}"]
        )
    header = [
        f"{given.rows:,} rows, {given.features} features, {given.trees} trees",
        f"weald, {given.points} points",
        "weald, every threshold",
        "weald, ALE",
        "scikit-learn, brute force",
        "times as fast",
        "largest difference",
    ]
    text = measure.markdown(header, lines)
    text += (
        f"\n\n{measure.best_of(given)}; scikit-learn was measured on {min(given.measured, given.features)} features, "
        f"and the time multiplied. {measure.describe_machine('weald', 'scikit-learn')}."
    )
    measure.publish(given, "dependence", text)


if __name__ == "__main__":
    main()
