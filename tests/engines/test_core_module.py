"""The choice of the compiled module."""

import os
import subprocess
import sys

import pytest

from weald import _core


def ask(simd: str) -> subprocess.CompletedProcess[str]:
    """Import the core in a fresh process with WEALD_SIMD set, and print the set in use."""
    command = [sys.executable, "-c", "from weald import _core; print(_core.simd)"]
    told = os.environ | {"WEALD_SIMD": simd}
    return subprocess.run(command, env=told, capture_output=True, text=True, check=False, timeout=240)


def test_the_fastest_set_that_runs_here_is_used():
    assert ask("").stdout.strip() == _core.supported()[0]


@pytest.mark.parametrize("simd", _core.supported())
def test_weald_simd_chooses_the_set(simd):
    assert ask(simd).stdout.strip() == simd


def test_a_set_that_does_not_exist_is_an_error_that_names_the_choice():
    answer = ask("avx1024")
    assert answer.returncode != 0
    assert "WEALD_SIMD='avx1024'" in answer.stderr
    assert '"baseline"' in answer.stderr


def test_a_set_that_the_processor_cannot_run_is_an_error(monkeypatch):
    monkeypatch.setattr(_core.load(_core.built()[-1]), "cpu_supports", lambda simd: simd == "baseline")
    with pytest.raises(ImportError, match=r"This processor cannot run .*avx512"):
        _core.load("avx512")


def test_every_module_knows_its_set_and_has_the_same_names():
    names = set(dir(_core.load("baseline")))
    for simd in _core.supported():
        module = _core.load(simd)
        assert module.simd == simd
        assert set(dir(module)) == names
