"""Choosing parameters by out-of-bag error, without cross-validation.

    tune            a forest, a table and a grid  ->  Tuning
    Tuning          the best parameters, and all settings that were compared
    suggest_grid    values that are worth trying

Stopping rules (see `weald.estimators.truncation`) need no forest of their own: one full forest is grown for each
combination of the other parameters, and one pass over its out-of-bag paths compares all stopping rules together. The
table is read and coded once. All forests grow from the same seed, so they differ only in their parameters.
"""

import copy
import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from weald.data.arguments import WholeNumber, is_whole
from weald.data.table import Table, TrainingArguments
from weald.data.task import Task
from weald.data.types import ColumnLike, TableLike
from weald.engines import params
from weald.engines.choose import open_engine
from weald.errors import ParameterError, shown
from weald.estimators.error_surface import SHRINKAGES, rows_outside_bags
from weald.estimators.features import features_of
from weald.estimators.fit import check, keep_out_of_bag, resume
from weald.estimators.forest_base import RandomForest
from weald.estimators.metrics import Metric
from weald.estimators.out_of_bag import OutOfBag, estimate_out_of_bag
from weald.estimators.stopping_rules import GROWTH_LIMITS
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.training_data import TrainingData
from weald.estimators.truncation import TRUNCATING, truncate

SEARCHES = ("one_by_one", "grid")


