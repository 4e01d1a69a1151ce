"""Memory that ends, and memory that is given back.

Resident size over thousands of fits, predictions, saves and loads must not grow. And the n-th allocation of native
threads fails: `MemoryError`, and the next call works as usual.
"""

import gc
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import weald
from tests.campaigns.campaign import Budget, FaultError, Figures, main
from tests.engines.test_out_of_memory import MALLOC, START

X = np.random.default_rng(0).normal(size=(300, 6))
Y = (X[:, 0] > 0).astype(int)
GROWTH = 24 * 2**20  # bytes that the resident size may grow by: the allocator keeps some
WARM = 60  # calls before the first measurement

STEPS = """
def fit():
    return weald.RandomForestClassifier(6, random_state=0, n_jobs=2, oob_score=True).fit(X, X[:, 0] > 0)

model = fit()
CALLS = {
    "fit": lambda: fit().forest_.fingerprint(),
    "importance": lambda: weald.importance(model, X, X[:, 0] > 0).values.tobytes(),
    "explain": lambda: model.shap_values(X[:50]).tobytes(),
    "hash": lambda: model.attach_data_hash(X, X[:, 0] > 0).data_hash_,
}
n_failed = 0
for name, call in CALLS.items():
    memory.end_after(10**9)
    wanted = call()
    n = memory.count()
    step = max(1, n // int(sys.argv[2]))
    for at in range(0, n, step):
        memory.end_after(at)
        try:
            found = call()
        except MemoryError:
            n_failed += 1
        else:
            memory.end_after(-1)
            assert found == wanted, (name, at)
        memory.end_after(-1)
    assert call() == wanted, name
    print(f"{name}|{len(range(0, n, step))} of {n}", flush=True)
print(f"MemoryError|{n_failed}")
"""


def resident() -> int:
    """Bytes that this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def repeat(budget: Budget) -> Figures:
    """Repeat calls; the resident size must stay."""
    model = weald.RandomForestClassifier(5, random_state=0, n_jobs=2).fit(X, Y)
    regressor = weald.RandomForestRegressor(5, random_state=0, n_jobs=2, oob_score=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "m.weald")

        def save_and_load():
            model.save(file)
            weald.load(file).predict(X)

        calls = {
            "fits": lambda: regressor.fit(X, X[:, 0]),
            "predictions": lambda: model.predict(X),
            "saves and loads": save_and_load,
            "pickles": lambda: pickle.load(io.BytesIO(pickle.dumps(model))),
            "audits": lambda: weald.audit(model, X, Y, trees=1),
        }
        figures: Figures = []
        for name, call in calls.items():
            part, n = budget.part(1 / len(calls)), 0
            for _ in range(WARM):
                call()
            before = resident()
            while not part.is_over or n < WARM:
                call()
                n += 1
            grown = resident() - before
            if grown > GROWTH:
                raise FaultError(f"{n} {name}: the resident size grew by {grown / 2**20:.0f} MiB")
            figures.append((f"{name}, one after the other", f"{n:,}", f"resident size {grown / 2**20:+.1f} MiB"))
    return figures


def end_memory(budget: Budget) -> Figures:
    """Let memory end at each of some allocations of native threads."""
    compiler = shutil.which("cc")
    if compiler is None or "libasan" in os.environ.get("LD_PRELOAD", ""):
        return [("allocations that fail", "skipped", "needs a C compiler, and malloc of the system")]
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "memory.c"), Path(folder, "memory.so")
        source.write_text(MALLOC)
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True, timeout=120)
        most = str(max(4, int(2 * budget.seconds)))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", START + STEPS, library, most],
            env=os.environ | {"LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            timeout=60 + 20 * budget.seconds,
            check=False,
        )
    if done.returncode:
        raise FaultError(f"status {done.returncode}: {done.stderr[-2000:]}")
    told = dict(line.split("|") for line in done.stdout.splitlines() if "|" in line)
    n_errors = told.pop("MemoryError")
    cases = ", ".join(f"{name} {n}" for name, n in told.items())
    return [("allocations of native threads that fail", cases, f"{n_errors} MemoryError, else the usual result")]


def work(budget: Budget) -> Figures:
    return [*repeat(budget.part(0.6)), *end_memory(budget.part(0.4))]


if __name__ == "__main__":
    main("memory", __doc__ or "", work)
