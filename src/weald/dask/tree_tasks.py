"""The tasks that workers run on a table of codes. Each is a pure function.

grow_trees        grows some trees
grow_piece        grows a piece of one tree
join_pieces       joins the pieces of a tree
draw_outside      finds the out-of-bag rows of trees
send_bags         returns the data from which bags are drawn
take_rows         joins the values of a block of rows
vote              adds the votes of trees for the out-of-bag rows of a block to earlier votes
errors_of         the out-of-bag errors of these votes
votes_of          the summed votes
length_of_line    the sum of the integer weights of all rows
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

Run = Sequence[int]  # consecutive rows: first and end
# The arguments that every task needs to open the table.
CodedParts = tuple[Sequence[Chunk], Sequence[ColumnCuts], CodeMaxima, Rows, Labels]


def open_here(codes: CodedParts) -> CodedTable:
    """Open the table on this worker, using all of its threads."""
    chunks, columns, highs, rows, labels = codes
    return open_table(chunks, join_cuts(columns, labels), highs, rows, labels, n_threads_here())


def grow_trees(
    codes: CodedParts, growth: Growth, seed: int, first: int, n_trees: int, ccp_alpha: float, helped: bool
) -> TreeArrays:
    """Grow some trees on a thread of the worker. If `helped`, idle threads of the worker help."""
    n_slots = n_threads_here() if helped else 1
    forest = NativeEngine().grow_with_help(open_here(codes).ranked, growth, seed, first, n_trees, n_slots)
    return _sent(forest, ccp_alpha)


def grow_piece(codes: CodedParts, growth: Growth, seed: int, tree: int, number: int, n_pieces: int) -> Piece:
    """Grow one piece of a tree."""
    forest, *nodes = NativeEngine().grow_piece(open_here(codes).ranked, growth, seed, tree, number, n_pieces)
    return Piece(TreeArrays.of(forest), *nodes)


def join_pieces(found: Sequence[Piece], ccp_alpha: float) -> TreeArrays:
    """Join the pieces of a tree."""
    return _sent(make_tree(found), ccp_alpha)


def _sent(forest: Forest, ccp_alpha: float) -> TreeArrays:
    return TreeArrays.of(prune_forest(forest, ccp_alpha) if ccp_alpha > 0 else forest)


def send_bags(codes: CodedParts) -> tuple[Any, ...]:
    """Return the data from which bags are drawn: at most 24 bytes per row."""
    return NativeEngine().send_bags(open_here(codes).ranked)


def draw_outside(codes: CodedParts, growth: Growth, named: Sequence[tuple[Bags | None, int, int]]) -> list[IntArray]:
    """Find the out-of-bag rows of some trees, once for all votes of these trees.

    Trees are named by their bags (None: as in `growth`), seed and number. The result has an integer per row for each
    set of trees, with one bit per tree.
    """
    kinds = list(dict.fromkeys(bags for bags, _, _ in named))
    growths = [growth if bags is None else growth.with_bags(bags) for bags in kinds]
    trees = [(kinds.index(bags), seed, tree) for bags, seed, tree in named]
    return NativeEngine().draw_out_of_bag(open_here(codes).ranked, growths, trees)


@dataclass(frozen=True)
class BlockVotes:
    """The votes of trees for the out-of-bag rows of a block."""

    votes: OutOfBagVotes
    errors: Errors  # after each tree of the last set


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
    """Add the votes of trees for a block of rows: runs of rows, and their values in order; None: read from codes."""
    coded = open_here(codes)
    assert coded.values is not None  # noqa: S101  (for the type checker: it is open)
    X = np.concatenate([read_block(codes[0], coded.values, *run) for run in runs]) if values is None else values
    of_rows = ([array[begin:end] for begin, end in runs] for array in (coded.ranks, *outside))
    ranks, *here = map(np.concatenate, of_rows)
    bits = [of_set.astype(np.uint64) for of_set in here]
    start = None if before is None else before.votes
    block = NativeEngine().sum_votes_of_rows(coded.ranked, growth, join(trees), X, ranks, voting, start, room, bits)
    return BlockVotes(*block)


def errors_of(block: BlockVotes) -> Errors:
    """Return the errors, which are small."""
    return block.errors


def votes_of(block: BlockVotes) -> OutOfBagVotes:
    """Return the votes, an array as long as the block."""
    return block.votes


def take_rows(pieces: Sequence[tuple[Any, int, int]]) -> Any:
    """Join the values of a block from pieces of parts."""
    cut = [values[begin:end] for values, begin, end in pieces]
    if len(cut) == 1:
        return cut[0]
    return sparse.vstack(cut, format="csr") if sparse.issparse(cut[0]) else NativeEngine().store_by_column(cut)


def length_of_line(rows: Rows, labels: Labels) -> int:
    """Sum the integer weights of all rows."""
    return int(labels.lengths(rows.weight, len(rows.target)).sum(dtype=np.uint64))
