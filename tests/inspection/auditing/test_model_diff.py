"""The differences of two models: parameters, trees, and the first node of each tree."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from tests.inspection.auditing.test_audit import FRAME, LABEL, NUMBER, with_arrays
from weald.errors import ParameterError
from weald.inspection.auditing.differences import hash_trees

X, Y = load_iris(return_X_y=True)


def forest(n=4, **parameters):
    return weald.RandomForestClassifier(n, **({"random_state": 0} | parameters)).fit(X, Y)


def test_equal_models_have_no_difference():
    found = weald.diff(forest(), forest(n_jobs=2, engine="reference"))
    assert found.same
    assert not found.facts
    assert not found.trees
    assert "all 4 are equal" in str(found)


def brute_force(one, other):
    """The first node in pre-order whose split, rows, weight or class weights differ, node by node."""
    a, b = one.forest_, other.forest_
    p, q = a.class_weights(), b.class_weights()
    for node in range(min(a.n_nodes, b.n_nodes)):
        mine, theirs = (
            (f.feature[node], f.threshold[node], f.flags[node], f.size[node], f.weight[node], f.decrease[node])
            for f in (a, b)
        )
        leaf = a.feature[node] < 0 and b.feature[node] < 0
        if mine != theirs or (leaf and p[node].tolist() != q[node].tolist()):
            return node
    return None


@pytest.mark.parametrize(
    "change", [{"max_depth": 3}, {"min_samples_leaf": 3}, {"max_features": 3}, {"random_state": 1}]
)
def test_the_first_node_is_that_of_a_comparison_node_by_node(change):
    one, other = forest(), forest(**change)
    found = weald.diff(one, other)
    expected = {t: brute_force(one[t], other[t]) for t in range(4)}
    assert {d.tree: d.first.node for d in found.trees} == {t: n for t, n in expected.items() if n is not None}
    name, value = next(iter(change.items()))
    assert any(fact.startswith(f"{name}=") and fact.endswith(repr(value)) for fact in found.facts)


def test_categories_and_several_targets_are_compared():
    one, other = (weald.RandomForestClassifier(5, random_state=s, max_depth=4).fit(FRAME, LABEL) for s in (0, 1))
    assert "kind" in str(weald.diff(one, other)) or len(weald.diff(one, other).trees) == 5
    Z = np.column_stack([NUMBER, NUMBER**2])
    several = [weald.RandomForestRegressor(3, random_state=s).fit(FRAME[["a"]], Z) for s in (0, 1)]
    assert weald.diff(several[0], several[0]).same
    assert len(weald.diff(*several, FRAME[["a"]], Z).trees) == 3
    changed = [several[0].forests_[0], several[0].forests_[1].with_arrays({"value": several[0].forests_[1].value + 1})]
    forged = object.__new__(type(several[0]))
    forged.__dict__ = {**vars(several[0]), "forests_": tuple(changed)}
    assert "of target 1, node 0: mean" in str(weald.diff(several[0], forged))


def test_trees_in_another_place_are_found():
    model = forest()
    found = weald.diff(model, model[::-1])
    assert found.moved == {0: 3, 1: 2, 2: 1, 3: 0}
    assert "elsewhere" in str(found)
    shorter = weald.diff(model[:2], model)
    assert not shorter.same
    assert not shorter.trees
    assert "2 trees, not 4" in str(shorter)


def test_data_tells_which_split_is_not_the_best():
    model = forest()
    threshold = model.forest_.threshold.copy()
    threshold[model.forest_.tree_start[1]] += 0.05
    found = weald.diff(model, with_arrays(model, threshold=threshold), X, Y)
    (difference,) = found.trees
    assert (difference.tree, difference.first.node, difference.first.what) == (1, 0, "split")
    honest, forged = difference.why.splitlines()
    assert "is not the best" in forged
    assert "is not the best" not in honest
    other = weald.diff(model, forest(random_state=1), X[:-1], Y[:-1])
    assert "grown from other data" in other.trees[0].why


def test_other_data_is_told_from_other_units():
    model, other = forest(), weald.RandomForestClassifier(4, random_state=0).fit(2 * X, Y)
    assert "the training data, in its values but not in its ranks" in weald.diff(model, other).facts
    assert (
        "the training data" in weald.diff(model, weald.RandomForestClassifier(4, random_state=0).fit(X, Y[::-1])).facts
    )


def test_hashes_of_trees_are_those_of_files():
    model = forest()
    assert hash_trees((model.forest_,)) == model.forest_.tree_hashes()


def test_models_that_have_nothing_in_common_are_refused():
    model = forest()
    regressor = weald.RandomForestRegressor(3).fit(*load_diabetes(return_X_y=True))
    for other, words in ((regressor, "features 4, not 10"), ("b.weald", "diff got a str")):
        with pytest.raises(ParameterError, match=words):
            weald.diff(model, other)
