"""Calibrated forests: by parameter or afterwards, from out-of-bag predictions or held-out rows."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import weald
from weald import DecisionTreeClassifier, ExtraTreesClassifier, KernelForestClassifier, RandomForestClassifier
from weald.errors import DataError, ExportError, ParameterError
from weald.estimators.calibration.calibrator import METHODS, Calibrator

# Few trees are fast, and some rows have no out-of-bag prediction.
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

RNG = np.random.default_rng(3)
N = 240
NUMBERS = RNG.normal(size=(N, 4)).round(2)
TWO = np.where(NUMBERS[:, 0] + RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(NUMBERS[:, 0] + 0.7 * RNG.normal(size=N), [-0.7, 0.7])
HOLES = np.where(RNG.random((N, 4)) < 0.1, np.nan, NUMBERS)
FRAME = pd.DataFrame(HOLES, columns=list("abcd")).assign(color=RNG.choice(["red", "green", "blue"], N))

CASES = {
    "two classes": (RandomForestClassifier(20), NUMBERS, TWO, {}),
    "three classes": (RandomForestClassifier(20, min_samples_leaf=3), NUMBERS, THREE, {}),
    "missing and categories": (RandomForestClassifier(20), FRAME, THREE, {}),
    "weights": (RandomForestClassifier(20), NUMBERS, TWO, {"sample_weight": RNG.integers(0, 3, N)}),
    "weights not whole": (RandomForestClassifier(20), NUMBERS, TWO, {"sample_weight": RNG.random(N)}),
    "groups": (RandomForestClassifier(20), NUMBERS, TWO, {"groups": np.arange(N) // 3}),
    "strata": (RandomForestClassifier(20, bootstrap="balanced"), NUMBERS, TWO, {}),
    "hard votes": (RandomForestClassifier(20, voting="hard", max_depth=3), NUMBERS, THREE, {}),
    "extra trees": (ExtraTreesClassifier(20, bootstrap=True), NUMBERS, TWO, {}),
    "kernel": (KernelForestClassifier(20), NUMBERS, TWO, {}),
    "shrinkage": (RandomForestClassifier(20, shrinkage=5.0), NUMBERS, THREE, {}),
    "chosen shrinkage": (RandomForestClassifier(30, shrinkage="oob"), NUMBERS, TWO, {}),
    "one class": (RandomForestClassifier(5), NUMBERS, np.ones(N), {}),
}


def fit(case, **given):
    model, X, y, others = CASES[case]
    return clone(model).set_params(random_state=1, **given).fit(X, y, **others), X, y, others


@pytest.mark.parametrize("case", CASES)
def test_calibrating_afterwards_is_calibrating_in_the_fit(case):
    model, X, y, others = fit(case, calibrate="isotonic")
    plain = fit(case)[0]
    again = plain.calibrated("isotonic", X, y, **others)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.calibrate == "isotonic"
    assert not hasattr(plain, "calibrator_")
    np.testing.assert_array_equal(again.calibrated(None).predict_proba(X), plain.predict_proba(X))
    assert again.calibrated(None).calibrate is None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_the_calibrated_probabilities_of_the_trees(case, method):
    model, X, _, _ = fit(case, calibrate=method)
    raw = model.predict_votes(X) / model.forest_.vote_total
    expected = model.calibrator_(raw)
    predicted = model.predict_proba(X)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(expected))
    room = np.empty(predicted.shape, dtype=np.float32)
    assert model.predict_proba(X, out=room) is room
    np.testing.assert_array_equal(room, expected.astype(np.float32))
    np.testing.assert_array_equal(model.predict_proba(X, dtype="float32"), room)


def test_the_calibration_is_that_of_the_out_of_bag_predictions():
    model, X, y, others = fit("weights", calibrate="sigmoid")
    weight = others["sample_weight"]
    seen = model.oob_.mask
    assert not seen[weight == 0].any()
    own = Calibrator.fit(
        "sigmoid", model.oob_decision_function_[seen], (y[seen] == "yes").astype(int), weight[seen].astype(float)
    )
    np.testing.assert_array_equal(model.predict_proba(X), own(model.predict_votes(X) / len(model)))


def test_out_of_bag_results_are_those_of_the_trees():
    model, plain = fit("two classes", calibrate="beta")[0], fit("two classes", oob_score=True)[0]
    np.testing.assert_array_equal(model.oob_decision_function_, plain.oob_decision_function_)
    assert model.oob_error_ == plain.oob_error_
    assert model.forest_.fingerprint() == plain.forest_.fingerprint()


@pytest.mark.parametrize("case", ["three classes", "weights not whole"])
@pytest.mark.parametrize("method", METHODS)
def test_engines_and_orders_of_rows_give_the_same_bits(case, method):
    model, X, y, others = fit(case, calibrate=method, n_estimators=5)
    order = RNG.permutation(N)
    turned = {name: values[order] for name, values in others.items()}
    same = clone(model).set_params(engine="reference").fit(X[order], y[order], **turned)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("method", METHODS)
def test_pickles_and_copies_are_calibrated(method):
    model, X, _, _ = fit("three classes", calibrate=method)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear")
def test_held_out_rows_calibrate_as_scikit_learn_does():
    model = RandomForestClassifier(30, random_state=0).fit(NUMBERS[::2], THREE[::2])
    rows, truth, weight = NUMBERS[1::2], THREE[1::2], np.arange(1, N // 2 + 1) % 4
    for method in ("isotonic", "sigmoid"):
        theirs = CalibratedClassifierCV(FrozenEstimator(model), method=method, cv=None).fit(rows, truth, weight)
        mine = model.calibrated(method, rows, truth, weight, held_out=True)
        np.testing.assert_allclose(mine.predict_proba(rows), theirs.predict_proba(rows), atol=1e-6)
        assert mine.calibrate is None


def test_models_without_bags_are_calibrated_on_held_out_rows():
    for model in (DecisionTreeClassifier(max_depth=3), ExtraTreesClassifier(10, random_state=0)):
        model.fit(NUMBERS[::2], TWO[::2])
        made = model.calibrated("beta", NUMBERS[1::2], TWO[1::2], held_out=True)
        assert not np.array_equal(made.predict_proba(NUMBERS), model.predict_proba(NUMBERS))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).predict(NUMBERS), made.predict(NUMBERS))


def test_held_out_rows_may_lack_classes():
    model = RandomForestClassifier(10, random_state=0).fit(NUMBERS[::2], THREE[::2])
    few = np.flatnonzero(THREE[1::2] != 1) * 2 + 1
    predicted = model.calibrated("isotonic", NUMBERS[few], THREE[few], held_out=True).predict_proba(NUMBERS)
    assert (predicted[predicted[:, [0, 2]].sum(axis=1) > 0, 1] == 0).all()


def test_a_warm_start_calibrates_again():
    model = RandomForestClassifier(10, calibrate="isotonic", warm_start=True, random_state=0).fit(NUMBERS, TWO)
    model.set_params(n_estimators=20).fit(NUMBERS, TWO)
    whole = RandomForestClassifier(20, calibrate="isotonic", random_state=0).fit(NUMBERS, TWO)
    np.testing.assert_array_equal(model.predict_proba(NUMBERS), whole.predict_proba(NUMBERS))


def test_a_new_fit_without_calibration_has_none():
    model = fit("two classes", calibrate="beta")[0]
    assert not hasattr(model.set_params(calibrate=None).fit(NUMBERS, TWO), "calibrator_")


def test_compacting_keeps_the_calibration():
    model = fit("hard votes", calibrate="beta")[0]
    np.testing.assert_array_equal(model.compact().predict_proba(NUMBERS), model.predict_proba(NUMBERS))


def test_drawn_classes_follow_the_calibrated_probabilities():
    model = fit("two classes", calibrate="sigmoid")[0]
    drawn = np.array([model.predict(NUMBERS, rule="sample", repeat=r) == "yes" for r in range(400)])
    np.testing.assert_allclose(drawn.mean(axis=0), model.predict_proba(NUMBERS)[:, 1], atol=0.13)


def test_chunks_are_calibrated():
    model = fit("two classes", calibrate="venn-abers")[0]
    found = np.concatenate(list(model.predict_chunks(NUMBERS, rows=50)))
    np.testing.assert_array_equal(found, model.predict_proba(NUMBERS))


def test_parts_of_a_checkpoint_are_not_calibrated(tmp_path):
    whole = fit("two classes", calibrate="isotonic")[0]
    model = clone(whole).fit(NUMBERS, TWO, checkpoint=tmp_path, every=8)
    np.testing.assert_array_equal(model.predict_proba(NUMBERS), whole.predict_proba(NUMBERS))
    part = weald.load(min(tmp_path.glob("*.weald")))
    assert part.calibrate is None
    resumed = clone(whole).fit(NUMBERS, TWO, checkpoint=tmp_path, every=8)
    np.testing.assert_array_equal(resumed.predict_proba(NUMBERS), whole.predict_proba(NUMBERS))


def test_dask_collections_are_calibrated():
    dask_array = pytest.importorskip("dask.array")
    model = fit("three classes", calibrate="isotonic")[0]
    rows = dask_array.from_array(NUMBERS, chunks=(70, 4))
    np.testing.assert_array_equal(model.predict_proba(rows).compute(), model.predict_proba(NUMBERS))
    np.testing.assert_array_equal(model.predict(rows).compute(), model.predict(NUMBERS))


@pytest.mark.parametrize("method", METHODS)
def test_folds_calibrate_rows_by_others(method):
    out = fit("three classes", oob_score=True)[0].oob_
    predicted = out.calibrated_probabilities(method, n_folds=4)
    np.testing.assert_array_equal(np.isnan(predicted).any(axis=1), ~out.mask)
    np.testing.assert_allclose(predicted[out.mask].sum(axis=1), 1)
    order = RNG.permutation(N)
    model, X, y, _ = fit("three classes")
    turned = model.out_of_bag(X[order], y[order]).calibrated_probabilities(method, n_folds=4)
    # equal rows may be exchanged
    assert sorted(zip(y[order], *turned.T, strict=True)) == sorted(zip(y, *predicted.T, strict=True))


def test_folds_show_what_isotonic_calibration_learned_by_heart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.random(200) < 0.5  # nothing to learn
    out = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y).oob_
    seen = out.mask
    inside = out.calibrator("isotonic")(out.probabilities[seen])[:, 1]
    outside = out.calibrated_probabilities("isotonic")[seen, 1]
    assert np.mean((inside - y[seen]) ** 2) < 0.25 <= np.mean((outside - y[seen]) ** 2)


# -------------------------------------------------------------------------------------------------------- bad input

FITTED = RandomForestClassifier(25, random_state=0).fit(NUMBERS, TWO)
CALIBRATED = FITTED.calibrated("isotonic", NUMBERS, TWO)
TREE = DecisionTreeClassifier().fit(NUMBERS, TWO)

BAD = {
    "an unknown method": (lambda: FITTED.calibrated("platt", NUMBERS, TWO), "method='platt'"),
    "an unknown parameter value": (
        lambda: RandomForestClassifier(calibrate="isotone").fit(NUMBERS, TWO),
        "calibrate='isotone' is not allowed",
    ),
    "a flag for a method": (lambda: RandomForestClassifier(calibrate=True).fit(NUMBERS, TWO), "calibrate=True"),
    "no bags": (
        lambda: ExtraTreesClassifier(calibrate="beta").fit(NUMBERS, TWO),
        "calibrate='beta' needs out-of-bag rows",
    ),
    "boosting": (
        lambda: RandomForestClassifier(calibrate="beta", resampling="boosting").fit(NUMBERS, TWO),
        "cannot be used with resampling",
    ),
    "several targets": (
        lambda: RandomForestClassifier(calibrate="beta").fit(NUMBERS, np.column_stack([TWO, TWO])),
        "does not support multi-output targets",
    ),
    "several targets afterwards": (
        lambda: RandomForestClassifier(3).fit(NUMBERS, np.column_stack([TWO, TWO])).calibrated("beta", NUMBERS, TWO),
        "has 2 targets",
    ),
    "no rows": (lambda: FITTED.calibrated("beta"), "needs rows"),
    "no target": (lambda: FITTED.calibrated("beta", NUMBERS), "y"),
    "other rows": (lambda: FITTED.calibrated("beta", NUMBERS[1:], TWO[1:]), "pass held_out=True"),
    "training rows as held out": (
        lambda: FITTED.calibrated("beta", NUMBERS[::-1], TWO[::-1], held_out=True),
        "the rows that the trees were grown from",
    ),
    "an unknown class": (
        lambda: FITTED.calibrated("beta", NUMBERS[:9], ["maybe"] * 9, held_out=True),
        "'maybe', which was not in the fit",
    ),
    "held_out is no flag": (lambda: FITTED.calibrated("beta", NUMBERS, TWO, held_out="yes"), "held_out='yes'"),
    "a single tree": (lambda: TREE.calibrated("beta", NUMBERS, TWO), "has no out-of-bag rows"),
    "no bags afterwards": (
        lambda: ExtraTreesClassifier(3).fit(NUMBERS, TWO).calibrated("beta", NUMBERS, TWO),
        "no out-of-bag rows",
    ),
    "too few folds": (lambda: FITTED.out_of_bag(NUMBERS, TWO).calibrated_probabilities("beta", n_folds=1), "n_folds=1"),
    "more folds than rows": (
        lambda: FITTED.out_of_bag(NUMBERS, TWO).calibrated_probabilities("beta", n_folds=1000),
        "fewer than n_folds=1000",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case):
    call, words = BAD[case]
    with pytest.raises((DataError, ParameterError), match=words):
        call()


NEED_THE_TREES_ALONE = {
    "slice": lambda: CALIBRATED[:3],
    "merge": lambda: weald.merge([FITTED, CALIBRATED]),
    "add": lambda: CALIBRATED + FITTED,
    "thin": lambda: CALIBRATED.thin(n_trees=3),
    "truncate": lambda: CALIBRATED.truncate(max_depth=2),
    "prune": lambda: TREE.calibrated("beta", NUMBERS[:20], TWO[:20], held_out=True).prune(0.1),
    "compile": CALIBRATED.compile,
    "to_c": CALIBRATED.to_c,
    "to_onnx": CALIBRATED.to_onnx,
    "to_treelite": CALIBRATED.to_treelite,
    "to_shap": CALIBRATED.to_shap,
    "explain": lambda: weald.explain(CALIBRATED, NUMBERS),
    "explain_row": lambda: CALIBRATED.explain_row(NUMBERS[0]),
    "dependence": lambda: weald.dependence(CALIBRATED, NUMBERS, [0]),
    "to_sklearn": CALIBRATED.to_sklearn,
}


@pytest.mark.parametrize("name", NEED_THE_TREES_ALONE)
def test_what_would_lose_the_calibration_is_refused(name):
    with pytest.raises((ParameterError, ExportError), match="lose the calibration"):
        NEED_THE_TREES_ALONE[name]()


def test_no_calibration_needs_no_rows():
    np.testing.assert_array_equal(CALIBRATED.calibrated(None).predict_proba(NUMBERS), FITTED.predict_proba(NUMBERS))
    assert len(CALIBRATED.calibrated(None)[:3]) == 3


def test_a_calibration_belongs_to_the_votes_that_it_was_fitted_to(tmp_path):
    model, X, y, _ = fit("three classes", calibrate="isotonic")
    soft = model.predict_proba(X)
    model.set_params(voting="hard")
    for use in (model.predict, model.predict_proba, lambda _: model.save(tmp_path / "model.weald")):
        with pytest.raises(ParameterError, match=r"calibrated with voting='soft'.*calibrated\('isotonic', X, y\)"):
            use(X)
    hard = fit("three classes", calibrate="isotonic", voting="hard")[0].predict_proba(X)
    again = model.calibrated("isotonic", X, y)
    again.save(tmp_path / "model.weald")
    for found in (again, pickle.loads(pickle.dumps(again)), weald.load(tmp_path / "model.weald")):
        np.testing.assert_array_equal(found.predict_proba(X), hard)
    np.testing.assert_array_equal(model.set_params(voting="soft").predict_proba(X), soft)
