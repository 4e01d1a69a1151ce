"""The times in the leaves of survival forests, in files."""

import json

import numpy as np
import pytest

import weald
from tests.estimators.survival.test_models import make_rows
from weald import FormatError
from weald.io import container, files, leaf_times, words

MODELS = {
    "forest": weald.RandomSurvivalForest(4, random_state=0, oob_score=True),
    "extra": weald.ExtraSurvivalTrees(3, random_state=0),
    "tree": weald.SurvivalTree(random_state=0),
}


@pytest.fixture(scope="module", params=["none", "fractions"])
def weight(request):
    return None if request.param == "none" else np.random.default_rng(0).random(150)


@pytest.mark.filterwarnings("ignore:.*in the bag of every tree")
@pytest.mark.parametrize("how", [{}, {"compress": False}, {"mappable": True}])
@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_predicts_the_same_bits(name, how, weight, tmp_path):
    X, y = make_rows()
    model = MODELS[name].fit(X, y, weight)
    model.save(tmp_path / "model.weald", **how)
    for mmap in {False, "mappable" in how}:
        again = weald.load(tmp_path / "model.weald", mmap=mmap)
        assert again.forest_.fingerprint() == model.forest_.fingerprint()
        for predict in ("predict", "predict_survival_function", "predict_cumulative_hazard_function"):
            given = () if predict == "predict" else (True,)
            assert np.array_equal(getattr(again, predict)(X, *given), getattr(model, predict)(X, *given))
        assert np.array_equal(again.event_times_, model.event_times_)
        if name == "forest":
            assert again.oob_score_ == model.oob_score_
            assert np.array_equal(again.oob_prediction_, model.oob_prediction_, equal_nan=True)
            assert again.out_of_bag(X, y, weight).score == model.oob_score_
        again.save(tmp_path / "again.weald", **how)
        assert (tmp_path / "again.weald").read_bytes() == (tmp_path / "model.weald").read_bytes()


def changed(change):
    """The bytes of a file whose leaf times were changed."""
    X, y = make_rows()
    model = weald.RandomSurvivalForest(2, random_state=0).fit(X, y)
    contents = container.read(b"".join(files.write(model, compress=False)), check_data=True)
    arrays, texts = dict(contents.arrays), dict(contents.metadata)
    change(arrays, texts)
    return b"".join(container.write(texts, arrays))


def set_to(name, place, value):
    def change(arrays, _):
        arrays[name] = np.array(arrays[name])
        arrays[name][place] = value

    return change


def without_word(arrays, texts):
    texts[words.REQUIRES] = texts[words.REQUIRES].replace(" survival", "")


def drop(name):
    return lambda arrays, _: arrays.pop(name)


def replace(name, make):
    def change(arrays, _):
        arrays[name] = make(np.array(arrays[name]))

    return change


def as_regressor(arrays, texts):
    notes = json.loads(texts["weald.notes"])
    notes["estimator"] = "RandomForestRegressor"
    texts["weald.notes"] = json.dumps(notes, separators=(",", ":"))


@pytest.mark.parametrize(
    "change",
    [
        without_word,
        as_regressor,
        *map(drop, leaf_times.MAPPABLE),
        set_to(leaf_times.TIME, 0, 1e9),
        set_to(leaf_times.TIME, 0, np.nan),
        set_to(leaf_times.TIME, 0, -1.0),
        set_to(leaf_times.AT, 0, 200),
        set_to(leaf_times.LENGTH, 0, 0),
        set_to(leaf_times.LENGTH, 0, 100),
        set_to(leaf_times.EVENTS, 0, 100),
        set_to(leaf_times.EXITS, slice(None), 0),
        replace(leaf_times.EVENTS, lambda a: a.astype(np.float64) - 1.0),
        replace(leaf_times.EVENTS, lambda a: a.astype(np.float32)),
        replace(leaf_times.EVENTS, lambda a: a[:-1]),
        replace(leaf_times.AT, lambda a: a[::-1]),
        replace(leaf_times.TIME, lambda a: a.astype(np.float32)),
        replace(leaf_times.TIME, lambda a: a.reshape(-1, 1)),
    ],
)
def test_a_file_with_bad_times_is_refused(change):
    with pytest.raises(FormatError):
        files.read(changed(change))


def test_an_unchanged_file_is_read():
    files.read(changed(lambda *_: None))
