"""An outlier in the targets does not reduce the precision of the others; if it must, the user is warned."""

import itertools
import warnings

import numpy as np
import pytest

import weald
from tests.training_tables import read
from weald.engines import precision
from weald.engines.reference import definition

N = 120
RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(N, 3)), 1)
PLAIN = 2 * X[:, 0] + X[:, 1] + RNG.normal(size=N) / 9
ENGINES = ["native", "reference"]
WEIGHTS = {
    "none": None,
    "whole": RNG.integers(1, 4, N).astype(float),
    "fractions": RNG.random(N) + 0.5,
    "beyond 2**31": RNG.integers(1, 4, N) * 2.0**30,
}


def with_outlier(size, y=PLAIN):
    return np.where(np.arange(len(y)) == 7, size, y)


def both(model, x, y, weight=None):
    """Fit with both engines."""
    found = [type(model)(**{**model.get_params(), "engine": engine}).fit(x, y, weight) for engine in ENGINES]
    assert found[0].forest_.fingerprint() == found[1].forest_.fingerprint()
    np.testing.assert_array_equal(found[0].forest_.weight_scale, found[1].forest_.weight_scale)
    return found[0]


MODELS = [
    weald.DecisionTreeRegressor(),
    weald.DecisionTreeRegressor(max_leaf_nodes=9, min_samples_leaf=2),
    weald.DecisionTreeRegressor(monotonic_cst=[1, 0, -1], splitter="random", random_state=0),
    weald.RandomForestRegressor(2, random_state=1, max_bins=20),
    weald.RandomForestRegressor(2, random_state=1, max_samples=30, min_weight_fraction_leaf=0.05),
    weald.ExtraTreesRegressor(2, random_state=1),
]


@pytest.mark.filterwarnings("ignore:y is rounded")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("size", [1e9, -1e12, 1e15, 1e25, 1e300, 1.7e308])
def test_engines_agree_about_outliers(size, weight):
    for model in MODELS:
        if weight != "beyond 2**31" or not getattr(model, "bootstrap", False):  # so many draws raise an error
            both(model, X, with_outlier(size), WEIGHTS[weight])


@pytest.mark.filterwarnings("ignore:y is rounded")
def test_engines_agree_about_outliers_among_many_rows_gaps_and_categories():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=3000), rng.integers(0, 12, 3000), np.round(rng.normal(size=3000), 2)])
    x[rng.random(x.shape) < 0.03] = np.nan
    y = with_outlier(1e13, np.nan_to_num(x[:, 0] + x[:, 1] % 3))
    for weight in (None, rng.random(3000) + 0.5):
        model = weald.DecisionTreeRegressor(categorical_features=[1], category_penalty=0.5, max_depth=6)
        both(model, x, y, weight)


@pytest.mark.filterwarnings("ignore:y is rounded")
@pytest.mark.parametrize("weight", ["none", "fractions"])
@pytest.mark.parametrize("size", [1e6, 1e9, -1e12, 1e13])
def test_an_outlier_takes_no_digits_of_the_others(size, weight):
    """A tree of single rows fits each of them; apart from the outlier's own split, it is the tree without it."""
    y = with_outlier(size)
    tree = weald.DecisionTreeRegressor().fit(np.arange(float(N))[:, None], y, WEIGHTS[weight])
    others = np.arange(N) != 7
    assert np.abs(tree.predict(np.arange(float(N))[:, None]) - y)[others].max() < 1e-6
    assert tree.predict([[7.0]]) == size


