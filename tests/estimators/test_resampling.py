"""Boosting and arcing: a plain second implementation, and the same in both engines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import weald
from tests import training_tables
from weald.engines.choose import open_engine
from weald.engines.params import resolve
from weald.errors import DataError, ParameterError
from weald.estimators import resampling

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
WEIGHT = np.arange(len(X)) % 3 + 1
WAYS = ("boosting", "arcing")


def classifier(**given):
    return weald.RandomForestClassifier(**{"n_estimators": 12, "random_state": 3, "max_depth": 2, **given})


def written_out(way, weight, n_trees):
    """Weights as plain fractions of their sum, logarithms from NumPy; trees from the reference engine."""
    model = classifier()
    reading = training_tables.read(model, X, Y, weight)
    growth = resolve(vars(model), reading.table, reading.classes)
    engine = open_engine("reference")
    coded = engine.code(reading.table, 65535, 1, None)
    start = np.ones(len(X)) if weight is None else weight
    w, mistakes, votes, trees = start / start.sum(), np.zeros(len(X)), [], []
    for t in range(n_trees):
        if way == "arcing":
            w = start * (1 + mistakes**4)
        line = np.rint(w / w.max() * 2.0**40).astype(np.uint64)
        tree = engine.grow(engine.weigh(coded, line), growth, 3, t, 1, 1, None)
        wrong = engine.sum_votes(tree, X, "hard", 1, None).argmax(axis=1) != Y
        mistakes += wrong
        share = w[wrong].sum() / w.sum()
        votes.append(np.log2((1 - share) / share * 2))
        w = np.where(wrong, w * (1 - share) / share * 2, w)
        w /= w.sum()
        trees.append(tree)
    return trees, votes


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("way", WAYS)
def test_trees_and_votes_are_those_of_the_papers(way, weight):
    model = classifier(resampling=way).fit(X, Y, sample_weight=weight)
    trees, votes = written_out(way, weight, 12)
    forest = trees[0].join(*trees[1:])
    np.testing.assert_array_equal(model.forest_.feature, forest.feature)
    np.testing.assert_array_equal(model.forest_.threshold, forest.threshold)
    np.testing.assert_array_equal(model.forest_.size, forest.size)
    if way == "boosting":
        np.testing.assert_allclose(model.forest_.tree_weight, votes, rtol=1e-9)
    else:
        assert len(model.forest_.tree_weight) == 0


@pytest.mark.parametrize("weight", [None, WEIGHT, WEIGHT + 0.25])
@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("way", WAYS)
def test_engines_threads_and_the_order_of_rows_agree(way, voting, weight):
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = None if weight is None else weight[order]
    given = {"resampling": way, "voting": voting, "max_samples": len(X)}
    reference = classifier(engine="reference", **given).fit(X, Y, sample_weight=weight)
    for n_jobs in (1, 3):
        native = classifier(n_jobs=n_jobs, **given).fit(X[order], Y[order], sample_weight=shuffled)
        assert native.forest_.fingerprint() == reference.forest_.fingerprint()
        np.testing.assert_array_equal(native.predict_votes(X), reference.predict_votes(X))


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("way", WAYS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_a_weight_of_k_is_k_copies(way, engine, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 40))
    x, y = np.round(rng.normal(size=(n_rows, 3)), 1), rng.integers(0, 3, n_rows)
    weight = rng.integers(0, 6, n_rows) + (np.arange(n_rows) == 0)
    weighted, copied = (classifier(n_estimators=6, resampling=way, engine=engine, max_depth=1) for _ in range(2))
    weighted.fit(x, y, sample_weight=weight)
    copied.fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert weighted.forest_.fingerprint() == copied.forest_.fingerprint()


LARGEST = np.finfo(np.float64).max


@pytest.mark.parametrize("unit", [2.0**1022, 5e-324, 0.25])
@pytest.mark.parametrize("way", WAYS)
def test_the_unit_of_weights_does_not_matter(way, unit):
    weight = np.where(np.arange(len(X)) % 3, 1.0, 3.0)
    expected = classifier(resampling=way, max_samples=len(X)).fit(X, Y, sample_weight=weight * 2.0**40).forest_
    forest = classifier(resampling=way, max_samples=len(X)).fit(X, Y, sample_weight=weight * unit).forest_
    assert forest.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("way", WAYS)
def test_weights_at_both_ends_of_the_doubles_make_a_forest(way):
    weight = np.where(np.arange(len(X)) % 9, 5e-324, LARGEST)
    models = [classifier(resampling=way, engine=engine, max_depth=1) for engine in ("native", "reference")]
    prints = {model.fit(X, Y, sample_weight=weight).forest_.fingerprint() for model in models}
    assert len(prints) == 1
    assert np.isfinite(models[0].predict_proba(X)).all()


def test_the_first_tree_is_that_of_the_forest():
    forest, boosted = (classifier(resampling=way).fit(X, Y).forest_.take([0]) for way in ("bagging", "boosting"))
    np.testing.assert_array_equal(boosted.threshold, forest.threshold)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_votes_weigh_what_the_trees_are_worth(voting):
    model = classifier(resampling="boosting", voting=voting).fit(X, Y)
    weight = model.forest_.tree_weight
    assert (weight > 0).any()
    assert len(set(weight)) > 1
    predicted = np.array([tree.predict_proba(X) for tree in model.estimators_])
    if voting == "hard":
        predicted = np.eye(3)[predicted.argmax(axis=2)]
    expected = np.tensordot(weight, predicted, axes=1)
    np.testing.assert_allclose(model.predict_votes(X), expected)
    np.testing.assert_allclose(model.predict_proba(X), expected / weight.sum())
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))


def test_some_trees_of_a_boosted_forest_keep_their_weights():
    model = classifier(resampling="boosting").fit(X, Y)
    np.testing.assert_array_equal(model.forest_.take([4, 2]).tree_weight, model.forest_.tree_weight[[4, 2]])
    bagged = classifier(random_state=4).fit(X, Y)
    joined = model.forest_.join(bagged.forest_)
    np.testing.assert_array_equal(joined.tree_weight, np.r_[model.forest_.tree_weight, np.ones(12)])
    np.testing.assert_allclose((model + bagged).predict_votes(X), model.predict_votes(X) + bagged.predict_votes(X))


def test_weights_of_trees_are_part_of_the_fingerprint_where_there_are_any():
    from dataclasses import replace

    forest = classifier(resampling="boosting").fit(X, Y).forest_
    assert replace(forest, tree_weight=np.empty(0)).fingerprint() != forest.fingerprint()


def test_a_tree_no_better_than_a_guess_has_no_vote_and_rows_begin_anew():
    rows = resampling.Boosting(training_tables.read(classifier(), X, Y, None).table)
    rows.learn(np.arange(len(X)) < 20)
    assert rows.weight[0] > rows.weight[-1]
    rows.learn(np.ones(len(X), dtype=bool))
    assert (rows.weight == 1).all()
    assert rows.votes()[0] > 0 == rows.votes()[1]


def test_without_any_good_tree_all_have_the_same_vote():
    rows = resampling.Boosting(training_tables.read(classifier(), X, Y, None).table)
    rows.learn(np.ones(len(X), dtype=bool))
    assert len(rows.votes()) == 0


def test_a_tree_without_mistakes_changes_no_weights_and_has_a_finite_vote():
    rows = resampling.Boosting(training_tables.read(classifier(), X, Y, None).table)
    rows.learn(np.zeros(len(X), dtype=bool))
    assert len(set(rows.weight)) == 1
    assert 40 < rows.votes()[0] < 60


def test_many_rounds_stay_within_doubles():
    x, y = make_classification(60, 4, flip_y=0.5, random_state=0)
    model = weald.RandomForestClassifier(400, resampling="boosting", max_depth=1, random_state=0).fit(x, y)
    assert np.isfinite(model.forest_.tree_weight).all()
    assert np.isfinite(model.predict_proba(x)).all()


def test_boosting_is_about_as_good_as_adaboost():
    x, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(len(x)) % 2 == 0, np.arange(len(x)) % 2 == 1
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=60, random_state=0)
    error = np.mean(theirs.fit(x[train], y[train]).predict(x[test]) != y[test])
    for way in WAYS:
        model = weald.RandomForestClassifier(60, resampling=way, random_state=0).fit(x[train], y[train])
        assert np.mean(model.predict(x[test]) != y[test]) < error + 0.02


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bootstrap": False}, "bootstrap=False"),
        ({"oob_score": True}, "oob_score"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"n_estimators": "auto"}, "n_estimators"),
        ({"resampling": "boost"}, "resampling='boost'"),
    ],
)
def test_what_does_not_go_together_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        classifier(**{"resampling": "boosting", **given}).fit(X, Y)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_growing_on_is_growing_at_once(way, engine):
    n = 60
    part = classifier(n_estimators=3, resampling=way, engine=engine, warm_start=True).fit(X[:n], Y[:n])
    part.set_params(n_estimators=7).fit(X[:n], Y[:n])
    whole = classifier(n_estimators=7, resampling=way, engine=engine).fit(X[:n], Y[:n])
    assert part.forest_.fingerprint() == whole.forest_.fingerprint()
    with pytest.warns(UserWarning, match="without increasing"):
        part.fit(X[:n], Y[:n])
    with pytest.raises(ParameterError, match="less than the 7 trees"):
        part.set_params(n_estimators=2).fit(X[:n], Y[:n])


@pytest.mark.parametrize("change", ["table", "way", "slice"])
def test_only_the_first_trees_of_the_same_forest_can_be_grown_on(change):
    model = classifier(n_estimators=4, resampling="boosting", warm_start=True).fit(X, Y)
    model = model[1:] if change == "slice" else model
    model.set_params(n_estimators=6, resampling="arcing" if change == "way" else "boosting")
    rows = slice(0, -1) if change == "table" else slice(None)
    with pytest.raises(DataError, match="can continue only the first trees"):
        model.fit(X[rows], Y[rows])


def test_groups_are_refused():
    with pytest.raises(ParameterError, match="groups cannot be used with resampling='arcing'"):
        classifier(resampling="arcing").fit(X, Y, groups=np.arange(len(X)) // 2)


@pytest.mark.parametrize("way", WAYS)
def test_there_is_no_honest_row_out_of_bag(way):
    with pytest.raises(DataError, match="mistakes of earlier trees"):
        classifier(resampling=way).fit(X, Y).out_of_bag(X, Y)


@pytest.mark.parametrize("way", ["boosting", "arcing"])
def test_sparse_rows_are_predicted_alike_by_both_engines(way):
    X = np.random.default_rng(0).integers(0, 3, (30, 3)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    native, reference = (
        weald.RandomForestClassifier(3, random_state=0, resampling=way, max_depth=1, engine=engine).fit(X, y)
        for engine in ("native", "reference")
    )
    expected = native.predict_proba(X)
    assert (reference.predict_proba(sparse.csr_array(X)) == expected).all()
    assert (native.predict_proba(sparse.csr_array(X)) == expected).all()
