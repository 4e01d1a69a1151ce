"""The data sets of the benchmarks, generated with fixed seeds or taken from scikit-learn: nothing is downloaded.

DATA_SETS             by name: description, number of rows, number of trees
LARGE_SETS            the same, for subsets of many sizes
load(name, n_train)   -> Split(X_train, y_train, X_test, y_test), generated once and cached in $WEALD_BENCH_DATA

The synthetic data sets cover the shapes that determine training time: many rows with a clear signal, many rows with a
weak signal, mostly binary columns with several imbalanced classes, many columns, and little data.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

# The file name contains a hash of this code, so no script reads data of an older generator.
VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
FOLDER = Path(os.environ.get("WEALD_BENCH_DATA", Path(tempfile.gettempdir()) / "weald-bench-data")) / VERSION


class Split(NamedTuple):
    """A table split into training and test data."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True)
class DataSet:
    """A data set; `make(n)` returns X and y with n rows."""

    title: str
    task: str  # "classes" or "values"
    n_train: int
    n_test: int
    n_trees: int
    make: Callable[[int], tuple[np.ndarray, np.ndarray]]


def clusters(n_features, n_informative, seed, **options):
    """Two classes of four clusters each, in some of the columns; the others are noise."""

    def make(n):
        return datasets.make_classification(
            n, n_features, n_informative=n_informative, n_redundant=n_informative // 4, n_clusters_per_class=4,
            random_state=seed, **options,
        )  # fmt: skip

    return make


def forest_cover(n):
    """Ten integer columns, two categorical features as 4 + 40 binary columns, seven imbalanced classes."""
    rng = np.random.default_rng(102)
    land = rng.normal(size=(n, 10))
    land[:, 1:4] += 0.5 * land[:, :1]
    area = np.argmax(land[:, :2] @ rng.normal(size=(2, 4)) * 2 + rng.normal(size=(n, 4)), axis=1)
    soil = np.argmax(land[:, :4] @ rng.normal(size=(4, 40)) * 2 + rng.gumbel(size=(n, 40)), axis=1)
    weight = np.array([1.4, 0.5, 0.5, 0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05])[:, None]
    waves = np.sin(land @ (rng.normal(size=(10, 24)) * weight))
    score = waves @ rng.normal(size=(24, 7)) + rng.normal(size=(4, 7))[area] + 1.5 * rng.normal(size=(40, 7))[soil]
    common = np.array([2.6, 3.2, 0.6, -1.5, -0.8, -0.2, 0.2])
    y = np.argmax(score + common + 0.1 * rng.gumbel(size=(n, 7)), axis=1)
    unit = np.array([280, 110, 8, 210, 58, 1500, 27, 20, 38, 1300])
    return np.hstack([np.round(land * unit), np.eye(4)[area], np.eye(40)[soil]]), y


def collisions(n):
    """Momenta and angles of seven particles and seven derived masses, with measurement errors; a weak signal."""
    rng = np.random.default_rng(103)
    momentum, height, angle = rng.gamma(2, 0.5, (n, 7)), rng.normal(size=(n, 7)), rng.uniform(-np.pi, np.pi, (n, 7))

    def mass(i, j):
        spread = np.cosh(height[:, i] - height[:, j]) - np.cos(angle[:, i] - angle[:, j])
        return np.sqrt(2 * momentum[:, i] * momentum[:, j] * spread)

    masses = np.stack([mass(i, (i + 1) % 7) for i in range(7)], axis=1)
    score = np.tanh(masses[:, :4] - 1.2) @ [1.1, -0.9, 0.8, -0.7]
    score += 0.4 * np.sin(2 * masses[:, 4]) * masses[:, 5] + 0.5 * (momentum[:, 0] - 1)
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-1.1 * (score - score.mean())))
    masses *= np.exp(0.15 * rng.normal(size=masses.shape))
    return np.hstack([momentum, height, angle, masses]), y


