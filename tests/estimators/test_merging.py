"""Merged, sliced and extended forests have the out-of-bag estimates of a single fit."""

import dataclasses
import operator
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import weald
from weald.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
XR, YR = (part[:70] for part in load_diabetes(return_X_y=True))

KINDS = {
    "classes": (weald.RandomForestClassifier, X, Y),
    "numbers": (weald.RandomForestRegressor, XR, YR),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("engine", ["native", "reference"])


def fit(kind, n_trees=30, seed=0, **given):
    model, x, y = KINDS[kind]
    return model(n_trees, random_state=seed, **given).fit(x, y)


def answers(model, kind):
    """Return the predictions of a forest for its rows, also out-of-bag."""
    _, x, y = KINDS[kind]
    out = model.out_of_bag(x, y)
    return [model.predict_votes(x), model.predict(x), out.predictions, out.counts, out.score(), out.error, out.share]


def assert_says_the_same(one, other, kind):
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    for a, b in zip(answers(one, kind), answers(other, kind), strict=True):
        np.testing.assert_array_equal(a, b)


@both
@each_kind
def test_slices_put_together_are_the_forest(kind, engine):
    whole = fit(kind, 24, engine=engine)
    parts = weald.merge([whole[:10], whole[10:11], whole[11:]])
    assert parts.forest_.origins == whole.forest_.origins
    assert_says_the_same(parts, whole, kind)


@each_kind
def test_a_slice_is_the_forest_of_these_trees(kind):
    whole = fit(kind)
    part = whole[5:29:2]
    assert isinstance(part, type(whole))
    assert (part.n_estimators, part.forest_.n_trees, len(part.estimators_)) == (12, 12, 12)
    for tree, number in zip(part.estimators_, range(5, 29, 2), strict=True):
        assert tree.forest_.fingerprint() == whole.estimators_[number].forest_.fingerprint()
    assert whole.forest_.n_trees == 30
    assert whole[::-1].forest_.fingerprint() == whole.forest_.take(range(29, -1, -1)).fingerprint()


@each_kind
def test_what_was_estimated_with_other_trees_is_forgotten(kind):
    whole = fit(kind, oob_score=True)
    for other in (whole[:20], whole[:20] + whole[20:]):
        assert not [name for name in vars(other) if name.startswith("oob_") and name.endswith("_")]
    assert hasattr(whole, "oob_score_")


@each_kind
def test_looking_out_of_bag_later_is_looking_at_once(kind):
    at_once, later = fit(kind, oob_score=True), fit(kind)
    expected = [at_once.oob_score_, at_once.oob_error_, at_once.oob_fraction_]
    order = np.random.default_rng(1).permutation(len(KINDS[kind][1]))
    found = later.out_of_bag(KINDS[kind][1][order], KINDS[kind][2][order])
    np.testing.assert_allclose([found.score(), found.error, found.share], expected)


@both
@each_kind
def test_growing_on_from_a_slice_gives_the_trees_that_follow(kind, engine):
    _, x, y = KINDS[kind]
    whole = fit(kind, 24, engine=engine)
    part = whole[10:20].set_params(warm_start=True, n_estimators=14).fit(x, y)
    assert_says_the_same(part, whole[10:24], kind)


@both
def test_forests_of_other_seeds_and_bags_are_estimated_together(engine):
    a = fit("classes", 10, seed=1, engine=engine)
    b = fit("classes", 12, seed=2, engine=engine, max_samples=0.4)
    c = fit("classes", 3, seed=3, engine=engine, bootstrap=False)
    merged = a + b + c
    sums, n_trees = np.zeros((len(X), 3)), np.zeros(len(X))
    for model in (a, b):
        outside = bags_of(model) == 0
        predictions = np.array([tree.predict_proba(X) for tree in model.estimators_])
        sums += (predictions * outside[:, :, None]).sum(axis=0)
        n_trees += outside.sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few trees, some rows are in every bag
        found = merged.out_of_bag(X, Y).probabilities
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, sums / n_trees[:, None], atol=1e-12)


def bags_of(model):
    from weald.data.table import read_table
    from weald.engines.choose import open_engine

    reading = read_table(weald.DecisionTreeClassifier(), X, Y, None, classify=True)
    engine = open_engine(model.engine)
    return engine.bags(engine.code(reading.table, model.max_bins, 1, None), model.growth_, model.forest_.origins, 1)


def test_regression_forests_of_other_targets_are_merged():
    a = fit("numbers", 4, seed=1)
    b = weald.RandomForestRegressor(6, random_state=2).fit(XR, YR * 1e6 + 3)
    merged = weald.merge([a, b])
    np.testing.assert_allclose(merged.predict(XR), (4 * a.predict(XR) + 6 * b.predict(XR)) / 10)
    np.testing.assert_allclose(
        merged.feature_importances_,
        np.mean([tree.feature_importances_ for tree in merged.estimators_], axis=0),
    )
    assert (b + a).predict(XR) == pytest.approx(merged.predict(XR))


