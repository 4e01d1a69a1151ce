"""Zeros: rows that hash to 0, weights of 0, and classes without rows.

The finaliser of splitmix64 leaves 0 as it is. In a table of one column, a row of the lowest code and the first class
has the hash 0 and the target 0.
"""

from dataclasses import replace

import numpy as np
import pytest

import weald
from tests.laws.cases import (
    CORES,
    CRITERIA,
    ENGINES,
    REFERENCE,
    Case,
    assert_same,
    fingerprint,
    grow,
    hold_against_definition,
    is_of_classes,
    make_growth,
    make_table,
    outcome,
    take_rows,
)
from weald import DataError, FormatError, ParameterError

pytestmark = pytest.mark.sanitize

each = pytest.mark.parametrize("criterion", CRITERIA)
each_of_classes = pytest.mark.parametrize("criterion", [c for c in CRITERIA if is_of_classes(c)])
both = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
by_name = pytest.mark.parametrize("engine", ENGINES)


# --------------------------------------------------------------------------------------------------- hashes that are 0


def table_of_zeros(of_classes, weights="none"):
    """Make a table of one column in which many rows have the lowest code and the first class, or the target 0.0."""
    table = make_table(24, ("binary",), 2 if of_classes else 0, weights=weights)
    target = np.arange(24) // 3 % 2
    X = (np.arange(24) % 2)[:, np.newaxis].astype(float)
    return replace(table, X=X, target=target.astype(table.target.dtype))


