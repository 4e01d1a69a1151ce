"""Mapped pages are released when there are many, without an effect on results."""

import mmap
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import weald
from weald.codes import resident_memory, writer
from weald.codes import store as code_store
from weald.io import container

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")


def map_file(path, n_bytes):
    path.write_bytes(bytes(n_bytes))
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def kilobytes_of(mapped, name):
    """The entry of a mapping in smaps."""
    text = Path("/proc/self/smaps").read_text()
    entry = text[text.index(name) :]
    return int(re.search(r"Rss:\s+(\d+) kB", entry)[1])


@on_linux
def test_pages_are_let_go_of_when_there_are_more_than_room(tmp_path, monkeypatch):
    mapped, heard = map_file(tmp_path / "pages", 1 << 22), []
    watch = resident_memory.watch_pages([mapped], heard.append)
    assert mapped[:: mmap.PAGESIZE] == bytes(len(mapped) // mmap.PAGESIZE)
    monkeypatch.setattr(resident_memory, "MAPPED_ROOM", 1 << 50)
    watch(0.25)
    assert kilobytes_of(mapped, "pages") == 1 << 12
    monkeypatch.setattr(resident_memory, "MAPPED_ROOM", 0)
    watch(0.5)
    assert kilobytes_of(mapped, "pages") == 0
    assert heard == [0.25, 0.5]


@on_linux
def test_resident_files_are_those_that_the_system_counts():
    status = Path("/proc/self/status").read_text()
    known = sum(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) for name in ("RssFile", "RssShmem"))
    assert resident_memory.count_mapped() == pytest.approx(1024 * known, rel=0.05)


def test_ranking_lets_go_of_the_codes_of_all_columns(tmp_path, monkeypatch):
    rng, seen = np.random.default_rng(0), []
    X = rng.normal(size=(2000, 4))
    monkeypatch.setattr(writer, "watch_pages", lambda maps: seen.append(maps) or resident_memory.watch_pages(maps))
    weald.codes.from_chunks(lambda: [(X, X[:, 0])], folder=tmp_path)
    assert [[type(mapped) for mapped in maps] for maps in seen] == [[mmap.mmap] * 4]


@pytest.mark.parametrize("keep_values", [False, True])
def test_writing_and_checking_a_store_let_go_of_what_was_read(tmp_path, monkeypatch, keep_values):
    rng, n_maps = np.random.default_rng(0), {writer: [], code_store: []}
    X = rng.normal(size=(2000, 4))
    monkeypatch.setattr(container, "SLICE", 1000)
    for module, seen in n_maps.items():
        monkeypatch.setattr(module, "release_many", lambda maps, seen=seen: seen.append(len(maps)))
    how = {"max_bins": 9, "keep_values": keep_values}
    weald.codes.from_chunks(lambda: [(X, X[:, 0])], folder=tmp_path, **how)
    file = (tmp_path / code_store.FILE).read_bytes()
    n_slices = (len(file) - 8 - int.from_bytes(file[:8], "little")) // 1000  # size of the arrays
    assert set(n_maps[writer]) == {10 if keep_values else 6}  # target, ranks, codes and values
    assert len(n_maps[writer]) >= 2 * n_slices  # for the digest, and to write them
    weald.codes.load(tmp_path)
    assert set(n_maps[code_store]) == {1}
    assert len(n_maps[code_store]) >= n_slices


def test_growing_lets_go_of_the_codes_and_grows_the_same_forest(tmp_path, monkeypatch):
    rng, n_told = np.random.default_rng(0), []
    X, y = rng.normal(size=(3000, 4)), rng.normal(size=3000)
    store = weald.codes.from_chunks(lambda: [(X, y)], folder=tmp_path)

    def watch_closely(maps, watch):
        tell = resident_memory.watch_pages(maps, watch)
        tell(0.0)
        n_told.append(maps)
        return tell

    monkeypatch.setattr(code_store, "watch_pages", watch_closely)
    monkeypatch.setattr(resident_memory, "MAPPED_ROOM", 0)
    model = weald.RandomForestRegressor(3, random_state=0).fit(store)
    assert n_told == [[store._mapped]]
    in_memory = weald.RandomForestRegressor(3, random_state=0).fit(X, y)
    assert model.forest_.fingerprint() == in_memory.forest_.fingerprint()
