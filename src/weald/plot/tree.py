"""Plot of a tree.

TreeDisplay    cards for nodes, and lines whose thickness shows the number of rows, laid out by `layout.py`
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path

from weald.data.targets import labels_of
from weald.data.types import ColumnLike, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.prediction import mark_paths
from weald.forest.describe.summary import Sketch, sketch_tree
from weald.forest.shrinkage import find_classes
from weald.plot.axes import figure_of
from weald.plot.cards import Card, FittedText, Pen, Words, write_cards
from weald.plot.layout import place_levels, place_nodes
from weald.plot.palette import LINE

GAP_BESIDE = {"down": 12.0, "right": 6.0}  # gap between neighbors in points
GAP_LEVELS = {"down": 30.0, "right": 34.0}
MARGIN = 8.0
WIDEST = 15 * 72.0  # wider trees are drawn from left to right
THINNEST, THICKEST = 0.7, 5.0  # line widths between nodes

Floats = npt.NDArray[np.float64]


def _tally(model: TreeModel, tree: int, sketch: Sketch, X: TableLike, y: ColumnLike) -> list[str]:
    """Count the test rows at each node of a sketch, and how many of them have another class than the node."""
    forest = model.forest_
    nodes = forest.tree_start[tree] + sketch.node
    passes = mark_paths(model, X).tocsc()[:, nodes]
    sizes = np.diff(passes.indptr)
    truth, labels = np.asarray(y).reshape(-1), labels_of(model)
    if len(truth) != passes.shape[0]:
        raise DataError(f"X has {passes.shape[0]} rows but y has {len(truth)}. Give one target for each row.")
    if labels is None:
        return [str(n) for n in sizes.tolist()]
    predicted = np.asarray(labels)[find_classes(forest)[nodes]]
    rows = np.split(passes.indices, passes.indptr[1:-1])
    return [f"{np.count_nonzero(truth[at] != label)}/{len(at)}" for at, label in zip(rows, predicted, strict=True)]


class TreeDisplay:
    """A tree: each node is a card with its split, its class and errors, and a bar of the class probabilities.

    Create it with `from_estimator`. The card of a split shows its condition and, below, the class that the node would
    predict with "errors/rows"; rows that satisfy the condition go left (or up). A leaf has the color of its class. In
    regression, cards show the mean, and the bar its position with one standard deviation to each side. The thickness of
    a line shows the number of rows.

    Parameters
    ----------
    sketch : weald.forest.describe.summary.Sketch
        The nodes to draw, with their texts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.
    boxes_ : array of shape (n_nodes, 4)
        Left, bottom, width and height of each card, in points of the unscaled plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import DecisionTreeClassifier
    >>> from weald.plot import TreeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> display = TreeDisplay.from_estimator(tree, class_names=["setosa", "versicolor", "virginica"])
    >>> display.sketch.tally
    ['100/150', '0/50', '50/100', '5/54', '1/46']
    >>> display.figure_.savefig("iris.svg")  # doctest: +SKIP
    """

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        *,
        tree: int = 0,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | str | None = "auto",
        max_nodes: int | None = 511,
        orientation: str = "auto",
        X: TableLike = None,
        y: ColumnLike = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a tree.

        Parameters
        ----------
        estimator : fitted tree or forest
        tree : int, default=0
            Number of the tree in a forest.
        feature_names, class_names : sequence of str or None, default=None
            None: the names seen in `fit`.
        max_depth : int, "auto" or None, default="auto"
            Deeper nodes are not drawn; a card shows how many nodes it hides. "auto": 6 if there are more than
            `max_nodes` nodes, else no limit.
        max_nodes : int or None, default=511
            Maximum number of cards; those with the most rows are drawn. A full tree of depth 8 has 511.
        orientation : {"auto", "down", "right"}, default="auto"
            Direction of growth. "auto" is down, or right if the tree would be wider than a page.
        X : array or data frame of shape (n_rows, n_features), optional
            Test data. Cards then have "errors/rows" of the training data and of the test data: "5/54, test 2/17". In
            regression they have the numbers of rows.
        y : array of shape (n_rows,), optional
            The targets of the test data.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; the tree is scaled to fit. None: a new figure, with text in full size.

        Returns
        -------
        TreeDisplay
        """
        names = {"feature_names": feature_names, "class_names": class_names}
        sketch = sketch_tree(estimator, tree=tree, **names, max_depth=max_depth, max_nodes=max_nodes)
        if (X is None) != (y is None):
            raise DataError("Test data needs both X and y. Give both, or neither.")
        if X is not None:
            told = zip(sketch.tally, _tally(estimator, tree, sketch, X, y), strict=True)
            sketch = replace(sketch, tally=[f"{training}, test {test}" for training, test in told])
        return cls(sketch).plot(ax=ax, orientation=orientation)

    def plot(self, ax: Axes | None = None, *, orientation: str = "auto", tags: list[str] | None = None) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure, with text in full size.
        orientation : {"auto", "down", "right"}, default="auto"
            Direction of growth.
        tags : list of str or None, default=None
            Text before the condition of each node, for example a letter.

        Returns
        -------
        TreeDisplay
            Itself.
        """
        orientation, cards, boxes = _lay_out(self.sketch, tags, orientation)
        self.boxes_ = boxes
        note = self._note()
        right, top = (boxes[:, 0] + boxes[:, 2]).max(), (boxes[:, 1] + boxes[:, 3]).max()
        frame = (-MARGIN, right + MARGIN, -3 * MARGIN if note else -MARGIN, top + MARGIN)
        self.ax_ = ax or _full_size(frame)
        self.figure_ = figure_of(self.ax_)
        self.ax_.set(xlim=frame[:2], ylim=frame[2:], aspect="equal")
        self.ax_.set_axis_off()
        self._draw_lines(boxes, orientation)
        Pen(self.ax_, self.sketch, cards, boxes).draw()
        self._answer_at_root(boxes, orientation)
        if note:
            self.ax_.add_artist(FittedText((frame[0] + frame[1]) / 2, -2 * MARGIN, Words(note, italic=True)))
        return self

    def _note(self) -> str:
        """Return a note on what is not drawn."""
        shown, all_nodes = len(self.sketch.node), self.sketch.n_nodes
        if shown == all_nodes:
            return ""
        depth = f"down to depth {self.sketch.depth.max()} of {self.sketch.max_depth}"
        return f"{shown:,} of {all_nodes:,} nodes are drawn, those with the most rows, {depth}"

    def _draw_lines(self, boxes: Floats, orientation: str) -> None:
        """Draw a curve from each parent to its children."""
        paths, widths = [], []
        total = self.sketch.size[0]
        for parent in np.flatnonzero(self.sketch.is_open):
            for child in (self.sketch.left[parent], self.sketch.right[parent]):
                start, end = _ends(boxes[parent], boxes[child], orientation)
                paths.append(_curve(start, end, orientation))
                widths.append(self.sketch.size[child] / total)
        if paths:
            lines = THINNEST + (THICKEST - THINNEST) * np.array(widths)
            self.ax_.add_collection(
                PathCollection(paths, facecolors="none", edgecolors=LINE, linewidths=lines, capstyle="butt", zorder=1)
            )

    def _answer_at_root(self, boxes: Floats, orientation: str) -> None:
        """Label the two sides below the root."""
        if not self.sketch.is_open[0]:
            return
        for child, word, side in ((self.sketch.left[0], "yes", -1), (self.sketch.right[0], "no", 1)):
            (_, (x, y)) = _ends(boxes[0], boxes[child], orientation)
            words = Words(word)
            # Beside the end of the line, on the outer side.
            place = (x + side * (6 + words.width / 2), y + 5) if orientation == "down" else (x - 10, y - side * 10 - 3)
            self.ax_.add_artist(FittedText(*place, words))


def _lay_out(sketch: Sketch, tags: list[str] | None, orientation: str) -> tuple[str, list[Card], Floats]:
    """Create the cards and their positions: left, bottom, width, height, in points."""
    if orientation not in ("auto", "down", "right"):
        raise ParameterError(f'orientation={orientation!r} is not allowed. Give "auto", "down" or "right".')
    if orientation == "auto":
        _, cards, boxes = _lay_out(sketch, tags, "down")
        too_wide = (boxes[:, 0] + boxes[:, 2]).max() > WIDEST
        return _lay_out(sketch, tags, "right") if too_wide else ("down", cards, boxes)
    down = orientation == "down"
    cards = write_cards(sketch, tags, flat=not down)
    width, height = np.array([card.width() for card in cards]), np.array([card.height() for card in cards])
    breadth, thickness = (width, height) if down else (height, width)
    across = place_nodes(sketch.left, sketch.right, breadth, GAP_BESIDE[orientation])
    along = place_levels(sketch.depth, thickness, GAP_LEVELS[orientation])[sketch.depth]
    x, y = (across - width / 2, -along - height) if down else (along, -across - height / 2)
    return orientation, cards, np.column_stack([x, y - y.min(), width, height])


def _ends(parent: Floats, child: Floats, orientation: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return where a line leaves the parent and meets the child."""
    if orientation == "down":
        return (parent[0] + parent[2] / 2, parent[1]), (child[0] + child[2] / 2, child[1] + child[3])
    return (parent[0] + parent[2], parent[1] + parent[3] / 2), (child[0], child[1] + child[3] / 2)


def _curve(start: tuple[float, float], end: tuple[float, float], orientation: str) -> Path:
    """Return a curve that leaves and arrives in the direction of the tree."""
    (x, y), (u, v) = start, end
    bend = [(x, (y + v) / 2), (u, (y + v) / 2)] if orientation == "down" else [((x + u) / 2, y), ((x + u) / 2, v)]
    return Path([start, *bend, end], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])


def _full_size(frame: tuple[float, float, float, float]) -> Axes:
    """Create a figure in which a unit of the frame is a point."""
    from matplotlib import pyplot as plt

    figure: Figure = plt.figure(figsize=((frame[1] - frame[0]) / 72, (frame[3] - frame[2]) / 72))
    return figure.add_axes((0, 0, 1, 1))
