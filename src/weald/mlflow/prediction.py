"""The `python_function` model: what `mlflow.pyfunc.load_model` and MLflow's servers call.

PyfuncModel      predicts labels, means or probabilities
_load_pyfunc     read by MLflow from the folder of a model
"""

from pathlib import Path
from typing import Final, Literal, TypeAlias

import pandas as pd
from mlflow.models import Model

from weald.data.types import Array, Native, TableLike
from weald.estimators.base import TreeModel
from weald.mlflow.files import FLAVOR_NAME, read

PredictFunction: TypeAlias = Literal["predict", "predict_proba"]
METHODS: Final = ("predict", "predict_proba")


class PyfuncModel:
    """A weald model as MLflow calls it."""

    def __init__(self, model: TreeModel, method: PredictFunction) -> None:
        self.model = model
        self.method = method

    def get_raw_model(self) -> TreeModel:
        """Return the estimator: `mlflow.pyfunc.load_model(...).get_raw_model()`."""
        return self.model

    def predict(self, model_input: TableLike, params: Native = None) -> "Array | pd.DataFrame":
        """Predict; probabilities are a data frame with a column for each class."""
        del params  # MLflow passes those of the signature, and there are none
        predicted: Array = getattr(self.model, self.method)(model_input)
        if self.method == "predict":
            return predicted
        return pd.DataFrame(predicted, columns=[str(label) for label in self.model.classes_])


def _load_pyfunc(path: str) -> PyfuncModel:
    folder = Path(path).parent
    flavor = Model.load(str(folder)).flavors[FLAVOR_NAME]
    method: PredictFunction = "predict_proba" if flavor["predict_fn"] == "predict_proba" else "predict"
    return PyfuncModel(read(folder, flavor), method)
