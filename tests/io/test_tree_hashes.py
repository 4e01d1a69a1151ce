"""Hashes of trees in a file are those of its trees, and their Merkle tree proves that a tree is in the forest."""

import hashlib
import json

import numpy as np
import pytest

import weald
from tests.io.cases import models, of_targets, table
from tests.io.mutate import Mutator, sign
from weald.errors import FormatError
from weald.estimators.multi_output import each_target
from weald.io import files, tree_hashes

OPTIONS = ({}, {"compress": False}, {"mappable": True})
NAMES = ["RandomForestClassifier", "categories", "bound shares", "boosting", "merged means", "several targets"]


def model_of(name):
    return (models() | of_targets())[name][0]


def whole_of(name, **options) -> bytes:
    return b"".join(files.write(model_of(name), tree_hashes=True, **options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_the_fingerprint_of_each_tree_alone(name, options):
    model, whole = model_of(name), whole_of(name, **options)
    found = Mutator(whole).arrays["optional.tree_hashes"]
    for of_target, one in zip(found, each_target(model), strict=True):
        alone = [one.forest_.take([tree]).fingerprint() for tree in range(one.forest_.n_trees)]
        assert [bytes(digest).hex() for digest in of_target] == alone == one.forest_.tree_hashes()
    again = files.read(whole)
    assert b"".join(files.write(again, tree_hashes=True, **options)) == whole


def test_only_files_that_are_asked_for_have_hashes():
    whole = b"".join(files.write(model_of("RandomForestClassifier")))
    assert "tree_hashes" not in Mutator(whole).notes["optional"]
    assert "optional.tree_hashes" not in Mutator(whole).arrays


def test_a_mapped_file_may_have_hashes(tmp_path):
    model, X = model_of("RandomForestClassifier"), table()[0]
    model.save(tmp_path / "m.weald", mappable=True, tree_hashes=True)
    mapped = weald.load(tmp_path / "m.weald", mmap=True)
    np.testing.assert_array_equal(mapped.predict(X), model.predict(X))


def refuse(change, match, name="RandomForestClassifier") -> None:
    mutator = Mutator(whole_of(name))
    notes, arrays = mutator.notes, dict(mutator.arrays)
    change(notes["optional"], arrays)
    with pytest.raises(FormatError, match=match):
        files.read(sign({**mutator.texts, "weald.notes": json.dumps(notes)}, arrays))


@pytest.mark.parametrize("tree", [0, 3, 5])
def test_a_wrong_hash_is_refused_and_its_tree_is_named(tree):
    def change(_, arrays):
        arrays["optional.tree_hashes"] = arrays["optional.tree_hashes"].copy()
        arrays["optional.tree_hashes"][0, tree, 31] ^= 1

    refuse(change, f"The hash of tree {tree} differs")


def test_a_wrong_hash_of_a_later_target_is_refused():
    def change(_, arrays):
        arrays["optional.tree_hashes"] = arrays["optional.tree_hashes"].copy()
        arrays["optional.tree_hashes"][1, 2, 0] ^= 1

    refuse(change, "The hash of tree 2 differs", "several targets")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda found: found.reshape(-1, 32),
        lambda found: found[:, :-1],
        lambda found: found[:, :, :-1],
        lambda found: found[:0],
        lambda found: np.concatenate([found, found]),
        lambda found: found.astype(np.uint16),
        lambda found: found.view(np.int8),
    ],
)
def test_hashes_of_another_shape_or_type_are_refused(wrong):
    def change(_, arrays):
        arrays["optional.tree_hashes"] = np.ascontiguousarray(wrong(arrays["optional.tree_hashes"]))

    refuse(change, "must contain a hash of 32 bytes for each tree")


def test_a_note_without_hashes_is_refused():
    refuse(lambda _, arrays: arrays.pop("optional.tree_hashes"), "must contain a hash of 32 bytes for each tree")


@pytest.mark.parametrize("roots", [[], ["0" * 64], ["x", "x"], "0" * 64, [0], {}, None], ids=str)
def test_wrong_roots_are_refused(roots):
    refuse(lambda notes, _: notes.update(tree_hashes={"roots": roots}), "roots")


@pytest.mark.parametrize("note", [[], "x", 1, True], ids=str)
def test_a_note_of_another_type_is_refused(note):
    refuse(lambda notes, _: notes.update(tree_hashes=note), "roots")


# ------------------------------------------------------------------------------------------------------------- roots


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def rfc_6962(hashes: list[bytes]) -> bytes:
    """The recursive definition of RFC 6962: the size of the left part is the largest power of two below n."""
    if len(hashes) == 1:
        return sha256(b"\x00" + hashes[0])
    half = 1 << (len(hashes) - 1).bit_length() - 1
    return sha256(b"\x01" + rfc_6962(hashes[:half]) + rfc_6962(hashes[half:]))


@pytest.mark.parametrize("n_trees", [*range(1, 18), 100, 127, 128, 129])
def test_a_root_is_that_of_rfc_6962(n_trees):
    hashes = [sha256(bytes([tree])) for tree in range(n_trees)]
    rows = np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(n_trees, 32)
    assert tree_hashes.merkle_root(rows) == rfc_6962(hashes).hex()


def test_roots_of_other_trees_or_of_another_order_differ():
    rows = np.frombuffer(b"".join(sha256(bytes([tree])) for tree in range(5)), dtype=np.uint8).reshape(5, 32)
    others = [rows, rows[::-1], rows[:4], rows[[0, 1, 2, 3, 4, 4]], rows[[0, 1, 2, 4, 3]]]
    assert len({tree_hashes.merkle_root(np.ascontiguousarray(one)) for one in others}) == len(others)
