"""A table stored on disk as codes, for estimators to fit to when the values do not fit into memory.

    CodeStore      an open store: codes in rank order, read on access; target, weights, names
    StoredTable    the table of a fit, whose values are on disk
    StoredEngine   the native engine, with few trees at a time to bound memory

`writer.py` makes stores. A store is one file, `codes.weald` in its folder: the container of model files, with a digest
of its contents. A damaged or foreign file raises an error.
"""

import dataclasses
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from weald.codes.resident_memory import release, release_many, watch_pages
from weald.data.schema import Categories, Schema, rules_of
from weald.data.table import Reading, Table, TrainingArguments, measure
from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray
from weald.engines import data_hash
from weald.engines.interface import Codes, Engine, OutOfBagVotes, Watch
from weald.engines.native import Errors, NativeEngine, curve_of, name_trees, own_codes
from weald.engines.params import Growth, count_bins
from weald.engines.table_source import TableSource
from weald.errors import DataError, DataTypeError, FormatError, ParameterError, warn
from weald.forest.forest import Forest
from weald.io import container
from weald.io.container import require
from weald.io.values import Reader

FILE = "codes.weald"
FORMAT = "1"
ROOM = 4 * 2**30  # bytes for the trees that grow at the same time
BYTES_PER_ROW = 28  # maximum for a growing tree: row numbers, targets, counts, cached codes
CELLS_AT_ONCE = 1 << 25  # number of cells whose values are read at a time
NOTHING: FloatArray = np.empty(0)
Coded: TypeAlias = Any  # codes of the compiled core, a separate class for each instruction set
CodedColumn = tuple[IntArray, FloatArray, FloatArray, bool]


@dataclass(frozen=True)
class About:
    """Metadata of a store: the table, and the options of the store."""

    schema: Schema
    classes: Array | None  # None: regression
    whole: bool  # all weights are whole
    size: int  # the total of whole weights, else the rows
    fingerprint: int  # fingerprint of the training data as codes
    max_bins: int  # 0: every value is a code
    missing: str
    categorical_features: object
    source: object  # where the rows came from, if known
    prints: list[list[int]]  # for each chunk: rows and a checksum
    keep_values: bool = False  # whether values of codes that cover several are stored
    values: int | None = None  # fingerprint of the values; None: unknown, as in stores of earlier versions


SAME = ("max_bins", "missing", "categorical_features", "source", "keep_values")  # the options of a store


