"""How much a worker is given: trees and partitions by the task, and the memory that they need.

split_trees          trees -> the tasks that grow them, smaller ones towards the end
first_helped         from which of them on threads that have nothing to do help others
count_pieces         how many of the last trees are grown in pieces, where nobody can help
divide               things -> pieces of neighbors
group_neighbors      partitions -> those that one task takes
share_threads        tables of several partitions -> how many threads work at each
divide_rows          rows of parts -> blocks, one for each thread where they lie
bytes_on_a_worker    how much memory a worker needs: an estimate beforehand
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from weald.data.task import Task

ROWS_PER_TASK = 1 << 18, 1 << 20  # of all its trees: less would not be worth a task, more would be lost with a worker
COLUMNS_PER_THREAD = 2  # of a table that several threads share: with fewer, some would wait for others
CELLS_PER_THREAD = 1 << 17  # with fewer it takes longer to start threads
ROWS_PER_PIECE = 1 << 16  # of a tree: with fewer, most of the time would go to nodes that others divide, too

# Bytes a row, measured at 1,000,000 x 28.
TO_RANK, RANKED = 110, 50  # while rows are ranked; of that, what stays
TO_GROW = {Task.CLASSIFICATION: 56, Task.REGRESSION: 150}  # while a tree grows
GROWN = {Task.CLASSIFICATION: 14, Task.REGRESSION: 71}  # when it is grown, to purity
LINE = 16  # bytes of which the codes of a row take a multiple
VALUE = 8  # bytes of a value that is kept beside its code, at most
TWICE, COPIED = 4, 1 << 27  # trees, and their bytes, at most, that are in memory twice while they are joined

Piece = tuple[int, int, int]  # which part, the first row and the one behind the last, counted through all parts


def split_trees(trees: range, n_rows: int, n_tasks: int) -> list[range]:
    """Divide trees into tasks, at least so many where there are enough trees.

    Towards the end tasks are smaller, so that all workers are done at about the same time.
    """
    least = min(_trees_that_have(ROWS_PER_TASK[0], n_rows), max(1, len(trees) // n_tasks))
    tree_ranges = []
    while trees:
        size = min(_trees_that_have(ROWS_PER_TASK[1], n_rows), max(least, len(trees) // n_tasks))
        tree_ranges.append(trees[:size])
        trees = trees[size:]
    return tree_ranges


def first_helped(n_tasks: int, n_threads: int) -> int:
    """Say from which task on others may help: the last for each thread, and those that do not come out even.

    Before them everybody has a task of their own, and a tree that several threads grow takes a little longer in all.
    """
    return max(0, n_tasks - n_threads - n_tasks % n_threads) if n_threads else 0


def count_pieces(tree_ranges: Sequence[range], n_rows: int, slots: Sequence[str]) -> tuple[int, int]:
    """Say how many of the last trees are grown in pieces, and in how many each of them.

    These are trees that do not go evenly into workers of one thread: others grow their last trees together. A piece
    takes as long as its part of the tree and, again, the few nodes that have rows of several pieces. `n_rows` are those
    that a tree has.
    """
    n_last = sum(map(len, tree_ranges)) % len(slots) if slots else 0
    if not n_last or len(set(slots)) < len(slots) or any(len(trees) > 1 for trees in tree_ranges[-n_last:]):
        return 0, 1
    n_pieces = min(len(slots) // n_last, n_rows // ROWS_PER_PIECE)
    return (n_last, n_pieces) if n_pieces > 1 else (0, 1)


def _trees_that_have(rows: int, n_rows: int) -> int:
    return max(1, -(-rows // n_rows))


def divide(things: Sequence[Any], n: int) -> list[Any]:
    """Divide things into n pieces of neighbors, the longer ones first: those who take them in turns get as many."""
    size, n_longer = divmod(len(things), n)
    ends = [i * size + min(i, n_longer) for i in range(n + 1)]
    return [things[begin:end] for begin, end in pairwise(ends) if begin < end]


def group_neighbors(
    places: Sequence[str | None], n_rows: Sequence[int], slots: Sequence[str], n_features: int, most_rows: int
) -> list[list[int]]:
    """Group partitions that follow one another and lie in one place: few groups, whose columns threads there share.

    They take fewer tasks so, and wait less for Python's lock, of which a worker has but one. Of more rows than its
    threads may read at once, `most_rows` each, every thread takes its own. Partitions without rows are left out. Large
    ones stay alone, and so does one of which nobody knows where it is.
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
    """Say how many threads work at each of some tables, of which it is known where they lie and how large they are."""
    here, there = Counter(places), Counter[str | None](slots)
    return [max(1, min(there[at] // here[at], n // CELLS_PER_THREAD)) for at, n in zip(places, n_cells, strict=True)]


def divide_rows(
    places: Sequence[str | None], n_rows: Sequence[int], slots: Sequence[str]
) -> list[tuple[str | None, list[Piece]]]:
    """Divide the rows of parts into blocks of as many rows, one for each thread where they lie: where, and pieces.

    Where more rows lie in one place than its threads should have, there are more blocks: others may take them.
    """
    fair = max(1, -(-sum(n_rows) // max(1, len(slots))))  # rows of a thread
    firsts = [0, *accumulate(n_rows)]
    blocks = []
    for place in dict.fromkeys(places):
        here = [part for part, where in enumerate(places) if where == place]
        laid = list(pairwise([0, *accumulate(n_rows[part] for part in here)]))  # end to end
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
    """Estimate how much memory a worker needs: the codes as they came, ranked, and by row; then what is made of them.

    The codes by row are all as wide as the widest, and are left out where some have four bytes. Each thread grows trees
    of a task.
    """
    by_row = 0 if max(widths) == 4 else -(-len(widths) * max(widths) // LINE) * LINE
    n_trees, of_a_tree = _trees_that_have(ROWS_PER_TASK[1], n_rows), n_rows * GROWN[task]
    of_a_task = n_rows * TO_GROW[task] + n_trees * of_a_tree + min(TWICE * of_a_tree, n_trees * of_a_tree, COPIED)
    return n_rows * (2 * sum(widths) + by_row) + max(n_rows * TO_RANK, n_rows * RANKED + of_a_task * n_threads)
