"""Partial dependence of rents: numbers, categories and missing values, all on one scale."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import save
from weald.plot import DependenceDisplay


def make_rents(n: int = 1500) -> tuple[pd.DataFrame, pd.Series]:
    """Generate flats and their rents; larger flats have more rooms."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"area": rng.gamma(6, 12, n).clip(15, 200)})
    X["rooms"] = (X["area"] / 25 + rng.normal(0, 0.5, n)).round().clip(1, 7)
    X["built"] = rng.integers(1890, 2021, n).astype(float)
    X["district"] = rng.choice(["center", "north", "river", "south"], n, p=[0.25, 0.35, 0.1, 0.3])
    rent = 9 * X["area"] + 250 * X["district"].isin(["center", "river"]) * (X["area"] > 60)
    rent += 120 * (X["built"] > 1990) + rng.normal(0, 80, n)
    X.loc[rng.random(n) < 0.08, "built"] = np.nan
    return X, rent


def draw() -> Figure:
    """Draw the curves of all features."""
    X, rent = make_rents()
    forest = weald.RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, rent)
    display = DependenceDisplay(weald.dependence(forest, X)).plot(columns=2)
    display.figure_.set_size_inches(8.2, 5.4)
    return display.figure_


if __name__ == "__main__":
    save(draw(), __file__)