class CodeStore(TableSource):
    """A table on disk, as codes. Made by `weald.codes`; fit estimators to it: `model.fit(store)`.

    Attributes
    ----------
    path : pathlib.Path
        Path of the file.
    n_rows, n_features : int
    classes : array or None
        Class labels; None: a numeric target (regression).
    feature_names : list of str, or None
    max_bins : int or None
        `max_bins` of the store; estimators must have the same value.
    n_bytes : int
        Length of the file.
    """

    def __init__(self, path: Path, about: About, arrays: dict[str, Array], mapped: mmap.mmap) -> None:
        self.path, self._about, self._mapped = path, about, mapped
        self.target: Array = arrays["target"]
        self.weight: FloatArray | None = arrays.get("weight")
        self.positions: IntArray = arrays["positions"]
        self.columns: list[CodedColumn] = [
            (arrays[f"codes.{f}"], arrays[f"lows.{f}"], arrays[f"highs.{f}"], f in about.schema.categorical)
            for f in range(len(about.schema.categories))
        ]
        names = {f: f"values.{f}" for f in range(len(about.schema.categories))}
        self.values: dict[int, FloatArray] = {f: arrays[name] for f, name in names.items() if name in arrays}

    def __repr__(self) -> str:
        kind = "numbers" if self.classes is None else f"{len(self.classes)} classes"
        return f"<code store: {self.n_rows:,} rows, {self.n_features} features, {kind}, {self.n_bytes:,} bytes>"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Raise an error: a store cannot be used as a table of values."""
        raise DataTypeError(
            "A code store can be used to fit trees and forests, and by methods that need their training data. Give a "
            "table for everything else; predict_chunks accepts one that is larger than memory."
        )

    @property
    def n_rows(self) -> int:
        """Number of rows; those of zero weight are left out."""
        return len(self.target)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns)

    @property
    def n_bytes(self) -> int:
        """Length of the file."""
        return self.path.stat().st_size

    @property
    def classes(self) -> Array | None:
        """Class labels; None: a numeric target."""
        return self._about.classes

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if the table had names."""
        names = self._about.schema.names
        return None if names is None else list(names)

    @property
    def max_bins(self) -> int | None:
        """`max_bins` of the store; None: every distinct value has a code."""
        return self._about.max_bins or None

    @property
    def fingerprint(self) -> int:
        """Fingerprint of the training data, as stored in trees."""
        return self._about.fingerprint

    @property
    def has_values(self) -> bool:
        """Whether the values of all cells are known: each has a code of its own, or was kept."""
        return all(f in self.values or np.array_equal(c[1], c[2]) for f, c in enumerate(self.columns))

    # ------------------------------------------------------------------------------------------------------- fit

    def open_engine(self, name: str) -> Engine:
        """Return the engine that trains from this store."""
        if name not in ("auto", "native"):
            raise ParameterError(f'engine={name!r} cannot read a store. Set engine="auto".')
        return StoredEngine(self)

    def read_for(self, model: Any, data: TrainingArguments) -> Reading:
        """Return the table for an estimator, and store the names and categories of the features in the estimator."""
        about = self._about
        self._refuse(model, data)
        self._check_rows()
        model.schema_, model.n_features_in_ = dataclasses.replace(about.schema, unknown={}), self.n_features
        if about.schema.names is not None:
            model.feature_names_in_ = np.array(about.schema.names, dtype=object)
        n_classes = 0 if about.classes is None else len(about.classes)
        target = self.target if about.classes is None else self.target.astype(np.int32)
        values: Any = Values(self)  # used instead of an array, but never passed to the core
        table = StoredTable(
            *(values, target, n_classes, self.weight, about.whole, about.size),
            categorical=about.schema.categorical,
        )
        return Reading(table, about.classes, None)

    def _check_rows(self) -> None:
        """Check targets, weights and positions; the core checks the codes."""
        about, weight, n_rows = self._about, self.weight, self.n_rows
        try:
            require(0 < n_rows < 2**31, f"It has {n_rows} rows.")
            require(about.classes is not None or np.isfinite(self.target).all(), "A target is not finite.")
            require(
                weight is None or (weight.min() > 0 and weight.max() < np.inf),
                "A weight is not positive and finite.",
            )
            is_there = np.zeros(n_rows, dtype=bool)
            is_there[self.positions[self.positions < n_rows]] = True
            require(is_there.all(), "Its ranks do not match the rows.")
            require((about.whole, about.size) == measure(weight, n_rows), "Its weights contradict its metadata.")
        except FormatError as error:
            raise _refused(self.path, error) from None

    def _refuse(self, model: Any, data: TrainingArguments) -> None:
        """Raise an error if arguments or parameters do not match the store."""
        about = self._about
        if data.y is not None or data.sample_weight is not None:
            raise DataError("The store contains the target and the weights. Give only the store: model.fit(store).")
        task = Task.REGRESSION if about.classes is None else Task.CLASSIFICATION
        if model.task is not task:
            raise DataError(
                f"The store was made for {task}, but {type(model).__name__} is for {model.task}. Make a store with "
                f'task="{model.task}".'
            )
        bins = count_bins(getattr(model, "max_bins", None))
        if bins != about.max_bins:
            raise ParameterError(
                f"max_bins={model.max_bins}, but the store was made with max_bins={self.max_bins}. Give the estimator "
                "the same value."
            )
        rules = rules_of(model)
        for name in ("missing", "categorical_features"):
            given, made = getattr(rules, name), getattr(about, name)
            if _listed(given) != _listed(made) and not (name == "categorical_features" and isinstance(given, str)):
                raise ParameterError(
                    f"{name}={given!r}, but the store was made with {name}={made!r}. Give the estimator the same value."
                )
        if getattr(model, "resampling", "bagging") != "bagging":
            raise ParameterError(f"resampling={model.resampling!r} needs the rows in memory. Fit to arrays or frames.")

    def map_codes(self, core: Any, table: Table, n_threads: int) -> Codes:
        """Pass the codes to the compiled core, without a copy."""
        targets = (table.target, None) if table.task is Task.CLASSIFICATION else (None, table.target)
        try:
            codes: Codes = core.map_table(
                *(self.columns, *targets, table.n_classes, table.weight, table.weights_whole),
                *(self.positions, self.fingerprint, self._about.values, n_threads, None),
            )
        except ValueError as error:
            raise _refused(self.path, error) from None
        release(self._mapped)
        return codes

    def watch_memory(self, watch: Watch | None) -> Watch:
        """Return a progress callback for work that reads the codes, which releases memory regularly."""
        return watch_pages([self._mapped], watch)

    def release_memory(self) -> None:
        """Release the pages that were read, if there are many."""
        release_many([self._mapped])

    def is_of(self, other: About) -> bool:
        """Return whether a store was made from the same rows in the same way, as far as known in advance."""
        mine, theirs = self._about, other
        same = all(_listed(getattr(mine, name)) == _listed(getattr(theirs, name)) for name in SAME)
        return same and mine.prints[:1] == theirs.prints


