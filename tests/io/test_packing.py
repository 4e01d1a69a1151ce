"""A tree with an empty bag is a root without classes, size and weight, and nothing else may look like it."""

import dataclasses

import numpy as np
import pytest

import weald
from tests.io.cases import table
from weald import FormatError
from weald.io import packing

ENTRIES = ("leaf_class", "leaf_weight")


def forest_with_empty_bags(**given):
    X, classes, _ = table()
    given = {"max_samples": 2, "n_estimators": 40, "class_weight": {1: 0}, "random_state": 3, **given}
    return weald.RandomForestClassifier(**given).fit(X, classes).forest_


def without_classes(forest, leaf):
    """Remove the classes of a leaf."""
    begin, end = forest.leaf_start[leaf : leaf + 2]
    start = forest.leaf_start - np.where(np.arange(len(forest.leaf_start)) > leaf, end - begin, 0)
    fields = {name: np.delete(getattr(forest, name), slice(begin, end)) for name in ENTRIES}
    return dataclasses.replace(forest, leaf_start=start, **fields)


def at_roots(forest, name, value):
    """Give the roots of empty bags another size or weight."""
    changed = getattr(forest, name).copy()
    changed[forest.tree_start[:-1][~forest.has_vote()]] = value
    return dataclasses.replace(forest, **{name: changed})


def first_leaf_of_a_large_tree(forest):
    tree = int(np.argmax(np.diff(forest.tree_start)))
    return int((forest.tree_start[tree] + tree) // 2)


WRONG = {
    "a leaf below a split has no class": lambda forest: without_classes(forest, first_leaf_of_a_large_tree(forest)),
    "an empty bag has a size": lambda forest: at_roots(forest, "size", 1),
    "an empty bag has a weight": lambda forest: at_roots(forest, "weight", 1.0),
    "an empty bag weighs less than nothing": lambda forest: at_roots(forest, "weight", -1.0),
    "a bag with a class weighs nothing": lambda forest: dataclasses.replace(
        forest, weight=np.where(np.isin(np.arange(forest.n_nodes), forest.tree_start[:-1]), 0.0, forest.weight)
    ),
}


@pytest.mark.parametrize("bound", [None, [1, 0, 0, 0]])
def test_empty_bags_are_packed_and_unpacked(bound):
    X, classes, _ = table()
    model = weald.RandomForestClassifier(
        12, max_samples=1, class_weight={False: 0}, monotonic_cst=bound, random_state=3
    ).fit(X, classes > 0)
    assert not model.forest_.has_vote().all()
    for forest in (model.forest_, model.forest_.take([int(np.argmin(model.forest_.has_vote()))])):
        assert packing.unpack(*packing.pack(forest)).fingerprint() == forest.fingerprint()


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_nothing_else_looks_like_an_empty_bag(change, monkeypatch):
    forest = forest_with_empty_bags()
    assert not forest.has_vote().all()
    assert np.diff(forest.tree_start).max() > 1
    wrong = change(forest)
    with pytest.raises(FormatError):
        packing.pack(wrong)
    monkeypatch.setattr(packing, "check_forest", lambda _: None)
    with pytest.raises(FormatError):
        packing.unpack(*packing.pack(wrong))
