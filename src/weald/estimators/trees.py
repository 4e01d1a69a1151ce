"""Single decision trees.

DecisionTreeClassifier, DecisionTreeRegressor     every split is the best one
ExtraTreeClassifier, ExtraTreeRegressor           each feature offers one random split
"""

from typing import Unpack

import sklearn.tree

from weald.estimators.parameters import TreeClassifierParams, TreeRegressorParams, parameters, set_parameters
from weald.estimators.tasks import TreeClassifier, TreeRegressor
from weald.estimators.tree_base import SingleTree


@parameters(TreeClassifierParams, criterion="gini")
class DecisionTreeClassifier(SingleTree, TreeClassifier):
    """A decision tree that predicts classes.

    Every split is the best one over all thresholds of the features considered.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    >>> model.get_n_leaves()
    3
    """

    def __init__(self, **given: Unpack[TreeClassifierParams]) -> None:
        set_parameters(self, DecisionTreeClassifier, **given)


@parameters(TreeRegressorParams, criterion="squared_error")
class DecisionTreeRegressor(SingleTree, TreeRegressor):
    """A decision tree that predicts numbers.

    Every split is the best one over all thresholds of the features considered.

    Examples
    --------
    >>> from weald import DecisionTreeRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 6.0]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> model.predict([[0.0], [2.5], [9.0]])
    array([1. , 1. , 5.5])
    """

    def __init__(self, **given: Unpack[TreeRegressorParams]) -> None:
        set_parameters(self, DecisionTreeRegressor, **given)


@parameters(TreeClassifierParams, criterion="gini", splitter="random", max_features="sqrt")
class ExtraTreeClassifier(SingleTree, TreeClassifier):
    """An extremely randomized tree that predicts classes.

    Each feature considered offers one random split, and the best of these is chosen. A single such tree is of little
    use: see `ExtraTreesClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, **given: Unpack[TreeClassifierParams]) -> None:
        set_parameters(self, ExtraTreeClassifier, **given)


@parameters(TreeRegressorParams, criterion="squared_error", splitter="random", max_features=1.0)
class ExtraTreeRegressor(SingleTree, TreeRegressor):
    """An extremely randomized tree that predicts numbers.

    Each feature considered offers one random split, and the best of these is chosen. A single such tree is of little
    use: see `ExtraTreesRegressor`.

    Examples
    --------
    >>> from weald import ExtraTreeRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 6.0]
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).predict(X)
    array([1., 1., 5., 6.])
    """

    def __init__(self, **given: Unpack[TreeRegressorParams]) -> None:
        set_parameters(self, ExtraTreeRegressor, **given)


# scikit-learn's `plot_tree`, `export_text` and `partial_dependence` ask whether a model is a tree of its own classes.
# These trees have what those functions read, so they count as such.
for _tree in (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor):
    getattr(sklearn.tree, _tree.__name__).register(_tree)
