"""Forests of counts and medians through all layers: stores, files, exports, explanations, and changes after the fit."""

import numpy as np
import pandas as pd
import pytest

import weald
from weald import codes
from weald.cli.main import run
from weald.errors import DataError, ParameterError

RNG = np.random.default_rng(11)
X = RNG.normal(size=(200, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
Y = RNG.poisson(np.exp(np.nan_to_num(X[:, 0]))).astype(float) * 1.5
NEW = RNG.normal(size=(50, 4))
GIVEN = {"random_state": 3, "min_samples_leaf": 3, "oob_score": True}
each = pytest.mark.parametrize("criterion", ["poisson", "absolute_error"])


def fit(criterion, n_trees=20, **given):
    return weald.RandomForestRegressor(n_trees, criterion=criterion, **{**GIVEN, **given}).fit(X, Y)


@each
def test_a_code_store_gives_the_same_forest(criterion, tmp_path):
    store = codes.from_chunks([(X[:90], Y[:90]), (X[90:], Y[90:])], folder=tmp_path, task="regression")
    stored = weald.RandomForestRegressor(5, criterion=criterion, random_state=3, max_bins=store.max_bins).fit(store)
    expected = weald.RandomForestRegressor(5, criterion=criterion, random_state=3, max_bins=store.max_bins).fit(X, Y)
    assert stored.forest_.fingerprint() == expected.forest_.fingerprint()


def test_a_code_store_of_negative_counts_is_refused(tmp_path):
    store = codes.from_chunks([(X[:90], Y[:90] - 1), (X[90:], Y[90:] - 1)], folder=tmp_path, task="regression")
    with pytest.raises(DataError, match=r"the smallest is -1\.0"):
        weald.RandomForestRegressor(5, criterion="poisson", max_bins=store.max_bins).fit(store)


@each
def test_files_keep_every_bit(criterion, tmp_path):
    model = fit(criterion)
    model.save(tmp_path / "model.weald")
    loaded = weald.load(tmp_path / "model.weald")
    assert loaded.forest_.fingerprint() == model.forest_.fingerprint()
    assert loaded.criterion == criterion
    for name, array in model.forest_.arrays().items():
        np.testing.assert_array_equal(loaded.forest_.arrays()[name], array, err_msg=name)
    scores = [one.out_of_bag(X, Y).score("absolute_error") for one in (loaded, model)]
    assert scores == [model.oob_.score("absolute_error")] * 2


@each
def test_scikit_learns_form_predicts_the_same(criterion):
    model = fit(criterion)
    theirs = model.to_sklearn().model
    assert theirs.criterion == criterion
    rows = NEW.astype(np.float32)
    np.testing.assert_allclose(theirs.predict(rows), model.predict(rows), rtol=1e-12)


@each
def test_explanations_add_up_to_predictions(criterion):
    model = fit(criterion)
    values = model.shap_values(NEW)
    explained = weald.explain(model, NEW)
    np.testing.assert_allclose(values.sum(axis=1) + explained.base_values, model.predict(NEW), rtol=1e-9)


@each
def test_merging_slices_gives_the_forest(criterion):
    model = fit(criterion)
    merged = weald.merge([model[:8], model[8:]])
    np.testing.assert_array_equal(merged.predict(NEW), model.predict(NEW))
    with pytest.raises(ParameterError, match="cannot be merged"):
        weald.merge([model, fit("squared_error")])


@each
def test_a_truncated_forest_is_that_of_a_fit(criterion):
    model = fit(criterion, oob_score=False)
    for rules in ({"max_depth": 3}, {"min_samples_split": 20}, {"min_impurity_decrease": 0.01}, {"shrinkage": 5.0}):
        fitted = fit(criterion, oob_score=False, **rules)
        assert model.truncate(**rules).forest_.fingerprint() == fitted.forest_.fingerprint()


@each
def test_pruned_leaves_predict_the_values_of_their_nodes(criterion):
    tree = weald.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=3).fit(X, Y)
    path = tree.pruning_path(frame="dict")
    assert (np.diff(path["alpha"]) > 0).all()
    small = tree.prune(float(path["alpha"][-2]))
    assert 1 < small.get_n_leaves() < tree.get_n_leaves()
    value = np.mean if criterion == "poisson" else np.median
    leaves = small.apply(X)
    for leaf in np.unique(leaves):
        assert small.tree_.value[leaf, 0, 0] == pytest.approx(value(Y[leaves == leaf]), rel=1e-9)


@each
def test_importance_surface_and_quantiles(criterion):
    model = fit(criterion, keep_targets=True)
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_.sum() == pytest.approx(1)
    found = weald.importance(model, X, Y, kind="permutation")
    assert np.argmax(found.values) == 0
    assert np.isfinite(model.oob_.surface("max_depth").errors).all()
    low, high = model.predict_quantiles(NEW, [0.1, 0.9]).T
    assert (low <= high).all()


@each
def test_descriptions_of_nodes_have_the_spread_of_the_criterion(criterion):
    tree = weald.DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(X, Y)
    spread = np.std(Y) if criterion == "poisson" else np.abs(Y - np.median(Y)).mean()
    root = tree.nodes(frame="dict")["impurity"][0]
    assert root == pytest.approx(spread**2 if criterion == "poisson" else spread)
    text = tree.explain_split(0, X, Y)
    assert tree.nodes(frame="dict")["feature"][0] in str(text)


def test_a_tree_of_medians_knows_its_absolute_error():
    tree = weald.DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, Y)
    assert tree.training_error() == pytest.approx(np.abs(tree.predict(X) - Y).mean())
    assert tree.total_impurity() == pytest.approx(tree.training_error())
    assert np.isnan(tree.truncate(shrinkage=2.0).training_error())


@each
def test_the_command_line_takes_the_criterion_as_a_setting(criterion, tmp_path, capsys):
    pd.DataFrame(np.column_stack([X, Y]), columns=[*"abcd", "y"]).to_csv(tmp_path / "data.csv", index=False)
    given = ["--target", "y", "-n", "5", "--seed", "3", "--set", f"criterion={criterion}"]
    assert run(["train", str(tmp_path / "data.csv"), *given, "-o", str(tmp_path / "model.weald"), "--json"]) == 0
    model = weald.load(tmp_path / "model.weald")
    expected = weald.RandomForestRegressor(5, criterion=criterion, random_state=3).fit(X, Y)
    assert model.forest_.fingerprint() == expected.forest_.fingerprint()
    capsys.readouterr()


@each
def test_a_report_is_written(criterion, tmp_path):
    weald.report(fit(criterion), X, Y, file=tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert criterion in text
