"""Progress is shown in terminals and logs."""

import io

import pytest

import weald
from weald.engines.progress import Progress, watch_fit


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_quiet_fit_has_no_watch():
    with watch_fit(0, 10) as watch:
        assert watch is None


def test_a_fit_that_fails_leaves_its_line(capsys):
    def fail():
        with watch_fit(1, 10) as watch:
            watch(0.5)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("weald  50%  5 of 10 trees")


def test_a_file_gets_a_line_for_each_tenth():
    stream, clock = io.StringIO(), Clock()
    watch = Progress(1000, stream=stream, clock=clock)
    for i in range(1, 1001):
        clock.now = i / 100
        watch(i / 1000)
    watch(1.0)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "weald  10%  100 of 1000 trees  1.0 s, 9.0 s left"
    assert lines[-1] == "weald 100%  1000 of 1000 trees  10.0 s"


def test_a_terminal_gets_one_line_that_changes():
    stream, clock = Terminal(), Clock()
    watch = Progress(50, stream=stream, clock=clock)
    for i in range(1, 1001):
        clock.now = i / 1000
        watch(i / 1000)
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert 8 <= text.count("\r") <= 12


def test_what_follows_an_interrupted_fit_has_a_line_of_its_own():
    stream, clock = Terminal(), Clock()
    watch = Progress(50, stream=stream, clock=clock)
    watch.stop()
    assert not stream.getvalue()  # nothing was shown, so there is no line to end
    watch = Progress(50, stream=stream, clock=clock)
    clock.now = 1.0
    watch(0.3)
    watch.stop()
    watch.stop()
    watch(0.4)
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\n")


def test_verbose_shows_progress_on_stderr(capsys):
    weald.RandomForestClassifier(4, verbose=1).fit([[1.0], [2.0]], [0, 1])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "4 of 4 trees" in shown.err


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(monkeypatch):
    model = weald.RandomForestClassifier(3, verbose=1, random_state=0).fit([[1.0], [2.0]], [0, 1])
    before = dict(vars(model))

    def interrupt(self, share):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit([[1.0, 2.0], [2.0, 3.0]], ["x", "y"])
    assert vars(model) == before


class Closed:
    def isatty(self):
        return False

    def write(self, text):
        raise ValueError("I/O operation on closed file")

    def flush(self):
        raise OSError("gone")


@pytest.mark.parametrize("stream", [None, Closed()], ids=["none", "closed"])
def test_a_fit_goes_on_where_progress_cannot_be_shown(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    model = weald.RandomForestClassifier(3, random_state=0, verbose=1).fit([[0.0], [1.0]], [0, 1])
    assert model.forest_.n_trees == 3
