"""The error of a forest under every setting of its stopping rules, from one pass over the paths of the rows.

    ErrorSurface       errors, standard errors and sizes for a grid of settings, and the choice of one
    RowsToScore        a fitted model and rows: outside the bags, or new to all trees
    measure_surface    settings  ->  ErrorSurface
    suggest_values     the values of a parameter that change a forest
    choose_shrinkage   lambda of hierarchical shrinkage with the lowest error

A row is walked down each full tree once. Its votes under each setting are added up in the order of the trees, as in a
prediction, so each error is that of the truncated forest to the last bit.
"""

import copy
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from weald.data.arguments import Fraction, check_argument
from weald.data.table import Reading, up_to_one
from weald.data.task import Task
from weald.data.types import BoolArray, FloatArray, IntArray
from weald.engines import progress
from weald.engines.bagging import MAX_DRAWS
from weald.engines.error_surface import KnownRows, SurfaceErrors, SurfaceSettings, SurfaceSums, SurfaceTrees
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
from weald.forest.error_sums import scale_of
from weald.forest.forest import Forest
from weald.forest.pruning import link_strengths, scale_decreases
from weald.forest.shrinkage import find_classes, predict_nodes
from weald.forest.truncation import Limits

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

MOST_VALUES = 64  # values of a parameter that is given without values
MOST_OF_SEVERAL = 16  # the same with several parameters besides n_estimators
BLOCK_BYTES = 3 * 2**26  # memory limit for the sums of settings
LEAF_BYTES = 2**26  # memory limit for the votes of leaves, or for the arrays that scores need
BYTES_OF_NODE = 64
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
        Number of these rows: copies where weights are whole, else Kish's effective number.
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
            fewest leaves. Ties, too, go to the fewest leaves. Settings with so few trees that they score fewer
            rows than others are excluded.

        Returns
        -------
        dict of parameter: value
        """
        at = np.unravel_index(self.place(rule), self.errors.shape)
        return {name: of[int(i)] for name, of, i in zip(self.parameters, self.values, at, strict=True)}

    def comparable_errors(self) -> FloatArray:
        """Return the errors of settings that score as many rows as any other; NaN for the rest."""
        return np.where(self.fractions < self.fractions.max(), np.nan, self.errors)

    def place(self, rule: str = "minimum") -> int:
        """Return the place of the chosen setting in the flattened arrays."""
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
    codes: Codes | None  # what bags are drawn from; None: the rows are new to all trees
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
        """Refuse rows that were overwritten since the fit: an array of numbers is not copied."""
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
        """Number of rows of which `min_samples_split` may be a fraction; None for new rows."""
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

    None: the rows are on a cluster, and stay there.
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
    axes = {name: given.get(name) or suggest_values(rows.model, name, most, rows.engine) for name in names}
    n_trees = axes.get("n_estimators", [rows.model.forest_.n_trees])
    of_growth = {name: of for name, of in axes.items() if name != "n_estimators"}
    settings = [dict(zip(of_growth, some, strict=True)) for some in itertools.product(*of_growth.values())]
    shrinkage = rows.model.shrinkage_
    rules = [
        (limits_for(rows.model, setting, rows.size), float(setting.get("shrinkage", shrinkage))) for setting in settings
    ]
    for number in axes.get("n_estimators", []):
        limits_for(rows.model, {"n_estimators": number})
    scored = _Pass(rows, rules, [int(n) for n in n_trees], scoring).run(verbose)
    shape = tuple(map(len, of_growth.values()))
    # The number of trees is the last axis of the pass; it takes its place among the others.
    arrays = [array.reshape(*shape, len(n_trees)) for array in scored]
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


def suggest_values(model: "TreeModel", name: str, most: int = MOST_VALUES, engine: Engine | None = None) -> list[Any]:
    """List values of a parameter that change the forest, from the strictest to the forest's own.

    `engine` computes the strengths of splits; None: plain Python.
    """
    forest: Forest = model.forest_
    if name == "shrinkage":
        return list(SHRINKAGES)
    if name in ("min_impurity_decrease", "ccp_alpha"):
        return _suggest_decreases(model, name, most, engine)
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


def _suggest_decreases(model: "TreeModel", name: str, most: int, engine: Engine | None) -> list[float]:
    """Return quantiles of the values at which splits are removed."""
    forest = model.forest_
    given = float(getattr(model, name)) if name == "ccp_alpha" else model.growth_.min_impurity_decrease
    if name == "min_impurity_decrease":
        decreases = scale_decreases(forest, forest.decrease)
    else:
        decreases = engine.link_strengths(forest, count_threads(model.n_jobs)) if engine else link_strengths(forest)
    found = decreases[forest.feature >= 0]
    found = found[(found > given) & np.isfinite(found)]
    if not len(found):
        return [given]
    chosen = np.quantile(np.unique(found), np.linspace(0, 1, most - 1), method="lower")
    return [*np.unique(chosen)[::-1].tolist(), given]


def _spread_whole(low: int, high: int, most: int) -> list[int]:
    """Spread whole numbers evenly on a logarithmic scale, both ends included; all of them if they are few."""
    if high - low < most:
        return list(range(low, high + 1))
    spread: list[int] = np.unique(np.rint(np.geomspace(low, high, most)).astype(np.int64)).tolist()
    return spread


# ---------------------------------------------------------------------------------------------------------------- pass


class _Pass:
    """One pass over the trees for a block of settings; sums of votes are kept for each row, class and setting."""

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
        self.hard = voting_of(rows.model) == "hard"
        n_nodes = np.diff(self.forest.tree_start)
        self.n_nodes, self.n_leaves = n_nodes, (n_nodes + 1) // 2
        given = self.table.weight
        self.weight = np.ones(self.table.n_rows) if given is None else given
        classify = self.forest.task is Task.CLASSIFICATION
        self.scale = 0 if classify else scale_of(self.table.target)
        self.known = KnownRows(
            self.table.target if classify else None,
            None if classify else np.ldexp(self.table.target, -self.scale),
            up_to_one(self.weight),
        )
        if not classify:
            _require_finite_sums(self.forest)

    def run(self, verbose: int) -> tuple[FloatArray, ...]:
        """Return the arrays of a surface, from errors to numbers of rows (settings x numbers of trees)."""
        shape = len(self.rules), len(self.n_trees)
        results = tuple(np.full(shape, np.nan) for _ in range(5))
        step = self._settings_of_block()
        blocks = [self.rules[first : first + step] for first in range(0, shape[0], step)]
        last = max(self.n_trees)
        with progress.watch_fit(verbose, len(blocks) * last) as watch:
            for b, block in enumerate(blocks):
                for end, found in self._measure_block(block, last):
                    for t, arrays in found:
                        columns = [i for i, n in enumerate(self.n_trees) if n == t]
                        for array, of_block in zip(results, arrays, strict=True):
                            array[b * step : b * step + len(block), columns] = np.reshape(of_block, (-1, 1))
                    if watch:
                        watch((b * last + end) / (len(blocks) * last))
        return results

    def _settings_of_block(self) -> int:
        """Return how many settings fit: each has sums, and votes of the leaves of a tree."""
        of_setting = (
            8 * self.forest.width * max(self.table.n_rows, int(self.n_leaves.max()) * BLOCK_BYTES // LEAF_BYTES)
        )
        return max(1, BLOCK_BYTES // of_setting)

    def _measure_block(
        self, block: Sequence[tuple[Limits, float]], last: int
    ) -> Iterator[tuple[int, Iterable[tuple[int, tuple[FloatArray, ...]]]]]:
        """Add the votes of the trees in batches; yield the number of trees so far, and results after each scored tree.

        The results are errors, standard errors, leaves, fractions of the rows and their number.
        """
        limits, shrinkages = zip(*block, strict=True)
        different = list(dict.fromkeys(shrinkages))
        settings = SurfaceSettings(limits, [different.index(shrinkage) for shrinkage in shrinkages])
        state = SurfaceSums.empty(self.table.n_rows, self.forest.width, len(block))
        for begin, end in self._parts(len(block), len(different), last):
            some = self.forest.take(range(begin, end))
            scored = np.isin(np.arange(begin + 1, end + 1), self.n_trees)
            trees = SurfaceTrees(
                some,
                self.rows.outside(begin, end, self.n_threads),
                [self._votes(some.with_shrinkage(shrinkage)) for shrinkage in different],
                _vote_weights(some),
                scored & (self.scoring is None),
            )
            found = self.rows.engine.add_to_surface(trees, self.table.X, settings, self.known, state, self.n_threads)
            numbers = (np.flatnonzero(scored) + begin + 1).tolist()
            if self.scoring is None:
                yield end, zip(numbers, self._errors(found), strict=True)
            else:
                yield end, [(t, self._scores(state)) for t in numbers]

    def _parts(self, n_settings: int, n_shrinkages: int, last: int) -> Iterator[tuple[int, int]]:
        """Divide the trees into parts whose tables fit into memory; a score ends a part."""
        of_leaf, of_node = 8 * self.forest.width * n_settings, BYTES_OF_NODE + 8 * self.forest.width * n_shrinkages
        sizes = (of_leaf * self.n_leaves + of_node * self.n_nodes + 5 * self.table.n_rows).tolist()
        begin = 0
        while begin < last:
            end = begin + 1
            while (
                end < last and sum(sizes[begin : end + 1]) <= LEAF_BYTES and not (self.scoring and end in self.n_trees)
            ):
                end += 1
            yield begin, end
            begin = end

    def _votes(self, trees: Forest) -> FloatArray:
        """Return what each node adds to the sums (nodes x width): scaled targets, or votes by weight."""
        if trees.task is Task.REGRESSION:
            return np.ldexp(predict_nodes(trees), -self.scale)
        votes = np.eye(trees.n_classes)[find_classes(trees)] if self.hard else predict_nodes(trees)
        return votes * np.repeat(_vote_weights(trees), np.diff(trees.tree_start))[:, None]

    def _errors(self, found: SurfaceErrors) -> Iterator[tuple[FloatArray, ...]]:
        """Return errors, standard errors, leaves, fractions and numbers of rows after each scored tree."""
        exponent = int(np.frexp(self.weight.max())[1])  # by which weights were scaled to at most 1
        for j, weight in enumerate(found.weight):
            share, nothing = found.n_rows[j] / self.table.n_rows, np.full(found.leaves.shape[1], np.nan)
            if not weight:
                yield nothing, nothing, found.leaves[j], nothing * 0.0 + share, nothing * 0.0
                continue
            whole = self.table.weights_whole
            n = float(np.ldexp(weight, exponent)) if whole else weight**2 / found.weight_squares[j]
            error = found.losses[j] / weight
            if self.known.classes is not None:
                spread = np.sqrt(error * (1.0 - error) / n)
            else:
                with np.errstate(over="ignore"):  # overflow with very large numbers
                    error = np.ldexp(error, 2 * self.scale)
                    spread = np.ldexp(np.sqrt(found.squares[j] / weight), 2 * self.scale) / math.sqrt(n)
            same = np.ones(len(error))
            yield error, spread, found.leaves[j], same * share, same * n

    def _scores(self, state: SurfaceSums) -> tuple[FloatArray, ...]:
        """Return the results of a metric; it is called for each setting."""
        known = state.weight > 0
        n = metrics.effective_rows(self.weight[known], whole=self.table.weights_whole)
        nothing, same = np.full(len(state.leaves), np.nan), np.ones(len(state.leaves))
        of_rows = nothing, same * state.leaves, same * known.mean(), same * n
        if not known.any():
            return nothing, *of_rows
        # A score needs a few arrays of the size of the sums of a setting.
        n_at_once = min(self.n_threads, max(1, LEAF_BYTES // (32 * self.forest.width * self.table.n_rows)))
        score = partial(self._score, state, known)
        with ThreadPoolExecutor(n_at_once) as pool:
            return np.array(list(pool.map(score, range(len(nothing))))), *of_rows

    def _score(self, state: SurfaceSums, known: BoolArray, setting: int) -> float:
        """Return minus the score of a setting."""
        scoring, classes = self.scoring, self.rows.reading.classes
        assert scoring is not None  # noqa: S101  (for the type checker: the caller has asked)
        averages = np.ldexp(state.sums[known, :, setting] / state.weight[known, None], self.scale)
        truth, weight = self.table.target[known], self.weight[known]
        weights = None if (weight == 1).all() else weight
        labels = truth if classes is None else classes[truth]
        if isinstance(scoring, str) or metrics.is_scorer(scoring):
            by_row = averages[:, 0] if classes is None else averages
            return -metrics.call_scorer(scoring, classes, by_row, labels, weights)
        predicted = averages[:, 0] if classes is None else classes[averages.argmax(axis=1)]
        return -metrics.call_metric(scoring, labels, predicted, weights)


def _vote_weights(trees: Forest) -> FloatArray:
    """Return the weight of the votes of each tree; 0: its bag is empty, so it has none."""
    if trees.task is Task.REGRESSION:
        return np.ones(trees.n_trees)
    weight = trees.tree_weight if len(trees.tree_weight) else np.ones(trees.n_trees)
    return np.where(trees.has_vote(), weight, 0.0)


def _require_finite_sums(forest: Forest) -> None:
    """Refuse numbers whose sums over trees overflow: their errors would be infinite."""
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(forest.value).max() * forest.n_trees):
            raise DataError("The targets are so large that their sums overflow. Scale y down for a surface.")
