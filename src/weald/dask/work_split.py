"""Sizes of tasks: how many trees and partitions a task gets, and how much memory a worker needs.

split_trees          trees -> the tasks that grow them, smaller ones towards the end
first_helped         the first task that idle threads help with
count_pieces         how many of the last trees are grown in pieces
divide               a sequence -> pieces of neighbors
group_neighbors      partitions -> groups, one task each
share_threads        tables of several partitions -> number of threads for each
divide_rows          rows of parts -> blocks, one for each thread of the worker that holds them
bytes_on_a_worker    estimate of the memory that a worker needs
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from weald.data.task import Task

ROWS_PER_TASK = 1 << 18, 1 << 20  # rows over all trees of a task: fewer are not worth a task; more are lost if it fails
COLUMNS_PER_THREAD = 2  # columns of a shared table: with fewer, some threads would be idle
CELLS_PER_THREAD = 1 << 17  # with fewer, starting threads takes longer
ROWS_PER_PIECE = 1 << 16  # rows of a piece of a tree: with fewer, pieces would mostly repeat the same nodes

# Bytes per row, measured at 1,000,000 x 28.
TO_RANK, RANKED = 110, 50  # bytes per row during and after ranking
TO_GROW = {Task.CLASSIFICATION: 56, Task.REGRESSION: 150}  # bytes per row of a growing tree
GROWN = {Task.CLASSIFICATION: 14, Task.REGRESSION: 71}  # bytes per row of a finished tree grown to purity
LINE = 16  # the codes of a row are padded to a multiple of this many bytes
VALUE = 8  # maximum bytes of a value kept beside its code
TWICE, COPIED = 4, 1 << 27  # maximum number of trees, and of bytes, in memory twice while they are joined

Piece = tuple[int, int, int]  # part number, first row and end row, counted over all parts


def split_trees(trees: range, n_rows: int, n_tasks: int) -> list[range]:
    """Divide trees into at least `n_tasks` tasks, if there are enough trees.

    Tasks get smaller towards the end, so that all workers finish at about the same time.
    """
    least = min(_trees_that_have(ROWS_PER_TASK[0], n_rows), max(1, len(trees) // n_tasks))
    tree_ranges = []
    while trees:
        size = min(_trees_that_have(ROWS_PER_TASK[1], n_rows), max(least, len(trees) // n_tasks))
        tree_ranges.append(trees[:size])
        trees = trees[size:]
    return tree_ranges


def first_helped(n_tasks: int, n_threads: int) -> int:
    """Return the first task that other threads may help with: the last task per thread, and the remainder.

    Before it, every thread has a task of its own; a tree grown by several threads costs slightly more in total.
    """
    return max(0, n_tasks - n_threads - n_tasks % n_threads) if n_threads else 0


def count_pieces(tree_ranges: Sequence[range], n_rows: int, slots: Sequence[str]) -> tuple[int, int]:
    """Return how many of the last trees are grown in pieces, and the number of pieces of each.

    If the trees do not divide evenly among workers of one thread, the workers grow the last trees together. A piece
    takes as long as its part of the tree plus the few nodes that have rows of several pieces. `n_rows` is the number of
    rows of a tree.
    """
    n_last = sum(map(len, tree_ranges)) % len(slots) if slots else 0
    if not n_last or len(set(slots)) < len(slots) or any(len(trees) > 1 for trees in tree_ranges[-n_last:]):
        return 0, 1
    n_pieces = min(len(slots) // n_last, n_rows // ROWS_PER_PIECE)
    return (n_last, n_pieces) if n_pieces > 1 else (0, 1)


def _trees_that_have(rows: int, n_rows: int) -> int:
    return max(1, -(-rows // n_rows))


def divide(things: Sequence[Any], n: int) -> list[Any]:
    """Divide a sequence into n pieces of neighbors; the first pieces are the longer ones."""
    size, n_longer = divmod(len(things), n)
    ends = [i * size + min(i, n_longer) for i in range(n + 1)]
    return [things[begin:end] for begin, end in pairwise(ends) if begin < end]


def group_neighbors(
    places: Sequence[str | None], n_rows: Sequence[int], slots: Sequence[str], n_features: int, most_rows: int
) -> list[list[int]]:
    """Group consecutive partitions on the same worker into few groups, whose columns its threads share.

    Fewer tasks wait less for Python's global lock, one per worker. If a worker holds more than `most_rows` rows per
    thread, every thread takes its own group. Partitions without rows are left out. Large partitions, and those whose
    worker is unknown, are groups by themselves.
    """
    have_rows = [i for i, n in enumerate(n_rows) if n]
    n_parts, rows, threads = Counter[str | None](), Counter[str | None](), Counter[str | None](slots)
    for i in have_rows:
        n_parts[places[i]] += 1
        rows[places[i]] += n_rows[i]
    size, most = {}, {}
    for place, n in n_parts.items():
        n_threads = max(1, threads[place])
        sharing = max(1, n_features // COLUMNS_PER_THREAD) if rows[place] <= most_rows * n_threads else 1
        n_groups = -(-n_threads // sharing)
        size[place] = -(-n // n_groups) if place else 1
        most[place] = most_rows * (n_threads // n_groups)
    groups: list[list[int]] = []
    n_in_group = 0
    for i in have_rows:
        n_in_group += n_rows[i]
        is_near = bool(groups) and places[i] == places[groups[-1][-1]] and len(groups[-1]) < size[places[i]]
        if is_near and n_in_group <= most[places[i]]:
            groups[-1].append(i)
        else:
            groups.append([i])
            n_in_group = n_rows[i]
    return groups


def share_threads(places: Sequence[str | None], n_cells: Sequence[int], slots: Sequence[str]) -> list[int]:
    """Return the number of threads for each table, from the worker that holds it and its size."""
    here, there = Counter(places), Counter[str | None](slots)
    return [max(1, min(there[at] // here[at], n // CELLS_PER_THREAD)) for at, n in zip(places, n_cells, strict=True)]


def divide_rows(
    places: Sequence[str | None], n_rows: Sequence[int], slots: Sequence[str]
) -> list[tuple[str | None, list[Piece]]]:
    """Divide the rows of parts into equal blocks, one for each thread of the worker that holds them: worker, pieces.

    If a worker holds more rows than its threads should process, it has more blocks, which other workers may take.
    """
    fair = max(1, -(-sum(n_rows) // max(1, len(slots))))  # rows per thread
    firsts = [0, *accumulate(n_rows)]
    blocks = []
    for place in dict.fromkeys(places):
        here = [part for part, where in enumerate(places) if where == place]
        laid = list(pairwise([0, *accumulate(n_rows[part] for part in here)]))  # concatenated
        n_here = laid[-1][1]
        n_blocks = min(n_here, max(-(-n_here // fair), [*slots].count(place or "")))
        for begin, end in pairwise(n_here * i // n_blocks for i in range(n_blocks + 1)):
            pieces = [
                (part, firsts[part] + max(begin, a) - a, firsts[part] + min(end, b) - a)
                for part, (a, b) in zip(here, laid, strict=True)
                if max(begin, a) < min(end, b)
            ]
            blocks.append((place, pieces))
    return blocks


def bytes_on_a_worker(n_rows: int, widths: Sequence[int], n_threads: int, task: Task) -> int:
    """Estimate the memory that a worker needs: codes as received, ranked, and by row; then the growing trees.

    Codes by row all have the width of the widest column; they are left out if some columns have four bytes. Each thread
    grows the trees of one task.
    """
    by_row = 0 if max(widths) == 4 else -(-len(widths) * max(widths) // LINE) * LINE
    n_trees, of_a_tree = _trees_that_have(ROWS_PER_TASK[1], n_rows), n_rows * GROWN[task]
    of_a_task = n_rows * TO_GROW[task] + n_trees * of_a_tree + min(TWICE * of_a_tree, n_trees * of_a_tree, COPIED)
    return n_rows * (2 * sum(widths) + by_row) + max(n_rows * TO_RANK, n_rows * RANKED + of_a_task * n_threads)
