"""The program `weald`: fast start, pipes and terminals, Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weald.cli.app import app
from weald.cli.main import run

WEALD = str(Path(sys.executable).with_name("weald"))
COMMANDS = [
    "train",
    "predict",
    "evaluate",
    "cv",
    "tune",
    "explain",
    "report",
    "inspect",
    "verify",
    "audit",
    "diff",
    "convert",
    "bench",
    "demo",
    "doctor",
]


def start(*arguments, **given):
    return subprocess.run([WEALD, *arguments], capture_output=True, text=True, check=False, timeout=240, **given)


def write_large(file):
    """A table on which many trees take a while to grow."""
    lines = [",".join([*(f"c{j}" for j in range(10)), "y"])]
    lines += [",".join([*(str(i * (j + 7919) % 1009) for j in range(10)), str(i % 97)]) for i in range(4000)]
    file.write_text("\n".join(lines))


def test_the_commands_are_these():
    assert [command.name for command in app.registered_commands] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command, capsys):
    assert run([command, "--help"]) == 0
    output = capsys.readouterr().out
    assert f"Usage: weald {command}" in output
    assert "--json" in output


def test_without_a_command_there_is_help(capsys):
    assert run([]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("Usage: weald")
    assert output.err == ""


def test_help_needs_nothing_heavy():
    code = (
        "import sys; from weald.cli.main import run; run(['--help']); "
        "heavy = ('numpy', 'sklearn', 'pyarrow', 'rich', 'pydantic', 'importlib.metadata', 'weald.estimators'); "
        "sys.exit(' '.join(name for name in heavy if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240)
    assert done.stderr.strip() == ""
    assert all(name in done.stdout for name in COMMANDS)


def test_a_program_without_its_extras_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from weald.cli.main import run; sys.exit(run(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 1
    assert "pip install pyarrow rich typer" in done.stderr


def test_exit_codes_and_streams():
    assert start("--version").stdout.startswith("weald ")
    wrong = start("frain")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "Did you mean 'train'?" in wrong.stderr


def test_a_bad_file_is_code_2_in_a_process(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    wrong = start("train", "empty.csv", "--target", "y", "--out", "m.weald", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "weald: empty.csv is empty.\n"
    assert [file.name for file in tmp_path.iterdir()] == ["empty.csv"]


def test_an_interrupted_process_is_code_130_and_leaves_nothing(tmp_path):
    write_large(tmp_path / "large.csv")
    arguments = [WEALD, "train", "large.csv", "-t", "y", "--task", "regression", "-n", "600", "-o", "m.weald"]
    arguments += ["--set", "verbose=1"]
    # Ctrl-C may be ignored if the tests run in the background, and child processes inherit this.
    given = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), "text": True, "cwd": tmp_path}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **given) as going:
        assert going.stderr.readline().startswith("weald")  # a tenth of the trees have been grown
        going.send_signal(signal.SIGINT)
        try:
            out, err = going.communicate(timeout=120)
        finally:
            going.kill()  # otherwise leaving the block would wait for it
    assert (going.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert [file.name for file in tmp_path.iterdir()] == ["large.csv"]


def test_the_doctor_finds_the_engines_in_agreement(capsys):
    assert run(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["engines agree"] is True
    assert len(set(facts["engines"].values())) == 1


def test_a_bench_compares_with_a_peer(capsys):
    assert run(["bench", "--rows", "300", "--columns", "4", "--trees", "3", "--repeats", "1", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert {"weald", "scikit-learn"} <= set(results)
    assert all(entry["fit"] > 0 for entry in results.values())


# -------------------------------------------------------------------------------------------------------- a terminal

needs_terminal = pytest.mark.skipif(
    shutil.which("tmux") is None or "libasan" in os.environ.get("LD_PRELOAD", ""), reason="there is no tmux here"
)


class Terminal:
    """A pseudo-terminal in which commands are typed and whose screen is read."""

    def __init__(self, folder):
        self.socket = str(folder / "socket")
        self("new-session", "-d", "-x", "100", "-y", "40", "-c", str(folder), "sh")

    def __call__(self, *arguments):
        command = ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def type(self, words):
        self("send-keys", words, "Enter")

    def wait_for(self, words, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self("capture-pane", "-p", "-S", "-200")
            if words in screen:
                return screen
            time.sleep(0.05)
        raise AssertionError(screen)


@pytest.fixture
def terminal(tmp_path):
    (tmp_path / "small.csv").write_text("x,y\n" + "".join(f"{i * 7 % 40},{'ab'[i % 2]}\n" for i in range(40)))
    write_large(tmp_path / "large.csv")
    opened = Terminal(tmp_path)
    yield opened
    opened("kill-server")


@needs_terminal
def test_training_in_a_terminal_shows_what_was_done(terminal):
    terminal.type(f"{WEALD} train small.csv --target y -n 20; echo code=$?")
    screen = terminal.wait_for("code=0")
    assert "out of bag" in screen
    assert "fingerprint" in screen


@needs_terminal
def test_ctrl_c_stops_a_training_that_shows_its_progress(terminal, tmp_path):
    terminal.type(f"{WEALD} train large.csv --target y --task regression -n 20000 --out model.weald; echo code=$?")
    screen = terminal.wait_for("out-of-bag error")
    assert re.search(r"growing trees .* \d+ of 20000, out-of-bag error [\d.]+ [\d:-]+ left", screen)
    terminal("send-keys", "C-c")
    terminal.wait_for("code=130")
    assert not list(tmp_path.glob("*model.weald*"))


@needs_terminal
@pytest.mark.slow
def test_output_can_be_cut_off_by_a_pipe_and_has_no_colors(terminal):
    terminal.type(f"{WEALD} train small.csv --target y -n 5 --json | head -n 2; echo code=$?")
    assert '"task": "classification"' in terminal.wait_for("code=0")
    terminal.type(
        f"NO_COLOR=1 {WEALD} train small.csv --target y -n 5 > out.txt; grep -c '\x1b' out.txt; echo found=$?"
    )
    terminal.wait_for("found=1")


def test_the_guide_has_every_command_and_only_options_that_exist(capsys):
    guide = (Path(__file__).parents[2] / "docs" / "start" / "command-line.md").read_text()
    assert sorted(re.findall(r"^\| `weald (\w+)", guide, re.MULTILINE)) == sorted(COMMANDS)
    known = set()
    for command in COMMANDS:
        assert run([command, "--help"]) == 0
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z][a-z-]+", guide)) - known == set()
