"""Changes that must not change a forest: order of rows, copies for weights, scale of a column, layout of X."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weald
from tests.laws.cases import (
    CRITERIA,
    ENGINES,
    Case,
    cases,
    change,
    drop_twins,
    fingerprint,
    grow,
    is_of_classes,
    make_growth,
    make_table,
    take_rows,
)
from weald.engines.reference import definition
from weald.forest.forest import Origin

pytestmark = pytest.mark.sanitize

# Every law holds for every criterion and every engine.
each = pytest.mark.parametrize("criterion", CRITERIA)
both = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
some_data = given(data=st.data())


@pytest.fixture(params=[(c, e) for c in CRITERIA for e in ENGINES], ids="-".join)
def make_forest(request):
    """Make a random forest of one criterion and engine."""
    criterion, engine = request.param
    of_classes = is_of_classes(criterion)
    model = weald.RandomForestClassifier if of_classes else weald.RandomForestRegressor

    def make(n_trees=3, **given):
        return model(n_trees, criterion=criterion, engine=engine, **{"random_state": 7, **given})

    make.of_classes, make.criterion = of_classes, criterion
    return make


def small_table(make_forest, n_rows=50):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(n_rows, 4)), 1)
    x[rng.random(x.shape) < 0.1] = np.nan
    signal = np.nansum(x, axis=1) + rng.normal(size=n_rows)
    signal = np.abs(signal) if make_forest.criterion in definition.OF_COUNTS else signal
    return x, np.digitize(signal, [-1, 1]) if make_forest.of_classes else signal


def draw_bags(engine, case):
    coded = engine.code(case.table, case.max_bins, 1, None)
    return engine.bags(
        coded, case.growth, [Origin(case.seed, 0, case.n_trees, coded.fingerprint, case.growth.bags())], 1
    )


# -------------------------------------------------------------------------------------------------------------- rows


@both
@each
@some_data
def test_the_order_of_rows_does_not_matter(criterion, engine, data):
    case = data.draw(cases(criterion))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(case.table.n_rows)
    shuffled = case.on(take_rows(case.table, order))
    one, other = (engine.code(table, case.max_bins, 1, None) for table in (shuffled.table, case.table))
    assert (one.fingerprint, one.values) == (other.fingerprint, other.values)
    assert fingerprint(engine, shuffled) == fingerprint(engine, case)


@both
@each
@some_data
def test_the_order_of_distinct_rows_does_not_change_who_is_in_the_bag(criterion, engine, data):
    case = data.draw(cases(criterion, max_bins=0))
    case = case.on(drop_twins(case.table))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(case.table.n_rows)
    shuffled = case.on(take_rows(case.table, order))
    bags = [draw_bags(engine, c) for c in (case, shuffled)]
    assert np.array_equal(bags[0][:, order], bags[1])


@both
@each
@some_data
def test_a_weight_of_k_is_the_row_k_times(criterion, engine, data):
    case = data.draw(cases(criterion, weights=["whole"], max_rows=40))
    table = case.table
    copies = np.repeat(np.arange(table.n_rows), table.weight.astype(int))
    repeated = change(table, X=table.X[copies], target=table.target[copies], weight=None)
    assert repeated.size == table.size
    assert fingerprint(engine, case.on(repeated)) == fingerprint(engine, case)


@both
@each
@some_data
def test_a_row_of_weight_k_counts_in_a_bag_as_its_copies_do(criterion, engine, data):
    case = data.draw(cases(criterion, weights=["whole"], max_rows=40, max_bins=0))
    table = drop_twins(case.table)
    row_of_copy = np.repeat(np.arange(table.n_rows), table.weight.astype(int))
    repeated = case.on(change(table, X=table.X[row_of_copy], target=table.target[row_of_copy], weight=None))
    one, other = (draw_bags(engine, c) for c in (case.on(table), repeated))
    of_rows = np.array([np.bincount(row_of_copy, weights=bag, minlength=table.n_rows) for bag in other])
    assert np.array_equal(one, of_rows)


@both
@each
@some_data
def test_fractional_weights_have_no_unit(criterion, engine, data):
    case = data.draw(cases(criterion, weights=["fractional", "wide"]))
    factor = 2.0 ** data.draw(st.integers(-300, 300))
    scaled = case.on(change(case.table, weight=case.table.weight * factor))
    assert fingerprint(engine, scaled) == fingerprint(engine, case)


def test_rows_of_zero_weight_are_as_if_absent(make_forest):
    x, y = small_table(make_forest)
    for weight in (np.arange(50) % 3, np.arange(50) % 3 * 0.3, np.arange(50) % 4 > 0):
        kept = weight > 0
        some = make_forest().fit(x, y, sample_weight=weight)
        fewer = make_forest().fit(x[kept], y[kept], sample_weight=weight[kept])
        assert some.forest_.fingerprint() == fewer.forest_.fingerprint()
        assert some.forest_.origins == fewer.forest_.origins


def test_weights_of_one_are_no_weights(make_forest):
    x, y = small_table(make_forest)
    plain = make_forest().fit(x, y).forest_.fingerprint()
    assert make_forest().fit(x, y, sample_weight=np.ones(50)).forest_.fingerprint() == plain


# ----------------------------------------------------------------------------------------------------------- columns


def stretch(column, rng):
    """Map a column's values by a strictly increasing function."""
    present = ~np.isnan(column)
    values, codes = np.unique(column[present], return_inverse=True)
    images = np.sort(rng.choice(10**6, len(values), replace=False)) * np.exp2(rng.integers(-40, 40)) - 1.0
    stretched = np.full(len(column), np.nan)
    stretched[present] = images[codes]
    return stretched