@both
@each
def test_rows_that_hash_to_zero_count_in_the_rank_of_their_group(criterion, engine):
    table = replace(table_of_zeros(is_of_classes(criterion)), groups=np.array([0, 1, 1, 2, 2, 2] * 4, dtype=np.int32))
    table = replace(table, groups=(table.groups + 3 * (np.arange(24) // 6)).astype(np.int32))
    growth = make_growth(table, criterion, n_draws=12, strata="none", draws=(12,))
    case = Case(table, replace(growth, n_draws=36), n_trees=4)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(24)
        shuffled = replace(take_rows(table, order), groups=table.groups[order])
        assert fingerprint(engine, case.on(shuffled)) == fingerprint(engine, case)


@by_name
def test_the_order_of_rows_with_groups_does_not_matter_in_a_table_of_one_value(engine):
    X, y, groups = np.zeros((3, 1)), np.array([1, 1, 0]), np.array([1, 0, 0])

    def fit(order):
        model = weald.RandomForestClassifier(3, random_state=0, engine=engine)
        return model.fit(X[order], y[order], groups=groups[order]).forest_.fingerprint()

    assert fit([2, 1, 0]) == fit([0, 1, 2])


@both
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("of_classes", [True, False])
def test_the_fingerprints_of_data_see_every_row(of_classes, weights, engine):
    table = table_of_zeros(of_classes, weights)

    def prints(rows):
        codes = engine.code(take_rows(table, rows), 65_535, 1, None)
        return codes.fingerprint, codes.values

    whole = prints(np.arange(24))
    for row in range(24):
        for other in (prints(np.delete(np.arange(24), row)), prints(np.append(np.arange(24), row))):
            assert other[0] != whole[0]
            assert other[1] != whole[1]


@by_name
def test_a_table_with_more_rows_of_zeros_is_other_data(engine, tmp_path):
    X, y = np.array([[0.0], [1.0], [0.0], [1.0], [1.0], [0.0]] * 5), np.array([0, 1, 1, 1, 0, 0] * 5)
    more = np.vstack([X, np.zeros((30, 1))]), np.append(y, np.zeros(30, dtype=int))
    model = weald.RandomForestClassifier(5, random_state=0, max_samples=20, engine=engine)
    model.fit(X, y, checkpoint=tmp_path)
    with pytest.raises(DataError):
        model.out_of_bag(*more)
    with pytest.raises(FormatError, match="the table differs"):
        model.fit(*more, checkpoint=tmp_path)


# ------------------------------------------------------------------------------------------------ class weights of zero


def class_case(criterion, class_weights, **given):
    n_classes = len(class_weights)
    table = make_table(50, ("rounded", "few", "many"), n_classes, weights=given.pop("weights", "none"), missing=0.1)
    growth = make_growth(table, criterion, class_weight="given", class_weights=class_weights, **given)
    return Case(table, growth, n_trees=6)


WAYS = {
    "bags": {},
    "no bags": {"bootstrap": False},
    "small bags": {"n_draws": 2},
    "bags of one row": {"n_draws": 1},
    "whole weights": {"weights": "whole"},
    "whole weights, no bags": {"weights": "whole", "bootstrap": False},
    "fixed point": {"weights": "fractional", "bootstrap": False},
    "fractions, bags": {"weights": "fractional", "n_draws": 3},
    "few leaves": {"max_leaf_nodes": 3, "n_draws": 2},
    "random cuts": {"random_cuts": True, "n_draws": 3},
}
each_way = pytest.mark.parametrize("way", WAYS)


@each_way
@each_of_classes
def test_engines_agree_where_class_weights_are_zero(criterion, way):
    for class_weights in [(0.0, 1.0), (1.0, 0.0), (0.0, 2.0, 0.0), (1.0, 0.0, 3.0, 0.5), (0.0, 0.0)]:
        case = class_case(criterion, class_weights, **WAYS[way])
        hold_against_definition(case)
        if len(class_weights) == 2 and not case.growth.random_cuts:
            hold_against_definition(replace(case, growth=replace(case.growth, monotonic=(1, 0, -1))))


@both
@each_way
@each_of_classes
def test_rows_of_classes_of_weight_zero_are_in_no_tree(criterion, way, engine):
    case = class_case(criterion, (1.0, 0.0, 3.0), **WAYS[way])
    codes = engine.code(case.table, case.max_bins, 1, None)
    forest = engine.grow(codes, case.growth, case.seed, 0, case.n_trees, 1, None)
    bags = engine.bags(codes, case.growth, forest.origins)
    assert 1 not in forest.leaf_class
    assert np.array_equal(forest.size[forest.tree_start[:-1]], bags[:, case.table.target != 1].sum(axis=1))
    plain = replace(case.growth, class_weight="none", class_weights=())
    assert np.array_equal(bags, engine.bags(codes, plain, grow(engine, replace(case, growth=plain)).origins))


@both
@each_of_classes
def test_without_bags_a_class_weight_of_zero_is_a_weight_of_zero_of_the_rows(criterion, engine):
    case = class_case(criterion, (2.0, 0.0, 2.0), bootstrap=False, max_features=3)
    kept = case.table.target != 1
    fewer = replace(take_rows(case.table, kept), n_classes=3)
    plain = replace(case.growth, class_weight="none", class_weights=(), n_draws=fewer.size)
    one = grow(engine, replace(case, max_bins=0))
    other = grow(engine, replace(case, table=fewer, growth=plain, max_bins=0))
    for name in ("feature", "threshold", "right", "flags", "size", "leaf_start", "leaf_class"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.weight, 2.0**20 * other.weight)


def with_empty_bags(engine="auto", **given):
    """Fit a forest some of whose bags have only rows of a class with weight 0."""
    X, y = table_of_rows()
    given = {"n_estimators": 12, "max_samples": 1, "random_state": 0, "class_weight": {"b": 0}, **given}
    return weald.RandomForestClassifier(engine=engine, **given).fit(X, y)


def table_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(1)
    return X, np.array(["a", "b", "c"])[(X[:, 0] > 0) + rng.integers(0, 2, 40)]


@by_name
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_trees_of_empty_bags_have_no_vote(voting, engine):
    X, _ = table_of_rows()
    model = with_empty_bags(engine, voting=voting)
    has_vote = model.forest_.has_vote()
    assert 0 < has_vote.sum() < 12
    voters = weald.merge([model[int(t) : int(t) + 1] for t in np.flatnonzero(has_vote)])
    assert np.array_equal(model.predict_proba(X), voters.predict_proba(X))
    assert np.array_equal(model.predict_votes(X), voters.predict_votes(X))
    assert np.array_equal(model.predict(X), voters.predict(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert not model.predict_proba(X)[:, 1].any()
    assert (model.forest_.leaf_index()[-1]) == 11  # each tree is a single leaf


@by_name
def test_trees_of_empty_bags_have_no_vote_out_of_bag(engine):
    X, y = table_of_rows()
    model = with_empty_bags(engine, max_samples=2, n_estimators=30)
    has_vote = model.forest_.has_vote()
    assert not has_vote.all()
    oob = model.out_of_bag(X, y)
    outside = np.array([[row in oob.rows(tree) for row in range(40)] for tree in range(30)])
    assert np.array_equal(oob.counts, outside[has_vote].sum(axis=0))
    each = np.array([model[t : t + 1].predict_proba(X) for t in np.flatnonzero(has_vote)])
    means = (each * outside[has_vote][:, :, None]).sum(axis=0) / oob.counts[:, None]
    np.testing.assert_allclose(oob.probabilities, means)


def silent_seed(engine):
    """Find a seed whose first bag is empty."""
    for seed in range(100):
        forest = with_empty_bags(engine, n_estimators=8, random_state=seed).forest_
        if not forest.has_vote()[0]:
            return seed
    raise AssertionError


@by_name
@pytest.mark.filterwarnings("ignore:.*are in the bag of every tree")
def test_a_forest_without_a_vote_says_so(engine):
    model = with_empty_bags(engine)
    silent = int(np.flatnonzero(~model.forest_.has_vote())[0])
    X, _ = table_of_rows()
    for ask in (
        lambda tree: tree.predict(X),
        lambda tree: tree.predict_proba(X),
        lambda tree: tree.compile(),
        lambda tree: tree.to_c(),
    ):
        for tree in (model[silent : silent + 1], model.estimators_[silent]):
            with pytest.raises(DataError, match="None of these trees has a vote"):
                ask(tree)
    assert model[silent : silent + 1].apply(X).tolist() == [[0]] * 40
    with pytest.raises(DataError, match="Every bag is empty"):
        with_empty_bags(engine, n_estimators=1, random_state=silent_seed(engine))


@by_name
def test_trees_of_empty_bags_can_be_asked_about(engine):
    X, y = table_of_rows()
    model = with_empty_bags(engine, max_samples=2, n_estimators=30)
    assert not model.forest_.has_vote().all()
    weights = model.neighbors(X, y).weights(X)
    predicted = np.column_stack([weights @ (y == k) for k in model.classes_])
    np.testing.assert_allclose(predicted, model.predict_proba(X))
    assert np.isfinite(model.feature_importances_).all()
    for kind in ("permutation", "permutation_forest", "conditional", "local", "mdi", "debiased_mdi"):
        assert np.isfinite(weald.importance(model, X, y, kind=kind).values).all()
    silent = model.estimators_[int(np.flatnonzero(~model.forest_.has_vote())[0])]
    assert "0 of 0 rows" in silent.export_text()
    assert silent.total_impurity() == 0
    assert silent.training_error() == 0
    assert silent.nodes(frame="dict")["value"][0].tolist() == [0, 0, 0]
    assert np.array_equal(model.compact().predict_proba(X), model.predict_proba(X))


@by_name
def test_a_warm_start_goes_on_with_trees_of_empty_bags(engine):
    X, y = table_of_rows()
    whole = with_empty_bags(engine)
    grown = with_empty_bags(engine, n_estimators=5, warm_start=True)
    grown.set_params(n_estimators=12).fit(X, y)
    assert grown.forest_.fingerprint() == whole.forest_.fingerprint()
    assert whole[:5].forest_.join(whole[5:].forest_).fingerprint() == whole.forest_.fingerprint()


def test_engines_agree_on_several_targets_of_weight_zero():
    X, y = table_of_rows()
    Y = np.column_stack([y, np.where(X[:, 1] > 0, "x", "z")])
    for class_weight in ([{"b": 0}, {}], [{"a": 0}, {"x": 0}]):
        models = [
            weald.RandomForestClassifier(
                12, max_samples=n, class_weight=class_weight, random_state=0, engine=engine, oob_score=True
            ).fit(X, Y)
            for engine in ENGINES
            for n in (1, 30)
        ]
        assert not models[0].forests_[0].has_vote().all()
        for one, other in zip(models[:2], models[2:], strict=True):
            for a, b in zip(one.forests_, other.forests_, strict=True):
                assert a.fingerprint() == b.fingerprint()
            assert np.array_equal(one.predict(X), other.predict(X))
            assert one.oob_score_ == other.oob_score_
            np.testing.assert_array_equal(one.oob_decision_function_, other.oob_decision_function_)
            for shares in one.predict_proba(X):
                np.testing.assert_allclose(shares.sum(axis=1), 1)


@each_of_classes
def test_engines_agree_on_balanced_weights_of_classes_that_no_row_has(criterion):
    table = make_table(40, ("rounded", "few"), 3)
    table = replace(table, target=np.array([0, 2], dtype=np.int32)[table.target % 2])
    for class_weight in ("table", "bag"):
        growth = make_growth(table, criterion, class_weight=class_weight, n_draws=20)
        expected = outcome(REFERENCE, Case(table, growth))
        for engine in CORES.values():
            assert_same(outcome(engine, Case(table, growth)), expected)


# --------------------------------------------------------------------------- classes that only rows of zero weight have


@by_name
@pytest.mark.parametrize(
    "model",
    [
        weald.RandomForestClassifier(4, oob_score=True),
        weald.RandomForestClassifier(4, class_weight="balanced"),
        weald.RandomForestClassifier(4, class_weight="balanced_subsample", bootstrap="balanced"),
        weald.RandomForestClassifier(4, max_samples={"a": 3, "b": 0.5}),
        weald.RandomForestClassifier(4, resampling="boosting", max_depth=2),
        weald.ExtraTreesClassifier(4),
        weald.DecisionTreeClassifier(),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*are in the bag of every tree")
def test_a_class_whose_rows_all_weigh_zero_keeps_its_column(model, engine):
    X, y = table_of_rows()
    for weight in ((y != "b") * 1.0, (y != "b") * 0.3):
        model.set_params(random_state=0, engine=engine).fit(X, y, weight)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.predict_proba(X).shape == (40, 3)
        assert not model.predict_proba(X)[:, 1].any()
        assert set(model.predict(X)) <= {"a", "c"}


@by_name
def test_such_a_class_keeps_its_column_with_several_targets(engine):
    X, y = table_of_rows()
    Y = np.column_stack([y, X[:, 1] > 0])
    model = weald.RandomForestClassifier(3, random_state=0, engine=engine).fit(X, Y, y != "b")
    assert [classes.tolist() for classes in model.classes_] == [["a", "b", "c"], ["False", "True"]]
    assert not model.predict_proba(X)[0][:, 1].any()


@by_name
def test_class_weights_that_leave_no_row_are_refused(engine):
    X, y = table_of_rows()
    model = weald.RandomForestClassifier(3, class_weight={"a": 0, "c": 0}, random_state=0, engine=engine)
    with pytest.raises(ParameterError, match="class_weight is 0 for every class in y"):
        model.fit(X, y, y != "b")
    with pytest.raises(ParameterError, match="class_weight is 0 for every class in y"):
        model.set_params(class_weight={"a": 0, "b": 0, "c": 0}).fit(X, y)
    model.set_params(class_weight={"a": 0, "c": 0}).fit(X, y)
    assert set(model.predict(X)) == {"b"}
