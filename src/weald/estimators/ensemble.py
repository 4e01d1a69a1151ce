"""How many trees are grown: so many, until the error has settled, or those that are still missing.

TreeEnsemble    a model of many trees
"""

from functools import partial
from typing import Any, Self

import numpy as np

from weald.data.schema import same_categories
from weald.data.table import Reading
from weald.data.types import FloatArray
from weald.engines import params, progress
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError, warn
from weald.estimators import early_stopping, out_of_bag
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.oob_methods import OutOfBagMethods
from weald.estimators.training_data import refuse_other_values, values_of
from weald.forest.forest import Forest


class TreeEnsemble(OutOfBagMethods):
    """A model of many trees, which may grow on."""

    n_estimators: int | str
    max_estimators: int
    bootstrap: bool | str
    warm_start: bool

    _checkpoint: Checkpoint | None = None  # of the fit that is under way

    def _n_trees_at_once(self) -> int:
        grows_in_steps = (
            isinstance(self.n_estimators, str)
            or self.warm_start
            or self._checkpoint is not None
            or progress.listener() is not None
        )
        return 0 if grows_in_steps else int(self.n_estimators)

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow the trees, or those that are still missing; then look at the rows outside the bags."""
        goes_on = self.warm_start and before._is_fitted()
        self.seed_ = before.seed_ if goes_on else self._draw_seed()
        if goes_on:
            self._check_that_it_goes_on(before, before._shape())
            refuse_other_values(before._shape(), coded.fingerprint, values_of(coded, reading))
        if reading.table.targets is not None:
            self._grow_all_targets(engine, coded, reading, before.forests_ if goes_on else None)
            return
        old = before.forest_ if goes_on else None
        self._settle_before_growth(engine, coded, reading)
        if isinstance(self.n_estimators, str):
            self._grow_until_settled(engine, coded, reading, old)
            return
        self.forest_ = self._grow_so_many(engine, coded, reading, int(self.n_estimators), old)
        if self.oob_score:
            self._look_out_of_bag(engine, coded, reading)

    def _settle_before_growth(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """Settle what is left to settle once the seed is known."""

    def _grow_all_targets(self, engine: Engine, coded: Any, reading: Reading, old: tuple[Forest, ...] | None) -> None:
        """Grow trees of several targets, or those that are missing; then look at the rows outside the bags."""
        if self._checkpoint is not None:
            raise DataError("checkpoint keeps forests of one target, but y has several. Fit one for each, or without.")
        n_trees = int(self.n_estimators)  # a NumPy number would end up in the model
        if old is None:
            self.forests_ = self._grow_targets(engine, coded, reading, 0, n_trees)
        elif self._lacks_trees(n_trees, old[0]):
            first, n_more = old[0].next_tree(self.seed_), n_trees - old[0].n_trees
            more = self._grow_targets(engine, coded, reading, first, n_more)
            self.forests_ = tuple(map(Forest.join, old, more))
        else:
            self.forests_ = old
        if self.oob_score:
            found = self._look_at_targets(engine, coded, reading)
            self.oob_score_, self.oob_error_, self.oob_share_ = found.score, found.error, found.share
            self._keep_averages_of_targets(found.averages)

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        """Remember what was said of rows outside the bags, under the names that scikit-learn has for it."""

    def _draw_seed(self) -> int:
        """Draw a seed; a fit that goes on, and was given none, takes that of its trees."""
        is_given = isinstance(self.random_state, int | np.integer)
        there = None if self._checkpoint is None or is_given else self._checkpoint.seed()
        return params.draw_seed(self.random_state) if there is None else there

    def _grow_so_many(self, engine: Engine, coded: Any, reading: Reading, n_trees: int, old: Forest | None) -> Forest:
        """Grow trees, independent of one another, until there are so many."""
        if self._checkpoint is not None:
            return self._grow_and_keep(engine, coded, self._checkpoint, n_trees, old)
        tell = progress.listener()
        if old is None and tell is not None:
            return self._grow_and_tell(engine, coded, reading, n_trees, tell)
        if old is None:
            return self._grow_trees(engine, coded, 0, n_trees)
        if not self._lacks_trees(n_trees, old):
            return old
        more = self._grow_trees(engine, coded, old.next_tree(self.seed_), n_trees - old.n_trees)
        return old.join(more)

    def _grow_and_keep(
        self, engine: Engine, coded: Any, checkpoint: Checkpoint, n_trees: int, old: Forest | None
    ) -> Forest:
        """Grow the same trees, some at a time, and keep them on the disk."""
        if old is not None and not self._lacks_trees(n_trees, old):
            return old
        first, n_more = (0, n_trees) if old is None else (old.next_tree(self.seed_), n_trees - old.n_trees)
        more = checkpoint.grow(self, coded, partial(self._grow_quietly, engine, coded), first, n_more)
        return more if old is None else old.join(more)

    def _grow_and_tell(
        self, engine: Engine, coded: Any, reading: Reading, n_trees: int, tell: progress.Listener
    ) -> Forest:
        """Grow the same trees in steps, and tell a listener of each."""
        X = reading.table.X
        return early_stopping.grow_and_tell(
            lambda first, n_more: self._grow_trees(engine, coded, first, n_more),
            (lambda forest, start: self._bagged(engine, coded, reading, forest).sum_votes(X, forest, start))
            if self.bootstrap
            else None,
            n_trees,
            count_threads(self.n_jobs),
            tell,
        )

    def _grow_until_settled(self, engine: Engine, coded: Any, reading: Reading, old: Forest | None) -> None:
        """Grow trees until the error of rows outside the bags has settled."""
        first = 0 if old is None else old.next_tree(self.seed_) - old.n_trees
        X = reading.table.X
        self.forest_, votes, settled = early_stopping.grow_until_settled(
            lambda number, n_trees: self._grow_trees(engine, coded, first + number, n_trees),
            lambda forest, start: self._bagged(engine, coded, reading, forest).sum_votes(X, forest, start),
            old,
            reading.table.size,
            self.max_estimators,
        )
        if not settled:
            warn(
                f"The out-of-bag error has not settled after {self.forest_.n_trees} trees. More of them may help: give "
                f"more than max_estimators={self.max_estimators}."
            )
        self._keep_out_of_bag(out_of_bag.look(self._bagged(engine, coded, reading, self.forest_), reading, votes))

    def _lacks_trees(self, n_trees: int, old: Forest) -> bool:
        """Say whether a forest lacks trees, and refuse to take some away."""
        if n_trees < old.n_trees:
            raise ParameterError(
                f"n_estimators={self.n_estimators} is less than the {old.n_trees} trees that warm_start=True keeps. "
                f"Give n_estimators={old.n_trees} or more, or set warm_start=False to start anew."
            )
        if n_trees == old.n_trees:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
        return n_trees > old.n_trees

    def _table_schema(self) -> dict[str, Any]:
        """Say what trees know of their features, where they are not the columns of X."""
        return {}

    def _n_table_features(self) -> int:
        """Count the features that trees are grown from."""
        return self.n_features_in_

    def _check_that_it_goes_on(self, before: Self, old: Forest) -> None:
        """Refuse a table that old trees could not have been grown from."""
        if self.n_outputs_ != before.n_outputs_:
            raise DataError(
                f"y has {self.n_outputs_} targets, but warm_start=True goes on with trees of {before.n_outputs_}. Give "
                "the same targets, or set warm_start=False to start anew."
            )
        if self._n_table_features() != old.n_features:
            raise DataError(
                f"X has {self.n_features_in_} features, but warm_start=True goes on with trees of {old.n_features}. "
                "Give the same features, or set warm_start=False to start anew."
            )
        if not same_categories(self.schema_, before.schema_):
            raise DataError(
                "X has other categories than the table from which warm_start=True goes on, so that they would have "
                "other numbers. Give the same table, or set warm_start=False to start anew."
            )
        bound = ("monotonic", "interaction_groups", "max_interacting")
        if any(getattr(self.growth_, name) != getattr(before.growth_, name) for name in bound):
            raise ParameterError(
                "monotonic_cst or interaction_cst differs from that of the trees that warm_start=True keeps, which "
                "would not obey it. Give the same, or set warm_start=False to start anew."
            )
        if self.growth_.criterion != before.growth_.criterion:
            raise ParameterError(
                f"criterion={self.criterion!r} differs from the {before.growth_.criterion!r} of the trees that "
                "warm_start=True keeps. Give the same criterion, or set warm_start=False to start anew."
            )
