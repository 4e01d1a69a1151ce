"""Every kind of importance, compared with an independent computation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.pipeline import make_pipeline

import weald
from weald.data.table import TrainingArguments
from weald.engines.reference import permutation
from weald.estimators.training_data import read_again
from weald.inspection.conditional import Cells, rank_correlation
from weald.inspection.importance import KINDS
from weald.inspection.importance_request import group_features
from weald.inspection.mdi import add_decreases

RNG = np.random.default_rng(6)
N = 150
X = RNG.normal(size=(N, 5))
X[:, 3] = RNG.integers(0, 2, N)
X[:, 4] = X[:, 0] + 0.3 * RNG.normal(size=N)
SIGNAL = X[:, 0] + X[:, 1] + 0.3 * RNG.normal(size=N)
CLASSES = np.digitize(SIGNAL, [-0.7, 0.7])
MODELS = {
    "classes": (weald.RandomForestClassifier(30, random_state=3).fit(X, CLASSES), CLASSES),
    "numbers": (weald.RandomForestRegressor(30, random_state=3).fit(X, SIGNAL), SIGNAL),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    return MODELS[request.param]


def loss(model, y, predicted):
    return (predicted != y).astype(float) if hasattr(model, "classes_") else (predicted - y) ** 2


def is_new_to(model, y):
    return read_again(model, TrainingArguments(X, y)).out_of_bag(range(model.forest_.n_trees))


# ---------------------------------------------------------------------------------------------------- all the kinds


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree_on_every_kind(kind, fitted):
    model, y = fitted
    slow = model.__class__(**{**model.get_params(), "n_estimators": 3, "engine": "reference"}).fit(X[:50], y[:50])
    fast = model.__class__(**{**model.get_params(), "n_estimators": 3, "n_jobs": 3}).fit(X[:50], y[:50])
    expected, found = (weald.importance(m, X[:50], y[:50], kind=kind, n_null=1) for m in (slow, fast))
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.std_error, expected.std_error)
    np.testing.assert_array_equal(found.p_value, expected.p_value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_features_that_matter_come_first(kind, fitted):
    model, y = fitted
    result = weald.importance(model, X, y, kind=kind, groups={"pair": [0, 4], "one": [1], "noise": [2], "two": [3]})
    assert set(result.order()[:2].tolist()) == {0, 1}
    assert "feature" in repr(result)
    assert result.kind == kind


# ------------------------------------------------------------------------------------------------- the forest's level


def test_the_forest_is_judged_on_its_out_of_bag_votes(fitted):
    model, y = fitted
    training = read_again(model, TrainingArguments(X, y))
    order, is_new = training.order(), is_new_to(model, y)

    def losses(table):
        answers = [tree.predict_proba(table) if hasattr(model, "classes_") else tree.predict(table)
                   for tree in model.estimators_]  # fmt: skip
        known = is_new.reshape(is_new.shape + (1,) * (np.ndim(answers) - 2))
        mean = np.sum(np.where(known, answers, 0), axis=0) / known.sum(axis=0)
        return loss(model, y, mean.argmax(axis=1) if hasattr(model, "classes_") else mean)

    expected = []
    for f in range(5):
        sources = permutation.shuffle_rows([0] * N, model.seed_, 2**32 - 1, f, 0)
        permuted = X.copy()
        permuted[order, f] = X[order[sources], f]
        expected.append(losses(permuted) - losses(X))
    known = is_new.any(axis=0)
    expected = np.array(expected).T[known]
    result = weald.importance(model, X, y, kind="permutation_forest")
    np.testing.assert_allclose(result.values, expected.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.std_error, expected.std(axis=0, ddof=1) / np.sqrt(known.sum()), rtol=1e-9)


def test_on_new_rows_it_is_what_scikit_learn_estimates(fitted):
    model, _ = fitted
    x = RNG.normal(size=(400, 5))
    y = x[:, 0] + x[:, 1]
    is_classes = hasattr(model, "classes_")
    y = np.digitize(y, [-0.7, 0.7]) if is_classes else y
    ours = weald.importance(model, x, y, kind="permutation_forest", rows="new", n_repeats=20)
    scoring = "accuracy" if is_classes else "neg_mean_squared_error"
    theirs = permutation_importance(model, x, y, n_repeats=20, scoring=scoring, random_state=0)
    noise = 4 * theirs.importances_std / np.sqrt(20) * np.sqrt(2) + 1e-12
    assert (np.abs(ours.values - theirs.importances_mean) <= noise).all()


def test_new_rows_need_not_have_all_classes():
    model, _ = MODELS["classes"]
    some = CLASSES > 0
    result = weald.importance(model, X[some], CLASSES[some], rows="new")
    assert len(result.values) == 5
    with pytest.raises(weald.DataError, match="class 7"):
        weald.importance(model, X, np.full(N, 7), rows="new")


# -------------------------------------------------------------------------------------------------------------- rows


def test_local_importance_is_the_mean_over_the_trees_that_have_not_seen_a_row(fitted):
    model, y = fitted
    training = read_again(model, TrainingArguments(X, y))
    order, is_new = training.order(), is_new_to(model, y)
    lost = np.full((30, N, 5), np.nan)
    for t, tree in enumerate(model.estimators_):
        rows = order[is_new[t, order]]
        for f in range(5):
            sources = permutation.shuffle_rows([0] * len(rows), model.seed_, t, f, 0)
            permuted = X[rows]
            permuted[:, f] = X[rows][sources, f]
            lost[t, rows, f] = loss(model, y[rows], tree.predict(permuted)) - loss(
                model, y[rows], tree.predict(X[rows])
            )
    known = is_new.sum(axis=0) > 1
    result = weald.importance(model, X, y, kind="local")
    assert result.values.shape == (N, 5)
    np.testing.assert_allclose(result.values[known], np.nanmean(lost[:, known], axis=0), rtol=1e-9, atol=1e-12)
    spread = np.nanstd(lost[:, known], axis=0, ddof=1) / np.sqrt(is_new.sum(axis=0)[known])[:, None]
    np.testing.assert_allclose(result.std_error[known], spread, rtol=1e-6, atol=1e-7)
    row = int(np.flatnonzero(known)[0])
    np.testing.assert_array_equal(result.row(row).values, result.values[row])


def test_rows_without_weight_have_no_local_importance():
    weight = RNG.integers(0, 3, N)
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, SIGNAL, weight)
    result = weald.importance(model, X, SIGNAL, kind="local", sample_weight=weight)
    assert result.values.shape == (N, 5)
    assert np.isnan(result.values[weight == 0]).all()


# ------------------------------------------------------------------------------------------------------- conditional


def test_rank_correlation_is_spearmans():
    model, y = MODELS["numbers"]
    expected = pd.DataFrame(X).corr(method="spearman").to_numpy()
    np.testing.assert_allclose(rank_correlation(read_again(model, TrainingArguments(X, y))), expected, atol=1e-12)


def test_cells_lie_between_cuts_of_the_correlated_features(fitted):
    model, y = fitted
    training = read_again(model, TrainingArguments(X, y))
    cells = Cells(training, group_features(None, list("abcde")))
    assert [partners.tolist() for partners in cells.partners] == [[4], [], [], [], [0]]
    is_new = is_new_to(model, y)[2:4]
    found = cells.of_trees(range(2, 4), is_new)
    assert (found[:, 1:4] == 0).all()
    for t in range(2):
        rows = np.flatnonzero(is_new[t])
        of_row, values = found[t, 0, rows], X[rows, 4]
        tree = model.estimators_[2 + t].tree_
        cuts = tree.threshold[tree.feature == 4]
        n_cells = len(np.unique(of_row))
        assert n_cells > 1
        assert len(rows) >= 10 * n_cells
        ends = sorted((values[of_row == cell].min(), values[of_row == cell].max()) for cell in np.unique(of_row))
        for (_, high), (low, _) in itertools.pairwise(ends):
            assert ((cuts >= high) & (cuts < low)).any()


def test_a_feature_that_only_goes_with_one_that_matters_loses_its_importance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 3))
    x[:, 1] = x[:, 0] + 0.3 * rng.normal(size=600)
    forest = weald.RandomForestRegressor(50, random_state=0, min_samples_leaf=5).fit(x, x[:, 0])
    plain, inside = (weald.importance(forest, x, x[:, 0], kind=kind).values for kind in ("permutation", "conditional"))
    assert inside[1] < 0.25 * plain[1]
    assert inside[0] > 2 * inside[1]


# ---------------------------------------------------------------------------------------------------------- dropping


def test_dropping_a_column_compares_out_of_bag_errors(fitted):
    model, y = fitted
    result = weald.importance(model, X, y, kind="drop_column", groups={"pair": [0, 4], "noise": ["x2"]})
    for value, left_out in zip(result.values, ([0, 4], [2]), strict=True):
        rest = [f for f in range(5) if f not in left_out]
        m = min(model.growth_.max_features, len(rest))
        smaller = model.__class__(30, random_state=3, max_features=m).fit(X[:, rest], y)
        known = smaller.out_of_bag(X[:, rest], y).error - model.out_of_bag(X, y).error
        assert value == pytest.approx(known)
    assert result.p_value is None


def test_one_feature_cannot_be_dropped():
    model = weald.RandomForestRegressor(5, random_state=0).fit(X[:, :1], SIGNAL)
    with pytest.raises(weald.ParameterError, match="no feature is left"):
        weald.importance(model, X[:, :1], SIGNAL, kind="drop_column")


# ---------------------------------------------------------------------------------------------------------- impurity


def test_mdi_is_what_feature_importances_say(fitted):
    model, y = fitted
    result = weald.importance(model, X, y, kind="mdi")
    np.testing.assert_array_equal(result.values, model.feature_importances_)
    of_trees = np.array([tree.feature_importances_ for tree in model.estimators_])
    np.testing.assert_allclose(result.std_error, of_trees.std(axis=0, ddof=1) / np.sqrt(30))
    grouped = weald.importance(model, X, y, kind="mdi", groups={"a": [0, 4], "b": [1]})
    np.testing.assert_allclose(grouped.values, [result.values[0] + result.values[4], result.values[1]])


def test_the_p_value_of_mdi_counts_forests_from_mixed_targets():
    model, y = MODELS["classes"]
    result = weald.importance(model, X, y, kind="mdi", n_null=9)
    assert result.p_value[1] == 0.1
    assert set(result.p_value) <= {n / 10 for n in range(1, 11)}
    assert result.p_value[2:4].min() > 0.1
    assert "Altmann" in result.methods["p_value"]


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_on_the_rows_of_the_bag_debiased_mdi_is_mdi(class_weight):
    """The identity behind it: over training rows, the value of a split is the decrease of the Gini impurity."""
    model = weald.RandomForestClassifier(3, random_state=1, class_weight=class_weight).fit(X, CLASSES)
    check_identity(model, CLASSES, CLASSES, None if class_weight is None else N / (3 * np.bincount(CLASSES))[CLASSES])


def test_the_same_holds_for_the_variance():
    check_identity(weald.RandomForestRegressor(3, random_state=1).fit(X, SIGNAL), SIGNAL, SIGNAL, None)


def check_identity(model, y, target, weight):
    bags = read_again(model, TrainingArguments(X, y)).bags(range(3))
    for t in range(3):
        tree, rows = model.forest_.take([t]), np.flatnonzero(bags[t])
        sums = np.zeros((len(rows), 5))
        add_decreases(sums, tree, model.apply(X)[rows, t], target[rows], np.arange(5))
        by_draws = bags[t, rows] * (1 if weight is None else weight[rows])
        split = np.flatnonzero(tree.feature >= 0)
        decrease = np.ldexp(tree.decrease[split], -2 * tree.target_exponent)
        expected = np.bincount(tree.feature[split], weights=decrease, minlength=5)
        np.testing.assert_allclose(np.average(sums, axis=0, weights=by_draws), expected, rtol=1e-5, atol=1e-12)


def test_debiased_mdi_is_the_worth_of_cuts_to_new_rows(fitted):
    """Row by row and node by node, as in the paper (targets minus the mean of the root)."""
    model, y = fitted
    is_new = is_new_to(model, y)
    targets = np.eye(3)[y] if hasattr(model, "classes_") else y[:, None]
    expected = []
    for t, tree in enumerate(model.estimators_):
        means = tree.tree_.value[:, 0, :]
        path = tree.decision_path(X[is_new[t]]).toarray()
        of_tree = np.zeros((len(path), 5))
        for i, (marks, row) in enumerate(zip(path, targets[is_new[t]], strict=True)):
            nodes = np.flatnonzero(marks)
            for node, child in itertools.pairwise(nodes):
                of_tree[i, tree.tree_.feature[node]] += (row - means[0]) @ (means[child] - means[node])
        expected.append(of_tree.mean(axis=0))
    result = weald.importance(model, X, y, kind="debiased_mdi")
    np.testing.assert_allclose(result.by_tree, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.values, np.mean(expected, axis=0), rtol=1e-9, atol=1e-12)


def test_debiased_mdi_does_not_favor_many_values():
    plain, debiased = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300)])
        y = (0.3 * x[:, 0] + rng.random(300) > 0.65).astype(int)
        model = weald.RandomForestClassifier(30, random_state=seed).fit(x, y)
        plain.append(weald.importance(model, x, y, kind="mdi").values)
        debiased.append(weald.importance(model, x, y, kind="debiased_mdi").values)
    signal, noise = np.mean(plain, axis=0)
    assert noise > 2 * signal  # since it has many values
    signal, noise = np.mean(debiased, axis=0)
    assert abs(noise) < 0.1 * signal


# ----------------------------------------------------------------------------------------------------------- warnings


def test_many_values_and_correlation_are_pointed_out():
    model, y = MODELS["classes"]
    (words,) = weald.importance(model, X, y, kind="mdi").warnings
    assert "x0 has 150 distinct values, x3 has 2" in words
    (words,) = weald.importance(model, X, y).warnings
    assert "x0 and x4 (0.9" in words
    assert weald.importance(model, X, y, groups={"pair": [0, 4], "other": [1]}).warnings == ()
    assert weald.importance(model, X, y, kind="conditional").warnings == ()


# ------------------------------------------------------------------------------------------------------------ results


def test_a_result_is_a_table():
    model, y = MODELS["classes"]
    result = weald.importance(model, X, y, names=list("abcde"))
    frame = result.to_frame("pandas")
    assert list(frame.columns) == ["feature", "importance", "std_error", "p_value"]
    assert frame["feature"].iloc[0] == "abcde"[result.values.argmax()]
    assert frame["importance"].is_monotonic_decreasing
    assert result.to_frame("polars").shape == (5, 4)
    assert weald.importance(model, X, y, kind="local").to_frame("pandas").shape == (N, 5)
    assert repr(result).splitlines()[2].startswith(frame["feature"].iloc[0])


def test_names_come_from_the_training_table():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = weald.RandomForestRegressor(5, random_state=0).fit(frame, SIGNAL)
    assert weald.importance(model, frame, SIGNAL, groups={"both": ["a", "e"]}).names == ("both",)
    assert weald.importance(model, frame, SIGNAL, kind="drop_column").names == tuple("abcde")


def test_categories_are_mixed_too():
    rng = np.random.default_rng(0)
    kinds = rng.choice(["ash", "beech", "oak", "yew"], 200)
    frame = pd.DataFrame({"kind": pd.Categorical(kinds), "noise": rng.normal(size=200)})
    y = np.isin(kinds, ["ash", "yew"]).astype(int)
    found = []
    for engine in ("native", "reference"):
        model = weald.RandomForestClassifier(4, random_state=0, engine=engine).fit(frame, y)
        found.append([weald.importance(model, frame, y, kind=kind).values for kind in ("permutation", "debiased_mdi")])
    np.testing.assert_array_equal(*found)
    assert found[0][0][0] > 0.3
    assert abs(found[0][0][1]) < 0.1
    chosen = weald.select_features(model, frame, y, folds=0)
    assert chosen.support_.tolist() == [True, False]
    neighbors = model.neighbors(frame, y)
    np.testing.assert_allclose(neighbors.weights(frame) @ np.eye(2)[y], model.predict_proba(frame), atol=1e-13)


def test_a_result_can_be_drawn():
    pytest.importorskip("matplotlib").use("agg")
    model, y = MODELS["classes"]
    axes = weald.importance(model, X, y).plot()
    assert len(axes.patches) == 5
    assert axes.get_xlabel() == "increase of the misclassification rate"
    assert len(weald.importance(model, X, y, kind="local").row(0).plot(most=2).patches) == 2


def test_only_local_importance_has_rows():
    model, y = MODELS["classes"]
    with pytest.raises(weald.ParameterError, match="no rows"):
        weald.importance(model, X, y).row(0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rows": "new", "kind": "drop_column"}, "rows='new' is not allowed with kind='drop_column'"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"n_null": -1}, "n_null=-1"),
        ({"groups": {}}, "must not be empty"),
    ],
)
def test_what_cannot_be_asked_is_refused(given, words):
    model, y = MODELS["classes"]
    with pytest.raises(weald.ParameterError, match=words):
        weald.importance(model, X, y, **given)


def test_a_sparse_table_that_cannot_be_written_out_is_refused(monkeypatch):
    model, y = MODELS["classes"]
    monkeypatch.setattr("weald.estimators.training_data.MOST_BYTES", 8 * X.size - 1)
    with pytest.raises(weald.DataError, match="Use feature_importances_"):
        weald.importance(model, sparse.csr_array(X), y)


# -------------------------------------------------------------------------------------------------- feature selection


def test_few_features_are_enough(fitted):
    model, y = fitted
    chosen = weald.select_features(model, X, y, folds=3)
    assert chosen.support_[1]
    assert chosen.support_.sum() < 5
    assert chosen.transform(X).shape == (N, chosen.support_.sum())
    assert [len(step.features) for step in chosen.path_] == [5, 4, 3, 2, 1]
    assert chosen.forest_.n_features_in_ == chosen.support_.sum()


def test_errors_of_the_path_are_out_of_bag_errors_of_forests_grown_anew(fitted):
    model, y = fitted
    chosen = weald.select_features(model, X, y, folds=0)
    assert np.isnan(chosen.honest_error_)
    for step in chosen.path_:
        columns = X[:, list(step.features)]
        smaller = model.__class__(30, random_state=3).fit(columns, y)
        assert step.error == pytest.approx(smaller.out_of_bag(columns, y).error)
    best = min(step.error for step in chosen.path_)
    assert chosen.oob_error_ <= best + max(step.std_error for step in chosen.path_)


def test_the_honest_error_sees_through_chosen_noise():
    """Among 300 noise features, the best of them look good on the rows that selected them."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(60, 300)), np.arange(60) % 2
    forest = weald.RandomForestClassifier(100, random_state=0)
    chosen = weald.select_features(forest, x, y, n_features=5, folds=5)
    assert chosen.oob_error_ < 0.35
    assert chosen.honest_error_ > chosen.oob_error_ + 0.1


