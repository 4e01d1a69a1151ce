"""Kernel forests: the features of a sample are its kernels with prototypes, which are training samples.

KernelForestClassifier, KernelForestRegressor

A split on a column of the Gaussian kernel is a ball around a prototype, so trees have curved borders, and samples need
only a distance: curves, text, graphs. Otherwise it is a random forest: the table of kernel values (`table.py`) is coded
and grown by the ordinary engines, and only the prototypes used by the trees are kept.
"""

import os
from dataclasses import replace
from typing import Any, Self, Unpack

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from weald.data import arguments
from weald.data.table import TrainingArguments
from weald.data.targets import read_column
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, IntArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ExportError, ParameterError
from weald.estimators.fit import check, unfitted_copy
from weald.estimators.forest_base import RandomForest
from weald.estimators.forests import RandomForestClassifier, RandomForestRegressor
from weald.estimators.kernel.features import KernelFeatures, choose_kernel_of
from weald.estimators.kernel.kernel_selection import GRID, Choice, KernelReport, check_matrix
from weald.estimators.kernel.kernels import Kernel, count_prototypes, resolve_kernel
from weald.estimators.kernel.learned import LearnedColumns
from weald.estimators.kernel.params import ATTRIBUTES, KernelClassifierParams, KernelParams
from weald.estimators.kernel.samples import Vectors
from weald.estimators.kernel.tree_mix import MixChoice
from weald.estimators.parameters import parameters, set_parameters
from weald.estimators.tasks import TreeClassifier, TreeRegressor
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor


class KernelForest(RandomForest):
    """Common base of kernel forests: trees are grown from kernels of a sample with prototypes."""

    _features = KernelFeatures

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

    def fit(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 10,
    ) -> Self:
        """Fit to samples; see `RandomForestClassifier.fit` for the arguments. Checkpoints are not supported."""
        if checkpoint is not None:
            raise ParameterError(
                f"{type(self).__name__} does not support checkpoint: its trees keep only the columns that the whole "
                "forest uses. Leave checkpoint out."
            )
        if self.kernel == "auto" and not (self.warm_start and hasattr(self, "forest_")):
            choose_kernel_of(self, TrainingArguments(X, y, sample_weight, groups, stratify))
            return self
        return super().fit(X, y, sample_weight, groups=groups, stratify=stratify, every=every)

    # --------------------------------------------------------------------------------------------------- predict

    def kernel_matrix(self, X: TableLike) -> FloatArray:
        """Compare samples with the prototypes that the trees use: the features of the trees.

        Parameters
        ----------
        X : samples, as for `predict`

        Returns
        -------
        array of shape (n_samples, n_columns)
            A column for each entry of `column_names_`: kernels, or differences of two, then columns of X if `mix` uses
            them. `estimators_` predict from it.
        """
        return np.concatenate(list(self._kernels().rows(X).row_blocks()))

    def _kernels(self) -> KernelFeatures:
        check_is_fitted(self, "forest_")
        return KernelFeatures(self)

    def plain_forest(self) -> RandomForestClassifier | RandomForestRegressor:
        """Return the trees as a plain forest that predicts from `kernel_matrix(X)`, for export to other programs.

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
        kind = RandomForestClassifier if self.task is Task.CLASSIFICATION else RandomForestRegressor
        plain: RandomForestClassifier | RandomForestRegressor = kind()
        shared = self.get_params(deep=False)
        plain.set_params(**{name: shared[name] for name in plain.get_params() if name in shared})
        learned = ("forest_", "growth_", "seed_", "n_outputs_", "classes_", "n_classes_", "calibrator_")
        plain.__dict__.update({name: getattr(self, name) for name in learned if hasattr(self, name)})
        plain.schema_ = self._kernels().tree_schema
        plain.n_features_in_ = len(plain.schema_.categories)
        return plain

    # ------------------------------------------------------------------------------------------------------ inspection

    @property
    def prototypes_(self) -> Any:
        """The prototypes used by the trees, as samples; for a precomputed kernel, column numbers."""
        check_is_fitted(self, "forest_")
        kept = LearnedColumns(self).prototypes
        return kept.columns if kept.samples is None else kept.samples.given()

    @property
    def column_names_(self) -> list[str]:
        """Names of the columns used by the trees: the row of one or two prototypes, or the name of a column of X."""
        check_is_fitted(self, "forest_")
        compared = [f"row {row}" if row >= 0 else f"prototype {i}" for i, row in enumerate(self.prototype_rows_)]
        pairs = LearnedColumns(self).prototypes.pairs
        if pairs is not None:
            compared = [compared[i] + (f" - {compared[j]}" if j >= 0 else "") for i, j in pairs.tolist()]
        names = getattr(self, "feature_names_in_", None)
        features = self._kernels()
        raw = features.raw_columns().tolist() if features.mixes else []
        return compared + [f"x{f}" if names is None else str(names[f]) for f in raw]

    @property
    def prototype_importances_(self) -> FloatArray:
        """`feature_importances_` by prototype, in the order of `prototypes_`; each prototype of a pair gets half."""
        check_is_fitted(self, "forest_")
        kept = LearnedColumns(self).prototypes
        of_columns = self.feature_importances_[: len(kept)]
        if kept.pairs is None:
            return of_columns
        first, second = kept.pairs.T
        paired = second >= 0
        each = np.zeros(kept.n_compared)
        np.add.at(each, first, np.where(paired, of_columns / 2, of_columns))
        np.add.at(each, second[paired], of_columns[paired] / 2)
        return each

    def prune_prototypes(
        self, X: TableLike, y: ColumnLike, n: float, sample_weight: ColumnLike = None, **by_row: Any
    ) -> Self:
        """Fit a forest with only the most important prototypes: it is smaller, and faster to predict.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The training data of `fit`.
        n : int or float
            Number of prototypes to keep, by `prototype_importances_`; a float is a fraction.

        Returns
        -------
        forest
            A new estimator; this one is unchanged.

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
        arguments.check_argument("n", n, (arguments.WholeNumber(1), arguments.Fraction()))
        kept = LearnedColumns(self).prototypes
        if not kept.n_compared:
            raise DataError("The trees use columns of X only, so there are no prototypes to prune.")
        best = np.argsort(-self.prototype_importances_, kind="stable")
        best = np.sort(best[: count_prototypes(n, kept.n_compared)])
        rows, kept = self.prototype_rows_[best], replace(kept, pairs=None).take(best)
        targets = read_column(y, "y")
        if rows.max() >= len(targets):
            raise DataError(f"y has {len(targets)} rows, but the fit had more. Give the training data of `fit`.")
        known = np.unique(targets[rows], return_inverse=True)[1] if (rows >= 0).all() else np.zeros(len(rows))
        twin = unfitted_copy(self)
        matrix = None if kept.columns is None else np.asarray(X, dtype=np.float64)[np.ix_(rows, kept.columns)]
        engine = open_engine(self.engine)
        twin.prototypes = self._kernels().contrast(engine, self.kernel_, kept, known, matrix)
        if self.kernel == "auto":
            twin.__dict__.update(self.choice_.words)
        return twin.fit(X, y, sample_weight, **by_row)

    def check_kernel(self, X: TableLike) -> KernelReport:
        """Check whether the kernel is a kernel in the strict sense (Mercer): symmetric and positive semi-definite.

        Trees do not need it; support vector machines and Gaussian processes do.

        Parameters
        ----------
        X : samples
            As for `fit`. At most 1000 of them are used. A fitted forest checks its own kernel, an unfitted one the
            kernel that a fit to X would use.

        Returns
        -------
        weald.estimators.kernel.kernel_selection.KernelReport
            `is_kernel`, `asymmetry`, `smallest_eigenvalue`, and `reason`, as text.

        Examples
        --------
        >>> import numpy as np
        >>> import weald
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> weald.KernelForestClassifier().check_kernel(X).is_kernel
        True
        """
        check(self)
        engine, n_threads = open_engine(self.engine), count_threads(self.n_jobs)
        samples = KernelFeatures(unfitted_copy(self)).read_samples(X, reset=True).samples
        if self.kernel == "precomputed" and isinstance(samples, Vectors):
            return check_matrix(samples.matrix)
        samples = samples.take(np.arange(min(len(samples), 1000)))
        kernel = getattr(self, "kernel_", None)
        if kernel is None:
            words = {**vars(self), **(GRID[0] if self.kernel == "auto" else {})}
            kernel = resolve_kernel(words, samples, engine, n_threads)
        prepared = kernel.prepare(samples)
        return check_matrix(kernel.columns(engine, prepared, prepared, n_threads))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = False
        tags.input_tags.sparse = tags.input_tags.string = False
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        return tags


