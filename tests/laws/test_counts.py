"""The Poisson criterion: splits are those of the deviance, and of scikit-learn; zeros are defined; bad input is not."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

import weald
from tests.laws.cases import ENGINES
from weald.errors import DataError, DataTypeError, ParameterError, WealdError
from weald.estimators import metrics

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 3))
Y = RNG.poisson(np.exp(0.6 * X[:, 0] + 0.4 * (X[:, 1] > 0))).astype(float)
EVERY = [
    weald.DecisionTreeRegressor,
    weald.ExtraTreeRegressor,
    weald.RandomForestRegressor,
    weald.ExtraTreesRegressor,
]
each_engine = pytest.mark.parametrize("engine", ENGINES)


def half_deviance(y, w):
    """Half the mean Poisson deviance of numbers from their weighted mean, by the textbook."""
    mean = np.average(y, weights=w)
    logs = np.array([v * math.log(v / mean) if v else 0.0 for v in y])
    return np.average(logs - y + mean, weights=w)


@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@each_engine
def test_each_split_lowers_half_the_mean_deviance_by_its_decrease(engine, weights):
    rng = np.random.default_rng(1)
    w = {None: np.ones(120), "whole": rng.integers(1, 4, 120).astype(float), "fractional": rng.random(120) + 0.1}[
        weights
    ]
    tree = weald.DecisionTreeRegressor(criterion="poisson", engine=engine).fit(X, Y, None if weights is None else w)
    paths, nodes, forest = tree.decision_path(X).toarray().astype(bool), tree.tree_, tree.forest_
    decrease = np.ldexp(forest.decrease, -2 * forest.target_exponent)
    assert len(nodes.feature) > 30
    for node in np.flatnonzero(nodes.feature >= 0):
        sides = [nodes.children_left[node], nodes.children_right[node]]
        terms = [half_deviance(Y[paths[:, n]], w[paths[:, n]]) * w[paths[:, n]].sum() for n in (node, *sides)]
        assert decrease[node] == pytest.approx((terms[0] - terms[1] - terms[2]) / w.sum(), abs=1e-9)
        assert min(Y[paths[:, n]].sum() for n in sides) > 0
    for node, rows in enumerate(paths.T):
        assert nodes.value[node, 0, 0] == pytest.approx(np.average(Y[rows], weights=w[rows]), rel=1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_the_first_split_is_that_of_scikit_learn(seed):
    """Sparse counts, amounts, and weights; columns have no ties. Where it has no split, neither has weald."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 200))
    x = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    rate = np.exp(rng.normal() - 0.5 + x @ rng.normal(size=3) * 0.5)
    y = rng.poisson(rate) * (1.0 if seed % 3 else rng.gamma(2.0, size=n))
    y[:2] += 1.0  # two single counts can be separated by many equal splits
    w = None if seed % 2 else rng.integers(1, 5, n).astype(float)
    # Two columns can isolate the same row; scikit-learn then draws one of them.
    seeds = [
        DecisionTreeRegressor(criterion="poisson", max_depth=1, random_state=s).fit(x, y, w).tree_ for s in range(8)
    ]
    ours = weald.DecisionTreeRegressor(criterion="poisson", max_depth=1).fit(x, y, w).tree_
    theirs = next((tree for tree in seeds if tree.feature[0] == ours.feature[0]), seeds[0])
    assert ours.feature.tolist() == theirs.feature.tolist()
    np.testing.assert_allclose(ours.threshold[:1], theirs.threshold[:1], rtol=1e-6)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-9)


@pytest.mark.parametrize("least", [0.0, 0.003, 0.02])
def test_whole_trees_are_those_of_scikit_learn(least):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 4)).astype(np.float32).astype(float)
    y = rng.gamma(2.0, np.exp(0.5 * x[:, 0]))
    given = {"criterion": "poisson", "min_samples_leaf": 9, "min_impurity_decrease": least}
    theirs, ours = (kind(**given).fit(x, y) for kind in (DecisionTreeRegressor, weald.DecisionTreeRegressor))
    assert ours.get_n_leaves() == theirs.get_n_leaves() > 1
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-9)