@dataclass(frozen=True)
class TuningStep:
    """One setting."""

    params: dict[str, object]
    error: float  # minimized: the out-of-bag error, or with `scoring` minus the score
    interval: tuple[float, float]  # 95 percent interval of the out-of-bag error; NaN for scores of truncated forests
    seconds: float  # time of the fit and the pass over its paths, divided by the number of settings
    forest: int  # index of the forest grown for it
    is_best: bool  # whether it was the best setting so far

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
    def n_forests(self) -> int:
        """Number of forests that were grown."""
        return self.path[-1].forest + 1

    @property
    def n_settings(self) -> int:
        """Number of settings that were compared."""
        return len(self.path)

    @property
    def best_score(self) -> float:
        """With `scoring`, its highest value; else minus the lowest out-of-bag error."""
        return -self.best_error

    def table(self) -> dict[str, list[object]]:
        """Return the path as columns for a data frame: one row for each setting, in the order tried."""
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
        return f"<{self.best_params}: {found}, best of {self.n_settings} settings from {self.n_forests} forests>"


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

    All combinations of `max_depth`, `min_samples_split`, `min_impurity_decrease`, `max_leaf_nodes`, `ccp_alpha`,
    `shrinkage` and `n_estimators` are compared with one forest: see `forest.oob_.surface`. Of the other parameters,
    "one_by_one" goes through them in the order of the grid, tries all values of one while the others are fixed, and
    keeps the best; it repeats this until nothing changes. "grid" tries every combination. A setting is better only if
    its error is lower; ties go to the first. As in `ErrorSurface.choose`, numbers of trees so low that rows cannot be
    scored, although a larger forest scores them, are in the path but are not chosen.

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
        `best_params`, `best_error` (with `scoring`: `best_score`), `best_estimator` (fitted with them), `n_forests`,
        `n_settings`, and `path`, all settings in the order tried; `table()` gives it as columns. The `interval` of a
        setting is of its error on new rows. Settings whose intervals overlap widely hardly differ: among those
        within one standard error (a quarter of the width) of the best, prefer the simplest. The lowest of many errors
        is optimistic, more so with more settings.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(n_estimators=50, random_state=0)
    >>> found = weald.tune(forest, X, y, grid={"max_features": [1, 2, 4], "min_samples_leaf": [1, 5]})
    >>> found.n_forests, found.best_error <= found.path[0].error
    (4, True)
    >>> found = weald.tune(forest, X, y, grid={"max_depth": [2, 3, 4, None], "n_estimators": list(range(20, 51))})
    >>> found.n_forests, found.n_settings
    (1, 124)
    """
    refuse_survival(
        forest,
        "weald.tune",
        "Compare `oob_score_` of forests with different parameters, or use scikit-learn's GridSearchCV.",
    )
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
    """Grows forests from one coded table, and records the errors of all settings."""

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
        self.n_forests = 0
        self.best: tuple[RandomForest, dict[str, object]] | None = None  # a forest, and the limits to truncate it to
        self.best_error = math.inf

    def read(self, data: TrainingArguments) -> None:
        """Read and code the table, once for all forests."""
        features = features_of(self.start)
        self.engine = open_engine(self.start.engine, data.X).local
        self.reading = features.read(self.engine, data, None)
        self.codes = features.code(self.engine, self.reading)
        self.table = self.reading.table

    def has_budget(self) -> bool:
        return self.n_forests < self.budget

    def error(self, chosen: Mapping[str, object], axes: Mapping[str, Sequence[object]]) -> float:
        """Return the lowest error with some parameters over all stopping rules; equal forests are grown once."""
        model = copy.copy(self.start).set_params(**chosen)
        for name, values in axes.items():
            for value in values:
                check(copy.copy(model).set_params(**{name: value}))
        model.set_params(**_loosest(axes, self.table))
        check(model)
        plain = params.resolve(params.gather(model), self.table, self.reading.classes)
        key = repr((plain, model.n_estimators, model.ccp_alpha, getattr(model, "shrinkage", 0.0)))
        if key not in self.errors:
            self.errors[key] = self._grow(model, dict(chosen), axes)
        return self.errors[key]

    def _grow(self, model: RandomForest, chosen: dict[str, object], axes: Mapping[str, Sequence[object]]) -> float:
        """Grow a forest, and compare the settings that it can be truncated to; return the lowest error."""
        began = time.perf_counter()
        resume(model, self.engine, self.codes, self.reading)
        settings: list[dict[str, object]] = list(_candidates(axes))
        if axes:
            rows = rows_outside_bags(model, self.engine, self.codes, self.reading)
            assert rows is not None  # noqa: S101  (for the type checker: the engine is local)
            surface = rows.surface(tuple(axes), axes, self.scoring, 0)
            errors, (low, high) = surface.errors.ravel().tolist(), surface.intervals()
            comparable = surface.comparable_errors().ravel().tolist()
            intervals = list(zip(low.ravel().tolist(), high.ravel().tolist(), strict=True))
        else:
            errors, intervals = [self._score(model.oob_)], [model.oob_.error_interval()]
            comparable = errors
        seconds = (time.perf_counter() - began) / len(settings)
        for setting, error, known, interval in zip(settings, errors, comparable, intervals, strict=True):
            better = known < self.best_error or (math.isnan(self.best_error) and not math.isnan(known))
            if better or self.best is None:
                self.best, self.best_error = (model, setting), known
            step = TuningStep({**chosen, **setting}, error, interval, seconds, self.n_forests, better)
            self.steps.append(step)
        self.n_forests += 1
        return float(np.nanmin(comparable)) if not np.isnan(comparable).all() else math.nan

    def _score(self, found: OutOfBag) -> float:
        return found.error if self.scoring is None else -found.score(self.scoring)

    def result(self, names: Sequence[str]) -> Tuning:
        """Truncate the best forest to its setting, with out-of-bag estimates of its own."""
        assert self.best is not None  # noqa: S101  (for the type checker: the first candidate is always tried)
        model, setting = self.best
        if setting:
            model = truncate(model, setting, self.table.size).set_params(**setting)
            training = TrainingData(model, self.engine, self.codes, self.reading, with_bags=True)
            found = estimate_out_of_bag(training.bagged(), self.reading)
            found.rows_to_score = rows_outside_bags(model, self.engine, self.codes, self.reading)
            keep_out_of_bag(model, found)
        best = {name: getattr(model, name) for name in names}
        return Tuning(best, self.best_error, model, tuple(self.steps), self.scoring is not None)


def _candidates(values: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _find_axes(forest: RandomForest, values: Mapping[str, Sequence[object]], *, own: bool) -> dict[str, list[object]]:
    """List the values of all stopping rules that are compared together.

    With `own`, the forest's own value comes first. Rules that are not in the grid are included with their current value
    if the full forest cannot be grown with them: pruning is applied last, and best-first growth depends on other rules.
    """
    if not features_of(forest).is_table:
        return {}
    axes: dict[str, list[object]] = {}
    for name in values:
        if name in TRUNCATING and not (name == "n_estimators" and "auto" in values[name]):
            given = getattr(forest, name)
            wanted = [*([given] if own and given != "auto" else []), *values[name]]
            chosen = ([*SHRINKAGES] if value == params.OUT_OF_BAG else [value] for value in wanted)
            axes[name] = list(dict.fromkeys(itertools.chain.from_iterable(chosen)))
    growth = axes.keys() & set(GROWTH_LIMITS)
    if growth - {"max_leaf_nodes"} and forest.max_leaf_nodes is not None:
        axes.setdefault("max_leaf_nodes", [forest.max_leaf_nodes])
    if growth and forest.ccp_alpha:
        axes.setdefault("ccp_alpha", [forest.ccp_alpha])
    if axes and "shrinkage" not in values and getattr(forest, "shrinkage", 0.0) == params.OUT_OF_BAG:
        axes["shrinkage"] = list(SHRINKAGES)  # each setting has its own best value
    return axes


def _loosest(axes: Mapping[str, Sequence[object]], table: Table) -> dict[str, object]:
    """Choose the loosest value of each stopping rule: its forest contains the forests of all other values."""
    found: dict[str, object] = {}
    of_growth = axes.keys() & set(GROWTH_LIMITS)
    for name, values in axes.items():
        numbers: list[Any] = [value for value in values if value is not None]
        if name in ("max_depth", "max_leaf_nodes") and (len(numbers) < len(values) or of_growth != {name}):
            found[name] = None
        elif name == "max_depth":
            found[name] = max(numbers, key=lambda depth: params.limit_depth(depth, table.n_features))
        elif name in ("max_leaf_nodes", "n_estimators"):
            found[name] = max(numbers)
        elif name == "min_samples_split":
            found[name] = 2
        else:
            found[name] = 0.0
    return found


def _whole_grid(trial: _Trial, values: Mapping[str, Sequence[object]]) -> None:
    axes = _find_axes(trial.start, values, own=False)
    for chosen in _candidates({name: of for name, of in values.items() if name not in axes}):
        if not trial.has_budget():
            return
        trial.error(chosen, axes)


def _one_by_one(trial: _Trial, values: Mapping[str, Sequence[object]]) -> None:
    axes, given = _find_axes(trial.start, values, own=True), trial.start.get_params()
    others = {name: of for name, of in values.items() if name not in axes}
    chosen = {name: given[name] for name in others}
    lowest = trial.error(chosen, axes)
    moved = True
    while moved:
        moved = False
        for name, choices in others.items():
            for value in choices:
                if not trial.has_budget():
                    return
                candidate = {**chosen, name: value}
                error = trial.error(candidate, axes)
                if error < lowest:
                    chosen, lowest, moved = candidate, error, True
