"""Choosing the pruning strength alpha on rows that the tree has not seen.

    AlphaChoice            the error of every T_alpha on new rows, and the chosen alpha
    evaluate_on_holdout    evaluates the tree itself on held-out rows
    evaluate_by_folds      cross-validation: trees with the same parameters, each evaluated on its held-out fold

The path of a row passes one leaf of every T_alpha, so one walk of each row evaluates all subtrees, often thousands.
This works for one tree and one nested parameter only. A surface over `ccp_alpha` has the same errors up to rounding,
and chooses by the same rule, but sums votes for each setting separately; it also refuses imported
trees, which can be pruned but not truncated.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from weald.data.arguments import is_whole
from weald.data.short_repr import short_repr
from weald.data.targets import labels_of
from weald.data.task import Task
from weald.data.types import Array, ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import DataError, ParameterError, shown
from weald.estimators.fit import random_state_of
from weald.estimators.metrics import effective_rows, place_of_best
from weald.forest.forest import Forest
from weald.forest.pruning import link_strengths

if TYPE_CHECKING:
    from weald.estimators.tree_base import SingleTree


@dataclass(frozen=True, repr=False)
class AlphaChoice:
    """The error of every T_alpha on new rows, and the chosen alpha.

    Arrays have one entry for each row of `pruning_path`.
    """

    alphas: FloatArray
    leaves: IntArray
    errors: FloatArray
    standard_errors: FloatArray
    best: int  # index of the minimum error; on a tie, of the smallest tree
    chosen: int  # index of the chosen tree

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def alpha(self) -> float:
        """The chosen alpha."""
        return float(self.alphas[self.chosen])

    def __str__(self) -> str:
        def describe(at: int) -> str:
            error, spread = self.errors[at], self.standard_errors[at]
            return f"{self.leaves[at]} leaves, error {error:.4g} ± {spread:.2g} (alpha {self.alphas[at]:.4g})"

        return f"chosen: {describe(self.chosen)}\nlowest: {describe(self.best)}"


@dataclass(frozen=True)
class Losses:
    """Losses of the subtrees on some rows: sums by weight, one entry for each alpha."""

    total: FloatArray
    squares: FloatArray
    weight: FloatArray  # weight of each row

    def plus(self, other: "Losses") -> "Losses":
        """Add the losses on other rows."""
        weight = np.concatenate([self.weight, other.weight])
        return Losses(self.total + other.total, self.squares + other.squares, weight)


def evaluate_on_holdout(model: "SingleTree", X: TableLike, y: ColumnLike, sample_weight: ColumnLike) -> Losses:
    """Evaluate every subtree of a tree on held-out rows."""
    labels = labels_of(model)
    if labels is not None and not np.isin(np.asarray(y), labels).any():
        raise DataError(f"y has none of the classes of the tree, {shown(labels.tolist())}. Give labels as in the fit.")
    return _evaluate(model, model.pruning_path(frame="dict")["alpha"], X, y, sample_weight)


def evaluate_by_folds(model: "SingleTree", X: TableLike, y: ColumnLike, sample_weight: ColumnLike, cv: Any) -> Losses:
    """Evaluate trees with the same parameters, each grown without one fold and pruned, on the rows of that fold.

    A subtree is T_alpha from its alpha up to the next alpha. The trees of the folds are pruned with the geometric mean
    of both, which represents that range.
    """
    alphas = model.pruning_path(frame="dict")["alpha"]
    between = np.append(np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:]), np.inf)
    losses = None
    for seen, new in _split(model, X, y, cv):
        tree = clone(model).set_params(ccp_alpha=0.0, random_state=random_state_of(model))
        weight = None if sample_weight is None else np.asarray(sample_weight)
        tree.fit(_safe_indexing(X, seen), _safe_indexing(y, seen), None if weight is None else weight[seen])
        of_fold = _evaluate(
            tree, between, _safe_indexing(X, new), _safe_indexing(y, new), None if weight is None else weight[new]
        )
        losses = of_fold if losses is None else losses.plus(of_fold)
    assert losses is not None  # noqa: S101  (for the type checker: there is a fold)
    return losses


def _evaluate(
    model: "SingleTree", alphas: FloatArray, X: TableLike, y: ColumnLike, sample_weight: ColumnLike
) -> Losses:
    """Sum the losses of T_alpha on rows, for every alpha of an ascending list."""
    target = np.asarray(y)
    weight = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    begin, end = _spans(model.forest_, alphas)
    path = model.decision_path(X).tocoo()
    passed = begin[path.col] < end[path.col]
    row, node = path.row[passed], path.col[passed]
    loss = _loss(model, target[row], node)

    def add_up(of_pairs: FloatArray) -> FloatArray:
        """Sum over the nodes that are leaves of T_alpha, for alpha in [begin, end)."""
        size = len(alphas) + 1
        starts = np.bincount(begin[node], weights=of_pairs, minlength=size)
        ends = np.bincount(end[node], weights=of_pairs, minlength=size)
        sums: FloatArray = np.cumsum(starts - ends)[:-1]
        return sums

    return Losses(add_up(weight[row] * loss), add_up(weight[row] * loss * loss), weight)


def _spans(forest: Forest, alphas: FloatArray) -> tuple[IntArray, IntArray]:
    """For each node, the range of alphas at which it is a leaf of T_alpha."""
    strengths = link_strengths(forest)
    above = forest.parents()
    begin = np.searchsorted(alphas, strengths, side="left")
    end = np.where(above < 0, len(alphas), begin[above])
    return begin, end


def _loss(model: "SingleTree", target: Array, node: IntArray) -> FloatArray:
    """Loss of a row that ends in a node: 1 for a wrong class, or the squared error."""
    value = model.tree_.value[:, 0, :]
    if model.task is Task.CLASSIFICATION:
        wrong: npt.NDArray[np.bool_] = labels_of(model)[value.argmax(axis=1)][node] != target
        return wrong.astype(np.float64)
    error: FloatArray = value[node, 0] - target.astype(np.float64)
    return error * error


def _split(model: "SingleTree", X: TableLike, y: ColumnLike, cv: Any) -> Any:
    """Divide the rows into folds: a number of folds is drawn by the seed, stratified by class."""
    classify = model.task is Task.CLASSIFICATION
    try:
        if is_whole(cv):
            folds = StratifiedKFold if classify else KFold
            splitter = folds(int(cv), shuffle=True, random_state=model.seed_ % 2**32)
        else:
            splitter = check_cv(cv, y, classifier=classify)
        splits = [(_places(seen), _places(new)) for seen, new in splitter.split(X, y)]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"cv={shown(cv)} cannot divide the rows: {error} Give a number of folds from 2, or a splitter of "
            "scikit-learn."
        ) from error
    if not splits:
        raise ParameterError(f"cv={shown(cv)} has no folds. Give a number of folds from 2.")
    return splits


def _places(rows: Any) -> IntArray:
    """Read the rows of a fold: row numbers, or a mask."""
    places = np.asarray(rows)
    if places.ndim != 1 or places.dtype.kind not in "iub":
        raise ValueError("the rows of a fold are not row numbers.")
    return np.flatnonzero(places) if places.dtype.kind == "b" else places


def choose(model: "SingleTree", losses: Losses, *, one_standard_error: bool) -> AlphaChoice:
    """Choose the tree of minimum error, or the smallest whose error is within one standard error of it."""
    path = model.pruning_path(frame="dict")
    weight = losses.weight.sum()
    errors = losses.total / weight
    variance = np.maximum(0.0, losses.squares / weight - errors * errors)
    whole = bool((losses.weight == np.floor(losses.weight)).all())  # whole weights count as copies
    spread = np.sqrt(variance / effective_rows(losses.weight, whole=whole))
    best = place_of_best(errors, path["leaves"])
    chosen = place_of_best(errors, path["leaves"], spread) if one_standard_error else best
    return AlphaChoice(path["alpha"], path["leaves"], errors, spread, best, chosen)
