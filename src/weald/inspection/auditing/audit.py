"""Auditing a forest: growing trees again from the training data, and comparing them with those of the model.

    audit         from a model and its data to an audit
    RegrownTrees  grows trees of a model again

A tree is a function of the table, the parameters, the seed and its number, so any tree can be checked alone.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import NOTHING, OneOf, WholeNumber, check_argument
from weald.data.table import Reading, TrainingArguments
from weald.data.types import ColumnLike, TableLike
from weald.engines import params
from weald.engines.choose import open_engine
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.errors import DataError, ParameterError, WealdError
from weald.estimators import growing, resampling
from weald.estimators.base import TreeModel
from weald.estimators.features import features_of
from weald.estimators.growing import Grower, Plan
from weald.estimators.multi_output import each_target, forests_of
from weald.estimators.prediction import voting_of
from weald.estimators.same_data import find_other_data
from weald.estimators.training_data import read_as_fit, require_same_columns
from weald.forest.describe.conditions import Names
from weald.forest.forest import CONTRACT_VERSION
from weald.inspection.auditing.audit_result import Audit, Finding
from weald.inspection.auditing.changed_parameter import ParameterChange, differing_names, list_changes, name_of
from weald.inspection.auditing.data_hash import hash_data
from weald.inspection.auditing.differences import Trees, find_difference

ALL = "all"
AT_ONCE = 64  # trees grown in one call
CONFIRMED = 3  # trees that a changed parameter must explain


def audit(
    model: TreeModel,
    X: TableLike,
    y: ColumnLike = None,
    sample_weight: ColumnLike = None,
    *,
    groups: ColumnLike = None,
    stratify: ColumnLike = None,
    trees: int | str = 5,
    random_state: int | None = None,
) -> Audit:
    """Check that a model was trained on this data with its parameters: grow some of its trees again, and compare.

    The data is compared with the hash that the model keeps (`attach_data_hash`), or else with the fingerprints of its
    trees. Then random trees are grown again, bit for bit. Wrong data, a changed parameter and a changed tree are named.

    Parameters
    ----------
    model : fitted tree or forest of weald
    X, y, sample_weight, groups, stratify
        The training data, rows in any order.
    trees : int or "all", default=5
        How many trees to grow again, drawn at random. Each takes about as long as in the fit.
    random_state : int, optional
        Seed of the draw. By default the operating system draws, so the trees are unpredictable.

    Returns
    -------
    Audit
        Print it. `passed` tells whether nothing was found, `findings` what was, and `chance_unnoticed(f)` how likely
        so many random trees show nothing although a fraction f of the trees was altered: `(1 - f) ** trees`.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = weald.RandomForestClassifier(100, random_state=0).fit(X, y).attach_data_hash(X, y)
    >>> found = weald.audit(model, X, y, trees=20)
    >>> found.passed
    True
    >>> model.set_params(max_depth=3).growth_ is not None  # the trees were grown without a limit
    True
    >>> weald.audit(model, X, y).findings[0].name
    'max_depth'
    """
    _check_arguments(model, trees, random_state)
    forests = forests_of(model)
    n_trees = forests[0].n_trees
    kept: str | None = vars(model).get("data_hash_")
    engine = open_engine(model.engine, X)
    try:
        reader, reading = read_as_fit(model, engine, TrainingArguments(X, y, sample_weight, groups, stratify))
        findings = list(_compare_columns(model, reader, reading))
        if findings:
            return Audit(tuple(findings), (), n_trees, kept)
        # Before coding, after which a cluster no longer needs the values.
        found_hash = kept and hash_data(engine, reading, reader.schema_, engine.threads(model.n_jobs))
        again = RegrownTrees(model, engine, features_of(model).code(engine, reading), reading)
        findings = list(_compare_data(model, again, kept, found_hash))
        if findings:
            return Audit(tuple(findings), (), n_trees, kept)
        findings = list(_compare_parameters(model, again))
        chosen = _choose_trees(n_trees, trees, random_state)
        found = list(again.compare(chosen))
        findings += _explain_trees(model, again, found, len(chosen))
        return Audit(tuple(findings), tuple(chosen), n_trees, kept)
    finally:
        engine.release()


def _check_arguments(model: TreeModel, trees: int | str, random_state: int | None) -> None:
    if not isinstance(model, TreeModel):
        raise ParameterError(f"audit got a {type(model).__name__}. Give a fitted tree or forest of weald.")
    check_is_fitted(model)
    check_argument("trees", trees, (WholeNumber(1), OneOf((ALL,))))
    check_argument("random_state", random_state, (WholeNumber(0, 2**64 - 1), NOTHING))
    forest = forests_of(model)[0]
    if not features_of(model).is_table:
        raise ParameterError(
            "A kernel forest cannot be audited tree by tree: its columns are kernel values of drawn prototypes. Fit it "
            "again with random_state=model.seed_, and compare the fingerprints."
        )
    if not forest.origins:
        raise ParameterError("These trees were not grown by weald, so they cannot be grown again.")
    if forest.contract != CONTRACT_VERSION:
        raise ParameterError(
            f"These trees were grown under version {forest.contract} of the contract, and this weald grows trees of "
            f"version {CONTRACT_VERSION}. Use the weald that grew them."
        )
    if hasattr(model, "altered_by_"):
        raise ParameterError(
            f"These trees are not those of a fit, so they cannot be grown again: {model.altered_by_}. Audit the model "
            "as it was fitted."
        )
    if trees != ALL and _way_of(model) != resampling.BAGGING:
        raise ParameterError(
            f'These trees were grown by {_way_of(model)}: each depends on those before it. Set trees="all" to grow all '
            "of them again."
        )


def _way_of(model: TreeModel) -> str:
    ways = {origin.resampling for origin in forests_of(model)[0].origins}
    return ways.pop() if len(ways) == 1 else resampling.BAGGING


def _choose_trees(n_trees: int, trees: int | str, random_state: int | None) -> list[int]:
    if trees == ALL or int(trees) >= n_trees:
        return list(range(n_trees))
    seed = secrets.randbits(64) if random_state is None else int(random_state)
    return sorted(np.random.default_rng(seed).choice(n_trees, int(trees), replace=False).tolist())


# -------------------------------------------------------------------------------------------------------- the trees


@dataclass(frozen=True)
class RegrownTrees:
    """Grows trees of a model again from a table."""

    model: TreeModel
    engine: Engine
    codes: Codes
    reading: Reading

    @property
    def forests(self) -> Trees:
        """The forests of the model, one for each target."""
        found: Trees = forests_of(self.model)
        return found

    @property
    def names(self) -> list[tuple[int, int]]:
        """Seed and number of each tree."""
        return [tree for origin in self.forests[0].origins for tree in origin.trees()]

    def take(self, tree: int) -> Trees:
        """Take one tree of the model."""
        return tuple(forest.take([tree]) for forest in self.forests)

    def grow(
        self, seed: int, first: int, n: int, growth: Growth | None = None, ccp_alpha: float | None = None
    ) -> Trees:
        """Grow trees by their numbers, with the parameters of the model or others."""
        growth = self.model.growth_ if growth is None else growth
        grower = self._grower(seed, growth, self.model.ccp_alpha if ccp_alpha is None else ccp_alpha)
        if self.reading.table.targets is None:
            return (grower.grow_quietly(first, n),)
        return grower.grow_targets(first, n)

    def _grower(self, seed: int, growth: Growth, ccp_alpha: float) -> Grower:
        return Grower(
            *(self.engine, self.codes, self.reading, growth, seed, ccp_alpha),
            *(voting_of(self.model), self.engine.threads(self.model.n_jobs), 0, self.forests[0].shrinkage),
        )

    def compare(self, chosen: Sequence[int]) -> Iterator[tuple[int, "Trees"]]:
        """Grow some trees again, and yield those that differ, with the trees that were grown."""
        if _way_of(self.model) != resampling.BAGGING:
            yield from self._compare_resampled()
            return
        for run in _runs(chosen, self.names):
            grown = self.grow(*self.names[run[0]], len(run))
            for place, tree in enumerate(run):
                one = tuple(forest.take([place]) for forest in grown)
                if not self.is_equal(tree, one):
                    yield tree, one

    def _compare_resampled(self) -> Iterator[tuple[int, "Trees"]]:
        forest = self.forests[0]
        grower = self._grower(self.names[0][0], self.model.growth_, self.model.ccp_alpha)
        grown, _ = growing.grow(grower, Plan(forest.n_trees, resampling=_way_of(self.model)), None)
        for tree in range(forest.n_trees):
            one = (grown.take([tree]),)
            if not self.is_equal(tree, one):
                yield tree, one

    def is_equal(self, tree: int, grown: Trees) -> bool:
        """Return whether a tree of the model equals a grown one, bit for bit."""
        return find_difference(self.take(tree), grown, self.names_of_targets()) is None

    def names_of_targets(self) -> list[Names]:
        """Names of features and classes, by target."""
        return [Names.of(one) for one in each_target(self.model)]


def _runs(chosen: Sequence[int], names: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Divide trees into runs of consecutive numbers of one seed, which are grown in one call."""
    keyed = groupby(enumerate(chosen), key=lambda pair: (names[pair[1]][0], names[pair[1]][1] - pair[0]))
    for _, group in keyed:
        run = [tree for _, tree in group]
        for begin in range(0, len(run), AT_ONCE):
            yield run[begin : begin + AT_ONCE]


