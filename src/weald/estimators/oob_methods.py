"""Rows outside the bags: the methods by which a forest looks at them.

HasOutOfBag    a model with bags; `out_of_bag.py` does the looking
"""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from weald.data.table import Reading
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError
from weald.estimators import multi_output
from weald.estimators import resampling as ways
from weald.estimators.base import TreeModel, unfitted_copy
from weald.estimators.out_of_bag import Bagged, OutOfBag, look
from weald.forest.forest import Forest


class HasOutOfBag(TreeModel):
    """A model whose trees have bags, so that each row is new to some of them."""

    oob_score: Any

    oob_: OutOfBag
    oob_score_: float
    oob_error_: float
    oob_share_: float

    def out_of_bag(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, stratify: Any = None
    ) -> OutOfBag:
        """Look at the rows outside the bags, given the training data again.

        Bags are drawn again from the seeds of the trees, so this works for every forest with bags: one that was fitted
        without `oob_score`, that was saved and loaded, sliced, merged or grown on. All trees must have been grown from
        this table; the order of its rows does not matter.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from.

        Returns
        -------
        weald.estimators.out_of_bag.OutOfBag
            The same as `oob_`, for the rows as they are given. With several targets it has `averages` (by target:
            shares or means of each row), `score`, `error` and `share`.
        """
        check_is_fitted(self)
        if self._has_several():
            read = self._read_again(X, y, sample_weight, groups=groups, stratify=stratify)
            return self._look_at_targets(*read)  # type: ignore[return-value]
        return look(*self._open(X, y, sample_weight, groups=groups, stratify=stratify))

    def _open(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> tuple[Bagged, Reading]:
        """Read the table that the forest was grown from, and put both together."""
        check_is_fitted(self, "forest_")
        engine, coded, reading = self._read_again(X, y, sample_weight, **by_row)
        return self._bagged(engine, coded, self.forest_), reading

    def _read_again(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> tuple[Engine, Any, Reading]:
        """Read and code a table of the features and classes that the forest knows."""
        twin = unfitted_copy(self)
        reading = twin._read_table(X, y, sample_weight, **by_row)  # noqa: SLF001  (another of the same class)
        n_targets = 1 if reading.table.targets is None else reading.table.targets.n_targets
        if n_targets != self.n_outputs_:
            raise DataError(f"y has {n_targets} targets, but the forest has {self.n_outputs_}. Give the y of the fit.")
        self._check_classes(reading)
        return *self._code(reading), reading

    def _look_at_targets(self, engine: Engine, coded: Any, reading: Reading) -> multi_output.OutOfBagOfTargets:
        """Let trees of several targets speak of the rows outside their bags."""
        self._bagged(engine, coded, self.forests_[0])
        metric = self.oob_score if callable(self.oob_score) else None
        return multi_output.look_out_of_bag(
            engine, coded, reading, self.growth_, self.forests_, self._voting(), self.n_jobs, metric
        )

    def _bagged(self, engine: Engine, coded: Any, forest: Forest) -> Bagged:
        """Put a forest and its training table together, and make sure that they belong together."""
        origins = forest.origins
        if any(origin.resampling != ways.BAGGING for origin in origins):
            raise DataError(
                "Bags of boosting and arcing follow the mistakes of earlier trees on all rows. No row is new to them, "
                'so there is nothing honest to say out of bag. Fit with resampling="bagging".'
            )
        if not origins:
            raise DataError(
                "These trees were not grown by weald, so it is not known which rows were in their bags. Ask the "
                "library that grew them, judge them by other rows, or fit a forest of weald."
            )
        if not any(origin.bags.bootstrap for origin in origins):
            raise DataError(
                "Nothing is out of bag: with bootstrap=False every tree sees every row. Fit with bootstrap=True."
            )
        n_strange = sum(origin.n_trees for origin in origins if origin.data != coded.fingerprint)
        if n_strange:
            raise DataError(
                f"Rows outside the bags are known only for trees grown from this table, but {n_strange} of the "
                f"{forest.n_trees} trees were grown from other data, weights or max_bins. Give the table that "
                "they were grown from, or take the trees that were grown from this one, for example forest[:10]."
            )
        if any(origin.bags.design != coded.design for origin in origins):
            raise DataError(
                "Rows outside the bags are known only with the groups and stratify that the trees were grown with; "
                "these are others. Give the same ones."
            )
        return Bagged(engine, coded, self.growth_, forest, self._voting(), count_threads(self.n_jobs))

    def _check_classes(self, reading: Reading) -> None:
        """Refuse classes that the forest does not know."""

    def _look_out_of_bag(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """Estimate errors from the rows outside the bags."""
        self._keep_out_of_bag(look(self._bagged(engine, coded, self.forest_), reading))

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        """Remember what was found, also under the names that scikit-learn has for it."""
        self.oob_ = found
        self.oob_share_, self.oob_error_ = found.share, found.error
        self.oob_score_ = found.score(self.oob_score if callable(self.oob_score) else None)

    def _forget_out_of_bag(self) -> Self:
        """Drop estimates that other trees have made."""
        for name in [name for name in vars(self) if name.startswith("oob_") and name.endswith("_")]:
            delattr(self, name)
        return self
