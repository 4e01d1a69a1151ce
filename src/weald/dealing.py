"""Trees as tasks: dealt out over a cluster, joined by their numbers, and judged by rows outside their bags.

    grow_trees      a task: some trees
    grow_piece      a task: a piece of one
    join_pieces     a task: the tree that they make
    draw_outside    a task: which rows are outside their bags
    send_bags       a task: what bags are drawn from, for those who ask later
    vote            a task: what they say of some of these rows, after what earlier trees said
    Judged          what is known of the error so far
    Dealer          hands all in, and tells how far the forest has come

Sums over trees run in tree order, so rows are divided among the workers, and each block of rows hears the trees one
after the other. Errors are integers: those of all blocks add up to what one machine finds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, cycle, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from weald import progress
from weald.cluster import n_threads_here
from weald.coded_parts import Chunk, CodedTable, Highs, open_table, read_block
from weald.coding_there import CodedOnCluster
from weald.cutting import Cuts
from weald.engines.door import OutOfBagVotes
from weald.engines.native import Errors, NativeEngine, curve_of
from weald.joining import Joining, Trees, join
from weald.model import Bags, Forest, IntArray
from weald.params import Growth
from weald.parts import Labels, Rows
from weald.pieces import Piece, make_tree
from weald.portions import count_pieces, divide, divide_rows, first_helped, portion
from weald.progress import Growing
from weald.prune import prune_forest
from weald.threads import count_threads

TASKS_PER_THREAD = 4  # at least: the more, the less is lost with a worker
BLOCK_BYTES = 1 << 28  # of values that a vote reads
JOINERS = 4  # threads of the client that put trees in their places, at most


Run = Sequence[int]  # rows that follow one another: the first, and the one behind the last
Codes = tuple[Sequence[Chunk], Cuts, Highs, Rows, Labels]  # what every task needs to open the table


def open_here(codes: Codes) -> CodedTable:
    """Open the table that has arrived at a worker. All its threads help: they need it, too."""
    return open_table(*codes, n_threads=n_threads_here())


def grow_trees(
    codes: Codes, growth: Growth, seed: int, first: int, n_trees: int, ccp_alpha: float, helped: bool
) -> Trees:
    """Grow some trees on a thread of the worker. If they may be helped, so do its threads that have no task left."""
    n_seats = n_threads_here() if helped else 1
    forest = NativeEngine().grow_with_help(open_here(codes).ranked, growth, seed, first, n_trees, n_seats)
    return _sent(forest, ccp_alpha)


def grow_piece(codes: Codes, growth: Growth, seed: int, tree: int, number: int, n_pieces: int) -> Piece:
    """Grow one of the pieces of a tree."""
    forest, *nodes = NativeEngine().grow_piece(open_here(codes).ranked, growth, seed, tree, number, n_pieces)
    return Piece(Trees.of(forest), *nodes)


def join_pieces(found: Sequence[Piece], ccp_alpha: float) -> Trees:
    """Make a tree of all its pieces."""
    return _sent(make_tree(found), ccp_alpha)


def _sent(forest: Forest, ccp_alpha: float) -> Trees:
    return Trees.of(prune_forest(forest, ccp_alpha) if ccp_alpha > 0 else forest)


def send_bags(codes: Codes) -> tuple[Any, ...]:
    """Send what bags are drawn from: 24 bytes a row at most."""
    return NativeEngine().send_bags(open_here(codes).ranked)


def draw_outside(codes: Codes, growth: Growth, named: Sequence[tuple[Bags | None, int, int]]) -> list[IntArray]:
    """Find the rows outside the bags of some trees: once, for all who let these trees speak.

    Trees are named by their bags (None: as `growth` says), seed and number. Of each set of trees there is an integer
    for each row, with a bit for each tree.
    """
    kinds = list(dict.fromkeys(bags for bags, _, _ in named))
    growths = [growth if bags is None else growth.with_bags(bags) for bags in kinds]
    trees = [(kinds.index(bags), seed, tree) for bags, seed, tree in named]
    return NativeEngine().draw_out_of_bag(open_here(codes).ranked, growths, trees)


@dataclass(frozen=True)
class Said:
    """What trees have said of a block of rows outside their bags."""

    votes: OutOfBagVotes
    errors: Errors  # after each of the trees that spoke last


def vote(
    codes: Codes,
    growth: Growth,
    trees: Sequence[Trees],
    outside: Sequence[IntArray],
    voting: str,
    runs: Sequence[Run],
    values: Any,
    before: Said | None,
    room: int,
) -> Said:
    """Let some trees speak of a block of rows: runs of them, whose values are in this order; None: codes tell them."""
    coded = open_here(codes)
    assert coded.values is not None  # noqa: S101  (for the type checker: it is open)
    X = np.concatenate([read_block(codes[0], coded.values, *run) for run in runs]) if values is None else values
    of_rows = ([array[begin:end] for begin, end in runs] for array in (coded.ranks, *outside))
    ranks, *here = map(np.concatenate, of_rows)
    bits = [of_set.astype(np.uint64) for of_set in here]
    start = None if before is None else before.votes
    said = NativeEngine().sum_votes_of_rows(coded.ranked, growth, join(trees), X, ranks, voting, start, room, bits)
    return Said(*said)


def errors_of(said: Said) -> Errors:
    """Take what is small."""
    return said.errors


def votes_of(said: Said) -> OutOfBagVotes:
    """Take what is as long as the block."""
    return said.votes


# ------------------------------------------------------------------------------------------------------------ dealer


@dataclass(frozen=True)
class Block:
    """Rows of which one task after the other hears what trees say."""

    runs: list[Run]
    values: Any = None  # their name; None: codes tell them
    place: str | None = None  # where these are


class Judged:
    """The errors of sets of trees, put together as they come, block by block of the rows."""

    def __init__(self, n_told: int, n_blocks: int) -> None:
        self._n_told, self._n_blocks = n_told, n_blocks
        self._found: dict[int, Errors] = {}
        self.errors: list[Errors] = []  # of the first sets, all of whose blocks have come
        self.error: float | None = None  # after all trees of these

    def add(self, number: int, errors: Errors) -> None:
        """Take the errors of one block. They are numbered set by set, and may come in any order."""
        self._found[number] = errors
        while not self.is_complete():
            first = len(self.errors) * self._n_blocks
            of_set = [self._found[i] for i in range(first, first + self._n_blocks) if i in self._found]
            if len(of_set) < self._n_blocks:
                return
            self.errors.append(reduce(Errors.add, of_set))
            self.error = float(self.errors[-1].means()[-1])

    def is_complete(self) -> bool:
        """Say whether all sets have been judged."""
        return len(self.errors) * self._n_blocks == self._n_told


class Dealer:
    """Deals out the trees of a model."""

    def __init__(self, coded: CodedOnCluster, model: Any, bags: Any = None) -> None:
        """Take a table that is on the cluster, and what its bags are drawn from, if that is here."""
        self.coded, self.model, self.cluster, self._bags = coded, model, coded.cluster, bags
        self.n_threads = self.cluster.n_threads
        self._sent: list[Any] = []
        self.blocks = _blocks_of_parts(coded) if coded.parts else _blocks_of_codes(coded, self.n_threads)

    def grow(self, first: int, n_trees: int) -> Forest:
        """Grow trees `first`, `first + 1` ... all over the cluster."""
        return join(self.cluster.gather_all([task for task, _ in self._deal(first, n_trees)]))

    def look(self, forest: Forest, before: OutOfBagVotes | None, room: int = 0) -> OutOfBagVotes:
        """Let trees speak of all rows outside their bags. What they say stays on the workers: `sums` are its names."""
        named = [(origin.bags, *tree) for origin in forest.origins for tree in origin.trees()]
        self._sent.append(self.cluster.send(Trees.of(forest)))  # what is sent cannot be worked out again
        said = self._vote(self._sent[-1:], self._draw(named), None if before is None else before.sums, room)
        errors = reduce(Errors.add, self.cluster.gather_all([self.cluster.submit(errors_of, block) for block in said]))
        return self._with_curve(said, [errors])

    def grow_and_look(self, first: int, n_trees: int, *, judged: bool) -> tuple[Forest, OutOfBagVotes | None]:
        """Grow trees and, if wanted, let them speak as they come; tell those who watch."""
        dealt = self._deal(first, n_trees)
        said, told = None, []
        sets = divide(dealt, self.n_threads * TASKS_PER_THREAD) if judged else []
        for of_set in sets:  # rows are read anew for each, so there are no more than are worth it
            outside = self._draw([(None, self.model.seed_, tree) for _, trees in of_set for tree in trees])
            said = self._vote([task for task, _ in of_set], outside, said, 0)
            told += [self.cluster.submit(errors_of, block) for block in said]
        forest, errors = self._watch([task for task, _ in dealt], told, n_trees)
        return forest, None if said is None else self._with_curve(said, errors)

    def fetch(self, said: OutOfBagVotes) -> OutOfBagVotes:
        """Bring what trees said of all rows here."""
        names: Any = said.sums
        found = self.cluster.gather_all([self.cluster.submit(votes_of, block) for block in names])
        n_rows, width = self.coded.labels.n_rows, found[0].sums.shape[1:]
        sums, n_trees = np.empty((n_rows, *width)), np.empty(n_rows, dtype=found[0].n_trees.dtype)
        for block, votes in zip(self.blocks, found, strict=True):
            rows = np.concatenate([np.arange(*run) for run in block.runs])
            sums[rows], n_trees[rows] = votes.sums, votes.n_trees
        return OutOfBagVotes(sums, n_trees, said.errors, said.shares)

    def fetch_bags(self) -> Any:
        """Bring what bags are drawn from here."""
        if self._bags is not None:
            return self._bags
        return NativeEngine().receive_bags(self.cluster.gather(self.coded.submit(send_bags)))

    # ------------------------------------------------------------------------------------------------------ inside

    def _deal(self, first: int, n_trees: int) -> list[tuple[Any, range]]:
        """Hand in the growth of trees: the tasks, and which trees they grow.

        Dask puts a task where its data are, and the codes are nowhere or in one place when the first trees are due.
        So each task says where it would be grown if all workers had as much to do.

        The scheduler has to look at all chunks of codes for each task. So all workers are given something to begin
        with, and the others are handed in when the codes have arrived.
        """
        seats, n_rows = self.cluster.seats(), self.coded.labels.n_rows
        portions = portion(range(first, first + n_trees), n_rows, self.n_threads * TASKS_PER_THREAD)
        # Trees of so many leaves are grown from the best node to the next, and have no pieces.
        n_last, n_pieces = (0, 1) if self.model.growth_.max_leaf_nodes else count_pieces(portions, n_rows, seats)
        helped = first_helped(len(portions), len(seats))
        wishes = cycle(seats or [None])
        dealt: list[tuple[Any, range]] = []
        try:
            for i, trees in enumerate(portions):
                if i == len(seats):
                    self.coded.wait_until_ranked()
                # Dask takes tasks of one priority in any order, and large ones might come last.
                priority = -i / len(portions)
                if i < len(portions) - n_last:
                    task = self._grow(trees, helped=i >= helped, priority=priority, wish=next(wishes))
                else:
                    task = self._grow_in_pieces(trees[0], n_pieces, priority, wishes)
                dealt.append((task, trees))
        except BaseException:
            self.cluster.cancel([task for task, _ in dealt])
            raise
        return dealt

    def _grow(self, trees: range, *, helped: bool, priority: float, wish: str | None) -> Any:
        model = self.model
        what = (model.growth_, model.seed_, trees[0], len(trees), model.ccp_alpha, helped)
        return self.coded.submit(grow_trees, *what, priority=priority, wish=wish)

    def _grow_in_pieces(self, tree: int, n_pieces: int, priority: float, wishes: Iterator[str | None]) -> Any:
        model = self.model
        found = [
            self.coded.submit(
                grow_piece, model.growth_, model.seed_, tree, i, n_pieces, priority=priority, wish=next(wishes)
            )
            for i in range(n_pieces)
        ]
        return self.cluster.submit(join_pieces, found, model.ccp_alpha, priority=1)

    def _draw(self, named: Sequence[tuple[Bags | None, int, int]]) -> Any:
        return self.coded.submit(draw_outside, self.model.growth_, named, priority=1)

    def _vote(self, trees: list[Any], outside: Any, before: Any, room: int) -> list[Any]:
        """Hand in what one set of trees has to say, block by block."""
        model, voting = self.model, self.model._voting()  # noqa: SLF001
        return [
            self.coded.submit(
                vote,
                model.growth_,
                trees,
                outside,
                voting,
                block.runs,
                block.values,
                None if before is None else before[i],
                room,
                priority=1,  # as soon as trees are there, so that the error so far is known
                wish=block.place,  # values are not to travel
            )
            for i, block in enumerate(self.blocks)
        ]

    def _watch(self, tasks: list[Any], told: list[Any], n_trees: int) -> tuple[Forest, list[Errors]]:
        """Wait for trees and the errors of sets of them, and tell how far it is. Workers need not keep what is here."""
        watch, listener = progress.watch_fit(self.model.verbose, n_trees), progress.listener()
        joining = Joining(n_trees, min(count_threads(None), JOINERS))
        judged, n_done = Judged(len(told), len(self.blocks)), 0
        try:
            for i, thing in self.cluster.each([*tasks, *told]):
                if i < len(tasks):
                    joining.add(i, thing)
                    tasks[i].release()
                    n_done += thing.n_trees
                else:
                    judged.add(i - len(tasks), thing)
                if watch:
                    watch.note = "" if judged.error is None else f"  out-of-bag error {judged.error:.4g}"
                    watch(min(n_done / n_trees, 1.0 if judged.is_complete() else 0.99))
                if listener and i < len(tasks):
                    listener(Growing(n_done, n_trees, judged.error))
            return joining.forest(), judged.errors
        finally:
            joining.close()
            if watch:
                watch.stop()

    def _with_curve(self, said: Any, errors: Sequence[Errors]) -> OutOfBagVotes:
        """Put the names of what was said, and the errors of all rows, into the form of one machine."""
        labels = self.coded.labels
        length = labels.total if labels.whole else self._line_length()
        return OutOfBagVotes(said, said, *curve_of(errors, length))

    def _line_length(self) -> int:
        """Add up the line of weights that are not whole."""
        found: int = self.cluster.gather(self.cluster.submit(length_of_line, self.coded.rows, self.coded.labels_there))
        return found


def _blocks_of_codes(coded: CodedOnCluster, n_threads: int) -> list[Block]:
    """Divide rows whose codes tell their values: every worker has them."""
    n_rows, n_features = coded.labels.n_rows, coded.labels.n_features
    n_blocks = min(n_rows, max(n_threads, -(-8 * n_rows * n_features // BLOCK_BYTES)))
    ends = [n_rows * i // n_blocks for i in range(n_blocks + 1)]
    return [Block([run]) for run in pairwise(ends)]


def _blocks_of_parts(coded: CodedOnCluster) -> list[Block]:
    """Divide rows among the workers that have their values."""
    firsts = [0, *accumulate(part.n_rows for part in coded.parts)]
    places, n_rows = ([getattr(part, name) for part in coded.parts] for name in ("place", "n_rows"))
    blocks = []
    for place, pieces in divide_rows(places, n_rows, coded.cluster.seats()):
        cut = [(coded.parts[i].values, begin - firsts[i], end - firsts[i]) for i, begin, end in pieces]
        values = coded.cluster.submit(take_rows, cut, wish=place)
        blocks.append(Block([run for _, *run in pieces], values, place))
    coded.parts.clear()  # blocks have them now
    return blocks


def take_rows(pieces: Sequence[tuple[Any, int, int]]) -> Any:
    """Put the values of a block together: pieces of parts."""
    cut = [values[begin:end] for values, begin, end in pieces]
    if len(cut) == 1:
        return cut[0]
    return sparse.vstack(cut, format="csr") if sparse.issparse(cut[0]) else NativeEngine().store_by_column(cut)


def length_of_line(rows: Rows, labels: Labels) -> int:
    """Add up the lengths of all rows on the line of weights."""
    return int(labels.lengths(rows.weight, len(rows.target)).sum(dtype=np.uint64))
