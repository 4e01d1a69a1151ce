"""Growing the trees of a fit: a fixed number, until convergence, or the trees that a warm start adds.

Grower          grows trees with one engine from one coded table, and sums their out-of-bag votes
Plan            the number of trees, and how to grow them
grow            a plan -> a forest, and its votes if they were summed during growth
grow_targets    a plan for multi-output -> one forest per target
"""

from dataclasses import dataclass

from weald.data.table import Reading
from weald.engines import progress
from weald.engines.interface import Codes, Engine, OutOfBagVotes, Watch
from weald.engines.params import Growth
from weald.errors import DataError, ParameterError, warn
from weald.estimators import early_stopping, resampling
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.out_of_bag import Bagged, require_bags
from weald.estimators.same_data import refuse_other_contract, refuse_other_values, require_same_data, values_of
from weald.forest.forest import Forest
from weald.forest.pruning import prune_forest


@dataclass(frozen=True)
class Grower:
    """Grows trees with one engine from one coded table."""

    engine: Engine
    codes: Codes
    reading: Reading
    growth: Growth
    seed: int
    ccp_alpha: float
    voting: str
    n_threads: int
    verbose: int
    shrinkage: float = 0.0  # lambda of all trees

    def grow(self, first: int, n_trees: int) -> Forest:
        """Grow trees `first`, `first + 1` ..., and show progress if requested."""
        with progress.watch_fit(self.verbose, n_trees) as watch:
            return self.grow_quietly(first, n_trees, watch)

    def grow_quietly(self, first: int, n_trees: int, watch: Watch | None = None, codes: Codes | None = None) -> Forest:
        """Grow trees without showing progress, from other codes if given."""
        what = (self.codes if codes is None else codes, self.growth, self.seed, first, n_trees, self.n_threads)
        return self.engine.grow(*what, watch, self.ccp_alpha).with_shrinkage(self.shrinkage)

    def grow_targets(self, first: int, n_trees: int, watch: Watch | None = None) -> tuple[Forest, ...]:
        """Grow trees of several targets without showing progress."""
        targets = self.reading.table.targets
        assert targets is not None  # noqa: S101  (for the type checker: the caller has asked)
        what = (self.codes, targets, self.growth, self.seed, first, n_trees, self.n_threads)
        grown = self.engine.grow_targets(*what, watch)
        if self.ccp_alpha > 0:  # the forests differ only in their leaf values, so the same splits are removed
            grown = tuple(prune_forest(forest, self.ccp_alpha) for forest in grown)
        return tuple(forest.with_shrinkage(self.shrinkage) for forest in grown)

    def grow_and_vote(self, n_trees: int, *, wants_votes: bool) -> tuple[Forest, OutOfBagVotes | None]:
        """Grow the first trees; also sum their out-of-bag votes if the engine can do so during growth."""
        what = (self.codes, self.growth, self.seed, n_trees, self.n_threads)
        add_votes = self.vote if self.growth.bootstrap else None
        at_once = wants_votes and not self.shrinkage  # engines sum the votes of unshrunk trees
        how = (self.ccp_alpha, self.voting if at_once else None, add_votes)
        with progress.watch_fit(self.verbose, n_trees) as watch:
            forest, votes = self.engine.grow_and_vote(*what, watch, *how)
        return forest.with_shrinkage(self.shrinkage), votes

    def vote(self, forest: Forest, start: OutOfBagVotes | None) -> OutOfBagVotes:
        """Add the out-of-bag votes of some trees to those of earlier ones."""
        forest = forest.with_shrinkage(self.shrinkage)
        return self.bagged(forest).add_votes(self.reading.table.X, forest, start)

    def bagged(self, forest: Forest) -> Bagged:
        """Combine a forest with its training table, after checking that they belong together."""
        require_bags(forest)
        require_same_data(forest, self.codes, self.reading)
        return Bagged(self.engine, self.codes, self.growth, forest, self.voting, self.n_threads)


@dataclass(frozen=True)
class Plan:
    """The number of trees, and how to grow them."""

    n_trees: int = 1
    until_converged: bool = False  # then `n_trees` is the maximum
    wants_votes: bool = False
    resampling: str = resampling.BAGGING
    checkpoint: Checkpoint | None = None

    @property
    def is_plain(self) -> bool:
        """Whether all trees are grown in one call."""
        return (
            not self.until_converged
            and self.resampling == resampling.BAGGING
            and self.checkpoint is None
            and progress.listener() is None
        )


