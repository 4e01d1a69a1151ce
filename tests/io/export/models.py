"""Models that are hard to export: each has something that another program may get wrong.

MODELS    name -> function that fits one
fitted    the same, fitted once in a process
"""

from functools import cache

import numpy as np
import pandas as pd

import weald


def make_table(n_rows=400, n_classes=3, missing=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = rng.integers(0, 2, n_rows)
    X[:, 3] = 2.0**52 + rng.integers(0, 40, n_rows)  # neighbors among doubles
    X[:, 4] *= 1e-310
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * np.sin(X[:, 3]) + 0.3 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    if not n_classes:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def make_frame(n_rows=400, seed=0):
    """A table with categories of all kinds: few, more than a word of bits holds, ordered, missing; odd labels."""
    rng = np.random.default_rng(seed)
    odd = ['say "hi"', "back\\slash", "what??/", "größe", "", "line\nbreak"]
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "few": pd.Categorical([odd[i] for i in rng.integers(0, 6, n_rows)]),
            "many": pd.Categorical([f"place {i}" for i in rng.integers(0, 150, n_rows)]),
            "grade": pd.Categorical(
                rng.choice(["low", "middle", "high"], n_rows), categories=["low", "middle", "high"], ordered=True
            ),
            "flag": rng.random(n_rows) < 0.4,
        }
    )
    signal = frame["number"] + 2 * (frame["few"].cat.codes % 2) + np.sin(frame["many"].cat.codes) + frame["flag"]
    frame.loc[rng.random(n_rows) < 0.1, "few"] = None
    frame.loc[rng.random(n_rows) < 0.1, "number"] = np.nan
    return frame, signal.to_numpy()


def _classes(model, n_classes=3, **options):
    return model.fit(*make_table(n_classes=n_classes, **options))


def _categories(model):
    frame, signal = make_frame()
    target = signal if isinstance(model, weald.RandomForestRegressor) else np.where(signal > 1, "yes", "no")
    return model.fit(frame, target)


MODELS = {
    "two classes": lambda: _classes(weald.RandomForestClassifier(7, random_state=1), 2),
    "leaves of several classes": lambda: _classes(weald.RandomForestClassifier(9, min_samples_leaf=7, random_state=2)),
    "hard votes": lambda: _classes(
        weald.RandomForestClassifier(6, min_samples_leaf=9, voting="hard", random_state=3), 4
    ),
    "votes of different weight": lambda: _classes(
        weald.RandomForestClassifier(8, resampling="boosting", max_depth=3, random_state=4)
    ),
    "class weights": lambda: _classes(
        weald.RandomForestClassifier(5, class_weight="balanced", max_depth=4, random_state=5)
    ),
    "empty bags": lambda: _classes(
        weald.RandomForestClassifier(12, max_samples=2, class_weight={0: 0, 1: 0}, random_state=5)
    ),
    "empty bags, hard votes": lambda: _classes(
        weald.RandomForestClassifier(12, max_samples=3, class_weight={0: 0, 1: 0}, voting="hard", random_state=5)
    ),
    "empty bags, bound leaves": lambda: _classes(
        weald.RandomForestClassifier(
            40, max_samples=2, class_weight={1: 0}, monotonic_cst=[1, 0, 0, 0, 0, 0], random_state=6
        ),
        2,
    ),
    "bound leaves": lambda: _classes(
        weald.RandomForestClassifier(6, monotonic_cst=[1, 0, 0, 0, 0, 0], max_depth=5, random_state=6), 2
    ),
    "extra-trees": lambda: _classes(weald.ExtraTreesClassifier(5, random_state=7)),
    "one tree": lambda: _classes(weald.DecisionTreeClassifier(random_state=8)),
    "one leaf": lambda: weald.DecisionTreeClassifier().fit([[1.0], [1.0], [1.0]], ["a", "a", "b"]),
    "some trees are leaves": lambda: weald.RandomForestClassifier(30, random_state=0).fit(
        [[1.0], [2.0], [3.0]], [0, 0, 1]
    ),
    "regression": lambda: _classes(weald.RandomForestRegressor(7, random_state=9), 0),
    "small regression": lambda: _classes(weald.RandomForestRegressor(4, max_depth=3, random_state=10), 0),
    "one regression tree": lambda: _classes(weald.DecisionTreeRegressor(max_depth=4), 0),
    "categories": lambda: _categories(weald.RandomForestClassifier(7, random_state=11)),
    "categories in regression": lambda: _categories(
        weald.RandomForestRegressor(5, min_samples_leaf=3, random_state=12)
    ),
}


@cache
def fitted(name):
    return MODELS[name]()


def has_sets(name):
    """Return whether a model splits by sets of categories."""
    return len(fitted(name).forest_.category_sets) > 0
