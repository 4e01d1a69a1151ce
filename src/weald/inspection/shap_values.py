"""SHAP values: how much each feature moved the prediction of a row away from the base value.

explain        any X    ->  Explanation
explain_rows   rows already read           ->  Explanation
shap_values    any X    ->  an array, as `model.shap_values`

The game is path-dependent: a split on an unknown feature sends a row to both sides, in proportion to the weights of the
children (`forest_.weight`: draws times sample weight times class weight). With background rows it is interventional: an
unknown feature has their values. The engine computes exact Shapley values of these games (`engines/reference/shap.py`,
`engines/reference/interventional.py`); here they are scaled, and put together for classes, targets and bags.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import check_flags
from weald.data.dask_collections import is_dask_collection
from weald.data.schema import Schema
from weald.data.table import Matrix, TrainingArguments
from weald.data.task import Task
from weald.data.times import format_time
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, IntArray, Label, TableLike
from weald.engines.choose import open_engine
from weald.engines.interface import ShapTask, Watch
from weald.engines.threads import count_threads
from weald.errors import DataError, DataTypeError, ParameterError
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.chunked_prediction import RowProgress
from weald.estimators.features import Features
from weald.estimators.multi_output import each_target, forests_of, is_multi_output
from weald.estimators.out_of_bag import require_bags
from weald.estimators.prediction import read_matrix, voting_of
from weald.estimators.training_data import read_training_data
from weald.forest.forest import Forest
from weald.forest.partial_dependence import leaf_shares
from weald.forest.shrinkage import shrink_forest
from weald.inspection.explanation import Explanation
from weald.inspection.importance_request import ByRow

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LARGE = 2.0**1000  # sums of larger numbers may overflow
BATCH_BYTES = 2**27  # memory limit for bags


@dataclass(frozen=True)
class RowsToExplain:
    """Rows, and the trees that are used to explain each row."""

    numbers: Matrix  # values in the form that trees read
    is_new: BoolArray | None = None  # trees x rows: whether the tree explains the row; None: all do
    background: Matrix | None = None  # rows of the interventional game; None: the game is path-dependent

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])


def explain(
    model: "TreeModel",
    X: TableLike,
    y: ColumnLike = None,
    sample_weight: ColumnLike = None,
    *,
    background: TableLike = None,
    interactions: bool = False,
    out_of_bag: bool = False,
    feature_names: Sequence[str] | None = None,
    verbose: int = 0,
    **by_row: Unpack[ByRow],
) -> "Explanation | list[Explanation]":
    """Explain predictions by SHAP values: how much each feature moved them away from the base value.

    The values are exact Shapley values of the path-dependent game, for trees of any depth: features that are not known
    are averaged over by the training rows in the nodes. With `background`, they are those of the interventional game:
    features that are not known have the values of the background rows. The values describe the model, not causes;
    among correlated features, the model's use of them decides which gets the credit.

    Parameters
    ----------
    model : fitted tree or forest
        The model. Classifiers are explained by their class probabilities (as `predict_proba`), regressors by their
        means.
    X : array or data frame of shape (n_rows, n_features)
        The rows to explain. With `out_of_bag`, the training data.
    y, sample_weight : optional
        With `out_of_bag`, as given to `fit`.
    background : array or data frame of shape (n_background, n_features), optional
        The rows to compare with: the base value is their mean prediction. Time is proportional to their number, so
        give a sample, for example 100 rows.
    interactions : bool, default=False
        Whether to compute the SHAP interaction values as well: n_features times the memory.
    out_of_bag : bool, default=False
        Explain the training rows by the trees that did not see them: values and base value add up to the out-of-bag
        prediction. Rows in every bag are NaN.
    feature_names : sequence of str, optional
        Names of the features; by default those of the training table.
    verbose : int, default=0
        1 shows progress on stderr.
    groups, stratify : optional
        With `out_of_bag`, as given to `fit`.

    Returns
    -------
    Explanation
        `values`, `base_values`, `data`, `feature_names`; plots: `bar()`, `beeswarm()`, `waterfall(row)`. For a
        multi-output classifier, a list with one explanation per target.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> iris = load_iris(as_frame=True)
    >>> forest = weald.RandomForestClassifier(100, random_state=0).fit(iris.data, iris.target)
    >>> explanation = weald.explain(forest, iris.data)
    >>> explanation
    <explanation: 150 rows, 4 features, 3 outputs>
    >>> explanation.values.shape, explanation.base_values[0].round(2)
    ((150, 4, 3), array([0.33, 0.34, 0.34]))
    """
    check_flags(interactions=interactions, out_of_bag=out_of_bag)
    if interactions and background is not None:
        raise ParameterError("interactions=True is for the path-dependent game. Leave background out, or interactions.")
    unknown = next((name for name in by_row if name not in ByRow.__annotations__), None)
    if unknown is not None:
        raise TypeError(f"explain() got an unexpected keyword argument {unknown!r}")
    data = TrainingArguments(X, y, sample_weight, **by_row)
    rows = _read_out_of_bag(model, data) if out_of_bag else _read(model, data)
    if background is not None:
        _refuse_collection("background", background)
        rows = replace(rows, background=read_matrix(model, background))
    return explain_rows(model, rows, feature_names, interactions=interactions, verbose=verbose)


def explain_rows(
    model: "TreeModel",
    rows: "RowsToExplain",
    feature_names: Sequence[str] | None = None,
    *,
    interactions: bool = False,
    verbose: int = 0,
) -> "Explanation | list[Explanation]":
    """Explain rows that have already been read; see `explain`."""
    table = ExplainedTable.of(model, rows, feature_names)
    models = each_target(model)
    n_passes = (1 + interactions) * sum(len(outputs_to_compute(one.forest_)) for one in models)
    with _watches(verbose, rows.n_rows, n_passes) as watches:
        found = [_attribute(one, rows, watches, interactions=interactions) for one in models]
    if model.task is Task.CLASSIFICATION:
        named = [
            table.explanation(part.parts(), one.classes_.tolist()) for part, one in zip(found, models, strict=True)
        ]
        return named if is_multi_output(model) else named[0]
    if is_multi_output(model):
        return table.explanation(_side_by_side(found), list(range(len(found))))
    return table.explanation(found[0].parts(), None)


def shap_values(model: "TreeModel", X: TableLike, *, interactions: bool = False) -> "FloatArray | list[FloatArray]":
    """Compute SHAP values; see `TreeModel.shap_values`."""
    found = explain(model, X, interactions=interactions)
    if isinstance(found, list):
        return [_asked(one, interactions=interactions) for one in found]
    return _asked(found, interactions=interactions)


def _asked(explanation: Explanation, *, interactions: bool) -> FloatArray:
    if not interactions:
        return explanation.values
    assert explanation.interactions is not None  # noqa: S101  (for the type checker: they were requested)
    return explanation.interactions


# ------------------------------------------------------------------------------------------------------------ rows


def _read(model: "TreeModel", data: TrainingArguments) -> RowsToExplain:
    """Read rows; every tree explains each of them."""
    _refuse(model, data.X)
    training_only = {name: getattr(data, name) for name in ("y", "sample_weight", "groups", "stratify")}
    given = [name for name, value in training_only.items() if value is not None]
    if given:
        raise ParameterError(f"{given[0]} is used only with out_of_bag=True. Leave it out, or set out_of_bag=True.")
    return RowsToExplain(read_matrix(model, data.X))


def _read_out_of_bag(model: "TreeModel", data: TrainingArguments) -> RowsToExplain:
    """Read the training data again; a tree explains the rows outside its bag."""
    _refuse(model, data.X)
    require_bags(forests_of(model)[0])
    if data.y is None:
        raise ParameterError("out_of_bag=True explains the training rows, so it needs y. Give the y of the fit.")
    training = read_training_data(model, data)
    kept, table = training.reading.kept, training.reading.table.in_memory()
    n_rows = table.n_rows if kept is None else len(kept)
    is_new = np.zeros((forests_of(model)[0].n_trees, n_rows), dtype=np.bool_)
    step = max(1, BATCH_BYTES // (4 * training.n_rows))
    for begin in range(0, len(is_new), step):
        trees = range(begin, min(len(is_new), begin + step))
        is_new[trees.start : trees.stop, slice(None) if kept is None else kept] = training.bags(trees) == 0
    return RowsToExplain(table.X if kept is None else _spread(table.X, kept), is_new)


def _spread(X: Matrix, kept: BoolArray) -> Matrix:
    """Add the rows of weight 0, which were left out of the fit; they have no values."""
    if sparse.issparse(X):
        places = np.flatnonzero(kept)
        chosen = sparse.csr_matrix((np.ones(len(places)), (places, np.arange(len(places)))), (len(kept), len(places)))
        found: Matrix = sparse.csr_matrix(chosen @ X)
        return found
    whole: FloatArray = np.full((len(kept), X.shape[1]), np.nan)
    whole[kept] = X
    return whole


def _refuse(model: "TreeModel", X: TableLike) -> None:
    """Raise an error for models and tables that cannot be explained."""
    check_is_fitted(model)
    require_uncalibrated(model, "Explaining predictions")
    refuse_kernels(model)
    _refuse_collection("X", X)


def _refuse_collection(name: str, table: TableLike) -> None:
    if is_dask_collection(table):
        raise DataTypeError(
            f"{name} is a Dask collection. Give a part of it that fits into memory: {name}.head(), for example."
        )


def refuse_kernels(model: "TreeModel") -> None:
    """Raise an error if the trees do not split by columns of X."""
    if model._features is not Features:  # noqa: SLF001  (the class attribute says which kind)
        raise ParameterError(
            "The trees of a kernel forest split by the kernel values of prototypes, not by the columns of X, so its "
            "columns have no SHAP values. Use prototype importances: see its feature_importances_."
        )


# ---------------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True)
class Attribution:
    """SHAP values of one target; the last dimension is outputs."""

    values: FloatArray  # rows x features x outputs
    base: FloatArray  # rows x outputs
    pairs: FloatArray | None  # rows x features x features x outputs

    def parts(self) -> list[FloatArray | None]:
        """Return the arrays."""
        return [self.values, self.base, self.pairs]


def _attribute(
    model: "TreeModel", rows: RowsToExplain, watches: Iterator[Watch | None], *, interactions: bool
) -> Attribution:
    """Explain one target."""
    n_background = 1 if rows.background is None else int(rows.background.shape[0])
    answers = LeafAnswers.of(shrink_forest(model.forest_), voting_of(model), n_background)
    weight = answers.tree_weight
    total = np.full(rows.n_rows, weight.sum()) if rows.is_new is None else weight @ rows.is_new
    scale = np.where(total > 0, total, np.nan) / answers.unit
    means = answers.means() if rows.background is None else answers.means_of(_leaves(model, rows.background))
    base = means * weight[:, np.newaxis]
    of_rows = np.tile(base.sum(axis=0), (rows.n_rows, 1)) if rows.is_new is None else rows.is_new.T @ base
    values = _sum_over_trees(model, answers, rows, watches, pairs=False)
    values /= n_background
    pairs = _sum_over_trees(model, answers, rows, watches, pairs=True) if interactions else None
    for sums in (values, of_rows) if pairs is None else (values, of_rows, pairs):
        _divide(sums, scale)
    if np.isinf(values).any():
        raise DataError("SHAP values exceed the range of doubles. Scale the target down before the fit: y / 2**64.")
    if pairs is not None:
        diagonal = np.arange(values.shape[1])
        pairs[:, diagonal, diagonal] = values - pairs.sum(axis=2)
    return Attribution(values, of_rows, pairs)


def _divide(sums: FloatArray, scale: FloatArray) -> None:
    """Divide each row by its scale, in place."""
    with np.errstate(over="ignore"):
        sums /= scale.reshape(-1, *[1] * (sums.ndim - 1))


def _sum_over_trees(
    model: "TreeModel", answers: "LeafAnswers", rows: RowsToExplain, watches: Iterator[Watch | None], *, pairs: bool
) -> FloatArray:
    """Compute one output after the other. With two classes, values of the first are those of the second, negated."""
    engine, forest, n_threads = open_engine(model.engine).local, model.forest_, count_threads(model.n_jobs)
    sums = np.empty((rows.n_rows, *[forest.n_features] * (1 + pairs), forest.width))
    for k in outputs_to_compute(forest):
        task = ShapTask(answers.amounts(k), rows.is_new, pairs, rows.background)
        sums[..., k] = engine.shap(forest, rows.numbers, task, n_threads, next(watches))
    if forest.width == 2:
        np.subtract(0.0, sums[..., 1], out=sums[..., 0])
    return sums


def _leaves(model: "TreeModel", rows: Matrix) -> IntArray:
    """Find the leaves of rows (rows x trees), as node numbers in the forest."""
    found = open_engine(model.engine).local.leaves(model.forest_, rows, count_threads(model.n_jobs), None)
    return found + model.forest_.tree_start[:-1]


def outputs_to_compute(forest: Forest) -> range:
    """Return the classes whose probabilities the engine explains; of two classes the second."""
    return range(1, 2) if forest.width == 2 else range(forest.width)


@dataclass(frozen=True)
class LeafAnswers:
    """The predictions of leaves, and the weight of each tree."""

    forest: Forest
    of_nodes: FloatArray | sparse.csc_array  # nodes x outputs; 0 for splits
    tree_weight: FloatArray
    unit: float  # unit of the leaf predictions, chosen so that sums stay finite

    @classmethod
    def of(cls, forest: Forest, voting: str, n_background: int = 1) -> "LeafAnswers":
        """Collect the leaf predictions of a forest; values are summed over this number of background rows."""
        forest.require_votes()
        if forest.task is Task.REGRESSION:
            n_bits = (forest.n_trees * n_background).bit_length() + 2
            unit = 2.0**n_bits if np.abs(forest.value).max() > LARGE else 1.0
            return cls(forest, (forest.value / unit)[:, np.newaxis], np.ones(forest.n_trees), unit)
        weight = forest.tree_weight if len(forest.tree_weight) else np.ones(forest.n_trees)
        return cls(forest, leaf_probabilities(forest, voting), weight * forest.has_vote(), 1.0)

    def amounts(self, output: int) -> FloatArray:
        """Return the contribution of each leaf to one output: its prediction times the weight of its tree."""
        return self._column(output) * np.repeat(self.tree_weight, np.diff(self.forest.tree_start))

    def means(self) -> FloatArray:
        """Return the mean prediction of each tree if no feature is known (trees x outputs)."""
        shares, starts = leaf_shares(self.forest), self.forest.tree_start[:-1]
        columns = [np.add.reduceat(shares * self._column(k), starts) for k in range(self.forest.width)]
        return np.column_stack(columns)

    def means_of(self, leaves: IntArray) -> FloatArray:
        """Return the mean prediction of each tree over rows (trees x outputs), whose leaves are rows x trees."""
        return np.column_stack([self._column(k)[leaves].mean(axis=0) for k in range(self.forest.width)])

    def _column(self, output: int) -> FloatArray:
        return to_dense(self.of_nodes[:, [output]])[:, 0]


def leaf_probabilities(forest: Forest, voting: str) -> "sparse.csc_array":
    """Return the class probabilities of leaves (nodes x classes), or with hard votes 1 for the most common class."""
    leaves = np.flatnonzero(forest.feature < 0)
    if len(forest.value):  # two classes within monotonic constraints
        second = forest.value[leaves]
        lengths, classes = np.full(len(leaves), 2), np.tile([0, 1], len(leaves))
        probabilities = np.column_stack([1.0 - second, second]).ravel()
    else:
        lengths, classes = np.diff(forest.leaf_start), forest.leaf_class
        probabilities = forest.leaf_weight / np.repeat(_sums(forest.leaf_weight, lengths), lengths)
    nodes = np.repeat(leaves, lengths)
    if voting == "hard":
        order = np.lexsort((classes, -probabilities, nodes))  # on a tie, the first class of the leaf
        order = order[np.unique(nodes[order], return_index=True)[1]]
        nodes, classes, probabilities = nodes[order], classes[order], np.ones(len(order))
    return sparse.csc_array((probabilities, (nodes, classes)), shape=(forest.n_nodes, forest.n_classes))


def _sums(values: FloatArray, lengths: IntArray) -> FloatArray:
    """Sum parts of an array, which may be empty."""
    ends = np.concatenate([[0.0], np.cumsum(values)])[np.cumsum(np.concatenate([[0], lengths]))]
    return np.diff(ends)


# ---------------------------------------------------------------------------------------------------- explanations


@dataclass(frozen=True)
class ExplainedTable:
    """The rows and names of an explanation."""

    numbers: FloatArray
    data: Array
    names: list[str]
    ordered: BoolArray

    @classmethod
    def of(cls, model: "TreeModel", rows: RowsToExplain, feature_names: Sequence[str] | None) -> "ExplainedTable":
        """Convert rows back to the user's values and names."""
        numbers = to_dense(rows.numbers)
        ordered = np.ones(model.n_features_in_, dtype=np.bool_)
        ordered[list(model.schema_.categorical)] = False
        return cls(numbers, _with_labels(numbers, model.schema_), _names(model, feature_names), ordered)

    def explanation(self, found: list[FloatArray | None], outputs: list[Label] | None) -> Explanation:
        """Combine values and rows; without output names, the dimension of outputs is dropped."""
        values, base, pairs = found if outputs is not None else [_first(array) for array in found]
        assert values is not None and base is not None  # noqa: S101, PT018  (for the type checker: only pairs may be None)
        return Explanation(values, base, self.data, self.names, outputs, self.numbers, self.ordered, pairs)


