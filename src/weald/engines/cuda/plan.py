"""The plan of a batch of trees: how work is divided, how large arrays are, and how much memory they take.

Measures     sizes of the kernels' structures
Sizes        how work is divided between the tiers, and the shared memory of their blocks
Rooms        lengths of the arrays that depend on the trees; a batch that needs more is grown again with more
array_bytes  the arrays of a batch by name, in bytes
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from weald.engines.cuda.table import PackedTable
from weald.engines.params import Growth

# How nodes are divided between the tiers, by rows. Measured on an H200 (benchmarks/speed/cuda.py).
HUGE_ROWS = 16_384  # larger nodes are divided by many blocks, in chunks of this size
MIDDLE_ROWS = 2048  # up to this size the rows of a node fit a block's shared memory
TWIG_ROWS = 128  # up to this size one warp grows all below a node
BIN_BITS = 8  # of large nodes
FINE_WORDS = 6144  # of shared memory, for the bins that are refined at once
FEATURES_AT_ONCE = 16  # kFeaturesAtOnce
CHUNK_ROWS = 4096  # of bags: rows of a block
TWIG_WARPS, MIDDLE_WARPS = 4, 4
ENTRY_BYTES = 8
MOST_ROWS = 2**32 - 1  # of all trees of a batch, and words of all rows
MOST_NODES = 2**31 - 1


N_MEASURES = 11


class Measures(NamedTuple):
    """Bytes of structures, in the order of the kernel `measure`."""

    block_state: int
    middle_state: int
    middle_warp: int
    warp_bins: int
    task: int
    twig_task: int
    record: int
    node: int
    counters: int
    huge_work: int
    plan: int


@dataclass(frozen=True)
class Sizes:
    """How work is divided: members of `Plan` in kernels/plan.cuh, by name."""

    bag_words: int  # of a tree: four rows each
    n_chunks: int
    features_at_once: int
    twig_in_shared: int
    huge_rows: int = HUGE_ROWS
    middle_rows: int = MIDDLE_ROWS
    twig_rows: int = TWIG_ROWS
    bin_bits: int = BIN_BITS
    fine_words: int = FINE_WORDS

    @property
    def n_bins(self) -> int:
        """Bins that a block has in its shared memory."""
        return self.features_at_once << self.bin_bits

    def large_bytes(self, measures: Measures, n_classes: int) -> int:
        """Shared memory of a block that divides large or huge nodes."""
        return _whole(measures.block_state) + self.n_bins * (4 * n_classes + 4 + 2) + 4 * self.fine_words + 16

    def middle_bytes(self, measures: Measures) -> int:
        """Shared memory of a block that divides middle nodes."""
        of_warps = MIDDLE_WARPS * (measures.middle_warp + 2 * self.middle_rows)
        return _whole(measures.middle_state) + of_warps + 6 * self.middle_rows

    def twig_bytes(self, measures: Measures, row_words: int) -> int:
        """Shared memory of a block that grows twigs."""
        words = max(2, row_words if self.twig_in_shared else 2)
        return TWIG_WARPS * _whole(measures.warp_bins + self.twig_rows * (4 * words + 13))


def _whole(n_bytes: int) -> int:
    """Round up to 16 bytes."""
    return -(-n_bytes // 16) * 16


def divide_work(
    table: PackedTable, n_classes: int, growth: Growth, most_shared: int, measures: Measures, given: Mapping[str, int]
) -> Sizes:
    """Choose sizes for a table: two blocks of large nodes and four of twigs shall fit a multiprocessor.

    `given` replaces some of them, for tests.
    """
    n_rows = len(table.classes)
    bin_bits = given.get("bin_bits", BIN_BITS)
    inside = n_classes << max(0, int(table.fields["mask"].max()).bit_length() - bin_bits)  # words of the widest bin
    sizes = Sizes(
        bag_words=-(-n_rows // 16) * 4,
        n_chunks=-(-n_rows // CHUNK_ROWS),
        features_at_once=min(FEATURES_AT_ONCE, growth.max_features),
        twig_in_shared=1,
        **{**given, "fine_words": max(inside, given.get("fine_words", FINE_WORDS))},
    )
    if 4 * sizes.twig_bytes(measures, table.row_words) > most_shared:
        sizes = replace(sizes, twig_in_shared=0)
    while sizes.features_at_once > 1 and 2 * sizes.large_bytes(measures, n_classes) > most_shared:
        sizes = replace(sizes, features_at_once=sizes.features_at_once - 1)
    return sizes


@dataclass(frozen=True)
class Rooms:
    """Lengths of the arrays that depend on the trees: members of `Plan` by name."""

    huge_room: int
    work_room: int
    large_room: int
    middle_room: int
    twig_room: int
    record_room: int
    node_room: int
    pool_room: int

    @classmethod
    def of_batch(cls, n_trees: int, n_rows: int, huge_rows: int, factor: int) -> Self:
        """Guess what trees need, times a factor. Their nodes are at most twice their rows."""
        rows = n_trees * n_rows
        middle = max(4096, min(rows // 8 * factor, rows + 4096, 1 << 26))
        return cls(
            huge_room=4096 + factor * 256 * (rows // huge_rows + 1),
            work_room=256 + factor * 4 * (rows // huge_rows + 1),
            large_room=4096 + factor * (rows // 256),
            middle_room=middle,
            twig_room=2 * middle,
            record_room=3 * middle + n_trees,
            node_room=min(4096 + factor * (rows // 4 * 3), 2 * rows + 4096, MOST_NODES),
            pool_room=4096 + factor * (rows // 4),
        )


def array_bytes(
    table: PackedTable,
    n_rows: int,
    n_classes: int,
    n_trees: int,
    sizes: Sizes,
    rooms: Rooms,
    measures: Measures,
    n_multiprocessors: int,
) -> dict[str, int]:
    """Bytes of the arrays of a batch, by the member of `Plan` that points to them; results come on top."""
    counted = 2 if n_classes <= 2 else 8
    return {
        "copies": 4 * n_trees * sizes.bag_words,
        "chunk_rows": 4 * n_trees * sizes.n_chunks,
        "tree_rows": 4 * n_trees,
        "tree_counts": 4 * n_trees * counted,
        "lists": 2 * ENTRY_BYTES * n_trees * n_rows,
        "counters": measures.counters,
        "huge_tasks": 8 * rooms.huge_room,
        "huge_ready": 4 * rooms.huge_room,
        "huge_work": measures.huge_work * rooms.work_room,
        "huge_bins": 4 * rooms.work_room * sizes.n_bins * n_classes,
        "huge_fine": 4 * rooms.work_room * sizes.fine_words,
        "huge_bounds": 4 * rooms.work_room * sizes.n_bins,
        "huge_slots": 2 * rooms.work_room * sizes.n_bins,
        "large_tasks": measures.task * rooms.large_room,
        "large_ready": 4 * rooms.large_room,
        "middle_tasks": measures.task * rooms.middle_room,
        "middle_ready": 4 * rooms.middle_room,
        "middle_scratch": 2 * blocks_of(n_multiprocessors) * MIDDLE_WARPS * sizes.middle_rows,
        "twig_tasks": measures.twig_task * rooms.twig_room,
        "twig_scratch": measures.node * blocks_of(n_multiprocessors) * TWIG_WARPS * 2 * sizes.twig_rows,
        "records": measures.record * rooms.record_room,
        "nodes": measures.node * rooms.node_room,
        "pool": 8 * rooms.pool_room,
        "tree_start": 4 * (n_trees + 1),
    }


def blocks_of(n_multiprocessors: int) -> int:
    """Blocks of a persistent grid: as many as may run at once, and more do no harm."""
    return 8 * n_multiprocessors
