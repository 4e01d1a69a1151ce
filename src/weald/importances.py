"""How much each feature matters, asked in several ways.

    importance    the function that users call: kinds by name

The kinds live in files of their own: `permutation.py` mixes the values of a feature among rows, `decrease.py` reads how
much cuts lowered the impurity, `dropping.py` grows forests without a feature. The answer is an `Importance`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weald.errors import ParameterError
from weald.params import is_whole
from weald.permutation import Groups, at_trees
from weald.ranking import Importance, names_of
from weald.training import Training, read_again


def importance(
    forest: Any,
    X: Any,
    y: Any,
    *,
    kind: str = "permutation",
    sample_weight: Any = None,
    groups: Mapping[str, Sequence[Any]] | None = None,
    names: Sequence[str] | None = None,
    n_repeats: int = 1,
) -> Importance:
    """Say how much each feature matters to a forest.

    Parameters
    ----------
    forest : RandomForestClassifier or RandomForestRegressor
        A fitted forest.
    X, y : the training data
        Given again, rows in any order: a forest keeps no rows. Its fingerprint is checked.
    kind : {"permutation"}, default="permutation"
        "permutation": mix a feature's values among the out-of-bag rows of a tree; how much larger is the tree's share
        of wrong classes, or its squared error? Averaged over trees (Breiman 2001).
    sample_weight : array, optional
        As given to `fit`.
    groups : dict of name: features, optional
        Features (names or numbers) that are mixed together. Those in no group are left out.
    names : sequence of str, optional
        Names of the features; by default those of the training table.
    n_repeats : int, default=1
        How often each feature is mixed.

    Returns
    -------
    Importance
        With `names`, `values`, `std_error`, `p_value`.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 1] + 0.1 * X[:, 0]
    >>> forest = weald.RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> weald.importance(forest, X, y, names=["a", "b", "c"]).values.argmax()
    np.int64(1)
    """
    if kind not in KINDS:
        raise ParameterError(f"kind={kind!r} is not allowed. Give {', '.join(map(repr, KINDS))}.")
    named = names_of(forest, names)
    found = KINDS[kind](read_again(forest, X, y, sample_weight), group_features(groups, named), n_repeats)
    unit = "increase of the share of wrong classes" if forest.forest_.n_classes else "increase of the squared error"
    grouped = group_features(groups, named)
    return Importance(names=grouped.names, kind=kind, unit=unit, **found)


def group_features(groups: Mapping[str, Sequence[Any]] | None, names: Sequence[str]) -> Groups:
    """Find the features of each group; without groups each feature is one of its own."""
    if groups is None:
        return Groups(tuple(names), tuple((f,) for f in range(len(names))))
    members = tuple(tuple(_number_of(feature, names) for feature in features) for features in groups.values())
    found = [feature for group in members for feature in group]
    if not all(members) or len(set(found)) < len(found):
        raise ParameterError("groups must not be empty, and a feature may be in one of them only.")
    return Groups(tuple(str(name) for name in groups), members)


def _number_of(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ParameterError(f"groups names the feature {feature!r}, which is neither one of {list(names)} nor a number.")


KINDS: dict[str, Callable[[Training, Groups, int], dict[str, Any]]] = {"permutation": at_trees}
