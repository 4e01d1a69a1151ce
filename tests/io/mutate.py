"""Invalid files with valid digests, so that a reader must find the errors itself.

Mutator      draws invalid files, starting from a valid one
try_to_use   loads one, and uses the model in every way: only FormatError may be raised
main         many of them: `python -m tests.io.mutate --cases 100000 --seed 1`, under the sanitizers by `make fuzz`
"""

import argparse
import copy
import functools
import json
import random
import sys
import time
import warnings
import zlib
from pathlib import Path
from unittest import mock

import numpy as np

from weald.engines.native import NativeEngine
from weald.errors import FormatError, WealdError
from weald.estimators.multi_output import each_target
from weald.estimators.prediction import voting_of
from weald.forest.forest import Forest
from weald.io import container, files, packing, tree_hashes
from weald.io.compression import unzip
from weald.io.values import Reader

GOLDEN = Path(__file__).parents[1] / "golden" / "files"
EVERY = 8  # one in this many invalid files is used in every possible way; the others only predict
MOST_BYTES = 2**26  # limit for memory that an invalid file may allocate here

ODD_VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 7, 255, 256, 65535, 2**31 - 1, 2**31, 2**32, 2**40, 2**63, 2**64, -(2**63),
    10**30, 0.0, -0.5, 1e308, "", "x", "nan", "gini", "none", "meta.0", "leaf.class", "<f8", "|u1", "O", [], {},
    "<M8[ns]", [[]], [0], {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": []},
    {"roots": ["0" * 64]}, {"tree_hashes": {"roots": []}}, {"list": {"numbers": "meta.0"}},
    {"list": {"texts": ["meta.0", "meta.1"]}},
    {"array": {"dtype": "O", "shape": [2], "items": [1, 2]}},
    {"array": {"dtype": "<f8", "at": "meta.0"}}, {"scalar": ["<f4", 1]}, {"scalar": ["<U1000000", "x"]},
    {"record": ["Growth", {}]}, {"record": ["Origin", {}]}, {"set": [1, 1]}, {"a": 1, "b": 2},
]  # fmt: skip
ODD_TEXTS = [
    "", "1.0", "1.1", "2.0", "1", "estimator forest", "mappable", "estimator zlib", "estimator contract", "x",
    "estimator contract zlib", "estimator contract mappable", "estimator contract zlib zero_votes",
    "estimator contract shrinkage zlib",
]  # fmt: skip
ODD_BITS = {
    8: [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 1 << 40],
    4: [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 0x7F800000, 0x7FC00000],
    2: [0, 1, 2**15 - 1, 2**15, 2**16 - 1],
    1: [0, 1, 2, 4, 7, 8, 127, 128, 255],
}


class Mutator:
    """Draws invalid files, starting from a valid one."""

    def __init__(self, whole: bytes) -> None:
        contents = container.read(whole)
        self.texts = {name: text for name, text in contents.metadata.items() if name not in SIGNATURES}
        self.written = self.texts.pop("weald.notes")
        self.arrays = contents.arrays

    @property
    def notes(self):
        """A copy of the notes."""
        return json.loads(self.written)

    def draw(self, seed: int) -> bytes:
        """Draw the wrong file of a number."""
        dice = random.Random(seed)
        texts, notes, arrays = dict(self.texts), {**self.notes, "fingerprint": UNSIGNED}, dict(self.arrays)
        unsign_trees(notes, arrays)
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            what = dice.random()
            if what < 0.55 and arrays:
                name = dice.choice(sorted(arrays))
                self._change_array(dice, name, arrays, notes)
            elif what < 0.95:
                change_json(dice, notes)
            else:
                name = dice.choice(sorted(texts))
                texts[name] = dice.choice(ODD_TEXTS)
        texts["weald.notes"] = json.dumps(notes)
        return sign(texts, arrays)

    def draw_arrays(self, seed: int):
        """Draw invalid arrays, as they are before compression."""
        dice, arrays = random.Random(seed), dict(self.plain)
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            if arrays:
                change_array(dice, dice.choice(sorted(arrays)), arrays)
        return arrays

    @functools.cached_property
    def plain(self):
        """The arrays of the forest, not compressed."""
        found = unzip(self.arrays, self.notes["zipped"], MOST_BYTES)
        return {name: array for name, array in found.items() if not name.startswith(("meta.", "optional."))}

    @functools.cached_property
    def head(self):
        return Reader({}, files.RECORDS).read(self.notes["head"])

    def _change_array(self, dice, name, arrays, notes) -> None:
        zipped = notes["zipped"].get(name) if isinstance(notes.get("zipped"), dict) else None
        array = arrays[name]
        if isinstance(zipped, list) and dice.random() < 0.8:
            try:
                plain = np.frombuffer(zlib.decompress(array.tobytes()), dtype=np.uint8)
            except zlib.error:
                return
            changed = change_bytes(dice, plain, np.dtype(np.uint8))
            arrays[name] = np.frombuffer(zlib.compress(changed.tobytes()), dtype=np.uint8)
            return
        change_array(dice, name, arrays)


