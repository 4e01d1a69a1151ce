"""Law: a forest that is truncated is the forest that a fit with tighter stopping rules grows, bit for bit."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import CRITERIA, ENGINES, OF_SEVERAL_TARGETS, cases, draw_stopping_rules, grow
from tests.laws.test_multi_output import grow as grow_targets
from tests.laws.test_multi_output import other_targets, with_targets
from weald.engines.params import UNLIMITED
from weald.forest.pruning import prune_forest
from weald.forest.truncation import Limits, truncate_forest, truncate_forests

pytestmark = pytest.mark.sanitize

each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
each_criterion = pytest.mark.parametrize("criterion", CRITERIA)
EXAMPLES = settings(max_examples=8 if UNDER_SANITIZERS else 60)

DICE = st.integers(0, 2**32 - 1).map(random.Random)
FULL = Limits(UNLIMITED, 2, 0.0, 0)


def unlimited(case):
    """Grow without any of the limits that truncation can set; all other rules of the case stay."""
    return replace(case, growth=replace(case.growth, **FULL.of_growth()))


def limited(case, limits):
    return replace(case, growth=replace(case.growth, **limits.of_growth()))


@each_engine
@each_criterion
@EXAMPLES
@given(data=st.data())
def test_a_truncated_forest_is_the_one_that_a_fit_with_these_limits_grows(criterion, engine, data):
    case = unlimited(data.draw(cases(criterion)))
    full = grow(engine, case)
    for limits in (Limits(**draw_stopping_rules(data.draw(DICE), full)) for _ in range(4)):
        expected = grow(engine, limited(case, limits))
        assert truncate_forest(full, limits).fingerprint() == expected.fingerprint()


@each_engine
@each_criterion
@EXAMPLES
@given(data=st.data())
def test_a_truncated_forest_is_pruned_as_a_fit_prunes_it(criterion, engine, data):
    """Pruning comes last: strengths are those of the truncated tree."""
    case = unlimited(data.draw(cases(criterion)))
    full = grow(engine, case)
    dice = data.draw(DICE)
    limits = Limits(**draw_stopping_rules(dice, full))
    alpha = dice.choice([1e-3, 0.01, 0.05])
    coded = engine.code(case.table, case.max_bins, 1, None)
    expected = engine.grow(coded, limited(case, limits).growth, case.seed, 0, case.n_trees, 1, None, alpha)
    assert truncate_forest(full, replace(limits, ccp_alpha=alpha)).fingerprint() == expected.fingerprint()


@pytest.mark.slow
@each_engine
@pytest.mark.parametrize("criterion", OF_SEVERAL_TARGETS)
@EXAMPLES
@given(data=st.data())
def test_every_forest_of_several_targets_is_truncated_alike(criterion, engine, data):
    case = unlimited(data.draw(cases(criterion)))
    case = replace(case, growth=replace(case.growth, category_penalty=0.0))
    case = with_targets(case, other_targets(case))
    full = grow_targets(engine, case)
    limits = Limits(**draw_stopping_rules(data.draw(DICE), full[0]))
    expected = [forest.fingerprint() for forest in grow_targets(engine, limited(case, limits))]
    assert [forest.fingerprint() for forest in truncate_forests(full, limits)] == expected


@each_criterion
@EXAMPLES
@given(data=st.data())
def test_truncating_twice_is_truncating_by_the_tighter_limits(criterion, data):
    case = unlimited(data.draw(cases(criterion)))
    full = grow(ENGINES["native"], case)
    one, two = (Limits(**draw_stopping_rules(data.draw(DICE), full)) for _ in range(2))
    one = replace(one, max_leaf_nodes=0)
    both = Limits(
        min(one.max_depth, two.max_depth),
        max(one.min_samples_split, two.min_samples_split),
        max(one.min_impurity_decrease, two.min_impurity_decrease),
        two.max_leaf_nodes,
    )
    twice = truncate_forest(truncate_forest(full, one), two)
    assert twice.fingerprint() == truncate_forest(full, both).fingerprint()


def test_pruning_first_and_cutting_then_is_something_else():
    """So the order matters, and the laws above test it."""
    rng = np.random.default_rng(3)
    from weald import DecisionTreeClassifier

    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    full = DecisionTreeClassifier(random_state=0).fit(X, y).forest_
    limits = Limits(2, 2, 0.0, 0)
    alpha = 0.02
    pruned_first = truncate_forest(prune_forest(full, alpha), limits)
    assert pruned_first.fingerprint() != truncate_forest(full, replace(limits, ccp_alpha=alpha)).fingerprint()
