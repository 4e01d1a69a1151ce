"""`engine="cuda"`: what it asks for, what it leaves to the CPU, and what stays as it is."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import weald
from tests.engines.cuda.emulator import Emulator
from weald.engines import choose
from weald.engines.cuda.engine import CudaEngine

DEVICE = Emulator()


@pytest.fixture
def opened(monkeypatch):
    """Engines that `engine="cuda"` opens, on an emulated device."""
    found = []

    def open_emulated():
        found.append(CudaEngine(lambda: DEVICE))
        return found[-1]

    monkeypatch.setitem(choose.ENGINES_BY_NAME, "cuda", open_emulated)
    return found


def trees_on_the_gpu(opened):
    return sum(engine.n_grown for engine in opened)


def fit_both(make, X, y, **how):
    fitted = [make(engine=engine).fit(X, y, **how) for engine in ("cuda", "native")]
    assert fitted[0].forest_.fingerprint() == fitted[1].forest_.fingerprint()
    return fitted


def test_a_forest_of_the_gpu_is_that_of_the_cpu(opened):
    X, y = load_iris(return_X_y=True)
    cuda, native = fit_both(
        lambda engine: weald.RandomForestClassifier(25, oob_score=True, random_state=1, engine=engine), X, y
    )
    assert trees_on_the_gpu(opened) == 25
    assert cuda.oob_score_ == native.oob_score_
    np.testing.assert_array_equal(cuda.predict_proba(X), native.predict_proba(X))
    np.testing.assert_array_equal(cuda.feature_importances_, native.feature_importances_)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"criterion": "entropy"}, "criterion='entropy'"),
        ({"max_leaf_nodes": 5}, "max_leaf_nodes"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst"),
        ({"interaction_cst": [[0, 1], [2, 3]]}, "interaction_cst"),
        ({"feature_weights": [1, 2, 1, 1]}, "feature_weights"),
        ({"categorical_features": [0]}, "categorical"),
    ],
)
def test_what_the_kernels_do_not_support_is_grown_on_the_cpu_and_said(opened, capsys, parameters, said):
    X, y = load_iris(return_X_y=True)
    X, y = np.round(X[y < 2]), y[y < 2]
    fit_both(
        lambda engine: weald.RandomForestClassifier(3, random_state=1, engine=engine, verbose=1, **parameters), X, y
    )
    assert trees_on_the_gpu(opened) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "growing on the CPU" in line]
    assert len(told) == 1
    assert said in told[0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_features": None},
        {"bootstrap": False},
        {"bootstrap": "balanced"},
        {"max_samples": 20.0},
        {"max_samples": {0: 10, 1: 30}},
    ],
)
def test_bags_are_those_of_the_cpu(opened, parameters):
    X, y = load_iris(return_X_y=True)
    fit_both(lambda engine: weald.RandomForestClassifier(3, random_state=1, engine=engine, **parameters), X, y)
    assert trees_on_the_gpu(opened) == 3


def test_sample_weights_strata_boosting_and_single_trees_are_grown_on_the_gpu(opened):
    X, y = load_iris(return_X_y=True)
    forest = lambda engine: weald.RandomForestClassifier(2, random_state=1, engine=engine)  # noqa: E731
    fit_both(forest, X, y, sample_weight=1 + np.arange(150) % 3)
    fit_both(forest, X, y, sample_weight=0.5 + np.arange(150) / 100)
    fit_both(forest, X, y, stratify=np.arange(150) % 4)
    fit_both(lambda engine: weald.RandomForestClassifier(3, resampling="boosting", random_state=1, engine=engine), X, y)
    fit_both(lambda engine: weald.DecisionTreeClassifier(engine=engine), X, y)
    fit_both(lambda engine: weald.DecisionTreeClassifier(random_state=1, engine=engine), X, y, sample_weight=y + 1)
    assert trees_on_the_gpu(opened) == 2 + 2 + 2 + 3 + 1 + 1


def test_a_row_that_counts_more_often_than_a_byte_can_hold_is_left_to_the_cpu(opened, capsys):
    X, y = load_iris(return_X_y=True)
    weight = np.where(np.arange(150) == 7, 300, 1)
    fit_both(lambda engine: weald.DecisionTreeClassifier(engine=engine), X, y, sample_weight=weight)
    assert trees_on_the_gpu(opened) == 0


def test_regression_groups_missing_values_and_many_classes_are_grown_on_the_cpu(opened, capsys):
    X, y = load_iris(return_X_y=True)
    forest = lambda engine: weald.RandomForestClassifier(2, random_state=1, engine=engine, verbose=1)  # noqa: E731
    fit_both(forest, X, y, groups=np.arange(150) // 3)
    fit_both(forest, np.where(X > 6, np.nan, X), y)
    fit_both(forest, X, np.arange(150) % 9)
    fit_both(
        lambda engine: weald.RandomForestRegressor(2, random_state=1, engine=engine, verbose=1, max_features=2), X, y
    )
    assert trees_on_the_gpu(opened) == 0
    told = capsys.readouterr().err
    for said in ("groups", "missing values", "9 classes", "regression"):
        assert f"does not support {said}" in told


def test_without_verbose_nothing_is_said(opened, capsys):
    X, y = load_iris(return_X_y=True)
    weald.RandomForestClassifier(2, random_state=1, engine="cuda", criterion="entropy").fit(X, y)
    assert capsys.readouterr().err == ""
    assert trees_on_the_gpu(opened) == 0


def test_other_estimators_give_the_same_forests(opened):
    X, y = load_iris(return_X_y=True)
    fit_both(lambda engine: weald.ExtraTreesClassifier(3, random_state=1, engine=engine), X, y)
    fit_both(lambda engine: weald.DecisionTreeClassifier(random_state=1, engine=engine), X, y)
    fit_both(lambda engine: weald.RandomForestClassifier(3, random_state=1, engine=engine, ccp_alpha=0.01), X, y)


def test_growth_continues_on_the_gpu(opened):
    X, y = load_breast_cancer(return_X_y=True)
    cuda, native = (
        weald.RandomForestClassifier(2, random_state=1, max_depth=4, warm_start=True, engine=engine).fit(X, y)
        for engine in ("cuda", "native")
    )
    for model in (cuda, native):
        model.set_params(n_estimators=4).fit(X, y)
    assert cuda.forest_.fingerprint() == native.forest_.fingerprint()
    assert trees_on_the_gpu(opened) == 4


def test_without_cupy_a_fit_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    monkeypatch.setattr("weald.engines.cuda.device._OPENED", [])
    with pytest.raises(weald.ParameterError, match=r"needs CuPy.*pip install cupy.*engine='native'"):
        weald.RandomForestClassifier(2, engine="cuda").fit([[1.0], [2.0]], [0, 1])


def test_a_model_of_a_gpu_predicts_without_one(opened, monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = weald.RandomForestClassifier(3, random_state=1, engine="cuda").fit(X, y)
    monkeypatch.undo()
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_tree_that_does_not_fit_the_memory_is_an_error(opened, monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setattr(DEVICE, "free_bytes", lambda: 1 << 20)
    with pytest.raises(weald.DataError, match=r"One tree of this table needs .* GiB on the GPU"):
        weald.RandomForestClassifier(3, random_state=1, engine="cuda").fit(X, y)


def test_a_batch_that_needs_more_room_is_grown_again(opened, monkeypatch):
    from weald.engines.cuda import plan

    X, y = load_breast_cancer(return_X_y=True)
    guess, tries = plan.Rooms.of_batch.__func__, []

    def guess_too_little(cls, n_trees, n_rows, huge_rows, factor):
        tries.append(factor)
        rooms = guess(cls, n_trees, n_rows, huge_rows, factor)
        return plan.replace(rooms, node_room=40 * factor)

    monkeypatch.setattr(plan.Rooms, "of_batch", classmethod(guess_too_little))
    fit_both(lambda engine: weald.RandomForestClassifier(3, random_state=1, engine=engine), X, y)
    assert max(tries) > 1
