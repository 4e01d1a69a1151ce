"""Files are complete or absent; links, modes and devices are preserved."""

import os
import threading

import numpy as np
import pytest

import weald
from weald.io import atomic

X = np.random.default_rng(0).normal(size=(60, 3))
FOREST = weald.RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)
TREE = weald.DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0)
WRITERS = {
    "save": FOREST.save,
    "to_c": lambda path: FOREST.to_c(path, check=False),
    "to_json": lambda path: FOREST.to_json(path, check=False),
    "to_onnx": lambda path: FOREST.to_onnx(path, check=False),
    "export_html": lambda path: weald.export_html(TREE, path),
    "report": lambda path: TREE.report(X, X[:, 0] > 0).save(path),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_full_disk_leaves_the_old_file_whole(write, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_link_is_followed_and_a_mode_is_kept(write, tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    write(link)
    assert link.is_symlink()
    assert path.read_bytes() != b"old"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_pipe_is_written_to(write, tmp_path):
    pipe, plain, got = tmp_path / "pipe", tmp_path / "plain", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe)
    reader.join(30)
    write(plain)
    assert pipe.is_fifo()
    assert got[0][:12] == plain.read_bytes()[:12]


def test_files_that_a_killed_writer_left_are_removed(tmp_path):
    dead, recent = tmp_path / ".m.weald.999999999-0123abcd", tmp_path / ".m.weald.999999998-0123abcd"
    alive, other = tmp_path / f".m.weald.{os.getpid()}-0123abcd", tmp_path / ".n.weald.999999999-0123abcd"
    for file in (dead, alive, recent, other):
        file.write_bytes(b"unfinished")
        if file != recent:
            os.utime(file, (0, 0))
    FOREST.save(tmp_path / "m.weald")
    assert not dead.exists()
    assert alive.exists()
    assert recent.exists()
    assert other.exists()