def grow(grower: Grower, plan: Plan, old: Forest | None) -> tuple[Forest, OutOfBagVotes | None]:
    """Grow all trees, or the missing ones. The votes are None if they were not summed during growth."""
    if old is not None:
        refuse_other_contract(old)
        refuse_other_values(old, grower.codes.fingerprint, values_of(grower.codes, grower.reading))
    if plan.until_converged:
        return _grow_until_converged(grower, plan, old)
    if plan.resampling != resampling.BAGGING:
        return _resample(grower, plan, old), None
    if old is not None and not _needs_more_trees(plan, old):
        return old, None
    first, n_trees = (0, plan.n_trees) if old is None else (old.next_tree(grower.seed), plan.n_trees - old.n_trees)
    if plan.checkpoint is not None:
        grown = plan.checkpoint.grow(grower, first, n_trees)
    elif old is None:
        return grower.grow_and_vote(n_trees, wants_votes=plan.wants_votes)
    else:
        grown = grower.grow(first, n_trees)
    return grown if old is None else old.join(grown), None


def grow_targets(grower: Grower, plan: Plan, old: tuple[Forest, ...]) -> tuple[Forest, ...]:
    """Grow all or the missing trees of a multi-output model: one forest per target."""
    if plan.checkpoint is not None:
        raise DataError(
            "checkpoint supports one target, but y has several. Fit a forest for each target, or leave checkpoint out."
        )
    if old:
        refuse_other_contract(old[0])
        refuse_other_values(old[0], grower.codes.fingerprint, values_of(grower.codes, grower.reading))
        if not _needs_more_trees(plan, old[0]):
            return old
    first, n_trees = (old[0].next_tree(grower.seed), plan.n_trees - old[0].n_trees) if old else (0, plan.n_trees)
    with progress.watch_fit(grower.verbose, n_trees) as watch:
        grown = grower.grow_targets(first, n_trees, watch)
    return tuple(map(Forest.join, old, grown)) if old else grown


def require_votes(forest: Forest) -> None:
    """Raise an error if all bags are empty: rows of classes with weight 0 leave the bag after the draw."""
    if not forest.has_vote().any():
        raise DataError(
            "Every bag is empty: only rows of classes whose class_weight is 0 were drawn. Give more trees or draws "
            "(n_estimators, max_samples), or give these classes a positive weight."
        )


def _grow_until_converged(grower: Grower, plan: Plan, old: Forest | None) -> tuple[Forest, OutOfBagVotes]:
    """Grow trees until the out-of-bag error has converged."""
    first = 0 if old is None else old.next_tree(grower.seed) - old.n_trees
    forest, votes, converged = early_stopping.grow_until_converged(
        lambda number, n_trees: grower.grow(first + number, n_trees),
        grower.vote,
        old,
        grower.reading.table.size,
        plan.n_trees,
    )
    if not converged:
        warn(
            f"The out-of-bag error has not converged after {forest.n_trees} trees. More of them may help: give "
            f"more than max_estimators={plan.n_trees}."
        )
    return forest, votes


def _resample(grower: Grower, plan: Plan, old: Forest | None) -> Forest:
    """Grow trees one after the other; each bag depends on the errors of earlier trees."""
    table, way = grower.reading.table, plan.resampling
    if table.groups is not None:
        raise ParameterError(
            f"groups cannot be used with resampling={way!r}, which weights single rows. Leave groups out "
            'or set resampling="bagging".'
        )
    if old is not None:
        if not resampling.can_continue(way, old, grower.seed, grower.codes.fingerprint):
            raise DataError(
                f"resampling={way!r} can continue only the first trees of the same forest: same table, "
                "same seed, none left out. Set warm_start=False to start over."
            )
        if not _needs_more_trees(plan, old):
            return old
    made = resampling.Resampled(grower.engine, table, grower.n_threads)
    grow_tree = lambda codes, number, n_trees: grower.grow_quietly(number, n_trees, None, codes)  # noqa: E731
    with progress.watch_fit(grower.verbose, plan.n_trees) as watch:
        return made.grow(way, grower.codes, grow_tree, plan.n_trees, watch, old)


def _needs_more_trees(plan: Plan, old: Forest) -> bool:
    """Return whether trees are missing; refuse to remove trees."""
    if plan.n_trees < old.n_trees:
        raise ParameterError(
            f"n_estimators={plan.n_trees} is less than the {old.n_trees} trees that warm_start=True keeps. "
            f"Give n_estimators={old.n_trees} or more, or set warm_start=False to start over."
        )
    if plan.n_trees == old.n_trees:
        warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
    return plan.n_trees > old.n_trees
