"""Write golden model files of the current format: `python -m tests.golden.write_files`.

A golden file is never changed: every later version of weald must load it and predict the same bits. Only missing files
are written.
"""

import json
from pathlib import Path

import numpy as np

from tests.io.cases import models, of_targets
from weald.estimators.multi_output import each_target
from weald.estimators.prediction import sum_votes
from weald.io.files import FORMAT

FOLDER = Path(__file__).with_name("files") / FORMAT

# File name -> the model and the options of save.
CASES = {
    "classifier": ("RandomForestClassifier, missing values", {}),
    "regressor": ("RandomForestRegressor, missing values", {}),
    "tree": ("DecisionTreeClassifier", {"compress": False}),
    "extra-trees": ("ExtraTreesRegressor", {"compress": False}),
    "categories": ("categories", {}),
    "bound": ("bound shares", {"compress": False}),
    "boosting": ("boosting", {}),
    "entropy": ("entropy", {}),
    "weights": ("weights without bags", {}),
    "merged": ("merged means", {}),
    "many-classes": ("many classes", {}),
    "out-of-bag": ("out of bag", {}),
    "dates": ("dates", {}),
    "mappable": ("wide leaves", {"mappable": True}),
    "targets": ("several targets", {}),
    "tree-hashes": ("several targets", {"tree_hashes": True}),
}


def rows_for(model) -> np.ndarray:
    """Rows that are the same on every machine; some cells are missing, and categories are numbers of some."""
    n = model.forest_.n_features
    X = np.array([[(i * 7 + j * 3) % 11 / 2 - 2.5 for j in range(n)] for i in range(40)])
    X[::9, 1] = np.nan
    X[:, sorted(model.schema_.categorical)] = np.arange(40)[:, np.newaxis] % 5
    return X


def told_by(model) -> dict:
    """The values that must not change."""
    votes, *others = [sum_votes(one, one.forest_, rows_for(one)) for one in each_target(model)]
    fingerprints = [one.forest_.fingerprint() for one in each_target(model)]
    return {
        "estimator": type(model).__name__,
        "fingerprint": fingerprints[0] if not others else fingerprints,
        "votes": [number.hex() for number in np.concatenate([votes, *others], axis=None).tolist()],
        "classes": [str(label) for label in getattr(model, "classes_", [])],
        "parameters": repr(sorted(model.get_params().items())),
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (case, options) in CASES.items():
        file = FOLDER / f"{name}.weald"
        if file.exists():
            continue
        model, _ = (models() | of_targets())[case]
        model.save(file, **options)
        file.with_suffix(".json").write_text(json.dumps(told_by(model), indent=1) + "\n")
        print(f"{file.name}: {file.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
