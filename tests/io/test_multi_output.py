"""Multi-output models are stored in files like all others, and shared arrays are stored once."""

import json
import pickle

import numpy as np
import pytest

import weald
from tests.io.cases import of_targets
from tests.io.mutate import UNSIGNED, Mutator, sign, try_to_use, unsigned
from weald.errors import FormatError, ParameterError
from weald.estimators.multi_output import each_target
from weald.io import container, files

NAMES = list(of_targets())
WAYS = ({}, {"compress": False}, {"mappable": True})


def fingerprints(model):
    return [one.forest_.fingerprint() for one in each_target(model)]


def same(one, other, X):
    assert fingerprints(one) == fingerprints(other)
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert np.array_equal(one.predict(X), other.predict(X))
    for name in ("oob_score_", "oob_error_", "oob_prediction_", "oob_decision_function_"):
        assert hasattr(one, name) == hasattr(other, name)
        assert not hasattr(one, name) or np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
    if hasattr(one, "classes_"):
        assert [c.tolist() for c in one.classes_] == [c.tolist() for c in other.classes_]
        assert all(np.array_equal(p, q) for p, q in zip(one.predict_proba(X), other.predict_proba(X), strict=True))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_the_model_back(name, way, tmp_path):
    model, X = of_targets()[name]
    model.save(tmp_path / "m.weald", **way)
    same(model, weald.load(tmp_path / "m.weald"), X)
    if way.get("mappable"):
        same(model, weald.load(tmp_path / "m.weald", mmap=True), X)


@pytest.mark.parametrize("name", NAMES)
def test_pickle_and_json_give_the_model_back(name):
    model, X = of_targets()[name]
    same(model, pickle.loads(pickle.dumps(model)), X)
    export = model.to_json()
    assert export.parity.is_exact
    same(model, weald.from_json(export.model), X)


@pytest.mark.parametrize("name", NAMES)
def test_one_target_is_a_model_of_its_own(name, tmp_path):
    model, X = of_targets()[name]
    for number in range(model.n_outputs_):
        one = model.of_target(number)
        assert np.array_equal(one.predict(X), model.predict(X)[:, number])
        one.save(tmp_path / "m.weald")
        assert np.array_equal(weald.load(tmp_path / "m.weald").predict(X), one.predict(X))
        assert one.to_c(name="f").parity.is_exact
    with pytest.raises(ParameterError, match="number"):
        model.of_target(model.n_outputs_)


def test_a_target_that_is_there_already_takes_no_room():
    model, _ = of_targets()["the same target twice"]
    contents = container.read(b"".join(files.write(model, compress=False)))
    assert not [name for name in contents.arrays if "/" in name]
    assert sum(len(other["same"]) for other in json.loads(contents.metadata["weald.notes"])["others"]) > 5


def test_targets_share_their_trees():
    model, _ = of_targets()["several targets"]
    contents = container.read(b"".join(files.write(model, compress=False)))
    own = {name for name in contents.arrays if name.startswith("1/")}
    assert own <= {f"1/leaf.{part}" for part in ("class", "length", "weight")} | {"1/split.decrease", "1/node.weight"}


def test_the_real_onnxruntime_takes_one_target_after_the_other():
    pytest.importorskip("onnxruntime")
    model, _ = of_targets()["several targets"]
    assert all(one.to_onnx().parity.is_exact for one in each_target(model))
    with pytest.raises(weald.ExportError, match=r"model\.of_target\(0\)\.to_onnx"):
        model.to_onnx()


@pytest.mark.sanitize
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_file_that_is_signed_is_refused_or_harmless():
    counts = {"refused": 0, "used": 0}
    with unsigned():
        mutators = [Mutator(b"".join(files.write(of_targets()[name][0], **w))) for name in NAMES[:4] for w in WAYS]
        for seed in range(240):
            counts[try_to_use(mutators[seed % len(mutators)].draw(seed), in_every_way=seed % 4 == 0)] += 1
    assert min(counts.values()) > 12


def test_targets_with_other_trees_are_refused():
    mutator = Mutator(b"".join(files.write(of_targets()["several means"][0], compress=False)))
    notes, arrays = mutator.notes, dict(mutator.arrays)
    notes["others"][0]["same"].remove("split.threshold")
    arrays["1/split.threshold"] = np.zeros_like(arrays["split.threshold"])
    for more in ("split.threshold.values", "split.threshold.counts"):
        assert more in notes["others"][0]["same"]
    notes |= {"fingerprint": UNSIGNED, "others": [{**other, "fingerprint": UNSIGNED} for other in notes["others"]]}
    whole = sign({**mutator.texts, "weald.notes": json.dumps(notes)}, arrays)
    with unsigned(), pytest.raises(FormatError, match="different trees"):
        files.read(whole)
