"""Predicted distributions: quantiles, cumulative probabilities, standard deviations."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import weald
from weald import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from weald.engines import leaf_targets
from weald.errors import DataError, ParameterError

RNG = np.random.default_rng(5)
N = 300
NUMBERS = RNG.normal(size=(N, 4))
TARGET = NUMBERS[:, 0] + 0.5 * RNG.normal(size=N)
LEVELS = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]


def with_holes():
    X = NUMBERS.copy()
    X[RNG.random(X.shape) < 0.1] = np.nan
    return X


FRAME = pd.DataFrame(with_holes(), columns=list("abcd")).assign(color=RNG.choice(["red", "green", "blue"], N))
WEIGHTS = RNG.integers(0, 4, N)

CASES = {
    "forest": (RandomForestRegressor(15, random_state=1), NUMBERS, TARGET, {}),
    "large leaves": (RandomForestRegressor(15, min_samples_leaf=20, random_state=1), NUMBERS, TARGET, {}),
    "ties": (RandomForestRegressor(15, random_state=1), NUMBERS, np.round(TARGET), {}),
    "missing and categories": (RandomForestRegressor(15, min_samples_leaf=5, random_state=1), FRAME, TARGET, {}),
    "weights": (RandomForestRegressor(15, random_state=1), NUMBERS, TARGET, {"sample_weight": WEIGHTS}),
    "groups": (RandomForestRegressor(15, random_state=1), NUMBERS, TARGET, {"groups": np.arange(N) // 3}),
    "extra trees": (ExtraTreesRegressor(15, min_samples_leaf=4, random_state=1), NUMBERS, TARGET, {}),
    "weighted extra trees": (
        *(ExtraTreesRegressor(15, min_samples_leaf=4, random_state=1), NUMBERS, TARGET),
        {"sample_weight": RNG.random(N)},
    ),
    "pruned": (RandomForestRegressor(15, ccp_alpha=0.01, random_state=1), NUMBERS, TARGET, {}),
    "tree": (DecisionTreeRegressor(min_samples_leaf=10), NUMBERS, TARGET, {}),
}


def fit(case, **given):
    model, X, y, others = CASES[case]
    return copy.copy(model).set_params(keep_targets=True, **given).fit(X, y, **others), X, y, others


def weights_of(model, X, y, others):
    """Weights of the training rows from leaves and bags, without the code under test."""
    leaves = model.apply(X).reshape(N, -1)
    weight = np.asarray(others.get("sample_weight", np.ones(N)), dtype=float)
    if isinstance(model, DecisionTreeRegressor):
        bags = weight[None]
    elif model.bootstrap:
        bags = np.array(list(model.bags(X, y, **others)), dtype=float)
    else:
        bags = np.tile(weight, (model.n_estimators, 1))
    found = np.zeros((N, N))
    for of_rows, bag in zip(leaves.T, bags, strict=True):
        same = of_rows[:, None] == of_rows[None, :]
        found += same * bag / (same * bag).sum(axis=1, keepdims=True)
    return found / len(bags)


@pytest.mark.parametrize("case", CASES)
def test_distributions_are_those_of_the_weights(case):
    model, X, y, others = fit(case)
    W = weights_of(model, X, y, others)
    np.testing.assert_allclose(W @ y, model.predict(X), rtol=1e-9, atol=1e-10)
    order = np.argsort(y, kind="stable")
    cumulated = np.cumsum(W[:, order], axis=1)

    found = model.predict_quantiles(X, LEVELS)
    assert found.shape == (N, len(LEVELS))
    for level, column in zip(LEVELS, found.T, strict=True):
        # Rounding may put the sum on either side of the level; any value between the two is correct.
        low = y[order][np.argmax(cumulated >= level * cumulated[:, -1:] - 1e-12, axis=1)]
        high = y[order][np.argmax(cumulated >= np.minimum(level + 1e-12, 1 - 1e-12) * cumulated[:, -1:], axis=1)]
        if 0 < level < 1:
            assert ((low <= column) & (column <= high)).all()
            assert (low == high).any()
    weighs = W[:, order] > 0
    np.testing.assert_array_equal(found[:, 0], y[order][weighs.argmax(axis=1)])
    np.testing.assert_array_equal(found[:, -1], y[order][::-1][weighs[:, ::-1].argmax(axis=1)])

    limits = [-10.0, -1.0, 0.0, float(y[7]), 10.0]
    expected = np.array([W[:, y <= limit].sum(axis=1) for limit in limits]).T
    np.testing.assert_allclose(model.predict_cdf(X, limits), expected, atol=1e-12)
    variance = W @ y**2 - (W @ y) ** 2
    np.testing.assert_allclose(model.predict_std(X) ** 2, variance, atol=1e-9)

    one = model.predict_distribution(X[:1])
    assert abs(one.weights.sum() - 1) < 1e-12
    assert (np.diff(one.values) > 0).all()
    np.testing.assert_allclose(one.weights, [W[0, y == value].sum() for value in one.values], rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_engines_agree(case):
    native, X, _, _ = fit(case, engine="native")
    reference, *_ = fit(case, engine="reference")
    for name in ("value", "start", "place", "weight"):
        np.testing.assert_array_equal(getattr(native.leaf_targets_, name), getattr(reference.leaf_targets_, name))
    np.testing.assert_array_equal(native.predict_quantiles(X, LEVELS), reference.predict_quantiles(X, LEVELS))
    np.testing.assert_array_equal(native.predict_cdf(X, TARGET[:5]), reference.predict_cdf(X, TARGET[:5]))
    np.testing.assert_array_equal(native.predict_std(X), reference.predict_std(X))


@pytest.mark.parametrize("case", CASES)
def test_targets_can_be_attached_later_from_rows_in_any_order(case):
    model, X, y, others = fit(case)
    later = copy.copy(CASES[case][0]).fit(X, y, **others)
    with pytest.raises(ParameterError, match="attach_targets"):
        later.predict_quantiles(X, 0.5)
    order = RNG.permutation(N)
    moved = {name: np.asarray(column)[order] for name, column in others.items()}
    later.attach_targets(X.iloc[order] if isinstance(X, pd.DataFrame) else X[order], y[order], **moved)
    np.testing.assert_array_equal(later.predict_quantiles(X, LEVELS), model.predict_quantiles(X, LEVELS))
    np.testing.assert_array_equal(later.predict_std(X), model.predict_std(X))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices_give_the_same(make):
    X = np.where(NUMBERS > 0.5, NUMBERS, 0.0)
    forest = RandomForestRegressor(10, keep_targets=True, random_state=0)
    expected = forest.fit(X, TARGET).predict_quantiles(X, LEVELS)
    np.testing.assert_array_equal(forest.predict_quantiles(make(X), LEVELS), expected)
    np.testing.assert_array_equal(forest.fit(make(X), TARGET).predict_quantiles(X, LEVELS), expected)


def test_kernel_forests_have_distributions():
    forest = weald.KernelForestRegressor(10, random_state=0).fit(NUMBERS, TARGET).attach_targets(NUMBERS, TARGET)
    W = forest.neighbors(NUMBERS, TARGET).weights(NUMBERS)
    variance = W @ TARGET**2 - (W @ TARGET) ** 2
    np.testing.assert_allclose(forest.predict_std(NUMBERS) ** 2, variance, atol=1e-9)


def test_collections_of_dask_are_predicted_by_partition():
    dask = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    model, X, _, _ = fit("forest")
    lazy = dask.from_array(X, chunks=(100, 4))
    for method, given in (("predict_quantiles", LEVELS), ("predict_quantiles", 0.5), ("predict_cdf", [0.0, 1.0])):
        found = getattr(model, method)(lazy, given)
        expected = getattr(model, method)(X, given)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.compute(), expected)
    np.testing.assert_array_equal(model.predict_std(lazy).compute(), model.predict_std(X))
    table = frames.from_pandas(pd.DataFrame(X), npartitions=3)
    np.testing.assert_array_equal(
        model.predict_quantiles(table, [0.1, 0.9]).compute(), model.predict_quantiles(X, [0.1, 0.9])
    )


def test_a_fit_on_a_cluster_says_how_to_keep_targets():
    with pytest.raises(ParameterError, match="attach_targets"):
        leaf_targets.require_local(FakeCluster())


class FakeCluster:
    """An engine that grows trees elsewhere."""

    local = None


def test_other_data_is_refused():
    model, X, y, _ = fit("forest")
    with pytest.raises(DataError, match="other data"):
        model.attach_targets(X, y + 1)


def test_numbers_of_threads_and_blocks_do_not_matter(monkeypatch):
    model, X, _, _ = fit("forest")
    expected = model.predict_quantiles(X, LEVELS)
    monkeypatch.setattr("weald.uncertainty.distribution.BLOCK_BYTES", 5000)
    monkeypatch.setattr("weald.engines.leaf_targets.BATCH_BYTES", 10000)
    for n_jobs in (1, 3):
        again, *_ = fit("forest", n_jobs=n_jobs)
        np.testing.assert_array_equal(again.predict_quantiles(X, LEVELS), expected)


def test_a_single_level_gives_one_number_for_each_row():
    model, X, _, _ = fit("forest")
    np.testing.assert_array_equal(model.predict_quantiles(X, 0.5), model.predict_quantiles(X, [0.5])[:, 0])
    np.testing.assert_array_equal(model.predict_cdf(X, 0.5), model.predict_cdf(X, [0.5])[:, 0])


def test_slices_and_copies_keep_their_targets():
    model, X, _, _ = fit("forest")
    part = model[3:7]
    again = copy.copy(CASES["forest"][0]).fit(X, TARGET)[3:7].attach_targets
    with pytest.raises(ParameterError, match="attach_targets"):
        weald.merge([model[:3], model[3:]]).predict_std(X)
    assert again  # a slice also accepts the training data again
    expected = np.array([model[i : i + 1].predict_cdf(X, 0.0) for i in range(3, 7)]).mean(axis=0)
    np.testing.assert_allclose(part.predict_cdf(X, 0.0), expected, atol=1e-12)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict_quantiles(X, LEVELS), model.predict_quantiles(X, LEVELS))


def test_trees_that_were_changed_have_no_targets():
    model, X, _, _ = fit("large leaves")
    with pytest.raises(ParameterError, match="attach_targets"):
        model.compact().predict_std(X)


def test_a_warm_start_keeps_the_targets_of_all_trees():
    model, X, y, _ = fit("forest")
    model.set_params(warm_start=True, n_estimators=25).fit(X, y)
    whole = copy.copy(CASES["forest"][0]).set_params(keep_targets=True, n_estimators=25).fit(X, y)
    np.testing.assert_array_equal(model.predict_quantiles(X, LEVELS), whole.predict_quantiles(X, LEVELS))
    with pytest.raises(DataError, match="other data"):
        model.set_params(n_estimators=30).fit(X, y + 1)


def test_huge_targets_have_finite_deviations():
    y = np.where(NUMBERS[:, 0] > 0, 1e308, -1e308)
    model = RandomForestRegressor(5, max_depth=1, max_features=None, random_state=0, keep_targets=True)
    found = model.fit(RNG.normal(size=(N, 2)), y).predict_std(RNG.normal(size=(3, 2)))
    assert np.isfinite(found).all()
    assert (found > 1e307).all()


@pytest.mark.parametrize(
    ("method", "given", "error", "words"),
    [
        ("predict_quantiles", 1.5, ParameterError, "between 0 and 1"),
        ("predict_quantiles", [0.1, -0.1], ParameterError, "between 0 and 1"),
        ("predict_quantiles", np.nan, ParameterError, "not a number"),
        ("predict_quantiles", "median", ParameterError, "not a number"),
        ("predict_quantiles", None, ParameterError, "not a number"),
        ("predict_quantiles", [[0.1], [0.9]], ParameterError, "not a number"),
        ("predict_cdf", "high", ParameterError, "not a number"),
        ("predict_cdf", [0.0, np.nan], ParameterError, "not a number"),
    ],
)
def test_bad_levels_and_values_are_refused(method, given, error, words):
    model, X, _, _ = fit("forest")
    with pytest.raises(error, match=words):
        getattr(model, method)(X, given)


def test_what_cannot_have_a_distribution_says_so():
    model, X, y, _ = fit("forest")
    with pytest.raises(DataError, match="one row"):
        model.predict_distribution(X[:2])
    with pytest.raises(NotFittedError):
        RandomForestRegressor(keep_targets=True).predict_std(X)
    with pytest.raises(ParameterError, match="keep_targets"):
        RandomForestRegressor(keep_targets=True).fit(X, np.column_stack([y, y]))
    with pytest.raises(ParameterError, match="keep_targets"):
        RandomForestRegressor(keep_targets="yes").fit(X, y)
    with pytest.raises(DataError, match="4 features"):
        model.predict_quantiles(X[:, :3], 0.5)
