"""skops keeps estimators as model files: only their classes must be trusted, and whatever a file says is checked."""

import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weald
from tests.io.export.models import make_frame
from weald.errors import FormatError

skops = pytest.importorskip("skops.io", reason="skops is not installed")

FRAME, SIGNAL = make_frame(200)
X = np.random.default_rng(0).normal(size=(80, 3))


def models():
    few = {"random_state": 0}
    yield weald.RandomForestClassifier(5, oob_score=True, **few).fit(FRAME, SIGNAL > 1), FRAME
    yield weald.RandomForestRegressor(5, keep_targets=True, **few).fit(FRAME, SIGNAL), FRAME
    yield weald.RandomForestRegressor(5, **few).fit(FRAME, np.column_stack([SIGNAL, -SIGNAL])), FRAME
    yield weald.ExtraTreesClassifier(5, **few).fit(FRAME, SIGNAL > 1), FRAME
    yield weald.DecisionTreeClassifier(max_depth=3, **few).fit(FRAME, SIGNAL > 1), FRAME
    yield weald.ExtraTreeRegressor(**few).fit(X, X[:, 0]), X
    yield weald.KernelForestRegressor(3, **few).fit(X, X[:, 0]), X


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_estimators_come_back_and_only_their_classes_must_be_trusted():
    for model, rows in models():
        data = skops.dumps(model)
        kind = type(model)
        assert skops.get_untrusted_types(data=data) == [f"{kind.__module__}.{kind.__name__}"]
        loaded = skops.loads(data, trusted=[kind])
        assert type(loaded) is kind
        assert (loaded.predict(rows) == model.predict(rows)).all()
        assert loaded.get_params() == model.get_params()


def test_pipelines_and_estimators_that_are_not_fitted_come_back():
    pipeline = make_pipeline(StandardScaler(), weald.RandomForestClassifier(3, random_state=1)).fit(X, X[:, 0] > 0)
    loaded = skops.loads(skops.dumps(pipeline), trusted=[weald.RandomForestClassifier])
    assert (loaded.predict_proba(X) == pipeline.predict_proba(X)).all()
    bare = weald.RandomForestRegressor(7, max_features=2, random_state=3)
    assert skops.loads(skops.dumps(bare), trusted=[type(bare)]).get_params() == bare.get_params()


def test_a_type_that_is_not_trusted_is_refused():
    with pytest.raises(skops.exceptions.UntrustedTypesFoundException, match="RandomForestRegressor"):
        skops.loads(skops.dumps(weald.RandomForestRegressor()))


def altered(model, change):
    """Return a file of skops whose schema or contents were changed."""
    with zipfile.ZipFile(io.BytesIO(skops.dumps(model))) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(contents["schema.json"])
    change(schema, contents)
    contents["schema.json"] = json.dumps(schema).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, part in contents.items():
            archive.writestr(name, part)
    return made.getvalue()


def data_file(contents):
    (name,) = [name for name in contents if name.endswith(".bin")]
    return name


def cut(schema, contents):
    name = data_file(contents)
    contents[name] = contents[name][: len(contents[name]) // 2]


def flip(schema, contents):
    name = data_file(contents)
    part = bytearray(contents[name])
    part[len(part) * 3 // 4] ^= 0xFF
    contents[name] = bytes(part)


def another_class(schema, contents):
    schema["__class__"] = "ExtraTreesRegressor"


def other_attributes(schema, contents):
    """A state with the attributes of the estimator, as a pickle has it: its forest could be anything."""
    state = schema["content"]["content"]
    state["forest_"] = state.pop("file")


@pytest.mark.parametrize("change", [cut, flip, another_class, other_attributes])
def test_files_that_were_changed_are_refused(change):
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    with pytest.raises(FormatError):
        skops.loads(altered(model, change), trusted=[weald.RandomForestRegressor, weald.ExtraTreesRegressor])


def test_pickles_and_copies_keep_all_attributes():
    model = weald.RandomForestRegressor(30, random_state=0, oob_score=True, keep_errors=True).fit(X, X[:, 0])
    model.note = "mine"
    for again in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert again.note == "mine"
        assert again.get_params() == model.get_params()
        assert (again.predict_interval(X) == model.predict_interval(X)).all()


class Noted(weald.RandomForestRegressor):
    """A subclass with a state of its own."""

    def __getstate__(self):
        return {"mine": vars(self).copy()}

    def __setstate__(self, state):
        vars(self).update(state["mine"], was_restored=True)


def test_a_subclass_may_have_a_state_of_its_own():
    model = Noted(3, random_state=0).fit(X, X[:, 0])
    again = pickle.loads(pickle.dumps(model))
    assert again.was_restored
    assert (again.predict(X) == model.predict(X)).all()
