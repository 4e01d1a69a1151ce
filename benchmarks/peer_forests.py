"""YDF, ranger and cuML with the interface of the other libraries: fit(X, y) and predict(X).

YDF comes from the package index. ranger runs in R, as `Rscript` finds it; `fit_seconds_` is the time inside R, without
the transfer of the data. cuML needs an NVIDIA GPU; trees have at most depth 64, and 128 thresholds of a column are
evaluated, which is its default.
"""

import importlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def RandomForestClassifier(peer, **parameters):  # noqa: N802  (the name that the other libraries have)
    return PEERS[peer]("classes", **parameters)


def RandomForestRegressor(peer, **parameters):  # noqa: N802
    return PEERS[peer]("values", **parameters)


class Ydf:
    """A forest of Yggdrasil Decision Forests; the columns are the parts of one column `x`."""

    def __init__(self, task, *, n_estimators, max_features, max_depth=None, n_jobs=None, random_state=None):
        self.task = task
        ratio = isinstance(max_features, float)
        self.parameters = {
            "num_trees": n_estimators,
            "num_candidate_attributes_ratio" if ratio else "num_candidate_attributes": max_features,
            "max_depth": max_depth + 1 if max_depth else -1,  # the root has depth 1
            "min_examples": 1,
            "winner_take_all": False,
            "compute_oob_performances": False,
            "num_threads": n_jobs or os.cpu_count(),
            "random_seed": random_state or 0,
        }

    def fit(self, X, y):
        """Train, from arrays."""
        import ydf

        ydf.verbose(0)
        task = ydf.Task.CLASSIFICATION if self.task == "classes" else ydf.Task.REGRESSION
        learner = ydf.RandomForestLearner(label="y", task=task, **self.parameters)
        self.model_ = learner.train({"x": X, "y": y})
        return self

    def predict(self, X):
        """Predict classes or values."""
        if self.task == "values":
            return self.model_.predict({"x": X})
        return np.asarray(self.model_.predict_class({"x": X})).astype(np.int64)


TO_R = """
    suppressMessages(library(ranger)); a <- commandArgs(TRUE); n <- as.integer(a[2]); d <- as.integer(a[3])
    x <- matrix(readBin(file.path(a[1], "X"), "double", n * d), n, d, dimnames = list(NULL, paste0("x", seq_len(d))))
"""
FIT_IN_R = """
    y <- readBin(file.path(a[1], "y"), "double", n)
    if (a[4] == "classes") y <- factor(y)
    t <- proc.time()[[3]]
    model <- ranger(x = x, y = y, num.trees = as.integer(a[5]), mtry = as.integer(a[6]), max.depth = as.integer(a[7]),
                    num.threads = as.integer(a[8]), seed = as.integer(a[9]) + 1L, min.node.size = 1,
                    oob.error = FALSE, verbose = FALSE)
    cat(proc.time()[[3]] - t)
    saveRDS(model, file.path(a[1], "model"))
"""
PREDICT_IN_R = """
    found <- predict(readRDS(file.path(a[1], "model")), x)$predictions
    cat(if (is.factor(found)) as.character(found) else found, sep = "\\n")
"""


class Ranger:
    """A forest of ranger, in a process of R for each call."""

    def __init__(self, task, *, n_estimators, max_features, max_depth=None, n_jobs=None, random_state=None):
        self.task, self.max_features = task, max_features
        self.numbers = [max_depth or 0, n_jobs or os.cpu_count(), random_state or 0]
        self.n_estimators = n_estimators
        self.folder = tempfile.TemporaryDirectory()

    def fit(self, X, y):
        """Write the data, and train in R."""
        mtry = int(self.max_features * X.shape[1]) if isinstance(self.max_features, float) else self.max_features
        Path(self.folder.name, "y").write_bytes(np.asarray(y, dtype=np.float64).tobytes())
        self.fit_seconds_ = float(self._run(FIT_IN_R, X, self.task, self.n_estimators, mtry, *self.numbers))
        return self

    def predict(self, X):
        """Predict in R."""
        return np.array(self._run(PREDICT_IN_R, X).split(), dtype=np.float64)

    def _run(self, script, X, *arguments):
        Path(self.folder.name, "X").write_bytes(np.asarray(X, dtype=np.float64).tobytes(order="F"))
        call = ["Rscript", "-e", TO_R + script, self.folder.name, *map(str, [*X.shape, *arguments])]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
        return done.stdout


def make_cuml(task, *, n_estimators, max_features, max_depth=None, n_jobs=None, random_state=None):
    """A forest on the GPU; n_jobs has no meaning there."""
    name = "RandomForestClassifier" if task == "classes" else "RandomForestRegressor"
    return getattr(importlib.import_module("cuml.ensemble"), name)(
        n_estimators=n_estimators, max_features=max_features, max_depth=max_depth or 64, random_state=random_state,
        output_type="numpy",
    )  # fmt: skip


PEERS = {"ydf": Ydf, "ranger": Ranger, "cuml": make_cuml}
