"""The grown forest as immutable flat arrays, independent of the engine.

Trees are stored one after the other, and the nodes of a tree in pre-order, so the left child of a node is the next one
and only the right child needs a link. Importances, out-of-bag estimates, reports and files read these arrays.

    Forest          all trees
    Forest.tree(t)  one tree, a view with scikit-learn's names (see `weald.estimators.tree_view.Tree`)
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.errors import DataError

CONTRACT_VERSION = 2
MISSING_LEFT = 1  # bit of `flags`: missing values go left
CATEGORICAL = 2  # bit of `flags`: `threshold` is the number of a set in `category_sets`
OTHERS_LEFT = 4  # bit of `flags` of a categorical split: categories that are not in the set go left


@dataclass(frozen=True)
class Bags:
    """How the bags of trees were drawn from their table."""

    bootstrap: bool
    n_draws: int  # maximum number of draws in a bag
    strata: str = "none"  # what is sampled separately: "none", "class", or strata that were "given"
    draws: tuple[int, ...] = ()  # from each stratum; empty: n_draws from all rows
    design: int = 0  # fingerprint of groups and given strata; 0: there are none


@dataclass(frozen=True)
class Origin:
    """The origin of trees: enough to recompute their bags when the training data is given again.

    `data` is the fingerprint of the training table as codes, `values` that of its values. Neither depends on the order
    of the rows. Codes are ranks: they are the same if a column is in other units.
    """

    seed: int
    first_tree: int
    n_trees: int
    data: int
    bags: Bags
    resampling: str = "bagging"  # "boosting", "arcing": a bag cannot be drawn again without the trees before it
    values: int | None = None  # None: unknown, as in files of earlier versions

    def trees(self) -> list[tuple[int, int]]:
        """Return the seed and the number of each tree."""
        return [(self.seed, tree) for tree in range(self.first_tree, self.first_tree + self.n_trees)]


@dataclass(frozen=True, eq=False, repr=False, slots=True, weakref_slot=True)
class Forest:
    """A forest as flat arrays, all read-only. It never changes: `take` and `join` make new forests.

    It contains nothing else. Packed forms and other caches are in `weald.engines.derived_forms`.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = weald.RandomForestClassifier(n_estimators=3, random_state=1).fit(X, y)
    >>> forest = model.forest_
    >>> forest.n_trees
    3
    >>> forest.take([0, 1]).join(forest.take([2])).fingerprint() == forest.fingerprint()
    True
    """

    n_features: int
    n_classes: int  # 0: regression
    target_center: float
    target_exponent: int

    tree_start: IntArray  # int64, one more than there are trees: node number of each root
    feature: IntArray  # int32, -1 in leaves
    threshold: FloatArray  # x <= threshold goes left; 0 in leaves
    right: IntArray  # int32, number of the right child inside its tree; 0 in leaves
    flags: IntArray  # uint8, MISSING_LEFT | CATEGORICAL | OTHERS_LEFT
    size: IntArray  # uint32, draws with repetition
    weight: FloatArray
    decrease: FloatArray  # decrease of impurity, divided by the root's weight, in units of 2^(-2 * target_exponent)

    # Classification: the class weights of leaf i are leaf_weight[leaf_start[i]:leaf_start[i + 1]]; absent classes are
    # left out. An empty bag, whose rows were all of classes of weight 0, makes a root without classes: the tree has no
    # vote.
    leaf_start: IntArray  # int64
    leaf_class: IntArray  # int32
    leaf_weight: FloatArray
    # Per node. Regression: mean and variance. Two classes with monotonic constraints: the predicted probability of the
    # second class. Otherwise empty.
    value: FloatArray
    impurity: FloatArray

    # Sets of categories: set i is category_sets[category_start[i]:category_start[i + 1]], ascending. It has the
    # categories of the lighter child; all others, seen or not, go to the heavier one. Sets are in the order of nodes.
    category_start: IntArray  # int64
    category_sets: IntArray  # uint32

    tree_weight: FloatArray = field(default_factory=lambda: np.empty(0))  # weights of votes; empty: all equal
    # Weights of nodes and leaves are integers in a unit of the tree. This is the unit in user weights; empty: all 1.
    weight_scale: FloatArray = field(default_factory=lambda: np.empty(0))

    # Lambda of hierarchical shrinkage; 0: none. The arrays are those of the training rows; `weald.forest.shrinkage`
    # computes what nodes predict.
    shrinkage: float = 0.0
    origins: tuple[Origin, ...] = ()
    contract: int = CONTRACT_VERSION  # the version of the contract under which the trees were grown

    def __repr__(self) -> str:
        kind = f"{self.n_classes} classes" if self.task is Task.CLASSIFICATION else "regression"
        return f"<forest: {self.n_trees:,} trees, {self.n_nodes:,} nodes, {self.n_features} features, {kind}>"

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            object.__setattr__(self, name, _locked(array))

    def arrays(self) -> dict[str, Array]:
        """All arrays by name, in canonical order."""
        fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return {name: value for name, value in fields if isinstance(value, np.ndarray)}

    def __reduce__(self) -> tuple[Callable[[bytes], "Forest"], tuple[bytes]]:
        """Pickle the bytes of a file; unpickling performs the same checks as loading."""
        from weald.io.files import read_forest, write_forest

        return read_forest, (write_forest(self),)

    def __copy__(self) -> Self:
        """Return itself: it never changes."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def task(self) -> Task:
        """The kind of target."""
        return Task.of(self.n_classes)

    @property
    def width(self) -> int:
        """Number of values that a tree predicts: one for each class, or one."""
        return self.n_classes if self.task is Task.CLASSIFICATION else 1

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_start) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def n_bytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays().values())

    def fingerprint(self) -> str:
        """SHA-256 of the canonical arrays: equal if and only if the forests are equal.

        Numbers are hashed little-endian, each array after its name, type and length. The origin of the trees and the
        scale of weights are not included; the contract version under which they were grown is, and lambda of a shrunk
        forest.
        """
        digest = hashlib.sha256()
        head = (self.contract, self.n_features, self.n_classes, self.target_center.hex(), self.target_exponent)
        digest.update(repr(head).encode())
        for name, array in self.arrays().items():
            if name == "weight_scale" or (name == "tree_weight" and not array.size):
                continue  # left out: it does not affect predictions, or it is the same for all trees
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            digest.update(f"{name} {little.dtype.str} {little.size}".encode())
            digest.update(little.data)
        if self.shrinkage:
            digest.update(f"shrinkage {self.shrinkage.hex()}".encode())
        return digest.hexdigest()

    def tree_hashes(self) -> list[str]:
        """SHA-256 of each tree: the fingerprint of a forest with only this tree.

        Examples
        --------
        >>> import weald
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
        >>> few, many = (weald.RandomForestClassifier(n, random_state=0).fit(X, y).forest_ for n in (2, 3))
        >>> few.tree_hashes() == many.tree_hashes()[:2]
        True
        """
        return [self.take([tree]).fingerprint() for tree in range(self.n_trees)]

    def take(self, trees: Sequence[int]) -> Self:
        """Make a forest of some of the trees, in the order given."""
        return self._joined([self._slice(t) for t in trees])

    def join(self, *others: Self) -> Self:
        """Make a forest of these trees followed by the others'.

        Decreases are converted to the coarsest of all units; the center of the targets is that of the first forest. If
        the votes of some trees have weights, those of the others have weight 1.
        """
        forests = [self, *others]
        for name, other in itertools.product(("n_features", "n_classes", "contract", "shrinkage"), others):
            if getattr(self, name) != getattr(other, name):
                msg = f"forests of different {name} cannot be joined: {getattr(self, name)} and {getattr(other, name)}"
                raise ValueError(msg)
        exponent = min(forest.target_exponent for forest in forests)
        weighted = any(len(forest.tree_weight) for forest in forests)
        scaled = any(len(forest.weight_scale) for forest in forests)
        if any(len(forest.value) for forest in forests):
            forests = [forest.with_values() for forest in forests]
        forests = [forest.in_units(exponent).with_weights(weighted).with_scales(scaled) for forest in forests]
        parts = [_Part(forest, 0, forest.n_trees) for forest in forests]
        return dataclasses.replace(self._joined(parts), target_exponent=exponent)

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return a forest with some arrays replaced."""
        fields: dict[str, Any] = dict(arrays)  # the type checker does not know which fields are arrays
        return dataclasses.replace(self, **fields)

    def with_weights(self, weighted: bool) -> Self:
        """Set the weight of every vote to 1 if weights are needed and there are none."""
        if not weighted or len(self.tree_weight):
            return self
        return dataclasses.replace(self, tree_weight=np.ones(self.n_trees))

    def with_scales(self, scaled: bool) -> Self:
        """Set the scale of every tree to 1 if scales are needed and there are none."""
        if not scaled or len(self.weight_scale):
            return self
        return dataclasses.replace(self, weight_scale=np.ones(self.n_trees))

    def with_shrinkage(self, shrinkage: float) -> Self:
        """Set lambda of hierarchical shrinkage; 0 undoes it."""
        return self if shrinkage == self.shrinkage else dataclasses.replace(self, shrinkage=float(shrinkage))

    def in_user_weights(self, of_nodes: FloatArray) -> FloatArray:
        """Convert weights of all nodes to the user's scale: sums of sample weight times class weight."""
        if not len(self.weight_scale):
            return of_nodes
        scale = np.repeat(self.weight_scale, np.diff(self.tree_start))
        with np.errstate(over="ignore"):  # sums of the largest weights overflow
            scaled: FloatArray = of_nodes * scale.reshape(scale.shape + (1,) * (of_nodes.ndim - 1))
        return scaled

    def root_weight(self) -> FloatArray:
        """Weight of each tree's root."""
        return self.weight[self.tree_start[:-1]]

    def has_vote(self) -> BoolArray:
        """Mark the trees that have a vote: all whose bags were not empty."""
        has_vote: BoolArray = self.root_weight() > 0
        return has_vote

    def require_votes(self) -> None:
        """Refuse a forest in which no tree has a vote."""
        if not self.has_vote().any():
            raise DataError(
                "None of these trees has a vote: their bags were empty, because all drawn rows are of classes with "
                "class_weight 0. Use more trees of the forest."
            )

    @property
    def vote_total(self) -> float:
        """Total weight of all votes: their number, or the sum of their weights in tree order."""
        if self.task is Task.REGRESSION:
            return self.n_trees
        self.require_votes()
        has_vote = self.has_vote()
        return float(np.cumsum(self.tree_weight[has_vote])[-1]) if len(self.tree_weight) else int(has_vote.sum())

    def voters(self) -> Self:
        """Return a forest of the trees that have a vote."""
        has_vote = self.has_vote()
        return self if has_vote.all() else self.take(np.flatnonzero(has_vote).tolist())

    def with_values(self) -> Self:
        """Store the class weights of nodes of two classes as values, to join them with constrained trees."""
        return self if len(self.value) else dataclasses.replace(self, value=self.probabilities()[:, 1].copy())

    def in_units(self, exponent: int) -> Self:
        """Express decreases in units of 2^(-2 * exponent)."""
        if exponent == self.target_exponent:
            return self
        decrease = np.ldexp(self.decrease, 2 * (exponent - self.target_exponent))
        return dataclasses.replace(self, decrease=decrease, target_exponent=exponent)

    def next_tree(self, seed: int) -> int:
        """Return the first tree number after all trees grown from this seed."""
        return max((o.first_tree + o.n_trees for o in self.origins if o.seed == seed), default=0)

    def _slice(self, tree: int) -> "_Part":
        if not 0 <= tree < self.n_trees:
            msg = f"there is no tree {tree}: the forest has trees 0 to {self.n_trees - 1}"
            raise IndexError(msg)
        return _Part(self, tree, tree + 1)

    def _joined(self, parts: "list[_Part]") -> Self:
        arrays = [part.arrays() for part in parts]
        empty = _Part(self, 0, 0).arrays()
        joined = {name: np.concatenate([empty[name], *(a[name] for a in arrays)]) for name in empty}
        lengths = {
            start: np.concatenate([[0], np.cumsum(joined[start])]).astype(np.int64)
            for start in ("tree_start", "leaf_start", "category_start")
        }
        is_categorical = joined["flags"] & CATEGORICAL != 0
        joined["threshold"][is_categorical] = np.arange(is_categorical.sum())
        origins = [origin for part in parts for origin in part.origins()]
        return dataclasses.replace(self.with_arrays(joined | lengths), origins=merge_origins(origins))

    def as_lengths(self) -> dict[str, Array]:
        """Return the arrays in a form that can be concatenated: starts are replaced by lengths."""
        return _Part(self, 0, self.n_trees).arrays()

    def category_set(self, node: int) -> IntArray:
        """Codes of the categories in the set of a categorical split, ascending.

        They go to the right child if the node has the flag OTHERS_LEFT, else to the left.
        """
        number = int(self.threshold[node])
        found: IntArray = self.category_sets[self.category_start[number] : self.category_start[number + 1]]
        return found

    def leaf_index(self) -> IntArray:
        """For each node the number of leaves before it: for a leaf, its number among all leaves."""
        is_leaf = self.feature < 0
        return np.cumsum(is_leaf) - is_leaf

    def left(self) -> IntArray:
        """Numbers of the left children inside their trees, 0 in leaves (as `right`)."""
        inside = np.arange(self.n_nodes) - np.repeat(self.tree_start[:-1], np.diff(self.tree_start))
        return np.where(self.feature >= 0, inside + 1, 0).astype(np.int32)

    def right_children(self) -> IntArray:
        """Right child of each split, numbered across all trees; for a leaf its root."""
        right: IntArray = np.repeat(self.tree_start[:-1], np.diff(self.tree_start)) + self.right
        return right

    def parents(self) -> IntArray:
        """Parent of each node, numbered across all trees; -1 for roots."""
        parents = np.full(self.n_nodes, -1, dtype=np.int64)
        splits = np.flatnonzero(self.feature >= 0)
        parents[splits + 1] = parents[self.right_children()[splits]] = splits
        return parents

    def levels(self) -> Iterator[IntArray]:
        """Yield the splits of all trees level by level, from the roots down."""
        right, level = self.right_children(), self.tree_start[:-1]
        while len(level := level[self.feature[level] >= 0]):
            yield level
            children = np.concatenate([level + 1, right[level]])
            if np.any(children <= np.tile(level, 2)):  # only possible with arrays mapped from a file
                raise DataError("The arrays are not a forest: a node is its own descendant. Save the model again.")
            level = children

    def depth(self) -> IntArray:
        """Depth of each node; roots are at 0."""
        depth, right = np.zeros(self.n_nodes, dtype=np.int32), self.right_children()
        for below, level in enumerate(self.levels(), start=1):
            depth[level + 1] = depth[right[level]] = below
        return depth

    def class_weights(self) -> FloatArray:
        """Weights of the classes in every node (nodes x classes): exact sums over the leaves below."""
        leaf_of_entry = np.repeat(np.flatnonzero(self.feature < 0), np.diff(self.leaf_start))
        at_leaf = np.zeros((self.n_nodes, self.n_classes))
        at_leaf[leaf_of_entry, self.leaf_class] = self.leaf_weight
        return _sum_subtrees(self, at_leaf)

    def probabilities(self) -> FloatArray:
        """Class fractions of every node (nodes x classes), within monotonic constraints if there are any.

        They do not depend on shrinkage; `weald.forest.shrinkage.predict_nodes` does.
        """
        if len(self.value):
            return np.column_stack([1.0 - self.value, self.value])
        weights = self.class_weights()
        total = weights.sum(axis=1, keepdims=True)
        shares: FloatArray = weights / np.where(total > 0, total, 1.0)  # an empty bag has no classes
        return shares