def _listed(value: object) -> object:
    """Convert arrays to lists, which can be compared."""
    return list(value) if isinstance(value, np.ndarray | tuple) else value


class Values:
    """The values of a stored table, read on access, some rows at a time, eight bytes per cell.

    If a code covers several values, the store may have kept them. Otherwise each value is replaced by the minimum of
    its code. Then an out-of-bag row may take the other branch at a node without rows of that code, because the
    threshold lies between the neighboring codes.
    """

    def __init__(self, store: CodeStore) -> None:
        self._store, self._has_warned = store, False
        self.shape, self.ndim, self.dtype = (store.n_rows, store.n_features), 2, np.dtype(np.float64)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return all values."""
        n_bytes = 8 * self.shape[0] * self.shape[1]
        room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        if n_bytes > room:
            raise DataError(
                f"The values of all rows are needed here, {n_bytes:,} bytes, which is more than half of the memory. "
                "Give a table with some of the rows instead."
            )
        self._warn()
        X = np.empty(self.shape, dtype, order="F")
        for f in range(self.shape[1]):
            X[self._store.positions, f] = self._read(f, slice(None))
        return X

    def blocks(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """Yield blocks of rows: their numbers, their ranks and their values.

        Blocks come in rank order, as on disk, in one buffer: allocating memory takes longer than reading.
        """
        self._warn()
        n_rows = min(self.shape[0], max(1, CELLS_AT_ONCE // self.shape[1]))
        room = np.empty((n_rows, self.shape[1]), order="F")
        for begin in range(0, self.shape[0], n_rows):
            ranks = slice(begin, min(begin + n_rows, self.shape[0]))
            X = room[: ranks.stop - begin]
            for f in range(self.shape[1]):
                X[:, f] = self._read(f, ranks)
            yield self._store.positions[ranks], np.arange(ranks.start, ranks.stop, dtype=np.uint32), X

    def _read(self, f: int, ranks: slice) -> FloatArray:
        """Read a feature of some rows."""
        self._store.release_memory()
        if f in self._store.values:
            return self._store.values[f][ranks]
        codes, lows, _, _ = self._store.columns[f]
        values: FloatArray = np.append(lows, np.nan)[np.minimum(codes[ranks], len(lows))]
        return values

    def _warn(self) -> None:
        kept = self._store.values
        n_cut = sum(f not in kept and not np.array_equal(c[1], c[2]) for f, c in enumerate(self._store.columns))
        if n_cut and not self._has_warned:
            self._has_warned = True
            warn(
                f"The codes of {n_cut} of {self.shape[1]} features cover several values, and the store has not kept "
                "the values. Out-of-bag estimates use the minimum of each code, so they differ slightly from those of "
                "a fit to the values. The forest is the same. To avoid this, make the store with keep_values=True."
            )


@dataclass(frozen=True, kw_only=True)
class StoredTable(Table):
    """The table of a fit to a store."""

    is_in_memory: ClassVar[bool] = False

    def in_memory(self) -> Table:
        """Read all values."""
        X: FloatArray = np.asarray(self.X)
        return dataclasses.replace(self, X=X)


class StoredEngine(NativeEngine):
    """The native engine; for large tables it grows few trees at a time, each on all threads.

    Resident pages of codes count as memory of the process, so they are released when they are many.
    """

    def __init__(self, store: CodeStore) -> None:
        super().__init__()
        self._store = store

    def read(self, model: Any, data: TrainingArguments) -> Reading:
        """Read the table of the store."""
        if data.groups is not None or data.stratify is not None:
            raise DataError("groups and stratify cannot be given with a store. Fit to arrays or frames.")
        return self._store.read_for(model, data)

    def code(
        self, table: Table, max_bins: int, n_threads: int = 1, watch: Watch | None = None, n_trees: int = 0
    ) -> Codes:
        """Return the codes of the store."""
        return self._store.map_codes(self.core, table, n_threads)

    def row_product(self, table: Table, n_threads: int = 1) -> int:
        """Compute the multiset hash of the rows, some rows at a time."""
        if not self._store.has_values:
            raise DataError(
                "The codes of this store cover several values, which it has not kept, so its values cannot be hashed. "
                "Make the store with keep_values=True, or with max_bins=None."
            )
        words, copies = data_hash.row_words(table)
        found = (
            self.core.row_product(X, words[rows], None if copies is None else copies[rows], n_threads)
            for rows, _, X in Values(self._store).blocks()
        )
        return data_hash.join(int.from_bytes(product, "little") for product in found)

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow the same trees, a few at a time."""
        watch = self._store.watch_memory(watch)
        at_once = max(1, ROOM // (BYTES_PER_ROW * own_codes(codes).n_rows))
        if at_once >= min(n_trees, n_threads):
            return super().grow(codes, growth, seed, first_tree, n_trees, n_threads, watch, ccp_alpha)
        grown: list[Forest] = []
        for begin in range(0, n_trees, at_once):
            n_more = min(at_once, n_trees - begin)

            def tell(share: float, begin: int = begin, n_more: int = n_more) -> None:
                watch((begin + share * n_more) / n_trees)

            grown.append(super().grow(codes, growth, seed, first_tree + begin, n_more, n_threads, tell, ccp_alpha))
        forest = grown[0].join(*grown[1:])
        origin = dataclasses.replace(grown[0].origins[0], n_trees=n_trees)
        return dataclasses.replace(forest, origins=(origin,))

    def sum_votes_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array | Values,
        voting: str,
        n_threads: int = 1,
        watch: Watch | None = None,
        start: OutOfBagVotes | None = None,
        room: int = 0,
    ) -> OutOfBagVotes:
        """Sum the predictions of the trees for their out-of-bag rows, some rows at a time.

        Bags are drawn for all rows, so trees are processed in groups whose bags are drawn together.
        """
        if not isinstance(X, Values):  # rows given in memory
            return super().sum_votes_out_of_bag(codes, growth, forest, X, voting, n_threads, watch, start, room)
        width = (forest.n_classes,) if forest.task is Task.CLASSIFICATION else ()
        sums = np.zeros((own_codes(codes).n_rows, *width)) if start is None else start.sums.copy()
        counts = np.zeros(own_codes(codes).n_rows, dtype=np.uint32) if start is None else start.n_trees.copy()
        found: list[Errors] = []
        for first in range(0, forest.n_trees, self.core.bags_at_once):
            n_trees = min(self.core.bags_at_once, forest.n_trees - first)
            trees = forest if n_trees == forest.n_trees else forest.take(range(first, first + n_trees))
            (outside,) = self.draw_out_of_bag(codes, *name_trees(growth, trees), n_threads)
            of_blocks = []
            for rows, ranks, values in X.blocks():
                before = OutOfBagVotes(sums[rows], counts[rows], NOTHING, NOTHING)
                bits = [outside[rows].astype(np.uint64)]
                what = (codes, growth, trees, values, ranks, voting, before, room, bits)
                votes, errors = self.sum_votes_of_rows(*what, n_threads)
                sums[rows], counts[rows] = votes.sums, votes.n_trees
                of_blocks.append(errors)
            found.append(reduce(Errors.add, of_blocks))
        return OutOfBagVotes(sums, counts, *curve_of(found, own_codes(codes).line_length))


