"""Files keep calibrations; malformed ones are refused."""

import json
import random

import numpy as np
import pytest

import weald
from tests.io import cases
from tests.io.mutate import change_array, sign
from weald.errors import FormatError
from weald.io import calibration, container, files

METHODS = ("isotonic", "sigmoid", "beta", "venn-abers")
WAYS = {"zlib": {}, "plain": {"compress": False}, "mappable": {"mappable": True}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_a_file_gives_the_calibration_back(method, way, tmp_path):
    model, X = cases.models()[f"calibrated, {method}"]
    model.save(tmp_path / "model.weald", **WAYS[way])
    for mmap in {False, way == "mappable"}:
        again = weald.load(tmp_path / "model.weald", mmap=mmap)
        assert again.calibrate == again.calibrator_.method == method
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("method", METHODS)
def test_json_gives_the_calibration_back(method):
    model, X = cases.models()[f"calibrated, {method}"]
    again = weald.from_json(model.to_json(check=False).model)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_calibration_on_held_out_rows_is_kept():
    X, classes, _ = cases.table()
    model = weald.ExtraTreesClassifier(5, random_state=0).fit(X[::2], classes[::2])
    model = model.calibrated("isotonic", X[1::2], classes[1::2], held_out=True)
    again = files.read(b"".join(files.write(model)))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_one_class_has_no_maps():
    X = cases.table()[0]
    model = weald.RandomForestClassifier(20, calibrate="beta", random_state=0).fit(X, np.ones(len(X)))
    again = files.read(b"".join(files.write(model)))
    np.testing.assert_array_equal(again.predict_proba(X), np.ones((len(X), 1)))


def taken_apart(method):
    model, _ = cases.models()[f"calibrated, {method}"]
    contents = container.read(b"".join(files.write(model, compress=False)), check_data=True)
    texts = {name: text for name, text in contents.metadata.items() if name not in ("weald.sha256", "weald.data")}
    return texts, dict(contents.arrays)


CHANGES = {
    "thresholds that fall": ("isotonic", calibration.THRESHOLD, lambda found: found[::-1].copy()),
    "a threshold above 1": ("isotonic", calibration.THRESHOLD, lambda found: found + 1),
    "a threshold that is no number": ("venn-abers", calibration.THRESHOLD, lambda found: found * np.nan),
    "values that fall": ("isotonic", calibration.VALUE, lambda found: 1 - found),
    "a value below 0": ("isotonic", calibration.VALUE, lambda found: found - 1),
    "values of another type": ("isotonic", calibration.VALUE, lambda found: found.astype(np.float32)),
    "a value less": ("isotonic", calibration.VALUE, lambda found: found[:-1]),
    "an axis more": ("isotonic", calibration.VALUE, lambda found: found[:, None]),
    "low above high": ("venn-abers", calibration.LOW, lambda found: np.ones(len(found))),
    "low and high without a probability between": ("venn-abers", calibration.HIGH, lambda found: found * 0),
    "a map without thresholds": ("isotonic", calibration.LENGTH, lambda found: found * 0),
    "a length more": ("isotonic", calibration.LENGTH, lambda found: np.append(found, found[:1])),
    "lengths that are not whole": ("isotonic", calibration.LENGTH, lambda found: found.astype(np.float64)),
    "a huge length": ("isotonic", calibration.LENGTH, lambda found: found.astype(np.uint64) + np.uint64(2**63)),
    "an infinite coefficient": ("sigmoid", calibration.COEFFICIENTS, lambda found: found * np.inf),
    "a coefficient more": ("sigmoid", calibration.COEFFICIENTS, lambda found: np.repeat(found, 2, axis=1)),
    "a map less": ("sigmoid", calibration.COEFFICIENTS, lambda found: found[:-1]),
    "a negative coefficient": ("beta", calibration.COEFFICIENTS, lambda found: -np.abs(found) - 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_numbers_are_refused(change):
    method, name, make = CHANGES[change]
    texts, arrays = taken_apart(method)
    arrays[name] = make(arrays[name])
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


@pytest.mark.parametrize(
    "note",
    [
        None,
        [],
        {},
        {"method": "isotonic"},
        {"method": "isotonic", "n_maps": 2},
        {"method": "isotonic", "n_maps": True},
        {"method": "sigmoid", "n_maps": 3},
        {"method": "platt", "n_maps": 3},
        {"method": [], "n_maps": 3},
        {"method": "isotonic", "n_maps": 3, "more": 1},
    ],
)
def test_wrong_notes_are_refused(note):
    texts, arrays = taken_apart("isotonic")
    notes = json.loads(texts["weald.notes"])
    notes["calibration"] = note
    texts["weald.notes"] = json.dumps(notes)
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


def test_the_word_the_note_and_the_arrays_belong_together():
    texts, arrays = taken_apart("isotonic")
    without = texts | {"weald.requires": texts["weald.requires"].replace(" calibration", "")}
    with pytest.raises(FormatError, match="disagree"):
        files.read(sign(without, arrays))
    notes = json.loads(texts["weald.notes"])
    del notes["calibration"]
    with pytest.raises(FormatError, match="disagree"):
        files.read(sign(texts | {"weald.notes": json.dumps(notes)}, arrays))
    for name in (calibration.LENGTH, calibration.THRESHOLD, calibration.VALUE):
        with pytest.raises(FormatError, match="arrays of the calibration"):
            files.read(sign(texts, {n: a for n, a in arrays.items() if n != name}))
    with pytest.raises(FormatError, match="arrays of the calibration"):
        files.read(sign(texts, arrays | {calibration.LOW: np.zeros(3)}))


def test_only_a_classifier_of_one_target_has_one():
    model, _ = cases.models()["pruned means"]
    contents = container.read(b"".join(files.write(model, compress=False)), check_data=True)
    texts = {name: text for name, text in contents.metadata.items() if name not in ("weald.sha256", "weald.data")}
    notes = json.loads(texts["weald.notes"]) | {"calibration": {"method": "beta", "n_maps": 0}}
    texts |= {"weald.requires": texts["weald.requires"] + " calibration", "weald.notes": json.dumps(notes)}
    with pytest.raises(FormatError, match="Only a classifier"):
        files.read(sign(texts, dict(contents.arrays)))


@pytest.mark.parametrize("method", METHODS)
def test_changed_arrays_are_refused_or_predict_probabilities(method):
    X = cases.table()[0]
    for seed in range(60):
        dice = random.Random(seed)
        texts, arrays = taken_apart(method)
        change_array(dice, dice.choice([name for name in arrays if name.startswith(calibration.PREFIX)]), arrays)
        try:
            found = files.read(sign(texts, arrays))
        except FormatError:
            continue
        predicted = found.predict_proba(X)
        assert ((predicted >= 0) & (predicted <= 1)).all()