ODD_NAMES = ["optional.x", "optional.tree_hashes", "1/optional.x", "tree.weight_scale", "forest.weight_scale"]
SIGNATURES = ("weald.sha256", "weald.data")
UNSIGNED = "0" * 64


def sign(texts, arrays) -> bytes:
    return b"".join(container.write(texts, arrays))


def unsign_trees(notes, arrays) -> None:
    """Give all trees the hash that every forest has here."""
    found = arrays.get(tree_hashes.ARRAY)
    if found is not None and tree_hashes.ARRAY not in notes["zipped"]:  # compressed hashes are zeros already
        arrays[tree_hashes.ARRAY] = np.zeros_like(found)
        roots = [tree_hashes.merkle_root(of_target) for of_target in np.zeros_like(found)]
        notes["optional"][tree_hashes.NOTE]["roots"] = roots


def change_array(dice, name, arrays) -> None:
    """Change an array: its name, type, shape or length."""
    array = arrays[name]
    way = dice.random()
    if way < 0.6:
        arrays[name] = change_bytes(dice, array, array.dtype)
    elif way < 0.7:
        arrays[name] = array[: dice.randrange(len(array) + 1)]
    elif way < 0.78:
        arrays[name] = np.concatenate([array, array[: dice.randrange(1, 5)]])
    elif way < 0.84:
        arrays[name] = array.astype(dice.choice(["u1", "u2", "u4", "u8", "i1", "i4", "f4", "f8"]))
    elif way < 0.9:
        arrays[name] = array.reshape(dice.choice([(-1, 1), (1, -1), (len(array), -1)])) if array.size else array
    elif way < 0.95:
        other = dice.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif way < 0.98:
        del arrays[name]
    else:
        arrays[dice.choice(["x", "split.size", "leaf.length", "node.weight", "meta.99", *ODD_NAMES])] = array


def change_bytes(dice, array, dtype):
    """Change some numbers of an array, or some of their bits."""
    found = bytearray(array.tobytes())
    if not found:
        return array
    width = dtype.itemsize
    for _ in range(dice.choice([1, 1, 2, 5])):
        at = dice.randrange(len(found) // width) * width
        if dice.random() < 0.5:
            bits = dice.choice(ODD_BITS[width])
        else:
            bits = int.from_bytes(found[at : at + width], "little") ^ (1 << dice.randrange(8 * width))
        found[at : at + width] = bits.to_bytes(width, "little")
    return np.frombuffer(bytes(found), dtype=dtype).reshape(array.shape)


def change_json(dice, notes) -> None:
    """Change one value of a JSON tree."""
    places = list(walk(notes))
    parent, key = dice.choice(places)
    way = dice.random()
    if way < 0.6:
        parent[key] = copy.deepcopy(dice.choice(ODD_VALUES))
    elif way < 0.75:
        other, name = dice.choice(places)
        parent[key] = copy.deepcopy(other[name])
    elif way < 0.9 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] += dice.choice([-1, 1, 8, 64])
    elif way < 0.95:
        del parent[key]
    elif isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent["more"] = parent[key]


