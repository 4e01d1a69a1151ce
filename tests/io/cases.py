"""Models of every kind that a file must represent, for all tests of files."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import weald

N_ROWS = 90


@cache
def table() -> tuple[Any, Any, Any]:
    """A table of numbers, some of them missing, with classes and numbers as targets."""
    dice = np.random.default_rng(7)
    X = dice.normal(size=(N_ROWS, 4)).round(2)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + dice.normal(size=N_ROWS) / 3
    return X, np.digitize(signal, [-0.7, 0.7]), signal


def with_missing(X):
    holes = X.copy()
    holes[::5, 1] = np.nan
    return holes


def with_names_and_categories():
    X, _, signal = table()
    frame = pd.DataFrame(X, columns=["width", "height", "ünïcode", "<b>"])
    frame["color"] = pd.Categorical(np.array(["red", "green", "blue"])[np.digitize(signal, [-1, 1])])
    frame["size"] = pd.Categorical(
        np.array(["S", "M", "L"])[np.arange(N_ROWS) % 3], categories=["S", "M", "L"], ordered=True
    )
    frame["number"] = pd.Categorical(np.arange(N_ROWS) % 70)
    return frame


def forest_of(kind, /, *, n_estimators=6, **parameters):
    return kind(n_estimators=n_estimators, random_state=3, **parameters)


CLASSIFIERS = (weald.RandomForestClassifier, weald.ExtraTreesClassifier)
REGRESSORS = (weald.RandomForestRegressor, weald.ExtraTreesRegressor)


@cache
def models() -> dict[str, tuple[Any, Any]]:
    """Map names to a fitted model and rows to predict."""
    X, classes, signal = table()
    two, frame, labels = classes > 0, with_names_and_categories(), np.array(["low", "middle", "high"])[classes]
    weight = np.random.default_rng(1).random(N_ROWS) + 0.1
    forest, trees = weald.RandomForestClassifier, weald.RandomForestRegressor
    made: dict[str, tuple[Any, Any]] = {}
    for kind in (*CLASSIFIERS, *REGRESSORS):
        target = classes if kind in CLASSIFIERS else signal
        made[kind.__name__] = forest_of(kind).fit(X, target), X
        made[f"{kind.__name__}, missing values"] = forest_of(kind).fit(with_missing(X), target), with_missing(X)
    for kind in (weald.DecisionTreeClassifier, weald.ExtraTreeClassifier):
        made[kind.__name__] = kind(random_state=0).fit(X, classes), X
    for kind in (weald.DecisionTreeRegressor, weald.ExtraTreeRegressor):
        made[kind.__name__] = kind(random_state=0).fit(X, signal), X
    made["KernelForestClassifier"] = forest_of(weald.KernelForestClassifier).fit(X, classes), X
    made["KernelForestRegressor"] = forest_of(weald.KernelForestRegressor).fit(X, signal), X
    events = {"event": np.arange(N_ROWS) % 3 > 0, "time": np.round(np.exp(signal), 1)}
    made["SurvivalTree"] = weald.SurvivalTree(random_state=0).fit(X, events), X
    for kind in (weald.RandomSurvivalForest, weald.ExtraSurvivalTrees):
        made[kind.__name__] = forest_of(kind).fit(with_missing(X), events), with_missing(X)
    made |= {
        "entropy": (forest_of(forest, criterion="entropy", class_weight="balanced").fit(X, classes), X),
        "misclassification": (forest_of(forest, criterion="misclassification").fit(X, classes), X),
        "pruned": (forest_of(forest, ccp_alpha=0.02).fit(X, classes), X),
        "pruned means": (forest_of(trees, ccp_alpha=0.02).fit(X, signal), X),
        "wide leaves": (forest_of(trees, min_samples_leaf=7).fit(X, signal), X),
        "weights": (forest_of(forest, min_samples_leaf=3).fit(X, classes, weight), X),
        "targets of leaves": (forest_of(trees, keep_targets=True, min_samples_leaf=4).fit(X, signal), X),
        "targets of leaves, weights": (
            forest_of(weald.ExtraTreesRegressor, keep_targets=True).fit(X, signal, weight),
            X,
        ),
        "weights without bags": (forest_of(trees, bootstrap=False).fit(X, signal, weight), X),
        "hard votes": (forest_of(forest, voting="hard", max_depth=2).fit(X, labels), X),
        "boosting": (forest_of(forest, resampling="boosting", max_depth=3).fit(X, two), X),
        "arcing": (forest_of(forest, resampling="arcing", max_depth=3).fit(X, labels), X),
        "bound shares": (forest_of(forest, monotonic_cst=[1, 0, -1, 0]).fit(X, two), X),
        "bound means": (forest_of(trees, monotonic_cst=[1, 0, -1, 0]).fit(X, signal), X),
        "shrunk": (forest_of(forest, shrinkage=10.0).fit(X, labels), X),
        "shrunk, two classes": (forest_of(forest, shrinkage=0.5, voting="hard").fit(X, two, weight), X),
        "shrunk means": (forest_of(trees, shrinkage=100.0, keep_targets=True).fit(X, signal), X),
        "categories": (forest_of(forest).fit(frame, labels), frame),
        "categories, means": (forest_of(trees, max_samples=0.5).fit(frame, signal), frame),
        "out of bag": (forest_of(forest, n_estimators=30, oob_score=True).fit(X, labels), X),
        "out of bag, means": (forest_of(trees, n_estimators=30, oob_score=True).fit(X, signal), X),
        "a constant": (forest_of(trees).fit(X, np.full(N_ROWS, 2.5)), X),
        "huge numbers": (forest_of(trees).fit(X * 1e300, signal * 1e300), X),
        "many classes": (forest_of(forest, max_depth=3).fit(X, np.arange(N_ROWS) % 45), X),
        "strata": (forest_of(forest, bootstrap="balanced", class_weight={0: 2.0}).fit(X, classes), X),
        "empty bags": (forest_of(forest, max_samples=2, n_estimators=40, class_weight={2: 0}).fit(X, classes), X),
        "empty bags, bound": (
            forest_of(forest, max_samples=1, n_estimators=12, monotonic_cst=[1, 0, -1, 0], class_weight={False: 0}).fit(
                X, two
            ),
            X,
        ),
        "dates": (forest_of(forest).fit(X, np.array(["2020-01-01", "2021-01-01"], "M8[D]")[two.astype(int)]), X),
    }
    made |= {
        "errors": (forest_of(forest, keep_errors=True, n_estimators=20).fit(X, classes), X),
        "errors of held-out rows": (
            weald.DecisionTreeRegressor(keep_targets=True)
            .fit(X[:60], signal[:60])
            .attach_errors(X[60:], signal[60:], held_out=True),
            X,
        ),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        means = forest_of(trees, keep_errors=True, keep_targets=True, n_estimators=20)
        made["errors, means"] = means.fit(X, signal, np.arange(N_ROWS) % 3), X
        made["errors, few trees"] = forest_of(trees, keep_errors=True).fit(X, signal, weight), X
    one, other = (forest_of(forest).set_params(random_state=seed).fit(X, classes) for seed in (1, 2))
    for method in ("isotonic", "sigmoid", "beta", "venn-abers"):
        target = two if method == "beta" else classes
        made[f"calibrated, {method}"] = forest_of(forest, n_estimators=30, calibrate=method).fit(X, target), X
    made["merged"] = weald.merge([one, other]), X
    far = forest_of(trees).set_params(random_state=9).fit(X, 1000 * signal + 5)
    made["merged means"] = weald.merge([forest_of(trees).fit(X, signal), far]), X
    made["a slice"] = one[1:4], X
    return made


@cache
def of_targets() -> dict[str, tuple[Any, Any]]:
    """The same, for multi-output models."""
    X, classes, signal = table()
    labels = np.array(["low", "middle", "high"])[classes]
    named = np.column_stack([labels, (classes > 0).astype(str)]).astype(object)
    numbers = np.column_stack([signal, 100 * signal**2, np.full(N_ROWS, 2.5)])
    forest, trees = weald.RandomForestClassifier, weald.RandomForestRegressor
    return {
        "several targets": (forest_of(forest, n_estimators=30, oob_score=True).fit(X, named), X),
        "several means": (forest_of(trees, n_estimators=30, oob_score=True).fit(X, numbers), X),
        "the same target twice": (forest_of(trees).fit(with_missing(X), numbers[:, [0, 0]]), with_missing(X)),
        "several targets, categories": (
            forest_of(weald.ExtraTreesClassifier).fit(with_names_and_categories(), named),
            with_names_and_categories(),
        ),
        "several targets, empty bags": (
            forest_of(forest, max_samples=1, n_estimators=12, class_weight=[{"low": 0}, {}]).fit(X, named),
            X,
        ),
        "several targets, shrunk": (forest_of(forest, shrinkage=3.0).fit(X, named), X),
        "several means, shrunk": (forest_of(trees, shrinkage=3.0).fit(X, numbers), X),
        "several targets, a tree": (weald.DecisionTreeClassifier(random_state=0).fit(X, named), X),
        "several means, a tree": (weald.DecisionTreeRegressor(min_samples_leaf=5).fit(X, numbers), X),
    }
