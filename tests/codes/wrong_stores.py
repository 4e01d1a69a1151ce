"""Invalid code stores with valid digests: a fit must refuse them, or do no harm.

whole_stores   stores of several kinds, as bytes
try_to_fit     open one, fit every kind of tree to it, and use what needs its rows
main           many of them: `python -m tests.codes.wrong_stores --cases 1000 --seed 1`
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import weald
from tests.io.mutate import Mutator
from weald.codes import store as code_store
from weald.errors import WealdError

N_ROWS = 120


def rows():
    rng = np.random.default_rng(0)
    number = rng.normal(size=N_ROWS)
    return pd.DataFrame(
        {
            "number": np.where(rng.random(N_ROWS) < 0.1, np.nan, number),
            "few": rng.integers(0, 9, N_ROWS).astype(float),
            "two": rng.integers(0, 2, N_ROWS).astype(float),
            "label": rng.choice(np.array(["ash", "elm", "oak", "yew", None], dtype=object), N_ROWS),
            "class": rng.choice(np.array(["a", "b", "c"], dtype=object), N_ROWS),
            "amount": number + rng.normal(size=N_ROWS),
            "whole": rng.integers(1, 4, N_ROWS),
            "share": rng.random(N_ROWS) + 0.1,
        }
    )


KINDS = {
    "classes": {"target": "class"},
    "classes, whole weights": {"target": "class", "weight": "whole", "max_bins": 5, "keep_values": True},
    "classes, weights": {"target": "class", "weight": "share", "max_bins": None},
    "numbers": {"target": "amount", "max_bins": 7},
    "numbers, weights": {"target": "amount", "weight": "share"},
}


def whole_stores() -> dict[str, bytes]:
    """Make a store of each kind."""
    features, found = ["number", "few", "two", "label"], {}
    for name, options in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            weald.codes.from_chunks([rows()], folder=folder, features=features, **options)
            found[name] = Path(folder, code_store.FILE).read_bytes()
    return found


def models(store):
    is_of_classes, given = store.classes is not None, {"random_state": 0, "max_bins": store.max_bins}
    kinds = ("RandomForest", "ExtraTrees", "DecisionTree")
    for kind in kinds:
        make = getattr(weald, f"{kind}{'Classifier' if is_of_classes else 'Regressor'}")
        more = {} if kind == "DecisionTree" else {"n_estimators": 3, "oob_score": kind == "RandomForest", "n_jobs": 2}
        yield make(**given, **more)


def try_to_fit(wrong: bytes, folder: Path) -> str:
    """Open a store and fit to it; return "refused" or "used"."""
    (folder / code_store.FILE).write_bytes(wrong)
    try:
        store = weald.codes.load(folder)
        for model in models(store):
            model.fit(store)
            model.forest_.depth()
        if store.n_rows < 1000:
            np.asarray(code_store.Values(store))
    except WealdError:
        return "refused"
    return "used"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names, mutators = list(KINDS), [Mutator(whole) for whole in whole_stores().values()]
    counts, slowest = {"refused": 0, "used": 0}, (0.0, 0)
    with tempfile.TemporaryDirectory() as folder:
        for case in range(given.cases):
            seed = given.seed * 10**9 + case
            which = seed % len(mutators)
            print(f"seed {seed} of {names[which]}", file=sys.stderr)  # noqa: T201  (the last one is what crashed)
            began = time.monotonic()
            counts[try_to_fit(mutators[which].draw(seed), Path(folder))] += 1
            slowest = max(slowest, (time.monotonic() - began, seed))
    print(counts, "slowest", slowest)  # noqa: T201


if __name__ == "__main__":
    main()
