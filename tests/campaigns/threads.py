"""Forks, many threads and signals: the same forest, or an estimator that is as it was.

A process forks after fits on several threads, and the child fits and predicts. Sixty-four threads fit at a time. Ctrl-C
arrives at random moments of a fit.
"""

import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import weald
from tests.campaigns.campaign import HANGS_AFTER, Budget, FaultError, Figures, main, told

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 6))
Y = (X[:, 0] + RNG.normal(size=1500) > 0).astype(int)
AT_ONCE = 64


def fit(seed: int = 0, n_estimators: int = 8) -> str:
    """Fit a forest on two threads and predict."""
    model = weald.RandomForestClassifier(n_estimators, random_state=seed, n_jobs=2).fit(X, Y)
    model.predict(X[:50])
    return model.forest_.fingerprint()


def fork(budget: Budget) -> Figures:
    """Fork after a fit; the child must give the same forest."""
    wanted, counts = fit(), Counter()
    while not budget.is_over or not counts:
        child = os.fork()
        if child == 0:
            os._exit(0 if fit() == wanted else 1)
        began = time.monotonic()
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() - began > HANGS_AFTER:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise FaultError("a forked child hangs in a fit")
            time.sleep(0.002)
        if ended[1]:
            raise FaultError(f"a forked child ended with status {ended[1]}")
        counts["the same forest"] += 1
    return [("fits in a forked child", f"{counts.total():,}", told(counts))]


def crowd(budget: Budget) -> Figures:
    """Fit in many threads at a time."""
    wanted, counts = [fit(seed, 4) for seed in range(8)], Counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while not budget.is_over or not counts:
            found = list(pool.map(lambda i: fit(i % 8, 4), range(2 * AT_ONCE)))
            if found != [wanted[i % 8] for i in range(2 * AT_ONCE)]:
                raise FaultError("a fit beside others gives another forest")
            counts["the same forest"] += len(found)
    return [(f"fits in {AT_ONCE} threads at a time", f"{counts.total():,}", told(counts))]


def interrupt(budget: Budget) -> Figures:
    """Press Ctrl-C at random moments of a fit that takes a fraction of a second."""
    model = weald.RandomForestClassifier(60, random_state=0, n_jobs=2)
    began = time.monotonic()
    wanted = model.fit(X, Y).forest_.fingerprint()
    longest, counts, dice = 1.2 * (time.monotonic() - began), Counter(), budget.dice("signals")
    slowest = 0.0
    while not budget.is_over or not counts:
        model.set_params(random_state=1).fit(X[:50], Y[:50])
        before = dict(vars(model))
        after, stopped = dice.random() * longest, 0.0
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, after))
        start = time.monotonic()
        try:
            model.set_params(random_state=0).fit(X, Y)
            signal.setitimer(signal.ITIMER_REAL, 0)
            outcome = "fitted before"
        except KeyboardInterrupt:
            stopped = time.monotonic() - start - after
            outcome = "stopped"
        is_as_before = all(vars(model).get(name) is value for name, value in before.items() if name != "random_state")
        if not is_as_before and model.forest_.fingerprint() != wanted:
            raise FaultError("a fit that was interrupted left an estimator that is neither the old nor the new one")
        if outcome == "fitted before" and is_as_before:
            raise FaultError("a fit changed nothing")
        slowest = max(slowest, stopped)
        counts[outcome] += 1
    figure = f"{told(counts)}; stopped within {1000 * slowest:.0f} ms at the latest"
    return [("Ctrl-C at a random moment of a fit", f"{counts.total():,}", figure)]


def work(budget: Budget) -> Figures:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, press)
    sys.setswitchinterval(0.001)
    fit()  # imports
    budget = Budget(budget.seconds, budget.seed)
    return [line for step in (fork, crowd, interrupt) for line in step(budget.part(1 / 3))]


if __name__ == "__main__":
    main("threads", __doc__ or "", work)
