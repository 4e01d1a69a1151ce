"""A table as codes on the workers of a cluster.

partitions       Dask collections X, y and others -> the partitions by row
Coding           codes the partitions on the workers that hold them
send_table       codes a local table and sends the codes
CodedOnCluster   the result of both

Trees are grown from codes alone. Predictions for out-of-bag rows depend on the values: if a code covers several
values, the threshold may lie between them. So if out-of-bag votes are wanted, the parts of the table keep their values,
each on the worker that holds it.
"""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from weald.codes import bins, partitioned_table
from weald.codes.bins import ColumnCuts, Cuts, Outline, join_cuts, light
from weald.codes.partitioned_table import Labels, Part, Rows
from weald.dask import coded_partitions
from weald.dask.cluster import Cluster, Future, WorkerInfo, n_threads_here
from weald.dask.coded_partitions import Chunk, CodeMaxima, pack
from weald.dask.tree_tasks import send_bags
from weald.dask.work_split import VALUE, divide, group_neighbors, share_threads
from weald.data.schema import Schema
from weald.data.table import Answer, Asked, Reading, Table
from weald.data.types import BoolArray
from weald.engines import data_hash, params
from weald.engines.interface import Codes
from weald.engines.native import NativeEngine
from weald.errors import DataError, DataTypeError
from weald.estimators.base import TreeModel

COLUMNS_TO_CUT = 4  # minimum per task
MOST_CHUNKS = 64  # maximum number of chunks of codes that are sent
FIRST = 1  # priority of short tasks that all workers wait for, over other work
MOST_CUTTERS = 16  # maximum number of workers that cut columns, since later tasks need all results
TAKEN_TOGETHER = 1 << 25  # maximum bytes of partitions that a thread reads as one
ROWS_SENT = 1 << 18  # per chunk, for a local table

# -------------------------------------------------------------------------------------------------------- partitions


Survey = tuple[Future, list[Future], list[Future]]  # rows, cuts, codes
Cells = list[Future]  # for each partition: a tuple of X, y and the other given collections


def partitions(cluster: Cluster, **given: Any) -> tuple[list[str], Cells]:
    """Compute the partitions of X, y and the other given collections on the workers; return names and futures."""
    columns = {name: column for name, column in given.items() if column is not None}
    for name, column in columns.items():
        if not is_collection(column):
            raise DataError(f"X is a Dask collection, but {name} is not. Give {name} in the same partitions as X.")
    if len({_n_partitions(column) for column in columns.values()}) > 1:
        found = ", ".join(f"{name} {_n_partitions(column)}" for name, column in columns.items())
        raise DataError(
            f"The partitions differ in number: {found}. Take all from one Dask frame, as frames and series, or give "
            "arrays with the same chunks."
        )
    if all(map(_is_frame, columns.values())):
        return list(columns), cluster.compute(_read_together(*columns.values()))
    n = _n_partitions(columns["X"])
    cells = cluster.compute([cell for column in columns.values() for cell in _delayed(column)])
    return list(columns), list(zip(*(cells[i : i + n] for i in range(0, len(cells), n)), strict=True))


def _read_together(frame: Any, *others: Any) -> list[Future]:
    """Read each partition of all collections at once. Separate reads could give some collections fewer partitions.

    Dask reads several small files as one partition, and their number depends on the selected columns.
    """
    together = frame.map_partitions(_tuple_of, *others, meta=("cells", object), enforce_metadata=False)
    found: list[Future] = together.to_delayed()
    return found


def _tuple_of(*cells: Any) -> tuple[Any, ...]:
    return cells


def make_part(names: Sequence[str], cells: Sequence[Future]) -> Part:
    """Make a part from the cells of a partition."""
    given = dict(zip(names, cells, strict=True))
    given["weight"] = given.pop("sample_weight", None)
    return Part(**given)


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask data frame, series or array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def _is_frame(column: Any) -> bool:
    return hasattr(column, "map_partitions")


def _n_partitions(column: Any) -> int:
    n: int = column.npartitions if _is_frame(column) else len(column.chunks[0])
    return n


