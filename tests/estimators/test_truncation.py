"""Truncated estimators equal fitted ones; an error says why a parameter cannot be truncated."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.errors import ParameterError

X, Y = load_iris(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)
SETTINGS = [
    {"max_depth": 3},
    {"max_depth": "sqrt"},
    {"min_samples_split": 12},
    {"min_samples_split": 0.1},
    {"min_impurity_decrease": 0.01},
    {"max_leaf_nodes": 6},
    {"ccp_alpha": 0.01},
    {"max_depth": 4, "min_samples_split": 5, "min_impurity_decrease": 0.002, "max_leaf_nodes": 7, "ccp_alpha": 0.005},
]
MODELS = {
    "forest of classes": lambda **given: weald.RandomForestClassifier(7, random_state=1, **given).fit(X, Y),
    "forest of numbers": lambda **given: weald.RandomForestRegressor(7, random_state=1, **given).fit(XR, YR),
    "extra trees": lambda **given: weald.ExtraTreesClassifier(7, random_state=1, **given).fit(X, Y),
    "tree of classes": lambda **given: weald.DecisionTreeClassifier(**given).fit(X, Y),
    "tree of numbers": lambda **given: weald.DecisionTreeRegressor(**given).fit(XR, YR),
    "random tree": lambda **given: weald.ExtraTreeClassifier(random_state=3, **given).fit(X, Y),
    "weights of classes": lambda **given: weald.RandomForestClassifier(
        7, random_state=1, class_weight="balanced_subsample", min_samples_leaf=3, **given
    ).fit(X, Y),
    "rising": lambda **given: weald.RandomForestClassifier(7, random_state=1, monotonic_cst=[1, 0, 0, -1], **given).fit(
        X, Y > 1
    ),
}


def fitted(**given):
    return weald.RandomForestClassifier(5, random_state=0, **given).fit(X, Y)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_truncated_model_is_the_model_that_a_fit_gives(make, setting):
    full = make()
    if full.task == "regression":  # decreases are in units of the target
        setting = {
            name: value * 2000 if isinstance(value, float) and value < 0.05 else value
            for name, value in setting.items()
        }
    expected = make(**setting)
    before = full.forest_.fingerprint()
    found = full.truncate(**setting)
    assert found.forest_.fingerprint() == expected.forest_.fingerprint() != before
    assert found.get_params() == expected.get_params()
    assert found.growth_ == expected.growth_
    assert full.forest_.fingerprint() == before


def test_several_targets_are_truncated_together():
    targets = np.column_stack([Y, Y > 0])
    full = weald.RandomForestClassifier(5, random_state=0).fit(X, targets)
    found = full.truncate(max_depth=2, n_estimators=3)
    expected = weald.RandomForestClassifier(3, random_state=0, max_depth=2).fit(X, targets)
    assert [f.fingerprint() for f in found.forests_] == [f.fingerprint() for f in expected.forests_]
    pruned = weald.RandomForestClassifier(5, random_state=0, ccp_alpha=0.02).fit(X, targets)
    found = full.truncate(ccp_alpha=0.02)
    assert [f.fingerprint() for f in found.forests_] == [f.fingerprint() for f in pruned.forests_]


@pytest.mark.parametrize("resampling", ["bagging", "boosting", "arcing"])
def test_fewer_trees_are_the_first_ones(resampling):
    make = lambda n: weald.RandomForestClassifier(n, max_depth=3, random_state=0, resampling=resampling).fit(X, Y)  # noqa: E731
    found, expected = make(6).truncate(n_estimators=4), make(4)
    assert found.forest_.fingerprint() == expected.forest_.fingerprint()
    assert found.n_estimators == 4


def test_a_tree_of_a_truncated_forest_is_the_truncated_tree():
    forest = fitted()
    one, two = forest.truncate(max_depth=2)[3], forest[3].truncate(max_depth=2)
    assert one.forest_.fingerprint() == two.forest_.fingerprint()


def test_a_merged_forest_of_like_rules_is_truncated_tree_by_tree():
    parts = [weald.RandomForestRegressor(3, random_state=seed).fit(XR, YR * 2.0**seed) for seed in (0, 5)]
    merged = weald.merge([part.truncate(min_impurity_decrease=50.0) for part in parts])
    assert weald.merge(parts).truncate(min_impurity_decrease=50.0).forest_.fingerprint() == merged.forest_.fingerprint()


def test_out_of_bag_estimates_are_those_of_a_fit_and_not_of_the_full_forest():
    full = weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, Y)
    found = full.truncate(max_depth=1)
    assert not hasattr(found, "oob_error_")
    expected = weald.RandomForestClassifier(30, oob_score=True, random_state=0, max_depth=1).fit(X, Y)
    assert found.out_of_bag(X, Y).error == expected.oob_error_ != full.oob_error_


def test_a_saved_forest_is_truncated_after_loading(tmp_path):
    full = fitted()
    full.save(tmp_path / "full.weald")
    found = weald.load(tmp_path / "full.weald").truncate(max_leaf_nodes=4)
    assert found.forest_.fingerprint() == fitted(max_leaf_nodes=4).forest_.fingerprint()
    found.save(tmp_path / "small.weald")
    assert weald.load(tmp_path / "small.weald").forest_.fingerprint() == found.forest_.fingerprint()


def test_a_fraction_of_rows_needs_to_know_their_number():
    forest = weald.RandomForestClassifier(3, max_samples=0.5, random_state=0).fit(X, Y)
    with pytest.raises(ParameterError, match="does not know how many"):
        forest.truncate(min_samples_split=0.2)
    expected = weald.RandomForestClassifier(3, max_samples=0.5, random_state=0, min_samples_split=30).fit(X, Y)
    assert forest.truncate(min_samples_split=30).forest_.fingerprint() == expected.forest_.fingerprint()


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"min_samples_leaf": 3}, "takes part in the choice of splits"),
        ({"max_features": 2}, "takes part in the choice of splits"),
        ({"criterion": "entropy"}, "takes part in the choice of splits"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "takes part in the choice of splits"),
        ({"depth": 3}, "depth is no parameter of RandomForestClassifier"),
        ({"max_depth": 0}, "max_depth=0 is not allowed"),
        ({"max_depth": 2.5}, "max_depth=2.5 is not allowed"),
        ({"min_samples_split": 1}, "min_samples_split=1 is not allowed"),
        ({"min_impurity_decrease": -1.0}, "is not allowed"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes=1 is not allowed"),
        ({"ccp_alpha": float("nan")}, "is not allowed"),
        ({"n_estimators": 6}, "more than the 5 trees"),
        ({"n_estimators": 0}, "n_estimators=0 is not allowed"),
        ({"n_estimators": "auto"}, "n_estimators='auto' is not allowed"),
    ],
    ids=str,
)
def test_what_cannot_be_truncated_is_refused_with_the_reason(given, words):
    with pytest.raises(ParameterError, match=words.replace("[", r"\[")):
        fitted().truncate(**given)


@pytest.mark.parametrize(
    ("fit_with", "given", "words"),
    [
        ({"max_depth": 3}, {"max_depth": 4}, "looser than max_depth=3"),
        ({"min_samples_split": 9}, {"min_samples_split": 8}, "looser than min_samples_split=9"),
        ({"min_impurity_decrease": 0.1}, {"min_impurity_decrease": 0.05}, "looser"),
        ({"max_leaf_nodes": 4}, {"max_leaf_nodes": 5}, "looser than max_leaf_nodes=4"),
        ({"ccp_alpha": 0.02}, {"ccp_alpha": 0.01}, "looser than ccp_alpha=0.02"),
        ({"ccp_alpha": 0.02}, {"max_depth": 2}, "pruned with ccp_alpha=0.02"),
        ({"max_leaf_nodes": 4}, {"max_depth": 2}, "grown best-first"),
    ],
    ids=str,
)
def test_a_forest_that_is_limited_more_tightly_is_refused(fit_with, given, words):
    with pytest.raises(ParameterError, match=words):
        fitted(**fit_with).truncate(**given)


def test_a_forest_that_is_limited_can_be_limited_further():
    assert (
        fitted(max_depth=4, min_samples_split=6).truncate(max_depth=2).forest_.fingerprint()
        == fitted(max_depth=2, min_samples_split=6).forest_.fingerprint()
    )
    assert (
        fitted(max_leaf_nodes=7).truncate(max_leaf_nodes=3).forest_.fingerprint()
        == fitted(max_leaf_nodes=3).forest_.fingerprint()
    )
    assert (
        fitted(ccp_alpha=0.01).truncate(ccp_alpha=0.03).forest_.fingerprint()
        == fitted(ccp_alpha=0.03).forest_.fingerprint()
    )


def warm():
    model = weald.RandomForestClassifier(3, max_depth=4, warm_start=True, random_state=0).fit(X, Y)
    return model.set_params(n_estimators=6, max_depth=6).fit(X, Y)


def compacted():
    return weald.RandomForestClassifier(20, random_state=0).fit(X.round(), Y).compact()


def pruned():
    table = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 2, axis=0)
    return weald.DecisionTreeClassifier().fit(table, np.arange(8) % 2).prune(0)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (warm, "warm_start=True joined trees grown with different stopping rules"),
        (
            lambda: fitted() + weald.RandomForestClassifier(5, random_state=1, max_depth=3).fit(X, Y),
            "merge joined trees grown with different stopping rules",
        ),
        (compacted, r"compact\(\) removed splits"),
        (pruned, r"prune\(0\) removed splits"),
    ],
)
def test_trees_that_are_not_those_of_one_fit_are_refused(model, words, tmp_path):
    made = model()
    made.save(tmp_path / "model.weald")
    for one in (made, weald.load(tmp_path / "model.weald")):
        with pytest.raises(ParameterError, match=words):
            one.truncate(max_depth=1)


def test_a_new_fit_can_be_truncated_again():
    model = compacted()
    assert hasattr(model, "altered_by_")
    assert not hasattr(model.fit(X, Y), "altered_by_")


@pytest.mark.parametrize("resampling", ["boosting", "arcing"])
def test_boosted_trees_lose_only_trees(resampling):
    forest = weald.RandomForestClassifier(4, resampling=resampling, random_state=0).fit(X, Y)
    with pytest.raises(ParameterError, match="Only n_estimators"):
        forest.truncate(max_depth=2)


def test_imported_trees_are_refused():
    from sklearn.ensemble import RandomForestClassifier

    forest = weald.from_sklearn(RandomForestClassifier(3, random_state=0).fit(X, Y))
    with pytest.raises(ParameterError, match="imported"):
        forest.truncate(max_depth=2)


def test_kernel_forests_are_refused():
    series = np.random.default_rng(0).normal(size=(30, 12))
    forest = weald.KernelForestClassifier(3, random_state=0).fit(series, np.arange(30) % 2)
    with pytest.raises(ParameterError, match="keeps only the prototypes"):
        forest.truncate(max_depth=2)


def test_a_model_that_is_not_fitted_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        weald.RandomForestClassifier().truncate(max_depth=2)
