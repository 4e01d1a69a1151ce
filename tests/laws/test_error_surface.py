"""Law: each number of an error surface is the error of a fit with that setting, to the last bit."""

import itertools
import random
import warnings

import numpy as np
import pytest

import weald
from tests.laws.cases import CATEGORICAL, CRITERIA, ENGINES, is_of_classes, make_table, suited
from weald.estimators.error_surface import suggest_values
from weald.plot import PruningDisplay

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_criterion = pytest.mark.parametrize("criterion", CRITERIA)
OF_TREES = ("shrinkage", "max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha")
PARAMETERS = (*OF_TREES, "n_estimators")
COLUMNS = ("many", "few", "kinds", "rounded")


def fit(table, n_estimators, **given):
    kind = weald.RandomForestClassifier if table.n_classes else weald.RandomForestRegressor
    table = table if table.n_classes else suited(given.get("criterion"), table)
    categorical = [f for f, column in enumerate(COLUMNS) if column in CATEGORICAL]
    given = {"oob_score": True} | given
    model = kind(n_estimators, random_state=3, categorical_features=categorical, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about rows in every bag and unused class weights
        return model.fit(table.X, table.target, sample_weight=table.weight)


def some_values(dice, forest, name):
    values = suggest_values(forest, name)
    return sorted(dice.sample(values, min(3, len(values))), key=values.index)


def brute_force_spread(forest):
    """Standard error from the losses of rows."""
    out = forest.oob_
    weight = out._weight[out.mask]
    if forest.task == "classification":
        n = weight.sum() if (weight == np.floor(weight)).all() else weight.sum() ** 2 / (weight**2).sum()
        return np.sqrt(out.error * (1 - out.error) / n)
    losses = (out._truth[out.mask] - out.predictions[out.mask]) ** 2
    n = weight.sum() if (weight == np.floor(weight)).all() else weight.sum() ** 2 / (weight**2).sum()
    mean = (losses * weight).sum() / weight.sum()
    return np.sqrt((weight * (losses - mean) ** 2).sum() / weight.sum() / n)


@pytest.mark.slow
@each_engine
@each_criterion
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("seed", range(2))
def test_each_number_is_the_out_of_bag_error_of_a_fit(criterion, engine, weights, seed):
    dice = random.Random(seed)
    n_classes = dice.choice([2, 3]) if is_of_classes(criterion) else 0
    table = make_table(70, COLUMNS, n_classes, weights=weights, missing=0.1, seed=seed)
    given = {"criterion": criterion, "engine": engine, "min_samples_leaf": dice.choice([1, 3])}
    if n_classes:
        given |= {"voting": dice.choice(["soft", "hard"]), "class_weight": dice.choice([None, "balanced"])}
    forest = fit(table, 6, **given)
    for names in [*dice.sample(list(itertools.combinations(PARAMETERS, 2)), 3), (dice.choice(PARAMETERS),)]:
        values = {name: some_values(dice, forest, name) for name in names}
        surface = forest.oob_.surface(*names, values=values)
        assert surface.parameters == names
        for at in np.ndindex(*surface.errors.shape):
            setting = {name: values[name][i] for name, i in zip(names, at, strict=True)}
            alone = fit(table, **({"n_estimators": 6} | given | setting))
            assert surface.errors[at] == alone.oob_error_ == alone.oob_.error
            assert surface.leaves[at] == alone.get_n_leaves().sum()
            assert surface.fractions[at] == alone.oob_fraction_
            assert surface.standard_errors[at] == pytest.approx(brute_force_spread(alone), rel=1e-9, abs=1e-300)


@each_engine
@each_criterion
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_each_number_on_new_data_is_the_error_of_the_truncated_model(criterion, engine, voting):
    dice = random.Random(5)
    n_classes = 3 if is_of_classes(criterion) else 0
    table, new = (make_table(n, COLUMNS, n_classes, missing=0.1, seed=n) for n in (80, 61))
    forest = fit(table, 5, criterion=criterion, engine=engine, **({"voting": voting} if n_classes else {}))
    for model in (forest, forest[2]):
        names = dice.sample(OF_TREES, 2)
        values = {name: some_values(dice, forest, name) for name in names}
        target = new.target.astype(float) if model is not forest else new.target
        surface = weald.surface(model, new.X, new.target, *names, values=values)
        for at in np.ndindex(*surface.errors.shape):
            setting = {name: values[name][i] for name, i in zip(names, at, strict=True)}
            predicted = model.truncate(**setting).predict(new.X)
            expected = np.mean(predicted != target) if n_classes else np.mean((predicted - target) ** 2)
            assert surface.errors[at] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_errors_of_many_rows_are_those_of_fits(n_classes, weights):
    table = make_table(2500, COLUMNS, n_classes, weights=weights, missing=0.1, seed=2)
    forest = fit(table, 9, min_samples_leaf=20)
    values = {"max_depth": [2, 5], "ccp_alpha": suggest_values(forest, "ccp_alpha")[::20], "n_estimators": [1, 4, 9]}
    surface = forest.oob_.surface(values=values)
    for at in np.ndindex(*surface.errors.shape):
        setting = {name: of[i] for i, (name, of) in zip(at, values.items(), strict=True)}
        assert surface.errors[at] == fit(table, **({"min_samples_leaf": 20} | setting)).oob_error_


@each_engine
@pytest.mark.parametrize("resampling", ["boosting", "arcing"])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_votes_of_boosted_trees_have_their_weights(engine, resampling, voting):
    table, new = (make_table(n, COLUMNS, 3, seed=n) for n in (80, 61))
    given = {"resampling": resampling, "voting": voting, "max_depth": 3, "oob_score": False}
    forest = fit(table, 12, engine=engine, **given)
    surface = weald.surface(forest, new.X, new.target, values={"n_estimators": list(range(1, 13))})
    said = [forest.truncate(n_estimators=n).predict(new.X) for n in range(1, 13)]
    np.testing.assert_allclose(surface.errors, [np.mean(predicted != new.target) for predicted in said], rtol=1e-12)


def test_blocks_of_settings_give_the_same_numbers(monkeypatch):
    table = make_table(90, COLUMNS, 3, seed=1)
    forest = fit(table, 8)
    whole = forest.oob_.surface("max_depth", "n_estimators")
    monkeypatch.setattr("weald.estimators.error_surface.BLOCK_BYTES", 16 * 90 * 3)
    pieces = forest.oob_.surface("max_depth", "n_estimators")
    for name in ("errors", "standard_errors", "leaves", "fractions"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name), equal_nan=True)