def _delayed(column: Any) -> list[Future]:
    """Return the partitions of an array, or of a frame without fusing reads, so that partitions match."""
    if not _is_frame(column) and column.ndim == 2:
        column = column.rechunk({1: -1})
    cells = column.to_delayed(optimize_graph=False) if _is_frame(column) else column.to_delayed()
    found: list[Future] = np.ravel(cells).tolist()
    return found


# ------------------------------------------------------------------------------------------------------------- codes


@dataclass(frozen=True)
class KeptPart:
    """Rows whose values are kept on a worker."""

    values: Any  # future of the values
    n_rows: int
    n_bytes: int
    place: str | None


class CodedOnCluster:
    """A table as codes: `labels` are local, the codes stay on the workers."""

    def __init__(self, cluster: Cluster, labels: Labels, codes: tuple[Any, ...], parts: list[KeptPart]) -> None:
        self.cluster, self.labels = cluster, labels
        self._codes = codes  # chunks, lists of cuts, maxima, rows, labels
        self.rows, self.labels_there = codes[3:]
        self._ranked: list[Future] = []  # rankings that were submitted
        self.parts = parts  # in order, if values are needed beside the codes

    def submit(
        self, function: Callable[..., object], *args: object, priority: float = 0, wish: str | None = None
    ) -> Future:
        """Submit a task that needs the table."""
        return self.cluster.submit(function, self._codes, *args, priority=priority, wish=wish)

    def rank_early(self, workers: Sequence[str]) -> None:
        """Send codes to workers and rank the rows there, before the values of the codes are known."""
        chunks, cuts, _, rows, labels = self._codes
        self._ranked = [self.cluster.submit(_rank_here, chunks, cuts, rows, labels, wish=name) for name in workers]

    def fetch_bags(self) -> tuple[Any, ...]:
        """Fetch the data from which bags are drawn."""
        found: tuple[Any, ...] = self.cluster.gather(self.submit(send_bags))
        return found

    def wait_until_ranked(self) -> None:
        """Wait for the workers that were asked to rank early."""
        self.cluster.gather_all(self._ranked)
        self._ranked = []


def _rank_here(chunks: Sequence[Chunk], cuts: Sequence[ColumnCuts], rows: Rows, labels: Labels) -> None:
    coded_partitions.rank_here(chunks, join_cuts(cuts, labels), rows, labels, n_threads_here())


def wants_values(model: TreeModel) -> bool:
    """Return whether out-of-bag votes of a forest will be computed."""
    given = params.gather(model)
    return bool(given["oob_score"]) or isinstance(given["n_estimators"], str)


def count_kept(parts: Sequence[KeptPart]) -> Counter[str | None]:
    """Count the bytes of kept values by worker."""
    kept: Counter[str | None] = Counter()
    for part in parts:
        kept[part.place] += part.n_bytes
    return kept