def _first(array: FloatArray | None) -> FloatArray | None:
    return None if array is None else array[..., 0]


def _side_by_side(found: list[Attribution]) -> list[FloatArray | None]:
    """Join the targets of a regressor."""
    return [
        None if parts[0] is None else np.concatenate(parts, axis=-1)
        for parts in zip(*(one.parts() for one in found), strict=True)
    ]


def _with_labels(numbers: FloatArray, schema: Schema) -> Array:
    """Replace codes of categories by labels, and numbers of days by dates."""
    if not any(schema.categories) and not schema.times:
        return numbers
    data = numbers.astype(object)
    for f, categories in enumerate(schema.categories):
        if categories is not None:
            known = ~np.isnan(numbers[:, f])
            labels = np.append(categories.labels.astype(object), [None])  # None: missing
            data[:, f] = labels[np.where(known, numbers[:, f], -1).astype(np.intp)]
    for f, kind in schema.times.items():
        data[:, f] = [None if np.isnan(days) else format_time(days, kind) for days in numbers[:, f]]
    return data


def _names(model: "TreeModel", given: Sequence[str] | None) -> list[str]:
    """Return the names of the features: as given, of the training table, or numbers."""
    n_features = model.n_features_in_
    if given is not None and len(given) != n_features:
        raise ParameterError(f"feature_names has {len(given)} names for {n_features} features. Give one for each.")
    names = getattr(model, "column_names_", getattr(model, "feature_names_in_", None)) if given is None else given
    return [f"x{f}" for f in range(n_features)] if names is None else [str(name) for name in names]


def to_dense(table: Matrix) -> FloatArray:
    """Convert a table, which may be sparse, to an array; one that is an array already is not copied."""
    dense: FloatArray = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    return dense


# -------------------------------------------------------------------------------------------------------- progress


@contextmanager
def _watches(verbose: int, n_rows: int, n_passes: int) -> Iterator[Iterator[Watch | None]]:
    """Yield the progress callback of each pass over the rows."""
    if not verbose:
        yield itertools.repeat(None)
        return
    watch = RowProgress(n_rows)
    try:
        yield (partial(_report, watch, done, n_passes) for done in range(n_passes))
        watch(1.0)
    finally:
        watch.stop()


def _report(watch: RowProgress, done: int, n_passes: int, share: float) -> None:
    """Report the progress of one of several passes."""
    watch((done + share) / n_passes)
