"""A model is restored from JSON unchanged, and invalid texts are refused."""

import json
import random

import numpy as np
import pytest

import weald
from tests.io.export.models import MODELS, fitted, make_frame, make_table
from weald.io.export.parity import answer, rows_to_compare

KEPT_OUT = {"_training_bags"}  # files lack the order of the training rows


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    model = fitted(name)
    export = model.to_json(tmp_path / "forest.json")
    assert export.parity.is_exact
    again = weald.from_json(tmp_path / "forest.json")
    assert again.forest_.fingerprint() == model.forest_.fingerprint()
    assert again.forest_.origins == model.forest_.origins
    assert str(again.get_params()) == str(model.get_params())
    assert again.__getstate__().keys() == model.__getstate__().keys() - KEPT_OUT
    assert again.to_json(check=False).model == export.model


def test_categories_names_and_out_of_bag_results_come_back():
    frame, signal = make_frame()
    model = weald.RandomForestRegressor(40, oob_score=True, max_depth=3, random_state=0).fit(frame, signal)
    again = weald.from_json(model.to_json().model)
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    assert again.oob_score_ == model.oob_score_
    assert np.array_equal(again.oob_prediction_, model.oob_prediction_, equal_nan=True)


def test_long_lists_of_labels_are_readable():
    text = fitted("categories").to_json().model
    assert '"place 149"' in text


def test_equal_models_make_equal_texts():
    X, y = make_table()
    one, two = (weald.RandomForestClassifier(3, random_state=0, n_jobs=n).fit(X, y) for n in (1, 1))
    assert one.to_json().model == two.to_json().model


SMALL = json.loads(fitted("one leaf").to_json().model)


def change(path, value):
    """Change one value of a text."""
    changed = json.loads(json.dumps(SMALL))
    at = changed
    for step in path[:-1]:
        at = at[step]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(changed)


WRONG = {
    "another format": (("format",), "weald JSON 2.0"),
    "no notes": (("notes",), KeyError),
    "another part": (("more",), 1),
    "texts that are none": (("texts", "weald.format"), 1.0),
    "a digest of its own": (("texts", "weald.data"), "0"),
    "a later version": (("texts", "weald.format"), "2.0"),
    "a word that is not known": (("texts", "weald.requires"), "estimator mappable oblique"),
    "arrays that are none": (("arrays",), []),
    "no array": (("arrays", "forest.feature"), KeyError),
    "an array more": (("arrays", "forest.more"), {"type": "U8", "shape": [0], "values": []}),
    "an unknown type": (("arrays", "forest.feature", "type"), "F16"),
    "another shape": (("arrays", "forest.feature", "shape"), [2]),
    "a huge shape": (("arrays", "forest.feature", "shape"), [2**62]),
    "too few values": (("arrays", "forest.size", "values"), []),
    "a number too large": (("arrays", "forest.feature", "values"), [2**40]),
    "a negative size": (("arrays", "forest.size", "values"), [-1]),
    "a fraction": (("arrays", "forest.feature", "values"), [0.5]),
    "a truth value": (("arrays", "forest.feature", "values"), [True]),
    "text": (("arrays", "forest.weight", "values"), ["1.0"]),
    "a list": (("arrays", "forest.weight", "values"), [[3.0]]),
    "an endless number": (("arrays", "forest.weight", "values"), [10**60]),
    "a class that is none": (("arrays", "forest.leaf_class", "values"), [0, 5]),
    "a feature that is none": (("arrays", "forest.feature", "values"), [7]),
    "another fingerprint": (("notes", "fingerprint"), "0" * 64),
    "another estimator": (("notes", "estimator"), "os.system"),
    "a parameter that is none": (("notes", "parameters", "fuel"), 1),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(what):
    with pytest.raises(weald.FormatError):
        weald.from_json(change(*WRONG[what]))


@pytest.mark.parametrize("text", ["{", "{}", '{"a":1,"a":1}', '{"a":NaN}', "{" * 5000, '{"a":' + "[" * 5000])
def test_what_is_no_such_json_is_refused(text):
    with pytest.raises(weald.FormatError):
        weald.from_json(text)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "forest.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(weald.FormatError, match="is not a text file"):
        weald.from_json(tmp_path / "forest.json")


def test_whatever_is_changed_the_model_predicts_as_before_or_is_refused():
    model = fitted("small regression")
    rows, text = rows_to_compare(model, None)[:50], model.to_json().model
    right, rng = answer(model, rows), random.Random(0)
    n_refused = 0
    for _ in range(300):
        at, other = rng.randrange(len(text)), rng.choice('0123456789-.,:[]{}"aenx')
        changed = text[:at] + other + text[at + rng.choice([0, 1, 1, 1, 5]) :]
        try:
            again = weald.from_json(changed if changed.startswith("{") else "{" + changed)
        except weald.FormatError:
            n_refused += 1
            continue
        assert np.array_equal(answer(again, rows), right)
    assert n_refused > 200
