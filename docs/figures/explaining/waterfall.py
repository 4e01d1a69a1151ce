"""SHAP values of one row: from the base value to the prediction."""

from matplotlib.figure import Figure

from docs.figures.drawing import save
from docs.figures.explaining.beeswarm import explain


def draw() -> Figure:
    """Draw the waterfall of one row."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    explain().waterfall(5, figure.subplots(), most=6)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
