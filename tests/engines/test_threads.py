"""n_jobs becomes a number of threads, and joblib workers use only their part of the cores."""

import os
import resource
import subprocess
import sys
import threading

import joblib
import pytest
from joblib import Parallel, delayed, parallel_config

import weald
from tests import scripts
from weald.engines.threads import count_threads, map_on_threads
from weald.errors import ParameterError

CORES = joblib.cpu_count()


def test_by_default_all_cores_are_used():
    assert count_threads(None) == count_threads(-1) == CORES


def test_negative_numbers_leave_cores_free():
    assert count_threads(-2) == max(1, CORES - 1)
    assert count_threads(-1000) == 1


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7])
def test_a_number_is_taken_as_given(n_jobs):
    assert count_threads(n_jobs) == n_jobs


def test_a_huge_number_is_no_error():
    assert CORES <= count_threads(32067) < 32067


def test_an_enclosing_configuration_is_respected():
    with parallel_config(n_jobs=3):
        assert count_threads(None) == 3
        assert count_threads(2) == 2
    with parallel_config(n_jobs=1):
        assert count_threads(None) == 1


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_threads_of_joblib_take_one_each(n_jobs):
    with parallel_config(backend="threading"):
        assert Parallel(n_jobs=2)(delayed(count_threads)(n_jobs) for _ in range(2)) == [1, 1]


@pytest.mark.parametrize("n_jobs", [None, -1])
def test_worker_processes_take_their_share(n_jobs):
    with parallel_config(backend="loky", inner_max_num_threads=1):
        assert Parallel(n_jobs=2)(delayed(count_threads)(n_jobs) for _ in range(2)) == [1, 1]


def test_the_share_is_what_joblib_says(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert count_threads(None) == 8  # outside workers, OpenMP's variable has no effect

    class Worker:
        name = "LokyProcess-1"

    monkeypatch.setattr("weald.engines.threads.multiprocessing.current_process", Worker)
    monkeypatch.setattr(
        "weald.engines.threads.get_active_backend", lambda: (type("Nested", (), {"nesting_level": 1}), None)
    )
    assert count_threads(None) == 4
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    assert count_threads(None) == 8
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert count_threads(None) == 1


def test_a_limit_is_seen_at_once(monkeypatch):
    assert count_threads(-1) == CORES
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert count_threads(-1) == 1
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")
    assert count_threads(-1) == CORES


def test_cores_are_counted_once_a_second(monkeypatch):
    asked = []
    monkeypatch.setattr(joblib, "cpu_count", lambda: asked.append(1) or 8)
    for now, expected in [(1.0, 1), (1.9, 1), (2.1, 2)]:
        monkeypatch.setattr("weald.engines.threads.time.monotonic", lambda now=now: now)
        assert count_threads(-1) == 8
        assert len(asked) == expected


def test_no_threads_at_all_are_refused():
    with pytest.raises(ParameterError, match="n_jobs=0"):
        weald.DecisionTreeClassifier(n_jobs=0).fit([[1.0]], [1])


def test_a_fit_in_a_forked_child_does_not_hang():
    code = """
        import os, warnings, weald
        warnings.simplefilter("ignore")  # newer Pythons warn of any fork of a process with threads
        X, y = [[float(i)] for i in range(200)], [i % 2 for i in range(200)]
        forest = weald.RandomForestClassifier(8, n_jobs=4, random_state=0).fit(X, y)
        child = os.fork()
        again = weald.RandomForestClassifier(8, n_jobs=4, random_state=0).fit(X, y)
        same = again.forest_.fingerprint() == forest.forest_.fingerprint()
        if child == 0:
            os._exit(not same)
        raise SystemExit(os.waitpid(child, 0)[1] or not same)
    """
    assert scripts.run(code, timeout=60).returncode == 0


# ------------------------------------------------------------------------------------------------- too few threads

WITHOUT_THREADS = """
import sys, tempfile, threading
import numpy as np

import weald

X = np.random.default_rng(0).normal(size=(3000, 5))
y = (X[:, 0] > 0).astype(int)
try:
    threading.Thread(target=print).start()
    sys.exit("a thread was started")
except RuntimeError:
    pass
folder = tempfile.mkdtemp()
told = []
for n_jobs in (1, 3, None):
    model = weald.RandomForestClassifier(60, n_jobs=n_jobs, oob_score=True, random_state=0).fit(X, y)
    watched = weald.RandomForestRegressor(3, n_jobs=n_jobs, random_state=0, verbose=1).fit(X, X[:, 1])
    weald.importance(model, X, y, kind="permutation")
    told.append([model.forest_.fingerprint(), model.predict_proba(X).tobytes(), watched.predict(X).tobytes()])
    for options in ({}, {"mappable": True}):
        model.save(f"{folder}/m.weald", **options)
        assert weald.load(f"{folder}/m.weald", mmap=bool(options)).predict(X).tobytes() == model.predict(X).tobytes()
    assert model.compile()(X, threads=n_jobs or 2).tobytes() == model.predict_proba(X).tobytes()
    store = weald.codes.from_chunks([(X, y)], folder=f"{folder}/{n_jobs}", n_jobs=n_jobs)
    weald.RandomForestClassifier(2, n_jobs=n_jobs, random_state=0, max_bins=store.max_bins).fit(store)
assert told[0] == told[1] == told[2]
"""


def take_all_room_for_stacks():
    """Prevent threads from starting: their stack would be larger than the address space."""
    resource.setrlimit(resource.RLIMIT_STACK, (2**47, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def run_without_threads(script):
    return subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=take_all_room_for_stacks,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_system_that_starts_no_threads_is_enough():
    """The calling thread does the work."""
    done = run_without_threads(WITHOUT_THREADS)
    assert done.returncode == 0, done.stderr


INTERRUPTED = """
import signal
import numpy as np
import weald

signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 1.0)
X = np.random.default_rng(0).normal(size=(20_000, 20))
try:
    weald.RandomForestRegressor(100_000, random_state=0).fit(X, X[:, 0])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_calling_thread_can_be_interrupted_while_it_works():
    done = run_without_threads(INTERRUPTED)
    assert done.stdout == "interrupted\n", done.stderr


def test_functions_are_called_here_where_threads_cannot_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    assert map_on_threads(abs, [-1, 2, -3], 2) == [1, 2, 3]
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert map_on_threads(abs, [-1, 2, -3], 2) == [1, 2, 3]
