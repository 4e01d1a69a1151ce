"""Extremely randomized trees: each feature offers one cut at a random place, and the best of those few is taken.

ExtraTreesClassifier, ExtraTreesRegressor     forests of such trees, from all rows
ExtraTreeClassifier, ExtraTreeRegressor       one such tree

They are weald's forests and trees with another way to cut and other defaults. They follow them in all else: parameters,
attributes, and what the documentation says of both.
"""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from weald.estimators.docstrings import take_over
from weald.estimators.forests import RandomForestClassifier, RandomForestRegressor
from weald.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor

Kind = TypeVar("Kind", bound=type)


def with_defaults(**defaults: Any) -> Callable[[Kind], Kind]:
    """Give an estimator the parameters of the one that it is made from, some with other defaults, and their docs."""

    def change(kind: Kind) -> Kind:
        above: Any = kind.__mro__[1]
        signature = inspect.signature(above.__init__)
        parameters = [p.replace(default=defaults.get(p.name, p.default)) for p in signature.parameters.values()]
        signature = signature.replace(parameters=parameters)

        def init(self: Any, *args: Any, **given: Any) -> None:
            bound = signature.bind(self, *args, **given)
            bound.apply_defaults()
            above.__init__(*bound.args, **bound.kwargs)

        vars(init)["__signature__"] = signature  # where scikit-learn looks for the names of parameters
        setattr(kind, "__init__", init)  # noqa: B010  (mypy allows no other way)
        take_over(kind, above, partial(_with_new_defaults, defaults))
        return kind

    return change


def _with_new_defaults(defaults: dict[str, Any], shared: str) -> str:
    """Tell of parameters with their new defaults."""
    shared = shared.replace("of DecisionTree", "of ExtraTree")
    for name, default in defaults.items():
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        shared = re.sub(rf"(\n    {name} : .*default=).*", rf"\g<1>{shown}", shared)
    return shared


@with_defaults(splitter="random", max_features="sqrt")
class ExtraTreeClassifier(DecisionTreeClassifier):
    """An extremely randomized tree that predicts classes.

    Each feature looked at offers one cut at a random place, and the best of these is taken. One such tree is of little
    use by itself: see the forests of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """


@with_defaults(splitter="random", max_features=1.0)
class ExtraTreeRegressor(DecisionTreeRegressor):
    """An extremely randomized tree that predicts numbers.

    Each feature looked at offers one cut at a random place, and the best of these is taken. One such tree is of little
    use by itself: see the forests of them.

    Examples
    --------
    >>> from weald import ExtraTreeRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 6.0]
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).predict(X)
    array([1., 1., 5., 6.])
    """


@with_defaults(bootstrap=False)
class ExtraTreesClassifier(RandomForestClassifier):
    """A forest of extremely randomized trees that predicts classes.

    Each tree sees all rows, each node a draw of features, and each of these offers one cut at a random place between
    the smallest and the largest value of the node. The best of them is taken. Trees are quicker to grow than those of a
    random forest, larger, and less alike.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _splitter = "random"
    _kind_of_tree = ExtraTreeClassifier


@with_defaults(bootstrap=False, max_features=1.0)
class ExtraTreesRegressor(RandomForestRegressor):
    """A forest of extremely randomized trees that predicts numbers.

    Each tree sees all rows, each node all features (or a draw of them), and each of these offers one cut at a random
    place between the smallest and the largest value of the node. The best of them is taken. Trees are quicker to grow
    than those of a random forest, larger, and less alike.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> 0.3 < model.score(X[1::2], y[1::2]) < 0.6
    True
    """

    _splitter = "random"
    _kind_of_tree = ExtraTreeRegressor