def _refuse(name: str) -> Any:
    """Create a method that raises an error saying what to use instead."""

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise ExportError(
            f"{name} does not support kernels. Use model.plain_forest().{name}(...), with the rows of "
            "model.kernel_matrix(X)."
        )

    refuse.__name__, refuse.__doc__ = name, f"Refuse: use `plain_forest().{name}`, which takes `kernel_matrix(X)`."
    return refuse


for _name in ("to_c", "to_onnx", "to_json", "to_treelite", "to_shap", "to_sklearn", "compile", "report"):
    setattr(KernelForest, _name, _refuse(_name))


# ----------------------------------------------------------------------------------------------------------- estimators


@parameters(KernelClassifierParams, ATTRIBUTES, criterion="gini", max_features="sqrt")
class KernelForestClassifier(KernelForest, TreeClassifier):
    """A random forest of kernel values that predicts classes.

    The features of a sample are its kernels with the training samples, so trees have curved borders, and samples may be
    anything with a kernel or a distance: vectors, curves of any length, text, graphs. Everything else is as in
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

    oob_decision_function_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[KernelClassifierParams]) -> None:
        set_parameters(self, KernelForestClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeClassifier]:
        """The trees as fitted estimators, created on access. They predict from `kernel_matrix(X)`."""
        return TreeList(self, DecisionTreeClassifier)


@parameters(KernelParams, ATTRIBUTES, criterion="squared_error", max_features="third")
class KernelForestRegressor(KernelForest, TreeRegressor):
    """A random forest of kernel values that predicts numbers.

    The features of a sample are its kernels with the training samples, so trees have curved borders, and samples may be
    anything with a kernel or a distance: vectors, curves of any length, text, graphs. Everything else is as in
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

    oob_prediction_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[KernelParams]) -> None:
        set_parameters(self, KernelForestRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeRegressor]:
        """The trees as fitted estimators, created on access. They predict from `kernel_matrix(X)`."""
        return TreeList(self, DecisionTreeRegressor)
