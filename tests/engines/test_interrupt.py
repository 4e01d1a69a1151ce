"""Ctrl-C stops a fit or a prediction, and leaves the estimator as it was.

Each is a script in a process of its own: a signal that comes too late must not stop the tests. How long it takes is
measured by benchmarks/speed/interrupt.py.
"""

import textwrap

import numpy as np
import pytest

import weald
from tests.scripts import run_to_the_end
from weald.data.table import read_table
from weald.engines.native import NativeEngine
from weald.engines.params import resolve

pytestmark = pytest.mark.sanitize

PREPARE = """
import os, signal, threading, time
import numpy as np
import weald

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 10))
Y = X[:, 0] + rng.normal(size=3000)

def interrupt_after(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

def is_interrupted(work):
    interrupt_after(0.3)
    try:
        work()
    except KeyboardInterrupt:
        return True
    time.sleep(60)  # too quick: the signal must not come to anything else
    return False
"""


def run(script):
    run_to_the_end(PREPARE + textwrap.dedent(script), timeout=60)


HOW = ["n_jobs=1", "n_jobs=2", "n_jobs=2, verbose=1", "n_jobs=2, max_leaf_nodes=1000"]


@pytest.mark.parametrize(
    ("model", "given"),
    [("RandomForestRegressor", given) for given in HOW]
    + [pytest.param("RandomForestClassifier", given, marks=pytest.mark.slow) for given in HOW],
)
def test_a_fit_is_interrupted_and_leaves_the_estimator_as_it_was(model, given):
    run(f"""
        y = Y > 0 if {"Classifier" in model} else Y
        model = weald.{model}(3, random_state=1, {given}).fit(X, y)
        forest, votes = model.forest_, model.predict_votes(X)
        model.set_params(n_estimators=1_000_000, max_features=1, random_state=2)
        before = dict(vars(model))
        assert is_interrupted(lambda: model.fit(X[:, :5], y))
        assert vars(model) == before
        assert model.forest_ is forest
        assert np.array_equal(model.predict_votes(X), votes)
        model.set_params(n_estimators=3, max_features="third", random_state=1)
        again = weald.{model}(**model.get_params()).fit(X, y)
        assert model.fit(X, y).forest_.fingerprint() == again.forest_.fingerprint()
    """)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_first_fit_that_is_interrupted_leaves_nothing(engine):
    run(f"""
        model = weald.RandomForestRegressor(1_000_000, engine="{engine}")
        before = dict(vars(model))
        assert is_interrupted(lambda: model.fit(X, Y))
        assert vars(model) == before
        assert not hasattr(model, "n_features_in_")
        assert model.set_params(n_estimators=1, max_depth=2).fit(X, Y).predict(X).shape == (3000,)
    """)


def test_a_fit_that_goes_on_is_interrupted_and_keeps_its_trees():
    run("""
        model = weald.RandomForestRegressor(3, warm_start=True, random_state=1).fit(X, Y)
        before = model.forest_.fingerprint()
        model.set_params(n_estimators=1_000_000)
        assert is_interrupted(lambda: model.fit(X, Y))
        assert model.forest_.fingerprint() == before
        model.set_params(n_estimators=5).fit(X, Y)
        whole = weald.RandomForestRegressor(5, random_state=1).fit(X, Y)
        assert model.forest_.fingerprint() == whole.forest_.fingerprint()
    """)


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["predict", "predict_votes", "apply"])
def test_a_prediction_is_interrupted_and_the_next_one_is_right(ask):
    n_rows = 600_000 if ask == "apply" else 20_000_000
    run(f"""
        model = weald.RandomForestRegressor(60, random_state=1).fit(X, Y)
        expected = model.{ask}(X)
        many = np.broadcast_to(X[0], ({n_rows}, 10))
        before = dict(vars(model))
        assert is_interrupted(lambda: [model.{ask}(many) for _ in range(100)])
        assert vars(model) == before
        assert np.array_equal(model.{ask}(X), expected)
    """)


def test_dependence_is_interrupted():
    run("""
        model = weald.RandomForestRegressor(300, random_state=1).fit(X, Y)
        before = dict(vars(model))
        assert is_interrupted(lambda: weald.dependence(model, np.repeat(X, 20, axis=0)))
        assert vars(model) == before
    """)


def test_an_error_of_the_watcher_stops_the_fit():
    """A callback may raise any exception; the fit passes it on."""

    class EnoughError(Exception):
        pass

    def watch(share):
        assert 0 <= share <= 1
        raise EnoughError

    X = np.random.default_rng(0).normal(size=(3000, 10))
    model = weald.RandomForestRegressor()
    table = read_table(model, X, X[:, 0], None, classify=False).table
    growth = resolve(model.get_params(), table, None)
    engine = NativeEngine()
    coded = engine.code(table, 65535, 2, None)
    with pytest.raises(EnoughError):
        engine.grow(coded, growth, 1, 0, 1_000_000, 2, watch)
    assert engine.grow(coded, growth, 1, 0, 2, 2, None).n_trees == 2