@pytest.mark.filterwarnings("ignore:y is rounded")
@pytest.mark.parametrize("weight", ["none", "fractions"])
def test_what_is_left_of_an_outlier_is_a_tree_without_it(weight):
    cut_off = np.where(np.arange(N) == 7, 99.0, X[:, 2])
    x = np.column_stack([X[:, 0], X[:, 1], cut_off])
    tree = weald.DecisionTreeRegressor().fit(x, with_outlier(1e12), WEIGHTS[weight])
    plain = np.arange(N) != 7
    alone = weald.DecisionTreeRegressor().fit(
        x[plain], PLAIN[plain], None if WEIGHTS[weight] is None else WEIGHTS[weight][plain]
    )
    assert tree.tree_.feature[0] == 2
    np.testing.assert_array_equal(tree.tree_.feature[1:-1], alone.tree_.feature)
    np.testing.assert_allclose(tree.tree_.value[1:-1], alone.tree_.value, atol=1e-7)  # narrow targets are rounded
    np.testing.assert_allclose(tree.tree_.impurity[1:-1], alone.tree_.impurity, atol=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_ordinary_targets_stay_narrow(engine):
    targets = {
        "normal": RNG.normal(size=N),
        "lognormal": np.exp(1.5 * RNG.normal(size=N)),
        "mostly zero": np.where(RNG.random(N) < 0.9, 0.0, np.exp(RNG.normal(size=N))),
        "classes": RNG.integers(0, 3, N).astype(float),
        "one is different": np.where(np.arange(N) == 3, 1e12, 0.0),
    }
    for y, weight in itertools.product(targets.values(), ["none", "fractions"]):
        tree = weald.DecisionTreeRegressor(engine=engine).fit(X, y, WEIGHTS[weight])
        center = y.min() / 2 + y.max() / 2
        k = int(np.frexp(np.abs(y - center).max())[1])
        assert tree.forest_.target_exponent == (61 - k - N.bit_length() if weight == "none" else 35 - k)
        assert tree.forest_.target_center == center


@pytest.mark.filterwarnings("ignore:y is rounded")
@pytest.mark.parametrize("weight", ["whole", "fractions"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_rows_does_not_matter_to_outliers(engine, weight):
    y, order = with_outlier(1e13), np.random.default_rng(2).permutation(N)
    model = weald.DecisionTreeRegressor(engine=engine)
    expected = model.fit(X, y, WEIGHTS[weight]).forest_.fingerprint()
    assert model.fit(X[order], y[order], WEIGHTS[weight][order]).forest_.fingerprint() == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weight_of_two_is_the_row_twice_among_outliers(engine):
    copies = WEIGHTS["whole"].astype(int)
    y = with_outlier(1e13)
    for model in (weald.DecisionTreeRegressor(), weald.RandomForestRegressor(2, random_state=0)):
        model.set_params(engine=engine)
        expected = model.fit(X, y, copies).forest_.fingerprint()
        assert model.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies)).forest_.fingerprint() == expected


@pytest.mark.filterwarnings("ignore:y is rounded")
def test_engines_agree_where_it_is_close():
    """Around the size at which a value is an outlier, with many kinds of targets."""
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(150):
        n = int(rng.integers(3, 40))
        y = rng.choice([rng.normal(size=n), rng.integers(0, 3, n).astype(float), np.exp(9 * rng.normal(size=n))])
        y[0] = 2.0 ** rng.uniform(10, 50)
        weight = None if rng.random() < 0.5 else rng.random(n) + 0.1
        tree = both(weald.DecisionTreeRegressor(max_depth=2), rng.normal(size=(n, 1)), y, weight)
        seen.add(tree.forest_.target_center == y.min() / 2 + y.max() / 2)
    assert seen == {True, False}


# --------------------------------------------------------------------------------------------------------- warnings


def is_too_coarse(y, weight, n_draws):
    """Whether the definition rounds noticeably, according to the definition itself."""
    lengths = definition.line_weights([1.0] * len(y) if weight is None else weight, weight is None)
    target, spread = definition.fix_target(y, n_draws, lengths), definition.spread_of(y, lengths)
    center = min(y) / 2 + max(y) / 2
    k = int(np.frexp(max(abs(v - center) for v in y))[1])
    exponent = target.exponent if target.center != center else min(target.exponent, 53 - k)
    return definition.is_coarse(spread.width, exponent)


def test_the_user_is_warned_where_the_definition_is_coarse_and_nowhere_else():
    rng = np.random.default_rng(4)
    found = set()
    for _ in range(300):
        n = int(rng.integers(3, 40))
        kinds = [rng.normal(size=n), rng.integers(0, 3, n).astype(float), 1e15 + rng.integers(0, 9, n)]
        y = kinds[rng.integers(3)]
        y[0] = 2.0 ** rng.uniform(10, 120)
        weight = None if rng.random() < 0.5 else rng.random(n) + 0.1
        n_draws = n if weight is None else None
        table = read(weald.DecisionTreeRegressor(), np.zeros((n, 1)), y, weight).table
        warned = bool(precision.find_roundings(table, precision.Precision(n_draws)))
        assert warned == is_too_coarse(y.tolist(), None if weight is None else weight.tolist(), n_draws)
        found.add(warned)
    assert found == {True, False}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weight", ["none", "whole", "fractions"])
@pytest.mark.parametrize("size", [10.0**power for power in range(0, 40, 3)])
def test_units_are_a_billionth_of_the_width_or_a_warning_says_so(size, weight, engine):
    y, given = with_outlier(size), WEIGHTS[weight]
    lengths = definition.line_weights(np.ones(N) if given is None else given, weight != "fractions")
    with warnings.catch_warnings(record=True) as predicted:
        warnings.simplefilter("always")
        tree = weald.DecisionTreeRegressor(max_depth=1, engine=engine).fit(X, y, given)
    assert predicted or 2.0**-tree.forest_.target_exponent <= 1e-9 * definition.spread_of(y.tolist(), lengths).width
    assert bool(predicted) == (size >= (1e12 if weight == "fractions" else 1e27))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_warning_says_what_is_rounded_how_much_and_what_to_do(engine):
    model = weald.DecisionTreeRegressor(engine=engine)
    with pytest.warns(
        UserWarning, match=r"^y is rounded to multiples of .*, but most of its values lie within"
    ) as predicted:
        model.fit(X, with_outlier(1e40))
    assert str(predicted[0].message).endswith("Remove or clip the outliers or take logarithms.")
    assert predicted[0].filename == __file__
    with pytest.warns(UserWarning, match=r"take logarithms or give whole sample weights\.$"):
        model.fit(X, with_outlier(1e16), WEIGHTS["fractions"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_warning_names_the_target(engine):
    y = np.column_stack([PLAIN, with_outlier(1e13), PLAIN])
    with pytest.warns(UserWarning, match=r"Column 1 of y is rounded .* fit a model for this target alone") as predicted:
        weald.RandomForestRegressor(2, engine=engine, random_state=0).fit(X, y)
    assert len(predicted) == 1


def test_a_warning_does_not_depend_on_the_order_of_rows():
    order, texts = np.random.default_rng(2).permutation(N), []
    for rows in (np.arange(N), order):
        with pytest.warns(UserWarning, match="y is rounded") as predicted:
            weald.DecisionTreeRegressor().fit(X[rows], with_outlier(1e18)[rows], WEIGHTS["fractions"][rows])
        texts.append(str(predicted[0].message))
    assert texts[0] == texts[1]


def test_a_code_store_warns_too(tmp_path):
    y = with_outlier(1e40)
    store = weald.codes.from_chunks([(X[:50], y[:50]), (X[50:], y[50:])], folder=tmp_path, task="regression")
    with pytest.warns(UserWarning, match="y is rounded"):
        weald.RandomForestRegressor(2, random_state=0, max_bins=store.max_bins).fit(store)
