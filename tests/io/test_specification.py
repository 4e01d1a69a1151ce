"""docs/deployment/model-files.md is sufficient: a reader written from the page alone reconstructs the forest."""

import hashlib
import json
import zlib

import numpy as np
import pytest

from tests.io.cases import models, of_targets, table
from weald.io import files

TYPES = {"F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4", "I16": "<i2", "U16": "<u2"}
TYPES |= {"I8": "|i1", "U8": "|u1", "BOOL": "|b1"}
ORDER = (
    "tree_start <i8, feature <i4, threshold <f8, right <i4, flags |u1, size <u4, weight <f8, decrease <f8, "
    "leaf_start <i8, leaf_class <i4, leaf_weight <f8, value <f8, impurity <f8, category_start <i8, category_sets <u4, "
    "tree_weight <f8"
)


def parse(content: bytes):
    """Read the container, and check its digests."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    texts = header.pop("__metadata__")
    blank = content[: 8 + length].replace(texts["weald.sha256"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == texts["weald.sha256"]
    data = content[8 + length :]
    assert hashlib.sha256(data).hexdigest() == texts["weald.data"]
    notes, arrays = json.loads(texts["weald.notes"]), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = data[begin:end]
        dtype, shape = TYPES[entry["dtype"]], entry["shape"]
        if name in notes["zipped"]:
            dtype, shape = notes["zipped"][name]
            width = shape[1] if dtype == "|u1" and len(shape) == 2 else np.dtype(dtype).itemsize
            raw = np.frombuffer(zlib.decompress(raw), np.uint8).reshape(width, -1).T.tobytes()
        arrays[name] = np.frombuffer(raw, dtype).reshape(shape)
    return texts, notes, arrays


def fingerprint(head, arrays, shrinkage=None) -> str:
    center = float(head["target_center"]).hex()
    numbers = f"{head['contract']}, {head['n_features']}, {head['n_classes']}, '{center}', {head['target_exponent']}"
    digest = hashlib.sha256(f"({numbers})".encode())
    for name, dtype in (one.split(" ") for one in ORDER.split(", ")):
        array = arrays[name]
        if name == "tree_weight" and not len(array):
            continue
        digest.update(f"{name} {dtype} {len(array)}".encode())
        digest.update(array.astype(dtype).tobytes())
    if shrinkage:
        digest.update(f"shrinkage {shrinkage['lambda'].hex()}".encode())
    return digest.hexdigest()


@pytest.mark.parametrize("name", [*models(), *of_targets()])
def test_a_fingerprint_follows_from_the_page(name):
    _, notes, arrays = parse(b"".join(files.write((models() | of_targets())[name][0], mappable=True)))
    for target, told in enumerate([notes, *notes.get("others", [])]):
        own = {one.removeprefix(f"{target}/"): array for one, array in arrays.items() if one.startswith(f"{target}/")}
        found = {one.removeprefix("forest."): array for one, array in (arrays | own).items()}
        assert fingerprint(told["head"]["record"][1], found, notes.get("shrinkage")) == told["fingerprint"]


def doubles(name, arrays, groups, n_groups):
    """Read doubles, which are stored in one of three ways."""
    stored = arrays[name]
    if f"{name}.values" in arrays:
        first = np.concatenate([[0], np.cumsum(arrays[f"{name}.counts"], dtype=np.int64)])
        assert len(first) == n_groups + 1
        return doubles(f"{name}.values", arrays, None, 0)[first[groups] + stored]
    if stored.ndim == 2:
        whole = np.zeros((len(stored), 8), np.uint8)
        whole[:, 8 - stored.shape[1] :] = stored
        return whole.reshape(-1).view("<f8")
    return stored.astype("<f8")


class Reader:
    """Predicts from the small arrays of a forest with numeric splits."""

    def __init__(self, content: bytes) -> None:
        texts, self.notes, self.arrays = parse(content)
        assert set(texts["weald.requires"].split(" ")) <= {"estimator", "contract", "zlib", "weight_scale"}
        self.head = self.notes["head"]["record"][1]
        marks = np.unpackbits(self.arrays["node.leaf"], bitorder="little")[: self.head["n_nodes"]]
        self.is_leaf = marks.astype(bool)
        self.number = np.where(self.is_leaf, np.cumsum(self.is_leaf), np.cumsum(~self.is_leaf)) - 1
        self.feature = self.arrays["split.feature"].astype(np.int64)
        self.threshold = doubles("split.threshold", self.arrays, self.feature, self.head["n_features"])
        n_leaves = int(self.is_leaf.sum())
        lengths = self.arrays.get("leaf.length", np.ones(n_leaves, np.uint8))
        self.start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.end = [0] * len(marks)
        for node in reversed(range(len(marks))):
            self.end[node] = node + 1 if self.is_leaf[node] else self.end[self.end[node + 1]]

    def votes(self, x):
        root, total = 0, np.zeros(self.head["n_classes"])
        for n_nodes in self.arrays["tree.nodes"]:
            node = root
            while not self.is_leaf[node]:
                split = self.number[node]
                goes_left = x[self.feature[split]] <= self.threshold[split]
                node = node + 1 if goes_left else self.end[node + 1]
            entries = slice(self.start[self.number[node]], self.start[self.number[node] + 1])
            shares = np.zeros(self.head["n_classes"])
            shares[self.arrays["leaf.class"][entries]] = self.arrays["leaf.weight"][entries]
            total += shares / shares.sum()
            root += int(n_nodes)
        return total / len(self.arrays["tree.nodes"])


@pytest.mark.parametrize("options", [{}, {"compress": False}], ids=str)
@pytest.mark.parametrize("name", ["RandomForestClassifier", "pruned", "entropy"])
def test_predictions_follow_from_the_page(name, options):
    X, _, _ = table()
    model = models()[name][0]
    reader = Reader(b"".join(files.write(model, **options)))
    for x, expected in zip(X, model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(reader.votes(x), expected)
