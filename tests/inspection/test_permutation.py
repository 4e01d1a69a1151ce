"""Permutation importance agrees with its definition on every engine."""

import numpy as np
import pytest

import weald
from tests.laws.cases import CORES, REFERENCE, make_growth, make_table
from weald.data.table import TrainingArguments
from weald.engines.interface import PermutationTask
from weald.engines.reference import definition, permutation
from weald.estimators.training_data import read_again

RNG = np.random.default_rng(5)
N = 90
X = RNG.normal(size=(N, 5))
X[:, 3] = np.round(X[:, 3])
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 1])
CLASSES = np.digitize(SIGNAL, [-0.5, 0.5])
MODELS = {
    "classes": (weald.RandomForestClassifier(8, random_state=3), CLASSES),
    "numbers": (weald.RandomForestRegressor(8, random_state=3), SIGNAL),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    model, y = MODELS[request.param]
    return model.fit(X, y), y


def brute_force(model, y, weight=None, groups=None):
    """Permute columns with the definition's shuffle and let single trees predict: trees x groups."""
    training = read_again(model, TrainingArguments(X, y, weight))
    order = training.order()
    groups = groups or [[f] for f in range(X.shape[1])]
    weight = np.ones(N) if weight is None else weight
    found = []
    for t, (seed, number) in enumerate(training.names_of_trees()):
        rows = order[training.bags(range(t, t + 1))[0, order] == 0]
        tree = model.estimators_[t]

        def loss(table, tree=tree, rows=rows):
            error = tree.predict(table) - y[rows]
            return error != 0 if hasattr(model, "classes_") else error**2

        of_tree = []
        for group in groups:
            sources = permutation.shuffle_rows([0] * len(rows), seed, number, min(group), 0)
            permuted = X[rows]
            permuted[:, group] = X[rows][sources][:, group]
            increase = loss(permuted).astype(float) - loss(X[rows])
            of_tree.append(np.average(increase, weights=weight[rows]))
        found.append(of_tree)
    return np.array(found)


def test_it_is_the_mean_increase_of_the_trees_losses_on_their_new_rows(fitted):
    model, y = fitted
    expected = brute_force(model, y)
    result = weald.importance(model, X, y)
    np.testing.assert_allclose(result.by_tree, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.values, expected.mean(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.std_error, expected.std(axis=0, ddof=1) / np.sqrt(8), rtol=1e-12)


def test_a_group_is_mixed_together(fitted):
    model, y = fitted
    expected = brute_force(model, y, groups=[[0, 1], [4]])
    result = weald.importance(model, X, y, groups={"signal": ["x0", "x1"], "noise": [4]})
    assert result.names == ("signal", "noise")
    np.testing.assert_allclose(result.by_tree, expected, rtol=1e-12, atol=1e-15)


def test_rows_count_by_their_weights():
    weight = RNG.integers(1, 4, N).astype(float)
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, CLASSES, weight)
    result = weald.importance(model, X, CLASSES, sample_weight=weight)
    np.testing.assert_allclose(result.by_tree, brute_force(model, CLASSES, weight), rtol=1e-12, atol=1e-15)


def test_the_order_of_rows_does_not_matter(fitted):
    model, y = fitted
    turned = weald.importance(model, X[::-1], y[::-1])
    assert turned.values.tobytes() == weald.importance(model, X, y).values.tobytes()


def test_a_shuffle_is_a_permutation_inside_each_cell():
    cells = RNG.integers(0, 4, 50).tolist()
    sources = permutation.shuffle_rows(cells, seed=1, tree=2, group_id=3, repeat=0)
    assert sorted(sources) == list(range(50))
    assert [cells[s] for s in sources] == cells
    assert sources != permutation.shuffle_rows(cells, seed=1, tree=2, group_id=3, repeat=1)


def test_its_draws_meet_no_others():
    assert permutation.PURPOSE_MIX not in {definition.PURPOSE_BAG, definition.PURPOSE_FEATURES}


# ---------------------------------------------------------------------------------------------------- engines agree


def mix_with(engine, table, criterion, groups, cells, n_threads=1):
    growth = make_growth(table, criterion)
    coded = engine.code(table, 0, 1, None)
    forest = engine.grow(coded, growth, 11, 0, 5, 1, None)
    is_new = engine.bags(coded, growth, forest.origins, 1) == 0
    shape = (table.n_rows, max(groups) + 1)
    sums, squares = np.zeros(shape), np.zeros(shape)
    if cells:
        cells = np.random.default_rng(0).integers(0, cells, (5, shape[1], table.n_rows)).astype(np.int32)
    question = PermutationTask(
        trees=range(5),
        names=forest.origins[0].trees(),
        is_new=is_new,
        order=engine.order(coded),
        target=table.target.astype(np.float64),
        weight=np.ones(table.n_rows) if table.weight is None else table.weight,
        group_of=np.array(groups, dtype=np.int32),
        group_id=np.arange(shape[1], dtype=np.uint32),
        repeat=2,
        cells=cells if np.ndim(cells) else None,
        sums=sums,
        squares=squares,
    )
    return [engine.permute(forest, table.X, question, n_threads, None), sums, squares]


@pytest.mark.sanitize
@pytest.mark.parametrize("n_rows", [1, 2, 31, 100])
def test_shuffles_are_those_of_the_definition(n_rows):
    expected = permutation.shuffle_rows([0] * n_rows, 2**63 + 5, 7, 2**32 - 1, 3)
    for engine in (*CORES.values(), REFERENCE):
        assert engine.shuffle(n_rows, 2**63 + 5, 7, 2**32 - 1, 3).tolist() == expected


@pytest.mark.sanitize
@pytest.mark.parametrize("cells", [0, 7])
@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_engines_and_threads_agree_bit_for_bit(criterion, weights, cells):
    n_classes = 3 if criterion == "gini" else 0
    columns = ["many", "few", "rounded", "binary", "infinite"]
    table = make_table(60, columns, n_classes, weights=weights, missing=0.1, seed=4)
    expected = mix_with(REFERENCE, table, criterion, [0, 1, -1, 1, 2], cells)
    for engine in CORES.values():
        for n_threads in (1, 3):
            found = mix_with(engine, table, criterion, [0, 1, -1, 1, 2], cells, n_threads)
            assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


@pytest.mark.sanitize
def test_more_groups_than_a_word_has_bits_are_mixed():
    table = make_table(50, ["many"] * 70, 2, seed=1)
    groups = list(range(70))
    expected, found = (mix_with(e, table, "gini", groups, 0) for e in (REFERENCE, next(iter(CORES.values()))))
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


# ------------------------------------------------------------------------------------------------------------ errors


def test_other_data_is_refused(fitted):
    model, y = fitted
    with pytest.raises(weald.DataError, match="grown from other data"):
        weald.importance(model, -X, y)
    with pytest.raises(weald.DataError, match="the same ranks, but other values"):
        weald.importance(model, 1000 * X, y)


def test_bags_of_groups_need_the_groups_again():
    groups = np.arange(N) // 3
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, CLASSES, groups=groups)
    with pytest.raises(weald.DataError, match="groups"):
        weald.importance(model, X, CLASSES)
    found = weald.importance(model, X, CLASSES, kind="local", fit_params={"groups": groups}).values
    unknown = np.isnan(found[:, 0]).reshape(-1, 3)
    assert (unknown.all(axis=1) == unknown.any(axis=1)).all()  # a group is either completely out of bag or not at all
    assert unknown.any()


