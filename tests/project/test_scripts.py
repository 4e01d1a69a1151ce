"""The exit of scripts in separate processes is reported correctly."""

from tests.scripts import run


def test_what_a_script_says_and_how_it_ends():
    assert run("import sys; print('out'); print('beside', file=sys.stderr)") == (0, "out\n", "beside\n")
    assert run("import sys; print(sys.argv[1:])", "a", "b").stdout == "['a', 'b']\n"
    assert run("raise SystemExit(3)").returncode == 3
    failed = run("1 / 0")
    assert failed.returncode == 1
    assert "ZeroDivisionError" in failed.stderr


def test_a_script_that_is_killed_or_takes_too_long_is_known():
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").returncode == -11
    assert run("import time; time.sleep(60)", timeout=0.5).returncode is None
