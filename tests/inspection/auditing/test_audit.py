"""Audits: forests of every kind pass on their own data, and what was changed is named."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.exceptions import NotFittedError

import weald
from weald.errors import DataError, DataTypeError, ParameterError
from weald.inspection.auditing import audit as auditing

RNG = np.random.default_rng(2)
N = 120
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N).round(1),
        "b": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "kind": RNG.choice(np.array(["ash", "elm", "oak"], dtype=object), N),
    }
)
NUMBER = FRAME["a"].to_numpy() + (FRAME["kind"] == "oak").to_numpy() + RNG.normal(size=N)
LABEL = np.digitize(NUMBER, [-0.5, 0.8])
WEIGHT = RNG.integers(1, 4, N) / 2
GROUPS = np.arange(N) // 4

FORESTS = {
    "classes": (weald.RandomForestClassifier, LABEL, {}),
    "numbers": (weald.RandomForestRegressor, NUMBER, {"max_depth": 4}),
    "extra": (weald.ExtraTreesRegressor, NUMBER, {"min_samples_leaf": 3}),
    "medians": (weald.RandomForestRegressor, NUMBER, {"criterion": "absolute_error"}),
    "pruned": (weald.RandomForestRegressor, NUMBER, {"ccp_alpha": 0.01}),
    "shrunk": (weald.RandomForestRegressor, NUMBER, {"shrinkage": 5.0}),
    "one tree": (weald.DecisionTreeClassifier, LABEL, {"max_depth": 3}),
    "one random tree": (weald.ExtraTreeRegressor, NUMBER, {}),
    "balanced": (weald.RandomForestClassifier, LABEL, {"class_weight": "balanced_subsample", "bootstrap": "balanced"}),
    "boosted": (weald.RandomForestClassifier, LABEL, {"resampling": "boosting", "max_depth": 2}),
    "several targets": (weald.RandomForestRegressor, np.column_stack([NUMBER, LABEL * 1.0]), {"ccp_alpha": 0.01}),
    "several classes": (weald.RandomForestClassifier, np.column_stack([LABEL, LABEL % 2]), {}),
    "reference": (weald.RandomForestClassifier, LABEL, {"engine": "reference", "max_features": 2}),
    "converged": (weald.RandomForestClassifier, LABEL, {"n_estimators": "auto", "max_estimators": 40}),
}


def fit(name="classes", n_estimators=6, **more):
    kind, y, parameters = FORESTS[name]
    given = {"random_state": 7, "n_estimators": n_estimators} | parameters | more
    if "Tree" in kind.__name__ and "Trees" not in kind.__name__:
        del given["n_estimators"]
    model = kind(**given)
    return model, FRAME, y


def with_arrays(model, **arrays):
    """A model whose forest has other arrays, as a forged file would."""
    made = object.__new__(type(model))
    made.__dict__ = {**vars(model), "forest_": model.forest_.with_arrays(arrays)}
    return made


@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("name", FORESTS)
def test_forests_of_every_kind_pass_on_their_own_data_in_any_order(name, hashed):
    model, X, y = fit(name)
    model.fit(X, y)
    if hashed:
        model.attach_data_hash(X, y)
    order = RNG.permutation(N)
    found = weald.audit(model, X.iloc[order], y[order], trees="all")
    assert found.passed, str(found)
    n_trees = getattr(model, "n_estimators", 1)
    assert found.trees == tuple(range(found.n_trees if n_trees == "auto" else n_trees))
    assert (found.data_hash is not None) == hashed


def test_weights_groups_and_strata_are_those_of_the_fit():
    model, X, y = fit()
    model.fit(X, y, WEIGHT).attach_data_hash(X, y, WEIGHT)
    assert weald.audit(model, X, y, WEIGHT).passed
    assert [f.kind for f in weald.audit(model, X, y).findings] == ["data", "data"]
    model.fit(X, y, groups=GROUPS)
    assert weald.audit(model, X, y, groups=GROUPS).passed
    assert "groups or stratify differ" in str(weald.audit(model, X, y))


def test_slices_merges_and_warm_starts_are_audited_tree_by_tree():
    model, X, y = fit(n_estimators=8)
    model.fit(X, y)
    other = fit(random_state=9)[0].fit(X, y)
    longer = model.set_params(warm_start=True, n_estimators=11).fit(X, y)
    for one in (model[2:5], weald.merge([model, other]), longer, model[::-1]):
        assert weald.audit(one.set_params(random_state=None), X, y, trees="all").passed
    regressor = fit("numbers")[0].fit(X, NUMBER)
    merged = weald.merge([regressor, fit("numbers", random_state=3)[0].fit(X, NUMBER)])
    assert weald.audit(merged, X, NUMBER, trees="all").passed


WRONG_DATA = {
    "a row less": lambda X, y: (X.iloc[1:], y[1:]),
    "a row twice": lambda X, y: (pd.concat([X, X.iloc[:1]]), np.append(y, y[0])),
    "a changed cell": lambda X, y: (X.assign(a=np.append([9.9], X["a"][1:])), y),
    "another unit": lambda X, y: (X.assign(a=2 * X["a"]), y),
    "another label of a category": lambda X, y: (X.assign(kind=X["kind"].replace("oak", "olm")), y),
    "a column less": lambda X, y: (X[["a", "b"]], y),
    "swapped columns": lambda X, y: (X[["b", "a", "kind"]], y),
    "a changed target": lambda X, y: (X, np.append([1 - y[0] // 2], y[1:])),
    "another class": lambda X, y: (X, np.append([5], y[1:])),
    "shuffled targets": lambda X, y: (X, y[::-1]),
}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("change", WRONG_DATA)
def test_wrong_data_is_named_and_no_tree_is_grown(change, hashed):
    model, X, y = fit()
    model.fit(X, y)
    if hashed:
        model.attach_data_hash(X, y)
    found = weald.audit(model, *WRONG_DATA[change](X, y))
    assert not found.passed
    assert not found.trees
    assert {finding.kind for finding in found.findings} == {"data"}
    assert "data: not that of the fit" in str(found)


def test_data_that_only_the_cryptographic_hash_tells_apart_is_called_forged():
    model, X, y = fit()
    model.fit(X, y).attach_data_hash(X, y)
    model.data_hash_ = "0" * 64  # as if other rows had the same sums of 64 bits
    (finding,) = weald.audit(model, X, y).findings
    assert (finding.kind, finding.name) == ("data", "hash")
    assert "forged to fit" in finding.text


CHANGED = {
    "max_features": 3,
    "max_depth": 2,
    "min_samples_leaf": 4,
    "min_samples_split": 20,
    "max_leaf_nodes": 4,
    "criterion": "entropy",
    "max_samples": 60,
    "bootstrap": False,
    "class_weight": "balanced",
    "min_impurity_decrease": 0.02,
    "ccp_alpha": 0.01,
}


@pytest.mark.parametrize("parameter", CHANGED)
def test_a_parameter_that_was_changed_is_named(parameter):
    """The parameter says something else than the trees were grown with, in the estimator and in its plain numbers."""
    model, X, y = fit(n_estimators=4)
    model.fit(X, y)
    claimed = fit(n_estimators=4, **{parameter: CHANGED[parameter]})[0].fit(X, y)
    honest = vars(model)["forest_"]
    claimed.__dict__["forest_"] = dataclasses.replace(honest, origins=claimed.forest_.origins)
    found = weald.audit(claimed, X, y, trees="all")
    assert (found.findings[0].kind, found.findings[0].name) == ("parameter", parameter), str(found)


@pytest.mark.parametrize("parameter", [name for name in CHANGED if name != "ccp_alpha"])
def test_a_parameter_that_differs_from_the_plain_numbers_is_named(parameter):
    model, X, y = fit()
    model.fit(X, y).set_params(**{parameter: CHANGED[parameter]})
    found = weald.audit(model, X, y)
    assert next(finding.name for finding in found.findings if finding.kind == "parameter") == parameter
    assert f"parameter: {parameter}=" in str(found)


def test_another_seed_number_of_trees_or_shrinkage_is_named():
    model, X, y = fit()
    model.fit(X, y)
    for name, value in {"random_state": 8, "n_estimators": 7, "shrinkage": 1.0}.items():
        honest = getattr(model, name)
        found = weald.audit(model.set_params(**{name: value}), X, y)
        assert [f.name for f in found.findings] == [name], str(found)
        model.set_params(**{name: honest})


@pytest.mark.parametrize("array", ["threshold", "size", "decrease", "leaf_weight", "weight"])
def test_the_tree_and_the_node_of_any_changed_number_are_named(array):
    model, X, y = fit()
    forest = model.fit(X, y).forest_
    values = getattr(forest, array).copy()
    tree = 3
    if array == "leaf_weight":
        leaf = int((forest.feature[: forest.tree_start[tree]] < 0).sum())
        place = int(forest.leaf_start[leaf])
        node = int(np.flatnonzero(forest.feature[forest.tree_start[tree] :] < 0)[0])
    else:
        numeric = (forest.feature >= 0) & (forest.flags & 2 == 0)
        place = int(forest.tree_start[tree] + np.flatnonzero(numeric[forest.tree_start[tree] :])[1])
        node = place - int(forest.tree_start[tree])
    values[place] += 1
    found = weald.audit(with_arrays(model, **{array: values}), X, y, trees="all")
    (finding,) = found.findings
    assert (finding.kind, finding.name, finding.node) == ("tree", str(tree), node), str(found)


def test_a_tree_that_is_there_twice_is_named():
    model, X, y = fit()
    forest = model.fit(X, y).forest_
    model.__dict__["forest_"] = forest.take([0, 1, 2, 3, 4, 4])
    (finding,) = weald.audit(model.set_params(random_state=None), X, y, trees="all").findings
    assert (finding.kind, finding.name) == ("tree", "5")


def test_a_share_of_altered_trees_goes_unnoticed_as_often_as_stated():
    model, X, y = fit(n_estimators=10)
    forest = model.fit(X, y).forest_
    threshold = forest.threshold.copy()
    threshold[forest.tree_start[:2]] += 1  # 2 of 10 trees
    forged = with_arrays(model, threshold=threshold)
    chance = weald.audit(forged, X, y, trees=3, random_state=0).chance_unnoticed(0.2)
    assert chance == pytest.approx(0.8**3)
    passed = np.mean([weald.audit(forged, X, y, trees=3, random_state=seed).passed for seed in range(60)])
    # Without replacement it is a little less: (8 · 7 · 6) / (10 · 9 · 8) = 0.467; three standard errors are 0.19
    assert abs(passed - 0.467) < 0.2
    assert weald.audit(model, X, y, trees="all").chance_unnoticed(0.2) == 0


def test_the_trees_are_drawn_anew_each_time():
    model, X, y = fit(n_estimators=40)
    model.fit(X, y)
    drawn = {weald.audit(model, X, y, trees=2).trees for _ in range(8)}
    assert len(drawn) > 1
    assert len({weald.audit(model, X, y, trees=2, random_state=1).trees for _ in range(2)}) == 1
    assert auditing._choose_trees(5, 9, None) == [0, 1, 2, 3, 4]


def wrong_calls():
    model, X, y = fit()
    model.fit(X, y)
    kernel = weald.KernelForestClassifier(3, random_state=0).fit(X[["a"]], y)
    boosted = fit("boosted")[0].fit(X, y)
    mixed = fit(max_depth=2)[0].fit(X, y).set_params(warm_start=True, max_depth=3, n_estimators=8).fit(X, y)
    foreign = weald.from_sklearn(ensemble.RandomForestClassifier(3).fit(X[["a"]], y))
    return {
        "no model": (lambda: weald.audit("m.weald", X, y), ParameterError, "audit got a str"),
        "a class": (lambda: weald.audit(weald.RandomForestClassifier, X, y), ParameterError, "audit got a"),
        "not fitted": (lambda: weald.audit(weald.RandomForestClassifier(), X, y), NotFittedError, "not fitted"),
        "no trees": (lambda: weald.audit(model, X, y, trees=0), ParameterError, "trees=0 is not allowed"),
        "a share": (lambda: weald.audit(model, X, y, trees=0.5), ParameterError, 'from 1 or "all"'),
        "a word": (lambda: weald.audit(model, X, y, trees="some"), ParameterError, "trees='some' is not allowed"),
        "a wrong seed": (lambda: weald.audit(model, X, y, random_state=-1), ParameterError, "random_state=-1"),
        "no target": (lambda: weald.audit(model, X), DataError, "y"),
        "rows that differ": (lambda: weald.audit(model, X, y[1:]), DataError, "X has 120 rows but y has 119"),
        "text": (lambda: weald.audit(model, "t.csv", y), (DataError, DataTypeError), "X|array"),
        "a kernel forest": (lambda: weald.audit(kernel, X[["a"]], y), ParameterError, "kernel forest"),
        "some boosted trees": (lambda: weald.audit(boosted, X, y, trees=2), ParameterError, 'trees="all"'),
        "foreign trees": (lambda: weald.audit(foreign, X[["a"]], y), ParameterError, "not grown by weald"),
        "mixed depths": (lambda: weald.audit(mixed, X, y), ParameterError, "not those of a fit"),
        "a wrong share": (lambda: weald.audit(model, X, y).chance_unnoticed(2), ParameterError, "fraction=2"),
    }


@pytest.mark.parametrize("name", list(wrong_calls()))
def test_bad_input_has_an_error_that_says_what_to_do(name):
    call, kind, words = wrong_calls()[name]
    with pytest.raises(kind, match=words):
        call()