# --------------------------------------------------------------------------------------------------------- findings


def _compare_columns(model: TreeModel, reader: TreeModel, reading: Reading) -> Iterator[Finding]:
    """Compare names, classes and categories with those of the fit."""
    ours, told = (getattr(one, "feature_names_in_", None) for one in (reader, model))
    if ours is not None and told is not None and len(ours) == len(told) and list(ours) != list(told):
        f = next(f for f, name in enumerate(told) if name != ours[f])
        yield Finding("data", "columns", f"column {f} is {ours[f]!r}, but was {told[f]!r} in the fit")
    try:
        require_same_columns(model, reader, reading)
    except DataError as error:
        yield Finding("data", "columns", str(error))


def _compare_data(model: TreeModel, again: RegrownTrees, kept: str | None, found: str | None) -> Iterator[Finding]:
    """Compare the data with the hash and the fingerprints that the model keeps."""
    table, rows = again.reading.table, getattr(model, "n_samples_fit_", None)
    if rows is not None and rows != table.n_rows:
        yield Finding("data", "rows", f"X has {table.n_rows:,} rows, but the model was fitted to {rows:,}")
    differences = find_other_data(again.forests[0], again.codes, again.reading)
    for words, n in differences.items():
        trees = "the trees were" if n == again.forests[0].n_trees else f"{n:,} of the trees were"
        yield Finding("data", "fingerprint", f"{trees} grown from other data: {words}")
    if kept is not None and found is not None and found != kept:
        forged = "" if differences else "; the fingerprints of 64 bits agree, so the data may have been forged to fit"
        yield Finding("data", "hash", f"its cryptographic hash is {found[:16]}…, not {kept[:16]}…{forged}")