# ------------------------------------------------------------------------------------------------------------- load


def load_store(folder: str | os.PathLike[str], *, check: bool = True) -> CodeStore:
    """Open a store; see `weald.codes.load`."""
    path = Path(folder) / FILE
    if not path.is_file():
        unfinished = " It has an unfinished one; the same call that began it continues it." * _is_begun(Path(folder))
        raise FileNotFoundError(f"{folder} has no code store ({FILE}).{unfinished}")
    try:
        return _read(path, check=check)
    except FormatError as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> FormatError:
    return FormatError(f"{path} cannot be read as a code store. {error}")


def _is_begun(folder: Path) -> bool:
    return (folder / "making").is_dir()


def _read(path: Path, *, check: bool) -> CodeStore:
    with path.open("rb") as file:
        require(os.fstat(file.fileno()).st_size, "It is empty.")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    contents = container.read(memoryview(mapped), check_data=check, done=partial(release_many, [mapped]))
    texts = contents.metadata
    require("weald.codes" in texts, "It is a .weald file, but holds a model. Open it with weald.load.")
    found = texts["weald.codes"]
    require(found == FORMAT, f"Its format {found!r} is unknown to this version of weald. Install a later version.")
    notes = container.parse_json(texts.get("weald.notes", ""))
    arrays = contents.arrays
    reader = Reader({name: a for name, a in arrays.items() if name.startswith("meta.")}, RECORDS)
    about = reader.read(notes.get("about"))
    require(isinstance(about, About), "It has no valid metadata.")
    n_features = len(about.schema.categories)
    names = {f"{kind}.{f}" for kind in ("codes", "lows", "highs") for f in range(n_features)}
    mine = {name: a for name, a in arrays.items() if not name.startswith("meta.")}
    optional = {"weight"} | {f"values.{f}" for f in range(n_features)}
    require(mine.keys() - optional == names | {"target", "positions"}, "Arrays are missing.")
    _check_about(about)
    _check_arrays(about, mine, n_features)
    release(mapped)
    return CodeStore(path, about, mine, mapped)


