"""Kernel-induced forests: the features of a sample are its kernels with prototypes, which are training samples.

KernelForestClassifier, KernelForestRegressor

A cut by a column of the Gaussian kernel is a ball around a prototype, so trees draw curved borders, and samples need
only a distance: curves, text, graphs. All else is a random forest: the table of kernel values (`kernel_table.py`) is
coded and grown by the ordinary engines, and only prototypes that the trees use are kept.
"""

import copy
import inspect
import re
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import chunks, criteria, params
from weald.bagging import read_design
from weald.engines.door import Engine, open_engine
from weald.errors import DataError, DataTypeError, ExportError, ParameterError
from weald.estimator import unfitted_copy
from weald.exporting import Exportable
from weald.forests import RandomForest, RandomForestClassifier, RandomForestRegressor
from weald.kernel_choice import GRID, Choice, KernelReport, check_matrix, choose_kernel
from weald.kernel_table import KernelTable, Prototypes
from weald.kernels import (
    DISTANCES,
    KERNELS,
    Kernel,
    check_function,
    choose_prototypes,
    count_prototypes,
    read_precomputed,
    resolve_kernel,
)
from weald.model import FloatArray, Forest, IntArray
from weald.samples import AnySamples, Sight, Things, Vectors, read_prototypes, read_samples
from weald.schema import Schema
from weald.table import Reading, read_table, require_one_target
from weald.threads import count_threads

Kind = TypeVar("Kind", bound=type)

OWN = params.Such(callable, ("a function of two samples",))
WORDS: dict[str, tuple[params.Kind, ...]] = {
    "kernel": (params.Name(KERNELS), OWN),
    "distance": (params.Name(DISTANCES), OWN),
    "gamma": (params.Name(("median", "scale")), params.Number(5e-324)),
    "degree": (params.Whole(1, 64),),
    "coef0": (params.Number(-1e300),),
    "band": (params.Number(0, 1), params.NOTHING),
    "n_prototypes": (params.Whole(1), params.Share(), params.Name(("auto", "all"))),
    "mix": (params.FLAG,),
}


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
    mix: bool
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
    _n_prototypes_: int  # that the trees were grown from
    _kept_: Prototypes  # that the trees use

    # ------------------------------------------------------------------------------------------------------- fit

    def _check_params(self) -> None:
        super()._check_params()
        for name, kinds in WORDS.items():
            params.check_argument(name, getattr(self, name), kinds)
        if self.mix and (self.kernel == "precomputed" or self._compares_anything()):
            raise ParameterError(
                "mix=True keeps columns of numbers beside the kernel's, but here are none. Set mix=False."
            )

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
        table: Any = KernelTable(sight, mix=self.mix)
        return read_design(replace(reading, table=replace(reading.table, X=table)), **by_row)

    def _read_sight(self, X: Any, *, reset: bool) -> Sight:
        sight = read_samples(self, X, reset=reset, own_kernel=self._compares_anything(), mix=self.mix)
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
        raw = self.schema_.categorical if self.mix else frozenset()
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
        if self.prototypes is not None and not kernel.is_precomputed:
            given = read_prototypes(unfitted_copy(self), self.prototypes, samples, mix=self.mix)
            return np.full(len(given), -1), Prototypes(given)
        if kernel.is_precomputed:
            n = count_prototypes(self.n_prototypes, len(kept))
            places = Things(tuple(range(len(kept))))
            columns: IntArray = kept[choose_prototypes(places, n, self._prototype_seed_)]
            if self.prototypes is not None:
                columns = np.asarray(self.prototypes, dtype=np.int64)
            return columns, Prototypes(None, columns)
        chosen = choose_prototypes(samples, self.n_prototypes, self._prototype_seed_)
        return kept[chosen], Prototypes(samples.take(chosen))

    def _n_table_features(self) -> int:
        return self._n_columns_

    def _table_schema(self) -> dict[str, Any]:
        raw = tuple(self.schema_.categories[f] for f in self._raw_columns()) if self.mix else ()
        schema = Schema(None, (None,) * len(self._kept_) + raw)
        return {"n_features_in_": len(self._columns_), "feature_names_in_": None, "schema_": schema}

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow from all columns; then keep those that the trees use."""
        if self.warm_start and hasattr(before, "forest_"):
            before = copy.copy(before)
            before.forest_ = widen(before.forest_, before._columns_, before._n_columns_)
        table: Any = reading.table.X
        if self.mix:
            self.growth_ = replace(self.growth_, feature_weights=share_draws(table.n_kernel, table.shape[1]))
        super()._grow(engine, coded, reading, before)
        used = np.unique(self.forest_.feature[self.forest_.feature >= 0]).astype(np.int64)
        self._columns_ = used if len(used) else np.zeros(1, dtype=np.int64)  # a table has a column, cuts or no cuts
        self.forest_ = narrow(self.forest_, self._columns_)
        of_kernel = self._columns_[self._columns_ < self._n_prototypes_]
        self.growth_ = replace(self.growth_, feature_weights=())  # said of columns that are gone
        self.prototype_rows_ = self._rows_[of_kernel]
        del self._rows_
        self._kept_ = table.prototypes.take(of_kernel)

    # --------------------------------------------------------------------------------------------------- predict

    def _read(self, X: Any) -> Any:
        """Read samples, and compare them with the prototypes that the trees use."""
        check_is_fitted(self, "forest_")
        table = KernelTable(self._read_sight(X, reset=False), mix=self.mix)
        table.compare(self.kernel_, open_engine(self.engine), self._kept_, count_threads(self.n_jobs))
        return table.keep_raw(self._raw_columns()) if self.mix else table

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
            A column for each entry of `prototypes_`, then with `mix=True` the columns of X that the trees use.
            `estimators_` predict from it.
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
        """A name for each column that the trees use: the row of the prototype, or the name of a raw column."""
        check_is_fitted(self, "forest_")
        prototypes = [f"row {row}" if row >= 0 else f"prototype {i}" for i, row in enumerate(self.prototype_rows_)]
        names = getattr(self, "feature_names_in_", None)
        raw = self._raw_columns().tolist() if self.mix else []
        return prototypes + [f"x{f}" if names is None else str(names[f]) for f in raw]

    def prune_prototypes(self, X: Any, y: Any, n: float, sample_weight: Any = None, **by_row: Any) -> Self:
        """Grow a forest from the prototypes that matter most alone: it is smaller, and quicker to predict.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            What `fit` was given.
        n : int or float
            How many prototypes to keep, by `feature_importances_`; a float is a share.

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
        importance = self.feature_importances_[: len(self._kept_)]
        best = np.argsort(-importance, kind="stable")[: count_prototypes(n, len(self._kept_))]
        kept = self._kept_.take(np.sort(best))
        twin = unfitted_copy(self)
        twin.prototypes = kept.columns if kept.samples is None else kept.samples
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

