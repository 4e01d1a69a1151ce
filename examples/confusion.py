"""Confusion matrix of handwritten digits, from out-of-bag predictions."""

from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from weald import RandomForestClassifier
from weald.plot import ConfusionDisplay


def draw(quick: bool = False) -> Figure:
    """Draw the confusion matrix of ten digits."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(50 if quick else 300, oob_score=True, random_state=0).fit(X, y)
    return ConfusionDisplay.from_out_of_bag(forest).figure_


if __name__ == "__main__":
    save(draw(), __file__)
