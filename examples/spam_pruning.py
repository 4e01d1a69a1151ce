"""Error over the size of the tree, on training messages and on test messages."""

from gallery import save
from matplotlib.figure import Figure
from spam_tree import make_messages

from weald import DecisionTreeClassifier
from weald.plot import PruningDisplay


def draw(quick: bool = False) -> Figure:
    """Grow a full tree, prune it step by step, and evaluate every step."""
    n_rows = 300 if quick else 3000
    X, y, _ = make_messages(n_rows)
    fresh, truth, _ = make_messages(n_rows, seed=1)
    tree = DecisionTreeClassifier().fit(X, y)
    return PruningDisplay.from_estimator(tree, fresh, truth).figure_


if __name__ == "__main__":
    save(draw(), __file__)
