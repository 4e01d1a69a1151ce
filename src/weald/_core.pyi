# Generated from the compiled core by `make fix`: edit bindings/*.cpp or src/weald/_core.py, not this file.

from types import ModuleType

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


simd: str

def cpu_supports(simd: str) -> bool:
    """Whether this processor can run the instruction set of that name."""

class Growth:
    """How to grow, in plain numbers: all fields of growth_fields, by name."""

    def __init__(self, **fields: object) -> None: ...

def growth_fields() -> list[tuple[str, str]]:
    """Names and Python types of the fields of Growth, in order."""

def criteria() -> list[tuple[str, bool]]:
    """Names of the criteria, and whether they are for classes."""

class SparseTable:
    """The values of a table that are not zero, by column or by row."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, n_columns: int) -> None: ...

class ColumnBlocks:
    """Columns that are coded a few at a time."""

    def __init__(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, max_bins: int) -> None: ...

    def add(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], categorical: Sequence[bool], n_threads: int, watch: object | None) -> None:
        """Codes some more columns."""

class Codes:
    """A training table as codes, its rows in rank order."""

    @property
    def n_rows(self) -> int: ...

    @property
    def line_length(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def fingerprint(self) -> int:
        """Fingerprint of the training data, as codes."""

    @property
    def values(self) -> int | None:
        """Fingerprint of the values of the training data; None: unknown."""

    @property
    def design(self) -> int:
        """Fingerprint of strata and groups; 0: there are none."""

    def positions(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The row of the table at each rank."""

    def weigh(self, line: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Lays another line to draw bags from: lengths by row of the table."""

    def without_columns(self) -> Codes:
        """All that bags are drawn from; it grows no trees."""

    def bag_arrays(self) -> tuple:
        """The same as arrays, which can travel; see bag_source."""

    def column(self, feature: int) -> tuple:
        """
        Codes of a feature by row of the table (2**32 - 1: missing), and the smallest and largest value of each.
        """

def bag_source(positions: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], line: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], whole: bool, fingerprint: int, values: int | None, strata: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_groups: int, design: int) -> Codes:
    """All that bags are drawn from, made of Codes.bag_arrays."""

def code_table(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable | ColumnBlocks, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, max_bins: int, categorical: Sequence[int], n_threads: int, watch: object | None, strata: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_trees: int = 0) -> Codes:
    """
    Turn a table into codes and ranks; max_bins 0 keeps every distinct value. The values of the categorical features are numbers of categories. So many trees will be grown at once, and then no more; 0: who knows?
    """

def grow(codes: Codes, growth: Growth, seed: int, first_tree: int, n_trees: int, n_threads: int, watch: object | None, n_slots: int) -> dict:
    """
    Grow trees; returns their arrays by name. Of `n_slots` threads, which several calls share, those that have nothing to do help.
    """

def grow_piece(codes: Codes, growth: Growth, seed: int, tree: int, number: int, n_pieces: int) -> tuple:
    """
    Grow one of the pieces of a tree; returns the arrays of the tree, in which leaves stand for what belongs to other pieces, and its own nodes: the first, and the one behind the last.
    """

def grow_targets(codes: Codes, said: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_targets: int, n_classes: Sequence[int], growth: Growth, seed: int, first_tree: int, n_trees: int, n_threads: int, watch: object | None) -> tuple:
    """
    Grow trees of several targets; returns their arrays by name, and the center of each target.
    """

def bag(codes: Codes, growth: Growth, seed: int, tree: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """How often each row of the table counts in a tree."""

class Predictor:
    """A forest packed for walking."""

    def __init__(self, n_features: int, n_classes: int, arrays: dict) -> None: ...

    def leaves(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """Node number of each row's leaf inside each tree."""

def rank_table(columns: Sequence[tuple[Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, n_threads: int, watch: object | None, strata: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: int | None = None) -> Codes:
    """
    Rank the rows of a table whose columns are coded already: (pieces of codes by row, smallest value of each code, whether they are categories). `values` is the fingerprint of its values.
    """

def give_values(codes: Codes, feature: int, lows: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], highs: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """
    Say which are the smallest and the largest value of each code of a feature.
    """

def store_by_column(pieces: Sequence[Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)]], columns: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Write the columns of pieces of a table, one below the other, into an array of columns.
    """

def hash_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], targets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """Hashes of rows by their values and the bits of their targets."""

def weigh_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, lengths: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int = 1) -> list:
    """
    Of some columns: distinct values of some rows, in ascending order, without missing ones; and what they weigh, in as few bytes as that needs.
    """

def cut_quantiles(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_bins: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The smallest value of each code, from distinct values in ascending order and what they weigh.
    """

def cut_columns(columns: Sequence[Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]]]], max_bins: int, keep_few: bool, n_threads: int = 1) -> list:
    """
    Of columns whose distinct values, and what they weigh, come from several parts: the smallest value of each code, and whether there are no more distinct values than there may be codes. These are codes by themselves with `keep_few`.
    """