def test_the_number_of_threads_changes_nothing():
    table = make_table(90, COLUMNS, 0, seed=1)
    one, many = (fit(table, 8, n_jobs=n).oob_.surface("ccp_alpha", "max_depth") for n in (1, 3))
    assert np.array_equal(one.errors, many.errors)


@each_engine
@each_criterion
def test_the_error_after_each_tree_is_the_surface_of_the_number_of_trees(criterion, engine):
    table = make_table(70, COLUMNS, 3 if is_of_classes(criterion) else 0, weights="fractional", missing=0.1, seed=4)
    forest = fit(table, 12, criterion=criterion, engine=engine)
    errors = forest.oob_.surface(values={"n_estimators": list(range(1, 13))}).errors
    np.testing.assert_allclose(forest.oob_.curve.error, errors, rtol=1e-12)


@each_engine
@each_criterion
@pytest.mark.parametrize("weights", ["none", "fractional"])
def test_choose_alpha_and_the_pruning_display_have_the_errors_of_the_surface(criterion, engine, weights):
    n_classes = 3 if is_of_classes(criterion) else 0
    table, new = (make_table(n, COLUMNS, n_classes, weights=weights, missing=0.1, seed=n) for n in (80, 61))
    tree = fit(table, 3, criterion=criterion, engine=engine)[1]
    path = tree.pruning_path(frame="dict")
    values = {"ccp_alpha": path["alpha"].tolist()}
    surface = weald.surface(tree, new.X, new.target, sample_weight=new.weight, values=values)
    choice = tree.choose_alpha(new.X, new.target, new.weight, method="holdout")
    np.testing.assert_allclose(choice.errors, surface.errors, rtol=1e-12)
    np.testing.assert_allclose(choice.standard_errors, surface.standard_errors, rtol=1e-9)
    assert (choice.best, choice.chosen) == (surface.place(), surface.place("one_standard_error"))
    if new.weight is None:
        display = PruningDisplay.from_estimator(tree, new.X, new.target)
        np.testing.assert_array_equal(display.new_error, choice.errors)
        assert (display.best_, display.smallest_) == (choice.best, choice.chosen)