def _compare_parameters(model: TreeModel, again: RegrownTrees) -> Iterator[Finding]:
    """Compare the parameters of the estimator with those that the model states for its trees."""
    given, reading, forest = params.gather(model), again.reading, again.forests[0]
    try:
        params.check(given, model.task)
        resolved = params.resolve(given, reading.table, reading.classes, getattr(model, "feature_names_in_", None))
    except WealdError as error:
        yield Finding("parameter", str(error).partition("=")[0], f"the parameters are not valid for the data: {error}")
        return
    for name in differing_names(resolved, model.growth_):
        fields = [f for f, value in vars(resolved).items() if name_of(f) == name and value != getattr(model.growth_, f)]
        ours, told = (", ".join(_shown(getattr(growth, f)) for f in fields) for growth in (resolved, model.growth_))
        yield Finding("parameter", name, f"{name}={given.get(name)!r} means {ours}, but the model states {told}")
    seeds = {seed for seed, _ in again.names}
    if isinstance(model.random_state, int | np.integer) and int(model.random_state) % 2**64 not in seeds:
        text = f"random_state={model.random_state}, but the trees have the seed {min(seeds)}"
        yield Finding("parameter", "random_state", text)
    n_trees = given.get("n_estimators", forest.n_trees)
    if isinstance(n_trees, int | np.integer) and n_trees != forest.n_trees:
        text = f"n_estimators={n_trees}, but the model has {forest.n_trees:,} trees"
        yield Finding("parameter", "n_estimators", text)
    if isinstance(given.get("shrinkage"), int | float) and given["shrinkage"] != forest.shrinkage:
        text = f"shrinkage={given['shrinkage']}, but the trees predict with {forest.shrinkage:g}"
        yield Finding("parameter", "shrinkage", text)
    yield from _compare_origins(again)


