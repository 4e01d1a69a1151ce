"""Files keep the errors that intervals and prediction sets are computed from; malformed ones are refused."""

import json
import random

import numpy as np
import pytest

import weald
from tests.io import cases
from tests.io.mutate import change_array, sign
from weald.errors import FormatError
from weald.io import container, files, kept_errors

WAYS = {"zlib": {}, "plain": {"compress": False}, "mappable": {"mappable": True}}
METHODS = {
    "errors": ("lac", "aps"),
    "errors, means": ("oob", "oob-scaled", "jackknife+ab", "cqr"),
    "errors, few trees": ("oob", "jackknife+ab"),
    "errors of held-out rows": ("split", "split-scaled", "cqr"),
}


def predict(model, X, method):
    return (model.predict_set if hasattr(model, "classes_") else model.predict_interval)(X, 0.8, method=method)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", METHODS)
def test_a_file_gives_the_errors_back(case, way, tmp_path):
    model, X = cases.models()[case]
    model.save(tmp_path / "model.weald", **WAYS[way])
    for mmap in {False, way == "mappable"}:
        again = weald.load(tmp_path / "model.weald", mmap=mmap)
        for method in METHODS[case]:
            np.testing.assert_array_equal(predict(again, X, method), predict(model, X, method))
    again = weald.from_json(model.to_json(check=False).model)
    np.testing.assert_array_equal(predict(again, X, METHODS[case][-1]), predict(model, X, METHODS[case][-1]))


def test_errors_of_other_trees_are_left_out():
    model, X = cases.models()["errors"]
    part = model[:5]
    part.kept_errors_ = model.kept_errors_
    again = files.read(b"".join(files.write(part)))
    assert not hasattr(again, "kept_errors_")
    np.testing.assert_array_equal(again.predict(X), part.predict(X))


def taken_apart(case):
    model, _ = cases.models()[case]
    contents = container.read(b"".join(files.write(model, compress=False)), check_data=True)
    texts = {name: text for name, text in contents.metadata.items() if name not in ("weald.sha256", "weald.data")}
    return texts, {name: np.array(array) for name, array in contents.arrays.items()}


CHANGES = {
    "a score above 1": ("errors", kept_errors.LAC, lambda found: found + 1),
    "a score that is no number": ("errors", kept_errors.APS, lambda found: found * np.nan),
    "a score less": ("errors", kept_errors.APS, lambda found: found[:-1]),
    "no scores": ("errors", kept_errors.LAC, lambda found: found[:0]),
    "scores of another type": ("errors", kept_errors.LAC, lambda found: found.astype(np.float32)),
    "an infinite target": ("errors, means", kept_errors.TARGET, lambda found: found * np.inf),
    "an infinite prediction": ("errors, means", kept_errors.PREDICTION, lambda found: np.full_like(found, np.inf)),
    "no prediction": ("errors, few trees", kept_errors.PREDICTION, lambda found: found * np.nan),
    "a prediction by no tree": ("errors, few trees", kept_errors.OUTSIDE, lambda found: found * 0),
    "a tree that is not there": ("errors, means", kept_errors.OUTSIDE, lambda found: found | 1),
    "trees of another shape": ("errors, means", kept_errors.OUTSIDE, lambda found: found.ravel()),
    "a leaf less": ("errors, means", kept_errors.LEAF, lambda found: found[:-1]),
    "a leaf that is not there": ("errors, means", kept_errors.LEAF, lambda found: np.full_like(found, 250)),
    "a node that is no leaf": ("errors, means", kept_errors.LEAF, lambda found: found * 0),
    "signed leaves": ("errors, means", kept_errors.LEAF, lambda found: found.astype(np.int32)),
    "a weight of 0": ("errors, means", kept_errors.WEIGHT, lambda found: found * 0),
    "a weight that is not whole": ("errors, means", kept_errors.WEIGHT, lambda found: found + 0.5),
    "an infinite weight": ("errors, few trees", kept_errors.WEIGHT, lambda found: found * np.inf),
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_numbers_are_refused(change):
    case, name, make = CHANGES[change]
    texts, arrays = taken_apart(case)
    arrays[name] = make(arrays[name])
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


@pytest.mark.parametrize("note", [None, [], {}, {"held_out": False}, {"held_out": 0, "whole_weights": True}])
def test_wrong_notes_are_refused(note):
    texts, arrays = taken_apart("errors, means")
    notes = json.loads(texts["weald.notes"])
    notes["errors"] = note
    texts["weald.notes"] = json.dumps(notes)
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


def test_the_word_the_note_and_the_arrays_belong_together():
    texts, arrays = taken_apart("errors, means")
    without = texts | {"weald.requires": texts["weald.requires"].replace(" errors", "")}
    with pytest.raises(FormatError, match="disagree"):
        files.read(sign(without, arrays))
    for name in (kept_errors.TARGET, kept_errors.PREDICTION, kept_errors.OUTSIDE):
        with pytest.raises(FormatError, match="arrays of errors"):
            files.read(sign(texts, {n: a for n, a in arrays.items() if n != name}))
    with pytest.raises(FormatError, match="arrays of errors"):
        files.read(sign(texts, arrays | {kept_errors.LAC: np.zeros(3)}))


@pytest.mark.parametrize("case", METHODS)
def test_changed_arrays_are_refused_or_predict(case):
    X = cases.table()[0]
    for seed in range(25):
        dice = random.Random(seed)
        texts, arrays = taken_apart(case)
        with np.errstate(invalid="ignore"):  # NaN becomes an integer
            change_array(dice, dice.choice([name for name in arrays if name.startswith(kept_errors.PREFIX)]), arrays)
        try:
            found = files.read(sign(texts, arrays))
        except FormatError:
            continue
        for method in METHODS[case]:
            predict(found, X, method)


@pytest.mark.parametrize("way", ["to_c", "to_onnx", "to_treelite", "to_shap", "to_sklearn"])
def test_exports_say_that_they_have_no_quantiles_and_intervals(way):
    for case, lost in (
        ("errors, means", ["leaf targets: no quantiles", "prediction errors: no intervals"]),
        ("errors", ["prediction errors: no prediction sets"]),
        ("pruned", []),
    ):
        made = getattr(cases.models()[case][0], way)(check=False)
        assert [words for words in made.parity.lost if "prediction errors" in words or "leaf targets" in words] == lost
