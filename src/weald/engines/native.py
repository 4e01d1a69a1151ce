"""The native engine: the compiled core behind the engine interface."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald import _core
from weald.data.table import Table
from weald.data.targets import Targets
from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.derived_forms import forms_of
from weald.engines.error_surface import KnownRows, SurfaceErrors, SurfaceSettings, SurfaceSums, SurfaceTrees
from weald.engines.interface import (
    Block,
    Codes,
    LeafMembership,
    LocalEngine,
    OutOfBagVotes,
    PermutationTask,
    ShapTask,
    Watch,
)
from weald.engines.params import Growth
from weald.errors import DataError, FormatError
from weald.forest.forest import Forest, Origin
from weald.forest.pruning import prune_forest, scale_decreases
from weald.forest.shrinkage import shrink_forest

if TYPE_CHECKING:
    from weald.engines.free_features import DependenceSums, FreeFeatures, LocalBins
    from weald.engines.reference import kernels

PACKED_SIZES = ("small", "large")  # sizes of packed nodes
FEW_ROWS = 4  # up to here, rows are predicted one by one, by nodes that are always exact
NODES_AT_ONCE = 1 << 20  # minimum number of nodes packed together for a single use
CELLS_PER_NODE = 8  # maximum size of a table that is read again for each batch of trees
MOST_CELLS = 2**25  # stored cells of a sparse table copied at once
SAMPLE_SIZE = 2**18  # rows (with copies) from which quantile codes are computed

Weighed = tuple[Array, Array]  # distinct values, ascending, and their weights


class Errors(NamedTuple):
    """Contributions of some rows to the out-of-bag errors: exact integers, so rows can be processed in parts."""

    totals: list[int]  # after each tree: sum of errors by weight, in units of 2^(-2 * shift)
    seen: list[int]  # after each tree: weight of the rows that a tree predicts
    shift: int

    def add(self, other: "Errors") -> "Errors":
        """Add the contributions of other rows."""
        totals, seen = (
            [a + b for a, b in zip(*pair, strict=True)]
            for pair in ((self.totals, other.totals), (self.seen, other.seen))
        )
        return Errors(totals, seen, self.shift)

    def means(self) -> FloatArray:
        """Return the mean error after each tree; NaN: no row is out of bag yet."""
        pairs = zip(self.totals, self.seen, strict=True)
        means = np.array([float(e) / float(w) if w else math.nan for e, w in pairs])
        with np.errstate(over="ignore"):
            scaled: FloatArray = np.minimum(np.ldexp(means, -2 * self.shift), np.finfo(float).max)
        return scaled


def curve_of(found: Sequence[Errors], line_length: int) -> tuple[FloatArray, FloatArray]:
    """Return the errors after each tree from several sets of rows, and the fraction of the rows that are out of bag."""
    means = np.concatenate([errors.means() for errors in found])
    seen = np.array([weight for errors in found for weight in errors.seen], dtype=np.float64)
    return means, seen / float(line_length)


def name_trees(growth: Growth, forest: Forest) -> tuple[list[Growth], list[tuple[int, int, int]]]:
    """Identify each tree of a forest for drawing bags: by the index of its growth, seed and number."""
    growths = [growth.with_bags(origin.bags) for origin in forest.origins]
    return growths, [(i, *tree) for i, origin in enumerate(forest.origins) for tree in origin.trees()]


class NativeEngine(LocalEngine):
    """The compiled core, on a given number of threads."""

    name = "native"

    def __init__(self, core: Any = _core) -> None:
        """Load the core of one instruction set; by default the fastest that this processor supports."""
        self.core = core
        self.packed_mark: str = core.packed_mark

    def code(
        self, table: Table, max_bins: int, n_threads: int = 1, watch: Watch | None = None, n_trees: int = 0
    ) -> Any:
        """Convert a table to codes and ranks."""
        return self._code(self._by_column(table.X), table, max_bins, n_threads, watch, n_trees)

    def code_blocks(
        self, table: Table, blocks: Iterable[Block], max_bins: int, n_threads: int = 1, watch: Watch | None = None
    ) -> Any:
        """Convert a few columns at a time to codes. The sample of a large table depends on all columns."""
        if max_bins and table.size > SAMPLE_SIZE:
            X = np.hstack([block for block, _ in blocks])
            return self.code(dataclasses.replace(table, X=X), max_bins, n_threads, watch)
        columns = self.core.ColumnBlocks(table.weight, table.weights_whole, max_bins)
        for block, places in blocks:
            columns.add(block, [place in table.categorical for place in places], n_threads, watch)
        return self._code(columns, table, max_bins, n_threads, watch)

    def kernel_columns(
        self,
        samples: "kernels.Samples",
        prototypes: "kernels.Samples",
        rule: "kernels.KernelRule",
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Values of a kernel (prototypes x samples)."""
        both = (samples.values, samples.starts, prototypes.values, prototypes.starts)
        columns: FloatArray = self.core.kernel_columns(*both, **vars(rule), n_threads=n_threads, watch=watch)
        return columns

    def _code(self, X: Any, table: Table, max_bins: int, n_threads: int, watch: Watch | None, n_trees: int = 0) -> Any:
        is_classes = table.task is Task.CLASSIFICATION
        return self.core.code_table(
            X,
            table.target if is_classes else None,
            None if is_classes else table.target,
            table.n_classes,
            table.weight,
            table.weights_whole,
            max_bins,
            sorted(table.categorical),
            n_threads,
            watch,
            table.strata,
            table.groups,
            n_trees,
        )

    def rank(
        self,
        columns: Sequence[tuple[Sequence[IntArray], FloatArray, bool]],
        target: Array,
        n_classes: int,
        weight: FloatArray | None,
        whole: bool,
        n_threads: int = 1,
        strata: IntArray | None = None,
        groups: IntArray | None = None,
        values: int | None = None,
    ) -> Any:
        """Rank the rows of a coded table. Columns are given as codes (in pieces), smallest values, "is categorical".

        `values` is the fingerprint of the raw values, since it cannot be computed from codes.
        """
        targets = (target, None) if Task.of(n_classes) is Task.CLASSIFICATION else (None, target)
        return self.core.rank_table(
            columns, *targets, n_classes, weight, whole, n_threads, None, strata, groups, values
        )

    def give_values(self, codes: Codes, feature: int, lows: FloatArray, highs: FloatArray) -> None:
        """Set the smallest and the largest value of each code of a feature."""
        self.core.give_values(codes, feature, lows, highs)

    def store_by_column(self, pieces: Sequence[Array], n_threads: int = 1) -> Array:
        """Concatenate pieces of a table by rows, stored by column."""
        columns = np.empty((pieces[0].shape[1], sum(map(len, pieces))), dtype=np.result_type(*pieces))
        self.core.store_by_column(list(pieces), columns, n_threads)
        return columns.T

    def hash_values(self, X: Array, targets: npt.NDArray[np.uint64], n_threads: int = 1) -> npt.NDArray[np.uint64]:
        """Hash rows by their values and target bits: those with the lowest hashes sample a large table."""
        hashes: npt.NDArray[np.uint64] = self.core.hash_values(X, targets, n_threads)
        return hashes

    def row_product(self, table: Table, n_threads: int = 1) -> int:
        """Compute the multiset hash of the rows of a table."""
        from weald.engines import data_hash

        words, copies = data_hash.row_words(table)
        found = (
            self.core.row_product(X, words[rows], None if copies is None else copies[rows], n_threads)
            for rows, X in data_hash.dense_blocks(table.X)
        )
        return data_hash.join(int.from_bytes(product, "little") for product in found)

    def weigh_values(
        self,
        X: Array,
        features: Sequence[int],
        rows: npt.NDArray[np.uint32] | None,
        lengths: npt.NDArray[np.uint64] | None,
        n_threads: int = 1,
    ) -> list[Weighed]:
        """Find the distinct values of features in some rows (None: all), and their weights (None: 1 each)."""
        found: list[Weighed] = self.core.weigh_values(X, features, rows, lengths, n_threads)
        return found

    def cut_quantiles(self, values: FloatArray, weights: npt.NDArray[np.uint64], max_bins: int) -> FloatArray:
        """Divide distinct values, in ascending order, into codes of about equal weight: the smallest value of each."""
        starts: FloatArray = self.core.cut_quantiles(values, weights, max_bins)
        return starts

    def cut_columns(
        self, columns: Sequence[Sequence[Weighed]], max_bins: int, keep_few: bool, n_threads: int = 1
    ) -> list[tuple[FloatArray, bool]]:
        """Divide the values of columns that come in several parts; also return which columns need no division.

        With `keep_few`, columns with few enough values keep them all.
        """
        cut: list[tuple[FloatArray, bool]] = self.core.cut_columns(columns, max_bins, keep_few, n_threads)
        return cut

    def code_values(
        self, X: Array, features: Sequence[int], starts: Sequence[FloatArray], n_threads: int = 1
    ) -> list[IntArray]:
        """Code features by the smallest value of each code."""
        codes: list[IntArray] = self.core.code_values(X, features, starts, n_threads)
        return codes

    def find_code_maxima(
        self,
        X: Array,
        features: Sequence[int],
        codes: Sequence[IntArray],
        n_codes: Sequence[int],
        n_threads: int = 1,
    ) -> list[tuple[FloatArray, float]]:
        """Find the largest value of each code of a feature, and the smallest value; infinite if there is none."""
        found: list[tuple[FloatArray, float]] = self.core.find_highs(X, features, codes, n_codes, n_threads)
        return found

    def column(self, codes: Codes, feature: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Codes of a feature in the order of the table's rows, and the extremes of each code."""
        column: tuple[IntArray, FloatArray, FloatArray] = own_codes(codes).column(feature)
        return column

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow trees in parallel."""
        arrays = self.core.grow(codes, self._growth(growth), seed, first_tree, n_trees, n_threads, watch, 0)
        forest = _forest_of(arrays, codes, growth, seed, first_tree, n_trees)
        return prune_forest(forest, ccp_alpha) if ccp_alpha else forest

    def grow_with_help(
        self, codes: Codes, growth: Growth, seed: int, first_tree: int, n_trees: int, n_slots: int
    ) -> Forest:
        """Grow trees on one thread. Several calls share `n_slots`: threads without work help others."""
        arrays = self.core.grow(codes, self._growth(growth), seed, first_tree, n_trees, 1, None, n_slots)
        return _forest_of(arrays, codes, growth, seed, first_tree, n_trees)

    def grow_piece(
        self, codes: Codes, growth: Growth, seed: int, tree: int, number: int, n_pieces: int
    ) -> tuple[Forest, int, int]:
        """Grow a piece of a tree, with placeholder leaves for other pieces; also return the piece's range of nodes."""
        arrays, begin, end = self.core.grow_piece(codes, self._growth(growth), seed, tree, number, n_pieces)
        return _forest_of(arrays, codes, growth, seed, tree, 1), begin, end

    def grow_targets(
        self,
        codes: Codes,
        targets: Targets,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> tuple[Forest, ...]:
        """Grow trees in parallel; the leaf values are split by target afterwards."""
        arrays, centers = self.core.grow_targets(
            codes,
            np.ascontiguousarray(targets.values, dtype=np.float64).ravel(),
            targets.n_targets,
            list(targets.n_classes),
            self._growth(growth),
            seed,
            first_tree,
            n_trees,
            n_threads,
            watch,
        )
        _refuse_changed(arrays)
        origin = Origin(
            seed, first_tree, n_trees, codes.fingerprint, growth.bags(codes.design), values=targets.add_to(codes.values)
        )
        return tuple(
            Forest(
                n_features=own_codes(codes).n_columns,
                n_classes=targets.n_classes_of(o),
                **{**arrays, **_predictions_of(arrays, o, targets), "target_center": center},
                origins=(origin,),
            )
            for o, center in enumerate(centers)
        )

    def leaves(self, forest: Forest, X: Array, n_threads: int = 1, watch: Watch | None = None) -> IntArray:
        """Find the leaf of every row in every tree."""
        leaves: IntArray = self._predictor(forest).leaves(self._by_row(X), n_threads, watch)
        return leaves

    def add_to_surface(
        self,
        trees: SurfaceTrees,
        X: Array,
        settings: SurfaceSettings,
        known: KnownRows,
        state: SurfaceSums,
        n_threads: int = 1,
    ) -> SurfaceErrors:
        """Add the votes of trees, under each setting, for the rows that are new to them; compute errors."""
        forest = trees.forest
        outside = trees.outside.view(np.uint8)
        predictor = self._from_arrays(self.core.Predictor, forest)
        rules = {name: settings.column(name) for name in ("min_impurity_decrease", "ccp_alpha")}
        for name in ("max_depth", "min_samples_split", "max_leaf_nodes"):
            rules[name] = settings.column(name).astype(np.int64)
        found = self.core.add_to_surface(
            _nodes_of(forest),
            forest.size,
            -2 * forest.target_exponent,
            trees.weight,
            [np.ascontiguousarray(votes).ravel() for votes in trees.votes],
            predictor.leaves_outside(self._by_row(X), outside, n_threads),
            {**rules, "votes": np.array(settings.votes, dtype=np.int32)},
            None if known.classes is None else np.ascontiguousarray(known.classes, dtype=np.int32),
            known.numbers,
            known.weight,
            trees.scored.view(np.uint8),
            state.sums,
            state.weight,
            state.leaves,
            n_threads,
        )
        losses, squares, weight, weight_squares, n_rows, leaves = found
        shape = -1, len(settings)
        return SurfaceErrors(
            losses.reshape(shape), squares.reshape(shape), weight, weight_squares, n_rows, leaves.reshape(shape)
        )

    def link_strengths(self, forest: Forest, n_threads: int = 1) -> FloatArray:
        """Return the alpha at which pruning removes each split."""
        return scale_decreases(forest, self.core.link_strengths(_nodes_of(forest), n_threads))

    def sum_votes(
        self, forest: Forest, X: Array, voting: str, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Sum the predictions of the trees for each row."""
        sums = np.empty((X.shape[0], forest.width))
        self._walk(forest, X, voting, 1.0, sums, n_threads, watch)
        return sums if forest.task is Task.CLASSIFICATION else sums[:, 0]

    def predict(
        self,
        forest: Forest,
        X: Array,
        voting: str,
        out: Array,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> None:
        """Average the predictions of the trees for each row."""
        room = out if out.ndim > 1 else out[:, None]
        self._walk(forest, X, voting, forest.vote_total, room, n_threads, watch)

    def _walk(
        self,
        forest: Forest,
        X: Any,
        voting: str,
        total: float,
        room: Array,
        n_threads: int,
        watch: Watch | None,
    ) -> None:
        """Write the predictions of the trees for each row, divided by the total."""
        for begin, end in row_blocks(X):
            rows = self._by_row(X, begin, end)
            packed = self._packed_for(forest, X, rows, n_threads)
            packed.predict(rows, voting == "hard", total, room[begin:end], n_threads, watch)

    def compile(self, forest: Forest, voting: str, *, large: bool) -> Any:
        """Pack a forest together with its voting; None if it is too large for such nodes."""
        return self._pack(forest, voting, forest.vote_total, 1, large=large)

    def bags(self, codes: Codes, growth: Growth, origins: Sequence[Origin], n_threads: int = 1) -> IntArray:
        """Draw the bags again."""
        trees = ((self._growth(growth.with_bags(o.bags)), *tree) for o in origins for tree in o.trees())
        return np.array([self.core.bag(codes, drawn, seed, tree) for drawn, seed, tree in trees])

    def order(self, codes: Codes) -> IntArray:
        """Rows of the table in rank order."""
        order: IntArray = own_codes(codes).positions()
        return order

    def shuffle(self, n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> IntArray:
        """Permute all ranks."""
        sources: IntArray = self.core.shuffle_rows(n_rows, seed, tree, group_id, repeat)
        return sources

    def permute(
        self, forest: Forest, X: Array, task: PermutationTask, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Permute features, trees in parallel."""
        cells = np.empty(0, dtype=np.int32) if task.cells is None else task.cells
        of_trees: FloatArray = self.core.mix_features(
            self._predictor(forest),
            np.asarray(X),
            [(t, *name) for t, name in zip(task.trees, task.names, strict=True)],
            np.ascontiguousarray(task.group_of, dtype=np.int32),
            np.ascontiguousarray(task.group_id, dtype=np.uint32),
            task.repeat,
            np.ascontiguousarray(task.order, dtype=np.uint32),
            np.ascontiguousarray(task.target, dtype=np.float64),
            np.ascontiguousarray(task.weight, dtype=np.float64),
            np.ascontiguousarray(task.is_new).view(np.uint8).ravel(),
            np.ascontiguousarray(cells, dtype=np.int32).ravel(),
            task.sums,
            task.squares,
            n_threads,
            watch,
        )
        return of_trees

    def sum_dependence(
        self,
        forest: Forest,
        values: FloatArray,
        X: Array,
        weight: IntArray | None,
        free: "FreeFeatures",
        bins: "LocalBins | None",
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> "DependenceSums":
        """Add up the values of leaves, trees in parallel."""
        from weald.engines.free_features import DependenceSums  # imported on use, to keep `import weald` fast

        sums = self._from_arrays(
            self.core.sum_dependence,
            forest,
            self._predictor(forest),
            np.ascontiguousarray(values).ravel(),
            self._by_row(X),
            None if weight is None else np.ascontiguousarray(weight, dtype=np.int64),
            np.array([group[0] for group in free.groups], dtype=np.int32),
            np.array([group[1] if len(group) > 1 else -1 for group in free.groups], dtype=np.int32),
            np.ascontiguousarray(free.n_points),
            free.has_categories.astype(np.uint8),
            free.place,
            None if bins is None else bins.of_row.ravel(),
            None if bins is None else bins.of_step,
            n_threads,
            watch,
        )
        steps, on_path, total = (part.reshape(-1, values.shape[1]) for part in sums)
        return DependenceSums(steps, on_path, total[0])

    def shap(
        self, forest: Forest, X: Array, task: ShapTask, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Compute SHAP values, rows in parallel."""
        from weald.engines.quadrature import make_rule  # imported on use, to keep `import weald` fast

        paths = self._paths(forest)
        amounts = np.ascontiguousarray(task.amounts, dtype=np.float64)
        is_new = None if task.is_new is None else np.ascontiguousarray(task.is_new).view(np.uint8)
        if task.background is not None:
            of_rows: FloatArray = paths.interventional(
                self._by_row(X), amounts, self._by_row(task.background), is_new, n_threads, watch
            )
            return of_rows
        sizes = np.maximum((paths.n_distinct() + 1) // 2, 1)  # size of the quadrature rule of each tree
        used, rule_of_tree = np.unique(sizes, return_inverse=True)
        rules = [make_rule(size) for size in used.tolist()]
        found: FloatArray = paths.shap(
            self._by_row(X),
            amounts,
            [(rule.points, rule.rest, rule.weights) for rule in rules],
            rule_of_tree.astype(np.uint32),
            is_new,
            task.pairs,
            n_threads,
            watch,
        )
        return found.reshape(X.shape[0], forest.n_features, -1) if task.pairs else found

    def add_proximities(
        self, sharing: LeafMembership, k: int, n_threads: int = 1, watch: Watch | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Sum weights of shared leaves, many rows at once."""
        found: tuple[IntArray, IntArray, FloatArray] = self.core.add_shares(*_arrays_of(sharing), k, n_threads, watch)
        return found

    def square_proximities(
        self,
        sharing: LeafMembership,
        of_rows: IntArray,
        of_members: IntArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Sum squares, many rows at once."""
        kinds = (np.ascontiguousarray(of_rows, dtype=np.int32), np.ascontiguousarray(of_members, dtype=np.int32))
        squares: FloatArray = self.core.square_shares(*_arrays_of(sharing), *kinds, n_threads, watch)
        return squares

    def quantiles(
        self,
        sharing: LeafMembership,
        target: FloatArray,
        levels: FloatArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Cumulate the weights, rows in parallel."""
        found: FloatArray = self.core.quantiles(*_weighed(sharing, target), np.asarray(levels), n_threads, watch)
        return found.reshape(len(sharing.leaves), len(levels))

    def cumulated_shares(
        self,
        sharing: LeafMembership,
        target: FloatArray,
        limits: IntArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Cumulate the weights, rows in parallel."""
        at = np.ascontiguousarray(limits, dtype=np.int64)
        found: FloatArray = self.core.cumulated_shares(*_weighed(sharing, target), at, n_threads, watch)
        return found.reshape(len(sharing.leaves), len(limits))

    def standard_deviations(
        self, sharing: LeafMembership, target: FloatArray, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Add up the weights, rows in parallel."""
        found: FloatArray = self.core.standard_deviations(*_weighed(sharing, target), n_threads, watch)
        return found

    def sum_votes_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        voting: str,
        n_threads: int = 1,
        watch: Watch | None = None,
        start: OutOfBagVotes | None = None,
        room: int = 0,
    ) -> OutOfBagVotes:
        """Sum the predictions of the trees for their out-of-bag rows."""
        return self._sum_out_of_bag(codes, growth, forest, X, voting, n_threads, watch, start, room)[0]

    def sum_votes_of_rows(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        ranks: IntArray,
        voting: str,
        start: OutOfBagVotes | None = None,
        room: int = 0,
        outside: Sequence[npt.NDArray[np.uint64]] = (),
        n_threads: int = 1,
    ) -> tuple[OutOfBagVotes, Errors]:
        """Sum the votes for some rows of the table, given by rank; also return their contributions to the errors.

        `outside` has the bits of `draw_out_of_bag` for these rows; if it is missing, bags are drawn.
        """
        votes, (halves, seen, shift) = self._sum_out_of_bag(
            codes, growth, forest, X, voting, n_threads, None, start, room, (ranks, outside)
        )
        totals = [(int(high) << 64) + int(low) for high, low in zip(*halves, strict=True)]
        return votes, Errors(totals, seen.tolist(), shift)

    def _sum_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        voting: str,
        n_threads: int,
        watch: Watch | None,
        start: OutOfBagVotes | None,
        room: int,
        some: tuple[IntArray | None, Sequence[npt.NDArray[np.uint64]]] = (None, ()),
    ) -> tuple[OutOfBagVotes, tuple[Any, ...]]:
        """Sum out-of-bag votes, for all rows or for `some` (by rank, with their out-of-bag bits)."""
        ranks, outside = some
        growths, trees = name_trees(growth, forest)
        before = (start.sums.ravel(), start.n_trees) if start else (None, None)
        rows = self._by_row(X)
        sums, n_trees, errors, shares, *of_rows = self.core.sum_votes_out_of_bag(
            # Bags are drawn for all trees
            (self._packed_for if outside else self._packed_once)(forest, X, rows, n_threads),
            codes,
            [self._growth(growth) for growth in growths],
            trees,
            rows,
            voting == "hard",
            *before,
            room,
            n_threads,
            watch,
            ranks,
            list(outside),
        )
        sums = sums if forest.task is Task.CLASSIFICATION else sums[:, 0]
        return OutOfBagVotes(sums, n_trees, errors, shares), tuple(of_rows)

    def draw_out_of_bag(
        self, codes: Codes, growths: Sequence[Growth], trees: Sequence[tuple[int, int, int]], n_threads: int = 1
    ) -> list[IntArray]:
        """Draw bags again: for each set of trees, an integer for each row, with a bit for each tree (1: out of bag).

        Trees are identified by the index of their growth, seed and number. Small sets have short integers.
        """
        at_once, found, drawn = self.core.bags_at_once, [], [self._growth(growth) for growth in growths]
        for i in range(0, len(trees), at_once):
            named = list(trees[i : i + at_once])
            bits = self.core.draw_out_of_bag(codes, drawn, named, n_threads)
            found.append(bits.astype(np.min_scalar_type((1 << len(named)) - 1)))
        return found

    def ranks(self, codes: Codes) -> IntArray:
        """Find the rank of each row, the inverse of `order`."""
        own = own_codes(codes)
        ranks = np.empty(own.n_rows, dtype=np.uint32)
        ranks[own.positions()] = np.arange(own.n_rows, dtype=np.uint32)
        return ranks

    def bag_source(self, codes: Codes) -> Any:
        """Drop the columns."""
        return own_codes(codes).without_columns()

    def send_bags(self, codes: Codes) -> tuple[Any, ...]:
        """Serialize the source of bags, to send it to other processes."""
        arrays: tuple[Any, ...] = own_codes(codes).bag_arrays()
        return arrays

    def receive_bags(self, arrays: tuple[Any, ...]) -> Any:
        """Deserialize the source of bags."""
        return self.core.bag_source(*arrays)

    def weigh(self, codes: Codes, line: npt.NDArray[np.uint64]) -> Any:
        """Set new integer weights for drawing bags."""
        own_codes(codes).weigh(line)
        return codes

    def _by_column(self, X: Any) -> Any:
        """Pass a table to the core for coding: a sparse one column by column."""
        if not sparse.issparse(X):
            return X
        columns = X.tocsc()
        return self._sparse(columns.indptr, columns.indices, columns.data, columns.shape)

    def _by_row(self, X: Any, begin: int = 0, end: int | None = None) -> Any:
        """Pass rows to the core for prediction, without converting sparse ones."""
        if not sparse.issparse(X):
            return np.asarray(X)[begin:end]
        starts = X.indptr[begin : None if end is None else end + 1]
        cells = slice(int(starts[0]), int(starts[-1]))
        shape = (len(starts) - 1, X.shape[1])
        return self._sparse(starts - starts[0], X.indices[cells], X.data[cells], shape)

    def _sparse(self, starts: Any, places: Any, values: Any, shape: tuple[int, int]) -> Any:
        narrow = starts.astype(np.int64, copy=False), places.astype(np.int32, copy=False)
        return self.core.SparseTable(*narrow, values, *shape)

    def _packed_for(self, forest: Forest, X: Any, rows: Any, n_threads: int) -> Any:
        """Choose small nodes if they are exact and there are enough rows to justify packing."""
        if X.shape[0] > FEW_ROWS and self.core.fits_float(rows):
            small = self._packed(forest, "small", n_threads)
            if small is not None:
                return small
        return self._packed(forest, "large", n_threads)

    def _packed_once(self, forest: Forest, X: Any, rows: Any, n_threads: int) -> Any:
        """Pack a large forest in parts on its first use, since there may be no other."""
        forms = forms_of(forest)
        first_time = not (forms.packed or forms.mapped or forms.was_walked)
        n_nodes = max(NODES_AT_ONCE, X.shape[0] * X.shape[1] // CELLS_PER_NODE)
        if not first_time or len(forest.feature) <= n_nodes:
            return self._packed_for(forest, X, rows, n_threads)
        forms.was_walked = True
        small_is_exact = X.shape[0] > FEW_ROWS and self.core.fits_float(rows)
        return self._from_arrays(self.core.PackedBatch, forest, small_is_exact, n_nodes)

    def _packed(self, forest: Forest, size: str, n_threads: int = 1) -> Any:
        """Return the packed forest as one buffer, computed once; None if it is too large for small nodes."""
        forms, key = forms_of(forest), (size, self.core.simd)
        if key in forms.packed:
            return forms.packed[key]
        found = forms.mapped.get(size)
        packed = (
            self._pack(forest, "soft", 1.0, n_threads, large=size == "large")
            if found is None
            else self._open_packed(forest, found, size)
        )
        return forms.packed.setdefault(key, packed)

    def packed_buffers(self, forest: Forest) -> dict[str, IntArray]:
        """Return the buffers of the packed forest by node size; small nodes are left out if the forest is too large."""
        packed = {size: self._packed(forest, size) for size in PACKED_SIZES}
        return {size: made.buffer() for size, made in packed.items() if made is not None}

    def find_packed(self, forest: Forest, buffers: Mapping[str, IntArray | None]) -> None:
        """Register existing buffers for a forest; they are checked on first use."""
        forms_of(forest).mapped.update({size: buffer for size, buffer in buffers.items() if buffer is not None})

    def _open_packed(self, forest: Forest, buffer: IntArray, size: str) -> Any:
        """Open a buffer, which may be followed by zeros, and check that it belongs to the forest."""
        try:
            n_bytes = int.from_bytes(buffer[8:16].tobytes(), "little")
            packed = self.core.Packed(buffer[:n_bytes])
        except (ValueError, TypeError) as error:
            raise FormatError(f"The packed forest in the file is invalid: {error}.") from None
        found = (packed.n_features, packed.n_classes, packed.n_trees, packed.is_large)
        if found != (forest.n_features, forest.n_classes, forest.n_trees, size == "large"):
            raise FormatError("The packed forest in the file belongs to another forest.")
        return packed

    def _pack(self, forest: Forest, voting: str, total: float, n_threads: int, *, large: bool) -> Any:
        return self._from_arrays(self.core.pack_forest, forest, large, total, voting == "hard", n_threads)

    def _growth(self, growth: Growth) -> Any:
        return self.core.Growth(**vars(growth))

    def _predictor(self, forest: Forest) -> Any:
        """Return the forest packed for prediction, computed once."""
        predictors, key = forms_of(forest).predictors, self.core.simd
        found = predictors.get(key)
        return predictors.setdefault(key, self._from_arrays(self.core.Predictor, forest)) if found is None else found

    def _paths(self, forest: Forest) -> _core.PathForest:
        """Return the data for SHAP values, computed once."""
        paths, key = forms_of(forest).paths, self.core.simd
        found = paths.get(key)
        return paths.setdefault(key, self._from_arrays(self.core.PathForest, forest)) if found is None else found

    def _from_arrays(self, make: Callable[..., Any], forest: Forest, *more: Any) -> Any:
        """Pass the arrays of a forest to the core, with shrunk values if any. Mapped files are checked on access."""
        return make(forest.n_features, forest.n_classes, shrink_forest(forest).arrays(), *more)


def _nodes_of(forest: Forest) -> dict[str, Array]:
    """Return the arrays that say which splits there are."""
    return {name: getattr(forest, name) for name in ("tree_start", "feature", "right", "decrease")}


def own_codes(codes: Codes) -> _core.Codes:
    """Raise an error for codes of another engine."""
    if type(codes).__name__ != "Codes":  # codes of any instruction set
        raise TypeError(f"The native engine got {type(codes).__name__}, which are codes of another engine.")
    own: Any = codes
    return own  # type: ignore[no-any-return]


def _forest_of(arrays: Any, codes: Codes, growth: Growth, seed: int, first_tree: int, n_trees: int) -> Forest:
    _refuse_changed(arrays)
    origin = Origin(seed, first_tree, n_trees, codes.fingerprint, growth.bags(codes.design), values=codes.values)
    return Forest(
        n_features=own_codes(codes).n_columns, n_classes=own_codes(codes).n_classes, **arrays, origins=(origin,)
    )


def _refuse_changed(arrays: Any) -> None:
    """Raise an error if a threshold is NaN: they may be read from X during growth, so another thread wrote to it."""
    if np.isnan(arrays["threshold"]).any():
        raise DataError(
            "X changed while the trees were grown: a value of the table became NaN. Do not write to X during a fit, or "
            "fit to a copy: X.copy()."
        )


def row_blocks(X: Any) -> list[tuple[int, int]]:
    """Split a sparse table with 64-bit indices into blocks of rows, since the core needs 32-bit indices: a copy."""
    n_rows = X.shape[0]
    if not sparse.issparse(X) or X.indices.dtype == np.int32 or X.nnz <= MOST_CELLS:
        return [(0, n_rows)]
    cuts = np.searchsorted(X.indptr, np.arange(MOST_CELLS, X.nnz, MOST_CELLS))
    cuts = np.unique([0, *cuts, n_rows]).tolist()
    return list(itertools.pairwise(cuts))


def _arrays_of(sharing: LeafMembership) -> tuple[Any, ...]:
    """Return the arrays of leaf members; missing ones are empty."""
    return (
        np.ascontiguousarray(sharing.leaves, dtype=np.int32),
        sharing.n_members,
        np.ascontiguousarray(sharing.tree_start, dtype=np.int64),
        np.ascontiguousarray(sharing.start, dtype=np.int64),
        np.ascontiguousarray(sharing.member, dtype=np.uint32),
        np.empty(0) if sharing.share is None else np.ascontiguousarray(sharing.share),
        np.empty(0, dtype=np.uint64) if sharing.counting is None else _words_of(sharing.counting),
    )


def _weighed(sharing: LeafMembership, target: FloatArray) -> tuple[Any, ...]:
    """Return the members of leaves, their shares and their targets as arrays for the core."""
    return (*_arrays_of(sharing)[:-1], np.ascontiguousarray(target, dtype=np.float64))


def _words_of(marks: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Pack the marks of each row into 64-bit words."""
    padded = np.zeros((len(marks), -(-marks.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(marks, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").ravel()


def _predictions_of(arrays: dict[str, Array], target: int, targets: Targets) -> dict[str, Array]:
    """Select the node values of one target. Classes are numbered across all targets; numbers are by node and target."""
    n_targets, first = targets.n_targets, sum(targets.n_classes[:target])
    n_classes = targets.n_classes_of(target)
    lengths = np.diff(arrays["leaf_start"])
    mine = (arrays["leaf_class"] >= first) & (arrays["leaf_class"] < first + n_classes)
    n_entries = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[mine], minlength=len(lengths))
    return {
        "leaf_start": np.concatenate([[0], np.cumsum(n_entries)]).astype(np.int64),
        "leaf_class": arrays["leaf_class"][mine] - np.int32(first),
        "leaf_weight": arrays["leaf_weight"][mine],
        "value": arrays["value"][target::n_targets].copy(),
        "impurity": arrays["impurity"][target::n_targets].copy(),
    }
