"""Laws of saved models: every model that can be fitted can be saved, and is the same when it is loaded.

Parameters have odd but legal values and types, labels are of every kind, and tables have categories and missing values.
A fit may refuse a combination of parameters with a WealdError. Saving may refuse a model with a FormatError, before the
file is written.
"""

import copy
import pickle
import warnings
from collections import OrderedDict
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sklearn.base import clone

import weald
from weald.io.files import estimators

N_ROWS = 24
FAMILIES = {
    "trees": [name for name in estimators() if "Tree" in name and not name.startswith("ExtraTrees")],
    "forests": [name for name in estimators() if name.startswith(("RandomForest", "ExtraTrees"))],
    "kernel forests": [name for name in estimators() if name.startswith("Kernel")],
}

# ------------------------------------------------------------------------------------------------------------- tables


def make_tables():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N_ROWS, 3)), 1)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    kinds = pd.Categorical(np.array(["p", "ü", "r", "s"])[np.arange(N_ROWS) % 4], categories=["s", "r", "ü", "p"])
    frame = pd.DataFrame({"k": kinds, "width": X[:, 0], "": X[:, 1]})
    with_holes = frame.mask(rng.random(frame.shape) < 0.2).assign(
        years=pd.Categorical(np.arange(N_ROWS) % 3 + 2**62), none=pd.Categorical([None] * N_ROWS, categories=["x"])
    )
    ordered = frame.assign(size=pd.Categorical(kinds, ordered=True), flag=np.arange(N_ROWS) % 2 == 0)
    return {
        "numbers": X,
        "float32": X.astype(np.float32),
        "missing values": holes,
        "a frame": frame,
        "a frame with missing values": with_holes,
        "a frame of other types": ordered,
    }


TABLES = make_tables()
PATTERN = (TABLES["numbers"][:, 0] > 0).astype(int)
LABELS = {
    "0 and 1": [0, 1],
    "three": np.array([-1, 0, 2**62]),
    "int8": np.array([-128, 127], dtype=np.int8),
    "unsigned": np.array([0, 2**64 - 1], dtype=np.uint64),
    "big-endian": np.array([1, 2], dtype=">i4"),
    "float32": np.array([0.0, 2.0], dtype=np.float32),
    "float16": np.array([0.0, 2.0], dtype=np.float16),
    "long double": np.array([0.0, 2.0], dtype=np.longdouble),
    "floats": [-0.0, 1e300],
    "bools": [False, True],
    "text": np.array(["a", "a much longer label"]),
    "surrogates": np.array(["\ud800", "\udfff"], dtype=object),
    "a pair of surrogates": np.array(["\ud800\udc00", "b"], dtype=object),
    "zeros in text": np.array(["a", "a\x00"], dtype=object),
    "many texts": np.array([f"{i:02}" for i in range(20)], dtype=object),
    "bytes": np.array([b"a", b"b"]),
    "objects of bytes": np.array([b"a", b"b"], dtype=object),
    "long numbers": np.array([1, 10**400], dtype=object),
    "longer numbers": np.array([1, -(10**4000)], dtype=object),
    "numbers of 40 digits": np.array([10**39, -(10**39)], dtype=object),
    "objects": np.array([1, 2.5], dtype=object),
    "dates": np.array(["2020-01-01", "NaT"], dtype="M8[D]")[[0, 0]] + np.array([0, 1], dtype="m8[D]"),
    "durations": np.array([1, 2], dtype="m8[ns]"),
    "one": ["only"],
}


def make_labels(kind):
    labels = np.asarray(LABELS[kind])
    return labels[(PATTERN + 2 * (np.arange(N_ROWS) % 11)) % len(labels) if len(labels) > 2 else PATTERN % len(labels)]


NUMBERS = {
    "signal": TABLES["numbers"][:, 0] + 0.1 * PATTERN,
    "small": 1e-300 * TABLES["numbers"][:, 1],
    "large": 1e99 * TABLES["numbers"][:, 1],
    "constant": np.full(N_ROWS, -0.0),
    "whole": PATTERN.astype(np.uint8),
    "far from 0": 1e12 + PATTERN,
    "objects": np.array([10**20, 1], dtype=object)[PATTERN],
}

# --------------------------------------------------------------------------------------------------------- parameters


def kernel(one, other):
    return float(one[0] * other[0])


def ratio(y_true, y_pred):
    return np.float32(np.mean(np.asarray(y_true) == np.asarray(y_pred)))


