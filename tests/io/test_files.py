"""A model that is saved and loaded is the same model."""

import copy
import dataclasses
import os
import pickle
import resource
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import weald
from tests.io.cases import forest_of, models, table, with_names_and_categories
from weald.io import files
from weald.io.packing import pack

NAMES = list(models())
SURVIVAL = ("SurvivalTree", "RandomSurvivalForest", "ExtraSurvivalTrees")
LEAF_TARGETS = ("targets of leaves", "targets of leaves, weights")
KEPT_OUT = {"_training_bags"}  # files and pickles lack the order of the training rows


def same(one, other):
    """Compare the fitted state of two models."""
    assert type(one) is type(other)
    assert repr(one.get_params()) == repr(other.get_params())
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    assert one.forest_.origins == other.forest_.origins
    assert one.growth_ == other.growth_
    assert one.__getstate__().keys() - KEPT_OUT == other.__getstate__().keys() - KEPT_OUT
    for name in ("classes_", "n_classes_", "n_features_in_", "n_outputs_", "seed_", "oob_score_", "oob_error_"):
        assert np.array_equal(getattr(one, name, None), getattr(other, name, None))
        assert getattr(getattr(one, name, None), "dtype", None) == getattr(getattr(other, name, None), "dtype", None)
    return True


def predictions(model, X):
    says = [model.predict(X), model.apply(X)]
    return [*says, model.predict_proba(X)] if hasattr(model, "predict_proba") else says


def equal(one, other):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("options", [{}, {"compress": False}, {"mappable": True}], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_is_the_saved_one(name, options, tmp_path):
    model, X = models()[name]
    file = tmp_path / "model.weald"
    model.save(file, **options)
    again = weald.load(file)
    assert same(model, again)
    assert equal(predictions(model, X), predictions(again, X))
    again.save(tmp_path / "again.weald", **options)
    assert file.read_bytes() == (tmp_path / "again.weald").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_mapped_model_predicts_the_same(name, tmp_path):
    model, X = models()[name]
    file = tmp_path / "model.weald"
    model.save(file, mappable=True)
    mapped = weald.load(file, mmap=True)
    assert same(model, mapped)
    assert equal(predictions(model, X), predictions(mapped, X))


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_carries_the_forest_as_a_file(name):
    model, X = models()[name]
    pickled = pickle.dumps(model)
    assert files.write_forest(model.forest_) in pickled
    again = pickle.loads(pickled)
    assert same(model, again)
    assert equal(predictions(model, X), predictions(again, X))


def test_every_estimator_is_among_the_cases():
    assert {type(model) for model, _ in models().values()} == set(files.estimators().values())


def test_joblib_keeps_a_model(tmp_path):
    model, _ = models()["categories"]
    joblib.dump(model, tmp_path / "model.joblib")
    assert same(model, joblib.load(tmp_path / "model.joblib"))


def test_a_damaged_pickle_is_refused():
    model, _ = models()["RandomForestClassifier"]
    pickled = bytearray(pickle.dumps(model))
    at = bytes(pickled).index(files.write_forest(model.forest_)) + 2500
    pickled[at] ^= 1
    with pytest.raises(weald.FormatError, match="SHA-256"):
        pickle.loads(bytes(pickled))


def test_a_copy_shares_the_forest():
    model, _ = models()["RandomForestClassifier"]
    assert copy.copy(model).forest_ is model.forest_
    assert copy.deepcopy(model).forest_ is model.forest_


# ------------------------------------------------------------------------------------------------------ what is inside


def test_out_of_bag_results_are_kept(tmp_path):
    model, _ = models()["out of bag"]
    model.save(tmp_path / "m.weald")
    again = weald.load(tmp_path / "m.weald")
    assert repr(again.oob_) == repr(model.oob_)
    assert np.array_equal(again.oob_.curve.error, model.oob_.curve.error)
    assert np.array_equal(again.oob_decision_function_, model.oob_decision_function_, equal_nan=True)
    X, classes, _ = table()
    labels = np.array(["low", "middle", "high"])[classes]
    assert again.out_of_bag(X, labels).error == model.oob_.error


def test_categories_and_names_are_kept(tmp_path):
    model, X = models()["categories"]
    model.save(tmp_path / "m.weald")
    again = weald.load(tmp_path / "m.weald")
    assert again.feature_names_in_.tolist() == list(X.columns)
    for one, other in zip(model.categories_, again.categories_, strict=True):
        assert (one is None) == (other is None)
        assert one is None or one.tolist() == other.tolist()
    with pytest.warns(UserWarning, match="a category that does not occur in the training data"):
        again.predict(X.assign(color=pd.Categorical(["violet"] * len(X))))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False]),
        np.array([3, -1], dtype=np.int8),
        np.array([2.0, 1.0], dtype=np.float32),
        np.array(["a", "a much longer label"]),
        np.array(["a", "b"], dtype=object),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[ns]"),
        np.array(["\x00", "\ud800"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    X, classes, _ = table()
    model = weald.DecisionTreeClassifier().fit(X, labels[(classes > 0).astype(int)])
    model.save(tmp_path / "m.weald")
    again = weald.load(tmp_path / "m.weald")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_a_generator_becomes_its_seed(tmp_path):
    X, classes, _ = table()
    model = forest_of(weald.RandomForestClassifier).set_params(random_state=np.random.default_rng(0)).fit(X, classes)
    model.save(tmp_path / "m.weald")
    again = weald.load(tmp_path / "m.weald")
    assert again.random_state == model.seed_
    assert again.fit(X, classes).forest_.fingerprint() == model.forest_.fingerprint()


def test_what_is_no_estimator_of_weald_is_not_written(tmp_path):
    class Mine(weald.DecisionTreeClassifier):
        pass

    with pytest.raises(weald.FormatError, match="not an estimator of weald itself"):
        Mine().fit([[1.0], [2.0]], [0, 1]).save(tmp_path / "m.weald")
    assert list(tmp_path.iterdir()) == []


def test_only_a_mappable_file_can_be_mapped(tmp_path):
    model, _ = models()["RandomForestClassifier"]
    model.save(tmp_path / "m.weald")
    with pytest.raises(weald.FormatError, match="mappable=True"):
        weald.load(tmp_path / "m.weald", mmap=True)


# Regression trees that need more bytes: leaves with different numbers, bounded values or fractional weights.
TAKE_MORE = (*LEAF_TARGETS, "wide leaves", "pruned means", "bound means", "weights without bags", "huge numbers")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SURVIVAL])  # their leaves hold curves
def test_a_node_takes_few_bytes(name):
    """The limit in bytes: twelve per node, and four for each class of a leaf beyond the first."""
    forest = models()[name][0].forest_
    _, arrays = pack(forest)
    n_entries = len(forest.leaf_class) + len(forest.category_sets) - (forest.feature < 0).sum()
    most = (20 if name in TAKE_MORE else 12) * forest.n_nodes + 4 * max(0, n_entries) + 8 * forest.n_trees + 64
    assert sum(a.nbytes for a in arrays.values()) <= most


