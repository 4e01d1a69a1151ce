"""Tables mapped from a truncated file are refused before they are read, whatever object has mapped them."""

import mmap
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import weald
from weald.data.mmap_checks import piece_of
from weald.errors import WealdError

pytestmark = pytest.mark.sanitize

CELLS = np.tile(np.arange(20).reshape(5, 4), (1000, 1))
LATE = 3 * mmap.ALLOCATIONGRANULARITY


def plain_map(path, offset):
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, offset=offset)


# Path of an array of doubles that begins after 128 bytes, and of an arrow file -> a table that is mapped.
MAPPED = {
    "a map": lambda path, _: np.load(path, mmap_mode="r"),
    "columns of a map": lambda path, _: np.load(path, mmap_mode="r")[:, ::-1],
    "rows of a map, backwards": lambda path, _: np.load(path, mmap_mode="r")[::-1],
    "an array of a map": lambda path, _: np.asarray(np.load(path, mmap_mode="r")),
    "a map that begins late": lambda path, _: np.memmap(
        path, mode="r", offset=128 + 8192, dtype=float, shape=(4000, 4)
    ),
    "whole numbers of a map": lambda path, _: np.memmap(path, mode="r", offset=128, dtype=np.int16, shape=(5000, 4)),
    "bytes of a map": lambda path, _: np.frombuffer(plain_map(path, 0), offset=128).reshape(-1, 4),
    "bytes of a map that begins late": lambda path, _: np.frombuffer(plain_map(path, LATE)).reshape(-1, 4),
    "a frame of a map": lambda path, _: pd.DataFrame(np.load(path, mmap_mode="r"), copy=False),
    "a frame of whole numbers of a map": lambda path, _: pd.DataFrame(
        np.memmap(path, mode="r", offset=128, dtype=np.int32, shape=(10000, 4)), copy=False
    ),
    "a frame of truth values of a map": lambda path, _: pd.DataFrame(
        np.memmap(path, mode="r", offset=128, dtype=np.bool_, shape=(5000, 4)), copy=False
    ),
    "a frame of several maps": lambda path, _: pd.DataFrame(
        {name: np.load(path, mmap_mode="r")[:, f] for f, name in enumerate("abcd")}, copy=False
    ),
    "an arrow table of a map": lambda _, path: pa.ipc.open_file(pa.memory_map(str(path))).read_all(),
    "a polars frame of a map": lambda _, path: pl.from_arrow(pa.ipc.open_file(pa.memory_map(str(path))).read_all()),
    "a sparse map": lambda path, _: sparse.csr_array(
        (np.load(path, mmap_mode="r").ravel(), np.tile(np.arange(4), 5000), np.arange(0, 20001, 4))
    ),
}


@pytest.fixture
def paths(tmp_path):
    array, arrow = tmp_path / "x.npy", tmp_path / "x.arrow"
    np.save(array, CELLS.astype(float))
    table = pa.table({name: CELLS[:, f].astype(float) for f, name in enumerate("abcd")})
    with pa.OSFile(str(arrow), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return array, arrow


@pytest.mark.parametrize("name", MAPPED)
def test_a_map_of_a_file_that_was_cut_short_is_refused_before_it_is_read(paths, name):
    """Reading it would crash the process. Truncation during a read cannot be detected."""
    given = MAPPED[name](*paths)
    target = np.arange(given.shape[0]) % 2
    model = weald.RandomForestClassifier(2, random_state=0).fit(given, target)
    for path in paths:
        os.truncate(path, 4096)
    for use in (lambda: model.predict(given), lambda: weald.DecisionTreeClassifier().fit(given, target)):
        with pytest.raises(WealdError, match="X is mapped from a file that has been truncated"):
            use()


def test_a_file_that_is_longer_than_its_map_is_read(paths):
    given = np.frombuffer(plain_map(paths[0], LATE)).reshape(-1, 4)
    with paths[0].open("ab") as file:
        file.write(b"more")
    assert weald.DecisionTreeClassifier().fit(given, np.arange(len(given)) % 2).n_features_in_ == 4


def test_maps_of_targets_and_weights_are_looked_at_too(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(5000.0) % 2)
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    x = np.arange(5000.0)[:, None]
    os.truncate(tmp_path / "y.npy", 4096)
    with pytest.raises(WealdError, match=r"^y is mapped from a file that has been truncated"):
        weald.DecisionTreeClassifier().fit(x, y)
    with pytest.raises(WealdError, match="sample_weight is mapped from a file that has been truncated"):
        weald.DecisionTreeClassifier().fit(x, x.ravel() % 2, sample_weight=y)
    with pytest.raises(WealdError, match=r"^y is mapped from a file that has been truncated"):
        weald.DecisionTreeRegressor().fit(x, pd.Series(y, copy=False))


@pytest.mark.parametrize("of", [np.s_[:], np.s_[::-1], np.s_[:, ::-2], np.s_[3:4, 2:], np.s_[::3, 1]], ids=str)
def test_a_piece_has_the_first_and_the_last_byte_of_an_array(of):
    assert (piece_of(CELLS[of])[0], piece_of(CELLS[of])[1] + 1) == np.lib.array_utils.byte_bounds(CELLS[of])
