"""Explaining a split: every split that was considered for a node, with its gain.

The caller passes the training data again. The rows of the node are found by predicting their leaves, the bag is drawn
again, and the definition (`engines/reference/definition.py`) lists the candidates. So the best one is the split of the
tree, whichever engine grew it.

    SplitExplanation    the candidate splits of a node, best first, and why the best one was chosen, or why the node is
                        a leaf
    explain_split       from a tree, a node and the training data to an explanation
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np

from weald.data.arguments import is_whole
from weald.data.result_frame import as_frame
from weald.data.short_repr import short_repr
from weald.data.task import Task
from weald.data.types import Array, IntArray
from weald.engines.reference import definition
from weald.errors import ParameterError, shown
from weald.estimators.training_data import TrainingData
from weald.forest.describe.conditions import SIDES, Names, SplitCondition, format_number
from weald.forest.describe.text import count_below
from weald.forest.forest import Forest
from weald.inspection.importance_result import Frame

SHOWN = 8  # number of candidates printed


@dataclass(frozen=True, repr=False)
class SplitExplanation:
    """The candidate splits of a node, best first, and why the best was chosen, or why the node is a leaf. Print it."""

    node: int
    samples: int
    impurity: float
    looked_at: tuple[str, ...]  # features with an admissible split, in the order in which they were drawn
    cuts: dict[str, Array | list[str] | list[str | None]]  # columns; one entry for each admissible split
    why: str

    def __repr__(self) -> str:
        return short_repr(self)

    def candidates(self, frame: str = "pandas") -> Frame:
        """List the admissible splits as a data frame, best first.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"

        Returns
        -------
        data frame
            `split` as text, `feature`, `threshold`, `missing` (the side of missing values; None if the node has none),
            `samples_left`, `samples_right` and `gain` (as in `nodes`).
        """
        return as_frame(self.cuts, frame)

    def __str__(self) -> str:
        lines = [f"node {self.node}: {self.samples} rows, impurity {format_number(self.impurity)}"]
        n_cuts = len(self.cuts["gain"])
        if n_cuts:
            lines.append(f"{_count(n_cuts, 'split')} of {_count(len(self.looked_at), 'feature')}, by gain:")
        best = list(zip(self.cuts["gain"], self.cuts["split"], strict=True))[:SHOWN]
        lines += [f"{gain:12.6f}  {words}" for gain, words in best]
        if n_cuts > SHOWN:
            lines.append(f"{'…':>12}  {n_cuts - SHOWN} more")
        return "\n".join([*lines, self.why])


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


class Cut(NamedTuple):
    """A split and its sort key: the smallest key is best."""

    # -(score - noise), -tie score, order of the feature, -score, imbalance, position among the splits
    key: tuple[float, float, int, float, int, int]
    split: definition.Split
    words: SplitCondition
    gain: float


def explain_split(training: TrainingData, node: int, names: Names) -> SplitExplanation:
    """List the candidate splits of a node."""
    forest: Forest = training.model.forest_
    if not (is_whole(node) and 0 <= node < forest.n_nodes):
        raise ParameterError(f"node={shown(node)} does not exist. Give a number from 0 to {forest.n_nodes - 1}.")
    tree, grown = _grow_again(training, int(node))
    stop = _must_stop(tree, grown)
    cuts = [] if stop else sorted(_list_cuts(tree, grown, names), key=lambda cut: cut.key)
    turns = {cut.key[2]: cut.words.name for cut in cuts}
    return SplitExplanation(
        node=int(node),
        samples=grown.tally.size,
        impurity=float(training.model.tree_.impurity[node]),
        looked_at=tuple(turns[turn] for turn in sorted(turns)),
        cuts={
            "split": [cut.words.left for cut in cuts],
            "feature": [cut.words.name for cut in cuts],
            "threshold": np.array([cut.words.threshold for cut in cuts], dtype=np.float64),
            "missing": [SIDES[0 if c.split.missing_left else 1] if c.words.mentions_missing else None for c in cuts],
            "samples_left": np.array([cut.split.left.size for cut in cuts], dtype=np.int64),
            "samples_right": np.array([cut.split.right.size for cut in cuts], dtype=np.int64),
            "gain": np.array([cut.gain for cut in cuts], dtype=np.float64),
        },
        why=stop or _explain_choice(training, int(node), cuts),
    )


# ------------------------------------------------------------------------------------------------- rebuilding the node


class DefinitionCodes:
    """The codes of a column in the form of the definition, where None is a missing value."""

    def __init__(self, codes: IntArray) -> None:
        self._codes = codes

    def __getitem__(self, row: int) -> int | None:
        code = int(self._codes[row])
        return None if code == definition.MISSING else code


def _grow_again(training: TrainingData, node: int) -> tuple[definition.Tree, definition.Node]:
    """Rebuild a node before its split, in the form of the definition. Its ranks are rows of the table."""
    forest: Forest = training.model.forest_
    (origin,) = forest.origins
    ((seed, number),) = origin.trees()
    growth = training.model.growth_.with_bags(origin.bags)
    plain = definition.Growth(**{name: getattr(growth, name) for name in definition.Growth.__dataclass_fields__})
    sizes = training.engine.bags(training.codes, growth, forest.origins, 1)[0]
    coded = _as_definition(training)
    bag = definition.weigh_bag(coded, plain, sizes.tolist())
    target = definition.target_of(coded, plain)
    tree = definition.Tree(coded, target, plain, bag, seed, number, decrease_unit=2 * target.exponent)
    definition.measure_root(tree, sum(bag.weights))
    leaves = training.engine.leaves(forest, training.reading.table.X, 1, None)[:, 0]
    return tree, _walk_to(tree, forest, node, np.where(sizes > 0, leaves, NOWHERE))


def _as_definition(training: TrainingData) -> definition.Coded:
    """Convert a coded table of any engine for the definition; rows keep the order of the table."""
    table = training.reading.table
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    target, columns = table.target.tolist(), []
    for f in range(table.n_features):
        codes, lows, highs = training.engine.column(training.codes, f)
        plain = cast("list[int | None]", DefinitionCodes(codes))
        columns.append(definition.Column(plain, lows.tolist(), highs.tolist(), f in table.categorical))
    return definition.Coded(
        columns=columns,
        classes=target if table.task is Task.CLASSIFICATION else [],
        numbers=[] if table.task is Task.CLASSIFICATION else target,
        n_classes=table.n_classes,
        weight=weight.tolist(),
        whole=table.weights_whole,
        line=definition.line_weights(weight.tolist(), table.weights_whole),
        position=list(range(table.n_rows)),
        fingerprint=0,
        values=None,
        strata=[],  # not needed: the bag has been drawn
        groups=[],
        design=0,
    )


NOWHERE = -1  # leaf of the rows outside the bag


def _walk_to(tree: definition.Tree, forest: Forest, node: int, leaves: IntArray) -> definition.Node:
    """Create the node with the path and the bounds that it inherits from the nodes above."""
    ends = np.arange(forest.n_nodes) + count_below(forest)
    above = forest.parents()
    path = [node]
    while above[path[0]] >= 0:
        path.insert(0, int(above[path[0]]))

    def rows_of(at: int) -> list[int]:
        return np.flatnonzero((leaves >= at) & (leaves <= ends[at])).tolist()

    rows = rows_of(0)
    grown = definition.Node(definition.ROOT_ID, 0, rows, tree.tally(rows))
    for parent, child in pairwise(path):
        sides = rows_of(parent + 1), rows_of(int(forest.right[parent]))
        split = _split_of(forest, parent, tree.tally(sides[0]), tree.tally(sides[1]))
        grown = definition.make_children(tree, grown, split, sides)[0 if child == parent + 1 else 1]
    return grown


def _split_of(forest: Forest, node: int, left: definition.Tally, right: definition.Tally) -> definition.Split:
    """Convert a split of the tree for the definition: its feature and its sides, which affect the nodes below."""
    return definition.Split(
        feature=int(forest.feature[node]),
        threshold=float(forest.threshold[node]),
        order=(),
        n_left=0,
        missing_left=False,
        score=0.0,
        tie_score=0.0,
        unevenness=0,
        left=left,
        right=right,
    )


# ------------------------------------------------------------------------------------------------- candidate splits


def _list_cuts(tree: definition.Tree, node: definition.Node, names: Names) -> list[Cut]:
    """List the admissible splits of the features that the node considered."""
    growth = tree.growth
    mean = node.tally.total // node.tally.weight
    undivided = definition.CRITERIA[growth.criterion](node.tally, mean)
    cuts: list[Cut] = []
    turn = 0
    for feature in definition.draw_features(tree, node.node_id):
        if not definition.may_interact(growth, node.path, feature):
            continue
        has_missing = definition.has_missing(tree, node.ranks, feature)
        if definition.best_split_of_feature(tree, node, feature) is None:
            continue
        splits = list(definition.cuts_of_feature(tree, node, feature))
        for place, split in enumerate(splits):
            key = (-split.worth, -split.tie_score, turn, -split.score, split.unevenness, place)
            words = _describe_cut(tree, split, names, has_missing=has_missing)
            gain = tree.decrease(split.score - undivided, node.tally.weight)
            cuts.append(Cut(key, split, words, definition.ldexp(gain, -tree.decrease_unit)))
        turn += 1
        if turn == growth.max_features:
            break
    return cuts


def _describe_cut(tree: definition.Tree, split: definition.Split, names: Names, *, has_missing: bool) -> SplitCondition:
    """Describe a split as text."""
    labels = names.categories[split.feature]
    name, threshold, listed, others_left = names.features[split.feature], split.threshold, None, False
    if tree.is_cut_by_sets(split.feature):
        sets = definition.categories_of(tree, split)
        threshold, listed, others_left = np.nan, tuple(sets.of_lighter), sets.others_left
    sides = (split.missing_left, has_missing, labels, listed, others_left)
    return SplitCondition(split.feature, name, threshold, *sides, names.times.get(split.feature))


# ------------------------------------------------------------------------------------------------- explanations


def _must_stop(tree: definition.Tree, node: definition.Node) -> str | None:
    """Explain why a node may not be split, regardless of its candidates."""
    growth = tree.growth
    if len({tree.target.labels[r] for r in node.ranks}) == 1:
        return (
            "It is a leaf: all its rows are of one class."
            if Task.of(tree.target.n_classes) is Task.CLASSIFICATION
            else ("It is a leaf: all its rows have the same target.")
        )
    if node.tally.size < growth.min_samples_split:
        return f"It is a leaf: it has fewer rows than min_samples_split={growth.min_samples_split}."
    if node.depth == growth.max_depth:
        return f"It is a leaf: it has the maximum depth, max_depth={growth.max_depth}."
    return None


def _explain_choice(training: TrainingData, node: int, cuts: list[Cut]) -> str:
    """Explain why the best split was chosen, or why the node was not split."""
    forest, growth = training.model.forest_, training.model.growth_
    if not cuts:
        return "It is a leaf: no split leaves enough rows or weight on both sides."
    if forest.feature[node] >= 0:
        return _compare(cuts)
    decrease = cuts[0].gain * forest.weight[node] / forest.weight[0]
    if decrease < growth.min_impurity_decrease:
        return (
            f"It is a leaf: its best split decreases the impurity of the tree by {format_number(decrease)}, less than "
            f"min_impurity_decrease={format_number(growth.min_impurity_decrease)}."
        )
    if training.model.ccp_alpha > 0:
        return f"It is a leaf: its subtree was pruned, ccp_alpha={format_number(training.model.ccp_alpha)}."
    return f"It is a leaf: other nodes gained more, and the tree has max_leaf_nodes={growth.max_leaf_nodes}."


def _compare(cuts: list[Cut]) -> str:
    """Explain the difference to the next best split: the first criterion in which they differ."""
    best = cuts[0]
    won = f"{best.words.left} was chosen"
    if len(cuts) == 1:
        return f"{won}: it is the only split."
    following = cuts[1]
    if best.split.worth > following.split.worth:
        less = " after the category penalty" if any(cut.split.noise for cut in cuts) else ""
        return f"{won}: it has the largest gain{less}. The next, {following.words.left}, has {following.gain:.6f}."
    n_equal = sum(cut.split.worth == best.split.worth for cut in cuts)
    among = f"{won} among {n_equal} splits of equal gain: "
    reasons = (
        "it has the largest Gini gain, which breaks ties.",
        f"{best.words.name} was considered before {following.words.name}.",
        "it has the largest gain.",
        "its sides are the closest in size.",
        "it comes first: lower thresholds come first, then missing values on the right.",
    )
    differs = [a != b for a, b in zip(best.key[1:], following.key[1:], strict=True)]
    return among + reasons[differs.index(True)]
