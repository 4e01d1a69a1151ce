"""Tuning: choosing parameters by out-of-bag error, with one forest per candidate and no cross-validation.

The table is read and coded once. All candidates have the same seed, so they differ only by their parameters.
"""

import copy
import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from weald.data.arguments import WholeNumber, is_whole
from weald.data.table import Table, TrainingArguments
from weald.data.task import Task
from weald.data.types import ColumnLike, TableLike
from weald.engines import params
from weald.engines.choose import open_engine
from weald.errors import ParameterError, shown
from weald.estimators.features import features_of
from weald.estimators.fit import check, resume
from weald.estimators.forest_base import RandomForest
from weald.estimators.metrics import Metric
from weald.estimators.out_of_bag import OutOfBag

SEARCHES = ("one_by_one", "grid")


@dataclass(frozen=True)
class TuningStep:
    """One candidate."""

    params: dict[str, object]
    error: float  # minimized: the out-of-bag error, or with `scoring` minus the score
    interval: tuple[float, float]  # of the out-of-bag error, 95 percent
    seconds: float
    is_best: bool  # so far

    @property
    def score(self) -> float:
        """With `scoring`, the score that is maximized; else minus the out-of-bag error."""
        return -self.error


@dataclass(frozen=True)
class Tuning:
    """The result of `tune`."""

    best_params: dict[str, object]
    best_error: float
    best_estimator: RandomForest  # fitted
    path: tuple[TuningStep, ...]
    has_scoring: bool = False

    @property
    def best_score(self) -> float:
        """With `scoring`, its highest value; else minus the lowest out-of-bag error."""
        return -self.best_error

    def table(self) -> dict[str, list[object]]:
        """Return the path as columns for a data frame: one row for each candidate, in the order tried."""
        columns: dict[str, list[object]] = {
            name: [step.params[name] for step in self.path] for name in self.path[0].params
        }
        if self.has_scoring:
            columns["score"] = [step.score for step in self.path]
        else:
            columns["error"] = [step.error for step in self.path]
            columns["low"] = [step.interval[0] for step in self.path]
            columns["high"] = [step.interval[1] for step in self.path]
        columns["seconds"] = [step.seconds for step in self.path]
        columns["best"] = [step.is_best for step in self.path]
        return columns

    def __str__(self) -> str:
        columns = {
            name: [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
            for name, values in self.table().items()
        }
        columns["best"] = ["*" if best else "" for best in self.table()["best"]]
        widths = {name: max(map(len, [name, *values])) for name, values in columns.items()}
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        return "\n".join("  ".join(map(str.rjust, row, widths.values())) for row in rows)

    def __repr__(self) -> str:
        found = f"score {self.best_score:.4g}" if self.has_scoring else f"error {self.best_error:.4g}"
        return f"<{self.best_params}: {found}, best of {len(self.path)} forests>"


def tune(
    forest: RandomForest,
    X: TableLike,
    y: ColumnLike,
    grid: Mapping[str, Iterable[object]] | None = None,
    *,
    sample_weight: ColumnLike = None,
    groups: ColumnLike = None,
    stratify: ColumnLike = None,
    search: str = "one_by_one",
    scoring: Metric | str | None = None,
    budget: int | None = None,
) -> Tuning:
    """Choose parameters of a forest by its out-of-bag error.

    "one_by_one" goes through the parameters in the order of the grid, tries all values of one parameter while the
    others stay fixed, and keeps the best; it repeats until nothing changes. "grid" tries every combination. A candidate
    replaces the best one only if its error is lower.

    Parameters
    ----------
    forest : RandomForestClassifier or RandomForestRegressor
        The start of the search; it is not changed. Needs `bootstrap=True`.
    X, y, sample_weight, groups, stratify
        The training data, as for `fit`.
    grid : dict, default=None
        Values to try for each parameter, by name: lists, arrays or ranges. None: values of `max_features`,
        `min_samples_leaf`, `max_samples`, `max_depth`, `min_samples_split` and `min_impurity_decrease` that suit the
        table, see `weald.inspection.tuning.suggest_grid`.
    search : {"one_by_one", "grid"}, default="one_by_one"
        How to go through the grid.
    scoring : str, callable or None, default=None
        None: the lowest out-of-bag error is best. Otherwise the highest score is best: the name of a scorer of
        scikit-learn, a scorer that `sklearn.metrics.make_scorer` returns, or a function of (y_true, y_pred). It is
        computed from out-of-bag predictions.
    budget : int, default=None
        Maximum number of forests. None: no limit.

    Returns
    -------
    Tuning
        `best_params`, `best_error` (with `scoring`: `best_score`), `best_estimator` (fitted, one of the candidates) and
        `path`, all candidates in the order tried; `table()` returns it as columns. The `interval` of a candidate is
        for its error on new rows. Candidates whose intervals overlap widely hardly differ: of those within one
        standard error (a quarter of the width) of the best you may prefer the simplest.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(n_estimators=50, random_state=0)
    >>> found = weald.tune(forest, X, y, grid={"max_features": [1, 2, 4], "min_samples_leaf": [1, 5]})
    >>> len(found.path), found.best_error <= found.path[0].error
    (4, True)
    """
    if search not in SEARCHES:
        raise ParameterError(f'search={search!r} is not allowed. Give "one_by_one" or "grid".')
    if budget is not None and not (is_whole(budget) and budget >= 1):
        raise ParameterError(f"budget={budget!r} is not allowed. Give {WholeNumber(1).describe()[0]} or None.")
    trial = _Trial(forest, scoring, math.inf if budget is None else int(budget))
    trial.read(TrainingArguments(X, y, sample_weight, groups, stratify))
    values = suggest_grid(trial.table) if grid is None else _read_grid(grid)
    unknown = [name for name in values if name not in forest.get_params()]
    if unknown or not values or not all(values.values()):
        raise ParameterError(
            f"grid={shown(grid)} is not allowed. Give a dict with the values to try for each parameter."
        )
    (_one_by_one if search == "one_by_one" else _whole_grid)(trial, values)
    return trial.result(list(values))


def _read_grid(grid: object) -> dict[str, Sequence[object]]:
    """Read the values of each parameter; a NumPy array becomes a list of Python numbers."""
    if not isinstance(grid, Mapping) or any(isinstance(v, str) or not isinstance(v, Iterable) for v in grid.values()):
        raise ParameterError(
            f"grid={shown(grid)} is not allowed. Give a dict of lists, for example {{'max_features': [2, 4, 8]}}."
        )
    return {name: list(v.tolist() if isinstance(v, np.ndarray) else v) for name, v in grid.items()}


def suggest_grid(table: Table) -> dict[str, Sequence[object]]:
    """List values worth trying, most influential parameter first."""
    n_features = table.n_features
    some = {1, math.isqrt(n_features), n_features // 3, n_features // 2, n_features}
    scale = 1.0 if table.task is Task.CLASSIFICATION else float(np.var(table.target))
    return {
        "max_features": sorted(m for m in some if m > 0),
        "min_samples_leaf": [1, 2, 5, 10, 20],
        "max_samples": [None, 0.6, 0.3],
        "max_depth": [None, 20, 10, 5],
        "min_samples_split": [2, 5, 10, 20],
        "min_impurity_decrease": [0.0, 1e-5 * scale, 1e-4 * scale],
    }


class _Trial:
    """Fits candidates to one coded table, and caches them."""

    def __init__(self, forest: RandomForest, scoring: Metric | str | None, budget: float) -> None:
        if not isinstance(forest, RandomForest):
            raise ParameterError(f"tune got a {type(forest).__name__}. Give a forest of weald.")
        self.start = clone(forest).set_params(oob_score=True, warm_start=False)
        self.start.set_params(random_state=params.draw_seed(forest.random_state))
        check(self.start)
        self.start.seed_ = self.start.random_state
        self.scoring = scoring
        self.budget = budget
        self.errors: dict[str, float] = {}
        self.steps: list[TuningStep] = []
        self.best: RandomForest | None = None
        self.best_error = math.inf

    def read(self, data: TrainingArguments) -> None:
        """Read and code the table, once for all candidates."""
        features = features_of(self.start)
        self.engine = open_engine(self.start.engine, data.X).local
        self.reading = features.read(self.engine, data, None)
        self.codes = features.code(self.engine, self.reading)
        self.table = self.reading.table

    def has_budget(self) -> bool:
        return len(self.steps) < self.budget

    def error(self, chosen: Mapping[str, object]) -> float:
        """Fit a candidate, unless an equal one was fitted under another name."""
        model = copy.copy(self.start).set_params(**chosen)
        check(model)
        key = repr((params.resolve(params.gather(model), self.table, self.reading.classes), model.n_estimators))
        if key not in self.errors:
            self.errors[key] = self._grow(model, dict(chosen))
        return self.errors[key]

    def _grow(self, model: RandomForest, chosen: dict[str, object]) -> float:
        began = time.perf_counter()
        resume(model, self.engine, self.codes, self.reading)
        found: OutOfBag = model.oob_
        error = found.error
        if self.scoring is not None:
            error = -found.score(self.scoring)
        better = error < self.best_error
        if better or self.best is None:
            self.best, self.best_error = model, error
        step = TuningStep(chosen, error, found.error_interval(), time.perf_counter() - began, better)
        self.steps.append(step)
        return error

    def result(self, names: Sequence[str]) -> Tuning:
        assert self.best is not None  # noqa: S101  (for the type checker: the first candidate is always tried)
        best = {name: getattr(self.best, name) for name in names}
        return Tuning(best, self.best_error, self.best, tuple(self.steps), self.scoring is not None)


def _candidates(values: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _whole_grid(trial: _Trial, values: Mapping[str, Sequence[object]]) -> None:
    for chosen in _candidates(values):
        if not trial.has_budget():
            return
        trial.error(chosen)


def _one_by_one(trial: _Trial, values: Mapping[str, Sequence[object]]) -> None:
    given = trial.start.get_params()
    chosen = {name: given[name] for name in values}
    lowest = trial.error(chosen)
    moved = True
    while moved:
        moved = False
        for name, choices in values.items():
            for value in choices:
                if not trial.has_budget():
                    return
                candidate = {**chosen, name: value}
                error = trial.error(candidate)
                if error < lowest:
                    chosen, lowest, moved = candidate, error, True
