"""The interface of all engines: one set of functions, several engines, the same forest.

Engine                the interface
Codes                 a training table in the form of one engine
LocalEngine           the steps of a fit that are the same for engines of this process
OutOfBagVotes         sums of out-of-bag votes
PermutationTask       which features to permute among which rows
ShapTask              which SHAP values to compute
LeafMembership        the rows in each leaf
sum_weighted_votes    votes of trees with different weights

An engine for other hardware implements `Engine`, most easily as a subclass of `LocalEngine`; `choose.py` gives it a
name. `tests/engines/test_stub_engine.py` has the shortest one.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from weald.data.schema import TableReader
from weald.data.table import Reading, Table, TrainingArguments, read_table
from weald.data.targets import Targets
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines import progress
from weald.engines.bagging import read_design
from weald.engines.derived_forms import forms_of
from weald.engines.params import Growth
from weald.engines.threads import count_threads
from weald.forest.forest import Forest, Origin

if TYPE_CHECKING:
    from weald.engines.error_surface import KnownRows, SurfaceErrors, SurfaceSettings, SurfaceSums, SurfaceTrees
    from weald.engines.free_features import DependenceSums, FreeFeatures, LocalBins
    from weald.engines.reference import kernels

# Some columns of a table (rows x columns), and their positions.
Block = tuple[FloatArray, range]

STEPS = 20  # maximum number of callbacks per fit

# A callback that gets the fraction of the work done; it may raise an exception to stop the work.
Watch = Callable[[float], None]


@dataclass(frozen=True)
class PermutationTask:
    """The features to permute, the rows, and the arrays that receive the increases in loss."""

    trees: range  # numbers of the trees in the forest
    names: Sequence[tuple[int, int]]  # seed and number of each tree
    is_new: BoolArray  # trees x rows: whether the row is new to the tree
    order: IntArray  # rows in rank order
    target: FloatArray  # by row: a number, or a class code
    weight: FloatArray  # indexed by row
    group_of: IntArray  # by feature: its group; -1: it is not permuted
    group_id: IntArray  # by group: part of the address of its draws
    repeat: int = 0  # also part of the address
    cells: IntArray | None = None  # trees x groups x rows: values are permuted within cells
    sums: FloatArray | None = None  # rows x groups: the loss increase of each row in these trees is added to it
    squares: FloatArray | None = None  # squared increases, summed likewise


@dataclass(frozen=True)
class LeafMembership:
    """The leaf of each row, and the member rows of each leaf."""

    leaves: IntArray  # query rows x trees: node of the tree; -1: the tree does not count
    tree_start: IntArray  # by tree, and the end: its first node
    n_members: int  # number of rows that may be members of leaves
    start: IntArray  # by node of all trees, and the end: its first member
    member: IntArray  # ascending inside a leaf
    share: FloatArray | None = None  # weight by member of a leaf; None: 1
    counting: BoolArray | None = None  # rows x trees: sums are divided by the trees that count for both


@dataclass(frozen=True)
class ShapTask:
    """The SHAP values to compute: of the sum over trees of the values of a row's leaves."""

    amounts: FloatArray  # by node of all trees: the value of a leaf
    is_new: BoolArray | None = None  # trees x rows: a tree counts for these rows; None: for all
    pairs: bool = False  # compute interaction values of pairs instead
    background: Array | None = None  # rows of the interventional game, over which values are summed


class Codes(Protocol):
    """A training table as codes and ranks, in the format of one engine; other engines cannot read it."""

    @property
    def fingerprint(self) -> int:
        """Fingerprint of the training data as codes; the order of rows does not matter."""

    @property
    def values(self) -> int | None:
        """Fingerprint of the values; None: unknown."""

    @property
    def design(self) -> int:
        """Fingerprint of groups and strata; 0: there are none."""


class Model(TableReader, Protocol):
    """The part of an estimator that engines need to read a table."""

    task: Task