def test_trees_of_other_data_have_no_estimate():
    merged = fit("classes", 4) + weald.RandomForestClassifier(6, random_state=2).fit(X[:-1], Y[:-1])
    before = dict(vars(merged))
    with pytest.raises(DataError, match="6 of the 10 trees were grown from other data"):
        merged.out_of_bag(X, Y)
    assert vars(merged) == before


def test_copies_of_a_tree_are_warned_of():
    whole = fit("classes", 6)
    for join in (lambda a, b: weald.merge([a, b]), operator.add):
        with pytest.warns(UserWarning, match="2 of 8 trees are copies, with the same seed") as told:
            join(whole[:4], whole[2:])
        assert "Give each forest its own random_state" in str(told[0].message)


def test_trees_of_other_seeds_numbers_or_tables_are_no_copies():
    whole = fit("classes", 6)
    others = [
        weald.RandomForestClassifier(6, random_state=9).fit(X, Y),
        weald.RandomForestClassifier(4, random_state=0).fit(X[:-1], Y[:-1]),
    ]
    assert weald.merge([whole[:3], whole[3:], *others]).forest_.n_trees == 16  # warnings are errors


def test_forests_without_a_seed_after_the_same_global_seed_are_copies():
    """Copies of a generator give the same seeds, as in forked processes."""
    state, forests = np.random.get_state(), []  # noqa: NPY002
    for _ in range(2):
        np.random.set_state(state)  # noqa: NPY002
        forests.append(weald.RandomForestClassifier(3).fit(X, Y))
    with pytest.warns(UserWarning, match="3 of 6 trees"):
        weald.merge(forests)


def kinds(labels):
    """Make a table whose first column is of two categories."""
    return pd.DataFrame({"kind": np.array(list(labels))[np.arange(len(X)) % 2], "x": X[:, 0]})


def of_another_contract(model):
    """Return a forest as if grown by another version of weald."""
    if model.n_outputs_ == 1:
        model.forest_ = dataclasses.replace(model.forest_, contract=model.forest_.contract + 1)
    else:
        model.forests_ = tuple(dataclasses.replace(f, contract=f.contract + 1) for f in model.forests_)
    return model


REFUSED = {
    "kinds": (lambda: fit("numbers", 2), ParameterError, "RandomForestClassifier and a RandomForestRegressor"),
    "features": (
        lambda: weald.RandomForestClassifier(2).fit(X[:, :3], Y),
        DataError,
        "different features .*: 4 and 3",
    ),
    "classes": (lambda: weald.RandomForestClassifier(2).fit(X, Y + 1), DataError, "classes .*: 0, 1, 2 and 1, 2, 3"),
    "names": (
        lambda: weald.RandomForestClassifier(2).fit(pd.DataFrame(X, columns=list("abcd")), Y),
        DataError,
        "names of the features .*: none and a, b, c, d",
    ),
    "categories": (
        lambda: weald.RandomForestClassifier(2).fit(kinds("vw"), Y),
        DataError,
        "different categories .*: u, v; none and v, w; none",
    ),
    "criteria": (
        lambda: weald.RandomForestClassifier(2, criterion="entropy").fit(X, Y),
        ParameterError,
        "criterion='gini' and 'entropy'",
    ),
    "contracts": (lambda: of_another_contract(fit("classes", 2)), DataError, "under versions .* of the contract"),
    "not fitted": (lambda: weald.RandomForestClassifier(2), NotFittedError, "not fitted"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_forests_that_do_not_belong_together_are_refused(case):
    make, error, words = REFUSED[case]
    first = weald.RandomForestClassifier(2).fit(kinds("uv"), Y) if case == "categories" else fit("classes", 2)
    with pytest.raises(error, match=words):
        weald.merge([first, make()])


def test_trees_of_another_contract_have_another_fingerprint_and_keep_it():
    forest = fit("classes", 3).forest_
    other = of_another_contract(fit("classes", 3)).forest_
    assert forest.fingerprint() != other.fingerprint()
    assert other.take([0, 1]).join(other.take([2])).fingerprint() == other.fingerprint()
    with pytest.raises(ValueError, match="different contract"):
        forest.join(other)


@pytest.mark.parametrize("target", [Y, np.column_stack([Y, Y])], ids=["one target", "two targets"])
def test_trees_of_another_contract_are_neither_grown_on_nor_given_other_bags(target):
    model = of_another_contract(weald.RandomForestClassifier(2, random_state=0, warm_start=True).fit(X, target))
    with pytest.raises(DataError, match="warm_start=True keeps were grown under version"):
        model.set_params(n_estimators=4).fit(X, target)
    if target.ndim == 1:
        with pytest.raises(DataError, match=r"version .* of the contract, but this version of weald draws bags"):
            model.out_of_bag(X, target)


def test_nothing_and_no_forests_are_refused():
    with pytest.raises(ParameterError, match="without forests"):
        weald.merge([])
    with pytest.raises(TypeError):
        fit("classes", 2) + 1
    with pytest.raises(IndexError, match="selects no trees"):
        fit("classes", 2)[5:]
    with pytest.raises(TypeError, match="neither a number nor a slice"):
        fit("classes", 2)["a"]
