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
    """
    Parameters of growing as plain numbers: all fields of growth_fields, by name.
    """

    def __init__(self, **fields: object) -> None: ...

def growth_fields() -> list[tuple[str, str]]:
    """Names and Python types of the fields of Growth, in order."""

def criteria() -> list[tuple[str, bool]]:
    """Names of the criteria, and whether they are for classification."""

class SparseTable:
    """The nonzero values of a table, by column or by row."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, n_columns: int) -> None: ...

class ColumnBlocks:
    """Columns that are coded a few at a time."""

    def __init__(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, max_bins: int) -> None: ...

    def add(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], categorical: Sequence[bool], n_threads: int, watch: object | None) -> None:
        """Code a block of further columns."""

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
        """
        Replace the line that bags are drawn from: lengths by row of the table.
        """

    def without_columns(self) -> Codes:
        """
        A copy without columns, from which bags can be drawn, but no trees grown.
        """

    def bag_arrays(self) -> tuple:
        """The same as arrays, for other processes; see bag_source."""

    def column(self, feature: int) -> tuple:
        """
        Codes of a feature by row of the table (2**32 - 1: missing), and the smallest and largest value of each.
        """

def bag_source(positions: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], line: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], whole: bool, fingerprint: int, values: int | None, strata: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_groups: int, design: int) -> Codes:
    """
    Make Codes without columns from Codes.bag_arrays: bags can be drawn, but no trees grown.
    """

def code_table(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable | ColumnBlocks, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, max_bins: int, categorical: Sequence[int], n_threads: int, watch: object | None, strata: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_trees: int = 0) -> Codes:
    """
    Code a table and rank its rows; max_bins=0 keeps every distinct value. Values of categorical features are numbers of categories. `n_trees`: trees grown from these codes in one call; 0 if unknown.
    """

def grow(codes: Codes, growth: Growth, seed: int, first_tree: int, n_trees: int, n_threads: int, watch: object | None, n_slots: int) -> dict:
    """
    Grow trees; returns their arrays by name. Idle threads among the `n_slots` that several calls share take part.
    """

def grow_piece(codes: Codes, growth: Growth, seed: int, tree: int, number: int, n_pieces: int) -> tuple:
    """
    Grow one piece of a tree; returns the arrays of the tree, in which a leaf replaces each other piece, and the range of the piece's own nodes.
    """

def grow_targets(codes: Codes, target_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_targets: int, n_classes: Sequence[int], growth: Growth, seed: int, first_tree: int, n_trees: int, n_threads: int, watch: object | None) -> tuple:
    """
    Grow multi-output trees; returns their arrays by name, and the center of each target.
    """

def bag(codes: Codes, growth: Growth, seed: int, tree: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """How often each row of the table is in the bag of a tree."""

class Predictor:
    """A forest packed for prediction, which finds the leaf of each row."""

    def __init__(self, n_features: int, n_classes: int, arrays: dict) -> None: ...

    def leaves(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """Node number of each row's leaf inside each tree."""

    def leaves_outside(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, outside: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """
        The same for rows that are new to a tree, -1 for others (trees x rows).
        """

def rank_table(columns: Sequence[tuple[Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, n_threads: int, watch: object | None, strata: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, groups: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: int | None = None) -> Codes:
    """
    Rank the rows of a table of coded columns: (pieces of codes by row, smallest value of each code, whether they are categories). `values` is the fingerprint of the values.
    """

def give_values(codes: Codes, feature: int, lows: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], highs: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """Set the smallest and the largest value of each code of a feature."""

def store_by_column(pieces: Sequence[Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)]], columns: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Write the columns of pieces of a table, one below the other, into an array of columns.
    """

def hash_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], targets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """Hashes of rows by their values and the bits of their targets."""

def row_product(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], more: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], copies: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_threads: int = 1) -> bytes:
    """
    The multiset hash of rows: the product of their numbers modulo 2^3072 - 1103717, as 384 bytes, lowest first. `more`: words that are hashed with each row (rows x words); `copies`: how often each counts.
    """

def weigh_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, lengths: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int = 1) -> list:
    """
    Distinct values of some columns in some rows, ascending and without missing values, and their weights in the smallest type.
    """

def cut_quantiles(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_bins: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The smallest value of each code, from ascending distinct values and their weights.
    """

def cut_columns(columns: Sequence[Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]]]], max_bins: int, keep_few: bool, n_threads: int = 1) -> list:
    """
    Cut columns whose distinct values and weights come from several parts: the smallest value of each code, and whether there are at most as many distinct values as codes. With `keep_few`, each of those is a code.
    """

