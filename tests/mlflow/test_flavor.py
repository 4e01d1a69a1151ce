"""Estimators become MLflow models without pickles, and come back from them; MLflow itself reads and serves them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

import weald
from tests.io.export.models import make_frame
from weald.errors import FormatError, ParameterError

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: pip install mlflow-skinny")

import weald.mlflow as flavor  # noqa: E402  (needs mlflow)

# MLflow warns of its own deprecations, and a warning is an error here.
pytestmark = pytest.mark.filterwarnings("ignore:::mlflow", "ignore:::pydantic")


def table():
    """Columns of every type that a signature has."""
    frame, signal = make_frame()
    frame["few"] = frame["few"].astype(object)
    frame["many"] = frame["many"].astype(object)
    frame["grade"] = frame["grade"].astype(str)
    frame["count"] = np.arange(len(frame)) % 50
    frame["code"] = pd.Categorical(frame["count"] % 7)
    frame["day"] = pd.Timestamp("2024-02-01") + pd.to_timedelta(frame["count"], unit="D")
    return frame, signal


FRAME, SIGNAL = table()
# As MLflow takes it: it refuses pandas' categories.
SERVED = FRAME.assign(code=FRAME["code"].astype(int))


def classifier(**given):
    return weald.RandomForestClassifier(8, random_state=0, **given).fit(FRAME, np.where(SIGNAL > 1, "yes", "no"))


@pytest.fixture(scope="module")
def forest():
    return classifier()


@pytest.fixture(autouse=True)
def _no_pickles(monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    monkeypatch.chdir(tmp_path)


def test_a_model_comes_back_bit_for_bit(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model")
    loaded = flavor.load_model(tmp_path / "model")
    assert loaded.forest_.fingerprint() == forest.forest_.fingerprint()
    assert (loaded.predict_proba(FRAME) == forest.predict_proba(FRAME)).all()
    assert loaded.get_params() == forest.get_params()


def test_no_file_is_a_pickle(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model", input_example=SERVED.head())
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {
        "MLmodel",
        "conda.yaml",
        "input_example.json",
        "model.weald",
        "python_env.yaml",
        "requirements.txt",
        "serving_input_example.json",
    }
    assert not [path for path in (tmp_path / "model").iterdir() if path.read_bytes()[:1] == b"\x80"]


def test_the_python_function_predicts_what_the_model_predicts(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "labels", input_example=SERVED.head())
    flavor.save_model(forest, tmp_path / "shares", input_example=SERVED.head(), pyfunc_predict_fn="predict_proba")
    labels = mlflow.pyfunc.load_model(str(tmp_path / "labels"))
    assert (labels.predict(SERVED) == forest.predict(FRAME)).all()
    assert labels.get_raw_model().forest_.fingerprint() == forest.forest_.fingerprint()
    shares = mlflow.pyfunc.load_model(str(tmp_path / "shares")).predict(SERVED)
    assert list(shares.columns) == ["no", "yes"]
    assert (shares.to_numpy() == forest.predict_proba(FRAME)).all()


def test_a_signature_has_the_types_of_columns_and_categories(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model", input_example=SERVED.head())
    signature = mlflow.models.get_model_info(str(tmp_path / "model")).signature
    types = {column.name: column.type.name for column in signature.inputs}
    assert types == {
        "number": "double",
        "few": "string",
        "many": "string",
        "grade": "string",
        "flag": "boolean",
        "count": "long",
        "code": "long",
        "day": "datetime",
    }
    assert [column.type.name for column in signature.outputs] == ["string"]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *(("int8", "integer"), ("uint16", "integer"), ("int32", "integer")),
        *(("uint32", "long"), ("int64", "long"), ("float32", "double"), ("float64", "double")),
    ],
)
def test_integers_of_the_example_are_integers_of_the_signature(tmp_path, dtype, expected):
    X = pd.DataFrame({"a": np.arange(40).astype(dtype)})
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, np.arange(40.0))
    flavor.save_model(model, tmp_path / "model", input_example=X.head())
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert [column.type.name for column in loaded.metadata.signature.inputs] == [expected]
    assert (loaded.predict(X) == model.predict(X)).all()


def test_arrays_have_a_tensor_signature(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    flavor.save_model(model, tmp_path / "model")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    (tensor,) = loaded.metadata.signature.inputs
    assert tensor.shape == (-1, 4)
    assert (loaded.predict(X) == model.predict(X)).all()


def test_several_targets_and_single_trees_come_back(tmp_path):
    both = weald.RandomForestRegressor(5, random_state=0).fit(FRAME, np.column_stack([SIGNAL, -SIGNAL]))
    tree = weald.DecisionTreeClassifier(max_depth=3).fit(FRAME, SIGNAL > 1)
    for name, model in {"both": both, "tree": tree}.items():
        flavor.save_model(model, tmp_path / name, input_example=SERVED.head())
        loaded = mlflow.pyfunc.load_model(str(tmp_path / name))
        assert (loaded.predict(SERVED) == model.predict(FRAME)).all()


@pytest.mark.slow
def test_mlflow_logs_registers_and_serves_a_model(forest, tmp_path, monkeypatch):
    from mlflow.pyfunc import scoring_server

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/store")
    with mlflow.start_run() as run:
        info = flavor.log_model(
            forest, "credit", input_example=SERVED.head(), registered_model_name="credit", tags={"team": "risk"}
        )
    for uri in (info.model_uri, "models:/credit/1", f"runs:/{run.info.run_id}/credit"):
        assert flavor.load_model(uri).forest_.fingerprint() == forest.forest_.fingerprint()
    model = mlflow.pyfunc.load_model(info.model_uri)
    rows = SERVED.drop(columns="day").assign(day=SERVED["day"].astype(str))[list(SERVED.columns)]
    text = json.dumps({"dataframe_split": json.loads(rows.to_json(orient="split", index=False))})
    answer = scoring_server.invocations(text, "application/json", model, model.metadata.get_input_schema())
    assert answer.status == 200
    assert json.loads(answer.response)["predictions"] == forest.predict(FRAME).tolist()


def test_requirements_name_weald_or_what_is_given(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "default")
    assert f"weald=={weald.__version__}" in (tmp_path / "default" / "requirements.txt").read_text().splitlines()
    flavor.save_model(forest, tmp_path / "given", pip_requirements=["weald", "scipy"], metadata={"owner": "risk"})
    for name in ("requirements.txt", "conda.yaml"):
        assert "scipy" in (tmp_path / "given" / name).read_text()
    assert mlflow.models.get_model_info(str(tmp_path / "given")).metadata == {"owner": "risk"}


def test_a_given_signature_is_kept(forest, tmp_path):
    signature = mlflow.models.infer_signature(SERVED, forest.predict(FRAME))
    flavor.save_model(forest, tmp_path / "model", signature=signature)
    assert mlflow.models.get_model_info(str(tmp_path / "model")).signature == signature


# ----------------------------------------------------------------------------------------------------- bad inputs


def unfitted():
    return weald.RandomForestClassifier()


def embedding():
    return weald.RandomTreesEmbedding(3, random_state=0).fit(np.eye(5))


def regressor(n_targets=1):
    y = np.arange(20.0) if n_targets == 1 else np.ones((20, n_targets))
    return weald.RandomForestRegressor(2, random_state=0).fit(np.arange(40.0).reshape(20, 2), y)


def two_labels():
    y = np.array([["a", "x"], ["b", "y"]] * 10)
    return weald.RandomForestClassifier(2, random_state=0).fit(np.arange(40.0).reshape(20, 2), y)


@pytest.mark.parametrize(
    ("make", "given", "kind", "words"),
    [
        (dict, {}, ParameterError, "model is a dict, not a forest or tree of weald"),
        (RandomForestClassifier, {}, ParameterError, "Save pipelines and transformers with mlflow.sklearn"),
        (unfitted, {}, NotFittedError, "not fitted"),
        (embedding, {}, ParameterError, "model is a RandomTreesEmbedding, not a forest"),
        (regressor, {"pyfunc_predict_fn": "decision_path"}, ParameterError, "decision_path' is unknown. Give one of"),
        (regressor, {"pyfunc_predict_fn": "predict_proba"}, ParameterError, "has no probabilities"),
        (two_labels, {"pyfunc_predict_fn": "predict_proba"}, ParameterError, "one target at a time"),
        (regressor, {"signature": {"inputs": "double"}}, ParameterError, "signature is a dict. Give an mlflow"),
        (regressor, {"pip_requirements": "weald"}, ParameterError, "pip_requirements is the text 'weald'. Give a list"),
        (regressor, {"metadata": ["owner"]}, ParameterError, "metadata is a list. Give a dict"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_anything_is_written(make, given, kind, words, tmp_path):
    with pytest.raises(kind, match=words):
        flavor.save_model(make(), tmp_path / "model", **given)
    assert not (tmp_path / "model").exists()
    if "metadata" not in given:  # which MLflow itself reads when it logs
        with pytest.raises(kind, match=words):
            flavor.log_model(make(), **given)
    assert not list(tmp_path.iterdir())  # no run was begun


def test_a_folder_with_files_is_not_overwritten(forest, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"already exists\. Give a new path"):
        flavor.save_model(forest, tmp_path)
    with pytest.raises(ParameterError, match="already exists"):
        flavor.save_model(forest, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_model_of_another_flavor_is_refused(forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model")
    path = tmp_path / "model" / "MLmodel"
    notes = yaml.safe_load(path.read_text())
    del notes["flavors"]["weald"]
    path.write_text(yaml.safe_dump(notes))
    with pytest.raises(FormatError, match="of the flavors python_function, not of weald"):
        flavor.load_model(tmp_path / "model")


@pytest.mark.parametrize("load", [flavor.load_model, mlflow.pyfunc.load_model])
def test_a_replaced_or_damaged_file_is_refused(load, forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model")
    path = tmp_path / "model" / "model.weald"
    whole = path.read_bytes()
    regressor().save(path)
    with pytest.raises(FormatError, match="but the MLmodel file beside it expects"):
        load(str(tmp_path / "model"))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError):
        load(str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (SERVED.drop(columns="few"), "missing inputs .'few'."),
        (SERVED.assign(number="many"), "number"),
        (SERVED.assign(code=FRAME["code"]), "convert category"),
        (SERVED.assign(day=1.5), "day"),
    ],
)
def test_mlflow_refuses_rows_that_do_not_suit_the_signature(rows, words, forest, tmp_path):
    flavor.save_model(forest, tmp_path / "model", input_example=SERVED.head())
    with pytest.raises(mlflow.MlflowException, match=words):
        mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(rows)


def test_without_mlflow_the_message_says_what_to_install(monkeypatch):
    import importlib
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "mlflow" or name.startswith("weald.mlflow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ModuleNotFoundError, match="pip install mlflow-skinny"):
        importlib.import_module("weald.mlflow")


def test_the_package_shows_its_public_names():
    assert dir(flavor) == ["load_model", "log_model", "save_model"]
    assert Path(flavor.__file__).parent.name == "mlflow"
