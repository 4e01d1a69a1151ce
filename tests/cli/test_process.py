"""The process of `weald`: Ctrl-C at any time, streams that are closed, full or without Unicode, and its exit."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each test starts processes

WEALD = str(Path(sys.executable).with_name("weald"))
ROWS = "x,color,y\n" + "".join(f"{i * 7 % 40},{'red' if i % 3 else 'blue'},{'ab'[i % 2]}\n" for i in range(60))
DEFAULT = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # tests in the background ignore Ctrl-C


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("process")
    (place / "t.csv").write_text(ROWS)
    done = shell(place, "weald train t.csv -t y -n 3 -o m.weald")
    assert done.returncode == 0
    return place


def shell(folder, command, **variables):
    """Run a line of a shell script in which `weald` is the command of this installation."""
    line = f'weald() {{ "{WEALD}" "$@"; }}; {command}'
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["/bin/bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=120
    )


COMMANDS = {
    "train": "weald train t.csv -t y -n 2",
    "json": "weald inspect m.weald --json",
    "predict": "weald predict m.weald t.csv",
    "help": "weald --help",
    "version": "weald --version",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_output_that_nobody_reads_ends_quietly(command, folder):
    done = shell(folder, f"{command} 2> errors | true; echo ${{PIPESTATUS[0]}}")
    assert done.stdout == "0\n"
    assert "weald:" not in (folder / "errors").read_text()
    assert "Error" not in (folder / "errors").read_text()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk_behind_stdout_is_an_error(command, folder):
    done = shell(folder, f"{command} > /dev/full")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_closed_streams_do_not_keep_the_work_from_being_done(name, folder):
    done = shell(folder, f"{COMMANDS[name]} >&-")
    assert "Traceback" not in done.stderr
    if name == "predict":  # otherwise the result would be lost
        assert done.returncode == 1
        assert "stdout is closed" in done.stderr
    else:
        assert done.returncode == 0
    assert shell(folder, f"{COMMANDS[name]} 2>&-").returncode == 0
    assert shell(folder, f"{COMMANDS[name]} 2> /dev/full").returncode == 0


def test_a_model_is_written_where_all_streams_are_closed(folder):
    done = shell(folder, "weald train t.csv -t y -n 3 -o closed.weald <&- >&- 2>&-")
    assert done.returncode == 0
    assert (folder / "closed.weald").read_bytes() == (folder / "m.weald").read_bytes()


def test_a_pipe_as_output_whose_reader_is_gone_is_an_error(folder):
    done = shell(folder, "mkfifo gone; head -c 1 gone > /dev/null & weald train t.csv -t y -n 3000 -o gone --json")
    assert done.returncode == 2
    assert "Broken pipe: gone" in done.stderr


ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}


def test_a_terminal_without_unicode_gets_ascii(folder):
    (folder / "umlaut.csv").write_text(ROWS.replace("color", "größe").replace("red", "weiß"))
    for command in ("cv umlaut.csv -t y -n 2 -k 2", "train umlaut.csv -t y -n 2 -o u.weald", "inspect u.weald"):
        done = shell(folder, f"weald {command}", **ASCII)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.isascii()
    assert "gr??e" in done.stdout
    assert "+-" in shell(folder, "weald cv umlaut.csv -t y -n 2 -k 2", **ASCII).stdout
    facts = json.loads(shell(folder, "weald inspect u.weald --json", **ASCII).stdout)
    assert facts["features"][1]["feature"] == "größe"
    assert "größe" in shell(folder, "weald inspect u.weald", PYTHONIOENCODING="utf-8").stdout
    wrong = shell(folder, "weald train umlaut.csv -t große", **ASCII)
    assert wrong.returncode == 1
    assert wrong.stderr.isascii()


# ------------------------------------------------------------------------------------------------------------ Ctrl-C


def run_with(body):
    """Run `weald` with another body of the command: (exit code, stdout, stderr, seconds)."""
    script = "import os, signal, sys, time\nfrom weald.cli import main\n\ndef body(arguments):\n"
    script += textwrap.indent(textwrap.dedent(body), "    ") + "\nmain._run = body\nmain.main()\n"
    began = time.monotonic()
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **DEFAULT)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - began


def test_an_interrupt_that_is_swallowed_is_raised_again():
    code, _, err, seconds = run_with("""
        for _ in range(3):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
            except KeyboardInterrupt:
                pass
        time.sleep(40)
    """)
    assert (code, err) == (130, "weald: interrupted\n")
    assert seconds < 20


def test_an_interrupt_does_not_interrupt_what_cleans_up_after_it():
    code, out, err, _ = run_with("""
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(40)
        finally:
            try:
                os.unlink("/nothing/here")
            except FileNotFoundError:
                time.sleep(0.5)
            time.sleep(0.5)
            print("clean")
    """)
    assert (code, out, err) == (130, "clean\n", "weald: interrupted\n")


def test_an_interrupt_within_a_callback_is_raised_again_without_a_word():
    code, _, err, _ = run_with("""
        class Thing:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(40)
        Thing()
        time.sleep(40)
    """)
    assert (code, err) == (130, "weald: interrupted\n")


def test_an_import_that_fails_for_an_interrupt_is_no_missing_package():
    code, _, err, _ = run_with("""
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(40)
        except KeyboardInterrupt:
            raise ModuleNotFoundError("numpy did not load") from None
    """)
    assert (code, err) == (130, "weald: interrupted\n")


def test_an_ignored_interrupt_stays_ignored():
    script = "from weald.cli import process\nprocess.set_up()\nimport os, signal\nos.kill(os.getpid(), signal.SIGINT)"
    given = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    assert subprocess.run([sys.executable, "-c", script], check=False, **given).returncode == 0


@pytest.mark.slow
def test_ctrl_c_is_heard_while_packages_are_imported(folder):
    rows = "".join(f"{i * 7919 % 10007},{i * 104729 % 10009},{'ab'[i * 31 % 7 % 2]}\n" for i in range(400_000))
    (folder / "large.csv").write_text("x,z,y\n" + rows)
    for hundredths in range(20, 120, 2):
        arguments = [WEALD, "train", "large.csv", "-t", "y", "-n", "3000", "-o", "never.weald"]
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder, **DEFAULT}
        with subprocess.Popen(arguments, **given) as going:
            time.sleep(hundredths / 100)
            going.send_signal(signal.SIGINT)
            try:
                out, err = going.communicate(timeout=20)
            finally:
                going.kill()
        if going.returncode in (1, -signal.SIGINT) and "in run" not in err:
            continue  # the signal arrived before the first line of weald
        assert (going.returncode, out, err) == (130, "", "weald: interrupted\n"), hundredths
    assert not list(folder.glob("*never*"))


# ----------------------------------------------------------------------------------------------------------- the end


def test_a_wide_file_with_a_line_that_is_too_long_ends_the_process(folder):
    """Arrow's threads would prevent its exit: tasks that wait for a thread hold what the exit waits for."""
    names = [f"g{i}" for i in range(20_000)]
    values = ",".join(["0.12345"] * len(names))
    lines = [",".join(names), *[values] * 4, values + "1" * 400_000, *[values] * 4]
    (folder / "wide.csv").write_text("\n".join(lines))
    script = "import sys; from weald.cli import reading; reading.BLOCK = reading.LONGEST_LINE = 2**18\n"
    script += "from weald.cli.main import run; sys.exit(run(sys.argv[1:]))"  # the usual exit
    for words in ("train wide.csv -t g0", "cv wide.csv -t g0"):
        command = [sys.executable, "-c", script, *words.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=100)
        assert done.returncode == 2
        assert done.stderr.startswith("weald: wide.csv has a line of more than 262,144 bytes")


def test_a_fault_of_weald_is_one_line(folder):
    code, _, err, _ = run_with("raise KeyError('what')")
    assert code == 3
    assert err.startswith("weald: This is a bug in weald: KeyError: 'what'.")
    assert len(err.splitlines()) == 1
