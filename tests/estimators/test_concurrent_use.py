"""Several threads of one program use weald at once: none waits for a fit, and none gets another's results."""

import contextlib
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import weald
from tests import training_tables
from weald.engines.native import NativeEngine
from weald.estimators.features import features_of
from weald.estimators.fit import resume

pytestmark = pytest.mark.sanitize

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20_000, 10))
Y = X[:, 0] + RNG.normal(size=len(X))


class Ticker(threading.Thread):
    """Counts how often it runs."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ticks = 0
        self.stop = threading.Event()

    def run(self):
        while not self.stop.is_set():
            time.sleep(0.001)
            self.ticks += 1

    def during(self, work):
        """Return the number of ticks during the work, and its duration."""
        ticks, began = self.ticks, time.perf_counter()
        work()
        return self.ticks - ticks, time.perf_counter() - began


@pytest.fixture
def ticker():
    thread = Ticker()
    thread.start()
    yield thread
    thread.stop.set()
    thread.join()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_other_threads_go_on_during_a_fit(ticker, n_jobs):
    model = weald.RandomForestRegressor(12, n_jobs=n_jobs, random_state=0)
    ticks, seconds = ticker.during(lambda: model.fit(X, Y))
    assert ticks > 20 * seconds  # usually 1,000 per second; none while the GIL is held


def test_other_threads_go_on_during_a_prediction(ticker):
    model = weald.RandomForestRegressor(12, random_state=0).fit(X[:2000], Y[:2000])
    rows = np.broadcast_to(X[0], (1_000_000, 10))
    ticks, seconds = ticker.during(lambda: model.predict(rows))
    assert ticks > 20 * seconds


def test_fits_in_several_threads_do_not_disturb_each_other():
    def fit(seed):
        return weald.RandomForestRegressor(3, n_jobs=2, random_state=seed).fit(X[:500], Y[:500]).forest_.fingerprint()

    alone = [fit(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(fit, range(6))) == alone


def test_one_estimator_answers_several_threads_alike():
    model = weald.RandomForestRegressor(10, n_jobs=2, random_state=0).fit(X[:500], Y[:500])
    fresh = pickle.loads(pickle.dumps(model))  # a new model without caches
    expected = model.predict(X)
    with ThreadPoolExecutor(6) as threads:
        for predicted in threads.map(fresh.predict, [X] * 12):
            assert np.array_equal(predicted, expected)


def test_one_estimator_fitted_by_several_threads_is_fitted_by_one_of_them():
    model = weald.RandomForestRegressor(3, n_jobs=1, random_state=0)
    sizes = [200, 300, 400, 500]
    prints = {model.fit(X[:n], Y[:n]).forest_.fingerprint() for n in sizes}
    with ThreadPoolExecutor(4) as threads:
        for turn in threads.map(lambda n: model.fit(X[:n], Y[:n]), sizes * 4):
            assert turn is model
            pickle.dumps(model)
            assert model.predict(X[:5]).shape == (5,)
    assert model.forest_.fingerprint() in prints


@pytest.mark.parametrize("kind", [weald.DecisionTreeClassifier, weald.DecisionTreeRegressor])
def test_a_table_that_becomes_missing_before_trees_are_grown_is_named(kind):
    table = np.round(RNG.normal(size=(90_000, 3)), 4)  # so large that values are looked up in the table later
    y = (table[:, 0] > 0).astype(int)
    model = kind(max_depth=3)
    reading = training_tables.read(model, table, y)
    codes = features_of(model).code(NativeEngine(), reading, 1)
    table[:] = np.nan
    with pytest.raises(weald.DataError, match="X changed while the trees were grown"):
        resume(model, NativeEngine(), codes, reading)


ODD = (np.nan, np.inf, -np.inf, 1e300, -7.5, 0.0)


@pytest.mark.filterwarnings("ignore:.*bag|.*weight")
@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_what_another_thread_writes_during_a_fit_raises_no_other_errors(name, kind):
    table = {
        "X": np.round(RNG.normal(size=(90_000, 3)), 4),
        "y": RNG.integers(0, 4, 90_000) if kind is weald.RandomForestClassifier else RNG.normal(size=90_000),
        "sample_weight": RNG.integers(1, 4, 90_000).astype(float),
    }
    written, stop = table[name], threading.Event()

    def write():
        rng = np.random.default_rng(1)
        while not stop.is_set():
            value = rng.choice([-5, 70_000, 2**40, 3]) if written.dtype.kind == "i" else rng.choice(ODD)
            written[rng.integers(0, len(written), 100)] = value

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for max_bins in (None, 255, 65_535) * 2:
            with contextlib.suppress(weald.WealdError):
                model = kind(2, max_depth=4, max_bins=max_bins, n_jobs=2, oob_score=True).fit(**table)
                assert model.predict(table["X"]).shape == (90_000,)
    finally:
        stop.set()
        thread.join()
