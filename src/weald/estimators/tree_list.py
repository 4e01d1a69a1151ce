"""The trees of a forest, one by one.

TreeList    `estimators_`: the trees of a forest, as a list of fitted estimators
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.engines import params
from weald.estimators.base import TreeModel
from weald.estimators.features import features_of
from weald.estimators.multi_output import forests_of, is_multi_output
from weald.estimators.tree_base import SingleTree

AnyTree = TypeVar("AnyTree", bound=SingleTree)


class TreeList(Sequence[AnyTree], Generic[AnyTree]):
    """The trees of a forest as fitted estimators, made when they are asked for.

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
        self._model = model
        self._kind = kind

    def __len__(self) -> int:
        return forests_of(self._model)[0].n_trees

    @overload
    def __getitem__(self, which: int) -> AnyTree: ...
    @overload
    def __getitem__(self, which: slice) -> list[AnyTree]: ...
    def __getitem__(self, which: int | slice) -> AnyTree | list[AnyTree]:
        if isinstance(which, slice):
            return [self._make(t) for t in range(len(self))[which]]
        try:
            number = range(len(self))[which]
        except IndexError:
            raise IndexError(f"There is no tree {which}: the forest has {len(self)}, counted from 0.") from None
        return self._make(number)

    def __iter__(self) -> Iterator[AnyTree]:
        return (self._make(t) for t in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} trees>"

    def _make(self, number: int) -> AnyTree:
        """Make a fitted estimator of one tree."""
        model, tree = self._model, self._kind()
        shared = {name: value for name, value in params.gather(model).items() if name in tree.get_params()}
        if shared.get("class_weight") == "balanced_subsample":
            shared["class_weight"] = "balanced"  # a single tree has no bag but the table
        tree.set_params(**{**shared, "random_state": model.seed_})
        learned = ("growth_", "seed_", "n_outputs_", "classes_", "n_classes_")
        tree.__dict__.update({name: getattr(model, name) for name in learned if hasattr(model, name)})
        tree.schema_ = features_of(model).tree_schema
        tree.n_features_in_ = len(tree.schema_.categories)
        if tree.schema_.names is not None:
            tree.__dict__["feature_names_in_"] = np.array(tree.schema_.names, dtype=object)
        if is_multi_output(model):
            tree.forests_ = tuple(forest.take([number]) for forest in model.forests_)
        else:
            tree.forest_ = replace(model.forest_.take([number]), tree_weight=np.empty(0))
        return tree
