"""Comparing two models: parameters, data, trees, and the first node of each tree that differs.

diff             two models -> a Diff
Diff             what differs
TreeDifference   a pair of trees that differ, and the first node that does
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sklearn.utils.validation import check_is_fitted

from weald.data.short_repr import short_repr
from weald.data.table import TrainingArguments
from weald.data.targets import labels_of
from weald.data.types import ColumnLike, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.merging import same_values
from weald.estimators.multi_output import each_target, forests_of, is_multi_output
from weald.estimators.training_data import read_training_data
from weald.estimators.tree_base import SingleTree
from weald.forest.describe.conditions import Names, questions
from weald.forest.forest import Forest
from weald.inspection.auditing.differences import NodeDifference, find_difference, hash_trees
from weald.inspection.explain_split import explain_split

SHOWN = 8  # trees that are printed
CANDIDATES = 3  # splits of a node that are printed
QUIET = ("n_jobs", "verbose", "engine", "warm_start")  # parameters that do not change a forest


@dataclass(frozen=True)
class TreeDifference:
    """A pair of trees that differ."""

    tree: int  # position in both models
    first: NodeDifference
    why: str = ""  # where data is given: the splits of that node, with their gains

    def __str__(self) -> str:
        first = self.first
        target = f" of target {first.target}" if first.target else ""
        return f"tree {self.tree}{target}, node {first.node}: {first.what} {first.one}, not {first.other}"


@dataclass(frozen=True, repr=False)
class Diff:
    """The differences of two models. Print it.

    Attributes
    ----------
    same : bool
        Whether the trees are equal, bit for bit, and so are predictions.
    facts : tuple of str
        What differs apart from the trees: parameters, seed, data, classes.
    trees : tuple of TreeDifference
        The pairs of trees that differ, by position, with the first node that does, in pre-order.
    moved : dict of int to int
        Trees of the first model that are elsewhere in the second: their positions in both.
    n_trees : tuple of two int
        Trees of each model.
    """

    facts: tuple[str, ...]
    trees: tuple[TreeDifference, ...]
    moved: dict[int, int]
    n_trees: tuple[int, int]

    @property
    def same(self) -> bool:
        """Whether the trees are equal, bit for bit."""
        return not self.trees and self.n_trees[0] == self.n_trees[1]

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        lines = [f"differs: {fact}" for fact in self.facts]
        one, other = self.n_trees
        if one != other:
            lines.append(f"differs: {one:,} trees, not {other:,}")
        compared = min(one, other)
        if not self.trees:
            return "\n".join(
                [*lines, f"trees: {'the first' if one != other else 'all'} {compared:,} are equal, bit for bit"]
            )
        lines.append(f"trees: {len(self.trees):,} of {compared:,} differ")
        if self.moved:
            lines.append(f"       {len(self.moved):,} of them are elsewhere in the second model")
        for difference in self.trees[:SHOWN]:
            lines.append(f"  {difference}")
            lines += [f"    {line}" for line in difference.why.splitlines()]
        if len(self.trees) > SHOWN:
            lines.append(f"  … {len(self.trees) - SHOWN:,} more")
        return "\n".join(lines)


def diff(
    model: TreeModel,
    other: TreeModel,
    X: TableLike = None,
    y: ColumnLike = None,
    sample_weight: ColumnLike = None,
    *,
    groups: ColumnLike = None,
    stratify: ColumnLike = None,
) -> Diff:
    """Compare two models: their parameters, and their trees by position, down to the first node that differs.

    Parameters
    ----------
    model, other : fitted trees or forests of weald
    X, y, sample_weight, groups, stratify : optional
        The training data of one of the models or of both. With it, `why` lists the best splits of the first node that
        differs, with their gains.

    Returns
    -------
    Diff

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> one = weald.RandomForestClassifier(3, random_state=0).fit(X, y)
    >>> two = weald.RandomForestClassifier(3, min_samples_leaf=3, random_state=0).fit(X, y)
    >>> print(weald.diff(one, two))
    differs: min_samples_leaf=1, not 3
    trees: 3 of 3 differ
      tree 0, node 3: split x3 ≤ 1.7, not x2 ≤ 4.75
      tree 1, node 3: split x0 ≤ 6.95, not x0 ≤ 6.65
      tree 2, node 3: split x0 ≤ 5, not x3 ≤ 1.6
    >>> weald.diff(one, one).same
    True
    """
    for given in (model, other):
        if not isinstance(given, TreeModel):
            raise ParameterError(f"diff got a {type(given).__name__}. Give two fitted trees or forests of weald.")
        check_is_fitted(given)
    data = None if X is None else TrainingArguments(X, y, sample_weight, groups, stratify)
    ours, theirs = forests_of(model), forests_of(other)
    facts = tuple(_list_facts(model, other))
    n_trees = (ours[0].n_trees, theirs[0].n_trees)
    if not _have_same_kind(ours[0], theirs[0]) or len(ours) != len(theirs):
        raise ParameterError(f"These models cannot be compared tree by tree: {'; '.join(facts)}.")
    mine, others = hash_trees(ours), hash_trees(theirs)
    wrong = [t for t, pair in enumerate(zip(mine, others, strict=False)) if pair[0] != pair[1]]
    place_of = {found: t for t, found in enumerate(others)}
    moved = {t: place_of[mine[t]] for t in wrong if mine[t] in place_of}
    names = [Names.of(one) for one in each_target(model)]
    trees = []
    for place, t in enumerate(wrong):
        one, two = (tuple(f.take([t]) for f in forests) for forests in (ours, theirs))
        first = find_difference(one, two, names)
        if first is not None:
            why = _explain(model, other, t, first, data) if data is not None and place < SHOWN else ""
            trees.append(TreeDifference(t, first, why))
    return Diff(facts, tuple(trees), moved, n_trees)


def _have_same_kind(one: Forest, other: Forest) -> bool:
    return (one.n_features, one.n_classes) == (other.n_features, other.n_classes)


def _list_facts(model: TreeModel, other: TreeModel) -> Iterator[str]:
    """List what differs apart from the trees."""
    if type(model) is not type(other):
        yield f"{type(model).__name__}, not {type(other).__name__}"
    ours, theirs = (one.get_params(deep=False) for one in (model, other))
    for name in ours:
        if name in theirs and name not in QUIET and repr(ours[name]) != repr(theirs[name]):
            yield f"{name}={ours[name]!r}, not {theirs[name]!r}"
    one, two = forests_of(model)[0], forests_of(other)[0]
    for what, a, b in (
        ("seed", model.seed_, other.seed_),
        ("features", one.n_features, two.n_features),
        ("classes", one.n_classes, two.n_classes),
        ("targets", model.n_outputs_, other.n_outputs_),
        ("version of the contract", one.contract, two.contract),
        ("shrinkage of the trees", one.shrinkage, two.shrinkage),
    ):
        if a != b:
            yield f"{what} {a}, not {b}"
    labels = labels_of(model), labels_of(other)
    if one.n_classes == two.n_classes and not same_values(*labels):
        yield "the labels of the classes"
    data = [{(origin.data, origin.values) for origin in forest.origins} for forest in (one, two)]
    if all(data) and data[0] != data[1]:
        same_codes = {codes for codes, _ in data[0]} == {codes for codes, _ in data[1]}
        yield "the training data" + (", in its values but not in its ranks" if same_codes else "")
    elif vars(model).get("data_hash_") != vars(other).get("data_hash_"):
        kept = [str(vars(m).get("data_hash_", "none"))[:16] for m in (model, other)]
        yield f"data_hash_ {kept[0]}, not {kept[1]}"


def _explain(model: TreeModel, other: TreeModel, tree: int, first: NodeDifference, data: TrainingArguments) -> str:
    """List the best splits of a node by the training data, in each model that was grown from it."""
    if is_multi_output(model):
        return "Splits of multi-output models cannot be listed. Compare models of one target: model.of_target(0)."
    lines = []
    for which, of in (("first", model), ("second", other)):
        try:
            lines.append(f"{which} model: {_explain_node(_tree_of(of, tree), first.node, data)}")
        except (DataError, ParameterError) as error:
            lines.append(f"{which} model: {error}")
    return "\n".join(dict.fromkeys(lines))


def _tree_of(model: TreeModel, tree: int) -> SingleTree:
    found: SingleTree = model if isinstance(model, SingleTree) else model[tree]
    return found


def _explain_node(tree: SingleTree, node: int, data: TrainingArguments) -> str:
    if node >= tree.forest_.n_nodes:
        return f"it has no node {node}"
    names = Names.of(tree)
    found = explain_split(read_training_data(tree, data), node, names)
    (question,) = questions(tree.forest_, names, [node])
    splits = list(zip(found.cuts["gain"], found.cuts["split"], strict=True))
    if not splits:
        return found.why
    listed = "; ".join(f"{words} ({gain:.6f})" for gain, words in splits[:CANDIDATES])
    best = f"its best splits by this data, and their gains: {listed}"
    if question is None:
        return f"{best}. {found.why}"
    return best if question.left == splits[0][1] else f"{best}. The split {question.left} is not the best"
