"""Derived forms of a forest: created once, freed with it, not part of its pickle."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import weald
from weald.engines import derived_forms
from weald.engines.derived_forms import forms_of


def fit():
    dice = np.random.default_rng(0)
    X = dice.normal(size=(100, 3))
    return weald.RandomForestClassifier(3, random_state=0).fit(X, dice.integers(0, 2, 100)), X


def test_forms_are_made_once():
    model, X = fit()
    first = model.predict_proba(X)
    packed = dict(forms_of(model.forest_).packed)
    assert packed
    assert model.predict_proba(X).tobytes() == first.tobytes()
    assert all(forms_of(model.forest_).packed[key] is found for key, found in packed.items())
    model.apply(X)
    (predictor,) = forms_of(model.forest_).predictors.values()
    model.apply(X)
    assert forms_of(model.forest_).predictors.popitem()[1] is predictor


def test_forms_are_freed_with_their_forest():
    model, X = fit()
    model.predict(X)
    model.apply(X)
    key, watch = id(model.forest_), weakref.ref(model.forest_)
    assert key in derived_forms._BY_ID
    del model
    gc.collect()
    assert watch() is None
    assert key not in derived_forms._BY_ID


def test_forms_are_freed_with_a_forest_in_a_cycle():
    model, X = fit()
    model.predict(X)
    model.cycle = model
    key = id(model.forest_)
    del model
    gc.collect()
    assert key not in derived_forms._BY_ID


def test_forms_are_left_out_of_pickles():
    model, X = fit()
    before = pickle.dumps(model.forest_)
    model.predict(X)
    model.apply(X)
    assert pickle.dumps(model.forest_) == before
    assert not forms_of(pickle.loads(before)).packed


def test_single_trees_of_weighted_votes_are_kept():
    dice = np.random.default_rng(0)
    X, y = dice.normal(size=(100, 3)), dice.integers(0, 2, 100)
    model = weald.RandomForestClassifier(4, resampling="boosting", engine="reference", random_state=0).fit(X, y)
    model.predict(X)
    trees = forms_of(model.forest_).trees
    assert len(trees) == model.forest_.n_trees
    model.predict(X)
    assert forms_of(model.forest_).trees is trees


def test_threads_find_the_same_forms():
    def predict(model):
        return model.predict_proba(X).tobytes(), id(forms_of(model.forest_))

    X = fit()[1]
    for _ in range(20):
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(predict, [fit()[0]] * 8))) == 1
