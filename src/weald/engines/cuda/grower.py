"""Growing trees on a device: a batch of trees runs through all tiers, and comes back as the arrays of a forest.

DeviceTable   a packed table in the memory of a device
TreeGrower    grows trees from it, in batches that fit the memory
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from weald.data.types import Array, IntArray
from weald.engines.cuda import plan as plans
from weald.engines.cuda.device import Device, Kernels
from weald.engines.cuda.sources import plan_layout
from weald.engines.cuda.table import PackedTable
from weald.engines.params import Growth
from weald.errors import DataError

DrawBag = Callable[[int, int], IntArray]  # seed and number of a tree -> how often each row is in its bag, by rank

BAG_THREADS, ROOT_THREADS, LARGE_THREADS, MIDDLE_THREADS, TWIG_THREADS, ORDER_THREADS = 256, 64, 512, 128, 128, 256
ERRORS = ("", "tasks", "records", "nodes", "leaf entries", "huge nodes")
MOST_COPIES = 255  # of a row in a bag
NO_MEMORY = 16  # a batch that needs this many times its first guess of room is given up
ZEROED = ("copies", "tree_counts", "huge_ready", "large_ready", "middle_ready")  # before each batch
# Results by node, and by leaf.
OF_NODES = {"feature": "<i4", "threshold": "<f8", "right": "<i4", "flags": "u1", "size": "<u4", "decrease": "<f8"}
OF_LEAVES = {"leaf_length": "<u4", "leaf_class": "<i4", "leaf_weight": "<f8"}


class DeviceTable:
    """A packed table in the memory of a device."""

    def __init__(self, device: Device, table: PackedTable, n_classes: int) -> None:
        """Copy it there."""
        self.packed = table
        self.n_rows = len(table.classes)
        self.n_classes = n_classes
        fields = np.ascontiguousarray(table.fields).view(np.uint32)
        self.arrays = {
            "rows": device.upload(table.rows),
            "classes": device.upload(table.classes),
            "fields": device.upload(fields),
            "lows": device.upload(table.lows),
            "highs": device.upload(table.highs),
            "first_value": device.upload(table.first_value),
        }

    def members(self) -> dict[str, int]:
        """Return its members of `Plan` that are numbers."""
        packed = self.packed
        return {
            "n_rows": self.n_rows,
            "n_features": len(packed.fields),
            "n_classes": self.n_classes,
            "row_words": packed.row_words,
            "row_stride": packed.row_stride,
        }


@dataclass(frozen=True)
class Batch:
    """Some of the trees that are grown together."""

    first: int
    n_trees: int
    seed: int


class TooManyCopiesError(Exception):
    """A row is in a bag more often than a byte can count."""


class TreeGrower:
    """Grows trees from one table with one set of parameters."""

    def __init__(
        self, device: Device, table: DeviceTable, growth: Growth, draw_bag: DrawBag | None = None, **sizes: int
    ) -> None:
        """Choose the sizes; `sizes` replaces some of them, for tests.

        `draw_bag` draws bags on the host; None: they are plain bootstrap samples, which the kernels draw.
        """
        self.draw_bag = draw_bag
        self.device = device
        self.table = table
        self.growth = growth
        self.kernels = device.kernels(2 if table.n_classes <= 2 else 8)
        self.measures = measure(device, self.kernels)
        what = (table.packed, table.n_classes, growth, device.shared_bytes, self.measures)
        self.sizes = plans.divide_work(*what, sizes)

    def grow(self, seed: int, first_tree: int, n_trees: int, watch: Callable[[float], None] | None) -> dict[str, Array]:
        """Grow trees, and join their arrays."""
        parts = []
        n_done = 0
        while n_done < n_trees:
            batch = Batch(first_tree + n_done, min(n_trees - n_done, self.trees_at_once()), seed)
            parts.append(self.grow_batch(batch))
            n_done += batch.n_trees
            if watch is not None:
                watch(n_done / n_trees)
        return join_parts(parts)

    def rooms(self, n_trees: int, factor: int = 1) -> plans.Rooms:
        """Guess the lengths of the arrays of a batch."""
        return plans.Rooms.of_batch(n_trees, self.table.n_rows, self.sizes.huge_rows, factor)

    def batch_bytes(self, n_trees: int, factor: int = 1) -> int:
        """Estimate the memory of a batch, with its results."""
        rooms = self.rooms(n_trees, factor)
        results = rooms.node_room * (sum(np.dtype(t).itemsize for t in OF_NODES.values()) + 8)
        return sum(self._array_bytes(n_trees, rooms).values()) + results

    def trees_at_once(self) -> int:
        """Return how many trees fit the memory, and the 32 bits in which the kernels count."""
        one, free = self.batch_bytes(1), self.device.free_bytes()
        if one > free:
            raise DataError(
                f"One tree of this table needs {one / 2**30:.1f} GiB on the GPU, and {free / 2**30:.1f} GiB are free. "
                "Free some, or set engine='native'; the forest is the same."
            )
        n = min(plans.MOST_ROWS // (2 * self.table.n_rows), 1 << 16)
        while n > 1 and self.batch_bytes(n) > free * 0.9:
            n -= max(1, n // 8)
        return n

    def grow_batch(self, batch: Batch) -> dict[str, Array]:
        """Grow a batch. If an array was too short, do it again with more room."""
        factor = 1
        while True:
            found = self._try_batch(batch, self.rooms(batch.n_trees, factor))
            if isinstance(found, dict):
                return found
            factor *= 2
            if factor > NO_MEMORY:
                raise DataError(
                    f"Trees of this table have too many {found} for the GPU. Set engine='native'; the forest is the "
                    "same."
                )

    def _array_bytes(self, n_trees: int, rooms: plans.Rooms) -> dict[str, int]:
        table = self.table
        what = (table.packed, table.n_rows, table.n_classes, n_trees, self.sizes, rooms, self.measures)
        return plans.array_bytes(*what, self.device.n_multiprocessors)

    def _try_batch(self, batch: Batch, rooms: plans.Rooms) -> dict[str, Array] | str:
        """Grow a batch; or return what there was too much of."""
        device = self.device
        lengths = self._array_bytes(batch.n_trees, rooms)
        arrays = {name: (device.zeros if name in ZEROED else device.empty)(n, np.uint8) for name, n in lengths.items()}
        counters = np.zeros(len(COUNTERS), dtype=np.uint32)
        counters[COUNTERS.index("record_tail")] = batch.n_trees  # the first records are those of the roots
        arrays["counters"] = device.upload(counters)
        root_weight = self.growth.n_draws
        if self.draw_bag is not None:
            copies, root_weight = self._draw_bags(batch, self.draw_bag)
            arrays["copies"] = device.upload(copies)
        with device.lock:
            self._set_plan(batch, rooms, arrays, root_weight)
            self._start_tiers(batch)
            counters = device.download(arrays["counters"]).view(np.uint32)
            error = int(counters[COUNTERS.index("error")])
            if error:
                return ERRORS[error]
            tree_start = device.download(arrays["tree_start"]).view(np.uint32)
            n_nodes = int(tree_start[-1])
            n_leaves = (n_nodes + batch.n_trees) // 2
            results = {name: device.empty(n_nodes, dtype) for name, dtype in OF_NODES.items()}
            results |= {name: device.empty(n_leaves, dtype) for name, dtype in OF_LEAVES.items()}
            results_there: dict[str, object] = {f"out_{name}": array for name, array in results.items()}
            self._set_plan(batch, rooms, arrays | results_there, root_weight)
            self._start("write_nodes", 8 * device.n_multiprocessors, ORDER_THREADS)
            found = {name: device.download(array) for name, array in results.items()}
        n_entries = int(counters[COUNTERS.index("pool_tail")])
        pool = device.download(arrays["pool"], 8 * n_entries).view(np.uint32).reshape(-1, 2)
        return finish_arrays(found, tree_start, pool)

    def _draw_bags(self, batch: Batch, draw_bag: DrawBag) -> tuple[Array, int]:
        """Draw the bags of a batch on the host, as bytes. All trees have the same total."""
        copies = np.zeros((batch.n_trees, 4 * self.sizes.bag_words), dtype=np.uint8)
        for tree in range(batch.n_trees):
            bag = draw_bag(batch.seed, batch.first + tree)
            if bag.max() > MOST_COPIES:
                raise TooManyCopiesError
            copies[tree, : len(bag)] = bag
        return copies.ravel(), int(bag.sum())

    def _set_plan(self, batch: Batch, rooms: plans.Rooms, arrays: dict[str, object], root_weight: int) -> None:
        growth = self.growth
        numbers = self.table.members() | asdict(self.sizes) | asdict(rooms)
        min_weight = int(np.ceil(growth.min_weight_fraction_leaf * root_weight))
        numbers |= {
            "n_trees": batch.n_trees,
            "first_tree": batch.first,
            "seed_low": batch.seed & 0xFFFFFFFF,
            "seed_high": batch.seed >> 32,
            "n_draws": growth.n_draws,
            "max_features": growth.max_features,
            "ties_by_column": growth.ties_by_column,
            "max_depth": growth.max_depth,
            "min_split": growth.min_samples_split,
            "min_leaf": max(1, growth.min_samples_leaf, min_weight),
            "root_weight": float(root_weight),
            "min_decrease": growth.min_impurity_decrease,
        }
        write_plan(self.device, self.kernels, numbers, self.table.arrays | arrays)

    def _start(self, name: str, n_blocks: int, n_threads: int, shared_bytes: int = 0) -> None:
        self.kernels.start(name, n_blocks, n_threads, shared_bytes)

    def _start_tiers(self, batch: Batch) -> None:
        """Bags, the five tiers from the largest nodes to the smallest, and the order of the nodes."""
        sizes, measures, n_processors = self.sizes, self.measures, self.device.n_multiprocessors
        n_chunks = batch.n_trees * sizes.n_chunks
        large_bytes = sizes.large_bytes(measures, self.table.n_classes)
        n_blocks = plans.blocks_of(n_processors)
        if self.draw_bag is None:
            self._start("draw_bags", n_blocks, BAG_THREADS)
        self._start("count_bags", n_chunks, BAG_THREADS, 64)
        self._start("place_chunks", batch.n_trees, 32)
        self._start("fill_bags", n_chunks, BAG_THREADS, 64)
        self._start("place_roots", -(-batch.n_trees // ROOT_THREADS), ROOT_THREADS)
        self._start("grow_huge", 2 * n_processors, LARGE_THREADS, large_bytes)
        self._start("grow_large", 2 * n_processors, LARGE_THREADS, large_bytes)
        self._start("grow_middle", n_blocks, MIDDLE_THREADS, sizes.middle_bytes(measures))
        self._start("grow_twigs", n_blocks, TWIG_THREADS, sizes.twig_bytes(measures, self.table.packed.row_words))
        self._start("count_nodes", n_blocks, ORDER_THREADS)
        self._start("start_trees", 1, 32)


COUNTERS = (
    *(f"{queue}_{part}" for queue in ("huge", "large", "middle") for part in ("head", "tail", "pending")),
    *("twig_head", "twig_tail", "work_tail", "record_tail", "node_tail", "pool_tail", "error"),
)


def measure(device: Device, kernels: Kernels) -> plans.Measures:
    """Ask the kernels for the sizes of their structures."""
    room = device.zeros(plans.N_MEASURES, np.uint32)
    write_plan(device, kernels, {}, {"measures": room})
    kernels.start("measure", 1, 32)
    return plans.Measures(*device.download(room).tolist())


def write_plan(device: Device, kernels: Kernels, numbers: Mapping[str, float], arrays: Mapping[str, object]) -> None:
    """Write the numbers and the addresses of arrays into the plan; the others are 0."""
    plan = np.zeros((), dtype=plan_layout())
    for name, number in numbers.items():
        plan[name] = number
    for name, array in arrays.items():
        plan[name] = device.address(array)
    kernels.set_plan(plan.tobytes())


def finish_arrays(found: dict[str, Array], tree_start: Array, pool: Array) -> dict[str, Array]:
    """Turn the results of a batch into arrays of a forest. Leaves of several classes have their entries in the pool."""
    lengths, first, weight = found.pop("leaf_length"), found["leaf_class"], found["leaf_weight"]
    if len(pool):
        alone = lengths == 1
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        owner = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(starts[-1]) - starts[owner] + first[owner]
        place = np.where(alone[owner], 0, place)
        found["leaf_class"] = np.where(alone[owner], first[owner], pool[place, 0]).astype(np.int32)
        found["leaf_weight"] = np.where(alone[owner], weight[owner], pool[place, 1]).astype(np.float64)
    else:
        starts = np.arange(len(lengths) + 1)
    return {
        **found,
        "tree_start": tree_start.astype(np.int64),
        "leaf_start": starts.astype(np.int64),
        "weight": found["size"].astype(np.float64),
    }


def join_parts(parts: list[dict[str, Array]]) -> dict[str, Array]:
    """Join the arrays of batches."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name in {"tree_start", "leaf_start"}:
            ends = np.cumsum([0, *(array[-1] for array in arrays)])
            arrays = [array[:-1] + end for array, end in zip(arrays, ends[:-1], strict=True)]
            arrays.append(ends[-1:].astype(np.int64))
        joined[name] = np.concatenate(arrays)
    return joined
