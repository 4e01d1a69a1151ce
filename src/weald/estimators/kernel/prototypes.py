"""The prototypes of a fitted kernel forest, `forest.prototypes_`.

UsedPrototypes    their kernel values and importance, and forests with fewer prototypes
check_kernel      whether a kernel is symmetric and positive semi-definite
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data import arguments
from weald.data.targets import read_column
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators.features import features_of
from weald.estimators.fit import check, unfitted_copy
from weald.estimators.forest_base import RandomForest
from weald.estimators.forests import RandomForestClassifier, RandomForestRegressor
from weald.estimators.kernel.features import KernelFeatures
from weald.estimators.kernel.kernel_selection import GRID, KernelReport, check_matrix
from weald.estimators.kernel.kernels import count_prototypes, resolve_kernel
from weald.estimators.kernel.samples import Vectors

if TYPE_CHECKING:
    from weald.estimators.kernel.forests import KernelForestClassifier, KernelForestRegressor

Forest = TypeVar("Forest", bound=RandomForest)


class UsedPrototypes(Generic[Forest]):
    """The prototypes that the trees of a kernel forest use; `forest.prototypes_`.

    Examples
    --------
    >>> import weald
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> forest = weald.KernelForestClassifier(5, mix=False, random_state=0).fit(X, y)
    >>> forest.prototypes_
    <4 prototypes>
    >>> forest.prototypes_.kernel_matrix(X).shape
    (4, 3)
    """

    def __init__(self, forest: Forest) -> None:
        check_is_fitted(forest, "forest_")
        self._forest, self._features = forest, KernelFeatures(forest)
        self._learned = self._features.learned

    def __len__(self) -> int:
        """Count the prototypes."""
        return self._learned.prototypes.n_compared

    def __repr__(self) -> str:
        return repr(self._learned.prototypes)

    @property
    def samples(self) -> Any:
        """The prototypes as samples; for a precomputed kernel, column numbers."""
        kept = self._learned.prototypes
        return kept.columns if kept.samples is None else kept.samples.given()

    @property
    def column_names(self) -> list[str]:
        """Names of the columns used by the trees: the row of one or two prototypes, or the name of a column of X."""
        return self._features.column_names

    @property
    def importances(self) -> FloatArray:
        """`feature_importances_` by prototype, in the order of `samples`; each prototype of a pair gets half."""
        kept = self._learned.prototypes
        of_columns = self._forest.feature_importances_[: len(kept)]
        if kept.pairs is None:
            return of_columns
        first, second = kept.pairs.T
        paired = second >= 0
        each = np.zeros(kept.n_compared)
        np.add.at(each, first, np.where(paired, of_columns / 2, of_columns))
        np.add.at(each, second[paired], of_columns[paired] / 2)
        return each

    def kernel_matrix(self, X: TableLike) -> FloatArray:
        """Compare samples with the prototypes that the trees use: the features of the trees.

        Parameters
        ----------
        X : samples, as for `predict`

        Returns
        -------
        array of shape (n_samples, n_columns)
            A column for each entry of `column_names`: kernels, or differences of two, then columns of X if `mix` uses
            them. `estimators_` predict from it.
        """
        return np.concatenate(list(self._features.rows(X).row_blocks()))

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
        >>> plain = model.prototypes_.plain_forest()
        >>> bool((plain.predict(model.prototypes_.kernel_matrix(X)) == model.predict(X)).all())
        True
        """
        forest = self._forest
        kind = RandomForestClassifier if forest.task is Task.CLASSIFICATION else RandomForestRegressor
        plain: RandomForestClassifier | RandomForestRegressor = kind()
        shared = forest.get_params(deep=False)
        plain.set_params(**{name: shared[name] for name in plain.get_params() if name in shared})
        learned = ("forest_", "growth_", "seed_", "n_outputs_", "classes_", "n_classes_", "calibrator_")
        plain.__dict__.update({name: getattr(forest, name) for name in learned if hasattr(forest, name)})
        plain.schema_ = self._features.tree_schema
        plain.n_features_in_ = len(plain.schema_.categories)
        return plain

    def prune(self, X: TableLike, y: ColumnLike, n: float, sample_weight: ColumnLike = None, **by_row: Any) -> Forest:
        """Fit a forest with only the most important prototypes, which is smaller and predicts faster.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The training data of `fit`.
        n : int or float
            Number of prototypes to keep, by `importances`; a float is a fraction.

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
        >>> pruned = model.prototypes_.prune(X, np.hypot(*X.T), n=20)
        >>> len(model.prototypes_) > 100, len(pruned.prototypes_)
        (True, 20)
        """
        arguments.check_argument("n", n, (arguments.WholeNumber(1), arguments.Fraction()))
        kept = self._learned.prototypes
        if not kept.n_compared:
            raise DataError("The trees use columns of X only, so there are no prototypes to prune.")
        best = np.argsort(-self.importances, kind="stable")
        best = np.sort(best[: count_prototypes(n, kept.n_compared)])
        rows, kept = self._learned.prototype_rows[best], replace(kept, pairs=None).take(best)
        targets = read_column(y, "y")
        if rows.max() >= len(targets):
            raise DataError(f"y has {len(targets)} rows, but the fit had more. Give the training data of `fit`.")
        known = np.unique(targets[rows], return_inverse=True)[1] if (rows >= 0).all() else np.zeros(len(rows))
        twin = unfitted_copy(self._forest)
        matrix = None if kept.columns is None else np.asarray(X, dtype=np.float64)[np.ix_(rows, kept.columns)]
        engine = open_engine(twin.engine)
        twin.__dict__["prototypes"] = self._features.contrast(engine, self._learned.kernel, kept, known, matrix)
        if self._features.given["kernel"] == "auto":
            twin.__dict__.update(self._learned.choice.words)
        return twin.fit(X, y, sample_weight, **by_row)


def check_kernel(forest: "KernelForestClassifier | KernelForestRegressor", X: TableLike) -> KernelReport:
    """Check whether the kernel of a forest is symmetric and positive semi-definite (Mercer's condition).

    Trees do not need it; support vector machines and Gaussian processes do.

    Parameters
    ----------
    forest : KernelForestClassifier or KernelForestRegressor
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
    >>> weald.check_kernel(weald.KernelForestClassifier(), X).is_kernel
    True
    """
    features = features_of(forest)
    if not isinstance(features, KernelFeatures):
        raise ParameterError(f"{type(forest).__name__} has no kernel. Give a kernel forest.")
    check(forest)
    engine, n_threads = open_engine(forest.engine), count_threads(forest.n_jobs)
    samples = KernelFeatures(unfitted_copy(forest)).read_samples(X, reset=True).samples
    if features.given["kernel"] == "precomputed" and isinstance(samples, Vectors):
        return check_matrix(samples.matrix)
    samples = samples.take(np.arange(min(len(samples), 1000)))
    kernel = getattr(forest, "kernel_", None)
    if kernel is None:
        words = {**vars(forest), **(GRID[0] if features.given["kernel"] == "auto" else {})}
        kernel = resolve_kernel(words, samples, engine, n_threads)
    prepared = kernel.prepare(samples)
    return check_matrix(kernel.columns(engine, prepared, prepared, n_threads))
