"""Typical user code. It is never run: mypy must accept it in strict mode."""

import numpy as np
import numpy.typing as npt

import weald
from weald.estimators.tree_view import Tree
from weald.forest.forest import Forest
from weald.plot import BoundaryDisplay, TreeDisplay


def accuracy(y_true: npt.NDArray[np.generic], y_pred: npt.NDArray[np.generic]) -> float:
    """A metric as users write it."""
    return float(np.mean(y_true == y_pred))


X: npt.NDArray[np.float64] = np.zeros((4, 2))
y = np.array(["a", "b", "a", "b"])

forest = weald.RandomForestClassifier(
    100,
    criterion="entropy",
    max_depth="sqrt",
    min_samples_leaf=0.1,
    max_features=0.5,
    oob_score=accuracy,
    random_state=np.random.default_rng(0),
    class_weight={"a": 2.0},
    max_samples=3,
    max_bins=None,
    voting="hard",
).fit(X, y, sample_weight=[1, 2, 3, 4])
shares: npt.NDArray[np.float64] = forest.predict_proba(X)
votes: npt.NDArray[np.float64] = forest.predict_votes(X)
error: float = forest.oob_error_
share: float = forest.oob_fraction_
grown: Forest = forest.forest_
fingerprint: str = forest.forest_.fingerprint()
first: weald.DecisionTreeClassifier = forest.estimators_[0]
some: list[weald.DecisionTreeClassifier] = forest.estimators_[1:3]
nodes: Tree = first.tree_
text: str = first.export_text(max_depth=3)
rules: list[str] = first.rules(feature_names=["height", "width"])
impurity: float = first.prune(0.1).total_impurity() + first.training_error()
chosen: float = first.choose_alpha(X, y, method="holdout").alpha
why: str = first.explain_split(0, X, y).why
predicted: str = first.explain_row([1.0, 2.0]).steps[0].words
drawn: npt.NDArray[np.generic] = forest.predict(X, rule="sample", repeat=3)
n_leaves: list[int] = [tree.get_n_leaves() for tree in forest.estimators_]
seed: int = forest.seed_

regressor: weald.RandomForestRegressor = weald.RandomForestRegressor(max_features="third").fit(X, [1.0, 2.0, 3.0, 4.0])
means: npt.NDArray[np.float64] = regressor.predict(X)
importances: npt.NDArray[np.float64] = regressor.feature_importances_
depth: int = weald.DecisionTreeRegressor(max_leaf_nodes=8, engine="reference").fit(X, y).get_depth()

page: str = weald.export_html(first, "tree.html", feature_names=["a", "b"])
TreeDisplay.from_estimator(forest, tree=3, max_depth=None).figure_.savefig("tree.svg")
exact: bool = BoundaryDisplay.from_estimator(forest, X, y).exact

try:
    weald.DecisionTreeClassifier(max_depth=0).fit(X, y)
except weald.ParameterError as problem:
    message: str = str(problem)
