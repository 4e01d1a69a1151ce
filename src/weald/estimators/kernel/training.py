"""Growing a kernel forest: samples become a table of kernel values, and trees keep the columns that they use.

KernelTraining    fit, but for what predicts (`forests.py`)
"""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weald.data import arguments
from weald.data.schema import Categories, Schema
from weald.data.table import Reading, read_table, require_one_target
from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.engines import params
from weald.engines.bagging import read_design
from weald.engines.choose import open_engine
from weald.engines.interface import Engine, OutOfBagVotes, Watch
from weald.engines.threads import count_threads
from weald.errors import DataError, DataTypeError, ParameterError
from weald.estimators import out_of_bag
from weald.estimators import resampling as ways
from weald.estimators.base import LEARNED, unfitted_copy
from weald.estimators.forest_base import RandomForest
from weald.estimators.forests import RandomForestClassifier
from weald.estimators.kernel.kernel_selection import Choice, choose_kernel
from weald.estimators.kernel.kernels import (
    Kernel,
    check_function,
    choose_prototypes,
    count_prototypes,
    distinct_rows,
    read_precomputed,
    resolve_kernel,
    targets_of,
)
from weald.estimators.kernel.params import WORDS
from weald.estimators.kernel.samples import AnySamples, Sight, Things, Vectors, read_prototypes, read_samples
from weald.estimators.kernel.table import KernelTable, Prototypes
from weald.estimators.kernel.tree_mix import (
    COLUMNS,
    IN_TURN,
    MIXED,
    Look,
    MixChoice,
    choose_mix,
    list_runs,
    share_draws,
)
from weald.forest.forest import Forest


