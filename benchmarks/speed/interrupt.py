"""Time from Ctrl-C to KeyboardInterrupt, at several moments of a fit and a prediction with 1,000,000 x 50.

    python -m benchmarks.speed.interrupt [--rows 1000000] [--features 50] [--moments 8] [--jobs N]

The limit is a quarter of a second at every moment: while the table is coded, trees grow, or rows are predicted.
"""

import argparse
import os
import signal
import threading
import time
from functools import partial

import numpy as np

import weald

PROMISE = 0.25  # seconds


def measure(work, seconds):
    """Interrupt the work after some seconds; return the time until it stopped, or None if it had finished."""
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, interrupt)
    try:
        timer.start()
        work()
        timer.cancel()
        timer.join()
        if sent:
            time.sleep(60)  # a signal sent at the last moment arrives here
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    return None


def last(work):
    """Return the seconds of the work without an interrupt."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def report(name, work, n_moments):
    duration = last(work)
    moments = duration * (np.arange(n_moments) + 0.5) / n_moments
    delays = [measure(work, moment) for moment in moments]
    known = [(delay, moment) for delay, moment in zip(delays, moments, strict=True) if delay is not None]
    if not known:
        print(f"{name:<28} too quick to be interrupted ({duration:.2f} s)")
        return True
    worst, when = max(known)
    verdict = "kept" if worst <= PROMISE else "BROKEN"
    print(
        f"{name:<28} {duration:7.2f} s long, {len(known)} interrupts, worst {1000 * worst:5.0f} ms "
        f"(after {when:.2f} s), promise of {1000 * PROMISE:.0f} ms {verdict}"
    )
    return worst <= PROMISE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--moments", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    X = rng.normal(size=(given.rows, given.features)).astype(np.float32)
    signal_ = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=given.rows)
    kept = []
    for name, model, y in (
        ("classifier", weald.RandomForestClassifier, signal_ > 0),
        ("many classes", weald.RandomForestClassifier, np.digitize(signal_, [-2, -1, 0, 1, 2])),
        ("regressor", weald.RandomForestRegressor, signal_),
    ):
        stump = model(1, max_depth=1, max_features=1, n_jobs=given.jobs, random_state=0)
        kept.append(report(f"{name}: code", partial(stump.fit, X, y), given.moments))
        tree = model(1, n_jobs=given.jobs, random_state=0)
        kept.append(report(f"{name}: fit", partial(tree.fit, X, y), given.moments))
        forest = model(20, n_jobs=given.jobs, random_state=0).fit(X[:50_000], y[:50_000])
        kept.append(report(f"{name}: predict", partial(forest.predict, X), given.moments))
    raise SystemExit(not all(kept))


if __name__ == "__main__":
    main()
