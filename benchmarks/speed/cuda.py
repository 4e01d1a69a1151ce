"""Forests on a GPU beside the CPU: milliseconds from codes, by tier; seconds of a fit; and whether they are the same.

    python -m benchmarks.speed.cuda [--sets clusters collisions covertype.npz] [--repeats 5]

"From codes" is the time of all kernels for a table that lies on the GPU, from bags to the ordered arrays. "Grow" adds
memory and the copy of the arrays to the host. "Fit" begins with a float32 array on the host. Without a GPU it says so.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import weald
from benchmarks import data, measure
from weald.engines.cuda import grower
from weald.engines.cuda.device import CupyDevice
from weald.engines.cuda.engine import CudaEngine
from weald.errors import WealdError

SETS = ("clusters", "cover", "collisions")
N_TREES = 100
TIERS = {
    "bags": ("draw_bags", "count_bags", "place_chunks", "fill_bags", "place_roots"),
    "huge": ("grow_huge",),
    "large": ("grow_large",),
    "middle": ("grow_middle",),
    "twigs": ("grow_twigs",),
    "order": ("count_nodes", "start_trees", "write_nodes"),
}


class TimedKernels:
    """Kernels between events of the GPU."""

    def __init__(self, kernels, cupy, events):
        self.kernels, self.cupy, self.events = kernels, cupy, events

    def set_plan(self, plan):
        """Pass the plan on."""
        self.kernels.set_plan(plan)

    def start(self, name, *how):
        """Start a kernel between two events."""
        before, after = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        before.record()
        self.kernels.start(name, *how)
        after.record()
        self.events.append((name, before, after))


class TimedDevice(CupyDevice):
    """A GPU that keeps the time of each kernel."""

    def __init__(self):
        super().__init__()
        self.events = []

    def kernels(self, n_classes):
        """Wrap the kernels."""
        return TimedKernels(super().kernels(n_classes), self._cupy, self.events)

    def milliseconds(self):
        """Return the time of each tier since the last call."""
        self._cupy.cuda.Device().synchronize()
        spent = dict.fromkeys(TIERS, 0.0)
        tier_of = {kernel: tier for tier, kernels in TIERS.items() for kernel in kernels}
        for name, before, after in self.events:
            if name in tier_of:
                spent[tier_of[name]] += self._cupy.cuda.get_elapsed_time(before, after)
        self.events.clear()
        return spent


def time_codes(device, X, y, n_trees, n_repeats):
    """Milliseconds by tier (of the fastest repeat), seconds of `grow`, and the memory of the arrays."""
    engine, model = CudaEngine(lambda: device), weald.RandomForestClassifier(n_trees, random_state=0, engine="cuda")
    grown, kept = [], {}
    grow = engine.grow

    def keep(*what, **how):
        kept["what"] = what
        return grow(*what, **how)

    engine.grow = keep
    with_engine(engine, model, X, y)
    for _ in range(n_repeats):
        device.events.clear()
        began = time.perf_counter()
        forest = grow(*kept["what"])
        seconds = time.perf_counter() - began
        grown.append((sum((spent := device.milliseconds()).values()), spent, seconds))
    needed = grower.TreeGrower(device, engine.tables[0][1], kept["what"][1]).batch_bytes(n_trees)
    return min(grown, key=lambda one: one[0]), forest, needed


def with_engine(engine, model, X, y):
    """Fit with this engine."""
    from weald.engines import choose

    before = choose.ENGINES_BY_NAME["cuda"]
    choose.ENGINES_BY_NAME["cuda"] = lambda: engine
    try:
        return model.fit(X, y)
    finally:
        choose.ENGINES_BY_NAME["cuda"] = before


def time_fit(X, y, n_trees, engine):
    """Seconds of a fit, and its forest."""
    model = weald.RandomForestClassifier(n_trees, random_state=0, engine=engine)
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began, model.forest_


def measure_set(device, name, n_repeats):
    """One row of the table."""
    X, y = load(name)
    n_trees = N_TREES
    (total, spent, grow_seconds), forest, needed = time_codes(device, X, y, n_trees, n_repeats)
    fits = [time_fit(X, y, n_trees, "cuda") for _ in range(2)]
    cpu, on_cpu = time_fit(X, y, n_trees, "native")
    same = len({forest.fingerprint(), fits[-1][1].fingerprint(), on_cpu.fingerprint()}) == 1
    return [
        f"{Path(name).stem} {X.shape[0]:,} x {X.shape[1]}",
        *(f"{spent[tier]:.1f}" for tier in TIERS),
        f"{total:.1f}",
        f"{1000 * grow_seconds:.0f}",
        f"{min(seconds for seconds, _ in fits):.2f}",
        f"{cpu:.2f}",
        f"{needed / 2**30:.1f}",
        "yes" if same else "NO",
    ]


def load(name):
    """Training rows of a data set, or of a file: columns X, classes y."""
    if name.endswith(".npz"):
        with np.load(name) as file:
            return np.ascontiguousarray(file["X"].T, dtype=np.float32), file["y"].astype(np.int32)
    X, y, *_ = data.load(name)
    return X, y


HEADER = ["Table, 100 trees", *TIERS, "from codes, ms", "grow, ms", "fit, s", "fit on the CPU, s", "GiB", "same forest"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    try:
        device = TimedDevice()
    except WealdError as error:
        sys.exit(f"There is nothing to measure: {error}")
    rows = []
    for name in given.sets:
        rows.append(measure_set(device, name, given.repeats))
        print(*zip(HEADER, rows[-1], strict=True), flush=True)
    print(measure.describe_machine("weald", "numpy", "cupy-cuda13x"))
    print(measure.markdown(HEADER, rows))


if __name__ == "__main__":
    main()
