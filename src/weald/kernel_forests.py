"""Kernel-induced forests: the features of a sample are its kernels with prototypes, which are training samples.

KernelForestClassifier, KernelForestRegressor

A cut by a column of the Gaussian kernel is a ball around a prototype, so trees draw curved borders, and samples need
only a distance: curves, text, graphs. All else is a random forest: the table of kernel values (`kernel_table.py`) is
coded and grown by the ordinary engines, and only prototypes that the trees use are kept.
"""

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from weald import chunks, criteria, params
from weald.bagging import read_design
from weald.engines.door import Engine, open_engine
from weald.errors import DataError, DataTypeError, ExportError, ParameterError
from weald.estimator import unfitted_copy
from weald.exporting import Exportable
from weald.forests import RandomForestClassifier, RandomForestRegressor
from weald.kernel_choice import GRID, Choice, KernelReport, check_matrix, choose_kernel
from weald.kernel_table import KernelTable, Prototypes
from weald.kernel_words import WORDS, with_kernels
from weald.kernels import (
    Kernel,
    check_function,
    choose_prototypes,
    count_prototypes,
    read_precomputed,
    resolve_kernel,
    targets_of,
)
from weald.many_trees import RandomForest
from weald.model import FloatArray, Forest, IntArray
from weald.samples import AnySamples, Sight, Things, Vectors, read_prototypes, read_samples
from weald.schema import Schema
from weald.table import Reading, read_table, require_one_target
from weald.threads import count_threads