# --------------------------------------------------------------------------------------------------- saving is atomic


def test_a_full_disk_leaves_the_old_file_whole(tmp_path):
    """RLIMIT_FSIZE makes writing fail half-way, as a full disk does."""
    model, _ = models()["RandomForestClassifier"]
    file = tmp_path / "m.weald"
    model.save(file)
    before = file.read_bytes()
    model.save(tmp_path / "large.weald", mappable=True)
    code = (
        "import resource, signal, sys, weald\n"
        "model = weald.load(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before)}, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    model.save(sys.argv[1], mappable=True)\n"
        "except OSError:\n"
        "    sys.exit(7)\n"
    )
    assert resource.RLIM_INFINITY == -1
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False, timeout=240).returncode == 7
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.weald", "m.weald"]


def test_saving_replaces_a_file_in_one_step(tmp_path, monkeypatch):
    model, _ = models()["DecisionTreeClassifier"]
    file = tmp_path / "m.weald"
    file.write_bytes(b"old")
    seen = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (seen.append(file.read_bytes()), real(a, b)))
    model.save(file)
    assert seen == [b"old"]
    assert same(weald.load(file), model)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        weald.load(tmp_path)


@pytest.mark.parametrize("number", [np.int64(4), np.int32(4), np.uint8(4)], ids=lambda number: type(number).__name__)
@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_number_of_trees_by_numpy_can_be_saved_and_pickled(number, n_targets, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X[:, :n_targets] > 0).astype(int)
    y = y[:, 0] if n_targets == 1 else y
    started = weald.RandomForestClassifier(2, random_state=0, warm_start=True).fit(X, y)
    fitted = weald.RandomForestClassifier(number, random_state=0).fit(X, y)
    for model in (fitted, started.set_params(n_estimators=number).fit(X, y)):
        model.save(tmp_path / "a.weald")
        for again in (weald.load(tmp_path / "a.weald"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_a_regressor_from_scikit_learn_can_be_saved_and_pickled(name, tmp_path):
    from sklearn import ensemble
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(300, random_state=0)
    model = weald.from_sklearn(getattr(ensemble, name)(5, random_state=0).fit(X, y))
    model.save(tmp_path / "a.weald")
    for again in (weald.load(tmp_path / "a.weald"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


# ----------------------------------------------------------------------------------- what is saved can be loaded again


def all_copies(model, folder):
    """Save a model in all ways, and load it again."""
    for options in ({}, {"compress": False}, {"mappable": True}):
        model.save(folder / "m.weald", **options)
        yield weald.load(folder / "m.weald")
    yield weald.load(folder / "m.weald", mmap=True)
    yield pickle.loads(pickle.dumps(model))
    yield copy.deepcopy(model)
    if not hasattr(model, "prototypes_"):
        yield weald.from_json(model.to_json(check=False).model)


@pytest.mark.parametrize("columns", [["k", "a", "b"], ["a", "k", "b"], ["a", "b", "k"]], ids="".join)
def test_a_kernel_forest_with_categories_can_be_saved(columns, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["k"] = pd.Categorical(np.where(rng.random(80) < 0.5, "p", "q"))
    frame = frame[columns]
    y = (frame["k"] == "p") ^ (frame["a"] > 0)
    model = weald.KernelForestClassifier(5, random_state=0).fit(frame, y)
    assert any(c is not None for c in model.prototypes_.plain_forest().categories_)  # or the trees do not cut k
    for again in all_copies(model, tmp_path):
        assert equal(predictions(model, frame), predictions(again, frame))


def test_columns_that_a_kernel_forest_keeps_are_given_to_its_plain_forest_as_numbers(tmp_path):
    frame = with_names_and_categories()
    _, classes, _ = table()
    model = forest_of(weald.KernelForestClassifier).fit(frame, classes)
    plain, matrix = model.prototypes_.plain_forest(), model.prototypes_.kernel_matrix(frame)
    assert any(c is not None for c in plain.categories_)
    for again in (plain, *all_copies(plain, tmp_path)):
        assert equal(predictions(model, frame), predictions(again, matrix))
    tree = model.estimators_[0]
    tree.predict(matrix)


@pytest.mark.parametrize(
    ("kind", "mask"), [(weald.KernelForestClassifier, [True, False, True, False]), (weald.KernelForestRegressor, [0])]
)
def test_a_kernel_forest_with_categorical_features_can_be_saved(kind, mask, tmp_path):
    X, classes, _ = table()
    model = forest_of(kind, categorical_features=mask).fit(np.round(X), classes)
    for again in all_copies(model, tmp_path):
        assert same(model, again)


@pytest.mark.parametrize("labels", [[1, 10**400], [-(10**39), 10**39], [-(10**40), 2**64]], ids=["400", "39", "40"])
def test_labels_of_many_digits_can_be_saved(labels, tmp_path):
    X, classes, _ = table()
    model = weald.DecisionTreeClassifier().fit(X, np.array(labels, dtype=object)[(classes > 0).astype(int)])
    for again in all_copies(model, tmp_path):
        assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 10**41},
        {"max_leaf_nodes": 10**400},
        {"min_impurity_decrease": 10**300},
        {"n_jobs": -(10**41)},
        {"class_weight": {0: 1e308, 1: 1e-308}},
        {"class_weight": {0: 1e308, 1: 1e308, 2: 5e-324}},
        {"class_weight": {0: 2**60, 1: 3.0}},
        {"class_weight": {0: 5e-324, 1: 5e-324, 2: 1e-308}},
    ],
    ids=str,
)
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.filterwarnings("ignore:class_weight weighs the class")
def test_extreme_parameters_can_be_saved(parameters, bootstrap, tmp_path):
    X, classes, _ = table()
    model = forest_of(weald.RandomForestClassifier, bootstrap=bootstrap, **parameters).fit(X, classes)
    for again in all_copies(model, tmp_path):
        assert same(model, again)
        assert equal(predictions(model, X), predictions(again, X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_best_of_a_search_can_be_saved(n_jobs, tmp_path):
    """A grid of NumPy numbers, here and in processes of joblib."""
    X, classes, _ = table()
    search = GridSearchCV(forest_of(weald.RandomForestClassifier), {"n_estimators": np.arange(5, 15, 5)}, cv=2)
    with joblib.parallel_backend("loky"):
        best = search.set_params(n_jobs=n_jobs).fit(X, classes).best_estimator_
    assert isinstance(best.n_estimators, np.integer)
    for again in all_copies(best, tmp_path):
        assert same(best, again)
        assert equal(predictions(best, X), predictions(again, X))
    again = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(copy.copy)(best) for _ in range(2))
    assert all(same(best, one) for one in again)


@pytest.mark.parametrize(
    "label", [b"bytes", -(10**4000), "\ud800\udc00", 1 + 2j], ids=["bytes", "long", "surrogates", "complex"]
)
def test_a_label_that_a_file_cannot_hold_is_refused_before_it_is_written(label, tmp_path):
    X, classes, _ = table()
    model = weald.DecisionTreeClassifier().fit(X, classes > 0)
    model.classes_ = np.array([label, label], dtype=object)
    with pytest.raises(weald.FormatError, match=r"cannot be written to a \.weald file"):
        model.save(tmp_path / "m.weald")
    with pytest.raises(weald.FormatError, match=r"cannot be written to a \.weald file"):
        model.to_json(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


WRONG = {  # an array of a forest, and a number that readers refuse
    "feature": 99,
    "threshold": np.nan,
    "flags": 4,
    "weight": 0.0,
    "decrease": -1.0,
    "leaf_class": 7,
    "leaf_weight": np.inf,
    "value": np.nan,
    "impurity": -1e-9,
    "tree_weight": np.inf,
    "category_sets": 2**32 - 1,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_forest_that_readers_would_refuse_is_not_written(name, tmp_path):
    kinds = {
        "value": "wide leaves",
        "impurity": "wide leaves",
        "tree_weight": "boosting",
        "category_sets": "categories",
    }
    model = copy.copy(models()[kinds.get(name, "RandomForestClassifier")][0])
    array = getattr(model.forest_, name).copy()
    array[0] = WRONG[name]
    if name == "category_sets":  # the first must have two categories to be out of order
        array[:] = WRONG[name]
    model.forest_ = dataclasses.replace(model.forest_, **{name: array})
    for options in ({}, {"mappable": True}):
        with pytest.raises(weald.FormatError):
            model.save(tmp_path / "m.weald", **options)
    with pytest.raises(weald.FormatError):
        pickle.dumps(model)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"), [("n_classes_", 9), ("seed_", 1), ("n_features_in_", 9), ("feature_names_in_", np.array(["a"]))]
)
def test_a_model_whose_parts_contradict_one_another_is_not_written(name, value, tmp_path):
    model = copy.copy(models()["RandomForestClassifier"][0])
    vars(model)[name] = value
    if name == "seed_":
        del model.seed_
    with pytest.raises(weald.FormatError, match="This model cannot be saved"):
        model.save(tmp_path / "m.weald")
    assert list(tmp_path.iterdir()) == []


def made_of(model):
    """Other models derived from a model."""
    if not model.shrinkage_ and not hasattr(model, "event_times_"):
        yield model.compact()
    if hasattr(model, "thin"):
        model = model.calibrated(None) if hasattr(model, "calibrator_") else model
        yield model.thin(n_trees=1)
        yield model.estimators_[0]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_of_a_model_can_be_saved(name, tmp_path):
    model, X = models()[name]
    for one in made_of(model):
        rows = (
            model.prototypes_.kernel_matrix(X)
            if hasattr(model, "prototypes_") and not hasattr(one, "prototypes_")
            else X
        )
        for again in all_copies(one, tmp_path):
            assert same(one, again)
            assert equal(predictions(one, rows), predictions(again, rows))
            assert getattr(again, "thinning_", None) == getattr(one, "thinning_", None)


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.KernelForestClassifier])
@pytest.mark.parametrize("random_state", [np.random.default_rng, np.random.RandomState])
def test_the_seed_that_a_generator_gave_grows_the_same_forest(kind, random_state, tmp_path):
    X, classes, _ = table()
    few = {"n_prototypes": 9} if kind is weald.KernelForestClassifier else {}
    model = kind(4, random_state=random_state(0), **few).fit(X, classes)
    model.save(tmp_path / "m.weald")
    assert weald.load(tmp_path / "m.weald").fit(X, classes).forest_.fingerprint() == model.forest_.fingerprint()


def test_a_pickle_is_read_whatever_memory_its_forest_takes(monkeypatch, tmp_path):
    model, _ = models()["RandomForestClassifier"]
    model.save(tmp_path / "m.weald")
    monkeypatch.setattr(files, "_half_of_memory", lambda: 10_000)
    assert same(model, pickle.loads(pickle.dumps(model)))
    with pytest.raises(weald.FormatError, match="Set max_bytes"):
        weald.load(tmp_path / "m.weald")
    assert same(model, weald.load(tmp_path / "m.weald", max_bytes=10**9))
