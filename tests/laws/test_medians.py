"""The criterion of absolute errors: leaves are medians, splits are those of scikit-learn, bad input is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import mean_absolute_error
from sklearn.tree import DecisionTreeRegressor

import weald
from tests.laws.cases import (
    CORES,
    ENGINES,
    REFERENCE,
    Case,
    assert_same,
    hold_against_definition,
    make_growth,
    make_table,
    outcome,
)
from weald.data import task
from weald.data.table import Table
from weald.engines.reference import definition
from weald.errors import DataError, DataTypeError, ParameterError, WealdError

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + (X[:, 1] > 0) + RNG.standard_t(2, size=120)
EVERY = [
    weald.DecisionTreeRegressor,
    weald.ExtraTreeRegressor,
    weald.RandomForestRegressor,
    weald.ExtraTreesRegressor,
]
each_engine = pytest.mark.parametrize("engine", ENGINES)
WEIGHTS = {"none": np.ones(120), "whole": RNG.integers(1, 4, 120).astype(float), "fractions": RNG.random(120) + 0.1}


def median_of(y, w):
    """The weighted median: the mean of both medians if half of the weight lies on each side."""
    order = np.argsort(y)
    ends, half = np.cumsum(w[order]), w.sum() / 2
    low = y[order][np.searchsorted(ends, half * (1 - 1e-12))]
    high = y[order][np.searchsorted(ends, half * (1 + 1e-12))]
    return low / 2 + high / 2


def mean_deviation(y, w):
    return np.average(np.abs(y - median_of(y, w)), weights=w)


@pytest.mark.parametrize("weights", WEIGHTS)
@each_engine
def test_nodes_hold_the_median_and_the_mean_deviation_from_it(engine, weights):
    w = WEIGHTS[weights]
    tree = weald.DecisionTreeRegressor(criterion="absolute_error", engine=engine, min_samples_leaf=2)
    tree.fit(X, Y, None if weights == "none" else w)
    assert tree.get_n_leaves() > 20
    for node, rows in enumerate(tree.decision_path(X).toarray().astype(bool).T):
        assert tree.tree_.value[node, 0, 0] == pytest.approx(median_of(Y[rows], w[rows]), abs=1e-8)
        assert tree.tree_.impurity[node] == pytest.approx(mean_deviation(Y[rows], w[rows]), abs=1e-8)
    assert tree.training_error() == pytest.approx(mean_absolute_error(Y, tree.predict(X), sample_weight=w), rel=1e-8)


@pytest.mark.parametrize(
    ("y", "weight", "median"),
    [
        ([1.0, 2.0, 3.0, 10.0], None, 2.5),  # half of the rows on each side: the mean of both, as in scikit-learn
        ([1.0, 2.0, 3.0], None, 2.0),
        ([1.0, 2.0, 3.0], [1, 1, 2], 2.5),
        ([1.0, 2.0, 3.0], [1, 1, 3], 3.0),
        ([1.0, 1.0, 5.0, 5.0], None, 3.0),
        ([1.0, 5.0], [0.25, 0.75], 5.0),
        ([7.0, 7.0, 7.0], [0.1, 0.2, 0.3], 7.0),
    ],
)
@each_engine
def test_the_median_of_a_leaf(engine, y, weight, median):
    one_leaf = {"criterion": "absolute_error", "max_leaf_nodes": 2, "min_samples_leaf": len(y)}
    x = np.zeros((len(y), 1))
    ours = weald.DecisionTreeRegressor(**one_leaf, engine=engine).fit(x, y, weight)
    theirs = DecisionTreeRegressor(**one_leaf).fit(x, y, weight)
    assert ours.predict([[0.0]])[0] == theirs.predict([[0.0]])[0] == median


@pytest.mark.parametrize("seed", range(100))
def test_the_first_split_is_that_of_scikit_learn(seed):
    """Rows without weights have ties: a pair of rows, one above and one below both medians, may be on either side."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 150))
    x = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    y = x @ rng.normal(size=3) + rng.standard_t(2, size=n)
    w = [None, rng.integers(1, 5, n).astype(float), rng.random(n) + 0.1, rng.random(n) + 0.1][seed % 4]
    theirs = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(x, y, w).tree_
    ours = weald.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(x, y, w).tree_
    if seed % 4 < 2:
        left = [(t.impurity * t.weighted_n_node_samples)[1:].sum() for t in (ours, theirs)]
        assert left[0] == pytest.approx(left[1], rel=1e-9)
        return
    assert ours.feature.tolist() == theirs.feature.tolist()
    np.testing.assert_allclose(ours.threshold[:1], theirs.threshold[:1], rtol=1e-6)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-8)
    np.testing.assert_allclose(ours.impurity, theirs.impurity, atol=1e-8)