class KernelForest(RandomForest):
    """What both kernel forests share: samples become a table of kernel values."""

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

    kernel_: Kernel
    choice_: Choice
    sample_kind_: str
    prototype_rows_: IntArray
    # Trees are grown from all columns and keep those that they use.
    _prototype_seed_: int
    _rows_: IntArray  # by prototype, while trees grow: the row of X
    _n_columns_: int  # that the trees were grown from
    _columns_: IntArray  # those of them that the trees use
    _n_prototypes_: int  # those of them that are a kernel's
    _kept_: Prototypes  # that the trees use

    # ------------------------------------------------------------------------------------------------------- fit

    def _check_params(self) -> None:
        super()._check_params()
        for name, kinds in WORDS.items():
            params.check_argument(name, getattr(self, name), kinds)
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
            if hasattr(before, "choice_"):
                self.choice_ = before.choice_
        elif self.kernel == "auto":
            self._choose_kernel(X, y, sample_weight, **by_row)
            return
        else:
            self._prototype_seed_ = params.draw_seed(self.random_state)
        super()._learn(before, X, y, sample_weight, **by_row)

    def _choose_kernel(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        """Fit a forest for each kernel of the grid, and become the one of least out-of-bag error."""
        self._check_params()
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
        learnt = {name: value for name, value in vars(best).items() if name.endswith("_") and not name.endswith("__")}
        self.__dict__.update(learnt, choice_=choice)
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
            RandomForestClassifier(), numbers, y, sample_weight, classify=self._task == criteria.CLASSIFICATION
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

    def _code(self, reading: Reading) -> tuple[Engine, Any]:
        """Compare the samples with prototypes, and turn the values into codes a few columns at a time."""
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)
        table: Any = reading.table.X
        samples = table.sight.samples
        if not hasattr(self, "_prototype_seed_"):
            self._prototype_seed_ = params.draw_seed(self.random_state)
        kernel = getattr(self, "kernel_", None) or self._resolve_kernel(samples, engine, n_threads)
        check_function(kernel, kernel.prepare(samples.take(np.arange(min(len(samples), 40)))))
        rows, prototypes = self._choose(kernel, reading)
        table.compare(kernel, engine, prototypes, n_threads)
        raw = self.schema_.categorical if self._mixes_ else frozenset()
        coded = replace(reading.table, categorical=frozenset(table.n_kernel + f for f in raw))
        max_bins = params.count_bins(params.gather(self)["max_bins"])
        codes = engine.code_blocks(coded, table.blocks(), max_bins, n_threads, None)
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
            return columns, self._set_against(Prototypes(None, columns), np.zeros(len(columns)))
        if self.prototypes is not None:
            given = read_prototypes(unfitted_copy(self), self.prototypes, samples, mix=self._mixes_)
            return np.full(len(given), -1), self._set_against(Prototypes(given), np.zeros(len(given)))
        if kernel.is_precomputed:
            samples = Things(tuple(range(len(kept))))
        chosen = choose_prototypes(samples, self.n_prototypes, self._prototype_seed_)
        found = Prototypes(None, kept[chosen]) if kernel.is_precomputed else Prototypes(samples.take(chosen))
        return kept[chosen], self._set_against(found, targets_of(samples, reading.table.target)[chosen])

    def _set_against(self, prototypes: Prototypes, targets: npt.NDArray[Any]) -> Prototypes:
        """With `contrast`, set every second prototype against another one, of another target where there is one."""
        return prototypes.set_against(targets, self._prototype_seed_) if self.contrast else prototypes

    def _n_table_features(self) -> int:
        return self._n_columns_

    def _table_schema(self) -> dict[str, Any]:
        raw = tuple(self.schema_.categories[f] for f in self._raw_columns()) if self._mixes_ else ()
        schema = Schema(None, (None,) * len(self._kept_) + raw)
        return {"n_features_in_": len(self._columns_), "feature_names_in_": None, "schema_": schema}

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow from all columns; then keep those that the trees use."""
        table: Any = reading.table.X
        if self.warm_start and hasattr(before, "forest_"):
            require_same_pairs(table.prototypes, before._kept_, before._columns_)
            before = copy.copy(before)
            before.forest_ = widen(before.forest_, before._columns_, before._n_columns_)
        if self._mixes_:
            self.growth_ = replace(self.growth_, feature_weights=share_draws(table.n_kernel, table.shape[1]))
        super()._grow(engine, coded, reading, before)
        used = np.unique(self.forest_.feature[self.forest_.feature >= 0]).astype(np.int64)
        self._columns_ = used if len(used) else np.zeros(1, dtype=np.int64)  # a table has a column, cuts or no cuts
        self.forest_ = narrow(self.forest_, self._columns_)
        of_kernel = self._columns_[self._columns_ < self._n_prototypes_]
        self.growth_ = replace(self.growth_, feature_weights=())  # said of columns that are gone
        self.prototype_rows_ = self._rows_[table.prototypes.compared_by(of_kernel)]
        del self._rows_
        self._kept_ = table.prototypes.take(of_kernel)

    # --------------------------------------------------------------------------------------------------- predict

    def _read(self, X: Any) -> Any:
        """Read samples, and compare them with the prototypes that the trees use."""
        check_is_fitted(self, "forest_")
        table = KernelTable(self._read_sight(X, reset=False), mix=self._mixes_)
        table.compare(self.kernel_, open_engine(self.engine), self._kept_, count_threads(self.n_jobs))
        return table.keep_raw(self._raw_columns()) if self._mixes_ else table

    def _raw_columns(self) -> IntArray:
        """Columns of X that the trees use beside the kernel."""
        return self._columns_[self._columns_ >= self._n_prototypes_] - self._n_prototypes_

    def _sum_votes_of(self, forest: Forest, rows: Any) -> FloatArray:
        parts = [super(KernelForest, self)._sum_votes_of(forest, block) for block in rows.row_blocks()]
        return np.concatenate(parts)

    def _predict_into(self, rows: Any, out: Any, dtype: Any, *width: int) -> Any:
        room, begin = chunks.room_for(out, (len(rows), *width), dtype), 0
        for block in rows.row_blocks():
            part = room[begin : begin + len(block)]
            open_engine(self.engine).predict(self.forest_, block, self._voting(), part, self._n_threads(block), None)
            begin += len(block)
        return room

    def _leaves(self, X: Any) -> IntArray:
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)
        blocks = self._read(X).row_blocks()
        return np.concatenate([engine.leaves(self.forest_, block, n_threads, None) for block in blocks])

    def kernel_matrix(self, X: Any) -> FloatArray:
        """Compare samples with the prototypes that the trees use: what the trees see of them.

        Parameters
        ----------
        X : samples, as for `predict`

        Returns
        -------
        array of shape (n_samples, n_columns)
            A column for each entry of `column_names_`: kernels, or differences of two, then columns of X where they
            stand beside the kernel (`mix`). `estimators_` predict from it.
        """
        return np.concatenate(list(self._read(X).row_blocks()))

    def plain_forest(self) -> RandomForestClassifier | RandomForestRegressor:
        """Take the trees as a plain forest that predicts from `kernel_matrix(X)`: what leaves for other programs.

        Returns
        -------
        RandomForestClassifier or RandomForestRegressor
            Fitted, with the same trees.

        Examples
        --------
        >>> import weald
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> model = weald.KernelForestClassifier(5, random_state=0).fit(X, y)
        >>> plain = model.plain_forest()
        >>> bool((plain.predict(model.kernel_matrix(X)) == model.predict(X)).all())
        True
        """
        check_is_fitted(self, "forest_")
        kind = RandomForestClassifier if isinstance(self, RandomForestClassifier) else RandomForestRegressor
        plain: RandomForestClassifier | RandomForestRegressor = kind()
        shared = self.get_params(deep=False)
        plain.set_params(**{name: shared[name] for name in plain.get_params() if name in shared})
        learnt = ("forest_", "growth_", "seed_", "n_outputs_", "classes_", "n_classes_")
        plain.__dict__.update({name: getattr(self, name) for name in learnt if hasattr(self, name)})
        plain.__dict__.update({name: value for name, value in self._table_schema().items() if value is not None})
        return plain

    # ------------------------------------------------------------------------------------------------------ look

    @property
    def prototypes_(self) -> Any:
        """The prototypes that the trees use, as samples; of a precomputed kernel, the numbers of its columns."""
        check_is_fitted(self, "forest_")
        kept = self._kept_
        return kept.columns if kept.samples is None else kept.samples.given()

    @property
    def column_names_(self) -> list[str]:
        """A name for each column that the trees use: the row of one prototype or two, or the name of a raw column."""
        check_is_fitted(self, "forest_")
        compared = [f"row {row}" if row >= 0 else f"prototype {i}" for i, row in enumerate(self.prototype_rows_)]
        if self._kept_.pairs is not None:
            pairs = self._kept_.pairs.tolist()
            compared = [compared[i] + (f" - {compared[j]}" if j >= 0 else "") for i, j in pairs]
        names = getattr(self, "feature_names_in_", None)
        raw = self._raw_columns().tolist() if self._mixes_ else []
        return compared + [f"x{f}" if names is None else str(names[f]) for f in raw]

    @property
    def prototype_importances_(self) -> FloatArray:
        """`feature_importances_` by prototype, in the order of `prototypes_`; those of a pair have half of it each."""
        of_columns = self.feature_importances_[: len(self._kept_)]
        if self._kept_.pairs is None:
            return of_columns
        first, second = self._kept_.pairs.T
        paired = second >= 0
        each = np.zeros(self._kept_.n_compared)
        np.add.at(each, first, np.where(paired, of_columns / 2, of_columns))
        np.add.at(each, second[paired], of_columns[paired] / 2)
        return each

    def prune_prototypes(self, X: Any, y: Any, n: float, sample_weight: Any = None, **by_row: Any) -> Self:
        """Grow a forest from the prototypes that matter most alone: it is smaller, and quicker to predict.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            What `fit` was given.
        n : int or float
            How many prototypes to keep, by `prototype_importances_`; a float is a share.

        Returns
        -------
        forest
            A new estimator; this one stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> import weald
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> model = weald.KernelForestRegressor(random_state=0).fit(X, np.hypot(*X.T))
        >>> pruned = model.prune_prototypes(X, np.hypot(*X.T), n=20)
        >>> len(model.prototypes_) > 100, len(pruned.prototypes_)
        (True, 20)
        """
        check_is_fitted(self, "forest_")
        params.check_argument("n", n, (params.Whole(1), params.Share()))
        best = np.argsort(-self.prototype_importances_, kind="stable")
        best = np.sort(best[: count_prototypes(n, self._kept_.n_compared)])
        rows, kept = self.prototype_rows_[best], replace(self._kept_, pairs=None).take(best)
        known = np.unique(np.asarray(y)[rows], return_inverse=True)[1] if (rows >= 0).all() else np.zeros(len(rows))
        twin = unfitted_copy(self)
        twin.prototypes = self._set_against(kept, known)
        if self.kernel == "auto":
            twin.__dict__.update(self.choice_.words)
        return twin.fit(X, y, sample_weight, **by_row)

    def check_kernel(self, X: Any) -> KernelReport:
        """Check whether the kernel is one in the strict sense (Mercer): symmetric and positive semi-definite.

        Trees do not need it; support vector machines and Gaussian processes do.

        Parameters
        ----------
        X : samples
            As for `fit`. At most 1000 of them are looked at. A forest that is fitted uses its own kernel, any other
            one the kernel that a fit to X would use.

        Returns
        -------
        weald.kernel_choice.KernelReport
            `is_kernel`, `asymmetry`, `smallest_eigenvalue`, and `reason` in words.

        Examples
        --------
        >>> import numpy as np
        >>> import weald
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> weald.KernelForestClassifier().check_kernel(X).is_kernel
        True
        """
        self._check_params()
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)
        samples = unfitted_copy(self)._read_sight(X, reset=True).samples  # noqa: SLF001  (of the same class)
        if self.kernel == "precomputed" and isinstance(samples, Vectors):
            return check_matrix(samples.matrix)
        samples = samples.take(np.arange(min(len(samples), 1000)))
        kernel = getattr(self, "kernel_", None)
        if kernel is None:
            words = {**vars(self), **(GRID[0] if self.kernel == "auto" else {})}
            kernel = resolve_kernel(words, samples, engine, n_threads)
        prepared = kernel.prepare(samples)
        return check_matrix(kernel.columns(engine, prepared, prepared, n_threads))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _refuse(name: str) -> Any:
    """Make a method that says what to do instead."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise ExportError(
            f"{name} knows nothing of kernels. Use model.plain_forest().{name}(...), whose rows are those of "
            "model.kernel_matrix(X)."
        )

    refuse.__name__, refuse.__doc__ = name, f"Refuse: use `plain_forest().{name}`, which takes `kernel_matrix(X)`."
    return refuse


