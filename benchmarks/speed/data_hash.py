"""What the hash of the training data costs beside a fit, and what an audit costs.

    python -m benchmarks.speed.data_hash [--repeats 3] [--write]

A hash is computed on request: beside fits of few or shallow trees it takes more than 5 % of the time.
"""

import time

import numpy as np

import weald
from benchmarks import measure
from weald.data.table import Table
from weald.engines.native import NativeEngine

CASES = [
    ("100 trees, full depth", 50_000, 50, {}),
    ("100 trees, depth 8", 50_000, 20, {"max_depth": 8}),
    ("10 trees, full depth", 50_000, 20, {"n_estimators": 10}),
    ("100 trees, full depth", 2_000, 10, {}),
]


def seconds(run):
    """Processor seconds of a call."""
    began = time.process_time()
    run()
    return time.process_time() - began


def measure_case(n_rows, n_features, parameters, repeats):
    """Best seconds of a fit, of the hash, and of an audit of five trees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)
    model = weald.RandomForestClassifier(random_state=0, n_jobs=1, **parameters)
    table = Table(X, y.astype(np.int32), 2, None, True, n_rows)
    found = []
    for _ in range(repeats):
        fit = seconds(lambda: model.fit(X, y))
        alone = seconds(lambda: NativeEngine().row_product(table))
        attach = seconds(lambda: model.attach_data_hash(X, y))
        audit = seconds(lambda: weald.audit(model, X, y, random_state=0))
        found.append((fit, alone, attach, audit))
    return np.min(found, axis=0)


def main():
    given = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "auditing-a-forest.md").parse_args()
    rows = []
    for name, n_rows, n_features, parameters in CASES[-1:] if given.quick else CASES:
        fit, alone, attach, audit = measure_case(n_rows, n_features, parameters, given.repeats)
        cells = [f"{n_rows:,} × {n_features}, {name}", f"{fit:.2f}", f"{audit:.2f}", f"{attach:.3f}"]
        rows.append([*cells, f"{1e6 * alone / n_rows:.1f}", f"{100 * alone / fit:.0f} %"])
    head = ["", "fit, s", "audit of 5 trees, s", "`attach_data_hash`, s", "hash alone, µs per row", "of the fit"]
    machine = measure.describe_machine("weald")
    caption = (
        f"Processor seconds on one thread. {measure.best_of(given)}. `attach_data_hash` also reads and codes the table "
        f"to check that it is that of the fit. Measured by `benchmarks/speed/data_hash.py`: {machine}."
    )
    measure.publish(given, "costs", f"{measure.markdown(head, rows)}\n\n{caption}\n")


if __name__ == "__main__":
    main()
