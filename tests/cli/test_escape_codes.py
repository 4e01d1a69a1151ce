"""Labels, names and options with escape codes: no command prints them to the terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from weald.cli.main import run

WEALD = str(Path(sys.executable).with_name("weald"))
CODE = "\x1b[2J\x9b31m\u202e\x07"
TABLE = f"x{CODE},text{CODE},y{CODE}\n" + "".join(
    f"{i * 7 % 40},{'pq'[i % 2]}{CODE},{'ab'[i % 3 % 2]}{CODE}\n" for i in range(60)
)
Y = f"y{CODE}"


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(f"t{CODE}.csv").write_text(TABLE)
    assert run(["train", f"t{CODE}.csv", "-t", Y, "-n", "5", "-o", f"m{CODE}.weald"]) == 0
    check(capsys)
    return f"m{CODE}.weald", f"t{CODE}.csv"


def check(capsys):
    output = capsys.readouterr()
    assert all(c == "\n" or c.isprintable() for c in output.out + output.err), output
    return output


def commands(model, data):
    return [
        ["train", data, "-t", Y, "-n", "3", "--id", f"text{CODE}", "--holdout", "0.2", "--report", f"r{CODE}.html"],
        ["train", data, "-t", Y, "-n", "1"],
        ["evaluate", model, data, "-t", Y],
        ["cv", data, "-t", Y, "-n", "2", "-k", "2"],
        ["tune", data, "-t", Y, "-n", "2", "--grid", "max_features=1,2", "-o", f"b{CODE}.weald"],
        ["explain", model, data, "--row", "3"],
        ["report", model, data, "-t", Y, "-o", f"r{CODE}.html"],
        ["inspect", model],
        ["verify", model],
        ["audit", model, data, "-t", Y],
        ["diff", model, model, "--data", data, "-t", Y],
        ["convert", model, "-o", f"c{CODE}.json"],
        ["predict", model, data, "-o", f"p{CODE}.csv"],
        ["demo", f"folder{CODE}"],
        ["doctor"],
        ["bench", "--rows", "50", "--columns", "3", "--trees", "1", "--repeats", "1"],
    ]


def test_every_command_keeps_escape_codes_from_the_terminal(place, capsys):
    for words in commands(*place):
        for more in ([], ["--json"]):
            assert run([*words, *more]) == 0, words
            check(capsys)


def test_every_error_keeps_escape_codes_from_the_terminal(place, capsys):
    model, data = place
    Path(f"ragged{CODE}.csv").write_text(f"a{CODE},b,y\n1,2,3\n1,2{CODE}\n")
    Path(f"twins{CODE}.csv").write_text(f"a{CODE},a{CODE},y\n1,2,3\n")
    for words in (
        ["train", data, "-t", CODE],
        ["train", CODE, "-t", Y],
        ["train", f"gone{CODE}.csv", "-t", Y],
        ["train", f"ragged{CODE}.csv", "-t", "y"],
        ["train", f"twins{CODE}.csv", "-t", "y"],
        ["train", data, "-t", Y, "--set", f"{CODE}=1"],
        ["train", data, "-t", Y, "--set", f"criterion={CODE}"],
        ["train", data, "-t", Y, f"--{CODE}"],
        ["train", data, "-t", Y, "-o", f"no{CODE}/m.weald"],
        [CODE],
        ["predict", model, f"ragged{CODE}.csv"],
        ["predict", data, data],
        ["verify", model, "--fingerprint", CODE],
        ["convert", model, "-o", f"c{CODE}"],
    ):
        for more in ([], ["--json"]):
            assert run([*words, *more]) in (1, 2), words
            assert check(capsys).err


def test_predictions_on_a_terminal_are_legible_and_in_a_pipe_exact(place):
    ours, theirs = pty.openpty()
    arguments = [WEALD, "predict", *place, "--id", f"text{CODE}"]
    with subprocess.Popen(arguments, stdout=theirs, stderr=subprocess.DEVNULL) as going:
        os.close(theirs)
        output = b""
        while True:
            try:
                output += os.read(ours, 65536)
            except OSError:
                break
    os.close(ours)
    assert going.returncode == 0
    assert output.count(b"\n") == 61
    assert all(c in "\r\n" or c.isprintable() for c in output.decode())
    piped = subprocess.run(arguments, capture_output=True, check=True).stdout.decode()
    assert f'"p{CODE}"' in piped