for _name in [*(name for name in vars(Exportable) if name.startswith("to_")), "compile", "report"]:
    setattr(KernelForest, _name, _refuse(_name))


def share_draws(n_kernel: int, n_columns: int) -> tuple[float, ...]:
    """Weigh features so that half of the draws are raw columns, which prototypes would outnumber."""
    n_raw = n_columns - n_kernel
    return (float(n_raw),) * n_kernel + (float(n_kernel),) * n_raw if n_raw != n_kernel else ()


def require_same_pairs(prototypes: Prototypes, kept: Prototypes, columns: IntArray) -> None:
    """Refuse to grow on where prototypes are set against others than before: y is not the same."""
    again = prototypes.take(columns[columns < len(prototypes)])
    if not np.array_equal(again.pairs, kept.pairs):  # type: ignore[arg-type]
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


# ----------------------------------------------------------------------------------------------------------- estimators


@with_kernels
class KernelForestClassifier(KernelForest, RandomForestClassifier):
    """A random forest of kernel values that predicts classes.

    The features of a sample are its kernels with the training samples, so that trees draw curved borders and samples
    may be anything that has a kernel or a distance: vectors, curves of any length, text, graphs. All else is as in
    `RandomForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import KernelForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> inside = (X**2).sum(axis=1) < 1
    >>> model = KernelForestClassifier(random_state=0).fit(X[:200], inside[:200])
    >>> model.score(X[200:], inside[200:]) > 0.9
    True
    """


@with_kernels
class KernelForestRegressor(KernelForest, RandomForestRegressor):
    """A random forest of kernel values that predicts numbers.

    The features of a sample are its kernels with the training samples, so that trees draw curved borders and samples
    may be anything that has a kernel or a distance: vectors, curves of any length, text, graphs. All else is as in
    `RandomForestRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import KernelForestRegressor
    >>> phase = np.linspace(0, 3, 120)
    >>> curves = [np.sin(phase[i] + np.linspace(0, 6, 20 + i % 7)) for i in range(120)]  # of several lengths
    >>> model = KernelForestRegressor(random_state=0).fit(curves[::2], phase[::2])
    >>> model.score(curves[1::2], phase[1::2]) > 0.95
    True
    """
