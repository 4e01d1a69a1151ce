"""Law: leaves of a shrunk forest predict what the formula of hierarchical shrinkage gives, in every engine."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import weald
from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import CORES, CRITERIA, ENGINES, REFERENCE, cases, grow, is_of_classes, make_table
from tests.laws.test_error_surface import COLUMNS, fit
from weald.engines.interface import PermutationTask
from weald.forest.shrinkage import find_classes, predict_nodes

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_criterion = pytest.mark.parametrize("criterion", CRITERIA)
EXAMPLES = settings(max_examples=6 if UNDER_SANITIZERS else 40)
SHRINKAGES = st.sampled_from([5e-324, 0.1, 1.0, 10.0, 1e6, 1.7e308])


def outcome(engine, forest, case):
    """Predictions, out-of-bag votes and losses of permuted features: everything that reads leaf values."""
    X, votings = case.table.X, ["soft", "hard"] if case.table.n_classes else ["soft"]
    found = {voting: engine.sum_votes(forest, X, voting, 1, None) for voting in votings}
    codes = engine.code(case.table, case.max_bins, 1, None)
    if case.growth.bootstrap:
        out = engine.sum_votes_out_of_bag(codes, case.growth, forest, X, "soft", 1, None)
        found |= {"sums": out.sums, "errors": out.errors}
    n, d = X.shape
    groups = np.arange(d, dtype=np.int32), np.arange(d, dtype=np.uint32)
    names = [tree for origin in forest.origins for tree in origin.trees()]
    rows = np.ones((forest.n_trees, n), dtype=bool)
    target = case.table.target.astype(float)
    task = PermutationTask(range(forest.n_trees), names, rows, engine.order(codes), target, np.ones(n), *groups)
    with np.errstate(over="ignore", invalid="ignore"):
        return found | {"losses": engine.permute(forest, X, task, 1, None)}


@pytest.mark.sanitize
@each_criterion
@EXAMPLES
@given(data=st.data())
def test_engines_agree_bit_for_bit(criterion, data):
    case = data.draw(cases(criterion))
    forest = grow(REFERENCE, case).with_shrinkage(data.draw(SHRINKAGES))
    expected = outcome(REFERENCE, forest, case)
    for engine in CORES.values():
        found = outcome(engine, forest, case)
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, err_msg=name)


def brute_force(tree, n_classes, shrinkage):
    """Values of the nodes, from scikit-learn's arrays in exact fractions, each node by its own path."""
    value, weight = tree.value[:, 0, :], tree.weighted_n_node_samples
    above = {int(c): p for p in range(tree.node_count) for c in (tree.children_left[p], tree.children_right[p])}
    found = np.empty((tree.node_count, n_classes or 1))
    for node in range(tree.node_count):
        path = [node]
        while path[-1]:
            path.append(above[path[-1]])
        path.reverse()
        for k in range(found.shape[1]):
            u = [Fraction(float(value[at, k])) for at in path]
            steps = zip(u[1:], u[:-1], path[:-1], strict=True)
            found[node, k] = u[0] + sum((b - a) / (1 + shrinkage / Fraction(float(weight[p]))) for b, a, p in steps)
    return found


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_nodes_predict_what_the_sum_over_their_path_gives(n_classes, weights, class_weight):
    table = make_table(90, COLUMNS, n_classes, weights=weights, missing=0.1, seed=2)
    given = {"class_weight": class_weight, "min_samples_leaf": 3} if n_classes else {"min_samples_leaf": 3}
    plain = fit(table, 3, **given)
    shrunk = fit(table, 3, shrinkage=7.5, **given)
    for before, after in zip(plain, shrunk, strict=True):
        expected = brute_force(before.tree_, n_classes, Fraction(7.5))
        np.testing.assert_allclose(after.tree_.value[:, 0, :], expected, rtol=1e-13, atol=1e-15)
        predicted = after.predict_proba(table.X) if n_classes else after.predict(table.X)[:, None]
        np.testing.assert_array_equal(predicted, after.tree_.value[after.apply(table.X), 0, :])


@pytest.mark.parametrize("shrinkage", [0.1, 10.0, 500.0])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_diabetes])
def test_trees_of_scikit_learn_predict_as_imodels_shrinks_them(load, shrinkage):
    imodels = pytest.importorskip("imodels")
    X, y = load(return_X_y=True)
    is_class = load is not load_diabetes
    tree = (DecisionTreeClassifier if is_class else DecisionTreeRegressor)(random_state=0, min_samples_leaf=2).fit(X, y)
    ours = weald.from_sklearn(tree).truncate(shrinkage=shrinkage)
    kind = imodels.HSTreeClassifier if is_class else imodels.HSTreeRegressor
    theirs = kind(tree, reg_param=shrinkage)  # changes the given tree
    predicted, expected = (m.predict_proba(X) if is_class else m.predict(X) for m in (ours, theirs))
    np.testing.assert_allclose(predicted, expected, rtol=1e-14, atol=2e-16)