def _locked(array: Array) -> Array:
    """Make an array and its base arrays read-only; return a view that cannot be made writable again.

    NumPy allows an array to be made writable again if it owns its memory, or if its buffer is writable.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base.flags.writeable = False
        base = base.base
    if array.base is None:
        return array.view()
    try:
        array.flags.writeable = True
    except ValueError:
        return array
    array.flags.writeable = False
    return np.asarray(array.data.toreadonly())


@dataclass(frozen=True)
class _Part:
    """Some consecutive trees of a forest, as arrays whose starts are replaced by lengths."""

    forest: Forest
    begin: int
    end: int

    def arrays(self) -> dict[str, Array]:
        f = self.forest
        nodes = slice(int(f.tree_start[self.begin]), int(f.tree_start[self.end]))
        # A tree has one leaf more than splits, so the number of leaves is (nodes + 1) / 2.
        leaves = slice((nodes.start + self.begin) // 2, (nodes.stop + self.end) // 2)
        per_node = ("feature", "threshold", "right", "flags", "size", "weight", "decrease")
        arrays: dict[str, Array] = {name: getattr(f, name)[nodes] for name in per_node}
        arrays["tree_start"] = np.diff(f.tree_start[self.begin : self.end + 1])
        if f.task is Task.CLASSIFICATION:
            entries = slice(int(f.leaf_start[leaves.start]), int(f.leaf_start[leaves.stop]))
            arrays["leaf_start"] = np.diff(f.leaf_start[leaves.start : leaves.stop + 1])
            arrays["leaf_class"], arrays["leaf_weight"] = f.leaf_class[entries], f.leaf_weight[entries]
            arrays["value"] = f.value[nodes]  # empty, unless leaves are constrained
            arrays["impurity"] = f.impurity
        else:
            arrays["leaf_start"] = np.empty(0, dtype=np.int64)
            arrays["leaf_class"], arrays["leaf_weight"] = f.leaf_class, f.leaf_weight
            arrays["value"], arrays["impurity"] = f.value[nodes], f.impurity[nodes]
        arrays["tree_weight"] = f.tree_weight[self.begin : self.end]
        arrays["weight_scale"] = f.weight_scale[self.begin : self.end]
        numbers = f.threshold[nodes][f.flags[nodes] & CATEGORICAL != 0]
        first = int(numbers[0]) if len(numbers) else 0
        sets = f.category_start[first : first + len(numbers) + 1]
        arrays["category_start"] = np.diff(sets)
        arrays["category_sets"] = f.category_sets[sets[0] : sets[-1]]
        return arrays

    def origins(self) -> list[Origin]:
        found, first = [], 0
        for origin in self.forest.origins:
            begin, end = max(self.begin, first), min(self.end, first + origin.n_trees)
            if begin < end:
                place = origin.first_tree + begin - first
                found.append(dataclasses.replace(origin, first_tree=place, n_trees=end - begin))
            first += origin.n_trees
        return found


def merge_origins(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    """Merge consecutive trees of one run into one origin."""
    merged: list[Origin] = []
    for origin in origins:
        last = merged[-1] if merged else None
        following = last and dataclasses.replace(
            last, first_tree=last.first_tree + last.n_trees, n_trees=origin.n_trees
        )
        if last and following == origin:
            merged[-1] = dataclasses.replace(last, n_trees=last.n_trees + origin.n_trees)
        else:
            merged.append(origin)
    return tuple(merged)


def _sum_subtrees(forest: Forest, at_leaf: FloatArray) -> FloatArray:
    """Sum the leaf values below each node, from the deepest nodes upward.

    The sums of one tree are whole numbers up to about 2^53, so they are exact; sums over several trees would not be.
    """
    sums, right = at_leaf.copy(), forest.right_children()
    for level in reversed(list(forest.levels())):
        sums[level] = sums[level + 1] + sums[right[level]]
    return sums
