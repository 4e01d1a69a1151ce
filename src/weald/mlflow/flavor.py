"""The files of an MLflow model with the flavor `weald`.

    save_model    write a fitted estimator as an MLflow model
    log_model     log it to the current MLflow run
    load_model    the estimator again

    model.weald                         the estimator; no code, no pickle
    MLmodel                             flavors and signature
    requirements.txt, conda.yaml, python_env.yaml

An MLmodel file says which module loads a model. It names `weald.mlflow`, so loading runs no code of the model's author.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from mlflow import pyfunc
from mlflow.models import Model, ModelSignature
from mlflow.models.model import ModelInfo
from mlflow.models.utils import _save_example
from mlflow.tracking.artifact_utils import _download_artifact_from_uri
from mlflow.utils.environment import _mlflow_conda_env, _process_pip_requirements, _PythonEnv
from sklearn.utils.validation import check_is_fitted

from weald.data.types import Native, TableLike
from weald.errors import FormatError, ParameterError
from weald.estimators.base import TreeModel
from weald.io.atomic import PathLike
from weald.mlflow.files import DATA_FILE, FLAVOR_NAME, fingerprint_of, read
from weald.mlflow.prediction import METHODS, PredictFunction
from weald.mlflow.signature import signature_of


def save_model(
    model: TreeModel,
    path: PathLike,
    *,
    signature: ModelSignature | None = None,
    input_example: TableLike | None = None,
    pyfunc_predict_fn: PredictFunction = "predict",
    pip_requirements: Sequence[str] | None = None,
    metadata: Mapping[str, object] | None = None,
    mlflow_model: Model | None = None,
) -> None:
    """Write a fitted estimator as an MLflow model: a folder that contains no pickle.

    Parameters
    ----------
    model : estimator
        A fitted estimator of weald.
    path : path
        A folder that does not exist, or is empty.
    signature : ModelSignature, default=None
        Types of columns and predictions. By default they are those of the model: numbers are doubles, categories have
        the type of their labels.
    input_example : data frame or array, default=None
        A few rows of X, stored with the model. Numeric columns that are integers in it are integers in the signature;
        otherwise MLflow refuses 64-bit integers where a model expects doubles.
    pyfunc_predict_fn : {"predict", "predict_proba"}, default="predict"
        What the `python_function` model predicts. "predict_proba" returns a data frame with a column for each class.
    pip_requirements : list of str, default=None
        Packages of a serving environment. The default is this version of weald with its dependencies, and pandas.
    metadata : dict, default=None
        Notes for the MLmodel file.
    mlflow_model : mlflow.models.Model, default=None
        Given by MLflow when it logs a model.

    Examples
    --------
    >>> import tempfile, weald, weald.mlflow
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> forest = weald.RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     weald.mlflow.save_model(forest, folder)
    ...     weald.mlflow.load_model(folder).predict([[3.0]]).tolist()
    ['high']
    """
    _check(model, pyfunc_predict_fn, signature, pip_requirements)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ParameterError(f"metadata is a {type(metadata).__name__}. Give a dict.")
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} already exists. Give a new path, or an empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    about = Model() if mlflow_model is None else mlflow_model
    if input_example is not None:
        _save_example(about, input_example, str(folder))
    about.signature = signature or signature_of(model, pyfunc_predict_fn, input_example)
    if metadata is not None:
        about.metadata = dict(metadata)
    model.save(folder / DATA_FILE)
    about.add_flavor(
        FLAVOR_NAME,
        weald_version=version("weald"),
        data=DATA_FILE,
        estimator=type(model).__name__,
        fingerprint=fingerprint_of(model),
        predict_fn=pyfunc_predict_fn,
    )
    pyfunc.add_to_model(
        about, loader_module="weald.mlflow", data=DATA_FILE, conda_env="conda.yaml", python_env="python_env.yaml"
    )
    about.save(str(folder / "MLmodel"))
    _write_requirements(folder, pip_requirements)


def log_model(
    model: TreeModel, name: str = "model", *, registered_model_name: str | None = None, **options: Native
) -> ModelInfo:
    """Log a fitted estimator to the current MLflow run, and return where it is.

    Parameters
    ----------
    model : estimator
        A fitted estimator of weald.
    name : str, default="model"
        Name of the logged model.
    registered_model_name : str, default=None
        Also registers the model under this name.
    **options
        Those of `save_model`, and those of `mlflow.models.Model.log`, such as `run_id` and `tags`.

    Examples
    --------
    >>> info = weald.mlflow.log_model(forest, input_example=X.head())  # doctest: +SKIP
    >>> weald.mlflow.load_model(info.model_uri)  # doctest: +SKIP
    """
    _check(
        model, options.get("pyfunc_predict_fn", "predict"), options.get("signature"), options.get("pip_requirements")
    )
    info: ModelInfo = Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules["weald.mlflow"],
        flavor_name=FLAVOR_NAME,
        registered_model_name=registered_model_name,
        model=model,
        **options,
    )
    return info


def load_model(model_uri: PathLike, dst_path: str | None = None) -> TreeModel:
    """Load the estimator of an MLflow model with the flavor `weald`.

    Parameters
    ----------
    model_uri : str
        A folder, or a URI of MLflow: "models:/...", "runs:/...".
    dst_path : str, default=None
        An existing folder to download to.

    Examples
    --------
    >>> forest = weald.mlflow.load_model("models:/credit/3")  # doctest: +SKIP
    """
    folder = Path(_download_artifact_from_uri(artifact_uri=str(model_uri), output_path=dst_path))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise FormatError(
            f"{model_uri} is an MLflow model of the flavors {', '.join(sorted(flavors)) or 'none'}, not of weald. Load "
            "it with the module of its flavor, or with mlflow.pyfunc.load_model."
        )
    return read(folder, flavors[FLAVOR_NAME])


def _check(model: object, predict_fn: object, signature: object, requirements: object) -> None:
    if not isinstance(model, TreeModel):
        raise ParameterError(
            f"model is a {type(model).__name__}, not a forest or tree of weald. Save pipelines and transformers with "
            "mlflow.sklearn."
        )
    check_is_fitted(model)
    if predict_fn not in METHODS:
        raise ParameterError(f"pyfunc_predict_fn={predict_fn!r} is unknown. Give one of {', '.join(METHODS)}.")
    if predict_fn == "predict_proba" and not hasattr(model, "predict_proba"):
        raise ParameterError(f'A {type(model).__name__} has no probabilities. Set pyfunc_predict_fn="predict".')
    if predict_fn == "predict_proba" and getattr(model, "n_outputs_", 1) > 1:
        raise ParameterError(
            "The probabilities of a multi-output model are not one table. Save one target at a time: "
            "model.of_target(0)."
        )
    if signature is not None and not isinstance(signature, ModelSignature):
        raise ParameterError(
            f"signature is a {type(signature).__name__}. Give an mlflow.models.ModelSignature, or None for that of the "
            "model."
        )
    if isinstance(requirements, str):
        raise ParameterError(
            f"pip_requirements is the text {requirements!r}. Give a list, such as ['weald', 'pandas']."
        )


def _write_requirements(folder: Path, given: Sequence[str] | None) -> None:
    default = [f"{package}=={version(package)}" for package in ("weald", "pandas")]
    _, requirements, _ = _process_pip_requirements(default, None if given is None else list(given), None)
    _mlflow_conda_env(path=str(folder / "conda.yaml"), additional_pip_deps=requirements, install_mlflow=False)
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n")
    _PythonEnv.current().to_yaml(str(folder / "python_env.yaml"))