def _compare_origins(again: RegrownTrees) -> Iterator[Finding]:
    """Compare the bags that the trees state with the parameters, and find trees that are in the forest twice."""
    growth, names = again.model.growth_, again.names
    for origin in again.forests[0].origins:
        expected = growth.bags(origin.bags.design)
        if origin.bags != expected:
            text = f"the trees state bags of {origin.bags.n_draws:,} draws, the parameters {expected.n_draws:,}"
            yield Finding("parameter", "max_samples", text)
            break
    if len(set(names)) < len(names):
        first = next(tree for tree, name in enumerate(names) if name in names[:tree])
        text = f"tree {first} and tree {names.index(names[first])} are both number {names[first][1]} of one seed"
        yield Finding("tree", str(first), text)


def _explain_trees(
    model: TreeModel, again: RegrownTrees, found: Sequence[tuple[int, Trees]], n_chosen: int
) -> list[Finding]:
    """Name each tree that differs; if none agrees, find the parameter that explains them."""
    findings, names = [], again.names_of_targets()
    if len(found) >= min(n_chosen, 2) > 0 and _way_of(model) == resampling.BAGGING:
        change = _find_change(again, [tree for tree, _ in found])
        if change is not None:
            found_with, claimed = _shown(change.value), _shown(change.claimed)
            text = f"the trees were grown with {change.parameter}: {found_with}, but the model states {claimed}"
            findings.append(Finding("parameter", change.parameter, text))
    for tree, grown in found:
        difference = find_difference(again.take(tree), grown, names)
        assert difference is not None  # noqa: S101  (for the type checker: they were compared)
        target = f" of target {difference.target}" if len(grown) > 1 else ""
        text = (
            f"tree {tree} differs{target} in {difference.what} from node {difference.node} on: {difference.one} in the "
            f"model, {difference.other} when grown again"
        )
        findings.append(Finding("tree", str(tree), text, difference.node))
    return findings


def _shown(value: object) -> str:
    return "no limit" if value == params.UNLIMITED else str(value)


def _find_change(again: RegrownTrees, wrong: Sequence[int]) -> ParameterChange | None:
    """Find a change of one parameter with which trees grow as stored."""
    model = again.model
    seed, _ = again.names[wrong[0]]
    stored = again.take(wrong[0])[0]
    for change in list_changes(stored, model.growth_, model.ccp_alpha, seed, model.task):
        try:
            if all(_grows(again, tree, change) for tree in wrong[:CONFIRMED]):
                return change
        except (WealdError, ValueError):  # not a valid value for this table
            continue
    return None


def _grows(again: RegrownTrees, tree: int, change: ParameterChange) -> bool:
    seed, number = again.names[tree]
    return again.is_equal(tree, again.grow(seed, number, 1, change.growth, change.ccp_alpha))
