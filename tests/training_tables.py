"""Training tables as in a fit, for tests of the steps of a fit."""

from weald.data.table import TrainingArguments
from weald.engines.native import NativeEngine
from weald.estimators.features import features_of
from weald.estimators.training_data import open_bags


def read(model, X, y, weight=None):
    """Read a table for an estimator."""
    return NativeEngine().read(model, TrainingArguments(X, y, weight))


def code(model, reading):
    """Convert it to codes."""
    return features_of(model).code(NativeEngine(), reading)


def bags_of(model, X, y, weight=None, **given):
    """Read the training data of a fitted forest again, with its bags."""
    return open_bags(model, TrainingArguments(X, y, weight, **given))
