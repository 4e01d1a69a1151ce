"""A hash of each tree in a file, and their Merkle root.

write          forests -> a note and an array
check          refuse hashes that differ from those of the forests
merkle_root    hashes of trees -> one hash, from which a tree can be proven to be in the forest

Hashes are an optional part of a file: a reader that does not know them ignores them.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from weald.engines.threads import count_threads, map_on_threads
from weald.forest.forest import Forest
from weald.io.container import Json, require
from weald.io.streams import Arrays

Hashes = npt.NDArray[np.uint8]  # trees x 32 bytes

NOTE = "tree_hashes"
ARRAY = "optional.tree_hashes"
# Hashes of trees and hashes of pairs have different prefixes, so a pair cannot be mistaken for a tree (RFC 6962).
OF_TREE, OF_PAIR = b"\x00", b"\x01"


def write(forests: Sequence[Forest]) -> tuple[Json, Arrays]:
    """Hash the trees of each target."""
    hashes = [_hash_trees(forest) for forest in forests]
    return {"roots": [merkle_root(of_target) for of_target in hashes]}, {ARRAY: np.stack(hashes)}


def check(note: Json, arrays: Arrays, forests: Sequence[Forest]) -> None:
    """Compare the hashes of a file with those of the forests that were read from it."""
    found = arrays.get(ARRAY)
    roots = note.get("roots") if isinstance(note, dict) else None
    shape = (len(forests), forests[0].n_trees, hashlib.sha256().digest_size)
    proper = found is not None and found.dtype == np.uint8 and found.shape == shape
    require(proper, f"The array {ARRAY!r} must contain a hash of 32 bytes for each tree.")
    assert found is not None  # noqa: S101  (for the type checker)
    for target, forest in enumerate(forests):
        wrong = np.flatnonzero((_hash_trees(forest) != found[target]).any(axis=1))
        require(not len(wrong), f"The hash of tree {wrong[:1].sum()} differs from that in the file.")
    expected = [merkle_root(of_target) for of_target in found]
    require(roots == expected, "The Merkle roots differ from those in the file.")


def _hash_trees(forest: Forest) -> Hashes:
    def hash_tree(tree: int) -> bytes:
        return bytes.fromhex(forest.take([tree]).fingerprint())

    hashes = map_on_threads(hash_tree, range(forest.n_trees), count_threads(None))
    return np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(forest.n_trees, -1)


def merkle_root(hashes: Hashes) -> str:
    """Hash pairs of neighbors until one hash remains; the last of an odd number is carried over."""
    level = [hashlib.sha256(OF_TREE + one.tobytes()).digest() for one in hashes]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        joined = [hashlib.sha256(OF_PAIR + left + right).digest() for left, right in pairs]
        level = joined + level[len(joined) * 2 :]
    return level[0].hex()