@pytest.mark.parametrize("least", [0.0, 0.01])
def test_whole_trees_are_those_of_scikit_learn(least):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 4)).astype(np.float32).astype(float)
    y, w = x[:, 0] + rng.standard_t(3, size=300), rng.random(300) + 0.5
    given = {"criterion": "absolute_error", "min_samples_leaf": 9, "min_impurity_decrease": least}
    theirs, ours = (kind(**given).fit(x, y, w) for kind in (DecisionTreeRegressor, weald.DecisionTreeRegressor))
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 3
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), atol=1e-8)


@pytest.mark.sanitize
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("whole", [True, False])
def test_weights_that_move_the_median_far_take_the_other_way_of_counting(whole, missing):
    """Heavy rows of low and high targets alternate, so the median moves past the light rows each time."""
    n = 400
    rng = np.random.default_rng(3)
    place = np.arange(n)
    heavy = place % 2 == 0
    y = np.where(heavy, np.where(place % 4 == 0, -1.0, 1.0) * (2 + rng.random(n)), rng.random(n))
    weight = np.where(heavy, 1e6, 1.0) * (1.0 if whole else 0.7)
    x = np.column_stack([np.where(heavy, place, place + n), rng.normal(size=n)]).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    table = Table(x, y, 0, weight, whole, int(weight.sum()) if whole else n)
    growth = make_growth(table, "absolute_error", max_features=2, max_depth=3, bootstrap=False)
    case = Case(table, growth, n_trees=1)
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)


@pytest.mark.sanitize
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional", "wide"])
def test_engines_agree_about_many_rows(weights, missing):
    table = make_table(250, ("many", "rounded", "few", "kinds"), 0, weights=weights, missing=missing, seed=6)
    growth = make_growth(table, "absolute_error", max_features=3, max_depth=3, bootstrap=weights == "whole")
    hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_cut_of_many_rows_is_found(weighted):
    rng = np.random.default_rng(8)
    x, n = rng.permutation(3000).astype(float), 3000
    y, w = np.sin(x / 900) + rng.standard_t(2, size=n), rng.random(n) + 0.5 if weighted else np.ones(n)
    tree = weald.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(x[:, None], y, w)
    order = np.argsort(x)
    y, w = y[order], w[order]
    gains = [
        mean_deviation(y, w)
        - sum(mean_deviation(y[s], w[s]) * w[s].sum() for s in (slice(0, i), slice(i, n))) / w.sum()
        for i in range(1, n, 1 if not weighted else 3)
    ]
    decrease = np.ldexp(tree.forest_.decrease[0], -2 * tree.forest_.target_exponent)
    assert max(gains) <= decrease + 1e-12
    if not weighted:
        assert decrease == pytest.approx(max(gains), rel=1e-9)