# What a forest's parameters say of single features means nothing where features are prototypes.
DROPPED = ("monotonic_cst", "interaction_cst", "feature_weights", "missing")
ADDED: dict[str, tuple[Any, str]] = {
    "kernel": (
        "gaussian",
        """kernel : str or function, default="gaussian"
        "gaussian" exp(-gamma·d²) of a distance d, "poly" (gamma·x·y)^degree, "poly_inhomogeneous" (gamma·x·y +
        1)^degree, "tanh" tanh(gamma·x·y + coef0), "precomputed" (X is the kernel of all samples with the training
        samples), or a function of two samples that gives a number. "auto" chooses by out-of-bag error.""",
    ),
    "distance": (
        "l2",
        """distance : str or function, default="l2"
        Of the Gaussian kernel. "l2" of vectors and curves, "derivative" of the differences of neighbouring values,
        "dtw" dynamic time warping, "correlation" of shape alone: curves brought to mean 0 and length 1. Or a function
        of two samples that gives a number.""",
    ),
    "gamma": (
        "median",
        """gamma : float, "median" or "scale", default="median"
        "median": 1 over the median squared distance of pairs (or of x·x). "scale": 1 over the number of places times
        the variance of all values. It moves thresholds between two training samples, and chooses no cut.""",
    ),
    "degree": (
        3,
        """degree : int, default=3
        Of the polynomial kernels.""",
    ),
    "coef0": (
        0.0,
        """coef0 : float, default=0.0
        Of the tanh kernel.""",
    ),
    "band": (
        0.1,
        """band : float or None, default=0.1
        Of dynamic time warping: how far a path may stray from the diagonal, as a share of the longer curve. None: as
        far as it likes.""",
    ),
    "n_prototypes": (
        "auto",
        """n_prototypes : int, float, "auto" or "all", default="auto"
        How many of the distinct training samples others are compared with; a float is a share. "auto": all up to 500,
        else a sample of 500, drawn from the seed.""",
    ),
    "prototypes": (
        None,
        """prototypes : samples or None, default=None
        Samples to compare with instead of training samples; of a precomputed kernel, numbers of columns.""",
    ),
    "mix": (
        False,
        """mix : bool, default=False
        Whether the columns of X, categories too, stand beside those of the kernel. Half of the draws of features are
        then columns of X.""",
    ),
}


def with_kernels(kind: Kind) -> Kind:
    """Give a kernel forest the parameters and the documentation of the forest below it, and those of kernels."""
    above: Any = kind.__mro__[2]
    own = list(inspect.signature(above.__init__).parameters.values())
    own = [parameter for parameter in own if parameter.name not in DROPPED]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=default) for name, (default, _) in ADDED.items()]
    signature = inspect.Signature([*own[:2], *added, *own[2:]])

    def init(self: Any, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    vars(init)["__signature__"] = signature  # where scikit-learn looks for the names of parameters
    setattr(kind, "__init__", init)  # noqa: B010  (mypy allows no other way)
    kind.__doc__ = _join_docs(kind.__doc__ or "", above.__doc__ or "")
    return kind


def _join_docs(own: str, above: str) -> str:
    """Put the parameters and attributes of a forest between the parts of a docstring, with those of kernels."""
    shared = above[above.index("    Parameters\n") : above.index("    Examples\n")]
    for name in DROPPED:
        shared = re.sub(rf"\n    {name} : .*(?:\n        .*)*", "", shared)
    first = re.search(r"\n    n_estimators : .*(?:\n        .*)*", shared)
    assert first  # noqa: S101  (for the type checker: forests have trees)
    texts = "".join(f"\n    {text}" for _, text in ADDED.values())
    shared = shared[: first.end()] + texts + shared[first.end() :]
    return own.replace("    Examples\n", shared.rstrip() + ATTRIBUTES + "\n    Examples\n")


ATTRIBUTES = """
    kernel_ : weald.kernels.Kernel
        The kernel that was used, with gamma as a number.
    choice_ : weald.kernel_choice.Choice
        With `kernel="auto"`: what was tried, what was chosen, and why.
    sample_kind_ : str
        What samples are: "vectors", "curves" or "things".
    prototypes_ : samples
        The prototypes that the trees use.
    prototype_rows_ : array of int
        Their rows in the training data; -1 where prototypes were given.
    column_names_ : list of str
        A name for each column that the trees use: the row of the prototype, or the name of a raw column.
"""


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
