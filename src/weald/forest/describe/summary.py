"""The content of a tree plot: split conditions, predictions and errors of nodes.

    sketch_tree    a fitted model -> Sketch, with all nodes or with the largest

Only nodes that are shown are described, so a tree of any size can be shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.task import Task
from weald.data.types import BoolArray, FloatArray, IntArray
from weald.errors import ParameterError
from weald.forest.describe.conditions import DescribedModel, Names, format_number, questions, spreads_of
from weald.forest.forest import Forest
from weald.forest.shrinkage import find_classes, predict_nodes

OVERVIEW = 6  # depth shown if a tree is too large to be shown completely


@dataclass(frozen=True)
class Sketch:
    """Some nodes of a tree, parents before children. Arrays and lists have one entry for each node shown."""

    node: IntArray  # number in the tree
    left: IntArray  # place of the child in these arrays; -1 where there is none, or none shown
    right: IntArray
    depth: IntArray
    feature: IntArray  # -1 in leaves
    threshold: FloatArray
    size: IntArray
    question: list[str]  # condition for going left; empty in leaves
    otherwise: list[str]  # condition for going right
    answer: list[str]  # the class or mean of the node
    tally: list[str]  # number of errors, or of rows
    probabilities: FloatArray | None  # class probabilities; None in regression
    mean: FloatArray | None  # mean target, with its standard deviation; None in classification
    deviation: FloatArray | None
    error: FloatArray | None  # fraction of the rows that are not of the node's class
    hidden: IntArray  # number of nodes below that are not shown

    labels: list[str]  # class labels
    n_nodes: int  # number of nodes of the whole tree
    n_leaves: int
    max_depth: int

    @property
    def is_leaf(self) -> BoolArray:
        """Leaves of the tree itself."""
        return self.feature < 0

    @property
    def is_open(self) -> BoolArray:
        """Nodes whose children are shown."""
        return self.left >= 0


class _NodePredictions(TypedDict):
    """Predictions of nodes: the fields of `Sketch` that depend on the task."""

    answer: list[str]
    tally: list[str]
    probabilities: FloatArray | None
    error: FloatArray | None
    mean: FloatArray | None
    deviation: FloatArray | None


def sketch_tree(
    model: DescribedModel,
    *,
    tree: int = 0,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | str | None = None,
    max_nodes: int | None = None,
) -> Sketch:
    """Describe a tree for plotting.

    Parameters
    ----------
    model : fitted tree or forest
    tree : int, default=0
        Number of the tree in a forest.
    feature_names, class_names : sequence of str or None, default=None
        None: the names of the fit.
    max_depth : int, "auto" or None, default=None
        Nodes below this depth are left out. "auto": `OVERVIEW` if there are more than `max_nodes`, else no limit.
    max_nodes : int or None, default=None
        Maximum number of nodes: those with the most rows are shown.

    Examples
    --------
    >>> from weald import DecisionTreeClassifier
    >>> from weald.forest.describe.summary import sketch_tree
    >>> sketch = sketch_tree(DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["a", "a", "b"]))
    >>> sketch.question, sketch.answer, sketch.tally
    (['x0 ≤ 3', '', ''], ['a', 'a', 'b'], ['1/3', '0/2', '0/1'])
    """
    forest = one_tree(model, tree)
    names = Names.of(model, feature_names, class_names)
    labels = [] if names.classes is None else [str(label) for label in names.classes]
    depth = forest.depth()
    if max_depth == "auto":
        max_depth = OVERVIEW if max_nodes is not None and forest.n_nodes > max_nodes else None
    shown, hidden = _choose_nodes(forest, depth, _whole("max_depth", max_depth), _whole("max_nodes", max_nodes))
    place = np.full(forest.n_nodes, -1)
    place[shown] = np.arange(len(shown))
    opened = forest.feature[shown] >= 0
    opened[opened] = place[shown[opened] + 1] >= 0
    asked = questions(forest, names, shown.tolist())
    size = forest.size[shown].astype(np.int64)
    is_of_classes = forest.task is Task.CLASSIFICATION
    predictions = _predict_classes(forest, shown, labels) if is_of_classes else _predict_means(model, forest, shown)
    return Sketch(
        node=shown,
        left=np.where(opened, place[np.minimum(shown + 1, forest.n_nodes - 1)], -1),
        right=np.where(opened, place[forest.right[shown]], -1),
        depth=depth[shown],
        feature=forest.feature[shown],
        threshold=forest.threshold[shown],
        size=size,
        question=["" if q is None else q.left for q in asked],
        otherwise=["" if q is None else q.right for q in asked],
        hidden=hidden[shown],
        labels=labels,
        n_nodes=forest.n_nodes,
        n_leaves=int((forest.feature < 0).sum()),
        max_depth=int(depth.max()),
        **predictions,
    )


def _whole(name: str, value: object) -> int | None:
    """Refuse limits that are not whole numbers."""
    if value is None:
        return None
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return int(value)
    raise ParameterError(f"{name}={value!r} is not allowed. Give a whole number from 0, or None for no limit.")


def one_tree(model: DescribedModel, tree: int) -> Forest:
    """Return one tree of a fitted model."""
    check_is_fitted(model, "forest_")
    forest = model.forest_
    if forest.n_trees == 1 and tree == 0:
        return forest
    if not 0 <= tree < forest.n_trees:
        raise ParameterError(f"tree={tree} does not exist: the forest has trees 0 to {forest.n_trees - 1}.")
    return forest.take([tree])


def _choose_nodes(
    forest: Forest, depth: IntArray, max_depth: int | None, max_nodes: int | None
) -> tuple[IntArray, IntArray]:
    """Choose nodes to show; also return the number of nodes below each that are not shown.

    Splits are opened in the order of their size. A node is larger than its children, so it is opened before them.
    """
    cuts = np.flatnonzero(forest.feature >= 0)
    opened = cuts if max_depth is None else cuts[depth[cuts] < max_depth]
    if max_nodes is not None and 2 * len(opened) + 1 > max_nodes:
        order = np.argsort(-forest.size[opened].astype(np.int64), kind="stable")
        opened = np.sort(opened[order[: max(0, (max_nodes - 1) // 2)]])
    shown = np.sort(np.concatenate([[0], opened + 1, forest.right[opened]]))
    below = _count_below(forest, depth)
    hidden = np.where(np.isin(np.arange(forest.n_nodes), opened), 0, below)
    return shown, hidden


def _count_below(forest: Forest, depth: IntArray) -> IntArray:
    """Count the nodes below each node, from the deepest upward."""
    below = np.zeros(forest.n_nodes, dtype=np.int64)
    cuts = np.flatnonzero(forest.feature >= 0)
    order = cuts[np.argsort(depth[cuts], kind="stable")]
    levels = np.split(order, np.cumsum(np.bincount(depth[cuts]))[:-1]) if len(cuts) else []
    for nodes in reversed(levels):
        below[nodes] = 2 + below[nodes + 1] + below[forest.right[nodes]]
    return below


def _predict_classes(forest: Forest, shown: IntArray, labels: list[str]) -> _NodePredictions:
    """Describe the class of each node, and the number of rows of other classes."""
    weights = forest.class_weights()
    size = forest.size.astype(np.float64)
    counted = bool((weights[0] >= 0).all() and (weights.sum(axis=1) == size).all())
    weights, size = weights[shown], size[shown]
    total = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1.0)
    winner, each = find_classes(forest)[shown], np.arange(len(shown))
    error = 1 - shares[each, winner]
    if counted:
        wrong = size - weights[each, winner]
        tally = [f"{int(w)}/{int(n)}" for w, n in zip(wrong, size, strict=True)]
    else:  # with weights that are not counts, errors are a fraction of the weight
        tally = [f"{e:.0%} of {int(n)}" for e, n in zip(error, size, strict=True)]
    return {
        "answer": [labels[k] if w > 0 else "no vote" for k, w in zip(winner, total[:, 0], strict=True)],
        "tally": tally,
        "probabilities": predict_nodes(forest)[shown],
        "error": error,
        "mean": None,
        "deviation": None,
    }


def _predict_means(model: DescribedModel, forest: Forest, shown: IntArray) -> _NodePredictions:
    """Describe the mean and standard deviation of each node, or its median and mean deviation."""
    mean, deviation = predict_nodes(forest)[shown, 0], spreads_of(model, forest)[shown]
    return {
        "answer": [format_number(m) for m in mean],
        "tally": [f"± {format_number(d)}, {int(n)} rows" for d, n in zip(deviation, forest.size[shown], strict=True)],
        "probabilities": None,
        "error": None,
        "mean": mean,
        "deviation": deviation,
    }