def test_folds_and_bags_hold_whole_groups():
    """Five near copies of each row: only with groups are the rows of a fold new."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(40, 3)), 5, axis=0) + 0.001 * rng.normal(size=(200, 3))
    visits = np.repeat(np.arange(40), 5)
    for y in (np.repeat(rng.integers(0, 2, 40), 5), np.repeat(rng.normal(size=40), 5)):
        kind = weald.RandomForestClassifier if y.dtype == int else weald.RandomForestRegressor
        naive = weald.select_features(kind(30, random_state=0), x, y, folds=2)
        honest = weald.select_features(kind(30, random_state=0), x, y, folds=2, groups=visits, stratify=visits % 2)
        assert naive.honest_error_ < 0.2 * np.var(y)
        assert honest.honest_error_ > 0.7 * np.var(y)
        assert honest.oob_error_ > 0.7 * np.var(y)


def test_it_is_a_step_of_a_pipeline():
    frame = pd.DataFrame(X, columns=list("abcde"))
    selector = weald.select_features(MODELS["classes"][0], frame, CLASSES, n_features=2, folds=0)
    assert selector.get_feature_names_out().tolist() == frame.columns[selector.support_].tolist()
    pipeline = make_pipeline(selector, weald.RandomForestClassifier(5, random_state=0)).fit(frame, CLASSES)
    assert accuracy_score(CLASSES, pipeline.predict(frame)) > 0.9


def test_scikit_learns_own_selector_works_too(fitted):
    model, y = fitted
    selector = SelectFromModel(model, max_features=3, threshold=-np.inf).fit(X, y)
    assert set(np.flatnonzero(selector.get_support())) == {0, 1, 4}
    predicted = make_pipeline(selector, model).fit(X, y).predict(X)
    assert mean_squared_error(y, predicted) < y.var()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_features": 6}, "n_features=6"),
        ({"n_features": 0}, "n_features=0"),
        ({"drop": 1.0}, "drop=1.0"),
        ({"folds": 1}, "folds=1"),
        ({"kind": "local"}, "kind='local'"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(given, words):
    model, y = MODELS["classes"]
    with pytest.raises(weald.ParameterError, match=words):
        weald.select_features(model, X, y, **given)


def test_new_rows_are_read_with_the_categories_of_the_fit():
    rng = np.random.default_rng(0)
    tree = rng.choice(["ash", "beech", "elm", "oak"], 400)
    X = pd.DataFrame({"tree": tree, "noise": rng.normal(size=400)})
    y = np.isin(tree, ["beech", "oak"])
    forest = weald.RandomForestClassifier(20, max_features=None, random_state=0).fit(X, y)
    new = X[X["tree"] != "ash"]  # otherwise the remaining trees would be numbered 0, 1, 2
    found = weald.importance(forest, new, y[new.index], rows="new", kind="permutation_forest")
    assert found.values[0] > 0.3
    weights = np.where(new["tree"] == "elm", 0.0, 1.0)  # rows without weight are left out
    weighted = weald.importance(forest, new, y[new.index], sample_weight=weights, rows="new", kind="permutation_forest")
    assert weighted.values[0] == 0  # beech and oak are of one class


def test_an_unknown_argument_is_refused_by_name(fitted):
    model, y = fitted
    with pytest.raises(TypeError, match=r"importance\(\) got an unexpected keyword argument 'weights'"):
        weald.importance(model, X, y, weights=y)
    with pytest.raises(weald.ParameterError, match=r'fit_params has the name .group.\. Give "groups" and "stratify"'):
        weald.importance(model, X, y, fit_params={"group": y})


def test_leaving_out_a_constant_of_all_features_changes_nothing_not_even_by_rounding():
    x = np.random.default_rng(0).normal(size=60)
    X, weight = np.column_stack([x, np.ones(60)]), np.random.default_rng(1).random(60)
    y = (x > 0.3).astype(int)
    forest = weald.RandomForestClassifier(20, max_features=None, random_state=0).fit(X, y, weight)
    found = weald.importance(forest, X, y, sample_weight=weight, kind="drop_column")
    assert found.values[1] == 0.0
    assert found.values[0] > 0.0