@each_engine
def test_the_best_cut_of_the_order_by_means_is_found(engine):
    """Categories are ordered by their means: of the cuts of this order, the best."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        kind = rng.integers(0, 6, 60)
        y = rng.normal(size=6)[kind] + rng.standard_t(2, size=60)
        model = weald.DecisionTreeRegressor(
            criterion="absolute_error", max_depth=1, categorical_features=[0], category_penalty=0.0, engine=engine
        ).fit(kind[:, None], y)
        order = sorted(range(6), key=lambda k: y[kind == k].mean())
        one = np.ones(60)
        gains = []
        for n_left in range(1, 6):
            at = np.isin(kind, order[:n_left])
            sides = sum(mean_deviation(y[s], one[s]) * s.sum() for s in (at, ~at))
            gains.append(mean_deviation(y, one) - sides / 60)
        decrease = np.ldexp(model.forest_.decrease[0], -2 * model.forest_.target_exponent)
        assert decrease == pytest.approx(max(gains), abs=1e-9)


@pytest.mark.parametrize("weight", [None, RNG.random(120) + 0.5])
def test_out_of_bag_predictions_are_scored_by_their_absolute_error(weight):
    forest = weald.RandomForestRegressor(60, criterion="absolute_error", oob_score=True, random_state=0)
    out = forest.fit(X, Y, weight).oob_
    assert out.mask.all()
    expected = mean_absolute_error(Y, out.predictions, sample_weight=weight)
    assert out.score("absolute_error") == pytest.approx(expected, rel=1e-12)


def test_medians_resist_outliers():
    y = X[:, 0].copy()
    y[::10] += 1000.0
    given = {"min_samples_leaf": 15, "random_state": 0}
    mean, median = (
        weald.RandomForestRegressor(30, criterion=c, **given).fit(X, y) for c in ("squared_error", "absolute_error")
    )
    plain = np.arange(120) % 10 != 0
    errors = [np.abs(model.predict(X) - X[:, 0])[plain].mean() for model in (mean, median)]
    assert errors[1] < errors[0] / 10


def test_both_lists_of_criteria_agree():
    assert (task.OF_COUNTS, task.OF_MEDIANS) == (definition.OF_COUNTS, definition.OF_MEDIANS)


# ----------------------------------------------------------------------------------------------------------- bad input

BAD = {
    "text": (np.array(["many"] * 120), DataTypeError, "y holds text .*, not numbers"),
    "not a number": (np.where(np.arange(120) == 3, np.nan, Y), DataError, "Row 3 of y is nan"),
    "infinite": (np.where(np.arange(120) == 3, np.inf, Y), DataError, "Row 3 of y is inf"),
    "too short": (Y[:-1], DataError, "X has 120 rows but y has 119"),
    "none": (None, DataError, "y"),
    "sparse": (sparse.csr_array(Y[:, None]), (DataError, DataTypeError), "for y is not supported|y is sparse"),
    "complex": (Y + 1j, DataTypeError, "neither a number nor a label"),
    "dates": (np.full(120, np.datetime64("2026-01-01")), DataTypeError, "not numbers"),
    "three dimensions": (np.zeros((120, 2, 2)), DataError, "y"),
    "two targets": (np.column_stack([Y, Y]), ParameterError, "criterion='absolute_error' does not support multi"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("kind", EVERY)
def test_bad_targets_are_refused_and_the_model_stays_as_it_was(kind, name):
    y, error, text = BAD[name]
    model = kind(criterion="absolute_error", random_state=0).fit(X, Y)
    before = model.forest_.fingerprint()
    with pytest.raises(error, match=text) as found:
        model.fit(X, y)
    assert isinstance(found.value, WealdError)
    assert model.forest_.fingerprint() == before


def test_what_medians_do_not_support_is_refused():
    with pytest.raises(ParameterError, match="monotonic_cst cannot be used with criterion='absolute_error'"):
        weald.RandomForestRegressor(criterion="absolute_error", monotonic_cst=[1, 0, 0]).fit(X, Y)
    with pytest.raises(ParameterError, match="cannot be compacted"):
        weald.DecisionTreeRegressor(criterion="absolute_error").fit(X, Y).compact()
    with pytest.raises(ParameterError, match=r"criterion='absolute_error' is not allowed. Give \"gini\""):
        weald.RandomForestClassifier(criterion="absolute_error").fit(X, Y > 1)
