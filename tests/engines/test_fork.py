"""A process that has used weald can fork, and the child can use it: no hangs, and the same forests."""

import os
import textwrap

import pytest

from tests.scripts import run_to_the_end

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

PREPARE = """
import multiprocessing, os, signal, sys, warnings
import numpy as np
import weald

warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork of a process with threads
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 8))
Y = X[:, 0] + rng.normal(size=2000) > 0

def fit(n_jobs=2):
    model = weald.RandomForestClassifier(8, n_jobs=n_jobs, random_state=1).fit(X, Y)
    return model.forest_.fingerprint(), model.predict_proba(np.tile(X, (10, 1))).sum()

def works_in_child(expected):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if fit() == expected else 1)
    return os.waitpid(child, 0)[1] == 0
"""


def run(script):
    run_to_the_end(PREPARE + textwrap.dedent(script), timeout=90)


def test_after_a_fit_a_child_can_fit():
    run("""
        expected = fit()
        assert works_in_child(expected)
        assert fit() == expected
    """)


def test_a_grandchild_can_fit():
    run("""
        expected = fit()
        child = os.fork()
        if child == 0:
            os._exit(0 if works_in_child(expected) else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)


def test_a_fork_while_another_thread_fits_leaves_a_child_that_can_fit():
    run("""
        import threading
        expected = fit()
        stop = threading.Event()
        def keep_fitting():
            while not stop.is_set():
                fit()
        thread = threading.Thread(target=keep_fitting)
        thread.start()
        try:
            assert all(works_in_child(expected) for _ in range(3))
        finally:
            stop.set()
            thread.join()
    """)


def test_a_pool_of_forked_processes_grows_the_same_forests():
    run("""
        expected = fit()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(fit, [1, 2, 1, 2]).get(60) == [expected] * 4
    """)
