"""The types of columns as MLflow knows them.

signature_of    the signature of a model: its columns, and what it predicts

    numbers            double; long or another integer type if they are integers in the example
    categories         the type of their labels: string, boolean, long or double
    dates              datetime
    durations, labels of mixed types, lists of targets    any
    columns without names                                 one array of doubles
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, TensorSpec
from mlflow.types import Schema as MlflowSchema
from mlflow.types.schema import AnyType

from weald.data.schema import DATES, Schema
from weald.data.types import Native
from weald.mlflow.prediction import PredictFunction

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


def signature_of(model: "TreeModel", method: PredictFunction, example: Native = None) -> ModelSignature:
    """Return the signature of a fitted model. The example, a data frame, tells integers from other numbers."""
    schema: Schema = model.schema_
    if schema.names is None:
        inputs = MlflowSchema([TensorSpec(np.dtype(np.float64), (-1, model.n_features_in_))])
    else:
        inputs = MlflowSchema(
            [ColSpec(_column_type(schema, f, example), schema.names[f]) for f in range(len(schema.names))]
        )
    return ModelSignature(inputs=inputs, outputs=_outputs(model, method))


def _column_type(schema: Schema, feature: int, example: Native) -> DataType | AnyType:
    categories = schema.categories[feature]
    if categories is not None:
        return type_of_labels(categories.labels.tolist())
    if feature in schema.times:
        return DataType.datetime if schema.times[feature] == DATES else AnyType()
    return _integer_type(schema, feature, example) or DataType.double


def _integer_type(schema: Schema, feature: int, example: Native) -> DataType | None:
    """Return long or integer if a column of numbers is one in the example."""
    names = schema.names or ()
    types = getattr(example, "dtypes", {})  # of a pandas frame
    dtype: Native = types.get(names[feature]) if hasattr(types, "get") else None
    if getattr(dtype, "kind", "") not in {"i", "u"}:
        return None
    is_short = dtype.itemsize < 4 or (dtype.kind == "i" and dtype.itemsize == 4)
    return DataType.integer if is_short else DataType.long


def type_of_labels(labels: Iterable[object]) -> DataType | AnyType:
    """Return the one type that labels have, or any."""
    kinds = {type(label) for label in labels}
    for kind, name in (
        ({str}, DataType.string),
        ({bool}, DataType.boolean),
        ({int}, DataType.long),
        ({float}, DataType.double),
    ):
        if kinds == kind:
            return name
    return AnyType()


def _outputs(model: "TreeModel", method: PredictFunction) -> MlflowSchema:
    if method == "predict_proba":
        return MlflowSchema([ColSpec(DataType.double, str(label)) for label in model.classes_])
    if getattr(model, "n_outputs_", 1) > 1:
        return MlflowSchema([ColSpec(AnyType())])
    classes = getattr(model, "classes_", None)
    return MlflowSchema([ColSpec(DataType.double if classes is None else type_of_labels(classes.tolist()))])