@each_criterion
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_model_that_is_shrunk_later_is_the_one_that_a_fit_gives(criterion, bootstrap):
    table = make_table(80, COLUMNS, 3 if is_of_classes(criterion) else 0, weights="fractional", missing=0.1, seed=6)
    for rules in ({"max_depth": 4}, {"max_leaf_nodes": 7, "ccp_alpha": 0.01}, {"min_samples_split": 9}):
        given = {"criterion": criterion, "bootstrap": bootstrap, "oob_score": bootstrap}
        full = fit(table, 4, shrinkage=3.0, **given)
        fitted = fit(table, 4, shrinkage=20.0, **given, **rules)
        made = full.truncate(shrinkage=20.0, **rules)
        assert made.forest_.fingerprint() == fitted.forest_.fingerprint()
        assert made.get_params() == fitted.get_params()
        np.testing.assert_array_equal(made.predict(table.X), fitted.predict(table.X))


@each_criterion
def test_the_fingerprint_covers_lambda_and_without_it_is_that_of_the_trees(criterion):
    table = make_table(60, COLUMNS, 2 if is_of_classes(criterion) else 0, seed=3)
    plain, zero, one = fit(table, 3), fit(table, 3, shrinkage=0), fit(table, 3, shrinkage=1)
    assert plain.forest_.fingerprint() == zero.forest_.fingerprint() == one.truncate(shrinkage=0).forest_.fingerprint()
    assert one.forest_.fingerprint() != plain.forest_.fingerprint()
    assert one.forest_.tree_hashes()[1] == one.forest_.take([1]).fingerprint()


@each_engine
@each_criterion
def test_a_large_lambda_predicts_the_roots(criterion, engine):
    n_classes = 3 if is_of_classes(criterion) else 0
    table = make_table(60, COLUMNS, n_classes, seed=3)
    model = fit(table, 3, criterion=criterion, engine=engine, shrinkage=1e300)
    roots = predict_nodes(model.forest_)[model.forest_.tree_start[:-1]].mean(axis=0)
    predicted = model.predict_proba(table.X) if n_classes else model.predict(table.X)[:, None]
    np.testing.assert_allclose(predicted, np.broadcast_to(roots, predicted.shape), rtol=1e-12)


@each_engine
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_every_target_is_shrunk_by_its_own_values(n_classes, engine):
    table = make_table(70, COLUMNS, n_classes, seed=8)
    y = np.column_stack([table.target, table.target[::-1], table.target])
    kind = weald.RandomForestClassifier if n_classes else weald.RandomForestRegressor
    model = kind(4, random_state=1, shrinkage=5.0, engine=engine).fit(table.X, y)
    plain = kind(4, random_state=1, engine=engine).fit(table.X, y)
    assert [f.with_shrinkage(0).fingerprint() for f in model.forests_] == [f.fingerprint() for f in plain.forests_]
    for number in range(3):
        one = plain.of_target(number).truncate(shrinkage=5.0)
        if n_classes:
            np.testing.assert_array_equal(model.predict_proba(table.X)[number], one.predict_proba(table.X))
        else:
            np.testing.assert_array_equal(model.predict(table.X)[:, number], one.predict(table.X))
    assert plain.truncate(shrinkage=5.0).forests_[1].fingerprint() == model.forests_[1].fingerprint()


def test_huge_means_do_not_overflow():
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] % 3 == 0, 1.7e308, -1.7e308)
    found = []
    for engine in ENGINES:
        model = weald.RandomForestRegressor(3, random_state=0, shrinkage=2.0, engine=engine).fit(X, y)
        found.append(model.predict(X))
        assert np.isfinite(found[-1]).all()
        small = weald.RandomForestRegressor(3, random_state=0, shrinkage=2.0).fit(X, np.ldexp(y, -8)).predict(X)
        np.testing.assert_allclose(np.ldexp(found[-1], -8), small, rtol=1e-13)
    np.testing.assert_array_equal(*found)


def test_an_empty_bag_has_no_vote():
    X, y = np.arange(30.0)[:, None] % 7, np.arange(30) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            weald.RandomForestClassifier(
                20, random_state=0, max_samples=1, class_weight={0: 1, 1: 0, 2: 1}, shrinkage=1.0, engine=engine
            ).fit(X, y)
            for engine in ENGINES
        ]
    assert not models[0].forest_.has_vote().all()
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_hard_vote_goes_to_the_most_probable_class(n_classes):
    table = make_table(80, COLUMNS, n_classes, target="noise", seed=5)
    model = fit(table, 5, voting="hard", shrinkage=30.0)
    leaves = model.apply(table.X) + model.forest_.tree_start[:-1]
    votes = np.eye(n_classes)[find_classes(model.forest_)[leaves]].sum(axis=1)
    np.testing.assert_array_equal(model.predict_votes(table.X), votes)
    plain = replace(model.forest_, shrinkage=0.0)
    assert (find_classes(plain) != find_classes(model.forest_)).any()


@each_engine
@each_criterion
def test_oob_chooses_the_lowest_out_of_bag_error(criterion, engine):
    n_classes = 3 if is_of_classes(criterion) else 0
    table = make_table(80, COLUMNS, n_classes, target="rounded", missing=0.1, seed=9)
    chosen = fit(table, 6, criterion=criterion, engine=engine, shrinkage="oob")
    surface = fit(table, 6, criterion=criterion, engine=engine).oob_.surface("shrinkage")
    errors = {s: fit(table, 6, criterion=criterion, engine=engine, shrinkage=s).oob_error_ for s in surface.values[0]}
    assert surface.errors.tolist() == list(errors.values())
    assert chosen.shrinkage_ == min(errors, key=errors.get)
    assert chosen.oob_error_ == errors[chosen.shrinkage_]
    assert chosen.truncate(max_depth=2).get_params()["shrinkage"] == chosen.shrinkage_
