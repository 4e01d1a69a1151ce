"""Sparse tables of more than 2**31 filled cells: their content is one piece of memory, mapped repeatedly.

So a table of 32 GiB takes a few megabytes. A fit copies the cells, which is too expensive for a test, so only the steps
that read all of them are tested.
"""

import ctypes
import mmap
import os
import resource
import weakref

import numpy as np
import pytest
from scipy import sparse

import weald
from weald import _core
from weald.engines.native import MOST_CELLS, row_blocks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files in memory"),
]

N_PLACES = 2**19  # of a row
N_COPIES = 2**12 + 1  # so the last row begins beyond the range of signed 32-bit integers


def repeat(pattern, last):
    """Concatenate copies of a pattern, and at the end another one of the same length; nothing is copied."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    n_bytes, private, fixed, no_reserve = pattern.nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0x10, 0x4000
    assert n_bytes % mmap.PAGESIZE == 0
    start = libc.mmap(None, N_COPIES * n_bytes, mmap.PROT_READ, private | no_reserve, -1, 0)
    assert start not in (None, ctypes.c_void_p(-1).value)
    for cells, places in ((pattern, range(N_COPIES - 1)), (last, [N_COPIES - 1])):
        file = os.memfd_create("cells")
        os.write(file, cells.tobytes())
        for place in places:
            at = start + place * n_bytes
            assert libc.mmap(at, n_bytes, mmap.PROT_READ, mmap.MAP_SHARED | fixed, file, 0) == at
        os.close(file)
    memory = (ctypes.c_char * (N_COPIES * n_bytes)).from_address(start)
    weakref.finalize(memory, libc.munmap, ctypes.c_void_p(start), ctypes.c_size_t(N_COPIES * n_bytes))
    return np.frombuffer(memory, dtype=pattern.dtype)


def values(seed):
    """Make a row: few cells are not zero, but all are stored."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(N_PLACES) < 1e-3, rng.integers(1, 4, N_PLACES), 0).astype(float)


def test_tables_of_more_than_2_to_the_31_cells_are_predicted():
    few = np.array([values(seed) for seed in range(4)])
    model = weald.RandomForestClassifier(20, random_state=0, max_features=0.1, n_jobs=2)
    predicted = model.fit(sparse.csr_array(few), [0, 1, 0, 1]).predict_proba(few[:2])
    assert (predicted[0] != predicted[1]).any()
    places = np.arange(N_PLACES)
    cells = (repeat(few[0], few[1]), repeat(places, places), np.arange(N_COPIES + 1) * N_PLACES)
    many = sparse.csr_array(cells, shape=(N_COPIES, N_PLACES))
    assert many.nnz > 2**31
    assert len(row_blocks(many)) == -(-many.nnz // MOST_CELLS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = model.predict_proba(many)
    assert (found[:-1] == predicted[0]).all()
    assert (found[-1] == predicted[1]).all()
    # Shared pages count once per mapping; the memory after the table is protected.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (many.nnz * 16 >> 10) + 2_000_000


def test_codes_of_more_than_2_to_the_31_cells_are_those_of_few():
    """The last column begins where signed 32-bit integers end."""
    core = _core.load(_core.simd)
    one, other = values(0), values(1)
    places = np.arange(N_PLACES, dtype=np.int32)
    few = core.SparseTable(np.arange(3) * N_PLACES, np.tile(places, 2), np.concatenate([one, other]), N_PLACES, 2)
    starts = np.arange(N_COPIES + 1) * N_PLACES
    many = core.SparseTable(starts, repeat(places, places), repeat(one, other), N_PLACES, N_COPIES)
    codes, _ = core.code_sparse(few, 1)
    assert codes.tolist() == other.astype(int).tolist()
    found, hashes = core.code_sparse(many, N_COPIES - 1)
    assert np.array_equal(found, codes)
    assert len(np.unique(hashes)) > 1
    with pytest.raises(ValueError, match="sparse table"):  # an index that is no row, beyond 2**31
        core.SparseTable(starts, repeat(places, places + 1), repeat(one, other), N_PLACES, N_COPIES)
