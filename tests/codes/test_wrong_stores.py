"""No code store can crash the process: inconsistent ones are refused by name."""

import json

import numpy as np
import pytest

import weald
from tests.codes.wrong_stores import models, try_to_fit, whole_stores
from tests.io.mutate import Mutator, sign
from weald import FormatError
from weald.codes import store as code_store

pytestmark = pytest.mark.sanitize

N_CASES = 120


@pytest.fixture(scope="module")
def wholes():
    return whole_stores()


def refuse(good: bytes, folder, match: str, arrays=None, **about) -> None:
    """Change arrays or notes of a store, and expect each fit to refuse it."""
    mutator = Mutator(good)
    notes = mutator.notes
    notes["about"]["record"][1].update(about)
    changed = {name: array for name, array in {**mutator.arrays, **(arrays or {})}.items() if array is not None}
    (folder / code_store.FILE).write_bytes(sign({**mutator.texts, "weald.notes": json.dumps(notes)}, changed))
    for number in range(3):
        with pytest.raises(FormatError, match=match):
            list(models(store := weald.codes.load(folder)))[number].fit(store)


def array_of(whole: bytes, name: str, **values):
    """Copy an array of a store and change some of its numbers: _3=7.0 is number 3."""
    array = Mutator(whole).arrays[name].copy()
    for place, value in values.items():
        array[int(place[1:])] = value
    return {name: array}


def test_weights_and_what_is_said_of_them_agree(wholes, tmp_path):
    contradict = "Its weights contradict its metadata"
    for kind in ("numbers, weights", "classes, weights", "classes, whole weights"):
        refuse(wholes[kind], tmp_path, contradict, size=7)
    refuse(wholes["numbers, weights"], tmp_path, contradict, {"weight": None})
    refuse(wholes["numbers, weights"], tmp_path, contradict, whole=True)
    refuse(wholes["numbers"], tmp_path, contradict, whole=False)
    refuse(wholes["classes, whole weights"], tmp_path, contradict, size=10**9)


@pytest.mark.parametrize("weight", [-1e300, -1.0, 0.0, np.nan, np.inf])
def test_weights_are_positive_and_finite(wholes, weight, tmp_path):
    for kind in ("numbers, weights", "classes, weights", "classes, whole weights"):
        refuse(wholes[kind], tmp_path, "A weight is", array_of(wholes[kind], "weight", _3=weight))


def test_targets_positions_and_codes_are_those_of_a_table(wholes, tmp_path):
    numbers, classes = wholes["numbers"], wholes["classes, whole weights"]
    refuse(numbers, tmp_path, "A target is not finite", array_of(numbers, "target", _0=np.inf))
    refuse(classes, tmp_path, "a class is out of range", array_of(classes, "target", _0=3))
    for row in (5, 120, 2**32 - 1):
        refuse(numbers, tmp_path, "ranks do not match the rows", array_of(numbers, "positions", _0=row, _1=row))
    refuse(numbers, tmp_path, "a code has no values", array_of(numbers, "codes.1", _0=200))


def test_values_ascend_with_their_codes_and_categories_are_numbered(wholes, tmp_path):
    numbers, classes = wholes["numbers"], wholes["classes"]
    for value in (np.nan, 1e9, -1e9):
        refuse(numbers, tmp_path, "do not increase", array_of(numbers, "lows.0", _1=value))
    for value in (1e300, 2.5, -1.0):
        both = array_of(classes, "lows.3", _3=value) | array_of(classes, "highs.3", _3=value)
        refuse(classes, tmp_path, "do not increase|do not match its categories", both)
    refuse(
        classes, tmp_path, "number of classes is invalid", classes={"array": {"dtype": "O", "shape": [0], "items": []}}
    )


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_store_that_is_signed_is_refused_or_harmless(wholes, tmp_path):
    mutators, counts = [Mutator(whole) for whole in wholes.values()], {"refused": 0, "used": 0}
    for seed in range(N_CASES):
        counts[try_to_fit(mutators[seed % len(mutators)].draw(seed), tmp_path)] += 1
    assert min(counts.values()) > 2


def test_the_features_with_categories_may_be_an_array(tmp_path):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    chosen = np.array([False, True])
    store = weald.codes.from_chunks([(X, y)], folder=tmp_path, categorical_features=chosen)
    model = weald.DecisionTreeClassifier(categorical_features=chosen, max_bins=store.max_bins)
    assert model.fit(store).n_features_in_ == 2
    again = weald.codes.from_chunks([(X, y)], folder=tmp_path, categorical_features=chosen)
    assert again.fingerprint == store.fingerprint
