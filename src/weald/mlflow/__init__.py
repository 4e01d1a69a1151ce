"""MLflow models without pickles: the flavor `weald`, which also serves as a `python_function` model.

    save_model    write a fitted estimator as an MLflow model
    log_model     log it to the current MLflow run
    load_model    the estimator again

The modules:

    flavor        save, log and load
    files         the model file in the folder of an MLflow model
    signature     the types of columns as MLflow knows them
    prediction    the `python_function` model

They need mlflow or mlflow-skinny.
"""

try:
    import mlflow  # noqa: F401  (looked for, not used)
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "weald.mlflow needs MLflow, which is not installed. Install it with `pip install mlflow-skinny` or "
        "`pip install mlflow`."
    ) from error

from weald.mlflow.flavor import load_model, log_model, save_model
from weald.mlflow.prediction import _load_pyfunc as _load_pyfunc

__all__ = ["load_model", "log_model", "save_model"]


def __dir__() -> list[str]:
    return sorted(__all__)
