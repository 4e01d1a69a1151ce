"""The error of a forest under every setting of its stopping rules, from one pass over the paths of the rows.

    ErrorSurface       errors, standard errors and sizes for a grid of settings, and the choice of one
    RowsToScore        a fitted model and rows: outside the bags, or new to all trees
    measure_surface    settings  ->  ErrorSurface
    suggest_values     the values of a parameter that change a forest
    choose_shrinkage   lambda of hierarchical shrinkage with the lowest error

Each row passes each full tree once. Its votes under each setting are added up in the order of the trees, as in a
prediction, so each error is that of the truncated forest to the last bit.
"""

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from weald.data.arguments import Fraction, check_argument
from weald.data.table import Reading, up_to_one
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines import progress
from weald.engines.bagging import MAX_DRAWS
from weald.engines.interface import Codes, Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError, shown
from weald.estimators import metrics
from weald.estimators.features import features_of
from weald.estimators.merging import drop_out_of_bag
from weald.estimators.metrics import Metric
from weald.estimators.prediction import voting_of
from weald.estimators.same_data import require_same_data
from weald.estimators.truncation import TRUNCATING, limits_for
from weald.forest.forest import Forest
from weald.forest.path_limits import TreePaths
from weald.forest.pruning import link_strengths, scale_decreases
from weald.forest.shrinkage import find_classes, predict_nodes
from weald.forest.truncation import Limits

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

MOST_VALUES = 64  # values of a parameter that is given without values
MOST_OF_SEVERAL = 16  # the same with several parameters besides n_estimators
BLOCK_BYTES = 3 * 2**26  # memory limit for the settings processed at a time: sums, and votes of one tree
LEAF_BYTES = 2**26  # memory limit for the trees processed at a time and their leaves; scores need as much again
BYTES_OF_NODE = 64
ROWS_AT_A_TIME = 2**14  # votes are added in blocks that fit into the cache
RULES = ("minimum", "one_standard_error")
SHRINKAGES = (0.0, 0.1, 1.0, 10.0, 25.0, 50.0, 100.0, 500.0)  # lambda, in units of sample weight


