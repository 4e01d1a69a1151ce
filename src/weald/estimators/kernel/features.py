"""The features of a kernel forest: a table of kernel values. The forest keeps the columns that its trees use.

KernelFeatures    reading, coding and predicting for kernel forests
choose_kernel_of  fits a forest for each kernel of the grid, and keeps the best
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import BaseEstimator

from weald.data import arguments
from weald.data.dask_collections import is_dask_collection
from weald.data.schema import Categories, Schema
from weald.data.table import Reading, TrainingArguments, read_table, require_one_target
from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray, TableLike
from weald.engines import params, progress
from weald.engines.bagging import read_design
from weald.engines.choose import open_engine
from weald.engines.interface import AddVotes, Codes, Engine, OutOfBagVotes, Watch, grow_in_steps
from weald.engines.threads import count_threads
from weald.errors import DataError, DataTypeError, ExportError, ParameterError
from weald.estimators import out_of_bag
from weald.estimators import resampling as ways
from weald.estimators.features import Features
from weald.estimators.fit import LEARNED, check, fit, unfitted_copy
from weald.estimators.growing import Grower
from weald.estimators.kernel.kernel_selection import choose_kernel
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
from weald.estimators.kernel.learned import LearnedColumns
from weald.estimators.kernel.params import WORDS, KernelParams
from weald.estimators.kernel.samples import AnySamples, SampleReading, Things, Vectors, read_prototypes, read_samples
from weald.estimators.kernel.table import KernelTable, Prototypes
from weald.estimators.kernel.tree_mix import COLUMNS, IN_TURN, MIXED, MixChoice, choose_mix, list_runs, share_draws
from weald.estimators.merging import drop_out_of_bag
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel
    from weald.estimators.forest_base import RandomForest


class KernelFeatures(Features):
    """Kernels of samples with prototypes and, with `mix`, the columns of X."""

    needs_seed = True  # seed for drawing prototypes

    is_table = False

    model: "RandomForest"

    def __init__(self, model: "RandomForest") -> None:
        self.model = model
        self.learned = LearnedColumns(model)

    @property
    def given(self) -> KernelParams:
        """The parameters of the forest."""
        return cast("KernelParams", vars(self.model))

    # --------------------------------------------------------------------------------------------- what is refused

    def require_table(self, method: str) -> None:
        """Raise an error for a method that needs trees on columns of X, with an alternative."""
        raise ExportError(
            f"{method} does not support kernels. Use model.prototypes_.plain_forest().{method}(...), with the rows of "
            "model.prototypes_.kernel_matrix(X)."
        )

    def require_checkpoints(self) -> None:
        """Refuse checkpoints."""
        raise ParameterError(
            f"{type(self.model).__name__} does not support checkpoint: its trees keep only the columns that the whole "
            "forest uses. Leave checkpoint out."
        )

    # ----------------------------------------------------------------------------------------------------- check

    def fit_candidates(self, data: TrainingArguments) -> bool:
        """With `kernel="auto"`, fit a forest for each kernel of the grid and keep the best."""
        model = self.model
        kernel = self.given["kernel"]
        if not (isinstance(kernel, str) and kernel == "auto") or (model.warm_start and hasattr(model, "forest_")):
            return False
        choose_kernel_of(model, data)
        return True

    def check(self) -> None:
        """Check the parameters of the kernel."""
        given: Mapping[str, object] = self.given
        for name, kinds in WORDS.items():
            arguments.check_argument(name, given[name], kinds)
        if self.given["mix"] is True and (self.given["kernel"] == "precomputed" or self.compares_anything):
            raise ParameterError(
                "mix=True uses the numeric columns of X beside the kernel, but X has none. Set mix=False."
            )

    @property
    def compares_anything(self) -> bool:
        """Whether the kernel or distance is a function given by the user."""
        given = self.given
        return callable(given["kernel"]) or (given["kernel"] == "gaussian" and callable(given["distance"]))

    @property
    def mixes(self) -> bool:
        """Whether columns of X are used in addition to the kernel: by default if X has columns."""
        model, given = self.model, self.given
        if given["mix"] != "auto":
            return bool(given["mix"])
        is_table = getattr(model, "sample_kind_", "vectors") == "vectors"
        return is_table and given["kernel"] != "precomputed" and not self.compares_anything

    # ------------------------------------------------------------------------------------------------------ read

    def read(self, engine: Engine, data: TrainingArguments, before: "TreeModel | None") -> Reading:
        """Read the samples, and choose the kernel and the prototypes."""
        model = self.model
        if is_dask_collection(data.X):
            raise DataError(
                f"X is a Dask collection, but {type(model).__name__} compares samples in this process. Give a table "
                "in memory: X.compute()."
            )
        if engine.local is not engine:  # kernel values need prototypes from other partitions
            raise ParameterError(
                f"engine={model.engine!r} works on the columns of a table, and {type(model).__name__} on kernel "
                "values. Give "
                'engine="auto".'
            )
        sample_reading = self.read_samples(data.X, reset=True)
        numbers = np.arange(len(sample_reading.samples), dtype=np.float64)[:, np.newaxis]
        reading = read_table(
            BaseEstimator(), numbers, data.y, data.sample_weight, classify=model.task is Task.CLASSIFICATION
        )
        require_one_target(reading, "a kernel forest")
        rows = reading.table.X[:, 0].astype(np.intp)
        if self.given["kernel"] == "precomputed":
            assert isinstance(sample_reading.samples, Vectors)  # noqa: S101  (for the type checker: it was read as a table)
            sample_reading = SampleReading(Vectors(read_precomputed(sample_reading.samples.matrix)), sample_reading.raw)
        sample_reading = sample_reading.take(rows)
        if sample_reading.raw is not None and reading.kept is not None:
            model.schema_ = model.schema_.narrow(sample_reading.raw)
        table = KernelTable(sample_reading, mix=self.mixes)
        values: Any = table
        reading = read_design(replace(reading, table=replace(reading.table, X=values)), data.groups, data.stratify)
        self._compare(engine, reading, table, before)
        return reading

    def read_samples(self, X: TableLike, *, reset: bool) -> SampleReading:
        """Read samples; with `reset`, store their kind."""
        model = self.model
        if reset:
            model.__dict__.pop("sample_kind_", None)  # from an earlier fit
        sample_reading = read_samples(model, X, reset=reset, own_kernel=self.compares_anything, mix=self.mixes)
        if self.mixes and sample_reading.raw is None:
            raise DataError(
                "mix=True keeps columns of X, but curves of different lengths are not columns. Set mix=False."
            )
        if reset and not isinstance(sample_reading.samples, Vectors):
            model.schema_ = Schema(None, ())
        return sample_reading

    def _compare(self, engine: Engine, reading: Reading, table: KernelTable, before: "TreeModel | None") -> None:
        """Choose the kernel and the prototypes, or use those of the last fit."""
        model, n_threads = self.model, count_threads(self.model.n_jobs)
        samples = table.sample_reading.samples
        known = {} if before is None else vars(before)
        model.__dict__.update({name: known[name] for name in ("kernel_", "choice_", "mix_") if name in known})
        self.learned.seed = model.seed_ if before is None else LearnedColumns(before).seed
        kernel = getattr(model, "kernel_", None) or self._resolve_kernel(samples, engine, n_threads)
        check_function(kernel, kernel.prepare(samples.take(np.arange(min(len(samples), 40)))))
        rows, prototypes = self._choose(engine, kernel, reading, samples)
        table.compare(kernel, engine, prototypes, n_threads)
        self.learned.kernel, self.learned.rows = kernel, rows
        self.learned.n_columns, self.learned.n_prototypes = table.shape[1], table.n_kernel

    def _resolve_kernel(self, samples: AnySamples, engine: Engine, n_threads: int) -> Kernel:
        if self.given["kernel"] == "auto":
            raise ParameterError(
                'kernel="auto" chooses the kernel in fit. Give a kernel here, for example the one in choice_.words.'
            )
        return resolve_kernel(vars(self.model), samples, engine, n_threads)

    def _choose(
        self, engine: Engine, kernel: Kernel, reading: Reading, samples: AnySamples
    ) -> tuple[IntArray, Prototypes]:
        """Choose prototypes; return their rows in X (-1 if they were given) and the prototypes."""
        given, contrast = self.given["prototypes"], partial(self.contrast, engine, kernel)
        kept = np.arange(len(samples)) if reading.kept is None else np.flatnonzero(reading.kept)
        if isinstance(given, Prototypes):  # prototypes from another forest, with their pairs
            return np.full(given.n_compared, -1) if given.columns is None else given.columns, given
        if given is not None and kernel.is_precomputed:
            columns: IntArray = np.asarray(given, dtype=np.int64)
            return columns, contrast(Prototypes(None, columns), np.zeros(len(columns)), None)
        if given is not None:
            read = read_prototypes(unfitted_copy(self.model), given, samples, mix=self.mixes)
            return np.full(len(read), -1), contrast(Prototypes(read), np.zeros(len(read)), None)
        matrix = None
        if kernel.is_precomputed:
            assert isinstance(samples, Vectors)  # noqa: S101  (for the type checker: it was read as a table)
            matrix, samples = samples.matrix, Things(tuple(range(len(kept))))
        chosen = choose_prototypes(samples, self.given["n_prototypes"], self.learned.seed)
        found = Prototypes(None, kept[chosen]) if kernel.is_precomputed else Prototypes(samples.take(chosen))
        matrix = None if matrix is None else matrix[np.ix_(chosen, kept[chosen])]
        return kept[chosen], contrast(found, targets_of(samples, reading.table.target)[chosen], matrix)

    def contrast(
        self, engine: Engine, kernel: Kernel, prototypes: Prototypes, targets: Array, matrix: FloatArray | None
    ) -> Prototypes:
        """With `contrast`, pair three of four prototypes with the nearest one of another target.

        `matrix` is a precomputed kernel between the prototypes.
        """
        model = self.model
        if not self.given["contrast"]:
            return prototypes
        n_threads = count_threads(model.n_jobs)

        def apart(candidates: IntArray) -> FloatArray:
            if prototypes.samples is None:
                assert matrix is not None  # noqa: S101  (for the type checker: there are targets, so there is one)
                return kernel.apart(matrix[candidates], candidates)
            each = kernel.prepare(prototypes.samples)
            some = kernel.prepare(prototypes.samples.take(candidates))
            how = kernel.sums if kernel.rule.shape == "gaussian" else kernel.columns
            return kernel.apart(how(engine, each, some, n_threads), candidates)

        gap = 0 if model.task is Task.CLASSIFICATION else len(targets) // 4
        return prototypes.set_against(targets, self.learned.seed, apart, gap)

    # ------------------------------------------------------------------------------------------------------ code

    def code(self, engine: Engine, reading: Reading, n_trees: int = 0) -> Codes:
        """Convert kernel values to codes, a few columns at a time."""
        model, table = self.model, reading.table
        values: Any = table.X
        if not isinstance(values, KernelTable):
            return self._code_new_rows(engine, reading)
        raw = model.schema_.categorical if self.mixes else frozenset()
        coded = replace(table, categorical=frozenset(values.n_kernel + f for f in raw))
        max_bins = params.count_bins(params.gather(model)["max_bins"])
        codes = engine.code_blocks(coded, values.blocks(), max_bins, count_threads(model.n_jobs), None)
        values.remember(codes)
        if hasattr(model, "forest_"):  # training data read again: only the columns used by trees exist
            if values.shape[1] != self.learned.n_columns:
                raise DataError(
                    f"X gives {values.shape[1]} columns of kernel values, but the forest was grown from "
                    f"{self.learned.n_columns}. Give the training data."
                )
            values.keep(self.learned.used)
        return codes

    def _code_new_rows(self, engine: Engine, reading: Reading) -> Codes:
        """Code rows for which only the columns used by the trees were computed."""
        table = reading.table
        used = enumerate(self.raw_columns(), len(self.learned.prototypes)) if self.mixes else ()
        categorical = frozenset(i for i, f in used if f in self.model.schema_.categorical)
        return super().code(engine, replace(reading, table=replace(table, X=table.X[:], categorical=categorical)))

    # ------------------------------------------------------------------------------------------------------ grow

    def old_forests(self, before: "TreeModel", codes: Codes) -> tuple[Forest, ...]:
        """Return the trees of the last fit, with features numbered among the columns of the whole table."""
        require_same_samples(before.forest_, codes)
        grown_from = LearnedColumns(before)
        return (widen(before.forest_, grown_from.used, grown_from.n_columns),)

    def grower(self, grower: Grower) -> Grower:
        """Grow from kernel values; with `mix="auto"`, the out-of-bag error chooses the columns."""
        given = self.given
        n_raw = self.learned.n_columns - self.learned.n_prototypes
        made = KernelGrower(**vars(grower), n_kernel=self.learned.n_prototypes, n_raw=n_raw if self.mixes else 0)
        made = replace(made, max_features=given["max_features"])
        if given["mix"] == "auto" and self.mixes and not hasattr(self.model, "mix_"):
            self.learned.mix, runs = self._choose_mix(made)
            made = replace(made, runs=runs)
        return replace(made, way=self.learned.mix.way if given["mix"] == "auto" and self.mixes else MIXED)

    def _choose_mix(self, grower: "KernelGrower") -> tuple[MixChoice, "Runs"]:
        """Grow a few trees of each kind, and choose by their out-of-bag error."""
        model, grown = self.model, {}
        if not model.bootstrap or getattr(model, "resampling", ways.BAGGING) != ways.BAGGING:
            return MixChoice(MIXED, {}, "There are no out-of-bag rows to compare on."), {}
        if has_copies(grower.reading):
            reason = "The table has repeated rows or weights, which bias the out-of-bag error: both kinds alternate."
            return MixChoice(IN_TURN, {}, reason), {}

        def grow(kind: str, first: int, n_trees: int) -> Forest:
            grown[kind, first, n_trees] = grower.grow_run(kind, first, n_trees)
            return grown[kind, first, n_trees]

        def open_bags(forests: list[Forest]) -> AddVotes:
            columns = np.unique(np.concatenate([used_columns(forest) for forest in forests]))
            table: Any = grower.reading.table.X
            values = table.decoded(columns)
            bagged = grower.plain_bagged(forests[0])
            return lambda forest, start: bagged.sum_votes(values, narrow(forest, columns), start)

        return choose_mix(grow, open_bags), grown

    def keep(self, forest: Forest, reading: Reading) -> Forest:
        """Keep the columns that the trees use."""
        table: Any = reading.table.X
        self.learned.used = used_columns(forest)
        of_kernel = self.learned.used[self.learned.used < self.learned.n_prototypes]
        self.learned.prototype_rows = self.learned.rows[table.prototypes.compared_by(of_kernel)]
        del self.learned.rows
        self.learned.prototypes = table.prototypes.take(of_kernel)
        return narrow(forest, self.learned.used)

    # --------------------------------------------------------------------------------------------------- predict

    def rows(self, X: TableLike) -> KernelTable:
        """Read samples, and compare them with the prototypes used by the trees."""
        model, learned = self.model, self.learned
        table = KernelTable(self.read_samples(X, reset=False), mix=self.mixes)
        table.compare(learned.kernel, open_engine(model.engine), learned.prototypes, count_threads(model.n_jobs))
        return table.keep_raw(self.raw_columns()) if self.mixes else table

    def raw_columns(self) -> IntArray:
        """Columns of X that the trees use in addition to the kernel."""
        return self.learned.used[self.learned.used >= self.learned.n_prototypes] - self.learned.n_prototypes

    @property
    def n_columns(self) -> int:
        """Number of columns that trees are grown from."""
        return self.learned.n_columns

    @property
    def column_names(self) -> list[str]:
        """Names of the columns that trees use: the row of one or two prototypes, or the name of a column of X."""
        rows, pairs = self.learned.prototype_rows, self.learned.prototypes.pairs
        compared = [f"row {row}" if row >= 0 else f"prototype {i}" for i, row in enumerate(rows)]
        if pairs is not None:
            compared = [compared[i] + (f" - {compared[j]}" if j >= 0 else "") for i, j in pairs.tolist()]
        names = getattr(self.model, "feature_names_in_", None)
        raw = self.raw_columns().tolist() if self.mixes else []
        return compared + [f"x{f}" if names is None else str(names[f]) for f in raw]

    @property
    def tree_schema(self) -> Schema:
        """Names and categories of the columns that trees use."""
        model = self.model
        raw = tuple(numbered(model.schema_.categories[f]) for f in self.raw_columns()) if self.mixes else ()
        return Schema(None, (None,) * len(self.learned.prototypes) + raw)


# ---------------------------------------------------------------------------------------------------------------- grow

Runs = dict[tuple[str, int, int], Forest]  # (kind of trees, number of the first tree, number of trees)


@dataclass(frozen=True)
class KernelGrower(Grower):
    """Grows trees from kernel values and, with `mix`, from columns of X."""

    n_kernel: int = 0
    n_raw: int = 0  # number of columns of X; 0: kernel values only
    max_features: object = None  # the user's value
    way: str = MIXED
    runs: Runs = field(default_factory=dict)  # trees grown to choose the kind

    def grow_quietly(self, first: int, n_trees: int, watch: Watch | None = None, codes: Codes | None = None) -> Forest:
        """Grow trees, in runs of one kind if there are several kinds."""
        if not self.n_raw:
            return super().grow_quietly(first, n_trees, watch, codes)
        parts, n_done = [], 0
        for kind, begin, n_more in list_runs(self.way, first, n_trees):
            part = None if watch is None else part_of(watch, n_done / n_trees, n_more / n_trees)
            parts.append(self.grow_run(kind, begin, n_more, part, codes))
            n_done += n_more
        return parts[0].join(*parts[1:])

    def grow_and_vote(self, n_trees: int, *, wants_votes: bool) -> tuple[Forest, OutOfBagVotes | None]:
        """Grow the first trees, in runs of one kind if there are several kinds."""
        if not self.n_raw:
            return super().grow_and_vote(n_trees, wants_votes=wants_votes)
        add_votes = self.vote if self.growth.bootstrap else None
        listener = progress.listener()
        if listener is None:
            return self.grow(0, n_trees), None
        return grow_in_steps(self.grow, listener, add_votes, n_trees, self.n_threads), None

    def grow_run(
        self, kind: str, first: int, n_trees: int, watch: Watch | None = None, codes: Codes | None = None
    ) -> Forest:
        """Grow trees of one kind, or reuse those that were grown to choose the kind."""
        if (kind, first, n_trees) in self.runs:
            return self.runs[kind, first, n_trees]
        growth = replace(self.growth, feature_weights=share_draws(kind, self.n_kernel, self.n_raw))
        if kind == COLUMNS:
            given = self.max_features
            given = min(int(given), self.n_raw) if arguments.is_whole(given) else given
            growth = replace(growth, max_features=params.count_features(given, self.n_raw))
        return Grower.grow_quietly(replace(self, growth=growth), first, n_trees, watch, codes)

    def plain_bagged(self, forest: Forest) -> out_of_bag.Bagged:
        """Return a forest together with its table."""
        return super().bagged(forest)

    def bagged(self, forest: Forest) -> out_of_bag.Bagged:
        """Return a forest together with its table; only the columns used by trees are read."""
        return NarrowBagged(**vars(super().bagged(forest)))


def numbered(categories: Categories | None) -> Categories | None:
    """Replace the labels of categories by their codes, which the table of kernel values contains."""
    return None if categories is None else replace(categories, labels=np.arange(len(categories.labels)))


def has_copies(reading: Reading) -> bool:
    """Return whether a sample occurs more than once or has a weight other than 1."""
    table: Any = reading.table.X
    samples, weight = table.sample_reading.samples, reading.table.weight
    return len(distinct_rows(samples)) < len(samples) or (weight is not None and bool((weight != 1).any()))


class NarrowBagged(out_of_bag.Bagged):
    """A kernel forest with its table, of which only the columns used by trees are read, from their codes."""

    def add_votes(self, X: Any, forest: Forest, start: OutOfBagVotes | None = None, room: int = 0) -> OutOfBagVotes:
        """Add the out-of-bag votes of some trees to those of earlier ones."""
        columns = used_columns(forest)
        return super().add_votes(X.decoded(columns), narrow(forest, columns), start, room)


def used_columns(forest: Forest) -> IntArray:
    """List the columns used by trees; the first column if there are none, since a table needs one."""
    used = np.unique(forest.feature[forest.feature >= 0]).astype(np.int64)
    return used if len(used) else np.zeros(1, dtype=np.int64)


def part_of(watch: Watch, done: float, share: float) -> Watch:
    """Create a progress display for a part of the work."""
    return lambda of_part: watch(done + share * of_part)


def require_same_samples(forest: Forest, codes: Codes) -> None:
    """Raise an error for a warm start with other samples, since the existing trees need their prototypes."""
    if any((o.data, o.values) != (codes.fingerprint, codes.values) for o in forest.origins):
        raise DataError(
            "warm_start=True needs the X and y of the first fit, but they have changed. Set warm_start=False."
        )


def narrow(forest: Forest, columns: IntArray) -> Forest:
    """Number features by position among the columns used."""
    place = np.full(forest.n_features + 1, -1, dtype=np.int32)  # the last entry is for leaves, -1
    place[columns] = np.arange(len(columns), dtype=np.int32)
    return replace(forest, feature=place[forest.feature], n_features=len(columns))


def widen(forest: Forest, columns: IntArray, n_columns: int) -> Forest:
    """Number features by position among all columns."""
    number = np.append(columns, -1).astype(np.int32)
    return replace(forest, feature=number[forest.feature], n_features=n_columns)


# -------------------------------------------------------------------------------------------------------- kernel="auto"


def choose_kernel_of(model: "RandomForest", data: TrainingArguments) -> None:
    """Fit a forest for each kernel of the grid, and keep the one with the lowest out-of-bag error."""
    check(model)
    if not model.bootstrap:
        raise ParameterError('kernel="auto" compares out-of-bag errors, but bootstrap=False has none. Name a kernel.')
    features = KernelFeatures(unfitted_copy(model))
    samples = features.read_samples(data.X, reset=True).samples
    seed = params.draw_seed(model.random_state)

    def fit_copy(words: dict[str, object]) -> tuple["RandomForest", float]:
        twin = unfitted_copy(model)
        twin.__dict__.update(words, oob_score=model.oob_score or True, random_state=seed)
        fit(twin, data)
        return twin, twin.oob_error_

    best, choice = choose_kernel(fit_copy, _warping_steps(features.given, samples), len(samples))
    learned = {name: value for name, value in vars(best).items() if name in LEARNED}
    model.__dict__ = {**vars(unfitted_copy(model)), **learned, "choice_": choice}
    if not model.oob_score and model.n_estimators != "auto":
        drop_out_of_bag(model)


def _warping_steps(given: KernelParams, samples: AnySamples) -> float:
    """Count the cells of the warping matrices of all pairs."""
    if isinstance(samples, Things):
        raise DataTypeError('kernel="auto" supports numbers only. Give your own kernel or distance function.')
    length = samples.matrix.shape[1] if isinstance(samples, Vectors) else max(map(len, samples.each))
    n_pairs = len(samples) * count_prototypes(given["n_prototypes"], len(samples))
    return n_pairs * length * min(length, 2 * (1.0 if given["band"] is None else given["band"]) * length + 1)
