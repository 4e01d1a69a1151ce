"""The plot of a classification tree: iris."""

from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from weald import DecisionTreeClassifier
from weald.plot import TreeDisplay


def draw(quick: bool = False) -> Figure:
    """Draw a tree of four levels."""
    iris = load_iris(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=2).fit(iris.data, iris.target)
    return TreeDisplay.from_estimator(tree, class_names=iris.target_names).figure_


if __name__ == "__main__":
    save(draw(), __file__)
