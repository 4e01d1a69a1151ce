"""The table of a kernel forest: a column for each prototype or pair, then the columns of X that `mix` adds.

KernelTable    the table, whose values are computed on access, some columns or rows at a time

A forest is grown from two-byte codes, which engines make from a few columns at a time. `np.asarray` computes and
stores all values, for out-of-bag rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weald.data.types import Array, FloatArray, IntArray
from weald.engines.interface import Codes, Engine
from weald.estimators.features import RowBlocks
from weald.estimators.kernel.kernels import Kernel, choose_candidates, choose_nearest, choose_opposites
from weald.estimators.kernel.samples import AnySamples, SampleReading, Vectors

BLOCK = 2**21  # values computed at a time
ALONE = 4  # one in this many prototypes is a column by itself, the others are paired


@dataclass(frozen=True, eq=False, repr=False)
class Prototypes:
    """The prototypes that samples are compared with: samples, or columns of a precomputed kernel.

    A column of the table is the kernel with one prototype or, for pairs, `Kernel.contrast` of two.
    """

    samples: AnySamples | None
    columns: IntArray | None = None
    pairs: IntArray | None = None  # columns of the table x 2, positions among the prototypes; -1: none

    def __len__(self) -> int:
        """Count the columns of the table."""
        return self.n_compared if self.pairs is None else len(self.pairs)

    @property
    def n_compared(self) -> int:
        """Number of prototypes."""
        return len(self.columns if self.samples is None else self.samples)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<{self.n_compared} prototypes>"

    def __eq__(self, other: object) -> bool:
        """Return whether two sets of prototypes are equal, by hash if they have hashes."""
        if not isinstance(other, Prototypes) or type(self.samples) is not type(other.samples):
            return False
        if (self.pairs is None) != (other.pairs is None) or not np.array_equal(self.pairs, other.pairs):  # type: ignore[arg-type]
            return False
        if self.samples is None or other.samples is None:
            return np.array_equal(self.columns, other.columns)  # type: ignore[arg-type]
        one, two = self.samples.hashes(), other.samples.hashes()
        if one is None or two is None:
            return bool(self.samples.given() == other.samples.given())
        return np.array_equal(one, two)

    __hash__ = None  # type: ignore[assignment]

    def compared_by(self, numbers: IntArray) -> IntArray:
        """Positions of the prototypes that some columns of the table need."""
        if self.pairs is None:
            return numbers
        places = np.unique(self.pairs[numbers])
        return places[places >= 0]

    def set_against(self, targets: Array, seed: int, apart: Callable[[IntArray], FloatArray], gap: int) -> "Prototypes":
        """Pair three of four prototypes with the nearest one of another target, or any other if there is none.

        `apart` computes the distances of all prototypes from some. See `choose_nearest` for `gap`.
        """
        hashes = None if self.samples is None else self.samples.hashes()
        addresses = np.arange(len(targets)) if hashes is None else hashes
        opposites = choose_opposites(addresses, targets, seed)
        if opposites is None:
            return self
        if (targets != targets[0]).any():
            candidates = choose_candidates(addresses, seed)
            opposites = choose_nearest(apart(candidates), candidates, targets, opposites, gap)
        places = np.arange(len(targets))
        pairs = np.stack([places, np.where(places % ALONE == ALONE - 1, -1, opposites)], axis=1)
        return Prototypes(self.samples, self.columns, pairs)

    def take(self, numbers: IntArray) -> "Prototypes":
        """Select some columns of the table, and the prototypes that they need."""
        needed = self.compared_by(numbers)
        pairs = None
        if self.pairs is not None:
            pairs = self.pairs[numbers]
            pairs = np.where(pairs < 0, -1, np.searchsorted(needed, pairs))
        if self.samples is None:
            assert self.columns is not None  # noqa: S101  (for the type checker: one of both is there)
            return Prototypes(None, self.columns[needed], pairs)
        return Prototypes(self.samples.take(needed), None, pairs)


class KernelTable(RowBlocks):
    """Kernel values and columns of X as a table that is computed on access."""

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, sample_reading: SampleReading, *, mix: bool) -> None:
        self.sample_reading = sample_reading
        self.raw: FloatArray | None = None
        if mix:
            self.raw = np.asarray(sample_reading.raw, dtype=np.float64)
        self._values: FloatArray | None = None
        self._coded: Codes | None = None
        self._n_kernel = 0
        self._raw_kept: IntArray = np.arange(0 if self.raw is None else self.raw.shape[1])

    def compare(self, kernel: Kernel, engine: Engine, prototypes: Prototypes, n_threads: int) -> "KernelTable":
        """Set the prototypes and the kernel."""
        self._kernel, self._engine, self._n_threads = kernel, engine, n_threads
        self._prototypes, self._n_kernel, self._values = prototypes, len(prototypes), None
        self._coded, self._places = None, np.arange(self.shape[1])
        self._samples = (
            read_precomputed_rows(self.sample_reading)
            if kernel.is_precomputed
            else kernel.prepare(self.sample_reading.samples)
        )
        return self

    def remember(self, coded: Codes) -> None:
        """Store the codes, from which values can be decoded."""
        self._coded = coded

    def keep(self, columns: IntArray) -> None:
        """Select some columns."""
        self._places = self._places[columns]
        is_kernel = columns < self._n_kernel
        self.keep_raw(columns[~is_kernel] - self._n_kernel)
        self._prototypes = self._prototypes.take(columns[is_kernel])
        self._n_kernel, self._values = len(self._prototypes), None

    def keep_raw(self, columns: IntArray) -> "KernelTable":
        """Select some of the columns of X."""
        self._raw_kept = self._raw_kept[columns]
        return self

    @property
    def prototypes(self) -> Prototypes:
        """The prototypes."""
        return self._prototypes

    @property
    def n_kernel(self) -> int:
        """Number of kernel columns."""
        return self._n_kernel

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.sample_reading.samples), self._n_kernel + len(self._raw_kept)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        if self._values is None and self._coded is not None:
            self._values = self.decoded(np.arange(self.shape[1]))
        if self._values is None:
            blocks = [block for block, _ in self.blocks()]
            self._values = np.hstack(blocks) if blocks else np.empty(self.shape)
        return self._values if dtype in (None, np.float64) else self._values.astype(dtype)

    def decoded(self, columns: IntArray) -> FloatArray:
        """Return columns decoded: each code becomes its smallest value."""
        assert self._coded is not None  # noqa: S101  (for the type checker: the table was coded)
        values = np.empty((len(self), len(columns)))
        is_raw = columns >= self._n_kernel
        for i in np.flatnonzero(~is_raw):
            codes, lows, _ = self._engine.column(self._coded, int(self._places[columns[i]]))
            values[:, i] = lows[codes]
        if is_raw.any():
            assert self.raw is not None  # noqa: S101  (for the type checker: there are raw columns)
            values[:, is_raw] = self.raw[:, self._raw_kept[columns[is_raw] - self._n_kernel]]
        return values

    def __getitem__(self, which: Any) -> Any:
        return np.asarray(self)[which]

    def copy(self) -> FloatArray:
        """Compute all values, as a writable array."""
        return np.asarray(self).copy()

    def astype(self, dtype: Any) -> Array:
        """Compute all values, in another type."""
        return np.asarray(self).astype(dtype)

    def blocks(self) -> Iterator[tuple[FloatArray, range]]:
        """Compute some columns at a time (rows x columns); also return their positions."""
        n_rows = max(1, len(self))
        step = max(4, BLOCK // n_rows)
        for begin in range(0, self._n_kernel, step):
            end = min(self._n_kernel, begin + step)
            part = self._prototypes.take(np.arange(begin, end))
            yield self._compute(self._samples, part), range(begin, end)
        if len(self._raw_kept):
            assert self.raw is not None  # noqa: S101  (for the type checker: there are raw columns)
            yield np.asfortranarray(self.raw[:, self._raw_kept]), range(self._n_kernel, self.shape[1])

    def row_blocks(self) -> Iterator[FloatArray]:
        """Compute some rows at a time (rows x columns)."""
        step = max(64, BLOCK // max(1, self.shape[1]))
        for begin in range(0, len(self), step):
            rows = np.arange(begin, min(len(self), begin + step))
            part = self.sample_reading.take(rows)
            samples = read_precomputed_rows(part) if self._kernel.is_precomputed else self._kernel.prepare(part.samples)
            values = self._compute(samples, self._prototypes)
            yield values if self.raw is None else np.hstack([values, self.raw[np.ix_(rows, self._raw_kept)]])

    def _compute(self, samples: Any, prototypes: Prototypes) -> FloatArray:
        """Values of some columns (rows x columns)."""
        if len(prototypes) == 0:
            return np.empty((len(samples), 0))
        if prototypes.pairs is None:
            return self._compare(samples, prototypes, self._kernel.columns).T
        alone = prototypes.pairs[:, 1] < 0
        values = np.empty((len(prototypes), len(samples)))
        if alone.any():
            singles = replace(prototypes, pairs=None).take(prototypes.pairs[alone, 0])
            values[alone] = self._compare(samples, singles, self._kernel.columns)
        if not alone.all():
            pairs = prototypes.take(np.flatnonzero(~alone))
            assert pairs.pairs is not None  # noqa: S101  (for the type checker: they were there before)
            values[~alone] = self._kernel.contrast(self._compare(samples, pairs, self._kernel.sums), pairs.pairs)
        return values.T

    def _compare(self, samples: Any, prototypes: Prototypes, how: Callable[..., FloatArray]) -> FloatArray:
        """Values of prototypes, one by one (prototypes x samples)."""
        if prototypes.samples is None:
            values: FloatArray = np.ascontiguousarray(samples[:, prototypes.columns].T)
            return values
        return how(self._engine, samples, self._kernel.prepare(prototypes.samples), self._n_threads)


def read_precomputed_rows(sample_reading: SampleReading) -> FloatArray:
    """Return the samples of a precomputed kernel, which are its rows."""
    assert isinstance(sample_reading.samples, Vectors)  # noqa: S101  (for the type checker: they were read as a table)
    return sample_reading.samples.matrix
