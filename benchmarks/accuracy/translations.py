"""Test errors of LightGBM, XGBoost and YDF, and of weald with the translated parameters.

    python -m benchmarks.accuracy.translations [--repeats 5] [--write]

The parameters are those of the tables in docs/coming-from/lightgbm.md and docs/coming-from/ydf.md, into which `--write`
puts the results. Errors are those of 5-fold cross-validation, means over `--repeats` seeds.
"""

import statistics
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import KFold

import weald
from benchmarks import measure

TABLES = {
    "breast cancer": (load_breast_cancer, "classes"),
    "digits": (load_digits, "classes"),
    "diabetes": (load_diabetes, "values"),
}


def lightgbm(task, seed, n_trees):
    import lightgbm as lgb

    kind = lgb.LGBMClassifier if task == "classes" else lgb.LGBMRegressor
    return kind(
        boosting_type="rf", n_estimators=n_trees, num_leaves=63, min_child_samples=5, subsample=0.632, subsample_freq=1,
        feature_fraction_bynode=0.3, max_bin=255, random_state=seed, verbose=-1,
    )  # fmt: skip


def weald_as_lightgbm(task, seed, n_trees):
    limits = {"max_leaf_nodes": 63, "min_samples_leaf": 5, "max_features": 0.3, "max_bins": 255}
    return make_weald(task, n_estimators=n_trees, random_state=seed, **limits)


def xgboost(task, seed, n_trees):
    import xgboost as xgb

    kind = xgb.XGBRFClassifier if task == "classes" else xgb.XGBRFRegressor
    return kind(
        n_estimators=n_trees, max_depth=8, subsample=0.632, colsample_bynode=0.3, max_bin=255, random_state=seed
    )  # fmt: skip


def weald_as_xgboost(task, seed, n_trees):
    limits = {"max_depth": 8, "max_features": 0.3, "max_bins": 255}
    return make_weald(task, n_estimators=n_trees, random_state=seed, **limits)


class Ydf:
    """YDF's forest with the interface of the others."""

    def __init__(self, task, seed, n_trees):
        self.task, self.seed, self.n_trees = task, seed, n_trees

    def fit(self, X, y):
        """Train with YDF's own limits: depth 16, leaves of 5 rows."""
        import ydf

        ydf.verbose(0)
        task = ydf.Task.CLASSIFICATION if self.task == "classes" else ydf.Task.REGRESSION
        limits = {"num_trees": self.n_trees, "max_depth": 16, "min_examples": 5, "random_seed": self.seed}
        self.model_ = ydf.RandomForestLearner(label="y", task=task, **limits).train({"x": X, "y": y})
        return self

    def predict(self, X):
        """Predict classes or values."""
        if self.task == "values":
            return self.model_.predict({"x": X})
        return np.asarray(self.model_.predict_class({"x": X})).astype(int)


def weald_as_ydf(task, seed, n_trees):
    voting = {"voting": "hard"} if task == "classes" else {}
    return make_weald(task, n_estimators=n_trees, max_depth=16, min_samples_leaf=5, random_state=seed, **voting)


def make_weald(task, **parameters):
    kind = weald.RandomForestClassifier if task == "classes" else weald.RandomForestRegressor
    return kind(**parameters)


# Where the table goes, the library -> its package and its forest; the same forest of weald.
PAIRS = {
    ("coming-from/lightgbm.md", "translations-boosters", "LightGBM"): ("lightgbm", lightgbm, weald_as_lightgbm),
    ("coming-from/lightgbm.md", "translations-boosters", "XGBoost"): ("xgboost-cpu", xgboost, weald_as_xgboost),
    ("coming-from/ydf.md", "translations-ydf", "YDF"): ("ydf", Ydf, weald_as_ydf),
}


def error(maker, name, given):
    """Return the mean error of folds and seeds."""
    load, task = TABLES[name]
    X, y = load(return_X_y=True)
    found = []
    for seed in range(given.repeats):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
            model = maker(task, seed, given.trees).fit(X[train], y[train])
            found.append(measure.error_of(task, y[test], model.predict(X[test])))
    mean = statistics.mean(found)
    return f"{100 * mean:.2f} %" if task == "classes" else f"{mean:.2f}"


def main():
    parser = measure.options(__doc__)
    parser.set_defaults(repeats=5)
    parser.add_argument("--trees", type=int, default=200)
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees = 1, 3
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    blocks = {}
    for (page, block, library), (package, theirs, ours) in PAIRS.items():
        if measure.version_of(package):
            rows = [[name, library, error(theirs, name, given), error(ours, name, given)] for name in TABLES]
            blocks.setdefault((page, block), ([], []))
            blocks[page, block][0].extend(rows)
            blocks[page, block][1].append(package)
    for (page, block), (rows, packages) in blocks.items():
        table = measure.markdown(["data", "library", "its error", "weald, same parameters"], rows)
        text = (
            f"{table}\n\nError rate (diabetes: root mean squared error): 5-fold cross-validation, {given.trees} trees, "
            f"{given.repeats} seed{'s' if given.repeats > 1 else ''}. Measured with\n"
            f"`benchmarks/accuracy/translations.py` on {measure.describe_machine(*packages, 'weald')}."
        )
        print(text)
        if given.write:
            measure.write_block(measure.ROOT / "docs" / page, block, text)


if __name__ == "__main__":
    main()
