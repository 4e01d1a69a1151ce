"""The multiset hash of rows in plain Python: the definition, which `core/coding/data_hash.cpp` computes fast.

The number of a row is a hash of 3072 bits, modulo a prime P. The hash of a table is the product of the numbers of its
rows, modulo P: it does not depend on their order, and the products of parts are multiplied. A row that counts k times
is a power, so that k copies are a row of weight k.
"""

import hashlib
import struct
from collections.abc import Sequence

PRIME = 2**3072 - 1103717  # (P - 1) / 2 is a prime, too: no power of a number repeats before 2^3070 of them
PARTS = 6  # 512 bits each


def row_number(words: Sequence[int]) -> int:
    """Hash a row, given as words of 64 bits, to a number below P."""
    key = hashlib.blake2b(struct.pack(f"<{len(words)}Q", *words)).digest()
    expanded = b"".join(hashlib.blake2b(key + struct.pack("<Q", part)).digest() for part in range(PARTS))
    return int.from_bytes(expanded, "little") % PRIME


def row_product(rows: Sequence[Sequence[int]], copies: Sequence[int] | None) -> int:
    """Multiply the numbers of all rows."""
    product = 1
    for r, words in enumerate(rows):
        product = product * pow(row_number(words), 1 if copies is None else copies[r], PRIME) % PRIME
    return product