HUGE = 10**41
COUNTS = [np.int64(2), np.uint8(3), HUGE, 10**400]
SHARES = [np.float32(0.4), np.float64(0.4), np.float16(0.4), np.longdouble(0.4), 5e-324]
AMOUNTS = [np.float32(0.01), np.int64(0), 5e-324, 1e-300]
FLAGS = [True, False, np.True_, np.False_]
WEIGHTS = [1, np.int64(2), np.float32(0.5), 5e-324, 1e-308, 1e17, 2**60, 1e308, 0]
VALUES = {
    "n_estimators": [1, np.int64(3), np.uint8(2), np.int8(2), "auto"],
    "max_estimators": [np.int64(12), 2**31 - 1],
    "resampling": ["boosting", np.str_("arcing")],
    "max_depth": [1, "sqrt", *COUNTS],
    "min_samples_split": [*COUNTS, *SHARES],
    "min_samples_leaf": [*COUNTS, *SHARES],
    "min_weight_fraction_leaf": [*AMOUNTS, np.float32(0.1)],
    "max_features": [1, np.int64(2), "all", "log2", *SHARES],
    "max_leaf_nodes": COUNTS,
    "min_impurity_decrease": [*AMOUNTS, HUGE, 10**300],
    "bootstrap": [*FLAGS, "balanced"],
    "oob_score": [*FLAGS, ratio],
    "n_jobs": [1, np.int64(2), -HUGE],
    "random_state": [np.int64(3), np.uint64(2**64 - 1), "generator", "old generator"],
    "verbose": [np.int64(0), np.False_],
    "warm_start": FLAGS,
    "keep_targets": FLAGS,
    "keep_errors": FLAGS,
    "calibrate": [None, "isotonic", "sigmoid", "beta", np.str_("venn-abers")],
    "shrinkage": [0, np.float32(2.5), np.int64(10), 5e-324, 1e300, "oob"],
    "max_samples": [np.int64(9), 0.7, np.float32(0.5), 5e-324, "by class"],
    "ccp_alpha": [*AMOUNTS, 10**300],
    "splitter": ["best", "random"],
    "monotonic_cst": [[1, 0, -1], np.array([0, 1, 0], dtype=np.int8), {"width": np.int64(1)}, {1: np.int8(-1)}],
    "interaction_cst": ["pairwise", [[0, 1], {2}], [(np.int64(0),), ["width"]], [np.array([0, 2])], [range(2)]],
    "feature_weights": [np.array([1, 0, 2]), [5e-324, 1e308, 1], {"width": np.float32(2)}, (1, HUGE, 10**300)],
    "category_penalty": [np.float32(1.5), 1000],
    "voting": ["soft", "hard"],
    "max_bins": [2, np.int64(5), None],
    "engine": ["native", "reference"],
    "categorical_features": [
        [True, False, False],
        np.array([False, True, False]),
        [np.int64(0)],
        (2,),
        range(1),
        None,
        ["k"],
    ],
    "unknown_category": ["missing", "error"],
    "missing": ["learn", "error"],
    "criterion": ["gini", "entropy", "misclassification", "squared_error", "poisson", "absolute_error"],
    "class_weight": ["balanced", "balanced_subsample", "by class", "by class", "by class"],
    "kernel": ["poly", "poly_inhomogeneous", "tanh", "auto", kernel],
    "distance": ["derivative", "correlation", "dtw", kernel],
    "gamma": ["scale", np.float32(0.5), np.int64(1), 5e-324, HUGE, 1e300],
    "degree": [np.int64(2), np.uint8(1), 64],
    "coef0": [np.float32(0.5), np.int64(-1), -HUGE, 1e300],
    "band": [None, np.float32(0.2), np.int64(1), 0],
    "n_prototypes": [9, *COUNTS, *SHARES, "all"],
    "prototypes": [np.zeros((2, 3), dtype=np.float32), [[1, 2, 3], [4, 5, 6]], ((1.0, 2.0, 3.0),)],
    "contrast": FLAGS,
    "mix": [*FLAGS, "auto"],
}


def test_every_parameter_has_odd_values():
    named = {name for kind in estimators().values() for name in kind().get_params()}
    assert named == VALUES.keys()


@st.composite
def classes_of(draw, y):
    """Draw a dict by class of y: keys are labels, of NumPy or Python types."""
    labels = np.unique(y)
    labels = labels.tolist() if draw(st.booleans()) and labels.dtype.kind not in "mM" else list(labels)
    weights = {label: draw(st.sampled_from(WEIGHTS)) for label in labels}
    return draw(st.sampled_from([dict, OrderedDict]))(weights)


@st.composite
def parameters(draw, kind, targets):
    """Draw some parameters of an estimator."""
    names = draw(st.lists(st.sampled_from(sorted(kind().get_params())), max_size=5, unique=True))
    drawn = {name: draw(st.sampled_from(VALUES[name])) for name in names}
    for name, value in drawn.items():
        if isinstance(value, str) and value == "by class":
            each = [draw(classes_of(y)) for y in targets]
            drawn[name] = each[0] if len(each) == 1 or name == "max_samples" else each
        if name == "random_state" and isinstance(value, str):
            drawn[name] = np.random.default_rng(3) if value == "generator" else np.random.RandomState(3)
    return {"random_state": 0, **({"n_estimators": 3} if "n_estimators" in kind().get_params() else {}), **drawn}


