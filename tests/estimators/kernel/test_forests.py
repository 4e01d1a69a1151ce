"""Kernel forests: a forest of kernel values, and nothing else."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import weald
from weald.errors import DataError, DataTypeError, ParameterError
from weald.estimators.kernel.tree_mix import MixChoice

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
y = (X**2).sum(axis=1) < 2.5
FEW = {"n_estimators": 16, "random_state": 0}
PLAIN = {**FEW, "contrast": False, "mix": False}  # kernel features only


def prints(model):
    return model.forest_.fingerprint()


def overlap(a, b):
    """The number of letters that two words share, with multiplicity."""
    return sum(min(a.count(letter), b.count(letter)) for letter in set(a))


def apart(a, b):
    return float(np.abs(np.asarray(a) - np.asarray(b)).sum())


# ------------------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize(("mix", "contrast"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"distance": "derivative"},
        {"distance": "dtw"},
        {"distance": "correlation"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "poly_inhomogeneous"},
    ],
    ids=str,
)
def test_engines_and_threads_grow_the_same_forest(words, mix, contrast):
    words, rows, classes = {**FEW, **words, "mix": mix, "contrast": contrast, "n_prototypes": 20}, X[:45], y[:45]
    one = weald.KernelForestClassifier(**words, oob_score=True, n_jobs=1).fit(rows, classes)
    two = weald.KernelForestClassifier(**words, oob_score=True, engine="reference").fit(rows, classes)
    three = weald.KernelForestClassifier(**words, n_jobs=3).fit(rows[::-1], classes[::-1])
    assert prints(one) == prints(two) == prints(three)
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.oob_error_ == two.oob_error_


def test_it_is_the_forest_of_its_kernel_matrix():
    model = weald.KernelForestRegressor(**PLAIN, n_prototypes="all", max_features=5).fit(X, X[:, 0])
    sums = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-model.kernel_.rule.gamma * sums)
    all_rows = weald.KernelForestRegressor(**PLAIN, prototypes=X, max_features=5, gamma=model.kernel_.rule.gamma)
    plain = weald.RandomForestRegressor(**FEW, max_features=5).fit(K, X[:, 0])
    np.testing.assert_allclose(all_rows.fit(X, X[:, 0]).predict(X), plain.predict(K))


def test_products_with_unit_vectors_are_the_features_themselves():
    linear = {"kernel": "poly", "degree": 1, "gamma": 1.0}
    model = weald.KernelForestClassifier(**PLAIN, **linear, prototypes=np.eye(3)).fit(X, y)
    assert prints(model) == prints(weald.RandomForestClassifier(**FEW).fit(X, y))


def test_gamma_and_odd_powers_choose_no_cut():
    """They are increasing functions of a distance or product: the order of a column is the same, so the splits are."""
    shapes = [
        (model.forest_.feature, model.forest_.right, model.forest_.size)
        for words in ({"gamma": 0.1}, {"gamma": 1.0}, {"gamma": "scale"})
        for model in [weald.KernelForestClassifier(**FEW, **words).fit(X, y)]
    ]
    for shape in shapes[1:]:
        assert all(map(np.array_equal, shapes[0], shape))
    one, three = (weald.KernelForestClassifier(**PLAIN, kernel="poly", degree=d).fit(X, y) for d in (1, 3))
    assert np.array_equal(one.forest_.feature, three.forest_.feature)


def test_precomputed_is_computed():
    computed = weald.KernelForestClassifier(**PLAIN, max_features="all").fit(X, y)
    order = weald.estimators.kernel.kernels.choose_prototypes(
        weald.estimators.kernel.samples.Vectors(X), "all", 0
    )  # the order of its columns
    every = weald.KernelForestClassifier(**PLAIN, max_features="all", prototypes=X[order]).fit(X, y)
    assert prints(every) == prints(computed)
    apart = ((X[order][:, None] - X[order][None]) ** 2).sum(axis=2)
    K = np.exp(-computed.kernel_.rule.gamma * apart)
    given = weald.KernelForestClassifier(**PLAIN, max_features="all", kernel="precomputed").fit(K, y[order])
    assert np.array_equal(given.forest_.feature, computed.forest_.feature)
    np.testing.assert_allclose(given.forest_.threshold, computed.forest_.threshold, rtol=1e-12)
    assert np.array_equal(given.predict(K), computed.predict(X[order]))
    assert np.array_equal(given.prototypes_.samples, computed._columns_)


def test_a_permutation_of_prototypes_permutes_the_columns_and_no_more():
    grow = {**PLAIN, "max_features": "all", "bootstrap": False, "n_estimators": 1, "max_depth": 2, "random_state": 0}
    mixed = RNG.permutation(len(X))
    one, two = (weald.KernelForestRegressor(**grow, prototypes=rows).fit(X, X[:, 0]) for rows in (X, X[mixed]))
    assert np.array_equal(one.predict(X), two.predict(X))
    assert {tuple(row) for row in one.prototypes_.samples} == {tuple(row) for row in two.prototypes_.samples}
    assert np.array_equal(np.sort(one.prototypes_.kernel_matrix(X)), np.sort(two.prototypes_.kernel_matrix(X)))


def test_only_prototypes_that_are_used_are_kept():
    model = weald.KernelForestClassifier(**{**PLAIN, "n_estimators": 2}, max_depth=2).fit(X, y)
    used = model.forest_.feature[model.forest_.feature >= 0]
    assert len(model.prototypes_) == len(np.unique(used)) == len(model.feature_importances_) < 7
    assert np.array_equal(model.prototypes_.samples, X[model.prototype_rows_])
    assert len(pickle.dumps(model)) < 20_000
    pairs = weald.KernelForestClassifier(2, max_depth=2, mix=False, random_state=0).fit(X, y)
    named = {int(row) for name in pairs.prototypes_.column_names for row in name.replace("row ", "").split(" - ")}
    assert sorted(named) == sorted(pairs.prototype_rows_.tolist())
    assert len(pairs.prototypes_) < 13


@pytest.mark.parametrize("target", [y, X[:, 0]], ids=["classes", "numbers"])
def test_three_of_four_columns_set_a_prototype_against_the_nearest_of_another_target(target):
    kind = weald.KernelForestClassifier if target is y else weald.KernelForestRegressor
    model = kind(400, mix=False, max_features=3, random_state=0).fit(X, target)
    assert len(model.prototypes_.column_names) == 90  # all are used
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = np.exp(-model.kernel_.rule.gamma * squares)
    rank = np.argsort(np.argsort(target))
    n_pairs = 0
    for name, column in zip(model.prototypes_.column_names, model.prototypes_.kernel_matrix(X).T, strict=True):
        rows = [int(row) for row in name.replace("row ", "").split(" - ")]
        expected = K[rows[0]] if len(rows) == 1 else np.log(K[rows[0]] / K[rows[1]])
        np.testing.assert_allclose(column, expected, rtol=1e-9, atol=1e-12)
        if len(rows) == 2:
            is_other = target != target[rows[0]] if target is y else np.abs(rank - rank[rows[0]]) > 90 // 4
            assert rows[1] == np.argmin(np.where(is_other, squares[rows[0]], np.inf))
            n_pairs += 1
    assert n_pairs == 68


def test_other_kernels_are_subtracted():
    model = weald.KernelForestClassifier(200, kernel="precomputed", random_state=0).fit(X @ X.T, y)
    for name, column in zip(model.prototypes_.column_names, model.prototypes_.kernel_matrix(X @ X.T).T, strict=True):
        rows = [int(row) for row in name.replace("row ", "").split(" - ")]
        np.testing.assert_allclose(column, X @ (X[rows[0]] - (X[rows[1]] if len(rows) == 2 else 0)), atol=1e-12)


def test_importances_of_columns_are_shared_by_their_prototypes():
    model = weald.KernelForestClassifier(**FEW, mix=False).fit(X, y)
    expected = dict.fromkeys(model.prototype_rows_.tolist(), 0.0)
    for name, importance in zip(model.prototypes_.column_names, model.feature_importances_, strict=True):
        rows = [int(row) for row in name.replace("row ", "").split(" - ")]
        for row in rows:
            expected[row] += importance / len(rows)
    np.testing.assert_allclose(model.prototypes_.importances, list(expected.values()))


def test_one_prototype_and_one_class_have_nothing_to_be_set_against():
    assert weald.KernelForestClassifier(**FEW, prototypes=X[:1], mix=False).fit(X, y).prototypes_.column_names == [
        "prototype 0"
    ]
    assert weald.KernelForestClassifier(**FEW).fit(X, np.zeros(90)).predict(X[:2]).tolist() == [0, 0]


def test_a_large_table_has_a_sample_of_prototypes_and_chunks_change_nothing(monkeypatch):
    whole = weald.KernelForestClassifier(**FEW, n_prototypes=50).fit(X, y)
    monkeypatch.setattr("weald.estimators.kernel.table.BLOCK", 64)
    parts = weald.KernelForestClassifier(**FEW, n_prototypes=50).fit(X, y)
    assert prints(whole) == prints(parts)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert len(whole.prototypes_) <= 50


# ------------------------------------------------------------------------------------------------- anything as sample


def curves_of(n, lengths, seed=0):
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2, n)
    return [np.sin(phase[i] + np.linspace(0, 6, rng.choice(lengths))) for i in range(n)], phase


@pytest.mark.parametrize("distance", ["l2", "derivative", "dtw", "correlation"])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_curves_of_unequal_lengths(distance, engine):
    curves, phase = curves_of(50, [9, 12, 16])
    words = {**FEW, "n_estimators": 8, "distance": distance, "engine": engine, "max_features": 5}
    model = weald.KernelForestRegressor(**words).fit(curves[:30], phase[:30])
    assert model.sample_kind_ == "curves"
    assert model.score(curves[30:], phase[30:]) > 0.5
    one_length = [curve for curve in curves[30:] if len(curve) == 12]
    assert len(model.predict(one_length)) == len(one_length)
    assert np.array_equal(model.predict(np.array(one_length)), model.predict(one_length))


def test_curves_with_times_are_compared_at_the_same_times():
    """A curve that is sampled at other times is the same curve."""
    rng = np.random.default_rng(0)
    slopes = rng.uniform(-1, 1, 40)
    even = [(np.linspace(0, 1, 9), slope * np.linspace(0, 1, 9)) for slope in slopes]
    odd = [(t, slope * t) for slope in slopes for t in [np.unique(np.append(rng.uniform(0, 1, 12), [0.0, 1.0]))]]
    model = weald.KernelForestRegressor(**FEW).fit(even, slopes)
    np.testing.assert_allclose(model.predict(odd), model.predict(even))


def test_curves_of_one_length_are_vectors():
    lists = [row.tolist() for row in X]
    assert prints(weald.KernelForestClassifier(**FEW).fit(lists, y)) == prints(
        weald.KernelForestClassifier(**FEW).fit(X, y)
    )


def test_words_with_a_kernel_of_ones_own():
    words = ["oak", "ash", "elm", "maple", "yew", "larch", "pine", "beech"] * 4
    target = [word.count("e") > 0 for word in words]
    model = weald.KernelForestClassifier(**FEW, kernel=overlap).fit(words, target)
    assert model.score(words, target) == 1.0
    assert set(model.prototypes_.samples) <= set(words)
    shuffled = weald.KernelForestClassifier(**FEW, kernel=overlap).fit(words[::-1], target[::-1])
    assert prints(shuffled) == prints(model)


def test_a_distance_of_ones_own():
    own = weald.KernelForestClassifier(**FEW, distance=lambda a, b: float(np.sqrt(((a - b) ** 2).sum()))).fit(X, y)
    built_in = weald.KernelForestClassifier(**FEW, mix=False).fit(X, y)
    assert np.array_equal(own.forest_.feature, built_in.forest_.feature)
    sets = [frozenset(RNG.choice(9, 4).tolist()) for _ in range(30)]
    jaccard = lambda a, b: 1 - len(a & b) / len(a | b)  # noqa: E731
    model = weald.KernelForestClassifier(**FEW, distance=jaccard).fit(sets, [0 in one for one in sets])
    assert model.score(sets, [0 in one for one in sets]) > 0.8


def test_graphs_with_a_kernel_of_ones_own():
    """Samples are sets of edges; their kernel counts the paths of two edges that both have."""

    def paths(graph):
        return {(a, b, d) for a, b in graph for c, d in graph if b == c}

    rings = [frozenset((i, (i + 1) % n) for i in range(n)) for n in range(3, 12)]
    stars = [frozenset((0, i) for i in range(1, n)) for n in range(3, 12)]
    graphs, is_ring = rings + stars, [True] * 9 + [False] * 9
    kernel = lambda one, other: float(len(paths(one) & paths(other)))  # noqa: E731
    model = weald.KernelForestClassifier(**FEW, kernel=kernel, contrast=False).fit(graphs, is_ring)
    assert model.score(graphs, is_ring) == 1.0
    assert set(model.prototypes_.samples) <= set(rings)  # a star has no such path


def test_mix_keeps_raw_columns_and_categories_beside_the_kernel():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(RNG.random(90) < 0.5, "apple", "orange"), "b": X[:, 1]})
    target = (frame["kind"] == "apple") & (frame["a"] ** 2 + frame["b"] ** 2 < 2)
    with pytest.raises(DataTypeError, match=r"'kind' of X is categorical.*mix=True"):
        weald.KernelForestClassifier(mix=False).fit(frame, target)
    model = weald.KernelForestClassifier(30, random_state=0, oob_score=True).fit(frame, target)
    assert model.oob_score_ > 0.85
    assert "kind" in model.prototypes_.column_names
    assert model.prototypes_.kernel_matrix(frame).shape == (90, len(model.prototypes_.column_names))
    again = weald.KernelForestClassifier(30, random_state=0, engine="reference").fit(frame, target)
    assert prints(again) == prints(model)
    assert again.mix_ == model.mix_


def choose_always(monkeypatch, way):
    monkeypatch.setattr("weald.estimators.kernel.features.choose_mix", lambda *_: MixChoice(way, {}, "always"))


def test_the_out_of_bag_error_chooses_what_trees_look_at():
    model = weald.KernelForestClassifier(100, random_state=0).fit(X, y)
    assert model.mix_.way == min(model.mix_.errors, key=model.mix_.errors.get)
    assert model.mix_.way in str(model.mix_)
    mixed = weald.KernelForestClassifier(64, random_state=0, mix=True).fit(X, y)
    halves = mixed[16:32] + mixed[48:]
    assert model.mix_.errors["mixed"] == halves.out_of_bag(X, y).error
    assert not hasattr(mixed, "mix_")


def test_trees_may_look_at_columns_alone(monkeypatch, tmp_path):
    choose_always(monkeypatch, "columns")
    model = weald.KernelForestClassifier(80, random_state=0).fit(X, y)
    assert model.prototypes_.column_names == ["x0", "x1", "x2"]
    assert len(model.prototypes_) == len(model.prototype_rows_) == len(model.prototypes_.importances) == 0
    assert model.score(X, y) == 1
    assert weald.importance(model, X, y).names == ("x0", "x1", "x2")
    with pytest.raises(DataError, match="use columns of X only"):
        model.prototypes_.prune(X, y, n=5)
    model.save(tmp_path / "model.weald")
    loaded = weald.load(tmp_path / "model.weald")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.mix_ == model.mix_


def test_trees_of_both_kinds_stand_in_turn(monkeypatch):
    choose_always(monkeypatch, "in turn")
    whole = weald.KernelForestClassifier(40, random_state=0).fit(X, y)
    mixed = weald.KernelForestClassifier(40, random_state=0, mix=True).fit(X, y)
    names = whole.prototypes_.column_names
    for t, tree in enumerate(whole.estimators_):
        used = {names[f] for f in tree.tree_.feature if f >= 0}
        assert used <= {"x0", "x1", "x2"} if t // 16 % 2 == 0 else not used <= {"x0", "x1", "x2"}
    assert np.array_equal(whole[16:32].predict_proba(X), mixed[16:32].predict_proba(X))
    part = weald.KernelForestClassifier(23, random_state=0, warm_start=True).fit(X, y)
    assert prints(part.set_params(n_estimators=40).fit(X, y)) == prints(whole)


def test_without_bags_trees_look_at_both():
    for words in {"bootstrap": False}, {"resampling": "boosting"}:
        model = weald.KernelForestClassifier(**FEW, **words).fit(X, y)
        assert model.mix_.errors == {}
        assert prints(model) == prints(weald.KernelForestClassifier(**FEW, **words, mix=True).fit(X, y))


@pytest.mark.parametrize("words", [{}, {"mix": True}, {"mix": False}], ids=str)
def test_weights_are_copies(words):
    weight = np.arange(len(y)) % 3
    weighed = weald.KernelForestClassifier(40, random_state=0, **words).fit(X, y, weight)
    copied = weald.KernelForestClassifier(40, random_state=0, **words).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert prints(weighed) == prints(copied)
    if not words:  # out-of-bag results differ: a copy of a row may be in the bag
        assert weighed.mix_ == copied.mix_
        assert (weighed.mix_.way, weighed.mix_.errors) == ("in turn", {})


@pytest.mark.parametrize("words", [{}, {"mix": True}, {"mix": False}], ids=str)
def test_importance_on_new_rows_is_that_of_the_plain_forest(words):
    model = weald.KernelForestClassifier(**FEW, **words).fit(X[:60], y[:60])
    new, truth, weight = X[60:], y[60:], np.arange(len(y) - 60) % 3
    found = weald.importance(model, new, truth, sample_weight=weight, rows="new")
    plain = weald.importance(
        model.prototypes_.plain_forest(),
        model.prototypes_.kernel_matrix(new),
        truth,
        sample_weight=weight,
        rows="new",
        names=model.prototypes_.column_names,
    )
    assert found.names == plain.names
    assert np.array_equal(found.values, plain.values)


def test_a_kernel_is_computed_once_for_a_fit_and_what_it_says_of_rows_outside_the_bags():
    calls = []

    def counted(a, b):
        calls.append(1)
        return apart(a, b)

    words = {**FEW, "distance": counted}
    weald.KernelForestClassifier(**words).fit(X, y)
    n_calls = len(calls)
    model = weald.KernelForestClassifier(**words, oob_score=True).fit(X, y)
    assert len(calls) == 2 * n_calls
    weald.importance(model, X, y)
    assert len(calls) <= 3 * n_calls


# ------------------------------------------------------------------------------------------------- what forests can do


def test_the_training_data_given_again():
    model = weald.KernelForestClassifier(**FEW, oob_score=True, n_prototypes=40).fit(X, y)
    order = RNG.permutation(90)
    again = model.out_of_bag(X[order], y[order])
    assert again.error == model.oob_error_
    assert np.array_equal(again.probabilities, model.oob_.probabilities[order], equal_nan=True)
    found = weald.importance(model, X, y)
    assert list(found.names) == model.prototypes_.column_names
    assert model.neighbors(X, y).proximity().shape == (90, 90)
    assert model.proximity(X[:5], X[:7]).shape == (5, 7)
    with pytest.raises(DataError, match="other data"):
        model.out_of_bag(X + 1, y)


def test_trees_predict_from_the_kernel_matrix():
    model = weald.KernelForestClassifier(**FEW).fit(X, y)
    K = model.prototypes_.kernel_matrix(X)
    shares = sum(tree.predict_proba(K) for tree in model.estimators_)
    np.testing.assert_allclose(shares / 16, model.predict_proba(X))


def test_growing_on_slicing_merging_and_pickling():
    model = weald.KernelForestClassifier(9, mix=True, random_state=0, warm_start=True).fit(X, y)
    grown = model.set_params(n_estimators=16).fit(X, y)
    whole = weald.KernelForestClassifier(**FEW, mix=True).fit(X, y)
    assert prints(grown) == prints(whole)
    assert np.array_equal(grown[2:5].predict(X), pickle.loads(pickle.dumps(grown[2:5])).predict(X))
    with pytest.raises(DataError, match="but they have changed"):
        model.set_params(n_estimators=20).fit(X, ~y & (X[:, 0] > 0))
    with pytest.raises(DataError, match="prototypes"):
        weald.merge([whole, weald.KernelForestClassifier(8, mix=True, random_state=1).fit(X, y)])


@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
def test_grown_until_settled():
    model = weald.KernelForestRegressor("auto", random_state=0, max_estimators=96).fit(X, X[:, 0])
    assert model.forest_.n_trees >= 64
    assert len(model.prototypes_.column_names) == model.forest_.n_features


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ({"kernel": "rbf"}, "kernel='rbf' is not allowed"),
        ({"distance": "l3"}, "distance='l3' is not allowed"),
        ({"gamma": -1.0}, "gamma=-1.0 is not allowed"),
        ({"gamma": "big"}, "gamma='big' is not allowed"),
        ({"degree": 0}, "degree=0 is not allowed"),
        ({"band": 2.0}, "band=2.0 is not allowed"),
        ({"n_prototypes": 0}, "n_prototypes=0 is not allowed"),
        ({"kernel": "precomputed", "mix": True}, "mix=True uses"),
    ],
)
def test_parameters_are_checked(words, found):
    with pytest.raises(ParameterError, match=found):
        weald.KernelForestClassifier(**words).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        (lambda *_: np.nan, "returned nan for two samples"),
        (lambda a, b: float((a - b).sum()), "is not symmetric: for samples"),
        (lambda *_: np.array([1.0, 2.0]), r"returned an array of shape \(2,\)"),
        (lambda *_: "much", "returned 'much' for two samples"),
    ],
)
def test_bad_kernels_are_refused(kernel, found):
    with pytest.raises((DataError, DataTypeError), match=found):
        weald.KernelForestClassifier(kernel=kernel).fit(X, y)


def test_bad_distances_are_refused():
    with pytest.raises(DataError, match="negative distance"):
        weald.KernelForestClassifier(distance=lambda a, b: -apart(a, b)).fit(X, y)


def test_bad_precomputed_kernels_are_refused():
    model = weald.KernelForestClassifier(**FEW, kernel="precomputed")
    K = X @ X.T
    with pytest.raises(DataError, match=r"which is square, but the shape of X is \(90, 3\)"):
        model.fit(X, y)
    with pytest.raises(DataError, match="not symmetric"):
        model.fit(K + np.arange(90), y)
    with pytest.raises(DataError, match="is NaN"):
        model.fit(np.where(K > 5, np.nan, K), y)
    with pytest.raises(DataError, match="90 features"):
        model.fit(K, y).predict(K[:, :5])


def test_curves_that_cannot_be_read_are_refused():
    curves, phase = curves_of(10, [5, 6])
    with pytest.raises(DataError, match="curves of different lengths are not columns"):
        weald.KernelForestRegressor(**FEW, mix=True).fit(curves, phase)
    model = weald.KernelForestRegressor(**FEW).fit(curves, phase)
    with pytest.raises(DataError, match="Curve 1 has nan among its values, at position 2"):
        model.predict([curves[0], np.array([1.0, 2.0, np.nan])])
    with pytest.raises(DataError, match="times of curve 0 are not increasing"):
        model.fit([(np.array([0.0, 0.0]), np.ones(2)), (np.array([0.0, 1.0]), np.ones(2))], [0, 1])
    with pytest.raises(DataError, match="has 2 times but 3 values"):
        model.fit([(np.array([0.0, 1.0]), np.ones(3)), (np.array([0.0, 1.0]), np.ones(2))], [0, 1])
    with pytest.raises(DataError, match="cannot be read as numbers"):
        weald.KernelForestRegressor(**FEW).fit(curves, phase).predict([["a"]])
    with pytest.raises(DataError, match="contains curves, but the fit had vectors"):
        weald.KernelForestClassifier(**FEW).fit(X, y).predict(curves)


def test_tanh_warns():
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        weald.KernelForestClassifier(**FEW, kernel="tanh").fit(X, y)


# ------------------------------------------------------------------------------------------------------------ choosing


def test_auto_takes_the_kernel_of_least_out_of_bag_error_and_says_why():
    rng, alone = np.random.default_rng(0), {**FEW, "mix": False, "contrast": False}
    curves = np.sin(rng.uniform(0, 6, 60)[:, None] + np.linspace(0, 6, 20)) + rng.normal(size=60)[:, None] * 3
    target = np.diff(curves, axis=1)[:, 0] > 0  # the slope is the signal; the level is noise
    model = weald.KernelForestClassifier(**alone, kernel="auto").fit(curves, target)
    errors = {weald.estimators.kernel.kernel_selection.describe(words): error for words, error in model.choice_.tried}
    assert len(errors) == len(weald.estimators.kernel.kernel_selection.GRID) == 6
    chosen = weald.KernelForestClassifier(**alone, **model.choice_.words, oob_score=True).fit(curves, target)
    assert chosen.oob_error_ == min(errors.values()) < errors["gaussian of l2"]
    assert prints(chosen) == prints(model)
    assert "lowest out-of-bag error" in model.choice_.reason
    assert not hasattr(model, "oob_error_")
    assert np.array_equal(model.predict(curves), chosen.predict(curves))
    assert model.out_of_bag(curves, target).error == chosen.oob_error_


def test_auto_leaves_out_warping_that_would_take_long(monkeypatch):
    monkeypatch.setattr("weald.estimators.kernel.kernel_selection.MOST_STEPS", 10)
    model = weald.KernelForestClassifier(**FEW, kernel="auto").fit(X, y)
    assert len(model.choice_.tried) == 5
    assert "not tried: gaussian of dtw" in str(model.choice_)


def test_auto_needs_bags_and_numbers():
    with pytest.raises(ParameterError, match="bootstrap=False has none"):
        weald.KernelForestClassifier(kernel="auto", bootstrap=False).fit(X, y)
    with pytest.raises((DataError, DataTypeError)):
        weald.KernelForestClassifier(kernel="auto").fit(["oak", "ash"] * 5, [0, 1] * 5)


def test_a_kernel_is_checked_on_request():
    gaussian = weald.check_kernel(weald.KernelForestClassifier(), X)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    assert gaussian.is_kernel
    assert weald.check_kernel(weald.KernelForestClassifier(gamma=1.0), X).smallest_eigenvalue == pytest.approx(
        np.linalg.eigvalsh(K)[0], abs=1e-12
    )
    with pytest.warns(UserWarning, match="tanh"):
        tanh = weald.check_kernel(weald.KernelForestClassifier(kernel="tanh", gamma=1.0, coef0=-1.0), X)
    assert not tanh.is_kernel
    assert "smallest eigenvalue" in tanh.reason
    lopsided = weald.check_kernel(weald.KernelForestClassifier(kernel="precomputed"), X @ X.T + np.arange(90))
    assert "not symmetric" in str(lopsided)


def test_pruning_keeps_the_prototypes_that_matter_most():
    model = weald.KernelForestClassifier(**FEW, mix=True).fit(X, y)
    pruned = model.prototypes_.prune(X, y, n=10)
    best = np.argsort(-model.prototypes_.importances, kind="stable")[:10]
    assert {tuple(row) for row in pruned.prototypes_.samples} <= {tuple(row) for row in model.prototypes_.samples[best]}
    assert pruned.score(X, y) > 0.9
    curves, phase = curves_of(40, [9, 12])
    by_curve = weald.KernelForestRegressor(**FEW).fit(curves, phase)
    assert len(by_curve.prototypes_.prune(curves, phase, n=0.2).prototypes_) <= 8


def test_what_knows_nothing_of_kernels_says_what_to_do_instead():
    model = weald.KernelForestClassifier(**FEW).fit(X, y)
    for method in model.to_c, model.to_onnx, model.to_sklearn, model.compile, model.report:
        with pytest.raises(weald.ExportError, match=r"plain_forest\(\)"):
            method()
    with pytest.raises(ParameterError, match=r"prototypes_\.prune"):
        weald.importance(model, X, y, kind="drop_column")
    with pytest.raises(ParameterError, match=r"prototypes_\.prune"):
        weald.select_features(model, X, y)
    with pytest.raises(ParameterError, match="Give a kernel here"):
        weald.tune(weald.KernelForestClassifier(kernel="auto"), X, y)
    plain = model.prototypes_.plain_forest()
    assert np.array_equal(plain.predict_proba(model.prototypes_.kernel_matrix(X)), model.predict_proba(X))
    assert "forest_predict" in plain.to_c(check=False).model


@pytest.mark.parametrize("kind", ["permutation_forest", "conditional", "local", "mdi", "debiased_mdi"])
def test_importances_are_those_of_prototypes(kind):
    model = weald.KernelForestClassifier(**FEW, n_prototypes=12).fit(X, y)
    found = weald.importance(model, X, y, kind=kind)
    assert found.names == tuple(model.prototypes_.column_names)


def test_parameters_are_tuned():
    tuned = weald.tune(weald.KernelForestClassifier(**FEW, n_prototypes=12), X, y, budget=3)
    assert tuned.best_estimator.n_prototypes == 12


@pytest.mark.parametrize(
    ("words", "samples"),
    [
        ({"mix": False}, X),
        ({"mix": True, "oob_score": True}, X),
        ({"kernel": "auto"}, X),
        ({"distance": "dtw"}, [row[: 2 + i % 2] for i, row in enumerate(X)]),
        ({}, [(np.arange(2.0 + i % 2), row[: 2 + i % 2]) for i, row in enumerate(X)]),
        ({"kernel": "precomputed"}, X @ X.T),
    ],
    ids=["vectors", "mix", "auto", "curves", "times", "precomputed"],
)
def test_a_file_brings_back_the_same_model(words, samples, tmp_path):
    model = weald.KernelForestClassifier(**FEW, **words).fit(samples, y)
    model.save(tmp_path / "model.weald")
    loaded = weald.load(tmp_path / "model.weald")
    assert prints(loaded) == prints(model)
    assert np.array_equal(loaded.predict_proba(samples), model.predict_proba(samples))
    assert np.array_equal(
        loaded.out_of_bag(samples, y).probabilities, model.out_of_bag(samples, y).probabilities, equal_nan=True
    )
    pruned = loaded.prototypes_.prune(samples, y, n=5)
    pruned.save(tmp_path / "pruned.weald")
    assert np.array_equal(weald.load(tmp_path / "pruned.weald").predict(samples), pruned.predict(samples))


def test_a_function_is_not_written_to_a_file(tmp_path):
    model = weald.KernelForestClassifier(**FEW, kernel=overlap).fit(["oak", "ash", "elm"] * 3, [0, 1, 0] * 3)
    with pytest.raises(weald.WealdError, match=r"function cannot be written to a .weald file"):
        model.save(tmp_path / "model.weald")


def is_refused(model, file, monkeypatch):
    """Check that a model is neither saved nor, if it was saved without a check, loaded."""
    with pytest.raises(weald.WealdError, match="cannot be saved"):
        model.save(file)
    assert not file.exists()
    with monkeypatch.context() as patch:
        patch.setattr("weald.io.files._check_notes", lambda *_: None)
        model.save(file)
    with pytest.raises(weald.WealdError, match="cannot be read"):
        weald.load(file)
    file.unlink()


def test_a_file_with_pairs_of_prototypes_that_are_not_there_is_refused(tmp_path, monkeypatch):
    model = weald.KernelForestClassifier(**FEW, mix=True).fit(X, y)
    for wrong in (model._kept_.pairs + 1, model._kept_.pairs[:, :1], model._kept_.pairs[1:], np.zeros(())):
        model._kept_ = replace(model._kept_, pairs=wrong)
        is_refused(model, tmp_path / "model.weald", monkeypatch)


@pytest.mark.parametrize("spoil", ["_columns_", "_kept_", "kernel_", "prototype_rows_", "sample_kind_", "_n_columns_"])
def test_a_file_whose_parts_do_not_fit_is_refused(spoil, tmp_path, monkeypatch):
    model = weald.KernelForestClassifier(**FEW).fit(X, y)
    other = weald.KernelForestClassifier(**FEW, n_prototypes=9).fit(X, y)
    wrong = {"sample_kind_": "curves", "kernel_": replace(model.kernel_, distance="l3")}
    setattr(model, spoil, wrong.get(spoil, getattr(other, spoil)))
    is_refused(model, tmp_path / "model.weald", monkeypatch)
