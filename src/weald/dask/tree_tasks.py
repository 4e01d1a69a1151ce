"""What workers do with a table of codes that has arrived there. Each of these is a task: a pure function.

grow_trees        some trees
grow_piece        a piece of one
join_pieces       the tree that they make
draw_outside      which rows are outside the bags of trees
send_bags         what bags are drawn from, for those who ask later
take_rows         the values of a block of rows
vote              what trees say of a block of rows outside their bags, after what earlier trees said
errors_of         of that, how wrong they are
votes_of          of that, all they said
length_of_line    the lengths of all rows on the line of weights
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from weald.codes.bins import ColumnCuts, join_cuts
from weald.codes.partitioned_table import Labels, Rows
from weald.dask.cluster import n_threads_here
from weald.dask.coded_partitions import Chunk, CodedTable, CodeMaxima, open_table, read_block
from weald.dask.joining import TreeArrays, join
from weald.dask.tree_pieces import Piece, make_tree
from weald.data.types import IntArray
from weald.engines.interface import OutOfBagVotes
from weald.engines.native import Errors, NativeEngine
from weald.engines.params import Growth
from weald.forest.forest import Bags, Forest
from weald.forest.pruning import prune_forest

Run = Sequence[int]  # rows that follow one another: the first, and the one behind the last
# What every task needs to open the table.
CodedParts = tuple[Sequence[Chunk], Sequence[ColumnCuts], CodeMaxima, Rows, Labels]


def open_here(codes: CodedParts) -> CodedTable:
    """Open the table that has arrived at a worker. All its threads help: they need it, too."""
    chunks, columns, highs, rows, labels = codes
    return open_table(chunks, join_cuts(columns, labels), highs, rows, labels, n_threads_here())


def grow_trees(
    codes: CodedParts, growth: Growth, seed: int, first: int, n_trees: int, ccp_alpha: float, helped: bool
) -> TreeArrays:
    """Grow some trees on a thread of the worker. If they may be helped, so do its threads that have no task left."""
    n_slots = n_threads_here() if helped else 1
    forest = NativeEngine().grow_with_help(open_here(codes).ranked, growth, seed, first, n_trees, n_slots)
    return _sent(forest, ccp_alpha)


def grow_piece(codes: CodedParts, growth: Growth, seed: int, tree: int, number: int, n_pieces: int) -> Piece:
    """Grow one of the pieces of a tree."""
    forest, *nodes = NativeEngine().grow_piece(open_here(codes).ranked, growth, seed, tree, number, n_pieces)
    return Piece(TreeArrays.of(forest), *nodes)


def join_pieces(found: Sequence[Piece], ccp_alpha: float) -> TreeArrays:
    """Make a tree of all its pieces."""
    return _sent(make_tree(found), ccp_alpha)


def _sent(forest: Forest, ccp_alpha: float) -> TreeArrays:
    return TreeArrays.of(prune_forest(forest, ccp_alpha) if ccp_alpha > 0 else forest)


def send_bags(codes: CodedParts) -> tuple[Any, ...]:
    """Send what bags are drawn from: 24 bytes a row at most."""
    return NativeEngine().send_bags(open_here(codes).ranked)


def draw_outside(codes: CodedParts, growth: Growth, named: Sequence[tuple[Bags | None, int, int]]) -> list[IntArray]:
    """Find the rows outside the bags of some trees: once, for all who let these trees speak.

    Trees are named by their bags (None: as `growth` says), seed and number. Of each set of trees there is an integer
    for each row, with a bit for each tree.
    """
    kinds = list(dict.fromkeys(bags for bags, _, _ in named))
    growths = [growth if bags is None else growth.with_bags(bags) for bags in kinds]
    trees = [(kinds.index(bags), seed, tree) for bags, seed, tree in named]
    return NativeEngine().draw_out_of_bag(open_here(codes).ranked, growths, trees)


@dataclass(frozen=True)
class BlockVotes:
    """What trees have said of a block of rows outside their bags."""

    votes: OutOfBagVotes
    errors: Errors  # after each of the trees that spoke last


def vote(
    codes: CodedParts,
    growth: Growth,
    trees: Sequence[TreeArrays],
    outside: Sequence[IntArray],
    voting: str,
    runs: Sequence[Run],
    values: Any,
    before: BlockVotes | None,
    room: int,
) -> BlockVotes:
    """Let some trees speak of a block of rows: runs of them, whose values are in this order; None: codes tell them."""
    coded = open_here(codes)
    assert coded.values is not None  # noqa: S101  (for the type checker: it is open)
    X = np.concatenate([read_block(codes[0], coded.values, *run) for run in runs]) if values is None else values
    of_rows = ([array[begin:end] for begin, end in runs] for array in (coded.ranks, *outside))
    ranks, *here = map(np.concatenate, of_rows)
    bits = [of_set.astype(np.uint64) for of_set in here]
    start = None if before is None else before.votes
    said = NativeEngine().sum_votes_of_rows(coded.ranked, growth, join(trees), X, ranks, voting, start, room, bits)
    return BlockVotes(*said)


def errors_of(said: BlockVotes) -> Errors:
    """Take what is small."""
    return said.errors


def votes_of(said: BlockVotes) -> OutOfBagVotes:
    """Take what is as long as the block."""
    return said.votes


def take_rows(pieces: Sequence[tuple[Any, int, int]]) -> Any:
    """Put the values of a block together: pieces of parts."""
    cut = [values[begin:end] for values, begin, end in pieces]
    if len(cut) == 1:
        return cut[0]
    return sparse.vstack(cut, format="csr") if sparse.issparse(cut[0]) else NativeEngine().store_by_column(cut)


def length_of_line(rows: Rows, labels: Labels) -> int:
    """Add up the lengths of all rows on the line of weights."""
    return int(labels.lengths(rows.weight, len(rows.target)).sum(dtype=np.uint64))
