"""Gini, entropy and misclassification of two classes."""

from gallery import save
from matplotlib.figure import Figure

from weald.plot import ImpurityDisplay


def draw(quick: bool = False) -> Figure:
    """Draw all classification criteria, scaled to the same height."""
    return ImpurityDisplay.from_criteria().figure_


if __name__ == "__main__":
    save(draw(), __file__)
