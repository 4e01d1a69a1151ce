"""core/draw/tree_params.h has the fields of weald.engines.params.Growth, and takes nothing else."""

import dataclasses

import pytest

from weald import _core
from weald.engines.params import Growth
from weald.engines.reference import definition

GROWTH = Growth(
    criterion="gini",
    max_features=1,
    max_depth=3,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_fraction_leaf=0.0,
    min_impurity_decrease=0.0,
    max_leaf_nodes=0,
    bootstrap=True,
    n_draws=5,
    class_weight="none",
)


def type_name(of_field):
    return of_field.__name__ if isinstance(of_field, type) else str(of_field)


def test_the_core_has_the_fields_and_types_of_growth():
    ours = [(field.name, type_name(field.type)) for field in dataclasses.fields(Growth)]
    assert _core.growth_fields() == ours


def test_the_reference_engine_has_the_fields_of_growth():
    assert [f.name for f in dataclasses.fields(definition.Growth)] == [f.name for f in dataclasses.fields(Growth)]


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Growth)])
def test_a_missing_field_is_refused(field):
    given = {name: value for name, value in vars(GROWTH).items() if name != field}
    with pytest.raises(TypeError, match=f"Growth needs {field}: "):
        _core.Growth(**given)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="Growth has no field max_height"):
        _core.Growth(**vars(GROWTH), max_height=3)


@pytest.mark.parametrize(
    ("field", "value", "type_of_field"),
    [
        ("max_features", 2.5, "int"),
        ("max_features", -1, "int"),
        ("bootstrap", "balanced", "bool"),
        ("criterion", 7, "str"),
        ("class_weights", "ab", r"tuple\[float, \.\.\.\]"),
        ("interaction_groups", (1, 2), r"tuple\[tuple\[int, \.\.\.\], \.\.\.\]"),
    ],
)
def test_a_value_of_another_type_is_refused(field, value, type_of_field):
    with pytest.raises(TypeError, match=f"Growth needs {field}: {type_of_field}"):
        _core.Growth(**{**vars(GROWTH), field: value})


@pytest.mark.parametrize("field", ["class_weight", "strata"])
def test_an_unknown_word_is_refused(field):
    with pytest.raises(ValueError, match=f"{field} must be none, "):
        _core.Growth(**{**vars(GROWTH), field: "other"})