def code_values(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], starts: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], n_threads: int = 1) -> list:
    """
    Codes of some columns, by the smallest value of each code, in the smallest type.
    """

def find_highs(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], columns: Sequence[int], codes: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], n_codes: Sequence[int], n_threads: int = 1) -> list:
    """
    For some columns: the largest value of each code in these rows, and the smallest value of all rows.
    """

def sum_dependence(n_features: int, n_classes: int, arrays: dict, predictor: Predictor, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, weight: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_points: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_categories: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], bin_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bin_of_step: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int, watch: object | None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Contributions of the leaves of a forest to the points of groups of features: sums by place, sums over own leaves whose path uses a group, and sums over all own leaves.
    """

def decode(n_features: int, n_classes: int, n_trees: int, n_nodes: int, target_center: float, target_exponent: int, decrease: str, is_bound: bool, most_depth: int, arrays: dict, n_threads: int) -> dict:
    """
    Decode the arrays of a file to those of a forest, and check every number.
    """

def shuffle_rows(n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    The rank from which each rank takes its values, by the draws of a tree and a group.
    """

def mix_features(predictor: Predictor, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], trees: Sequence[tuple[int, int, int]], group_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_id: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], repeat: int, order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_new: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Increase of each tree's loss when groups of features are permuted; trees are (place, seed, number). The losses of rows are added to sums and squares.
    """

def kernel_columns(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prototype_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prototype_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairing: str, shape: str, gamma: float, shift: float, degree: int, band: float, n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Values of a kernel, prototypes x samples."""

packed_mark: str = 'WEALDPK2'

class Packed:
    """A forest packed for prediction as one buffer, without Python objects."""

    def __init__(self, buffer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Open a packed forest in a buffer, and check it."""

    def __call__(self, x: Annotated[NDArray, dict(device='cpu', writable=False)], threads: int = 1) -> object:
        """Predict a row or a table: class probabilities, or means."""

    def __reduce__(self) -> tuple: ...

    def predict(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, hard: bool, total: float, out: Annotated[NDArray, dict(shape=(None, None), device='cpu')], n_threads: int, watch: object | None) -> None:
        """
        Predictions of the trees for each row, added in tree order and divided by the total.
        """

    def buffer(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """The whole buffer."""

    @property
    def n_features(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    @property
    def n_trees(self) -> int: ...

    @property
    def is_large(self) -> bool: ...

class PackedBatch:
    """A forest packed some trees at a time, for a single pass."""

    def __init__(self, n_features: int, n_classes: int, arrays: dict, small_is_exact: bool, n_nodes: int) -> None:
        """
        Nodes are small if that is possible and exact for the rows to predict. A batch has at most `n_nodes`, or one tree for each thread.
        """

def pack_forest(n_features: int, n_classes: int, arrays: dict, large: bool, total: float, hard: bool, n_threads: int) -> object:
    """
    Pack a forest with small nodes (exact for rows of floats) or large ones (exact for all); None if it is too large for them.
    """

def fits_float(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable) -> bool:
    """Whether all values of a table can be represented as 32-bit floats."""

def column_facts(codes: Codes, n_threads: int) -> list[tuple[int, bool, bool]]:
    """
    For each column: its number of codes, whether values are missing, and whether it is categorical.
    """

def pack_rows(codes: Codes, words: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], shifts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], row_words: int, n_threads: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    Rows in rank order, of 32-bit words, with each column at its word and bit. A missing value is the number of codes.
    """

def values_of(codes: Codes, feature: int) -> tuple:
    """The smallest and largest value of each code."""

def sum_votes_out_of_bag(forest: Packed | PackedBatch, codes: Codes, growths: Sequence[Growth], origins: Sequence[tuple[int, int, int]], x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | SparseTable, hard: bool, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_trees: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, room: int, n_threads: int, watch: object | None, ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, outside: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]] = []) -> tuple:
    """
    Sums of the out-of-bag predictions in tree order; the number of trees that predicted each row; and after each tree the error and the fraction of rows that have a prediction. Origins are (index of the growth, seed, tree). Also the terms of the last two: sums of errors in halves, sums of weights, and the shift of errors. With `ranks`, x has only these rows. `outside` has the bits of draw_out_of_bag for these rows if they are known.
    """

