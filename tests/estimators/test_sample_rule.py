"""The stochastic classifier: a class drawn by the probabilities of the leaf."""

import numpy as np
import pytest

import weald
from tests.laws.cases import make_table
from weald import impurity


@pytest.fixture(scope="module")
def table():
    return make_table(400, ("many", "few"), 3, missing=0.1, seed=4)


@pytest.fixture(scope="module")
def tree(table):
    return weald.DecisionTreeClassifier(max_depth=3, random_state=0).fit(table.X, table.target)


def test_on_its_own_rows_the_expected_error_is_the_gini_index_of_the_leaves(tree, table):
    shares = tree.predict_proba(table.X)
    expected_error = np.mean(1 - shares[np.arange(400), table.target])
    assert tree.total_impurity() == pytest.approx(expected_error)
    repeats = [np.mean(tree.predict(table.X, rule="sample", repeat=r) != table.target) for r in range(200)]
    spread = np.std(repeats) / np.sqrt(200)
    assert 0.1 < expected_error < 0.9
    assert np.mean(repeats) == pytest.approx(expected_error, abs=4 * spread)
    assert spread < 0.005


def test_in_a_leaf_the_error_is_its_gini_index(table):
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    model = weald.DecisionTreeClassifier(random_state=1).fit(np.ones((100, 1)), labels)
    drawn = model.predict(np.ones((40_000, 1)), rule="sample")
    wrong = np.mean(drawn != np.resize(labels, 40_000))
    assert wrong == pytest.approx(impurity.gini([50, 30, 20]), abs=0.01)


def test_the_majority_is_wrong_less_often(tree, table):
    sampled = np.mean(tree.predict(table.X, rule="sample") != table.target)
    assert tree.training_error() == np.mean(tree.predict(table.X) != table.target)
    assert tree.training_error() < sampled


def test_draws_follow_the_seed_and_the_repeat(tree, table):
    first, again, other = (tree.predict(table.X, rule="sample", repeat=r) for r in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    twin = weald.DecisionTreeClassifier(max_depth=3, random_state=9).fit(table.X, table.target)
    assert (twin.predict(table.X) == tree.predict(table.X)).all()
    assert (twin.predict(table.X, rule="sample") != first).any()
    engines = [
        weald.DecisionTreeClassifier(max_depth=3, random_state=0, engine=engine).fit(table.X, table.target)
        for engine in ("native", "reference")
    ]
    assert (engines[0].predict(table.X, rule="sample") == engines[1].predict(table.X, rule="sample")).all()


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_a_forest_draws_by_its_votes(table, voting):
    forest = weald.RandomForestClassifier(n_estimators=10, random_state=0, max_depth=2, voting=voting)
    forest.fit(table.X, table.target)
    shares = forest.predict_proba(table.X).mean(axis=0)
    drawn = np.concatenate([forest.predict(table.X, rule="sample", repeat=r) for r in range(50)])
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 20_000, shares, atol=0.01)


def test_a_pure_leaf_leaves_no_choice(table):
    X = np.arange(400.0).reshape(-1, 1)
    full = weald.DecisionTreeClassifier().fit(X, table.target)
    assert (full.predict(X, rule="sample") == table.target).all()


def test_an_unknown_rule_is_refused(tree, table):
    with pytest.raises(weald.ParameterError, match=r'rule=.best. is not allowed\. Give "majority" or "sample"'):
        tree.predict(table.X, rule="best")
    with pytest.raises(weald.ParameterError, match="repeat=-1 is not allowed"):
        tree.predict(table.X, rule="sample", repeat=-1)