@both
@each
@some_data
def test_a_strictly_increasing_map_of_a_column_leaves_the_shape(criterion, engine, data):
    case = data.draw(cases(criterion, max_bins=data.draw(st.sampled_from([0, 65_535]))))
    case = replace(case, growth=replace(case.growth, random_cuts=False))  # random cuts are drawn by value
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    mapped = case.table.X.copy()
    for f in set(range(case.table.n_features)) - case.table.categorical:
        mapped[:, f] = stretch(mapped[:, f], rng)
    one, other = grow(engine, case), grow(engine, case.on(replace(case.table, X=mapped)))
    (before,), (after,) = one.origins, other.origins
    assert replace(before, values=after.values) == after  # the same ranks
    assert (before.values == after.values) == np.array_equal(mapped, case.table.X, equal_nan=True)
    for name, array in one.arrays().items():
        if name != "threshold":
            assert np.array_equal(array, getattr(other, name)), name


# ------------------------------------------------------------------------------------------------------------ layout


def move_by_a_byte(x):
    moved = np.empty(x.nbytes + 1, dtype=np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[:] = x
    return moved


LAYOUTS = {
    "column by column": np.asfortranarray,
    "upside down": lambda x: x[::-1].copy()[::-1],
    "columns backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "every third row and second column": lambda x: np.repeat(np.repeat(x, 3, axis=0), 2, axis=1)[::3, ::2],
    "a field of records": lambda x: np.stack([x, x + 1], axis=2)[:, :, 0],
    "not aligned": move_by_a_byte,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@both
@each
@some_data
def test_the_layout_of_X_does_not_matter(criterion, engine, layout, data):
    case = data.draw(cases(criterion))
    table = replace(case.table, X=np.ascontiguousarray(case.table.X))
    other = replace(table, X=LAYOUTS[layout](table.X))
    forest = grow(engine, case.on(table))
    assert grow(engine, case.on(other)).fingerprint() == forest.fingerprint()
    assert np.array_equal(engine.leaves(forest, other.X, 1, None), engine.leaves(forest, table.X, 1, None))


@both
@each
@some_data
def test_single_and_double_precision_of_the_same_values_give_the_same_forest(criterion, engine, data):
    case = data.draw(cases(criterion))
    with np.errstate(over="ignore"):
        single = case.table.X.astype(np.float32)
    double = single.astype(np.float64)
    one, other = (grow(engine, case.on(replace(case.table, X=x))) for x in (single, double))
    assert one.fingerprint() == other.fingerprint()
    assert np.array_equal(engine.leaves(one, single, 1, None), engine.leaves(one, double, 1, None))


@both
@each
def test_a_table_that_repeats_one_number_in_memory_is_a_table(criterion, engine):
    """Strides of zero."""
    x = np.broadcast_to(np.array([[1.0], [2.0], [3.0], [4.0]]), (4, 3))
    model = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    y = [1, 1, 2, 2]
    trees = [model(criterion=criterion, engine=engine.name).fit(array, y) for array in (x, x.copy())]
    assert trees[0].forest_.fingerprint() == trees[1].forest_.fingerprint()
    assert np.array_equal(trees[0].predict(x), y)


# ------------------------------------------------------------------------------------------------------------- trees


@both
@each
@some_data
def test_a_tree_depends_on_its_number_alone(criterion, engine, data):
    case = replace(data.draw(cases(criterion, max_rows=30)), n_trees=6)
    coded = engine.code(case.table, case.max_bins, 1, None)
    whole = engine.grow(coded, case.growth, case.seed, 0, 6, 1, None)
    parts = [engine.grow(coded, case.growth, case.seed, first, n, 1, None) for first, n in ((0, 2), (2, 1), (3, 3))]
    joined = parts[0].join(parts[1]).join(parts[2])
    assert joined.fingerprint() == whole.fingerprint()
    assert joined.origins == whole.origins
    for part, trees in zip(parts, ([0, 1], [2], [3, 4, 5]), strict=True):
        assert whole.take(trees).fingerprint() == part.fingerprint()
        assert whole.take(trees).origins == part.origins


@both
@each
@some_data
def test_a_pickled_forest_is_the_same(criterion, engine, data):
    case = data.draw(cases(criterion))
    forest = grow(engine, case)
    engine.leaves(forest, case.table.X, 1, None)  # caches of engines are not part of the forest
    twin = pickle.loads(pickle.dumps(forest))
    assert twin.fingerprint() == forest.fingerprint()
    assert twin.origins == forest.origins
    assert np.array_equal(
        engine.sum_votes(twin, case.table.X, "soft", 1, None), engine.sum_votes(forest, case.table.X, "soft", 1, None)
    )


def test_growing_on_is_growing_at_once(make_forest):
    x, y = small_table(make_forest)
    whole = make_forest(10).fit(x, y)
    parts = make_forest(5, warm_start=True).fit(x, y).set_params(n_estimators=10).fit(x, y)
    assert parts.forest_.fingerprint() == whole.forest_.fingerprint()
    assert parts.forest_.take(range(5)).join(parts.forest_.take(range(5, 10))).fingerprint() == (
        whole.forest_.fingerprint()
    )


@both
@each
@some_data
def test_permuting_the_target_keeps_the_bags(criterion, engine, data):
    case = data.draw(cases(criterion, max_bins=0))
    table = drop_twins(case.table)
    other = replace(table, target=np.roll(table.target, 1))
    bags = [draw_bags(engine, case.on(t)) for t in (table, other)]
    assert np.array_equal(*bags)


@both
@each
def test_another_seed_gives_other_bags(criterion, engine):
    table = make_table(50, ("many", "few"), 3 if is_of_classes(criterion) else 0)
    growth = make_growth(table, criterion)
    bags = {draw_bags(engine, Case(table, growth, seed=seed)).tobytes() for seed in (0, 1, 2**32, 2**64 - 1)}
    assert len(bags) == 4