@each_engine
def test_the_best_set_of_categories_is_found(engine):
    """By enumeration of all sets: the order by means has the best of them (Fisher 1958)."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kind = rng.integers(0, 6, 60)
        y = rng.poisson(rng.gamma(1.0, size=6)[kind]).astype(float)
        model = weald.DecisionTreeRegressor(
            criterion="poisson", max_depth=1, categorical_features=[0], category_penalty=0.0, engine=engine
        ).fit(kind[:, None], y)
        found = []
        for size in range(1, 6):
            for left in itertools.combinations(range(6), size):
                at = np.isin(kind, left)
                if y[at].sum() > 0 and y[~at].sum() > 0:
                    sides = (half_deviance(y[s], np.ones(s.sum())) * s.sum() for s in (at, ~at))
                    found.append(half_deviance(y, np.ones(60)) - sum(sides) / 60)
        assert np.ldexp(model.forest_.decrease[0], -2 * model.forest_.target_exponent) == pytest.approx(max(found))


# --------------------------------------------------------------------------------------------------------------- zeros


@pytest.mark.parametrize("kind", EVERY)
@each_engine
def test_targets_that_are_all_zero_give_one_leaf_of_zero(engine, kind):
    model = kind(criterion="poisson", engine=engine, random_state=0).fit(X, np.zeros(120))
    assert model.predict(X).tolist() == [0.0] * 120
    assert len(model.forest_.value) == model.forest_.n_trees


@pytest.mark.parametrize("kind", EVERY)
@each_engine
def test_no_leaf_predicts_zero_where_the_bag_has_a_count(engine, kind):
    y = (np.arange(120) % 17 == 0).astype(float)
    model = kind(criterion="poisson", engine=engine, random_state=0).fit(X, y)
    assert (model.forest_.value > 0).all()


def test_the_deviance_is_defined_at_zero():
    zero, two = np.array([0.0]), np.array([2.0])
    assert metrics.poisson_deviance(zero, zero, None) == 0
    assert metrics.poisson_deviance(zero, two, None) == 4
    assert metrics.poisson_deviance(two, zero, None) == math.inf
    with pytest.raises(DataError, match="some are negative"):
        metrics.poisson_deviance(two, -two, None)


@pytest.mark.parametrize("weight", [None, RNG.random(120) + 0.5])
def test_out_of_bag_predictions_are_scored_by_deviance_and_absolute_error(weight):
    from sklearn.metrics import mean_absolute_error, mean_poisson_deviance

    forest = weald.RandomForestRegressor(60, criterion="poisson", oob_score=True, random_state=0).fit(X, Y, weight)
    out = forest.oob_
    assert out.mask.all()
    expected = mean_poisson_deviance(Y, out.predictions, sample_weight=weight)
    assert out.score("poisson_deviance") == pytest.approx(expected, rel=1e-12)
    expected = mean_absolute_error(Y, out.predictions, sample_weight=weight)
    assert out.score("absolute_error") == pytest.approx(expected, rel=1e-12)


def test_the_unit_of_targets_does_not_change_the_trees():
    """Multiplication by a power of two is exact; by other numbers, sums are rounded at another place."""
    one, other = (
        weald.RandomForestRegressor(5, criterion="poisson", random_state=0).fit(X, Y * unit).forest_
        for unit in (1.0, 2.0**-30)
    )
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_array_equal(one.value * 2.0**-30, other.value)


def test_an_outlier_takes_no_digits_of_the_counts():
    y = Y.copy()
    y[7] = 1e16
    tree = weald.DecisionTreeRegressor(criterion="poisson").fit(np.arange(120.0)[:, None], y)
    assert tree.forest_.target_center == 0
    assert tree.predict([[7.0]]) == 1e16
    predicted = np.delete(tree.predict(np.arange(120.0)[:, None]), 7)
    assert np.isin(np.round(predicted, 6), np.unique(Y[Y > 0])).mean() > 0.3  # pure leaves, to many digits


# ----------------------------------------------------------------------------------------------------------- bad input

NEGATIVE = r"Some value\(s\) of y are negative which is not allowed .* the smallest is -1\.0\. .* Give numbers from 0"
BAD = {
    "a negative count": (np.where(np.arange(120) == 3, -1.0, Y), DataError, NEGATIVE),
    "only negative": (np.full(120, -1.0), DataError, NEGATIVE),
    "whole numbers with a negative one": (np.where(np.arange(120) == 3, -1, 1), DataError, NEGATIVE),
    "text": (np.array(["many"] * 120), DataTypeError, "y holds text .*, not numbers"),
    "not a number": (np.where(np.arange(120) == 3, np.nan, Y), DataError, "Row 3 of y is nan"),
    "infinite": (np.where(np.arange(120) == 3, np.inf, Y), DataError, "Row 3 of y is inf"),
    "too short": (Y[:-1], DataError, "X has 120 rows but y has 119"),
    "none": (None, DataError, "y"),
    "sparse": (sparse.csr_array(Y[:, None]), (DataError, DataTypeError), "for y is not supported|y is sparse"),
    "complex": (Y + 1j, DataTypeError, "neither a number nor a label"),
    "two targets": (
        np.column_stack([Y, Y]),
        ParameterError,
        "criterion='poisson' does not support multi-output targets",
    ),
    "dates": (np.full(120, np.datetime64("2026-01-01")), DataTypeError, "not numbers"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("kind", [weald.DecisionTreeRegressor, weald.RandomForestRegressor])
@each_engine
def test_bad_targets_are_refused_and_the_model_stays_as_it_was(engine, kind, name):
    y, error, text = BAD[name]
    model = kind(criterion="poisson", engine=engine, random_state=0).fit(X, Y)
    before = model.forest_.fingerprint()
    with pytest.raises(error, match=text) as found:
        model.fit(X, y)
    assert isinstance(found.value, WealdError)
    assert model.forest_.fingerprint() == before


def test_classifiers_refuse_the_criterion():
    with pytest.raises(ParameterError, match=r"criterion='poisson' is not allowed. Give \"gini\""):
        weald.RandomForestClassifier(criterion="poisson").fit(X, Y > 1)


@each_engine
def test_engines_refuse_negative_targets_themselves(engine):
    from tests.laws.cases import make_growth, make_table

    table = make_table(20, ("many",), 0)
    with pytest.raises(ValueError, match="criterion 'poisson' needs targets of at least 0"):
        ENGINES[engine].grow(ENGINES[engine].code(table, 0), make_growth(table, "poisson"), 0, 0, 1)


def test_negative_rows_of_weight_0_do_not_matter():
    y, weight = Y.copy(), np.ones(120)
    y[3], weight[3] = -1.0, 0.0
    model = weald.DecisionTreeRegressor(criterion="poisson").fit(X, y, weight)
    others = np.arange(120) != 3
    alone = weald.DecisionTreeRegressor(criterion="poisson").fit(X[others], Y[others])
    assert model.forest_.fingerprint() == alone.forest_.fingerprint()
