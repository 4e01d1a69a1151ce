"""`weald bench`: speed on this machine, compared with other installed libraries."""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from weald.cli import screen
from weald.cli.options import Jobs, Json

if TYPE_CHECKING:
    from weald.data.types import Array


class Peer(Protocol):
    """A classifier of any library."""

    def fit(self, X: "Array", y: "Array", /) -> object:
        """Fit to a table."""

    def predict(self, X: "Array", /) -> "Array":
        """Predict rows."""


def bench(
    rows: Annotated[int, typer.Option(min=10, metavar="N", help="Number of rows")] = 20_000,
    columns: Annotated[int, typer.Option(min=3, metavar="N", help="Number of columns")] = 20,
    trees: Annotated[int, typer.Option(min=1, metavar="N", help="Number of trees")] = 50,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each library; the fastest counts")] = 3,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Compare the speed of weald with other installed libraries.

    All fit forests of the same size to the same synthetic table, in turn; the fastest of several runs counts. Boosting
    libraries run in random-forest mode; they and scikit-learn-intelex bin values, so their splits are not exact.
    """
    import numpy as np

    from weald.engines.threads import count_threads

    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows) > 0).astype(int)
    n_test = rows // 5
    n_threads = count_threads(jobs)
    makers = _makers(trees, n_threads, columns)
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for name, make in makers.items():
            found = _measure(make, X[n_test:], y[n_test:], X[:n_test], y[:n_test])
            old = best.setdefault(name, found)
            best[name] = {key: (min if key != "accuracy" else max)(found[key], old[key]) for key in found}
    facts = {"rows": rows, "columns": columns, "trees": trees, "threads": n_threads, "results": best}
    if json:
        screen.show_json(facts)
        return
    screen.say(f"{rows:,} rows, {columns} columns, {trees} trees, {n_threads} threads; best of {repeats}\n")
    ours = best["weald"]
    lines = [
        [
            name,
            f"{t['fit']:.3f} s",
            f"{t['fit'] / ours['fit']:.1f} ×",
            f"{t['predict'] * 1000:.1f} ms",
            f"{t['predict'] / ours['predict']:.1f} ×",
            f"{t['accuracy']:.4f}",
        ]
        for name, t in best.items()
    ]
    screen.show_table(["library", "fit", "ratio", "predict", "ratio", "accuracy"], lines, numeric=range(1, 6))


def _makers(trees: int, n_threads: int, columns: int) -> dict[str, Callable[[], Peer]]:
    """Return constructors for the forests of all installed libraries."""
    import sklearn.ensemble

    import weald

    share = max(1, round(columns**0.5)) / columns
    makers: dict[str, Callable[[], Peer]] = {
        "weald": lambda: weald.RandomForestClassifier(trees, n_jobs=n_threads, random_state=0),
        "scikit-learn": lambda: sklearn.ensemble.RandomForestClassifier(trees, n_jobs=n_threads, random_state=0),
    }
    if find_spec("sklearnex"):
        import sklearnex.ensemble  # type: ignore[import-untyped, import-not-found, unused-ignore]

        makers["scikit-learn-intelex"] = lambda: sklearnex.ensemble.RandomForestClassifier(
            trees, n_jobs=n_threads, random_state=0
        )
    if find_spec("lightgbm"):
        import lightgbm

        makers["lightgbm (rf mode)"] = lambda: lightgbm.LGBMClassifier(
            boosting_type="rf", n_estimators=trees, num_leaves=4096, min_child_samples=1, bagging_freq=1,
            bagging_fraction=0.632, feature_fraction_bynode=share, n_jobs=n_threads, verbose=-1,
        )  # fmt: skip
    if find_spec("xgboost"):
        import xgboost

        makers["xgboost (rf mode)"] = lambda: xgboost.XGBRFClassifier(
            n_estimators=trees, max_depth=16, subsample=0.632, colsample_bynode=share, n_jobs=n_threads
        )
    return makers


def _measure(make: Callable[[], Peer], X: "Array", y: "Array", X_test: "Array", y_test: "Array") -> dict[str, float]:
    from weald.cli.modeling import quiet_warnings

    model = make()
    with quiet_warnings():
        began = time.perf_counter()
        model.fit(X, y)
        grown = time.perf_counter()
        predicted = model.predict(X_test)
        done = time.perf_counter()
    return {"fit": grown - began, "predict": done - grown, "accuracy": float((predicted == y_test).mean())}