bags_at_once: int = 32

def draw_out_of_bag(codes: Codes, growths: Sequence[Growth], origins: Sequence[tuple[int, int, int]], n_threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    For each row of the table a bit for each tree, at most bags_at_once: whether the row is out of bag.
    """

def mix64(word: int) -> int:
    """The splitmix64 finalizer."""

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

def multiply_rows(a: bytes, b: bytes) -> bytes:
    """The product of two numbers of a data hash."""

def log2(x: float) -> float:
    """Base-2 logarithm of a number that is at least 1."""

def sort_codes(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Codes and their places, sorted by the sorting network."""

most_sorted: int = 32

def code_sparse(x: SparseTable, feature: int) -> tuple[object, object]:
    """
    A sparse column as codes of one byte, and the hash of each row; all targets are 0.
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
    Similarities of rows and the members of their leaves: starts, members and sums; all, or the k largest of each row.
    """

def square_shares(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], counting: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], kind_of_row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], kind_of_member: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Sums of the squared similarities of rows and members of their kind."""

def quantiles(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Quantiles of the target at rows (rows x levels), by the weights of the members of their leaves.
    """

def cumulated_shares(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Fraction of the weight of members below each limit (rows x limits)."""

def standard_deviations(leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_members: int, tree_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int, watch: object | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Standard deviations of the target at rows, by the weights of the members of their leaves.
    """

def find_ranks(columns: Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, n_threads: int, watch: object | None) -> tuple:
    """
    Find the row at each rank and the fingerprint of the training data, without copies.
    """

def map_table(columns: Sequence[tuple[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bool]], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights_whole: bool, positions: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], fingerprint: int, values: int | None, n_threads: int, watch: object | None) -> Codes:
    """
    Make Codes of ranked columns without copies; target and weights are by row. The list of columns must not change.
    """

def link_strengths(arrays: dict, n_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The alpha at which each split is pruned, in units of decreases; -infinity in leaves.
    """

def add_to_surface(arrays: dict, size: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], exponent: int, vote_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], votes: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rules: dict, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scored: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], sum_of_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_leaves: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> tuple:
    """
    Add the votes of trees under some settings to `sums` (rows x width x settings); returns, after each scored tree, sums of losses and of their squared distances from the mean (scored x settings), sums of weights and of their squares, numbers of rows, and numbers of leaves (scored x settings).
    """

SETS: tuple[str, ...]

def built() -> tuple[str, ...]:
    """Return the instruction sets that this installation has a module for, fastest first."""

def supported() -> tuple[str, ...]:
    """Return the instruction sets that are built and that this processor can run, fastest first.

    A build for one machine has a single module, which need not be the baseline; any module can test the processor.
    """

def load(name: str) -> ModuleType:
    """Return the compiled module of one instruction set."""
