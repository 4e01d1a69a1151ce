"""Choosing alpha: every error against the pruned tree itself on the same rows."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, PredefinedSplit

import weald
from tests.laws.cases import CRITERIA, is_of_classes, make_table, suited

each = pytest.mark.parametrize("criterion", CRITERIA)
weighing = pytest.mark.parametrize("weights", ["none", "whole", "fractional"])


def make(criterion, weights="none", n_rows=120):
    table = make_table(
        n_rows, ("many", "few"), 3 if is_of_classes(criterion) else 0, weights=weights, missing=0.1, seed=5
    )
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    return kind(criterion=criterion, random_state=3), suited(criterion, table)


def losses_of(model, X, y, criterion):
    predicted = model.predict(X)
    return (predicted != y).astype(float) if is_of_classes(criterion) else (predicted - y) ** 2


@weighing
@each
def test_the_errors_on_holdout_rows_are_those_of_the_pruned_trees(criterion, weights):
    model, table = make(criterion, weights)
    weight = np.ones(120) if table.weight is None else table.weight
    seen, new = slice(0, 70), slice(70, 120)
    model.fit(table.X[seen], table.target[seen], sample_weight=weight[seen])
    choice = model.choose_alpha(table.X[new], table.target[new], weight[new], method="holdout")
    path = model.pruning_path(frame="dict")
    np.testing.assert_array_equal(choice.alphas, path["alpha"])
    for alpha, error, spread in zip(choice.alphas, choice.errors, choice.standard_errors, strict=True):
        losses = losses_of(model.prune(alpha), table.X[new], table.target[new], criterion)
        mean = np.average(losses, weights=weight[new])
        assert error == pytest.approx(mean, abs=1e-9)
        variance = np.average((losses - mean) ** 2, weights=weight[new])
        n = weight[new].sum() ** 2 / (weight[new] ** 2).sum() if weights == "fractional" else weight[new].sum()
        assert spread == pytest.approx(np.sqrt(variance / n), rel=1e-6, abs=1e-7)


@weighing
@each
def test_the_errors_of_folds_are_those_of_trees_that_have_not_seen_them(criterion, weights):
    model, table = make(criterion, weights)
    weight = np.ones(120) if table.weight is None else table.weight
    model.fit(table.X, table.target, sample_weight=weight)
    folds = np.arange(120) % 4
    choice = model.choose_alpha(table.X, table.target, weight, cv=PredefinedSplit(folds))
    middles = [*np.sqrt(choice.alphas[:-1] * choice.alphas[1:]), 1e300]
    losses = np.empty((len(choice.alphas), 120))
    for fold in range(4):
        seen, new = folds != fold, folds == fold
        tree = make(criterion)[0].fit(table.X[seen], table.target[seen], sample_weight=weight[seen])
        for i, middle in enumerate(middles):
            losses[i, new] = losses_of(tree.prune(middle), table.X[new], table.target[new], criterion)
    np.testing.assert_allclose(choice.errors, np.average(losses, axis=1, weights=weight), atol=1e-9)


def test_the_rule_of_one_standard_error_takes_the_smallest_tree_within_it():
    model, table = make("gini")
    model.fit(table.X, table.target)
    least = model.choose_alpha(table.X, table.target, one_standard_error=False)
    choice = model.choose_alpha(table.X, table.target)
    np.testing.assert_array_equal(least.errors, choice.errors)
    assert least.chosen == least.best == choice.best
    assert (least.errors >= least.errors[least.best]).all()
    assert (least.errors[least.best + 1 :] > least.errors[least.best]).all()
    allowed = choice.errors[choice.best] + choice.standard_errors[choice.best]
    assert choice.errors[choice.chosen] <= allowed
    assert (choice.errors[choice.chosen + 1 :] > allowed).all()
    assert choice.alpha == choice.alphas[choice.chosen]
    assert str(choice).startswith(f"chosen: {choice.leaves[choice.chosen]} leaves")


@pytest.mark.parametrize("method", ["cv", "holdout"])
@each
def test_prune_takes_the_alpha_that_was_chosen(criterion, method):
    model, table = make(criterion)
    model.fit(table.X[:80], table.target[:80])
    rows = slice(0, 80) if method == "cv" else slice(80, 120)
    choice = model.choose_alpha(table.X[rows], table.target[rows], method=method)
    pruned = model.prune(method, table.X[rows], table.target[rows])
    assert pruned.ccp_alpha == choice.alpha
    assert pruned.get_n_leaves() == choice.leaves[choice.chosen]


def test_noise_is_pruned_to_the_root_and_signal_is_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    noise, signal = rng.integers(0, 2, size=300), (X[:, 0] > 0).astype(int)
    flip = rng.random(300) < 0.1
    tree = weald.DecisionTreeClassifier(random_state=0)
    assert tree.fit(X, noise).prune("cv", X, noise).get_n_leaves() == 1
    assert tree.fit(X, signal ^ flip).prune("cv", X, signal ^ flip).get_n_leaves() == 2


def test_folds_follow_the_seed_or_the_user():
    model, table = make("squared_error")
    model.fit(table.X, table.target)
    again = [model.choose_alpha(table.X, table.target).errors.tolist() for _ in range(2)]
    assert again[0] == again[1]
    ten = model.choose_alpha(table.X, table.target, cv=10).errors.tolist()
    given = model.choose_alpha(table.X, table.target, cv=KFold(10, shuffle=True, random_state=3)).errors.tolist()
    assert ten == given != again[0]


def test_a_tree_of_a_forest_can_choose_too():
    _, table = make("gini")
    forest = weald.RandomForestClassifier(n_estimators=2, random_state=0).fit(table.X[:80], table.target[:80])
    tree = forest.estimators_[1]
    assert tree.prune("holdout", table.X[80:], table.target[80:]).get_n_leaves() < tree.get_n_leaves()
    assert tree.prune("cv", table.X[:80], table.target[:80]).get_n_leaves() < tree.get_n_leaves()


def test_a_choice_needs_rows_and_a_known_method():
    model, table = make("gini")
    model.fit(table.X, table.target)
    for method in ("cv", "holdout"):
        with pytest.raises(weald.DataError, match="needs X and y"):
            model.prune(method)
    with pytest.raises(weald.ParameterError, match="alpha='oob' is not allowed"):
        model.prune("oob", table.X, table.target)