def walk(tree):
    """All positions of a tree: (list or dict, key)."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from walk(tree[key])


# ---------------------------------------------------------------------------------------------------------------- use


def try_to_use(wrong: bytes, *, in_every_way: bool = True) -> str:
    """Load a file and use the model; return "refused" or "used"."""
    try:
        model = files.read(wrong, max_bytes=MOST_BYTES)
    except FormatError:
        return "refused"
    for one in each_target(model):
        forest = one.forest_
        if forest.n_features <= 1000 and forest.n_classes <= 1000:
            X = rows_for(forest.n_features, tuple(sorted(model.schema_.categorical)))
            walk_rows(forest, X, voting_of(model))
            if in_every_way:
                use(one, X)
    if in_every_way:
        again = files.read(b"".join(files.write(model)))
        assert [one.forest_.n_nodes for one in each_target(again)] == [o.forest_.n_nodes for o in each_target(model)]
    return "used"


def try_arrays(head, arrays, *, walk: bool) -> str:
    """Make a forest of arrays, and predict with it; return "refused" or "used"."""
    try:
        forest = packing.unpack(head, arrays)
    except FormatError:
        return "refused"
    if walk:
        walk_rows(forest, rows_for(forest.n_features, tuple(range(forest.n_features))), "soft")
    return "used"


def walk_rows(forest, X, voting) -> None:
    """Predict with all trees, packed and unpacked."""
    assert len(NativeEngine().sum_votes(forest, X, voting)) == len(X)
    assert NativeEngine().leaves(forest, X).shape == (len(X), forest.n_trees)


@functools.cache
def rows_for(n_features: int, categorical: tuple[int, ...]):
    X = np.random.default_rng(0).normal(size=(7, n_features))
    X[1, 0], X[2] = np.inf, 1e9
    X[:, categorical] = np.arange(7)[:, np.newaxis]
    X[0] = np.nan
    return X


def use(model, X) -> None:
    """Use a model as Python does."""
    model.forest_.depth()
    model.forest_.fingerprint()
    try:
        repr(model)
        model.predict(X)
        model.apply(X)
        _ = model.feature_importances_
    except (WealdError, ValueError, TypeError):  # X does not match the model, or a parameter is invalid
        pass


def unsigned():
    """Accept any fingerprint: an invalid file could state its own."""
    return mock.patch.object(Forest, "fingerprint", return_value=UNSIGNED)


def wholes(*, many: bool) -> dict[str, bytes]:
    """Valid files to start from: the golden ones, which are small, or those of models of every kind."""
    if not many:
        return {file.stem: file.read_bytes() for file in sorted(GOLDEN.glob("*/*.weald"))}
    from tests.io.cases import models

    ways = ({}, {"compress": False}, {"mappable": True}, {"tree_hashes": True})
    return {f"{name} {way}": b"".join(files.write(m, **way)) for name, (m, _) in models().items() for way in ways}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", action="store_true", help="models of every kind instead of the golden files")
    parser.add_argument("--arrays", action="store_true", help="arrays alone, without the file around them: much faster")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    began, counts = time.monotonic(), {"refused": 0, "used": 0}
    found = wholes(many=given.models)
    if given.arrays:
        found = {
            name: whole
            for name, whole in found.items()
            if "mappable" not in container.read(whole).metadata["weald.requires"]
        }
    names, mutators = list(found), [Mutator(whole) for whole in found.values()]
    with unsigned():
        for case in range(given.cases):
            seed = given.seed * 10**9 + case
            which = seed % len(mutators)
            mutator = mutators[which]
            try:
                if given.arrays:
                    result = try_arrays(mutator.head, mutator.draw_arrays(seed), walk=case % 4 == 0)
                else:
                    result = try_to_use(mutator.draw(seed), in_every_way=case % EVERY == 0)
            except BaseException:
                print(f"seed {seed} of {names[which]}", file=sys.stderr)  # noqa: T201
                raise
            counts[result] += 1
            if case % 10_000 == 9_999:
                print(case + 1, counts, f"{time.monotonic() - began:.0f} s", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
