"""A forest is immutable: it has its arrays and nothing else, and they are read-only."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import weald
from weald.forest.forest import Forest

FIELDS = [field.name for field in dataclasses.fields(Forest)]


def fitted(kind=weald.RandomForestClassifier, **given):
    dice = np.random.default_rng(0)
    X = dice.normal(size=(200, 4))
    y = dice.integers(0, 3, 200) if "Classifier" in kind.__name__ else X[:, 0]
    return kind(random_state=0, **given).fit(X, y), X, y


def use_in_many_ways(model, X, y):
    """Use every module that caches data derived from a forest."""
    model.predict(X[:1])
    model.predict(X)
    model.apply(X)
    model.compile()
    assert model.oob_score_ is not None
    weald.importance(model, X, y)
    return model.forest_


@pytest.fixture(scope="module")
def used():
    return use_in_many_ways(*fitted(n_estimators=40, oob_score=True))


def test_a_forest_that_was_used_has_its_fields_alone(used):
    assert not hasattr(used, "__dict__")
    slots = {name for kind in type(used).__mro__ for name in getattr(kind, "__slots__", ())}
    assert slots == {*FIELDS, "__weakref__"}


@pytest.mark.parametrize("name", ["feature", "n_classes", "task", "anything"])
def test_no_attribute_can_be_set(used, name):
    with pytest.raises((AttributeError, TypeError)):  # TypeError for unknown field names before Python 3.12
        setattr(used, name, 1)
    with pytest.raises((AttributeError, TypeError)):
        delattr(used, name)


def test_no_use_of_a_forest_writes_to_it():
    model, X, y = fitted(n_estimators=40, oob_score=True)
    before, print_before = {name: getattr(model.forest_, name) for name in FIELDS}, model.forest_.fingerprint()
    used = use_in_many_ways(model, X, y)
    assert all(getattr(used, name) is value for name, value in before.items())
    assert used.fingerprint() == print_before


def forests(tmp_path):
    """Forests by their origin."""
    model, _, _ = fitted(n_estimators=3)
    reference, _, _ = fitted(n_estimators=2, max_depth=2, engine="reference")
    means, _, _ = fitted(weald.RandomForestRegressor, n_estimators=3)
    model.save(tmp_path / "m.weald", mappable=True)
    yield from {
        "native": model.forest_,
        "reference": reference.forest_,
        "regression": means.forest_,
        "taken": model.forest_.take([1, 0]),
        "joined": model.forest_.join(model.forest_),
        "pruned": weald.DecisionTreeClassifier(ccp_alpha=0.01).fit([[1.0], [2.0]], [0, 1]).forest_,
        "compact": model.compact().forest_,
        "pickled": pickle.loads(pickle.dumps(model.forest_)),
        "loaded": weald.load(tmp_path / "m.weald").forest_,
        "mapped": weald.load(tmp_path / "m.weald", mmap=True).forest_,
    }.items()


def test_no_array_can_be_written_to_wherever_it_comes_from(tmp_path):
    for where, forest in forests(tmp_path):
        assert not hasattr(forest, "__dict__"), where
        assert len(forest.arrays()) == 17, where
        for name, array in forest.arrays().items():
            base = array
            while isinstance(base, np.ndarray):
                assert not base.flags.writeable, f"{where}: {name}"
                base = base.base
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                array.flags.writeable = True


def test_a_view_is_locked_with_the_array_that_it_shows():
    forest = fitted(n_estimators=2)[0].forest_
    longer = np.append(forest.weight, 0.0)
    changed = dataclasses.replace(forest, weight=longer[:-1])
    with pytest.raises(ValueError, match="read-only"):
        longer[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        changed.weight[0] = 1


def test_a_copy_is_the_forest_itself(used):
    assert copy.copy(used) is copy.deepcopy(used) is used
