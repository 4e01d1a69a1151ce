"""Files keep the targets of leaves; malformed ones are refused."""

import random

import numpy as np
import pytest

import weald
from tests.io import cases
from tests.io.mutate import change_array, sign
from weald.errors import FormatError
from weald.io import container, files, leaf_targets

NAMES = ("targets of leaves", "targets of leaves, weights")
WAYS = {"zlib": {}, "plain": {"compress": False}, "mappable": {"mappable": True}}
LEVELS = [0.0, 0.1, 0.5, 0.9, 1.0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_the_targets_back(name, way, tmp_path):
    model, X = cases.models()[name]
    model.save(tmp_path / "model.weald", **WAYS[way])
    for mmap in {False, way == "mappable"}:
        again = weald.load(tmp_path / "model.weald", mmap=mmap)
        assert again.keep_targets
        np.testing.assert_array_equal(again.predict_quantiles(X, LEVELS), model.predict_quantiles(X, LEVELS))
        np.testing.assert_array_equal(again.predict_std(X), model.predict_std(X))


@pytest.mark.parametrize("name", NAMES)
def test_json_gives_the_targets_back(name):
    model, X = cases.models()[name]
    again = weald.from_json(model.to_json(check=False).model)
    np.testing.assert_array_equal(again.predict_quantiles(X, LEVELS), model.predict_quantiles(X, LEVELS))


def test_targets_of_other_trees_are_not_written():
    model, X = cases.models()[NAMES[0]]
    smaller = model.compact()
    again = files.read(b"".join(files.write(smaller)))
    with pytest.raises(weald.errors.ParameterError, match="attach_targets"):
        again.predict_std(X)


def taken_apart(way):
    model, _ = cases.models()[NAMES[0]]
    contents = container.read(b"".join(files.write(model, **WAYS[way])), check_data=True)
    texts = {name: text for name, text in contents.metadata.items() if name not in ("weald.sha256", "weald.data")}
    return texts, dict(contents.arrays)


CHANGES = {
    "an order of values": (leaf_targets.VALUE, lambda found: found[::-1]),
    "a value that is infinite": (leaf_targets.VALUE, lambda found: np.append(found[:-1], np.inf)),
    "a value more": (leaf_targets.VALUE, lambda found: np.append(found, found[-1] + 1)),
    "a leaf less": (leaf_targets.LENGTH, lambda found: found[:-1]),
    "a leaf without targets": (leaf_targets.LENGTH, lambda found: np.append(found[:-1] * 0, len(found))),
    "a place out of range": (leaf_targets.PLACE, lambda found: np.append(found[:-1], np.uint8(255))),
    "places that do not ascend": (leaf_targets.PLACE, lambda found: np.sort(found)[::-1].copy()),
    "a weight of 0": (leaf_targets.WEIGHT, lambda found: found * 0),
    "another weight": (leaf_targets.WEIGHT, lambda found: found + 1),
    "a weight that is no number": (leaf_targets.WEIGHT, lambda found: np.where(found > 1, np.nan, 1.5)),
    "an axis more": (leaf_targets.WEIGHT, lambda found: found[:, None]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_targets_are_refused(change):
    texts, arrays = taken_apart("plain")
    name, make = CHANGES[change]
    arrays[name] = make(arrays[name])
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


@pytest.mark.parametrize("name", leaf_targets.MAPPABLE)
def test_missing_arrays_are_refused(name):
    texts, arrays = taken_apart("plain")
    del arrays[name]
    with pytest.raises(FormatError, match="lack"):
        files.read(sign(texts, arrays))


def test_targets_without_their_word_are_refused():
    texts, arrays = taken_apart("plain")
    texts["weald.requires"] = texts["weald.requires"].replace(" leaf_targets", "")
    with pytest.raises(FormatError):
        files.read(sign(texts, arrays))


@pytest.mark.parametrize("way", ["plain", "mappable"])
def test_changed_arrays_are_refused_or_harmless(way):
    _, X = cases.models()[NAMES[0]]
    names = leaf_targets.MAPPABLE.values() if way == "mappable" else leaf_targets.MAPPABLE
    for seed in range(100):
        dice = random.Random(seed)
        texts, arrays = taken_apart(way)
        change_array(dice, dice.choice(list(names)), arrays)
        try:
            found = files.read(sign(texts, arrays))
        except FormatError:
            continue
        assert np.isfinite(found.predict_quantiles(X, LEVELS)).all()
        assert found.predict_std(X).shape == (len(X),)