def test_boosted_trees_are_refused():
    model = weald.RandomForestClassifier(2, resampling="arcing").fit(X, CLASSES)
    with pytest.raises(weald.ParameterError, match='resampling="bagging"'):
        weald.importance(model, X, CLASSES)


def test_a_forest_without_bags_is_refused():
    model = weald.RandomForestClassifier(2, bootstrap=False).fit(X, CLASSES)
    with pytest.raises(weald.ParameterError, match="bootstrap=True"):
        weald.importance(model, X, CLASSES)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "shap"}, "kind='shap' is not allowed"),
        ({"groups": {"a": ["x0", "nobody"]}}, "'nobody'"),
        ({"groups": {"a": [0], "b": [0, 1]}}, "one group only"),
        ({"names": ["a"]}, "names has 1 entries"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, words):
    model, y = MODELS["classes"]
    with pytest.raises(weald.ParameterError, match=words):
        weald.importance(model.fit(X, y), X, y, **given)


# ---------------------------------------------------------------------------------------------------------- p-values


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_p_values_of_features_that_do_not_matter_are_seldom_small(kind):
    small = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(120, 6))
        y = x[:, 0] + 0.5 * rng.normal(size=120)
        model = MODELS[kind][0].__class__(40, random_state=seed)
        y = y if kind == "numbers" else (y > 0).astype(int)
        small += (weald.importance(model.fit(x, y), x, y).p_value[1:] < 0.05).tolist()
    assert 0.01 < np.mean(small) < 0.1
