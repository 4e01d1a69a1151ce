"""Rows outside the bags: the methods by which a forest looks at them.

OutOfBagMethods    a model with bags; `out_of_bag.py` does the looking
"""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from weald.data.table import Reading
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError
from weald.estimators import multi_output
from weald.estimators import resampling as ways
from weald.estimators.base import TreeModel
from weald.estimators.out_of_bag import Bagged, OutOfBag, look
from weald.estimators.training_data import read_training_data, require_same_data
from weald.forest.forest import Forest


class OutOfBagMethods(TreeModel):
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
            _require_bags(self.forests_[0])
            training = read_training_data(self, X, y, sample_weight, groups=groups, stratify=stratify)
            return self._look_at_targets(training.engine, training.coded, training.reading)  # type: ignore[return-value]
        return look(*self._open(X, y, sample_weight, groups=groups, stratify=stratify))

    def _open(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> tuple[Bagged, Reading]:
        """Read the table that the forest was grown from, and put both together."""
        check_is_fitted(self, "forest_")
        _require_bags(self.forest_)
        training = read_training_data(self, X, y, sample_weight, **by_row)
        return self._bagged(training.engine, training.coded, training.reading, self.forest_), training.reading

    def _look_at_targets(self, engine: Engine, coded: Any, reading: Reading) -> multi_output.OutOfBagOfTargets:
        """Let trees of several targets speak of the rows outside their bags."""
        self._bagged(engine, coded, reading, self.forests_[0])
        metric = self.oob_score if callable(self.oob_score) else None
        return multi_output.look_out_of_bag(
            engine, coded, reading, self.growth_, self.forests_, self._voting(), self.n_jobs, metric
        )

    def _bagged(self, engine: Engine, coded: Any, reading: Reading, forest: Forest) -> Bagged:
        """Put a forest and its training table together, and make sure that they belong together."""
        _require_bags(forest)
        require_same_data(forest, coded, reading)
        return Bagged(engine, coded, self.growth_, forest, self._voting(), count_threads(self.n_jobs))

    def _look_out_of_bag(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """Estimate errors from the rows outside the bags."""
        self._keep_out_of_bag(look(self._bagged(engine, coded, reading, self.forest_), reading))

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


def _require_bags(forest: Forest) -> None:
    """Refuse trees that have no bags which can be drawn again."""
    if any(origin.resampling != ways.BAGGING for origin in forest.origins):
        raise DataError(
            "Bags of boosting and arcing follow the mistakes of earlier trees on all rows. No row is new to them, "
            'so there is nothing honest to say out of bag. Fit with resampling="bagging".'
        )
    if forest.origins and not any(origin.bags.bootstrap for origin in forest.origins):
        raise DataError(
            "Nothing is out of bag: with bootstrap=False every tree sees every row. Fit with bootstrap=True."
        )
