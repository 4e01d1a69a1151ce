"""A mapped file is used in place: nothing is read before it is needed, and processes share it."""

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import weald
from tests import scripts
from tests.io.cases import models, table
from tests.io.mutate import Mutator, sign
from weald.engines.derived_forms import forms_of
from weald.engines.native import PACKED_SIZES, NativeEngine
from weald.errors import FormatError
from weald.io import container, files

N_PROCESSES = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of some 10,000 nodes."""
    dice = np.random.default_rng(0)
    X = dice.normal(size=(600, 4))
    path = tmp_path_factory.mktemp("mapped") / "model.weald"
    weald.RandomForestClassifier(40, random_state=0).fit(X, dice.integers(0, 3, 600)).save(path, mappable=True)
    return path


def test_what_is_walked_is_the_file_itself(file):
    mapped = weald.load(file, mmap=True)
    X = np.random.default_rng(1).normal(size=(50, 4))
    assert mapped.predict_proba(X).tobytes() == weald.load(file).predict_proba(X).tobytes()
    for size in PACKED_SIZES:
        found = NativeEngine()._packed(mapped.forest_, size).buffer()
        assert np.shares_memory(found, forms_of(mapped.forest_).mapped[size])
        assert found.ctypes.data % 64 == 0


def test_nothing_but_the_header_is_read_when_a_file_is_mapped(file, tmp_path):
    """Arrays may contain anything until they are used."""
    wrong = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(wrong[:8], "little")
    wrong[begin:] = bytes(len(wrong) - begin)
    (tmp_path / "m.weald").write_bytes(wrong)
    mapped = weald.load(tmp_path / "m.weald", mmap=True)
    with pytest.raises(weald.WealdError, match=r"packed forest in the file is invalid|has a vote"):
        mapped.predict(np.zeros((9, 4)))


@pytest.mark.sanitize
def test_a_packed_forest_that_is_damaged_is_refused_or_walked_without_harm(file):
    """Change any byte of it; the digest of the arrays is not checked when a file is mapped."""
    arrays = container.read(file.read_bytes()).arrays
    X = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    whole_forest, dice, refused = weald.load(file).forest_, np.random.default_rng(0), 0
    for case in range(150):
        size = PACKED_SIZES[case % 2]
        buffer = arrays[f"packed.{NativeEngine().packed_mark}.{size}"].copy()
        at = dice.integers(0, 200 if case % 3 else len(buffer))
        buffer[at] ^= 1 << dice.integers(0, 8)
        forest = dataclasses.replace(whole_forest)  # a forest without packed forms
        NativeEngine().find_packed(forest, {size: buffer})
        try:
            NativeEngine().sum_votes(forest, X if size == "small" else X + 1e-12, "soft")
        except FormatError:
            refused += 1
    assert refused > 30


def test_another_layout_is_packed_anew(file):
    mutator = Mutator(file.read_bytes())
    arrays = {name.replace(NativeEngine().packed_mark, "WEALDPK0"): a for name, a in mutator.arrays.items()}
    written = sign({**mutator.texts, "weald.notes": json.dumps(mutator.notes)}, arrays)
    mapped = files.read(memoryview(written), mapped=True)
    X = np.random.default_rng(1).normal(size=(50, 4))
    assert mapped.predict_proba(X).tobytes() == weald.load(file).predict_proba(X).tobytes()
    assert not forms_of(mapped.forest_).mapped


@pytest.mark.parametrize("name", ["categories", "boosting"])
def test_categories_and_weights_are_mapped_too(name, tmp_path):
    model, X = models()[name]
    model.save(tmp_path / "m.weald", mappable=True)
    mapped = weald.load(tmp_path / "m.weald", mmap=True)
    assert mapped.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert set(PACKED_SIZES) <= set(forms_of(mapped.forest_).mapped)


def predict_and_wait(path, ready, done, told):
    """In a separate process: map, predict, wait until all have, and report the memory of the mapping."""
    X = table()[0]
    model = weald.load(path, mmap=True)
    model.set_params(n_jobs=1).predict(X)
    ready.wait(60)
    blocks = re.findall(rf"{re.escape(str(path))}\n(.*?)VmFlags", Path("/proc/self/smaps").read_text(), re.DOTALL)
    sums = {key: sum(int(re.search(rf"^{key}: *(\d+)", b, re.MULTILINE)[1]) for b in blocks) for key in KINDS}
    told.put(sums)
    done.wait(60)


KINDS = ("Rss", "Pss", "Private_Dirty")  # in kilobytes


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_processes_share_one_copy(file):
    """All processes together use as much memory for the file as a single one."""
    context = scripts.SERVER  # processes forked from here could wait for locks of other threads
    ready, done, told = context.Barrier(N_PROCESSES), context.Barrier(N_PROCESSES), context.Queue()
    how = {
        "target": predict_and_wait,
        "args": (file, ready, done, told),
        "daemon": True,
    }  # the exit does not wait for it
    workers = [context.Process(**how) for _ in range(N_PROCESSES)]
    for worker in workers:
        worker.start()
    found = [told.get(timeout=90) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == os.EX_OK
    assert all(sums["Private_Dirty"] == 0 for sums in found)
    most = max(sums["Rss"] for sums in found)
    assert most * 1024 > 0.1 * file.stat().st_size
    assert sum(sums["Pss"] for sums in found) <= 1.1 * most + 4 * N_PROCESSES


@pytest.mark.sanitize
@pytest.mark.parametrize("start", [10**9, 2**62, -1])
def test_trees_that_begin_beyond_the_file_are_refused_before_a_node_is_read(start, tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 4))
    path = tmp_path / "mapped.weald"
    weald.RandomForestClassifier(4, random_state=0).fit(X, X[:, 0] > 0).save(path, mappable=True)
    file = container.read(path.read_bytes())
    texts = {key: text for key, text in file.metadata.items() if key not in {"weald.sha256", "weald.data"}}
    arrays = {key: array.copy() for key, array in file.arrays.items()}
    arrays["forest.tree_start"][1] = start
    path.write_bytes(b"".join(container.write(texts, arrays)))
    with pytest.raises(weald.FormatError):
        weald.load(path, mmap=True).apply(X)


# Functions that read the arrays instead of the packed form.
WAYS = {
    "apply": lambda m, X: m.apply(X),
    "predict, not packed": lambda m, X: m.predict(X),
    "reference": lambda m, X: m.set_params(engine="reference").predict(X[:3]),
    "depth": lambda m, _: m.forest_.depth(),
    "take": lambda m, _: m.forest_.take([0]),
    "importances": lambda m, _: m.feature_importances_,
    "compile": lambda m, _: m.compile(),
    "save": lambda m, _: b"".join(files.write(m)),
    "shares": lambda m, _: m.forest_.probabilities() if m.forest_.n_classes else None,
}
WRONG = {
    "tree_start": [(1, -1), (1, 2**62), (0, 1)],
    "feature": [(0, 99), (0, -2), (0, -1)],
    "right": [(0, 0), (0, 1), (0, 2), (0, -1), (0, 2**31 - 1)],
    "threshold": [(0, np.nan)],
    "flags": [(0, 2)],
    "leaf_start": [(1, -1), (1, 2**62), (0, 1), (-1, 2**40)],
    "leaf_class": [(0, -1), (0, 99)],
    "leaf_weight": [(0, np.inf)],
    "category_start": [(0, 1)],
    "weight": [(0, np.nan)],
    "decrease": [(0, np.inf)],
}


def change_mapped(path, to, arrays) -> None:
    """Recompute the digests of a file whose arrays have changed, without the packed form."""
    mutator = Mutator(path.read_bytes())
    kept = {name: array for name, array in mutator.arrays.items() if not name.startswith("packed.")}
    to.write_bytes(sign({**mutator.texts, "weald.notes": mutator.written}, {**kept, **arrays}))


@pytest.mark.sanitize
@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_lead_elsewhere_are_refused_whatever_looks_at_them(file, name, tmp_path):
    X, arrays = np.random.default_rng(1).normal(size=(9, 4)), container.read(file.read_bytes()).arrays
    path = tmp_path / "m.weald"
    for place, value in WRONG[name]:
        array = arrays[f"forest.{name}"].copy()
        array[place] = value
        change_mapped(file, path, {f"forest.{name}": array})
        for way, look in WAYS.items():
            if way.startswith("predict") and name in {"weight", "decrease", "leaf_weight"}:
                continue  # not checked
            with pytest.raises(FormatError, match="damaged"):
                look(weald.load(path, mmap=True), X)


def test_arrays_of_other_lengths_are_refused(file, tmp_path):
    path = tmp_path / "m.weald"
    for name in ("leaf_start", "leaf_class", "leaf_weight", "category_start", "value", "impurity", "tree_weight"):
        array = container.read(file.read_bytes()).arrays[f"forest.{name}"]
        change_mapped(
            file, path, {f"forest.{name}": np.append(array, array[-1:] if len(array) else array.dtype.type(1))}
        )
        with pytest.raises(FormatError):
            weald.load(path, mmap=True).forest_.depth()


def test_a_mapped_forest_that_was_looked_at_is_a_forest_like_any_other(file):
    mapped, whole = weald.load(file, mmap=True).forest_, weald.load(file).forest_
    assert type(mapped) is not type(whole)
    assert (mapped.n_trees, mapped.n_nodes) == (whole.n_trees, whole.n_nodes)
    assert mapped.fingerprint() == whole.fingerprint()
    assert type(mapped) is type(whole)
    assert mapped.take([0, 1]).fingerprint() == whole.take([0, 1]).fingerprint()