def code_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], starts: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], n_threads: int = 1) -> list:
    """
    Codes of some columns by the smallest value of each code, in as few bytes as they need.
    """

def find_highs(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], codes: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], n_codes: Sequence[int], n_threads: int = 1) -> list:
    """
    Of some columns: the largest value of each code in these rows, and the smallest value of all of them.
    """

def sum_dependence(n_features: int, n_classes: int, arrays: dict, predictor: Predictor, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, weight: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_points: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_categories: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], bin_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bin_of_step: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int, watch: object | None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    What the leaves of a forest add to the points of groups of free features: sums by place, sums of own leaves on whose path a group is, and of all own leaves.
    """

def decode(n_features: int, n_classes: int, n_trees: int, n_nodes: int, target_center: float, target_exponent: int, decrease: str, is_bound: bool, most_depth: int, arrays: dict, n_threads: int) -> dict:
    """
    The arrays of a forest from those of a file, every number of which is checked.
    """

def shuffle_rows(n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    Which rank each rank takes its values from, by the draws of a tree and a group.
    """

def mix_features(predictor: Predictor, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], trees: Sequence[tuple[int, int, int]], group_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_id: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], repeat: int, order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_new: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Increase of each tree's loss when groups of features are mixed; trees are (place, seed, number). What rows lose is added to sums and squares.
    """

def kernel_columns(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prototype_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prototype_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairing: str, shape: str, gamma: float, shift: float, degree: int, band: float, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Values of a kernel, prototypes x samples."""

packed_mark: str = 'WEALDPK2'