def _check_about(about: About) -> None:
    """Check that the metadata are consistent."""
    schema, classes = about.schema, about.classes
    n_features = len(schema.categories)
    require(n_features > 0 and (schema.names is None or len(schema.names) == n_features), "Feature names differ.")
    labels = [classes, *(None if c is None else c.labels for c in schema.categories)]
    require(all(array is None or array.ndim == 1 for array in labels), "Its labels are not one-dimensional.")
    require(classes is None or 0 < len(classes) < 2**31, "Its number of classes is invalid.")
    require(0 <= about.fingerprint < 2**64, "Its fingerprint is invalid.")
    listed = _listed(about.categorical_features)
    flat = not isinstance(listed, list) or not any(isinstance(item, list | tuple | np.ndarray) for item in listed)
    require(flat and not isinstance(about.source, np.ndarray), "Its options are invalid.")


def _check_arrays(about: About, arrays: dict[str, Array], n_features: int) -> None:
    """Check types and lengths of arrays, and values of codes; rows are checked in a fit."""
    n_rows = arrays["target"].size
    target = {"|u1", "<u2", "<i4"} if about.classes is not None else {"<f8"}
    kinds: dict[str, tuple[set[str], int]] = {"target": (target, n_rows), "positions": ({"<u4"}, n_rows)}
    if "weight" in arrays:
        kinds["weight"] = ({"<f8"}, n_rows)
    for f in range(n_features):
        n_codes = arrays[f"lows.{f}"].size
        kinds |= {f"codes.{f}": ({"|u1", "<u2", "<u4"}, n_rows)}
        kinds |= {f"{kind}.{f}": ({"<f8"}, n_codes) for kind in ("lows", "highs")}
        if f"values.{f}" in arrays:
            kinds[f"values.{f}"] = ({"<f4", "<f8"}, n_rows)
    for name, (types, length) in kinds.items():
        array = arrays[name]
        require(array.dtype.str in types and array.shape == (length,), f"Array {name!r} has a wrong type or shape.")
    for f, categories in enumerate(about.schema.categories):
        _check_values(f, categories, *(arrays[f"{kind}.{f}"] for kind in ("codes", "lows", "highs")))
        is_kept = f"values.{f}" in arrays
        require(not is_kept or categories is None, f"Feature {f} is categorical, but has kept values.")


def _check_values(f: int, categories: Categories | None, codes: IntArray, lows: FloatArray, highs: FloatArray) -> None:
    """Check that the values of codes are ascending, and that those of categories are their codes."""
    ascend = bool((lows <= highs).all() and (highs[:-1] < lows[1:]).all())
    require(
        ascend and len(lows) <= np.iinfo(codes.dtype).max, f"The values of feature {f} do not increase with its codes."
    )
    if categories is not None and len(lows):
        proper = lows[0] >= 0 and highs[-1] < len(categories.labels) and (lows == np.floor(lows)).all()
        require(proper and np.array_equal(lows, highs), f"The codes of feature {f} do not match its categories.")


RECORDS: dict[str, type] = {kind.__name__: kind for kind in (About, Categories, Schema)}
