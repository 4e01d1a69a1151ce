"""The door behind which engines stand: one set of functions, several engines, the same forest.

Engine             what every engine can do
OutOfBagVotes      what trees say of the rows outside their bags
Mixing             which features to mix among which rows
Sharing            which rows are in which leaves
ReferenceEngine    the definition in plain Python (`reference.py`), fed with lists
open_engine        from the user's word to an engine
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald.engines import comparing, reference
from weald.engines import mixing as mix
from weald.engines import sharing as share
from weald.engines import targets as several
from weald.errors import ParameterError
from weald.model import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, FloatArray, Forest, IntArray, Origin
from weald.params import CLUSTER, ENGINES, Growth
from weald.table import Table
from weald.targets import Targets

# Some columns of a table (rows x columns), and where they stand.
Block = tuple[FloatArray, range]

# Called now and then with the share of the work that is done; it may raise to stop the work.
Watch = Callable[[float], None]


@dataclass(frozen=True)
class Mixing:
    """Which features to mix among which rows, and where what rows lose is added up."""

    trees: range  # of the forest
    names: Sequence[tuple[int, int]]  # seed and number of each of them
    is_new: npt.NDArray[np.bool_]  # trees x rows: has the tree not seen the row?
    order: IntArray  # rows in rank order
    target: FloatArray  # by row: a number, or the number of a class
    weight: FloatArray  # by row
    group_of: IntArray  # by feature: its group; -1: it is not mixed
    group_id: IntArray  # by group: enters the address of its draws
    repeat: int = 0  # enters it, too
    cells: IntArray | None = None  # trees x groups x rows: values are mixed inside cells
    sums: FloatArray | None = None  # rows x groups: what a row loses in these trees is added to it
    squares: FloatArray | None = None  # the same for squares


@dataclass(frozen=True)
class Sharing:
    """Which rows are in which leaves, and who the members of leaves are."""

    leaves: IntArray  # asked rows x trees: node of the tree; -1: the tree does not count
    tree_start: IntArray  # by tree, and the end: its first node
    n_members: int  # rows that may be members of leaves
    start: IntArray  # by node of all trees, and the end: its first member
    member: IntArray  # ascending inside a leaf
    share: FloatArray | None = None  # by member of a leaf; None: 1
    counting: npt.NDArray[np.bool_] | None = None  # rows x trees: sums are divided by the trees that count for both


class Engine(Protocol):
    """What every engine can do."""

    name: str

    def code(self, table: Table, max_bins: int, n_threads: int, watch: Watch | None, n_trees: int = 0) -> Any:
        """Turn a table into codes and ranks, in the engine's own form. `max_bins` 0 keeps every distinct value.

        `n_trees` will be grown at once, each cut the best, and then no more; 0: nobody knows. An engine may save memory
        then, and look into the table once more when the trees are grown.
        """

    def code_blocks(
        self, table: Table, blocks: Iterable[Block], max_bins: int, n_threads: int, watch: Watch | None
    ) -> Any:
        """The same for a table whose columns come a few at a time; its own X is not looked at."""

    def kernel_columns(
        self,
        samples: comparing.Samples,
        prototypes: comparing.Samples,
        rule: comparing.KernelRule,
        n_threads: int,
        watch: Watch | None,
    ) -> FloatArray:
        """Values of a kernel (prototypes x samples)."""

    def column(self, coded: Any, feature: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Codes of a feature in the order of the table's rows, and the smallest and largest value of each code."""

    def grow(
        self, coded: Any, growth: Growth, seed: int, first_tree: int, n_trees: int, n_threads: int, watch: Watch | None
    ) -> Forest:
        """Grow trees `first_tree`, `first_tree + 1` ..."""

    def grow_targets(
        self,
        coded: Any,
        targets: Targets,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
    ) -> tuple[Forest, ...]:
        """Grow trees of several targets: for each target a forest, all of them the same but for what leaves say."""

    def leaves(self, forest: Forest, X: npt.NDArray[Any], n_threads: int, watch: Watch | None) -> IntArray:
        """Find the leaf of each row in each tree (rows x trees), as node numbers inside the trees."""

    def sum_votes(
        self, forest: Forest, X: npt.NDArray[Any], voting: str, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Add up what the trees say of each row, in tree order (rows x classes, or rows)."""

    def predict(
        self,
        forest: Forest,
        X: npt.NDArray[Any],
        voting: str,
        out: npt.NDArray[Any],
        n_threads: int,
        watch: Watch | None,
    ) -> None:
        """Write what trees say of each row, averaged, into `out` (rows x classes, or rows): float64 or float32."""

    def bags(self, coded: Any, growth: Growth, origins: Sequence[Origin], n_threads: int) -> IntArray:
        """Draw the bags again, as the origins say (trees x rows): how often each row counts, in the table's order."""

    def order(self, coded: Any) -> IntArray:
        """Rows of the table in rank order."""

    def shuffle(self, n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> IntArray:
        """Say which rank each of some ranks takes its values from, by the draws of a tree and a group."""

    def mix(
        self, forest: Forest, X: npt.NDArray[Any], mixing: Mixing, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Say how much more trees lose when features are mixed (trees x groups): sums by weight over their new rows.

        The loss is 1 for a wrong class, or the squared error. Sums run in rank order; what rows lose is added to
        `mixing.sums` in tree order.
        """

    def add_shares(
        self, sharing: Sharing, k: int, n_threads: int, watch: Watch | None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Say what rows have in common with the members of their leaves: where rows start, members, and sums.

        Shares are added up in tree order. Only the k largest sums of each row are kept, of equal ones the first
        members; 0: all.
        """

    def square_shares(
        self, sharing: Sharing, of_rows: IntArray, of_members: IntArray, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Add up, for each row, the squares of what it has in common with members of its kind."""

    def sum_votes_out_of_bag(
        self,
        coded: Any,
        growth: Growth,
        forest: Forest,
        X: npt.NDArray[Any],
        voting: str,
        n_threads: int,
        watch: Watch | None,
        start: "OutOfBagVotes | None" = None,
        room: int = 0,
    ) -> "OutOfBagVotes":
        """Add up what the trees say of the rows outside their bags, and judge it after each tree.

        `start` has what earlier trees said: sums go on from there. `room`: the forest's values are made smaller by
        2^room, so that sums of huge numbers stay finite.
        """

    def bag_source(self, coded: Any) -> Any:
        """Leave out of a coded table all that bags are not drawn from: what is left is small."""

    def weigh(self, coded: Any, line: npt.NDArray[np.uint64]) -> Any:
        """Lay another line to draw bags from: the length of each row. The coded table that was given is used up."""


class OutOfBagVotes(NamedTuple):
    """What trees say of the rows outside their bags."""

    sums: FloatArray  # rows x classes, or rows: added up in tree order
    n_trees: IntArray  # by row: how many trees spoke of it
    errors: FloatArray  # after each tree: error of the rows of which a tree has spoken; NaN: there are none
    shares: FloatArray  # after each tree: their share of the line from which bags are drawn


class ReferenceEngine:
    """The definition, behind the door that all engines share. One thread, whatever it is told."""

    name = "reference"

    def code(
        self, table: Table, max_bins: int, n_threads: int = 1, watch: Watch | None = None, n_trees: int = 0
    ) -> reference.Coded:
        """Turn a table into codes and ranks."""
        weight = np.ones(len(table.target)) if table.weight is None else table.weight
        columns = _dense(table.X).T.tolist()
        target = table.target.tolist()
        return reference.code_table(
            columns,
            classes=target if table.n_classes else [],
            numbers=[] if table.n_classes else target,
            n_classes=table.n_classes,
            weight=weight.tolist(),
            whole=table.weights_whole,
            max_bins=max_bins,
            strata=[] if table.strata is None else table.strata.tolist(),
            groups=[] if table.groups is None else table.groups.tolist(),
            categorical=sorted(table.categorical),
        )

    def code_blocks(
        self, table: Table, blocks: Iterable[Block], max_bins: int, n_threads: int = 1, watch: Watch | None = None
    ) -> reference.Coded:
        """Put the columns together first."""
        X = np.hstack([block for block, _ in blocks])
        return self.code(dataclasses.replace(table, X=X), max_bins, n_threads, watch)

    def kernel_columns(
        self,
        samples: comparing.Samples,
        prototypes: comparing.Samples,
        rule: comparing.KernelRule,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Values of a kernel (prototypes x samples)."""
        return comparing.kernel_columns(samples, prototypes, rule)

    def column(self, coded: reference.Coded, feature: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Codes of a feature in the order of the table's rows, and the extremes of each code."""
        column = coded.columns[feature]
        codes = np.empty(len(coded.position), dtype=np.uint32)
        codes[coded.position] = [reference.MISSING if code is None else code for code in column.codes]
        return codes, np.array(column.lows), np.array(column.highs)

    def grow(
        self,
        coded: reference.Coded,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> Forest:
        """Grow trees one after the other."""
        trees = []
        for tree in reference.grow_forest(coded, _plain(growth), seed, range(first_tree, first_tree + n_trees)):
            trees.append(tree)
            if watch:
                watch(len(trees) / n_trees)
        center, exponent = 0.0, 0
        if not coded.n_classes:
            target = reference.target_of(coded, _plain(growth))
            center, exponent = target.center, target.exponent
        origin = Origin(seed, first_tree, n_trees, coded.fingerprint, growth.bags(coded.design), values=coded.values)
        return _forest_of(trees, len(coded.columns), coded.n_classes, center, exponent, origin)

    def grow_targets(
        self,
        coded: reference.Coded,
        targets: Targets,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> tuple[Forest, ...]:
        """Grow trees one after the other."""
        plain = several.Targets(targets.said.T.tolist(), list(targets.n_classes))
        grown = []
        for each in several.grow_targets(coded, plain, _plain(growth), seed, range(first_tree, first_tree + n_trees)):
            grown.append(each)
            if watch:
                watch(len(grown) / n_trees)
        origin = Origin(
            seed, first_tree, n_trees, coded.fingerprint, growth.bags(coded.design), values=targets.add_to(coded.values)
        )
        fixed = [reference.target_of(table, _plain(growth)) for table in plain.one_by_one(coded)]
        unit = several.common_unit(fixed)
        return tuple(
            _forest_of([each[o] for each in grown], len(coded.columns), target.n_classes, target.center, unit, origin)
            for o, target in enumerate(fixed)
        )

    def leaves(self, forest: Forest, X: npt.NDArray[Any], n_threads: int = 1, watch: Watch | None = None) -> IntArray:
        """Walk every row down every tree."""
        rows = _dense(X).tolist()
        found = [[reference.find_leaf(tree, row) for row in rows] for tree in _flat_trees(forest)]
        return np.array(found, dtype=np.int32).reshape(forest.n_trees, len(rows)).T

    def sum_votes(
        self, forest: Forest, X: npt.NDArray[Any], voting: str, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Add up what the trees say of each row."""
        if len(forest.tree_weight):
            return sum_weighted_votes(self, forest, X, voting, n_threads, watch)
        rows = _dense(X).tolist()
        sums = np.array(reference.sum_votes(_flat_trees(forest), rows, forest.n_classes, voting))
        return sums.reshape(len(rows), -1) if forest.n_classes else sums.reshape(len(rows))

    def predict(
        self,
        forest: Forest,
        X: npt.NDArray[Any],
        voting: str,
        out: npt.NDArray[Any],
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> None:
        """Average what the trees say of each row."""
        out[...] = self.sum_votes(forest, X, voting) / forest.vote_total

    def bags(self, coded: reference.Coded, growth: Growth, origins: Sequence[Origin], n_threads: int = 1) -> IntArray:
        """Draw the bags again."""
        found = np.empty((sum(origin.n_trees for origin in origins), len(coded.line)), dtype=np.uint32)
        trees = ((growth.with_bags(origin.bags), *tree) for origin in origins for tree in origin.trees())
        for i, (drawn, seed, tree) in enumerate(trees):
            found[i, coded.position] = reference.fill_bag(coded, _plain(drawn), seed, tree).sizes
        return found

    def order(self, coded: reference.Coded) -> IntArray:
        """Rows of the table in rank order."""
        return np.array(coded.position, dtype=np.uint32)

    def shuffle(self, n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> IntArray:
        """Mix ranks among all."""
        return np.array(mix.shuffle_rows([0] * n_rows, seed, tree, group_id, repeat), dtype=np.uint32)

    def mix(
        self, forest: Forest, X: npt.NDArray[Any], mixing: Mixing, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Mix features in one tree after the other."""
        values, trees = X.astype(np.float64).tolist(), _flat_trees(forest)
        of_trees = np.zeros((len(mixing.trees), len(mixing.group_id)))
        for t, (seed, number) in enumerate(mixing.names):
            rows = [r for r in mixing.order.tolist() if mixing.is_new[t, r]]
            for group, group_id in enumerate(mixing.group_id.tolist()):
                cells = [0] * len(rows) if mixing.cells is None else mixing.cells[t, group, rows].tolist()
                lost = mix.increases(
                    trees[mixing.trees[t]],
                    [values[r] for r in rows],
                    mixing.target[rows].tolist(),
                    forest.n_classes,
                    np.flatnonzero(mixing.group_of == group).tolist(),
                    mix.shuffle_rows(cells, seed, number, group_id, mixing.repeat),
                )
                for row, increase in zip(rows, lost, strict=True):
                    of_trees[t, group] += mixing.weight[row] * increase
                    if mixing.sums is not None:
                        mixing.sums[row, group] += increase
                    if mixing.squares is not None:
                        mixing.squares[row, group] += increase * increase
        return of_trees

    def add_shares(
        self, sharing: Sharing, k: int, n_threads: int = 1, watch: Watch | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Add up shares row by row."""
        kept = [share.keep_largest(sums, k) for sums in _sums_of_shares(sharing)]
        starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
        members = np.array([member for sums in kept for member in sums], dtype=np.int32)
        return starts, members, np.array([s for sums in kept for s in sums.values()], dtype=np.float64)

    def square_shares(
        self,
        sharing: Sharing,
        of_rows: IntArray,
        of_members: IntArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Add up squares row by row."""
        kinds, sums = of_members.tolist(), _sums_of_shares(sharing)
        return np.array([share.square_shares(s, kind, kinds) for s, kind in zip(sums, of_rows.tolist(), strict=True)])

    def sum_votes_out_of_bag(
        self,
        coded: reference.Coded,
        growth: Growth,
        forest: Forest,
        X: npt.NDArray[Any],
        voting: str,
        n_threads: int = 1,
        watch: Watch | None = None,
        start: OutOfBagVotes | None = None,
        room: int = 0,
    ) -> OutOfBagVotes:
        """Add up what the trees say of the rows outside their bags."""
        bags = self.bags(coded, growth, forest.origins).tolist()
        rows = _dense(X).tolist()
        before = start and (start.sums.reshape(len(rows), -1).tolist(), start.n_trees.tolist())
        out = reference.sum_votes_out_of_bag(coded, _flat_trees(forest), bags, rows, voting, before, room)
        sums = np.array(out.sums)
        return OutOfBagVotes(
            sums if forest.n_classes else sums[:, 0],
            np.array(out.n_trees, dtype=np.uint32),
            np.array(out.errors),
            np.array(out.shares),
        )

    def bag_source(self, coded: reference.Coded) -> reference.Coded:
        """Leave out the columns."""
        return dataclasses.replace(coded, columns=[])

    def weigh(self, coded: reference.Coded, line: npt.NDArray[np.uint64]) -> reference.Coded:
        """Lay another line."""
        return dataclasses.replace(coded, line=line[coded.position].tolist())


def _sums_of_shares(sharing: Sharing) -> list[dict[int, float]]:
    """Say what each asked row has in common with each member of its leaves."""
    shares = np.ones(len(sharing.member)) if sharing.share is None else sharing.share
    members = list(zip(sharing.member.tolist(), shares.tolist(), strict=True))
    start, trees = sharing.start.tolist(), sharing.tree_start[:-1].tolist()

    def members_of(tree: int, leaf: int) -> list[share.Member] | None:
        return None if leaf < 0 else members[start[tree + leaf] : start[tree + leaf + 1]]

    sums = [
        share.add_shares([members_of(*at) for at in zip(trees, leaves, strict=True)])
        for leaves in sharing.leaves.tolist()
    ]
    if sharing.counting is None:
        return sums
    counting = sharing.counting.tolist()
    return [share.divide(s, row, counting) for s, row in zip(sums, counting, strict=True)]


def _dense(X: Any) -> FloatArray:
    """Write a table out in float64: the definition knows no other."""
    dense: FloatArray = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)
    return dense


def _plain(growth: Growth) -> reference.Growth:
    """Hand the numbers over: the reference engine knows no other part of weald."""
    return reference.Growth(**{name: getattr(growth, name) for name in reference.Growth.__dataclass_fields__})


def _forest_of(
    trees: Sequence[reference.FlatTree],
    n_features: int,
    n_classes: int,
    center: float,
    exponent: int,
    origin: Origin,
) -> Forest:
    """Put flat trees behind one another."""
    sets = [c for tree in trees for c in tree.categories if c is not None]
    entries = [[(k, c) for k, c in enumerate(leaf) if c] for tree in trees for leaf in tree.classes]

    def per_node(name: str, dtype: type) -> npt.NDArray[Any]:
        return np.array([x for tree in trees for x in getattr(tree, name)], dtype=dtype)

    flags = [_flags(tree, node) for tree in trees for node in range(len(tree.feature))]
    threshold = per_node("threshold", np.float64)
    threshold[[flag & CATEGORICAL != 0 for flag in flags]] = np.arange(len(sets))
    return Forest(
        n_features=n_features,
        n_classes=n_classes,
        target_center=center,
        target_exponent=exponent,
        tree_start=np.cumsum([0, *(len(tree.feature) for tree in trees)], dtype=np.int64),
        feature=per_node("feature", np.int32),
        threshold=threshold,
        right=per_node("right", np.int32),
        flags=np.array(flags, dtype=np.uint8),
        size=per_node("size", np.uint32),
        weight=per_node("weight", np.float64),
        decrease=per_node("decrease", np.float64),
        leaf_start=np.cumsum([0, *(len(leaf) for leaf in entries)], dtype=np.int64),
        leaf_class=np.array([k for leaf in entries for k, _ in leaf], dtype=np.int32),
        leaf_weight=np.array([c for leaf in entries for _, c in leaf], dtype=np.float64),
        value=per_node("value", np.float64),
        impurity=per_node("impurity", np.float64),
        category_start=np.cumsum([0, *(len(c.of_lighter) for c in sets)], dtype=np.int64),
        category_sets=np.array([x for c in sets for x in c.of_lighter], dtype=np.uint32),
        origins=(origin,),
    )


def _flags(tree: reference.FlatTree, node: int) -> int:
    """Write what is true of a node bit by bit."""
    flags, categories = MISSING_LEFT * tree.missing_left[node], tree.categories[node]
    return flags | (CATEGORICAL | OTHERS_LEFT * categories.others_left if categories else 0)


def _flat_trees(forest: Forest) -> list[reference.FlatTree]:
    """Read trees back from the arrays."""
    trees = []
    leaf_index = forest.leaf_index()
    for begin, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        nodes = slice(begin, end)
        tree = reference.FlatTree(
            feature=forest.feature[nodes].tolist(),
            threshold=forest.threshold[nodes].tolist(),
            right=forest.right[nodes].tolist(),
            missing_left=[bool(f & MISSING_LEFT) for f in forest.flags[nodes]],
            categories=[_categories(forest, node) for node in range(begin, end)],
            value=forest.value[nodes].tolist(),
        )
        if forest.n_classes:
            for leaf in leaf_index[nodes][forest.feature[nodes] < 0]:
                entries = slice(forest.leaf_start[leaf], forest.leaf_start[leaf + 1])
                classes = [0.0] * forest.n_classes
                for k, w in zip(forest.leaf_class[entries].tolist(), forest.leaf_weight[entries].tolist(), strict=True):
                    classes[k] = w
                tree.classes.append(classes)
        trees.append(tree)
    return trees


def sum_weighted_votes(
    engine: Engine, forest: Forest, X: npt.NDArray[Any], voting: str, n_threads: int, watch: Watch | None
) -> FloatArray:
    """Add up what trees of different weight say: weight times vote, in tree order."""
    trees: list[Forest] | None = vars(forest).get("_trees")
    if trees is None:  # kept beside the forest, and left out of pickles, as the packed form of each tree is
        equal = dataclasses.replace(forest, tree_weight=np.empty(0))
        vars(forest)["_trees"] = trees = [equal.take([t]) for t in range(forest.n_trees)]
    sums: FloatArray = np.zeros((X.shape[0], forest.n_classes))
    for weight, tree in zip(forest.tree_weight, trees, strict=True):
        sums += weight * engine.sum_votes(tree, X, voting, n_threads, watch)
    return sums


def _categories(forest: Forest, node: int) -> reference.Categories | None:
    """Read the set of a categorical split."""
    if not forest.flags[node] & CATEGORICAL:
        return None
    return reference.Categories(forest.category_set(node).tolist(), bool(forest.flags[node] & OTHERS_LEFT))


def open_engine(name: str) -> Engine:
    """Find an engine by name. "auto" is native and never anything else; what a cluster has grown is asked here."""
    if name == "reference":
        return ReferenceEngine()
    if name in ("auto", "native", CLUSTER):
        from weald.engines.native import NativeEngine  # the compiled core loads only when it is wanted

        return NativeEngine()
    msg = f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}."
    raise ParameterError(msg)
