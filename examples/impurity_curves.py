"""Three ways to say how mixed two classes are."""

from gallery import save
from matplotlib.figure import Figure

from weald.plot import ImpurityDisplay


def draw(quick: bool = False) -> Figure:
    """Draw all criteria of classes, scaled to one height."""
    return ImpurityDisplay.from_criteria().figure_


if __name__ == "__main__":
    save(draw(), __file__)
