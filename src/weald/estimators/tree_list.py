"""The trees of a forest, one by one.

TreeList    `estimators_`: the trees of a forest as fitted estimators
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, SupportsIndex, TypeVar, cast, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.targets import labels_of
from weald.engines import params
from weald.estimators.base import TreeModel
from weald.estimators.features import features_of
from weald.estimators.multi_output import forests_of, is_multi_output
from weald.estimators.tree_base import SingleTree

AnyTree = TypeVar("AnyTree", bound=SingleTree)

LEARNED_ALIKE = (
    "growth_",
    "seed_",
    "n_outputs_",
    "n_classes_",
    "altered_by_",
    "unique_times_",
    "event_times_",
)  # equal in a forest and its trees


class TreeList(list[AnyTree]):
    """The trees of a forest as fitted estimators: a separate list, so changing it does not change the forest.

    A tree is created on access. As in scikit-learn, trees of a classifier predict class codes as floats: positions in
    `classes_` of the forest. `class_labels_` of a tree has the labels, which are used to describe trees.

    Examples
    --------
    >>> from weald import RandomForestRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 4.0]
    >>> model = RandomForestRegressor(n_estimators=3, random_state=0, engine="reference").fit(X, y)
    >>> len(model.estimators_)
    3
    >>> sum(tree.predict([[2.5]]) for tree in model.estimators_) / 3 == model.predict([[2.5]])
    array([ True])
    """

    def __init__(self, model: TreeModel, kind: type[AnyTree]) -> None:
        check_is_fitted(model)
        super().__init__(cast("list[AnyTree]", [None] * forests_of(model)[0].n_trees))
        self._trees_of = _TreesOf(model, kind)

    @overload
    def __getitem__(self, which: SupportsIndex) -> AnyTree: ...
    @overload
    def __getitem__(self, which: slice) -> list[AnyTree]: ...
    def __getitem__(self, which: SupportsIndex | slice) -> AnyTree | list[AnyTree]:
        if isinstance(which, slice):
            return [self[t] for t in range(len(self))[which]]
        try:
            number = range(len(self))[which]
        except IndexError:
            raise IndexError(f"There is no tree {which}: the forest has {len(self)}, counted from 0.") from None
        tree = cast("AnyTree | None", super().__getitem__(number))
        if tree is None:
            tree = self._trees_of.make(number)
            super().__setitem__(number, tree)
        return tree

    def __iter__(self) -> Iterator[AnyTree]:
        number = 0
        while number < len(self):
            yield self[number]
            number += 1

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[AnyTree]]]:
        """Pickle and copy as a plain list."""
        return list, ([*self],)

    def make_all(self) -> None:
        """Create all trees that do not exist yet."""
        for _ in self:
            pass


class _TreesOf:
    """Creates fitted estimators of the trees of a forest."""

    def __init__(self, model: TreeModel, kind: type[SingleTree]) -> None:
        self._model = model
        self._kind = kind
        self._shared = params_of_trees(model, kind)
        self._names = [tree for origin in forests_of(model)[0].origins for tree in origin.trees()]

    def make(self, number: int) -> Any:
        """Create a fitted estimator of one tree."""
        model, tree = self._model, self._kind()
        own = _own_random_state(*(self._names[number] if number < len(self._names) else (model.seed_, number)))
        tree.__dict__.update({**self._shared, "random_state": own})
        tree.__dict__.update({name: getattr(model, name) for name in LEARNED_ALIKE if hasattr(model, name)})
        labels = labels_of(model)
        if labels is not None:
            tree.classes_ = [_codes(each) for each in labels] if is_multi_output(model) else _codes(labels)
            tree.class_labels_ = labels
        tree.schema_ = features_of(model).tree_schema
        tree.n_features_in_ = len(tree.schema_.categories)
        if tree.schema_.names is not None:
            tree.__dict__["feature_names_in_"] = np.array(tree.schema_.names, dtype=object)
        if is_multi_output(model):
            tree.forests_ = tuple(forest.take([number]) for forest in model.forests_)
        else:
            tree.forest_ = replace(model.forest_.take([number]), tree_weight=np.empty(0))
        if "leaf_times_" in vars(model):
            tree.__dict__["leaf_times_"] = model.leaf_times_.take([number], tree.forest_)
        return tree


def params_of_trees(model: TreeModel, kind: type[SingleTree]) -> dict[str, Any]:
    """Return the parameters of a forest that its trees have, too."""
    known = kind().get_params()
    shared = {name: value for name, value in params.gather(model).items() if name in known}
    if shared.get("class_weight") == "balanced_subsample":
        shared["class_weight"] = "balanced"  # the bag of a single tree is the whole table
    if "shrinkage" in shared:
        shared["shrinkage"] = model.shrinkage_  # "oob" needs a forest
    return shared


def _codes(labels: Any) -> Any:
    """Return class codes as floats, like those of the trees of scikit-learn's forests."""
    return np.arange(len(labels), dtype=np.float64)


def _own_random_state(seed: int, number: int) -> int:
    """Derive the random_state of a tree. A single tree draws as the first one of a forest, so that one has the seed.

    Those of the others are below 2^31, as in scikit-learn.
    """
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0]) >> 1


def _after_making_all(name: str) -> Callable[..., Any]:
    """Wrap a list method that needs all trees."""
    plain = getattr(list, name)

    def method(self: TreeList[Any], *given: Any, **how: Any) -> Any:
        self.make_all()
        for other in given:
            if isinstance(other, TreeList):
                other.make_all()
        return plain(self, *given, **how)

    method.__name__, method.__doc__ = name, plain.__doc__
    return method


def _add_before(self: TreeList[AnyTree], other: list[AnyTree]) -> list[AnyTree]:
    """Append the trees to another list."""
    return [*other, *self]


# Methods that would see the empty entries of trees that do not exist yet.
for _name in ("append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"):
    setattr(TreeList, _name, _after_making_all(_name))
for _name in ("add", "contains", "delitem", "eq", "ge", "gt", "iadd", "imul", "le", "lt", "mul", "ne", "repr"):
    setattr(TreeList, f"__{_name}__", _after_making_all(f"__{_name}__"))
for _name in ("reversed", "rmul", "setitem"):
    setattr(TreeList, f"__{_name}__", _after_making_all(f"__{_name}__"))
TreeList.__radd__ = _add_before  # type: ignore[attr-defined]