@st.composite
def cases(draw, family):
    """Draw an estimator that is not fitted, and X and y."""
    kind = estimators()[draw(st.sampled_from(FAMILIES[family]))]
    X = TABLES[draw(st.sampled_from(sorted(TABLES)))]
    n_targets = draw(st.sampled_from([1, 1, 1, 2, 3])) if family != "kernel forests" else 1
    of = make_labels if "Classifier" in kind.__name__ else NUMBERS.get
    names = LABELS if "Classifier" in kind.__name__ else NUMBERS
    targets = [of(draw(st.sampled_from(sorted(names)))) for _ in range(n_targets)]
    model = kind(**draw(parameters(kind, targets)))
    if n_targets == 1:
        return model, X, targets[0]
    columns = np.empty((N_ROWS, n_targets), dtype=object)
    for place, column in enumerate(targets):
        columns[:, place] = column
    return model, X, columns if "Classifier" in kind.__name__ else columns.astype(float)


# ---------------------------------------------------------------------------------------------------------- same models


def forests(model):
    return [forest.fingerprint() for forest in getattr(model, "forests_", None) or (model.forest_,)]


def learned(model, X):
    """All results of a model, in a form that can be compared."""
    found = {"forests": forests(model), "params": written(model.get_params(), model.seed_), "growth": model.growth_}
    for name in ("predict", "predict_proba", "apply"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    for name in ("classes_", "n_classes_", "n_features_in_", "seed_", "oob_score_", "oob_error_", "feature_names_in_"):
        found[name] = getattr(model, name, None)
    return plain(found)


def written(params, seed):
    """What a file stores of parameters: the seed of a generator, and that there is a function."""
    if hasattr(params["random_state"], "bytes"):
        params["random_state"] = seed
    if callable(params.get("oob_score")):
        params["oob_score"] = True
    return params


def plain(value):
    """Write values so that equal ones are equal, NaN too."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist()), value.dtype.kind
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    return ascii(str(value)) if isinstance(value, float | str) else value


def has_functions(model):
    params = model.get_params()
    return any(callable(params.get(name)) for name in ("kernel", "distance"))


def is_too_odd(model):
    """Whether a file cannot represent something of a model."""
    classes = getattr(model, "classes_", None)
    each = [] if classes is None else classes if isinstance(classes, list) else [classes]
    odd = any(c.dtype.kind == "S" or c.dtype in (np.float16, np.longdouble) for c in each)
    odd = odd or any(
        isinstance(c, bytes | date | timedelta) or c in ("\ud800\udc00", -(10**4000))
        for one in each
        for c in (one if one.dtype.kind in "OU" else ())
    )
    return odd or has_functions(model) or any(type(value) is np.longdouble for value in model.get_params().values())


def by_file(model, folder, **options):
    file = folder / "model.weald"
    mmap = options.pop("mmap", False)
    model.save(file, **options)
    return weald.load(file, mmap=mmap)


WAYS = {
    "file": by_file,
    "file, not compressed": lambda model, folder: by_file(model, folder, compress=False),
    "mappable file": lambda model, folder: by_file(model, folder, mappable=True),
    "mapped file": lambda model, folder: by_file(model, folder, mappable=True, mmap=True),
    "JSON": lambda model, _: weald.from_json(model.to_json(check=False).model),
}
COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deep copy": copy.deepcopy,
}


def hold(model, X, folder):
    """Save a model in all ways, and compare."""
    expected = learned(model, X)
    for name, again in COPIES.items():
        assert learned(again(model), X) == expected, name
    for name, again in WAYS.items():
        if name == "JSON" and hasattr(model, "prototypes_"):
            continue  # only its plain forest supports this
        if is_too_odd(model):
            with pytest.raises(weald.FormatError, match=r"cannot be written to a \.weald file"):
                again(model, folder)
            continue
        assert learned(again(model, folder), X) == expected, name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_a_saved_model_is_the_same_when_it_is_loaded(family, folder, data):
    event(check(data.draw(cases(family)), folder))


def check(case, folder):
    """Fit a model, save it in all ways, and fit it again."""
    model, X, y = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except weald.WealdError:
            return "refused by fit"
        hold(model, X, folder)
        if isinstance(model.random_state, int | np.integer):
            assert forests(clone(model).fit(X, y)) == forests(model)
        if hasattr(model, "prototypes_"):
            hold(model.prototypes_.plain_forest(), model.prototypes_.kernel_matrix(X), folder)
        if is_too_odd(model):
            return "refused by save"
        assert forests(by_file(model, folder).fit(X, y)) == forests(model)
    return "saved"
