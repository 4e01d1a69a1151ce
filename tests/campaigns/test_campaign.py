"""Campaigns notice what they look for: crashes, hangs, errors, and files that are not whole."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald
from tests.campaigns import campaign, disk, inputs, kills
from tests.campaigns import files as damage
from tests.campaigns.campaign import Budget, FaultError, run_cases
from weald.errors import WealdError


def crash(case):
    if case == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return "fine"


def test_outcomes_are_counted_in_another_process():
    counts = run_cases(range(5), lambda case: "even" if case % 2 == 0 else "odd", Budget(60, 0))
    assert counts == {"even": 3, "odd": 2}


def test_a_crash_is_a_fault_that_names_its_case():
    with pytest.raises(FaultError, match="case 3: 3"):
        run_cases(range(5), crash, Budget(60, 0))


def test_an_error_is_a_fault_that_shows_where():
    with pytest.raises(FaultError, match="ZeroDivisionError"):
        run_cases([1, 0], lambda case: str(1 / case), Budget(60, 0))


def test_a_hang_is_a_fault(monkeypatch):
    monkeypatch.setattr(campaign, "HANGS_AFTER", 0.2)
    with pytest.raises(FaultError, match="no progress"):
        run_cases([1], lambda _: signal.pause(), Budget(60, 0))


def test_a_damaged_file_that_is_accepted_is_a_fault():
    with pytest.raises(FaultError, match="accepted"):
        damage.refused(lambda: None)


def test_a_writer_that_is_not_atomic_is_a_fault(monkeypatch):
    def write_in_place(model, path):
        with Path(path).open("wb") as file:
            for _ in range(50):
                file.write(bytes([model.n_estimators]) * 1000)
                file.flush()

    monkeypatch.setattr(kills, "LONGEST", 0.02)
    with pytest.raises(FaultError, match="neither of the two"):
        kills.kill_writers("in place", write_in_place, Budget(20, 0))


def test_an_old_file_that_is_lost_on_a_full_disk_is_a_fault(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write():
        path.write_bytes(b"ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(FaultError, match="not whole"):
        disk.write_or_fail(write, path, b"old")


def test_an_error_without_a_name_is_a_fault():
    with pytest.raises(ZeroDivisionError):
        inputs.check(("DecisionTreeClassifier", "x", lambda _: 1 / 0))
    assert inputs.check(("DecisionTreeClassifier", "x", lambda model: model.fit([[1.0]], [0]))) == "results"
    with pytest.raises(FaultError, match="says nothing"):
        inputs.check(("DecisionTreeClassifier", "x", lambda _: fail()))


def fail():
    raise weald.DataError("bad")


def test_there_are_enough_bad_inputs():
    assert len({name for name, _ in inputs.calls()}) >= 300
    assert len(inputs.KINDS) >= 11
    assert issubclass(weald.DataError, WealdError)


@pytest.mark.parametrize(
    "kernel", [np.array(["auto", "rbf"]), pd.Series(["auto"]), pd.NA], ids=["array", "series", "NA"]
)
def test_a_kernel_that_is_no_word_is_refused_by_name(kernel):
    with pytest.raises(WealdError, match="kernel"):
        weald.KernelForestClassifier(2, kernel=kernel).fit([[1.0], [2.0]], [0, 1])


def test_a_metric_without_a_signature_raises_its_own_error():
    X, y = inputs.X, inputs.Y
    with pytest.raises(TypeError, match="integer scalar arrays"):
        weald.RandomForestClassifier(20, oob_score=int, random_state=0).fit(X, y)