def hundred_classes(n):
    """A hundred classes, one cluster each; the clusters overlap."""
    return datasets.make_classification(
        n, 20, n_informative=12, n_redundant=4, n_classes=100, n_clusters_per_class=1, class_sep=1.5, random_state=109
    )


def echoes(n_features, seed):
    """Two classes by the product of two latent variables; each column is one of ten latent variables plus noise.

    Any number of first columns is equally informative.
    """

    def make(n):
        rng = np.random.default_rng(seed)
        hidden = rng.normal(size=(n, 10)).astype(np.float32)
        noise = rng.standard_normal(size=(n, n_features), dtype=np.float32)
        return hidden[:, np.arange(n_features) % 10] + noise, hidden[:, 0] * hidden[:, 1] > 0

    return make


def friedman(n_features, seed):
    """Friedman's first function of five columns, with noise; the other columns are irrelevant."""
    return lambda n: datasets.make_friedman1(n, n_features, noise=1.0, random_state=seed)


def shipped(name):
    """One of the data sets inside scikit-learn, shuffled."""

    def make(n):
        X, y = getattr(datasets, name)(return_X_y=True)
        chosen = np.random.default_rng(110).permutation(len(y))[:n]
        return X[chosen], y[chosen]

    return make


DATA_SETS = {
    "clusters": DataSet("two classes", "classes", 100_000, 50_000, 100, clusters(50, 20, 101, flip_y=0.05)),
    "cover": DataSet("seven classes, mostly binary", "classes", 300_000, 100_000, 20, forest_cover),
    "collisions": DataSet("two classes, weak signal", "classes", 1_000_000, 200_000, 10, collisions),
    "wide": DataSet(
        "two classes, wide", "classes", 5_000, 5_000, 100, clusters(2_000, 50, 104, flip_y=0.02, class_sep=2.0)
    ),
    "small": DataSet("two classes, small", "classes", 1_000, 10_000, 100, clusters(20, 10, 105, flip_y=0.02)),
    "hundred": DataSet("hundred classes", "classes", 100_000, 20_000, 20, hundred_classes),
    "friedman": DataSet("regression", "values", 200_000, 50_000, 20, friedman(40, 106)),
    "friedman-small": DataSet("regression, small", "values", 5_000, 5_000, 100, friedman(20, 107)),
    # Named as in scikit-learn.
    "load_digits": DataSet("digits", "classes", 1_000, 797, 100, shipped("load_digits")),
    "load_breast_cancer": DataSet("breast cancer", "classes", 300, 269, 100, shipped("load_breast_cancer")),
    "load_iris": DataSet("iris", "classes", 100, 50, 10, shipped("load_iris")),
    "load_diabetes": DataSet("diabetes", "values", 300, 142, 100, shipped("load_diabetes")),
}

LARGE_SETS = {
    "many-rows": DataSet("two classes, weak signal", "classes", 3_000_000, 0, 10, collisions),
    "many-columns": DataSet("two classes, echoes", "classes", 3_000, 0, 100, echoes(10_000, 111)),
}


def load(name, n_train=None):
    """Read a data set, generated on first use; `n_train` limits the training rows."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        keep(path, (DATA_SETS | LARGE_SETS)[name])
    with np.load(path) as parts:
        split = Split(*(parts[part] for part in Split._fields))
    return (
        split if n_train is None else split._replace(X_train=split.X_train[:n_train], y_train=split.y_train[:n_train])
    )


def keep(path, data_set):
    X, y = data_set.make(data_set.n_train + data_set.n_test)
    X = np.ascontiguousarray(X, dtype=np.float32)
    y = y.astype(np.int32 if data_set.task == "classes" else np.float64)
    n = data_set.n_train
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written under a temporary name, so that other processes never read an incomplete file.
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
        np.savez(file, X_train=X[:n], y_train=y[:n], X_test=X[n:], y_test=y[n:])
    Path(file.name).replace(path)
