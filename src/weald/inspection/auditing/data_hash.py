"""The cryptographic hash of training data: the same for any order of the rows, any engine and any partitions.

attach_data_hash    compute the hash of the data of the fit, and keep it in the model
hash_data           a table that was read -> its hash
"""

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.schema import Schema
from weald.data.table import Reading, TrainingArguments
from weald.data.types import Array
from weald.engines import data_hash
from weald.engines.choose import open_engine
from weald.engines.interface import Engine
from weald.errors import DataTypeError
from weald.estimators.features import features_of
from weald.estimators.multi_output import forests_of
from weald.estimators.same_data import require_same_data
from weald.estimators.training_data import read_as_fit, require_same_columns

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Model = TypeVar("Model", bound="TreeModel")
VERSION = 1


def attach_data_hash(model: Model, data: TrainingArguments) -> Model:
    """Keep the hash of the data of the fit; see `TreeModel.attach_data_hash`."""
    check_is_fitted(model)
    features_of(model).require_table("attach_data_hash")
    engine = open_engine(model.engine, data.X)
    try:
        reader, reading = read_as_fit(model, engine, data)
        require_same_columns(model, reader, reading)
        # Before coding, after which a cluster no longer needs the values.
        found = hash_data(engine, reading, reader.schema_, engine.threads(model.n_jobs))
        require_same_data(forests_of(model)[0], features_of(model).code(engine, reading), reading)
        model.data_hash_ = found
    finally:
        engine.release()
    return model


def hash_data(engine: Engine, reading: Reading, schema: Schema, n_threads: int) -> str:
    """Hash the rows of a table, and the labels that its numbers stand for."""
    table = reading.table
    several = None if table.targets is None else table.targets.n_targets
    classes = reading.classes if several else [reading.classes]
    description = {
        "version": VERSION,
        "features": table.n_features,
        "targets": several or 1,
        "classes": [] if reading.classes is None else [_labels(of_target) for of_target in classes],
        "categories": [None if c is None else [c.is_ordered, *_labels(c.labels)] for c in schema.categories],
        "times": [schema.times.get(f) for f in range(table.n_features)],
        "weights": "whole" if table.weights_whole else "fractional",
    }
    return data_hash.digest(engine.row_product(table, n_threads), description)


def _labels(labels: Array) -> list[list[str]]:
    return [_label(label) for label in np.asarray(labels)]


def _label(label: object) -> list[str]:
    """Write a label so that equal labels of different types are equal, such as 1, 1.0 and True."""
    if isinstance(label, str):
        return ["text", str(label)]
    if isinstance(label, bool | np.bool_ | int | np.integer):
        return ["number", str(int(label))]
    if isinstance(label, float | np.floating):
        return ["number", str(int(label)) if float(label).is_integer() else float(label).hex()]
    if isinstance(label, np.datetime64 | np.timedelta64):
        kind = "date" if isinstance(label, np.datetime64) else "duration"
        return [kind, str(label.astype(f"{label.dtype.kind}8[ns]").astype(np.int64))]
    raise DataTypeError(
        f"The label {label!r} is a {type(label).__name__}, which has no canonical text to hash. Use text, numbers or "
        "NumPy dates as labels."
    )
