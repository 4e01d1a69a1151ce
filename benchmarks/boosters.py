"""LightGBM and XGBoost as random forests, by the parameters that the other libraries know.

Both are made for boosting. As forests they draw 63.2 % of the rows without replacement rather than a bag, look at no
more than 256 thresholds of a column, and LightGBM has at most 131,072 leaves in a tree. For several classes they grow a
tree for each.
"""

import importlib

SHARE = 0.632  # of the rows: as many as are in a bag
POOL = 1024  # megabytes; without a limit LightGBM takes memory for all leaves that a tree might have, tens of gigabytes


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
        raise TypeError(f"Boosters take max_features as a share of the features, and not {max_features!r}.")
    return max_features


MAKERS = {"lightgbm": make_lightgbm, "xgboost": make_xgboost}