class Packed:
    """A forest packed for prediction: one buffer, with no Python in it."""

    def __init__(self, buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Find a packed forest in memory, and check it."""

    def __call__(self, x: Annotated[NDArray, dict(device='cpu', writable=False)], threads: int = 1) -> object:
        """Predict a row, or a table: class shares, or means."""

    def __reduce__(self) -> tuple: ...

    def predict(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, hard: bool, total: float, out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int, watch: object | None) -> None:
        """
        What the trees say of each row, added up in tree order and divided by the total.
        """

    def buffer(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """All of it, as it stands in memory."""

    @property
    def n_features(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_trees(self) -> int: ...

    @property
    def is_large(self) -> bool: ...

class Portions:
    """A forest that is packed some trees at a time, to be walked once."""

    def __init__(self, n_features: int, n_classes: int, arrays: dict, small_is_exact: bool, n_nodes: int) -> None:
        """
        Nodes are small if that is exact for the rows that will walk, and they can be. A portion has `n_nodes` at the most, or a tree for each thread.
        """

def pack_forest(n_features: int, n_classes: int, arrays: dict, large: bool, total: float, hard: bool, n_threads: int) -> object:
    """
    Pack a forest with small nodes (exact for rows of floats) or large ones (exact for all); None if it is too large for them.
    """

def fits_float(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable) -> bool:
    """Whether all values of a table are floats."""

def sum_votes_out_of_bag(forest: Packed | Portions, codes: Codes, growths: Sequence[Growth], origins: Sequence[tuple[int, int, int]], x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, hard: bool, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_trees: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, room: int, n_threads: int, watch: object | None, ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, outside: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]] = []) -> tuple:
    """
    What the trees say of the rows outside their bags, added up in tree order; how many trees spoke of each row; and after each tree the error and the share of the rows that it is known of. Origins are (which growth, seed, tree). Then what the last two are made of: sums of errors in halves, sums of weights, and the shift of errors. With `ranks`, x has only the rows at these. `outside` has the bits of draw_out_of_bag for these rows, where they are drawn already.
    """

bags_at_once: int = 32

def draw_out_of_bag(codes: Codes, growths: Sequence[Growth], origins: Sequence[tuple[int, int, int]], n_threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    For each row of the table a bit for each tree, bags_at_once at most: it is outside the bag.
    """

def mix64(word: int) -> int:
    """The splitmix64 finaliser."""

def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10: four words of random bits."""

def draw(seed: int, id: int, tree: int, purpose: int, i: int) -> int:
    """The 64 random bits at an address."""

def draw_block(seed: int, id: int, tree: int, purpose: int, first_pair: int) -> list[int]:
    """Draws 2 * first_pair, 2 * first_pair + 1 ... at an address."""

def draw_block_of_ids(seed: int, first_id: int, tree: int, purpose: int) -> list[int]:
    """Draws 0 and 1 of the ids first_id, first_id + 1 ..."""

def draw_features(seed: int, id: int, tree: int, n_features: int, weights: Sequence[float], looks_at_all: bool) -> list[int]:
    """
    All features of positive weight in the order in which a node draws them, or in which they win ties.
    """

def log2(x: float) -> float:
    """Logarithm in bits of a number from 1."""

def sort_codes(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Codes and their places, sorted by the network."""

most_sorted: int = 32

def code_sparse(x: SparseTable, feature: int) -> tuple[object, object]:
    """
    A column as codes of one byte, and the hash of each row, where targets are 0.
    """

def below(bits: int, n: int) -> int:
    """floor(bits * n / 2**64): a number from 0 to n - 1."""

class PathForest:
    """A forest with the fractions of its splits."""

    def __init__(self, n_features: int, n_classes: int, arrays: dict) -> None: ...

    def n_distinct(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """By tree: the maximum number of distinct features on a path."""

    def shap(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, amounts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rules: Sequence[tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]]], rule_of_tree: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_new: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, pairs: bool, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        SHAP values (rows x features), or those of pairs (rows x features * features), summed over trees.
        """

    def interventional(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, amounts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], background: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, is_new: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """SHAP values (rows x features), summed over trees and background rows."""

def add_shares(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], counting: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, n_threads: int, watch: object | None) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    What rows have in common with the members of their leaves: starts, members and sums, all or the k largest of each row.
    """

def square_shares(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], counting: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], kind_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kind_of_member: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Sums of the squares of what rows have in common with members of their kind.
    """

def quantiles(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Quantiles of the target at rows (rows x levels), by the weights of the members of their leaves.
    """

def cumulated_shares(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Shares of the weight at rows that members below limits have (rows x limits).
    """

def standard_deviations(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Standard deviations of the target at rows, by the weights of the members of their leaves.
    """

def find_ranks(columns: Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, n_threads: int, watch: object | None) -> tuple:
    """
    Find the row at each rank, and the fingerprint of the training data; nothing is copied.
    """

def map_table(columns: Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, positions: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], fingerprint: int, values: int | None, n_threads: int, watch: object | None) -> Codes:
    """
    Make codes of columns that are ranked already, without copying them; target and weights are by row. The list of columns must stay as it is.
    """

SETS: tuple[str, ...]

def built() -> tuple[str, ...]:
    """Return the instruction sets that this installation has a module for, fastest first."""

def supported() -> tuple[str, ...]:
    """Return the instruction sets that are built and that this processor can run, fastest first.

    A build for one machine has a single module, which need not be the baseline; every module can tell.
    """

def load(name: str) -> ModuleType:
    """Return the compiled module of one instruction set."""