class Coding:
    """Codes a table step by step, on the workers that hold its partitions.

    Steps are submitted before earlier ones are done wherever possible: all workers are idle while the client and the
    scheduler communicate.
    """

    def __init__(self, cluster: Cluster, model: TreeModel, names: Sequence[str], cells: Cells) -> None:
        self._cluster, self._for_values = cluster, wants_values(model)
        self._max_bins = params.count_bins(params.gather(model)["max_bins"])
        plain = copy.copy(model)  # workers may be threads of this process that set attributes of partitions
        own = cluster.submit_each(_read_labels, [(plain, names, of_part, i) for i, of_part in enumerate(cells)])
        self._labels_there = cluster.submit(partitioned_table.merge_part_labels, own)
        self.labels: Labels = cluster.gather(self._labels_there)
        groups = self._group(cells)
        neighbors = [[cells[i] for i in group] for group in groups]
        self._tables = cluster.submit_each(
            _read_parts,
            [
                (plain, names, of_parts, self._labels_there, n)
                for of_parts, n in zip(neighbors, self._n_threads, strict=True)
            ],
        )
        self._surveyed: Survey | None = None
        self._rows_here: Rows | None = None
        self._kept = (
            cluster.submit_each(_kept, [(names, of_part) for of_part in cells]) if self.labels.is_weighted else []
        )

    def _group(self, cells: Cells) -> list[list[int]]:
        """Group consecutive partitions on one worker, to have fewer tasks."""
        # All columns of a frame are in one place; for arrays, X is the largest.
        large = [of_part[0] if isinstance(of_part, tuple) else of_part for of_part in cells]
        n_features, places = self.labels.n_features, self._cluster.places_of(large)
        self._slots = slots = self._cluster.slots()
        most_rows = TAKEN_TOGETHER // (8 * n_features)
        groups = group_neighbors(places, self.labels.by_part, slots, n_features, most_rows)
        self._n_rows = [sum(self.labels.by_part[i] for i in group) for group in groups]  # rows of each table
        n_cells = [n * n_features for n in self._n_rows]
        self._n_threads = share_threads([places[group[0]] for group in groups], n_cells, slots)
        return groups

    def kept_rows(self) -> BoolArray | None:
        """Mask of the input rows that are in the table; None: all."""
        if not self._kept:
            return None
        kept: BoolArray = np.concatenate(self._cluster.gather_all(self._kept))
        return None if kept.all() else kept

    def fetch_rows(self) -> Rows:
        """Fetch targets, weights, groups and strata."""
        if self._rows_here is None:
            self._rows_here = self._cluster.gather(self._survey()[0])
        return self._rows_here

    def row_product(self) -> int:
        """Multiply the numbers of all rows, each table on its worker: the multiset hash of the table."""
        return data_hash.join(self._cluster.gather_all(self._of_tables(_row_product)))

    def compute_on_rows(self, ask: Callable[[Table, Asked], Answer], asked: Asked) -> Answer:
        """Call a function with the targets and weights of all rows, on a worker."""
        found: Answer = self._cluster.gather(
            self._cluster.submit(_compute_on_rows, self._survey()[0], self._labels_there, ask, asked)
        )
        return found

    def code(self) -> CodedOnCluster:
        """Code the table."""
        cluster = self._cluster
        rows, cuts, chunks = self._survey()
        found = self._outline(cuts)
        # While columns are cut, the client can look up workers and places.
        places, workers = cluster.places_of(self._tables), cluster.workers()
        highs = self._find_code_maxima(chunks, cuts, workers, places)
        outline = cluster.gather(found)
        if outline.doubtful:
            cuts = [self._resolve_cuts(cuts, outline.doubtful)]
            chunks = self._code(cuts)
            settled = self._outline(cuts)
            places, workers = cluster.places_of(self._tables), cluster.workers()  # the set of workers may have changed
            highs = self._find_code_maxima(chunks, cuts, workers, places)
            outline = cluster.gather(settled)
        kept = self._keep(places) if self._for_values and outline.n_cut else []
        cluster.require_memory(workers, self.labels, outline.widths, count_kept(kept))
        self._tables = []  # no longer needed
        if len(chunks) > MOST_CHUNKS:
            n = -(-len(chunks) // MOST_CHUNKS)
            chunks = [cluster.submit(coded_partitions.join_chunks, chunks[i : i + n]) for i in range(0, len(chunks), n)]
        table = CodedOnCluster(cluster, self.labels, (chunks, cuts, highs, rows, self._labels_there), kept)
        table.rank_early([name for name in workers if name != _spare(workers)])
        return table

    def _survey(self) -> Survey:
        """Survey the table once."""
        if self._surveyed is None:
            self._surveyed = self._submit_survey()
        return self._surveyed

    def _submit_survey(self) -> Survey:
        """Submit the tasks that find the cuts and code the values: rows, cuts, codes.

        If many rows are equal, more hashes are needed until the sample is known.
        """
        for times in (1, 16, bins.NO_LIMIT):
            rows, highest = self._find_highest_hash(times)
            cuts = self._cut(highest)
            chunks = self._code(cuts)
            if self._cluster.gather(highest) is not None:
                break
        return rows, cuts, chunks

    def _find_highest_hash(self, times: int) -> tuple[Future, Future]:
        """Submit the search for the highest hash of the sample, among `times` as many hashes as usually needed."""
        cluster, labels, max_bins = self._cluster, self._labels_there, self._max_bins
        limit = bins.limit_hashes(self.labels, times)
        found = self._of_tables(bins.survey_part, labels, max_bins, limit)
        highest = cluster.submit(bins.find_highest_hash, found, labels, max_bins, limit)
        return cluster.submit(bins.join_rows, found), highest

    def _cut(self, highest: Future) -> list[Future]:
        """Submit the cuts of columns, some columns per task; none if every value of a large table is a code.

        They are joined by the tasks that need them, which receive them from several workers in parallel.
        """
        cluster, labels, max_bins = self._cluster, self._labels_there, self._max_bins
        if not max_bins and bins.is_sampled(self.labels, 1):
            return []
        sampled = self._of_tables(bins.sample_values, labels, highest)
        return [
            cluster.submit(bins.cut_columns, sampled, block, labels, max_bins, n_threads, wish=place)
            for place, block, n_threads in _blocks(self.labels.n_features, self._slots)
        ]

    def _code(self, cuts: list[Future]) -> list[Future]:
        return self._of_tables(_code_part, cuts, self._labels_there)

    def _of_tables(self, function: Callable[..., object], *args: object) -> list[Future]:
        """Submit one task per table, with the number of threads for that table."""
        tables = zip(self._tables, self._n_threads, strict=True)
        return self._cluster.submit_each(function, [(table, *args, n_threads) for table, n_threads in tables])

    def _resolve_cuts(self, cuts: list[Future], doubtful: Sequence[int]) -> Future:
        """Submit the final cuts of undecided columns, for which all values are read."""
        found = self._of_tables(bins.find_distinct, doubtful, self._max_bins)
        joined = self._cluster.submit_in_rounds(bins.join_distinct, found, self._max_bins)
        return self._cluster.submit(_resolve_cuts, cuts, self._labels_there, joined)

    def _outline(self, cuts: list[Future]) -> Future:
        return self._cluster.submit(_outline, cuts, self._labels_there, priority=FIRST)

    def _keep(self, places: Sequence[str | None]) -> list[KeptPart]:
        values = self._cluster.submit_each(_values_of, [(table,) for table in self._tables])
        of_row = VALUE * self.labels.n_features
        return [KeptPart(X, n, n * of_row, place) for X, n, place in zip(values, self._n_rows, places, strict=True)]

    def _find_code_maxima(
        self, chunks: Sequence[Future], cuts: list[Future], workers: dict[str, WorkerInfo], places: Sequence[str | None]
    ) -> Future:
        """Submit the search for the maxima of codes: one task per thread, for the parts on its worker."""
        of_places: dict[str | None, list[int]] = {}
        for i, place in enumerate(places):
            of_places.setdefault(place, []).append(i)
        groups = [
            group
            for place, of_place in of_places.items()
            for group in divide(of_place, int(workers[place]["nthreads"]) if place in workers else len(of_place))
        ]
        arguments = [
            ([self._tables[i] for i in g], [chunks[i] for i in g], cuts, self._labels_there, self._n_threads[g[0]])
            for g in groups
        ]
        found = self._cluster.submit_each(_find_code_maxima, arguments, priority=FIRST)
        return self._cluster.submit_in_rounds(
            coded_partitions.join_code_maxima, found, priority=FIRST, wish=_spare(workers)
        )


def _row_product(table: Table, n_threads: int) -> int:
    return NativeEngine().row_product(table, n_threads)


def _compute_on_rows(rows: Rows, labels: Labels, ask: Callable[[Table, Asked], Answer], asked: Asked) -> Answer:
    return ask(rows.table(labels), asked)


def _spare(workers: dict[str, WorkerInfo]) -> str | None:
    """Return a worker that does not rank early, so that it can join results meanwhile."""
    has_one = [name for name, worker in workers.items() if worker["nthreads"] == 1]
    return has_one[-1] if len(has_one) == len(workers) > 1 else None


def _read_labels(model: TreeModel, names: Sequence[str], cells: Sequence[Future], number: int) -> Labels | None:
    try:
        return partitioned_table.read_labels(model, make_part(names, cells))
    except (DataError, DataTypeError) as error:
        message = f"{error} This is partition {number}; partitions and rows are counted from 0."
        raise type(error)(message) from error


def _read_parts(
    model: TreeModel, names: Sequence[str], cells: Sequence[Future], labels: Labels, n_threads: int
) -> Table:
    return partitioned_table.read_parts(model, [make_part(names, of_part) for of_part in cells], labels, n_threads)


def _resolve_cuts(cuts: Sequence[ColumnCuts], labels: Labels, found: bins.Distinct) -> ColumnCuts:
    return bins.resolve_cuts(join_cuts(cuts, labels), found).columns()


def _outline(cuts: Sequence[ColumnCuts], labels: Labels) -> Outline:
    return join_cuts(cuts, labels).outline()


def _code_part(table: Table, cuts: Sequence[ColumnCuts], labels: Labels, n_threads: int) -> Chunk | None:
    return coded_partitions.code_part(table, join_cuts(cuts, labels), n_threads)


def _find_code_maxima(
    tables: Sequence[Table], chunks: Sequence[Chunk], cuts: Sequence[ColumnCuts], labels: Labels, n_threads: int
) -> CodeMaxima:
    joined = join_cuts(cuts, labels)
    return (
        CodeMaxima({}, {}) if joined.doubtful else coded_partitions.find_code_maxima(tables, chunks, joined, n_threads)
    )


def _values_of(table: Table) -> Future:
    return table.X


def _kept(names: Sequence[str], cells: Sequence[Future]) -> Future:
    return make_part(names, cells).kept()


def _blocks(n_features: int, slots: Sequence[str]) -> list[tuple[str | None, list[int], int]]:
    """Divide the columns among workers in proportion to their threads: worker, columns, number of threads.

    Sampled values are sent to each of these workers, so a worker takes several columns or none.
    """
    places: Sequence[str | None] = slots or [None]
    threads = [*Counter(places).items()][: max(1, min(MOST_CUTTERS, n_features // COLUMNS_TO_CUT))]
    ends = [0, *accumulate(n for _, n in threads)]
    blocks = pairwise(n_features * end // ends[-1] for end in ends)
    found = [(place, [*range(*block)], n) for (place, n), block in zip(threads, blocks, strict=True)]
    return [block for block in found if block[1]]


def send_table(
    cluster: Cluster, schema: Schema, reading: Reading, engine: NativeEngine, codes: Codes, *, keep_values: bool
) -> CodedOnCluster:
    """Send a table that was read and coded locally."""
    table = reading.table
    columns = [engine.column(codes, f) for f in range(table.n_features)]
    many = frozenset(f for f, (_, lows, highs) in enumerate(columns) if not np.array_equal(lows, highs))
    cuts = Cuts([light(lows) for _, lows, _ in columns], many)
    outline, labels = cuts.outline(), partitioned_table.labels_of(table, reading.classes, schema)
    planned = _plan_parts(cluster, table) if many and keep_values else []
    cluster.require_memory(cluster.workers(), labels, outline.widths, count_kept(planned))
    narrow = [codes.astype(f"u{width}") for (codes, _, _), width in zip(columns, outline.widths, strict=True)]
    highs = CodeMaxima({f: light(columns[f][2]) for f in many}, {f: float(columns[f][1][0]) for f in many})
    rows = Rows(table.target, table.weight, table.groups, table.strata, codes.values)
    sent = [  # one at a time, so that chunks that were sent can be freed
        cluster.send(Chunk(min(ROWS_SENT, table.n_rows - i), [pack(codes[i : i + ROWS_SENT]) for codes in narrow]))
        for i in range(0, table.n_rows, ROWS_SENT)
    ]
    others = [[cluster.send(cuts.columns())], *(cluster.send(thing) for thing in (highs, rows, labels))]
    kept = [replace(part, values=cluster.send_to(part.place, part.values)) for part in planned]
    return CodedOnCluster(cluster, labels, (sent, *others), kept)


def _plan_parts(cluster: Cluster, table: Table) -> list[KeptPart]:
    """Divide a local table among the threads of all workers."""
    places: list[str | None] = [*cluster.slots()] or [None]
    ends = [table.n_rows * i // len(places) for i in range(len(places) + 1)]
    pieces = [table.X[begin:end] for begin, end in pairwise(ends)]
    return [KeptPart(X, X.shape[0], _bytes_of(X), place) for X, place in zip(pieces, places, strict=True) if X.shape[0]]


def _bytes_of(X: Any) -> int:
    if not sparse.issparse(X):
        return int(X.nbytes)
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