class KernelTraining(RandomForest):
    """A forest that is grown from kernel values."""

    _grows_on_clusters = False  # a value depends on prototypes, which other partitions have

    kernel: Any
    distance: Any
    gamma: Any
    degree: int
    coef0: float
    band: float | None
    n_prototypes: Any
    prototypes: Any
    contrast: bool
    mix: bool | str
    criterion: str
    max_features: Any

    kernel_: Kernel
    choice_: Choice
    mix_: MixChoice
    sample_kind_: str
    prototype_rows_: IntArray
    # Trees are grown from all columns and keep those that they use.
    _prototype_seed_: int
    _rows_: IntArray  # by prototype, while trees grow: the row of X
    _n_columns_: int  # that the trees were grown from
    _columns_: IntArray  # those of them that the trees use
    _n_prototypes_: int  # those of them that are a kernel's
    _kept_: Prototypes  # that the trees use
    _runs_: dict[tuple[str, int, int], Forest]  # trees that `mix="auto"` has grown while it chose

    def _check_params(self) -> None:
        super()._check_params()
        for name, kinds in WORDS.items():
            arguments.check_argument(name, getattr(self, name), kinds)
        if self.mix is True and (self.kernel == "precomputed" or self._compares_anything()):
            raise ParameterError(
                "mix=True keeps columns of numbers beside the kernel's, but here are none. Set mix=False."
            )

    @property
    def _mixes_(self) -> bool:
        """Whether columns of X stand beside the kernel's: where there are some, unless the user said otherwise."""
        if self.mix != "auto":
            return bool(self.mix)
        is_table = getattr(self, "sample_kind_", "vectors") == "vectors"
        return is_table and self.kernel != "precomputed" and not self._compares_anything()

    def _compares_anything(self) -> bool:
        """Say whether a user's function compares samples."""
        return callable(self.kernel) or (self.kernel == "gaussian" and callable(self.distance))

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        if self.warm_start and hasattr(before, "forest_"):
            self._prototype_seed_, self.kernel_ = before._prototype_seed_, before.kernel_
            for name in ("choice_", "mix_"):
                if hasattr(before, name):
                    setattr(self, name, getattr(before, name))
        elif self.kernel == "auto":
            self._choose_kernel(X, y, sample_weight, **by_row)
            return
        else:
            self._draw_seed()
        super()._learn(before, X, y, sample_weight, **by_row)

    def _draw_seed(self) -> int:
        """Draw once: the seed that chooses the prototypes grows the trees, so a file that keeps one seed has both."""
        if not hasattr(self, "_prototype_seed_"):
            self._prototype_seed_ = super()._draw_seed()
        return self._prototype_seed_

    def _choose_kernel(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        """Fit a forest for each kernel of the grid, and become the one of least out-of-bag error."""
        if not self.bootstrap:
            raise ParameterError(
                'kernel="auto" compares out-of-bag errors, but bootstrap=False has none. Name a kernel.'
            )
        samples = unfitted_copy(self)._read_sight(X, reset=True).samples  # noqa: SLF001  (of the same class)
        seed = params.draw_seed(self.random_state)

        def fit(words: dict[str, Any]) -> tuple[Self, float]:
            twin = unfitted_copy(self)
            twin.__dict__.update(words, oob_score=self.oob_score or True, random_state=seed)
            twin._learn(twin, X, y, sample_weight, **by_row)  # noqa: SLF001  (of the same class)
            return twin, twin.oob_error_

        best: Self
        best, choice = choose_kernel(fit, self._warping_steps(samples), len(samples))
        learned = {name: value for name, value in vars(best).items() if name in LEARNED}
        self.__dict__.update(learned, choice_=choice)
        if not self.oob_score and self.n_estimators != "auto":
            self._forget_out_of_bag()

    def _warping_steps(self, samples: AnySamples) -> float:
        """Count the places that warping paths may pass, over all pairs."""
        if isinstance(samples, Things):
            raise DataTypeError('kernel="auto" tries kernels of numbers. Give a kernel or a distance of your own.')
        length = samples.matrix.shape[1] if isinstance(samples, Vectors) else max(map(len, samples.each))
        n_pairs = len(samples) * count_prototypes(self.n_prototypes, len(samples))
        return n_pairs * length * min(length, 2 * (1.0 if self.band is None else self.band) * length + 1)

    def _read_table(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> Reading:
        """Read the samples; what they are compared with is settled when they are coded."""
        sight = self._read_sight(X, reset=True)
        numbers = np.arange(len(sight.samples), dtype=np.float64)[:, np.newaxis]
        reading = read_table(
            RandomForestClassifier(), numbers, y, sample_weight, classify=self._task == Task.CLASSIFICATION
        )
        require_one_target(reading, "a kernel forest")
        rows = reading.table.X[:, 0].astype(np.intp)
        if self.kernel == "precomputed":
            assert isinstance(sight.samples, Vectors)  # noqa: S101  (for the type checker: it was read as a table)
            sight = Sight(Vectors(read_precomputed(sight.samples.matrix)), sight.raw)
        sight = sight.take(rows)
        if sight.raw is not None and reading.kept is not None:
            self.schema_ = self.schema_.narrow(sight.raw)
        table: Any = KernelTable(sight, mix=self._mixes_)
        return read_design(replace(reading, table=replace(reading.table, X=table)), **by_row)

    def _read_sight(self, X: Any, *, reset: bool) -> Sight:
        if reset:
            self.__dict__.pop("sample_kind_", None)  # of another fit
        sight = read_samples(self, X, reset=reset, own_kernel=self._compares_anything(), mix=self._mixes_)
        if self._mixes_ and sight.raw is None:
            raise DataError("mix=True keeps columns of X, but curves of different lengths have none. Set mix=False.")
        if reset and not isinstance(sight.samples, Vectors):
            self.schema_ = Schema(None, ())
        return sight

    def _code(self, reading: Reading, n_trees: int = 0) -> tuple[Engine, Any]:
        """Compare the samples with prototypes, and turn the values into codes a few columns at a time."""
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)
        table: Any = reading.table.X
        if getattr(table, "is_compared", True):  # new rows, of which only what the trees use was read
            raw_kept = enumerate(self._raw_columns(), len(self._kept_)) if self._mixes_ else ()
            categorical = frozenset(i for i, f in raw_kept if f in self.schema_.categorical)
            return super()._code(replace(reading, table=replace(reading.table, X=table[:], categorical=categorical)))
        samples = table.sight.samples
        self._draw_seed()  # if it was not drawn yet
        kernel = getattr(self, "kernel_", None) or self._resolve_kernel(samples, engine, n_threads)
        check_function(kernel, kernel.prepare(samples.take(np.arange(min(len(samples), 40)))))
        rows, prototypes = self._choose(kernel, reading)
        table.compare(kernel, engine, prototypes, n_threads)
        raw = self.schema_.categorical if self._mixes_ else frozenset()
        coded = replace(reading.table, categorical=frozenset(table.n_kernel + f for f in raw))
        max_bins = params.count_bins(params.gather(self)["max_bins"])
        codes = engine.code_blocks(coded, table.blocks(), max_bins, n_threads, None)
        table.remember(codes)
        if hasattr(self, "forest_"):  # the training data is given again: its trees know only the columns they use
            if table.shape[1] != self._n_columns_:
                raise DataError(
                    f"X leads to {table.shape[1]} columns of kernel values, but the forest was grown from "
                    f"{self._n_columns_}. Give the training data."
                )
            table.keep(self._columns_)
        else:
            self.kernel_, self._rows_ = kernel, rows
            self._n_columns_, self._n_prototypes_ = table.shape[1], table.n_kernel
        return engine, codes

    def _resolve_kernel(self, samples: AnySamples, engine: Engine, n_threads: int) -> Kernel:
        if self.kernel == "auto":
            raise ParameterError(
                'kernel="auto" is chosen by fit. Name a kernel here, for example that of choice_.words.'
            )
        return resolve_kernel(vars(self), samples, engine, n_threads)

    def _choose(self, kernel: Kernel, reading: Reading) -> tuple[IntArray, Prototypes]:
        """Choose prototypes: rows of the user's X (-1 where they were given), and what samples are compared with."""
        table: Any = reading.table.X
        samples = table.sight.samples
        kept = np.arange(len(samples)) if reading.kept is None else np.flatnonzero(reading.kept)
        if isinstance(self.prototypes, Prototypes):  # of another forest, with their pairs
            rows = np.full(self.prototypes.n_compared, -1)
            return rows if self.prototypes.columns is None else self.prototypes.columns, self.prototypes
        if self.prototypes is not None and kernel.is_precomputed:
            columns: IntArray = np.asarray(self.prototypes, dtype=np.int64)
            return columns, self._set_against(Prototypes(None, columns), np.zeros(len(columns)), kernel, None)
        if self.prototypes is not None:
            given = read_prototypes(unfitted_copy(self), self.prototypes, samples, mix=self._mixes_)
            return np.full(len(given), -1), self._set_against(Prototypes(given), np.zeros(len(given)), kernel, None)
        matrix = None
        if kernel.is_precomputed:
            matrix, samples = samples.matrix, Things(tuple(range(len(kept))))
        chosen = choose_prototypes(samples, self.n_prototypes, self._prototype_seed_)
        found = Prototypes(None, kept[chosen]) if kernel.is_precomputed else Prototypes(samples.take(chosen))
        matrix = None if matrix is None else matrix[np.ix_(chosen, kept[chosen])]
        return kept[chosen], self._set_against(found, targets_of(samples, reading.table.target)[chosen], kernel, matrix)

    def _set_against(
        self, prototypes: Prototypes, targets: npt.NDArray[Any], kernel: Kernel, matrix: FloatArray | None
    ) -> Prototypes:
        """With `contrast`, set three of four prototypes against the nearest one of another target.

        `matrix` is a precomputed kernel of the prototypes with one another.
        """
        if not self.contrast:
            return prototypes
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)

        def apart(candidates: IntArray) -> FloatArray:
            if prototypes.samples is None:
                assert matrix is not None  # noqa: S101  (for the type checker: there are targets, so there is one)
                return kernel.apart(matrix[candidates], candidates)
            each = kernel.prepare(prototypes.samples)
            some = kernel.prepare(prototypes.samples.take(candidates))
            how = kernel.sums if kernel.rule.shape == "gaussian" else kernel.columns
            return kernel.apart(how(engine, each, some, n_threads), candidates)

        gap = 0 if self._task == Task.CLASSIFICATION else len(targets) // 4
        return prototypes.set_against(targets, self._prototype_seed_, apart, gap)

    def _n_table_features(self) -> int:
        return self._n_columns_

    def _table_schema(self) -> dict[str, Any]:
        raw = tuple(numbered(self.schema_.categories[f]) for f in self._raw_columns()) if self._mixes_ else ()
        schema = Schema(None, (None,) * len(self._kept_) + raw)
        return {"n_features_in_": len(self._columns_), "feature_names_in_": None, "schema_": schema}

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow from all columns; then keep those that the trees use."""
        table: Any = reading.table.X
        if self.warm_start and hasattr(before, "forest_"):
            require_same_samples(before.forest_, coded)
            before = copy.copy(before)
            before.forest_ = widen(before.forest_, before._columns_, before._n_columns_)
        super()._grow(engine, coded, reading, before)
        self.__dict__.pop("_runs_", None)
        self._columns_ = used_columns(self.forest_)
        self.forest_ = narrow(self.forest_, self._columns_)
        of_kernel = self._columns_[self._columns_ < self._n_prototypes_]
        self.prototype_rows_ = self._rows_[table.prototypes.compared_by(of_kernel)]
        del self._rows_
        self._kept_ = table.prototypes.take(of_kernel)

    def _settle_before_growth(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """With `mix="auto"`, let the out-of-bag error choose what trees look at."""
        if self.mix != "auto" or not self._mixes_ or hasattr(self, "mix_"):
            return
        if not self.bootstrap or getattr(self, "resampling", ways.BAGGING) != ways.BAGGING:
            self.mix_ = MixChoice(MIXED, {}, "Nothing is out of bag, so nothing was tried.")
            return
        if has_copies(reading):
            reason = "Rows stand there twice or weigh other than 1, and copies in a bag betray those outside: in turn."
            self.mix_ = MixChoice(IN_TURN, {}, reason)
            return

        def grow(kind: str, first: int, n_trees: int) -> Forest:
            grown[kind, first, n_trees] = self._grow_run(engine, coded, kind, first, n_trees, None)
            return grown[kind, first, n_trees]

        def open_bags(forests: list[Forest]) -> Look:
            columns = np.unique(np.concatenate([used_columns(forest) for forest in forests]))
            values = reading.table.X.decoded(columns)  # type: ignore[union-attr]
            bagged = super(KernelTraining, self)._bagged(engine, coded, reading, forests[0])
            return lambda forest, start: bagged.sum_votes(values, narrow(forest, columns), start)

        grown: dict[tuple[str, int, int], Forest] = {}
        self.mix_ = choose_mix(grow, open_bags)
        self._runs_ = grown

    def _grow_quietly(self, engine: Engine, coded: Any, first: int, n_trees: int, watch: Watch | None = None) -> Forest:
        if not self._mixes_:
            return super()._grow_quietly(engine, coded, first, n_trees, watch)
        way, parts, n_done = (self.mix_.way if self.mix == "auto" else MIXED), [], 0
        for kind, begin, n_more in list_runs(way, first, n_trees):
            part = None if watch is None else part_of(watch, n_done / n_trees, n_more / n_trees)
            parts.append(self._grow_run(engine, coded, kind, begin, n_more, part))
            n_done += n_more
        return parts[0].join(*parts[1:])

    def _grow_run(self, engine: Engine, coded: Any, kind: str, first: int, n_trees: int, watch: Watch | None) -> Forest:
        """Grow trees of one kind, or take those that were grown while it was chosen."""
        if (kind, first, n_trees) in getattr(self, "_runs_", {}):
            return self._runs_[kind, first, n_trees]
        growth, n_raw = self.growth_, self._n_columns_ - self._n_prototypes_
        self.growth_ = replace(growth, feature_weights=share_draws(kind, self._n_prototypes_, n_raw))
        if kind == COLUMNS:
            given = min(self.max_features, n_raw) if arguments.is_whole(self.max_features) else self.max_features
            self.growth_ = replace(self.growth_, max_features=params.count_features(given, n_raw))
        try:
            return super()._grow_quietly(engine, coded, first, n_trees, watch)
        finally:
            self.growth_ = growth

    def _bagged(self, engine: Engine, coded: Any, reading: Reading, forest: Forest) -> out_of_bag.Bagged:
        return NarrowBagged(**vars(super()._bagged(engine, coded, reading, forest)))


def numbered(categories: Categories | None) -> Categories | None:
    """Let the labels of categories be their numbers, which is what stands in a table of kernel values."""
    return None if categories is None else replace(categories, labels=np.arange(len(categories.labels)))


def has_copies(reading: Reading) -> bool:
    """Say whether a sample stands there more than once, or weighs as if it did: the two are one."""
    table: Any = reading.table.X
    samples, weight = table.sight.samples, reading.table.weight
    return len(distinct_rows(samples)) < len(samples) or (weight is not None and bool((weight != 1).any()))


class NarrowBagged(out_of_bag.Bagged):
    """A kernel forest with its table, of which only the columns that trees use are read, from their codes."""

    def sum_votes(self, X: Any, forest: Forest, start: OutOfBagVotes | None = None, room: int = 0) -> OutOfBagVotes:
        """Add up what some trees say of the rows outside their bags; `start` has what earlier trees said."""
        columns = used_columns(forest)
        return super().sum_votes(X.decoded(columns), narrow(forest, columns), start, room)


def used_columns(forest: Forest) -> IntArray:
    """List the columns that trees use; the first, where they use none: a table has a column."""
    used = np.unique(forest.feature[forest.feature >= 0]).astype(np.int64)
    return used if len(used) else np.zeros(1, dtype=np.int64)


def part_of(watch: Watch, done: float, share: float) -> Watch:
    """Make a watch for a part of the work."""
    return lambda of_part: watch(done + share * of_part)


def require_same_samples(forest: Forest, coded: Any) -> None:
    """Refuse to grow on from other samples: their prototypes would take the place of those of the trees."""
    if any((o.data, o.values) != (coded.fingerprint, coded.values) for o in forest.origins):
        raise DataError("warm_start=True grows on from the same samples, but X or y have changed. Fit anew.")


def narrow(forest: Forest, columns: IntArray) -> Forest:
    """Number features by their places among the columns that are used."""
    place = np.full(forest.n_features + 1, -1, dtype=np.int32)  # the last is that of leaves, -1
    place[columns] = np.arange(len(columns), dtype=np.int32)
    return replace(forest, feature=place[forest.feature], n_features=len(columns))


def widen(forest: Forest, columns: IntArray, n_columns: int) -> Forest:
    """Number features by their places among all columns again."""
    number = np.append(columns, -1).astype(np.int32)
    return replace(forest, feature=number[forest.feature], n_features=n_columns)
