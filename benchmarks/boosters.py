"""LightGBM and XGBoost as random forests, with scikit-learn's parameter names.

Both are gradient boosting libraries. In random forest mode they draw 63.2 % of the rows without replacement instead of
a bootstrap sample, consider at most 256 thresholds per column, and LightGBM limits a tree to 131,072 leaves. In
multiclass problems they grow one tree per class.
"""

import importlib

SHARE = 0.632  # fraction of the rows, the same as in a bag
POOL = 1024  # megabytes; without a limit LightGBM allocates memory for the maximum number of leaves, tens of gigabytes


def RandomForestClassifier(booster, **parameters):  # noqa: N802  (the name that the other libraries have)
    return MAKERS[booster]("Classifier", **parameters)


def RandomForestRegressor(booster, **parameters):  # noqa: N802
    return MAKERS[booster]("Regressor", **parameters)


def make_lightgbm(kind, *, n_estimators, max_features, max_depth=None, n_jobs=None, random_state=None):
    return getattr(importlib.import_module("lightgbm"), f"LGBM{kind}")(
        boosting_type="rf", n_estimators=n_estimators, n_jobs=n_jobs, random_state=random_state, verbose=-1,
        max_depth=max_depth or -1, num_leaves=min(131_072, 2 ** (max_depth or 17)), min_child_samples=1,
        min_child_weight=0, subsample=SHARE, subsample_freq=1, feature_fraction_bynode=share(max_features),
        histogram_pool_size=POOL,
    )  # fmt: skip


def make_xgboost(kind, *, n_estimators, max_features, max_depth=None, n_jobs=None, random_state=None):
    return getattr(importlib.import_module("xgboost"), f"XGBRF{kind}")(
        n_estimators=n_estimators, n_jobs=n_jobs, random_state=random_state, tree_method="hist",
        max_depth=max_depth or 0, min_child_weight=1e-6, reg_lambda=1e-5, subsample=SHARE,
        colsample_bynode=share(max_features),
    )  # fmt: skip


def share(max_features):
    if not isinstance(max_features, float):
        raise TypeError(f"Boosters take max_features as a fraction of the features, not {max_features!r}.")
    return max_features


MAKERS = {"lightgbm": make_lightgbm, "xgboost": make_xgboost}
