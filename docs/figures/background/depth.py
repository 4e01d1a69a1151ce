"""Training and test score of trees and forests against the depth limit, and what a limit of the square root of d costs.

`python -m docs.figures.background.depth` draws the picture and writes the table into
docs/guides/choosing-parameters.md.
"""

import datetime as dt
import platform
from pathlib import Path

import numpy as np
import sklearn
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_moons
from sklearn.model_selection import cross_val_score

import weald
from docs.figures.drawing import BARK, LEAF, save

PAGE = Path(__file__).parents[2] / "guides" / "choosing-parameters.md"
DEPTHS = range(1, 16)


def draw() -> Figure:
    """Draw the scores of two overlapping crescents."""
    X, y = make_moons(600, noise=0.35, random_state=0)
    X_new, y_new = make_moons(10_000, noise=0.35, random_state=1)
    kinds = {"tree": weald.DecisionTreeClassifier, "forest": weald.RandomForestClassifier}
    figure = Figure(figsize=(8.2, 3.0), layout="constrained")
    for axes, (name, kind) in zip(figure.subplots(1, 2, sharey=True), kinds.items(), strict=True):
        models = [kind(max_depth=depth, random_state=0, n_jobs=1).fit(X, y) for depth in DEPTHS]
        axes.plot(DEPTHS, [model.score(X, y) for model in models], color=BARK, label="training rows")
        axes.plot(DEPTHS, [model.score(X_new, y_new) for model in models], color=LEAF, label="test rows")
        axes.set(xlabel="depth limit", ylim=(0.75, 1.01))
        axes.set_title(f"one {name}" if name == "tree" else "forest of 100 trees", fontsize=10, loc="left")
        axes.legend(loc="lower right")
    figure.axes[0].set_ylabel("accuracy")
    return figure


def make_table() -> str:
    """Measure forests with and without the limit on tables that scikit-learn ships."""
    tables = {"digits": load_digits, "breast cancer": load_breast_cancer, "diabetes": load_diabetes}
    lines = ["| data | columns | depth limit √d | no limit |", "| --- | --- | --- | --- |"]
    for name, load in tables.items():
        X, y = load(return_X_y=True)
        kind = weald.RandomForestRegressor if name == "diabetes" else weald.RandomForestClassifier
        limited, free = (
            np.mean([cross_val_score(kind(max_depth=depth, random_state=seed), X, y, cv=5).mean() for seed in range(3)])
            for depth in ("sqrt", None)
        )
        lines.append(f"| {name} | {X.shape[1]} | {limited:.3f} | {free:.3f} |")
    note = (
        f"Accuracy, for diabetes R²: 5-fold cross-validation, 100 trees, 3 seeds. `docs/figures/background/depth.py`, "
        f"{dt.datetime.now(tz=dt.UTC).date()}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}, "
        f"weald {weald.__version__}."
    )
    return "\n".join([*lines, "", note])


def write_table() -> None:
    """Put the table between its marks."""
    head, _, rest = PAGE.read_text().partition("<!-- depth -->\n")
    PAGE.write_text(f"{head}<!-- depth -->\n{make_table()}\n<!-- /depth -->{rest.partition('<!-- /depth -->')[2]}")


if __name__ == "__main__":
    save(draw(), __file__)
    write_table()