@dataclass(frozen=True)
class ErrorSurface:
    """The error for a grid of settings: an axis for each parameter.

    Attributes
    ----------
    parameters : tuple of str
        Names of the parameters.
    values : tuple of lists
        The values of each parameter, an axis of the arrays.
    errors : array
        Error for each setting: misclassification rate, or mean squared error; with `scoring` minus the score.
    standard_errors : array
        Standard error of each error, from the number of rows; NaN with `scoring`.
    leaves : array
        Number of leaves of all trees for each setting.
    fractions : array
        Fraction of the rows that could be scored: with few trees, some rows are in every bag.
    n_rows : array
        Number of these rows: counting copies if weights are whole, else Kish's effective number.
    metric : str
        What is minimized: "error", "squared error", or the name of the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> surface = forest.oob_.surface("max_depth", values={"max_depth": [1, 2, 3, 4]})
    >>> surface.errors.round(3)
    array([0.053, 0.053, 0.04 , 0.047])
    >>> surface.choose("one_standard_error")
    {'max_depth': 1}
    """

    parameters: tuple[str, ...]
    values: tuple[list[Any], ...]
    errors: FloatArray
    standard_errors: FloatArray
    leaves: IntArray
    fractions: FloatArray
    n_rows: FloatArray
    metric: str

    @property
    def n_settings(self) -> int:
        """Number of settings that were compared."""
        return self.errors.size

    def choose(self, rule: str = "minimum") -> dict[str, Any]:
        """Choose a setting.

        Parameters
        ----------
        rule : {"minimum", "one_standard_error"}, default="minimum"
            The setting of the lowest error; or, of all settings within one standard error of it, the one with the
            fewest leaves. On a tie, the setting with the fewest leaves is chosen. Settings with so few trees
            that they score fewer rows than other settings are left out.

        Returns
        -------
        dict of parameter: value
        """
        at = np.unravel_index(self.place(rule), self.errors.shape)
        return {name: of[int(i)] for name, of, i in zip(self.parameters, self.values, at, strict=True)}

    def comparable_errors(self) -> FloatArray:
        """Return the errors of the settings that score the most rows; NaN for the others."""
        return np.where(self.fractions < self.fractions.max(), np.nan, self.errors)

    def place(self, rule: str = "minimum") -> int:
        """Return the index of the chosen setting in the flattened arrays."""
        if rule not in RULES:
            raise ParameterError(f'rule={shown(rule)} is not allowed. Give "minimum" or "one_standard_error".')
        leaves, errors = self.leaves.ravel(), self.comparable_errors().ravel()
        if np.isnan(errors).all():
            raise DataError("No row is out of bag in any setting, so no error is known. Use more trees.")
        if rule == "minimum":
            return metrics.place_of_best(errors, leaves)
        if np.isnan(self.standard_errors).all():
            raise ParameterError(
                f'rule="one_standard_error" needs standard errors, which are not known of {self.metric}. '
                'Give rule="minimum".'
            )
        return metrics.place_of_best(errors, leaves, self.standard_errors.ravel())

    def table(self) -> dict[str, list[Any]]:
        """Return columns, ready for a data frame: one row for each setting."""
        settings = list(itertools.product(*self.values))
        columns = {name: [setting[i] for setting in settings] for i, name in enumerate(self.parameters)}
        of_settings = {
            "error": self.errors,
            "standard_error": self.standard_errors,
            "leaves": self.leaves,
            "fraction": self.fractions,
        }
        return columns | {name: array.ravel().tolist() for name, array in of_settings.items()}

    def intervals(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Confidence intervals of the errors, as `error_interval` of out-of-bag estimates; NaN with `scoring`."""
        check_argument("level", level, (Fraction(one=False),))
        z = NormalDist().inv_cdf(0.5 + level / 2)
        if self.metric == "error":
            pairs = [metrics.wilson(e, n, z) for e, n in zip(self.errors.flat, self.n_rows.flat, strict=True)]
            low, high = np.reshape(pairs, (*self.errors.shape, 2)).transpose(-1, *range(self.errors.ndim))
            return low, high
        half = z * self.standard_errors
        return np.maximum(self.errors - half, 0.0), self.errors + half

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={shown(value)}" for name, value in self.choose().items())
        return f"<{self.n_settings} settings: lowest error {self.errors.ravel()[self.place()]:.4g} at {best}>"


@dataclass(frozen=True)
class RowsToScore:
    """A fitted model, and rows with their targets."""

    model: "TreeModel"
    engine: Engine
    codes: Codes | None  # source of the bags; None: the rows are new to all trees
    reading: Reading

    def surface(
        self,
        parameters: Sequence[str],
        values: Mapping[str, Iterable[object]] | None,
        scoring: Metric | str | None,
        verbose: int,
    ) -> ErrorSurface:
        """Measure the error of the model on these rows for all combinations of values."""
        return measure_surface(self, parameters, values, scoring, verbose)

    def require_unchanged(self) -> None:
        """Raise an error if rows were overwritten since the fit, which does not copy arrays of numbers."""
        codes = features_of(self.model).code(self.engine, self.reading)
        try:
            require_same_data(self.model.forest_, codes, self.reading)
        except DataError as error:
            raise DataError(
                "X or y was changed in place after the fit, so its rows are no longer the training data. Give the "
                "original table: forest.out_of_bag(X, y).surface(...)."
            ) from error

    @property
    def size(self) -> int | None:
        """Number of rows to which a fraction in `min_samples_split` refers; None for new rows."""
        if self.codes is None:
            return None
        table = self.reading.table
        return table.size if self.model.growth_.bootstrap or table.size <= MAX_DRAWS else table.n_rows

    def outside(self, begin: int, end: int, n_threads: int) -> BoolArray:
        """Mark the rows that are new to each of some trees (trees x rows)."""
        forest, n_rows = self.model.forest_, self.reading.table.n_rows
        if self.codes is None:
            return np.ones((end - begin, n_rows), dtype=np.bool_)
        origins = forest.take(range(begin, end)).origins
        outside: BoolArray = self.engine.bags(self.codes, self.model.growth_, origins, n_threads) == 0
        return outside


def rows_outside_bags(model: "TreeModel", engine: Engine, codes: Codes, reading: Reading) -> RowsToScore | None:
    """Combine a fitted model with its training data. Only the part of the codes from which bags are drawn is kept.

    None: the rows are on a cluster.
    """
    if engine.local is not engine:
        return None
    plain = drop_out_of_bag(copy.copy(model))
    return RowsToScore(plain, engine.local, engine.bag_source(codes), reading)


# ------------------------------------------------------------------------------------------------------------ settings


def measure_surface(
    rows: RowsToScore,
    parameters: Sequence[str],
    values: Mapping[str, Iterable[object]] | None = None,
    scoring: Metric | str | None = None,
    verbose: int = 0,
) -> ErrorSurface:
    """Measure the error for all combinations of the values of some parameters."""
    given = _read_values(values)
    names = _read_names(rows.model, parameters, given)
    several = len([name for name in names if name != "n_estimators"]) > 1
    most = MOST_OF_SEVERAL if several else MOST_VALUES
    axes = {name: given.get(name) or suggest_values(rows.model, name, most) for name in names}
    n_trees = axes.get("n_estimators", [rows.model.forest_.n_trees])
    of_growth = {name: of for name, of in axes.items() if name != "n_estimators"}
    settings = [dict(zip(of_growth, some, strict=True)) for some in itertools.product(*of_growth.values())]
    shrinkage = rows.model.shrinkage_
    rules = [
        (limits_for(rows.model, setting, rows.size), float(setting.get("shrinkage", shrinkage))) for setting in settings
    ]
    for number in axes.get("n_estimators", []):
        limits_for(rows.model, {"n_estimators": number})
    judged = _Pass(rows, rules, [int(n) for n in n_trees], scoring).run(verbose)
    shape = tuple(map(len, of_growth.values()))
    # The number of trees is the last axis of the pass; it is moved to its position among the parameters.
    arrays = [array.reshape(*shape, len(n_trees)) for array in judged]
    if "n_estimators" in axes:
        arrays = [np.moveaxis(array, -1, list(axes).index("n_estimators")) for array in arrays]
    else:
        arrays = [array[..., 0] for array in arrays]
    error = "error" if rows.model.task is Task.CLASSIFICATION else "squared error"
    words = error if scoring is None else scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    errors, spreads, leaves, shares, n_rows = arrays
    numbers = leaves.astype(np.int64), shares, n_rows
    return ErrorSurface(tuple(axes), tuple(axes.values()), errors, spreads, *numbers, words)


def _read_values(values: object) -> dict[str, list[Any]]:
    """Read the values of each parameter; a NumPy array becomes a list of Python numbers."""
    if not isinstance(values, Mapping | None):
        raise ParameterError(
            f"values={shown(values)} is not allowed. Give a dict of lists: {{'max_depth': [2, 4, 8]}}."
        )
    listed = {}
    for name, of in (values or {}).items():
        is_list = np.iterable(of) and not isinstance(of, str)
        listed[name] = (of.tolist() if isinstance(of, np.ndarray) else list(of)) if is_list else []
        if not listed[name]:
            raise ParameterError(f"values[{name!r}]={shown(of)} is not allowed. Give a list of values.")
    return listed


def _read_names(model: "TreeModel", parameters: Sequence[str], values: Iterable[str]) -> list[str]:
    known = [name for name in TRUNCATING if name in model.get_params(deep=False)]
    strange = [name for name in (*parameters, *values) if name not in known]
    names = [] if strange else list(dict.fromkeys([*parameters, *values]))
    if not names or len(set(parameters)) < len(parameters):
        raise ParameterError(
            f"A surface is over parameters that can be truncated, each named once: {', '.join(known)}. "
            f"{shown(strange[0]) if strange else shown(list(parameters))} was given."
        )
    return names


def choose_shrinkage(rows: RowsToScore, verbose: int = 0) -> float:
    """Return the lambda with the lowest error; on a tie, the smallest."""
    shrinkage: float = measure_surface(rows, ("shrinkage",), verbose=verbose).choose()["shrinkage"]
    return shrinkage


def suggest_values(model: "TreeModel", name: str, most: int = MOST_VALUES) -> list[Any]:
    """List values of a parameter that change the forest, from the strictest to the forest's own."""
    forest: Forest = model.forest_
    if name == "shrinkage":
        return list(SHRINKAGES)
    if name in ("min_impurity_decrease", "ccp_alpha"):
        return _suggest_decreases(model, name, most)
    if name == "n_estimators":
        return _spread_whole(1, forest.n_trees, most)
    if name == "max_depth":
        return _spread_whole(1, max(1, int(forest.depth().max())), most)
    if name == "max_leaf_nodes":
        n_leaves = (np.diff(forest.tree_start) + 1) // 2
        return _spread_whole(2, max(2, int(n_leaves.max())), most)
    low = model.growth_.min_samples_split
    high = max(low, int(forest.size[forest.tree_start[:-1]].max()))
    return _spread_whole(low, high, most)[::-1]


def _suggest_decreases(model: "TreeModel", name: str, most: int) -> list[float]:
    """Return quantiles of the values at which splits are removed."""
    forest = model.forest_
    given = float(getattr(model, name)) if name == "ccp_alpha" else model.growth_.min_impurity_decrease
    decreases = scale_decreases(forest, forest.decrease) if name == "min_impurity_decrease" else link_strengths(forest)
    found = decreases[forest.feature >= 0]
    found = found[(found > given) & np.isfinite(found)]
    if not len(found):
        return [given]
    chosen = np.quantile(np.unique(found), np.linspace(0, 1, most - 1), method="lower")
    return [*np.unique(chosen)[::-1].tolist(), given]


def _spread_whole(low: int, high: int, most: int) -> list[int]:
    """Choose whole numbers evenly on a logarithmic scale, with both ends; all of them if there are few."""
    if high - low < most:
        return list(range(low, high + 1))
    spread: list[int] = np.unique(np.rint(np.geomspace(low, high, most)).astype(np.int64)).tolist()
    return spread


# ---------------------------------------------------------------------------------------------------------------- pass


class _Pass:
    """One pass over the trees for a block of settings; sums of votes are kept for each setting, class and row."""

    def __init__(
        self,
        rows: RowsToScore,
        rules: Sequence[tuple[Limits, float]],
        n_trees: Sequence[int],
        scoring: Metric | str | None,
    ) -> None:
        self.rows, self.rules, self.n_trees, self.scoring = rows, rules, list(n_trees), scoring
        self.forest: Forest = rows.model.forest_.with_shrinkage(0.0)
        self.table = rows.reading.table.in_memory()
        self.n_threads = count_threads(rows.model.n_jobs)
        # Scoring needs a few arrays as large as the sums of a setting.
        self.n_judges = min(self.n_threads, max(1, LEAF_BYTES // (32 * self.forest.width * self.table.n_rows)))
        self.hard = voting_of(rows.model) == "hard"
        self.most_nodes = int(np.diff(self.forest.tree_start).max())
        self.most_leaves = max((limits.max_leaf_nodes for limits, _ in rules), default=0)
        given = self.table.weight
        self.weight = np.ones(self.table.n_rows) if given is None else given

    def run(self, verbose: int) -> tuple[FloatArray, ...]:
        """Return the arrays of a surface, from errors to numbers of rows (settings x numbers of trees)."""
        shape = len(self.rules), len(self.n_trees)
        results = tuple(np.full(shape, np.nan) for _ in range(5))
        step = self._settings_of_block()
        blocks = [range(first, min(first + step, shape[0])) for first in range(0, shape[0], step)]
        last = max(self.n_trees)
        with progress.watch_fit(verbose, len(blocks) * last) as watch:
            for b, block in enumerate(blocks):
                for t, found in self._judge_block(block, last):
                    columns = [i for i, n in enumerate(self.n_trees) if n == t]
                    if columns:
                        for array, of_block in zip(results, found(), strict=True):
                            array[block.start : block.stop, columns] = np.reshape(of_block, (-1, 1))
                    if watch:
                        watch((b * last + t) / (len(blocks) * last))
                del found  # free the sums of this block
        return results

    def _settings_of_block(self) -> int:
        """Return how many settings fit into memory: each needs sums and final nodes, each lambda needs votes."""
        width, n_shrinkages = self.forest.width, len({shrinkage for _, shrinkage in self.rules})
        of_setting, of_shrinkage = 8 * width * self.table.n_rows + 10 * self.most_nodes, 8 * width * self.most_nodes
        few = BLOCK_BYTES // (of_setting + of_shrinkage)  # each lambda has its own votes
        return max(1, few, (BLOCK_BYTES - n_shrinkages * of_shrinkage) // of_setting)

    def _judge_block(self, block: range, last: int) -> Iterator[tuple[int, Callable[[], tuple[list[float], ...]]]]:
        """Add the votes of each tree; yield its number, from 1, and a function that scores the trees so far."""
        n_rows, width = self.table.n_rows, self.forest.width
        sums = np.zeros((len(block), width, n_rows))
        counts = np.zeros(n_rows, dtype=np.int64)
        leaves = np.zeros(len(block), dtype=np.int64)
        has_vote = self.forest.has_vote()
        with ThreadPoolExecutor(self.n_threads) as pool, ThreadPoolExecutor(self.n_judges) as judges:
            for t, paths, leaf_of, outside in self._trees(last):
                if has_vote[t] or self.forest.task is Task.REGRESSION:
                    limits, shrinkages = zip(*self.rules[block.start : block.stop], strict=True)
                    kept = {some: paths.keep_splits(some) for some in set(limits)}
                    leaves += [int(kept[some].sum()) + 1 for some in limits]
                    ends = {some: paths.ends(splits) for some, splits in kept.items()}
                    of_nodes = {
                        some: self._node_predictions(paths.tree.with_shrinkage(some)) for some in set(shrinkages)
                    }
                    place = np.where(outside, leaf_of, paths.tree.n_nodes)  # the entry after the nodes has the vote 0
                    of_settings = map(ends.get, limits), map(of_nodes.get, shrinkages)
                    list(pool.map(_add_votes, sums, *of_settings, itertools.repeat(place)))
                    del kept, ends, of_nodes
                    counts += outside
                else:
                    leaves += 1
                yield t + 1, partial(self._judge, judges, sums, counts, leaves)

    def _trees(self, last: int) -> Iterator[tuple[int, TreePaths, IntArray, BoolArray]]:
        """Yield each tree with the leaf of each row, and a mask of the rows that are new to it."""
        n_rows = self.table.n_rows
        step = max(1, LEAF_BYTES // (16 * n_rows + BYTES_OF_NODE * self.most_nodes))
        for begin in range(0, last, step):
            end = min(begin + step, last)
            some = self.forest.take(range(begin, end))
            leaves = self.rows.engine.leaves(some, self.table.X, self.n_threads, None)
            outside = self.rows.outside(begin, end, self.n_threads)
            for t in range(begin, end):
                tree = self.forest.take([t])
                yield t, TreePaths(tree, self.most_leaves), leaves[:, t - begin].astype(np.intp), outside[t - begin]

    def _node_predictions(self, tree: Forest) -> FloatArray:
        """Return the vote of each node, and 0 for the entry after the nodes (classes x (nodes + 1))."""
        is_soft = tree.task is Task.REGRESSION or not self.hard
        votes = predict_nodes(tree) if is_soft else np.eye(tree.n_classes)[find_classes(tree)]
        return np.column_stack([votes.T, np.zeros(votes.shape[1])])

    def _judge(
        self, pool: ThreadPoolExecutor, sums: FloatArray, counts: IntArray, leaves: IntArray
    ) -> tuple[list[float], ...]:
        """Score the votes so far: error, standard error, number of leaves and fraction of rows of each setting."""
        known = counts > 0
        n = metrics.effective_rows(self.weight[known], whole=self.table.weights_whole)
        of_rows = [float(known.mean())] * len(sums), [n] * len(sums)
        if not known.any():
            return [math.nan] * len(sums), [math.nan] * len(sums), leaves.tolist(), *of_rows
        whole = bool(known.all())
        truth = self.table.target if whole else self.table.target[known]
        weight = self.weight if whole else self.weight[known]
        divisor = (counts if whole else counts[known]).astype(np.float64)
        judge = _Judge(self.rows.reading.classes, truth, weight, self.scoring, n)
        found = list(pool.map(lambda some: judge((some if whole else some[:, known]) / divisor), sums))
        return [error for error, _ in found], [spread for _, spread in found], leaves.tolist(), *of_rows


def _add_votes(sums: FloatArray, ends: IntArray, of_nodes: FloatArray, place: IntArray) -> None:
    """Add the votes of a tree under one setting; rows in its bag get 0."""
    with np.errstate(over="ignore"):  # overflow is checked later
        for begin in range(0, len(place), ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            nodes = ends.take(place[rows])
            for k, votes in enumerate(of_nodes):
                sums[k, rows] += votes.take(nodes)


@dataclass(frozen=True)
class _Judge:
    """Scores the average votes of some rows."""

    classes: Array | None
    truth: Array
    weight: FloatArray
    scoring: Metric | str | None
    n_rows: float

    def __call__(self, averages: FloatArray) -> tuple[float, float]:
        """Return the error and its standard error (averages: classes x rows)."""
        if not np.isfinite(averages).all():
            raise DataError("The targets are so large that their sums overflow. Scale y down for a surface.")
        if self.scoring is not None:
            return self._ask(averages), math.nan
        if self.classes is not None:
            wrong = _winners(averages) != self.truth
            error = float(np.average(wrong, weights=up_to_one(self.weight)))
            return error, math.sqrt(error * (1.0 - error) / self.n_rows)
        error = metrics.mean_squared_error(self.truth, averages[0], self.weight)
        spread = metrics.spread_of_squares(self.truth, averages[0], self.weight)
        return error, spread / math.sqrt(self.n_rows)

    def _ask(self, averages: FloatArray) -> float:
        weights = None if (self.weight == 1).all() else self.weight
        labels = self.truth if self.classes is None else self.classes[self.truth]
        assert self.scoring is not None  # noqa: S101  (for the type checker: the caller has asked)
        if isinstance(self.scoring, str) or metrics.is_scorer(self.scoring):
            by_row = averages[0] if self.classes is None else np.ascontiguousarray(averages.T)
            return -metrics.call_scorer(self.scoring, self.classes, by_row, labels, weights)
        predicted = averages[0] if self.classes is None else self.classes[_winners(averages)]
        return -metrics.call_metric(self.scoring, labels, predicted, weights)


def _winners(averages: FloatArray) -> IntArray:
    """Choose the class of the largest average, ties to the first (classes x rows)."""
    if len(averages) == 2:
        second: IntArray = (averages[1] > averages[0]).astype(np.int64)
        return second
    winners: IntArray = averages.argmax(axis=0)
    return winners