class Engine(Protocol):
    """The interface of an engine."""

    name: str

    @property
    def local(self) -> "Engine":
        """The engine that predicts and draws bags again in this process."""

    def threads(self, n_jobs: int | None) -> int:
        """Count the threads that an estimator with this `n_jobs` may use."""

    def read(self, model: Model, data: TrainingArguments) -> Reading:
        """Read the arguments of a fit. The names and categories of the features are stored in the estimator."""

    def code(self, table: Table, max_bins: int, n_threads: int, watch: Watch | None, n_trees: int = 0) -> Codes:
        """Turn a table into codes and ranks, in the engine's own form. `max_bins` 0 keeps every distinct value.

        `n_trees`: number of trees grown from these codes in one call, 0 if unknown. If it is known, an engine may
        save memory by reading the table again when the trees are grown.
        """

    def code_blocks(
        self, table: Table, blocks: Iterable[Block], max_bins: int, n_threads: int, watch: Watch | None
    ) -> Codes:
        """Code a table whose columns are given in blocks; its own X is not read."""

    def kernel_columns(
        self,
        samples: "kernels.Samples",
        prototypes: "kernels.Samples",
        rule: "kernels.KernelRule",
        n_threads: int,
        watch: Watch | None,
    ) -> FloatArray:
        """Values of a kernel (prototypes x samples)."""

    def row_product(self, table: Table, n_threads: int) -> int:
        """Compute the multiset hash of the rows of a table: the product of their numbers (`data_hash.py`)."""

    def column(self, codes: Codes, feature: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Codes of a feature in the order of the table's rows, and the smallest and largest value of each code."""

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow trees `first_tree`, `first_tree + 1` ..., and prune them if `ccp_alpha` is not 0."""

    def grow_and_vote(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
        ccp_alpha: float,
        voting: str | None,
        add_votes: "AddVotes | None",
    ) -> "tuple[Forest, OutOfBagVotes | None]":
        """Grow the first trees of a forest, and report progress to the listener if one is given.

        `voting`: how trees vote, if out-of-bag votes are needed. An engine that can sum them while trees grow
        also returns them. `add_votes` adds the votes of new trees to earlier ones, for the listener.
        """

    def grow_targets(
        self,
        codes: Codes,
        targets: Targets,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
    ) -> tuple[Forest, ...]:
        """Grow a multi-output forest: one forest for each target. They differ only in their leaf values."""

    def leaves(self, forest: Forest, X: Array, n_threads: int, watch: Watch | None) -> IntArray:
        """Find the leaf of each row in each tree (rows x trees), as node numbers inside the trees."""

    def sum_votes(self, forest: Forest, X: Array, voting: str, n_threads: int, watch: Watch | None) -> FloatArray:
        """Sum the predictions of the trees for each row, in tree order (rows x classes, or rows)."""

    def predict(
        self,
        forest: Forest,
        X: Array,
        voting: str,
        out: Array,
        n_threads: int,
        watch: Watch | None,
    ) -> None:
        """Write the mean prediction of the trees into `out` (rows x classes, or rows): float64 or float32."""

    def bags(self, codes: Codes, growth: Growth, origins: Sequence[Origin], n_threads: int) -> IntArray:
        """Draw the bags of origins again (trees x rows): how many times each row counts, in the table's order."""

    def order(self, codes: Codes) -> IntArray:
        """Rows of the table in rank order."""

    def shuffle(self, n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> IntArray:
        """Permute ranks with the draws of a tree and a group: return the source rank for each given rank."""

    def permute(
        self, forest: Forest, X: Array, task: PermutationTask, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Return how much the loss of trees increases when features are permuted (trees x groups), summed by weight.

        The loss is 1 for a wrong class, or the squared error. Sums run in rank order; the loss increases of rows are
        added to `task.sums` in tree order.
        """

    def shap(self, forest: Forest, X: Array, task: ShapTask, n_threads: int, watch: Watch | None) -> FloatArray:
        """Compute SHAP values (rows x features), or those of pairs (rows x features x features).

        The values of a tree are summed by its nodes, from the last to the first, and then added to those of the trees
        before it. Those of pairs are added node by node. With a background, the values of a tree are summed by the
        leaves that are reached.
        """

    def add_proximities(
        self, sharing: LeafMembership, k: int, n_threads: int, watch: Watch | None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Sum, for each row, the weights of the members of its leaves, as a sparse result: row starts, members, sums.

        Weights are added up in tree order. Only the k largest sums of each row are kept; on a tie, those of the
        first members; 0: all.
        """

    def square_proximities(
        self, sharing: LeafMembership, of_rows: IntArray, of_members: IntArray, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Sum the squares of these sums, for each row, over members of its class."""

    def quantiles(
        self, sharing: LeafMembership, target: FloatArray, levels: FloatArray, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Return quantiles of the target at rows (rows x levels); NaN for a row that is in no leaf.

        Members are the distinct targets in ascending order. The weight of a target is the sum of its shares, in tree
        order. A quantile is the first target at which the cumulated weight reaches level * total.
        """

    def cumulated_shares(
        self, sharing: LeafMembership, target: FloatArray, limits: IntArray, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Return the fraction of the weight of the targets below each limit (rows x limits)."""

    def standard_deviations(
        self, sharing: LeafMembership, target: FloatArray, n_threads: int, watch: Watch | None
    ) -> FloatArray:
        """Return the standard deviation of the target at rows, by their weights."""

    def sum_dependence(
        self,
        forest: Forest,
        values: FloatArray,
        X: Array,
        weight: IntArray | None,
        free: "FreeFeatures",
        bins: "LocalBins | None",
        n_threads: int,
        watch: Watch | None,
    ) -> "DependenceSums":
        """Sum the leaf values at all points of groups of features, for at most 65,536 rows (partial dependence).

        `values` are those of the nodes (nodes x width); `weight` is an integer for each row, None: 1. `bins`: only the
        steps between points, and only by the rows in their bins.
        """

    def sum_votes_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        voting: str,
        n_threads: int,
        watch: Watch | None,
        start: "OutOfBagVotes | None" = None,
        room: int = 0,
    ) -> "OutOfBagVotes":
        """Sum the votes of the trees for their out-of-bag rows, and compute the error after each tree.

        `start` has the sums of earlier trees, to be continued. `room`: the forest's values are scaled down by 2^room,
        so that sums of very large numbers stay finite.
        """

    def add_to_surface(
        self,
        trees: "SurfaceTrees",
        X: Array,
        settings: "SurfaceSettings",
        known: "KnownRows",
        state: "SurfaceSums",
        n_threads: int,
    ) -> "SurfaceErrors":
        """Add the votes of trees, under each setting, for the rows that are new to them; compute errors."""

    def link_strengths(self, forest: Forest, n_threads: int) -> FloatArray:
        """Return the alpha at which pruning removes each split, in the user's units; -inf in leaves."""

    def collect(self, votes: "OutOfBagVotes") -> "OutOfBagVotes":
        """Return sums of votes as arrays in this process. An engine may store them elsewhere while trees are added."""

    def attempts(self) -> Iterator[AbstractContextManager[None]]:
        """Yield a context for growing trees; a second one if the engine lost its codes and had to restore them."""

    def release(self) -> None:
        """Release resources outside this process after a failed fit."""

    def bag_source(self, codes: Codes) -> Codes:
        """Keep only the data that bags are drawn from; it is small compared with the table."""

    def weigh(self, codes: Codes, line: npt.NDArray[np.uint64]) -> Codes:
        """Set new integer weights for drawing bags. The given coded table may not be used afterwards."""


class LocalEngine:
    """The steps of a fit that are the same for all engines of this process."""

    @property
    def local(self) -> Self:
        """Return itself."""
        return self

    def threads(self, n_jobs: int | None) -> int:
        """Count the threads that an estimator with this `n_jobs` may use."""
        return count_threads(n_jobs)

    def read(self, model: Model, data: TrainingArguments) -> Reading:
        """Read a table in memory."""
        reading = read_table(model, data.X, data.y, data.sample_weight, classify=model.task is Task.CLASSIFICATION)
        return read_design(reading, data.groups, data.stratify)

    def grow_and_vote(
        self: Engine,
        codes: Codes,
        growth: Growth,
        seed: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
        ccp_alpha: float,
        voting: str | None,
        add_votes: "AddVotes | None",
    ) -> "tuple[Forest, OutOfBagVotes | None]":
        """Grow the trees, in steps if there is a listener; votes are summed later."""
        listener = progress.listener()
        if listener is None:
            return self.grow(codes, growth, seed, 0, n_trees, n_threads, watch, ccp_alpha), None

        def grow(first: int, n_more: int) -> Forest:
            only = watch if n_more == n_trees else None  # grown in several steps, with a callback after each
            return self.grow(codes, growth, seed, first, n_more, n_threads, only, ccp_alpha)

        return grow_in_steps(grow, listener, add_votes, n_trees, n_threads), None

    def collect(self, votes: "OutOfBagVotes") -> "OutOfBagVotes":
        """Return the votes unchanged: they are in this process."""
        return votes

    def bag_source(self, codes: Codes) -> Codes:
        """Return the codes unchanged; engines that can draw bags from less data override this."""
        return codes

    def attempts(self) -> Iterator[AbstractContextManager[None]]:
        """Yield once: nothing can be lost in this process."""
        yield nullcontext()

    def release(self) -> None:
        """Do nothing: there are no resources outside this process."""


class OutOfBagVotes(NamedTuple):
    """Out-of-bag votes of trees."""

    sums: FloatArray  # rows x classes, or rows: summed in tree order
    n_trees: IntArray  # by row: number of trees for which it is out of bag
    errors: FloatArray  # after each tree: error of the rows that have votes; NaN: there are none
    shares: FloatArray  # after each tree: their fraction of the total weight


AddVotes = Callable[[Forest, OutOfBagVotes | None], OutOfBagVotes]  # adds the votes of trees to those of earlier ones


def grow_in_steps(
    grow: Callable[[int, int], Forest],
    listener: progress.Listener,
    add_votes: AddVotes | None,
    n_trees: int,
    n_threads: int,
) -> Forest:
    """Grow the first trees in steps, and call the listener after each; it may end the growth."""
    step = max(n_threads, -(-n_trees // STEPS))
    parts: list[Forest] = []
    votes = None
    for first in range(0, n_trees, step):
        parts.append(grow(first, min(step, n_trees - first)))
        votes = None if add_votes is None else add_votes(parts[-1], votes)
        n_done = first + parts[-1].n_trees
        error = None if votes is None else float(votes.errors[-1])
        if listener(progress.Growing(n_done, n_trees, error)):
            break
    return parts[0].join(*parts[1:])


def sum_weighted_votes(
    engine: Engine, forest: Forest, X: Array, voting: str, n_threads: int, watch: Watch | None
) -> FloatArray:
    """Sum the votes of trees of different weight: weight times vote, in tree order."""
    forms = forms_of(forest)
    if not forms.trees:
        equal = dataclasses.replace(forest, tree_weight=np.empty(0))
        forms.trees = [equal.take([t]) for t in range(forest.n_trees)]
    sums: FloatArray = np.zeros((X.shape[0], forest.n_classes))
    for weight, tree in zip(forest.tree_weight, forms.trees, strict=True):
        sums += weight * engine.sum_votes(tree, X, voting, n_threads, watch)
    return sums
