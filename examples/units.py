"""Blood pressure, age, gender: the effect of units on the errors of models.

The patients are synthetic.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from gallery import Array, save
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from weald import DecisionTreeClassifier, RandomForestClassifier
from weald.plot.palette import FIRST, SECOND, calm

# Years to days, mmHg to kPa, mg/dl to mmol/l.
OTHER_UNITS = {"age": 365.25, "systolic": 0.1333, "cholesterol": 0.02586, "glucose": 0.0555}


def make_patients(n_rows: int) -> tuple[pd.DataFrame, Array]:
    """Make patients; the risk of heart disease increases with age, pressure and cholesterol, and is higher in men."""
    rng = np.random.default_rng(8)
    age, male = rng.uniform(30, 80, n_rows), rng.random(n_rows) < 0.5
    systolic = 100 + 0.5 * age + rng.normal(scale=14, size=n_rows)
    cholesterol = 160 + 0.6 * age + rng.normal(scale=30, size=n_rows)
    glucose, bmi = rng.lognormal(4.6, 0.2, n_rows), rng.normal(27, 4, n_rows)
    risk = (
        0.07 * (age - 60) + 0.05 * (systolic - 135) + 0.02 * (cholesterol - 200) + 1.2 * male + 0.03 * (glucose - 100)
    )
    ill = rng.random(n_rows) < 1 / (1 + np.exp(-1.6 * risk))
    gender = pd.Categorical(np.where(male, "male", "female"))
    columns = {"age": age, "gender": gender, "systolic": systolic, "cholesterol": cholesterol}
    return pd.DataFrame({**columns, "glucose": glucose, "bmi": bmi}), ill


def in_other_units(patients: pd.DataFrame) -> pd.DataFrame:
    """Convert the same patients to other units; gender has none."""
    return patients.assign(**{name: patients[name] * factor for name, factor in OTHER_UNITS.items()})


def with_dummies(model: Any) -> Any:
    """One-hot encode for models without categorical features."""
    return make_pipeline(make_column_transformer((OneHotEncoder(), ["gender"]), remainder="passthrough"), model)


def draw(quick: bool = False) -> Figure:
    """Draw the errors of four models in clinical units, and in others."""
    X, y = make_patients(400 if quick else 4000)
    half = len(X) // 2
    models = {
        "nearest neighbors": with_dummies(KNeighborsClassifier(15)),
        "support vector machine": with_dummies(SVC()),
        "one tree": DecisionTreeClassifier(min_samples_leaf=20),
        "forest": RandomForestClassifier(20 if quick else 300, min_samples_leaf=5, random_state=0),
    }
    errors = {
        name: [1 - clone(model).fit(T[:half], y[:half]).score(T[half:], y[half:]) for T in (X, in_other_units(X))]
        for name, model in models.items()
    }
    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for place, (clinic, other) in enumerate(errors.values()):
        ax.plot([clinic, other], [place, place], color="#c9d0d7", linewidth=3, zorder=1)
        ax.plot(clinic, place, "o", color=FIRST, markersize=8, label="mmHg, mg/dl, years" if place == 0 else None)
        ax.plot(other, place, "D", color=SECOND, markersize=6, label="kPa, mmol/l, days" if place == 0 else None)
        if np.isclose(clinic, other):
            ax.annotate("the same", (clinic, place), (9, -3), textcoords="offset points", color="#66717d")
    ax.set(yticks=range(len(errors)), yticklabels=list(errors), xlabel="errors on new patients")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    ax.legend(frameon=False)
    calm(ax, grid="x")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
