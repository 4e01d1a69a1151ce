"""Categories from the frame to the prediction: text columns are read, split by sets, and matched by label."""

import copy
import dataclasses
import html
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

import weald
from tests.laws.cases import NATIVE, REFERENCE, Case, grow, make_growth
from weald.data.table import Table, read_table
from weald.engines.params import CATEGORY_PENALTY
from weald.errors import DataError
from weald.estimators.prediction import read_rows
from weald.forest.forest import CATEGORICAL, OTHERS_LEFT
from weald.plot import TreeDisplay

N = 240
RNG = np.random.default_rng(4)
COLORS = np.array(["blue", "green", "red", "yellow", "black", "white"])
TOWNS = np.array([f"town {i}" for i in range(40)])
COLOR = COLORS[RNG.integers(0, 6, N)]
TOWN = TOWNS[RNG.integers(0, 40, N)]
SIZE = RNG.normal(size=N)
SIGNAL = np.isin(COLOR, ["red", "black"]) * 2.0 + (np.char.str_len(TOWN) == 6) * SIZE + 0.3 * RNG.normal(size=N)
TARGETS = {
    "two classes": np.where(SIGNAL > 1, "yes", "no"),
    "three classes": np.digitize(SIGNAL, [0.3, 1.6]),
    "numbers": SIGNAL,
}

FRAMES = {
    "pandas categories": lambda c: pd.DataFrame(
        {k: pd.Categorical(v) if v.dtype.kind == "U" else v for k, v in c.items()}
    ),
    "pandas text": pd.DataFrame,
    "pandas objects": lambda c: pd.DataFrame({k: v.astype(object) if v.dtype.kind == "U" else v for k, v in c.items()}),
    "polars text": pl.DataFrame,
    "polars categories": lambda c: pl.DataFrame(c).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "arrow text": pa.table,
    "arrow dictionaries": lambda c: pa.table(
        {k: pa.array(v).dictionary_encode() if v.dtype.kind == "U" else v for k, v in c.items()}
    ),
    "array of objects": lambda c: np.column_stack([v.astype(object) for v in c.values()]),
    "lists": lambda c: [list(row) for row in zip(*(v.tolist() for v in c.values()), strict=True)],
}


def columns(rows=slice(None)):
    return {"color": COLOR[rows], "size": SIZE[rows], "town": TOWN[rows]}


def make_forest(target, **given):
    model = weald.RandomForestRegressor if target == "numbers" else weald.RandomForestClassifier
    return model(5, **{"random_state": 3, **given})


@pytest.fixture(scope="module", params=TARGETS)
def target(request):
    return request.param


@pytest.mark.parametrize("frame", FRAMES)
def test_every_kind_of_frame_gives_the_same_forest_in_both_engines(target, frame):
    expected = make_forest(target).fit(FRAMES["pandas categories"](columns()), TARGETS[target])
    X = FRAMES[frame](columns())
    for engine in ("native", "reference") if frame == "pandas text" else ("native",):
        model = make_forest(target, engine=engine).fit(X, TARGETS[target])
        assert model.forest_.fingerprint() == expected.forest_.fingerprint()
        assert [None if c is None else c.tolist() for c in model.categories_] == [
            sorted(COLORS),
            None,
            sorted(set(TOWN)),
        ]
        assert np.array_equal(model.predict_votes(X), expected.predict_votes(FRAMES["polars text"](columns())))


def test_a_tree_of_categories_says_which_go_where():
    X = pd.DataFrame({"color": ["red", "blue", "green", "red", "blue", "green", "green"]})
    model = weald.DecisionTreeClassifier().fit(X, [1, 0, 1, 1, 0, 1, 1])
    forest = model.forest_
    assert forest.flags[0] == CATEGORICAL
    assert model.categories_[0][forest.category_set(0)].tolist() == ["blue"]  # the lighter child, on the left
    assert not forest.flags[0] & OTHERS_LEFT
    assert model.predict(pd.DataFrame({"color": ["green", "blue", "red"]})).tolist() == [1, 0, 1]


def test_pruning_keeps_the_sets_of_the_splits_that_stay(target):
    X = FRAMES["pandas text"](columns())
    whole = make_forest(target, category_penalty=2.5).fit(X, TARGETS[target])
    pruned = make_forest(target, category_penalty=2.5, ccp_alpha=0.02).fit(X, TARGETS[target])
    assert 0 < len(pruned.forest_.category_start) - 1 < len(whole.forest_.category_start) - 1
    assert pruned.predict(X).shape == (N,)
    first = pruned.forest_.take([0])
    assert first.category_set(0).tolist() == whole.forest_.take([0]).category_set(0).tolist()


# ------------------------------------------------------------------------------------------------------------- splits


def best_subset_score(values, y, n_classes):
    """The best score over all subsets of the categories, with missing values left or right, by exhaustive search."""
    kinds = [*dict.fromkeys(values)]

    def term(side):
        if n_classes:
            counts = np.bincount(side, minlength=n_classes)
            return (counts**2).sum() / counts.sum()
        return side.sum() ** 2 / len(side)

    best = -np.inf
    for bits in range(1, 2 ** len(kinds) - 1):
        goes_left = np.isin(values, [kind for i, kind in enumerate(kinds) if bits >> i & 1])
        best = max(best, term(y[goes_left]) + term(y[~goes_left]))
    return best


def score_of_root(model, y, n_classes):
    forest, n = model.forest_, len(y)
    if n_classes:
        counts = np.bincount(y, minlength=n_classes)
        return forest.decrease[0] * n + (counts**2).sum() / n
    decrease = np.ldexp(forest.decrease[0], -2 * forest.target_exponent)
    return decrease * n + y.sum() ** 2 / n


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("seed", range(12))
def test_no_subset_of_categories_beats_the_one_that_is_found(n_classes, seed, with_missing):
    rng = np.random.default_rng(seed)
    values = np.array([*"abcdefg", "missing" if with_missing else "h"])[rng.integers(0, 8, 40)]
    y = rng.integers(0, 2, 40) if n_classes else np.round(rng.normal(size=40), 1)
    model = weald.DecisionTreeClassifier if n_classes else weald.DecisionTreeRegressor
    X = pd.DataFrame({"kind": [None if v == "missing" else v for v in values]})
    found = score_of_root(model(max_depth=1).fit(X, y), y, n_classes)
    best = best_subset_score(values, y, n_classes)
    # A missing value is treated as a category that may be on either side of every cut.
    assert found == pytest.approx(best, rel=1e-12) if not with_missing else found <= best * (1 + 1e-12)


def impurity_mass(criterion, y):
    """The remaining impurity, times the number of rows, computed with NumPy only."""
    shares = np.unique(y, return_counts=True)[1] / len(y)
    by_name = {
        "gini": lambda: 1 - (shares**2).sum(),
        "entropy": lambda: -(shares * np.log2(shares)).sum(),
        "misclassification": lambda: 1 - shares.max(),
        "squared_error": lambda: np.var(y),
    }
    return len(y) * by_name[criterion]()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification", "squared_error"])
@pytest.mark.parametrize("n_labels", [2, 10, 11, 30])
def test_a_penalty_takes_from_a_gain_what_labels_without_meaning_explain(criterion, n_labels):
    """Random labels explain (labels - 1) / (rows - 1) of the impurity; two are as good as a number.

    Up to ten of them are free.
    """
    rng = np.random.default_rng(n_labels)
    labels, number = rng.permutation(np.arange(N) % n_labels), rng.normal(size=N)
    y = (number + rng.normal(size=N) > 0.4).astype(int) if criterion != "squared_error" else number + rng.normal(size=N)
    X = np.column_stack([labels, number])
    kind = weald.DecisionTreeRegressor if criterion == "squared_error" else weald.DecisionTreeClassifier

    def gain(feature):
        """The decrease of the root with only this feature, times the number of rows."""
        tree = kind(
            criterion=criterion, max_depth=1, categorical_features=[0] if feature == 0 else None, category_penalty=0
        )
        tree.fit(X[:, [feature]], y)
        leaves = tree.apply(X[:, [feature]])
        return impurity_mass(criterion, y) - sum(impurity_mass(criterion, y[leaves == leaf]) for leaf in set(leaves))

    noise = (n_labels - 2) / (N - 1) * impurity_mass(criterion, y) if n_labels > 10 else 0.0
    even = max(0.0, (gain(0) - gain(1)) / noise) if noise else 100.0  # then both are worth the same
    for penalty in (0.0, 0.99 * even, 1.01 * even, 2 * even):
        tree = kind(criterion=criterion, max_depth=1, categorical_features=[0], category_penalty=penalty).fit(X, y)
        wins = gain(0) - penalty * noise > gain(1)
        assert tree.forest_.feature[0] == (0 if wins else 1)


def test_without_a_penalty_the_best_gain_wins(target):
    X, y = FRAMES["pandas text"](columns()), TARGETS[target]
    plain, none, some = (make_forest(target, category_penalty=c, max_features=None).fit(X, y) for c in (0.0, 0, 1.5))
    assert plain.forest_.fingerprint() == none.forest_.fingerprint() != some.forest_.fingerprint()
    assert (some.forest_.feature == 2).sum() < (plain.forest_.feature == 2).sum()  # forty towns


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_cut_that_gains_no_more_than_labels_by_chance_is_none(engine, n_classes):
    """Unique labels explain all training rows and generalize to none: such a tree is a leaf."""
    X = pd.DataFrame({"name": [f"row {i}" for i in range(40)]})
    y = np.arange(40) % (n_classes or 7) if n_classes else np.arange(40.0) % 7
    kind = weald.DecisionTreeClassifier if n_classes else weald.DecisionTreeRegressor
    assert kind(category_penalty=2, engine=engine).fit(X, y).get_n_leaves() == 1
    assert kind(category_penalty=0, engine=engine).fit(X, y).get_n_leaves() > 1
    with_number = X.assign(x=RNG.permutation(40))  # such a column does not count towards max_features
    model = kind(category_penalty=2, max_features=1, engine=engine, random_state=0).fit(with_number, y)
    assert (model.forest_.size[model.forest_.feature == 0] <= 3).all()  # two labels are free


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_an_exclusive_or_of_few_categories_is_learned(engine):
    a, b = np.divmod(np.arange(180) % 36, 6)
    X = pd.DataFrame({"a": COLORS[a], "b": COLORS[b]})
    y = (a + b) % 2
    assert weald.DecisionTreeClassifier(engine=engine).fit(X, y).score(X, y) == 1


def test_the_default_penalty_is_that_of_searched_cuts_for_one_target(target):
    X, y = FRAMES["pandas text"](columns()), TARGETS[target]
    assert make_forest(target).fit(X, y).growth_.category_penalty == CATEGORY_PENALTY
    two = np.column_stack([y, y])
    assert make_forest(target).fit(X, two).growth_.category_penalty == 0
    extra = weald.ExtraTreesRegressor if target == "numbers" else weald.ExtraTreesClassifier
    assert extra(3).fit(X, y).growth_.category_penalty == 0


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("kind", ["forest", "tree", "extra"])
def test_columns_with_few_rows_per_category_are_cut_in_sorted_order(kind, engine, target):
    """A column with more than 10 categories and fewer than 40 rows per category is cut like an ordered categorical."""
    names = np.array([f"name {i:02}" for i in RNG.permutation(np.arange(N) % 30)])
    models = {
        "forest": lambda: make_forest(target, engine=engine),
        "tree": lambda: (weald.DecisionTreeRegressor if target == "numbers" else weald.DecisionTreeClassifier)(
            engine=engine
        ),
        "extra": lambda: (weald.ExtraTreesRegressor if target == "numbers" else weald.ExtraTreesClassifier)(
            4, engine=engine, random_state=0
        ),
    }
    X, y = pd.DataFrame({"name": names, "x": SIZE}), TARGETS[target]
    ordered = X.assign(name=pd.Categorical(names, categories=sorted(set(names)), ordered=True))
    found, expected = models[kind]().fit(X, y), models[kind]().fit(ordered, y)
    assert found.forest_.fingerprint() == expected.forest_.fingerprint()
    assert 0 in found.forest_.feature
    assert len(found.forest_.category_sets) == 0
    X.loc[0, "name"], ordered.loc[0, "name"] = None, None
    assert np.array_equal(found.predict(X), expected.predict(ordered))
    sets = models[kind]().set_params(category_penalty=0).fit(X, y)
    assert len(sets.forest_.category_sets) > 0


@pytest.mark.parametrize("weight", [1, 3])
def test_the_limit_of_categories_counts_copies(target, weight):
    """A weight of 3 is the row three times, also for penalties."""
    X, y = pd.DataFrame({"name": [f"name {i:02}" for i in np.arange(N) % 12], "x": SIZE}), TARGETS[target]
    model = make_forest(target).fit(X, y, sample_weight=np.full(N, float(weight)))
    copies = make_forest(target).fit(pd.concat([X] * weight), np.tile(y, weight))
    assert model.growth_.max_categories == copies.growth_.max_categories == max(10, N * weight // 40)
    assert model.forest_.fingerprint() == copies.forest_.fingerprint()


def test_a_penalty_is_refused_where_it_means_nothing():
    X = pd.DataFrame(columns())
    with pytest.raises(weald.ParameterError, match="category_penalty=1 is for best splits"):
        weald.ExtraTreesRegressor(3, category_penalty=1.0).fit(X, SIGNAL)
    with pytest.raises(weald.ParameterError, match="category_penalty=1 supports one target, but y has 2"):
        weald.RandomForestRegressor(3, category_penalty=1.0).fit(X, np.column_stack([SIGNAL, SIZE]))


def test_two_categories_are_cut_as_numbers_are():
    rng = np.random.default_rng(0)
    truth, x = rng.random(80) < 0.4, rng.normal(size=80)
    y = np.where(truth, x > 0, x > 1)
    as_truth = weald.DecisionTreeClassifier().fit(pd.DataFrame({"truth": truth, "x": x}), y)
    as_number = weald.DecisionTreeClassifier().fit(pd.DataFrame({"truth": truth.astype(int), "x": x}), y)
    assert as_truth.categories_[0].tolist() == [False, True]
    assert as_number.categories_ == [None, None]
    assert sorted(as_truth.forest_.decrease) == sorted(as_number.forest_.decrease)
    assert (as_truth.predict(pd.DataFrame({"truth": truth, "x": x})) == y).all()


def test_a_category_that_a_node_did_not_see_goes_to_the_heavier_child():
    X = pd.DataFrame({"x": [0] * 4 + [1] * 5, "kind": list("aabb") + list("cdddd")})
    model = weald.DecisionTreeRegressor().fit(X, [0.0, 0.0, 1.0, 1.0, 10.0, 12.0, 12.0, 12.0, 12.0])
    assert model.forest_.feature.tolist() == [0, 1, -1, -1, 1, -1, -1]
    # The node of x = 1 has c once and d four times; a occurs only in predictions.
    assert model.predict(pd.DataFrame({"x": [1], "kind": ["a"]})).tolist() == [12.0]


def test_a_hundred_thousand_categories_work():
    n = 100_000
    X = pd.DataFrame({"name": [f"name {i}" for i in range(n)], "x": np.arange(n) % 7})
    y = np.arange(n) % 3 == 0
    model = weald.RandomForestClassifier(2, random_state=0, max_features=None, category_penalty=0)
    with pytest.warns(UserWarning, match="a category for nearly each of them"):
        model.fit(X, y)
    assert len(model.categories_[0]) == n
    forest = model.forest_
    assert len(forest.category_sets) <= n  # a set contains only the lighter child
    in_bag = model.predict_proba(X)[:, 1]
    assert np.corrcoef(in_bag, y)[0, 1] > 0.6


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("n_categories", [60, 70, 700, 40_000])
def test_sets_of_any_size_are_walked_alike_by_both_engines(n_categories, n_classes):
    rng = np.random.default_rng(n_categories)
    X = np.column_stack([rng.choice(n_categories, 150), rng.choice(5, 150)]).astype(float)
    y = rng.integers(0, n_classes, 150).astype(np.int32) if n_classes else rng.normal(size=150)
    table = Table(X, y, n_classes, None, True, 150, categorical=frozenset({0}))
    growth = make_growth(table, "gini" if n_classes else "squared_error")
    case = Case(table, growth, n_trees=2)
    forests = {engine: grow(engine, case) for engine in (REFERENCE, NATIVE)}
    assert len({forest.fingerprint() for forest in forests.values()}) == 1
    probe = np.column_stack([rng.choice([*X[:, 0], *range(0, 2 * n_categories, 7)], 300), rng.choice(5, 300)])
    leaves = [engine.leaves(forest, probe, 1, None) for engine, forest in forests.items()]
    assert np.array_equal(*leaves)


# ------------------------------------------------------------------------------------------------------------ ordered

GRADES = ["poor", "fair", "good", "best"]
ORDERED = {
    "pandas": lambda g: pd.DataFrame({"grade": pd.Categorical(g, categories=GRADES, ordered=True)}),
    "polars": lambda g: pl.DataFrame({"grade": pl.Series(g, dtype=pl.Enum(GRADES))}),
    "arrow": lambda g: pa.table(
        {
            "grade": pa.DictionaryArray.from_arrays(
                pa.array([None if x is None else GRADES.index(x) for x in g]), GRADES, ordered=True
            )
        }
    ),
}


@pytest.mark.parametrize("library", ORDERED)
def test_ordered_categories_are_cut_like_numbers(library):
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, 3, 60)  # the best grade is declared, but no row has it
    y = (numbers == 1) ^ (rng.random(60) < 0.1)
    grades = [GRADES[i] for i in numbers]
    model = weald.DecisionTreeClassifier().fit(ORDERED[library](grades), y)
    plain = weald.DecisionTreeClassifier().fit(numbers.reshape(-1, 1), y)
    assert model.forest_.fingerprint() == plain.forest_.fingerprint()
    assert model.categories_[0].tolist() == GRADES
    assert model.predict(ORDERED[library](["best"])) == plain.predict([[3]])
    assert model.unknown_categories_ == {}


def test_an_ordered_column_that_is_named_is_split_by_sets():
    X = ORDERED["pandas"](["poor", "fair", "good"] * 5)
    y = [1, 0, 1] * 5
    as_numbers = weald.DecisionTreeClassifier().fit(X, y)
    as_sets = weald.DecisionTreeClassifier(categorical_features=["grade"]).fit(X, y)
    assert (as_numbers.get_n_leaves(), as_sets.get_n_leaves()) == (3, 2)


# ------------------------------------------------------------------------------------------------------------ missing

MISSING = {
    "None in text": pd.DataFrame({"kind": ["a", None, "b", "a", None, "b"]}),
    "NaN among objects": pd.DataFrame({"kind": pd.Series(["a", np.nan, "b", "a", np.nan, "b"], dtype=object)}),
    "NA among objects": pd.DataFrame({"kind": pd.Series(["a", pd.NA, "b", "a", pd.NA, "b"], dtype=object)}),
    "NaT among objects": pd.DataFrame({"kind": pd.Series(["a", pd.NaT, "b", "a", None, "b"], dtype=object)}),
    "NumPy's NaT among objects": pd.DataFrame(
        {"kind": pd.Series(["a", np.datetime64("NaT"), "b", "a", np.datetime64("NaT"), "b"], dtype=object)}
    ),
    "NaN of float32 among objects": np.array([["a"], [np.float32("nan")], ["b"], ["a"], [None], ["b"]], dtype=object),
    "NaN of decimals": np.array([["a"], [Decimal("nan")], ["b"], ["a"], [None], ["b"]], dtype=object),
    "null in an arrow dictionary": pa.table(
        {"kind": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0, None, 2]), pa.array(["a", None, "b"]))}
    ),
    "NA in strings": pd.DataFrame({"kind": pd.array(["a", pd.NA, "b", "a", pd.NA, "b"], dtype="string")}),
    "pandas category": pd.DataFrame({"kind": pd.Categorical(["a", None, "b", "a", None, "b"])}),
    "polars null": pl.DataFrame({"kind": ["a", None, "b", "a", None, "b"]}),
    "polars category": pl.DataFrame({"kind": ["a", None, "b", "a", None, "b"]}).cast(pl.Categorical),
    "arrow null": pa.table({"kind": ["a", None, "b", "a", None, "b"]}),
    "arrow dictionary": pa.table({"kind": pa.array(["a", None, "b", "a", None, "b"]).dictionary_encode()}),
    "array": np.array([["a"], [None], ["b"], ["a"], [float("nan")], ["b"]], dtype=object),
}
OF_MISSING = [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("name", MISSING)
def test_missing_labels_of_every_kind_are_learned(name):
    model = weald.DecisionTreeClassifier().fit(MISSING[name], OF_MISSING)
    expected = weald.DecisionTreeClassifier().fit(MISSING["None in text"], OF_MISSING)
    assert model.categories_[0].tolist() == ["a", "b"]
    assert model.forest_.fingerprint() == expected.forest_.fingerprint()
    assert model.predict(MISSING[name]).tolist() == OF_MISSING


def arrow_twins(n):
    """A dictionary with a duplicate value."""
    codes = pa.array(np.tile([0, 1, 2, 1], n // 4))
    return pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "a"]))


def in_chunks(column):
    """Make two chunks of a column, each with its own dictionary."""
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", None]))
    return pa.chunked_array([column, other, column])


TWINS = {
    "arrow": lambda: pa.table({"kind": arrow_twins(40)}),
    "arrow in chunks": lambda: pa.table({"kind": in_chunks(arrow_twins(40))}),
    "pandas of arrow": lambda: pd.DataFrame(
        {"kind": pd.array(arrow_twins(40), dtype=pd.ArrowDtype(arrow_twins(4).type))}
    ),
    "polars of arrow": lambda: pl.DataFrame({"kind": pl.from_arrow(arrow_twins(40))}),
    "objects": lambda: np.array([["a"], [np.str_("b")], [np.str_("a")], ["b"]] * 10, dtype=object),
}


@pytest.mark.parametrize("name", TWINS)
def test_equal_labels_are_one_category(name):
    X = TWINS[name]()
    y = np.arange(len(X), dtype=float) % 4
    model = weald.DecisionTreeRegressor(random_state=0).fit(X, y)
    cells = X["kind"].to_pylist() if isinstance(X, pa.Table) else list(X["kind"] if name != "objects" else X[:, 0])
    as_text = pd.DataFrame({"kind": pd.Series(cells, dtype=object)})
    expected = weald.DecisionTreeRegressor(random_state=0).fit(as_text, y)
    assert model.categories_[0].tolist() == ["a", "b"]
    assert model.forest_.fingerprint() == expected.forest_.fingerprint()
    assert model.predict(X).tolist() == expected.predict(as_text).tolist()
    assert model.predict(X[:3]).tolist() == expected.predict(as_text[:3]).tolist()


def test_equal_labels_of_an_ordered_dictionary_are_one_category():
    codes = pa.array([0, 1, 2, 3] * 5)
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["low", "high", "low", "top"]), ordered=True)
    model = weald.DecisionTreeRegressor(random_state=0).fit(pa.table({"grade": column}), np.arange(20) % 4)
    assert model.categories_[0].tolist() == ["low", "high", "top"]
    assert model.predict(pa.table({"grade": column}))[:4].tolist() == [1, 1, 1, 3]


ZEROS = np.array([-0.0, 1.0, 0.0, 2.0] * 10)
FRAMES_OF_ZEROS = {
    "array": lambda values: values.reshape(-1, 1),
    "objects": lambda values: values.astype(object).reshape(-1, 1),
    "pandas": lambda values: pd.DataFrame({"x": values}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "arrow": lambda values: pa.table({"x": values}),
    "arrow dictionary": lambda values: pa.table({"x": pa.array(values).dictionary_encode()}),
}


@pytest.mark.parametrize("name", FRAMES_OF_ZEROS)
def test_zero_and_minus_zero_are_one_category(name):
    X, y = FRAMES_OF_ZEROS[name](ZEROS), np.arange(40.0) % 4
    model = weald.DecisionTreeRegressor(random_state=0, categorical_features=[0]).fit(X, y)
    assert [str(label) for label in model.categories_[0].tolist()] == ["0.0", "1.0", "2.0"]
    assert model.predict(X)[:4].tolist() == [1.0, 1.0, 1.0, 3.0]


@pytest.mark.parametrize("name", MISSING)
def test_missing_labels_can_be_refused(name):
    where = "0" if isinstance(MISSING[name], np.ndarray) else "'kind'"
    with pytest.raises(weald.errors.DataError, match=f"Row 1 of column {where} of X is missing"):
        weald.DecisionTreeClassifier(missing="error").fit(MISSING[name], OF_MISSING)


@pytest.mark.parametrize("X", [np.array([[1.0], [np.nan]]), pl.DataFrame({"x": [1, None]}), [[1], [None]]])
def test_missing_numbers_can_be_refused(X):
    model = weald.DecisionTreeRegressor(missing="error")
    with pytest.raises(weald.errors.DataError, match=r"Row 1 of column .* of X is missing"):
        model.fit(X, [1, 2])
    model.fit([[1.0], [2.0]], [1, 2])
    assert model.set_params(missing="learn").predict([[np.nan]]).shape == (1,)
    with pytest.raises(weald.errors.DataError, match="Row 0 of column 0 of X is missing"):
        model.set_params(missing="error").predict([[np.nan]])


def test_a_model_that_saw_nothing_missing_sends_it_to_the_heavier_child():
    X = pd.DataFrame({"kind": list("aaaabb") * 2, "x": [0.0] * 6 + [1.0] * 6})
    y = [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3]
    model = weald.DecisionTreeClassifier().fit(X, y)
    odd = pd.DataFrame({"kind": [None, "a", None], "x": [0.0, np.nan, np.nan]})
    # a outweighs b; both values of x have equal weight, and ties go left.
    assert model.predict(odd).tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------------------------ unknown


def fit_kinds(**given):
    X = pd.DataFrame({"kind": ["a", "a", "b", "b", None], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    return weald.DecisionTreeClassifier(**given).fit(X, [0, 0, 1, 1, 2])


def test_unknown_categories_are_missing_values_and_counted_and_said_once():
    model = fit_kinds()
    new = pd.DataFrame({"kind": ["z", "a", "y", "z"], "x": [5.0, 1.0, 5.0, 5.0]})
    with pytest.warns(UserWarning, match=r"Row 0 of column 'kind' of X is 'z', .* has 3 cells with such values"):
        found = model.predict(new)
    assert found.tolist() == model.predict(new.assign(kind=[None, "a", None, None])).tolist() == [2, 0, 2, 2]
    assert model.unknown_categories_ == {"kind": 3}
    model.predict(new)  # a second warning would be an error
    assert model.unknown_categories_ == {"kind": 6}


def test_unknown_categories_can_be_refused():
    model = fit_kinds(unknown_category="error")
    with pytest.raises(
        weald.errors.DataError, match="Row 1 of column 'kind' of X is 'z', a category that does not occur"
    ):
        model.predict(pd.DataFrame({"kind": ["a", "z"], "x": [1.0, 1.0]}))
    assert model.unknown_categories_ == {}


def test_a_category_that_is_declared_but_that_no_row_has_is_unknown():
    X = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 3, categories=["a", "b", "c"])})
    model = weald.DecisionTreeClassifier().fit(X, [0, 1] * 3)
    assert model.categories_[0].tolist() == ["a", "b"]
    with pytest.warns(UserWarning, match="'c'"):
        model.predict(pd.DataFrame({"kind": pd.Categorical(["c"])}))


def test_categories_of_rows_without_weight_are_unknown():
    X = pd.DataFrame({"kind": ["a", "b", "c", "d"] * 3})
    weight = np.array([1, 0, 2, 1] * 3)
    some = weald.DecisionTreeClassifier().fit(X, [0, 0, 1, 2] * 3, sample_weight=weight)
    fewer = weald.DecisionTreeClassifier().fit(X[weight > 0], np.array([0, 0, 1, 2] * 3)[weight > 0])
    assert some.categories_[0].tolist() == ["a", "c", "d"]
    heavy = weald.DecisionTreeClassifier().fit(
        X[weight > 0], np.array([0, 0, 1, 2] * 3)[weight > 0], sample_weight=weight[weight > 0]
    )
    assert some.forest_.fingerprint() == heavy.forest_.fingerprint()
    assert fewer.categories_[0].tolist() == ["a", "c", "d"]


def test_labels_are_matched_whatever_their_order_and_their_frame():
    model = make_forest("numbers").fit(FRAMES["pandas text"](columns()), SIGNAL)
    rows = slice(0, 30)
    expected = model.predict(FRAMES["pandas text"](columns(rows)))
    backwards = FRAMES["pandas text"](columns(rows))
    backwards["color"] = pd.Categorical(backwards["color"], categories=sorted(COLORS)[::-1])
    for frame in (
        backwards,
        *(FRAMES[name](columns(rows)) for name in FRAMES if name not in ("array of objects", "lists")),
    ):
        assert np.array_equal(model.predict(frame), expected)


def test_another_kind_of_label_is_refused():
    model = fit_kinds()
    with pytest.raises(weald.errors.DataTypeError, match=r"column 'kind' of X were text .* such as 1"):
        model.predict(pd.DataFrame({"kind": [1, 2], "x": [1.0, 2.0]}))
    with pytest.raises(weald.errors.DataTypeError, match=r"Column 'x' of X holds str|Row 0 of column 'x' of X is 'a'"):
        model.predict(pd.DataFrame({"kind": ["a"], "x": ["a"]}))


def test_a_column_without_any_value_can_be_predicted():
    model = fit_kinds()
    for nothing in (pd.DataFrame({"kind": [None], "x": [np.nan]}), pl.DataFrame({"kind": [None], "x": [None]})):
        assert model.predict(nothing).shape == (1,)


# ------------------------------------------------------------------------------------------- which are categorical


@pytest.mark.parametrize("given", [["b"], [1], [False, True, False], np.array([False, True, False]), ("b",)])
def test_features_are_named_by_name_number_or_mask(given):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0] * 4, "b": [10, 20, 10] * 4, "c": [True, False, True] * 4})
    model = weald.DecisionTreeClassifier(categorical_features=given).fit(X, [0, 1, 0] * 4)
    assert [None if c is None else c.tolist() for c in model.categories_] == [None, [10, 20], None]
    assert model.predict(X).tolist() == [0, 1, 0] * 4


def test_numbers_of_an_array_are_categories_if_the_user_says_so():
    X = np.array([[3.0, 7.5], [1.0, np.nan], [2.0, 7.5], [1.0, 6.5]])
    model = weald.DecisionTreeClassifier(categorical_features=[0, 1]).fit(X, [0, 1, 0, 1])
    assert [c.tolist() for c in model.categories_] == [[1.0, 2.0, 3.0], [6.5, 7.5]]
    assert model.predict(X).tolist() == [0, 1, 0, 1]
    with pytest.warns(UserWarning, match=r"Row 0 of column 0 of X is 9\.0"):
        model.predict([[9.0, 7.5]])
    assert model.unknown_categories_ == {0: 1}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["d"], r"categorical_features names 'd', which is not a column of X. The columns of X are \['a', 'b'\]"),
        ([2], r"categorical_features has 2, which is not a feature of X. .* from 0 to 1"),
        ([-1], "categorical_features has -1"),
        ([True], "categorical_features is a mask of 1 values, but X has 2 features"),
        ([1.5], "categorical_features has 1.5"),
        ("all", "categorical_features='all' is not allowed"),
    ],
)
def test_what_is_no_feature_is_refused(given, words):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(weald.errors.ParameterError, match=words):
        weald.DecisionTreeClassifier(categorical_features=given).fit(X, [0, 1])


def test_columns_of_a_sparse_table_are_no_categories():
    stored = sparse.csr_array(np.eye(4))
    with pytest.raises(DataError, match="categorical_features names columns, but X is sparse"):
        weald.DecisionTreeClassifier(categorical_features=[0]).fit(stored, [0, 1, 0, 1])
    for given in ("from_dtype", None, [], [False] * 4):
        weald.DecisionTreeClassifier(categorical_features=given).fit(stored, [0, 1, 0, 1])


def test_names_need_a_frame():
    with pytest.raises(weald.errors.ParameterError, match="X has no column names: give indices"):
        weald.DecisionTreeClassifier(categorical_features=["a"]).fit([[1.0], [2.0]], [0, 1])


def test_without_categories_text_is_refused():
    with pytest.raises(weald.errors.DataTypeError, match=r"Column 'a' of X holds .*, not numbers"):
        weald.DecisionTreeClassifier(categorical_features=None).fit(pl.DataFrame({"a": ["x", "y"]}), [0, 1])


def test_labels_that_cannot_be_sorted_are_refused():
    X = pd.DataFrame({"a": pd.Series([1, "x"] * 3, dtype=object)})
    with pytest.raises(weald.errors.DataTypeError, match="labels of column 'a' of X cannot be sorted: int, str"):
        weald.DecisionTreeClassifier(categorical_features=["a"]).fit(X, [0, 1] * 3)
    X = pd.DataFrame({"a": [[1], [2]] * 3})
    with pytest.raises(weald.errors.DataTypeError, match="'a' of X"):
        weald.DecisionTreeClassifier(categorical_features=["a"]).fit(X, [0, 1] * 3)


# -------------------------------------------------------------------------------------------------------- around it


def test_what_is_learned_survives_copies_and_pickles():
    model = make_forest("two classes").fit(FRAMES["polars text"](columns()), TARGETS["two classes"])
    X = FRAMES["arrow text"](columns(slice(0, 20)))
    expected = model.predict_votes(X)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(twin.predict_votes(X), expected)
    votes = sum(tree.predict_votes(X) for tree in model.estimators_)
    assert np.allclose(votes, expected)
    assert clone(model).get_params() == model.get_params()


def test_growing_on_needs_the_same_categories():
    X = pd.DataFrame({"kind": ["a", "b", "c"] * 4})
    model = weald.RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, [0, 1, 2] * 4)
    model.set_params(n_estimators=3)
    with pytest.raises(weald.errors.DataError, match="categories in X differ from those of the table that warm_start"):
        model.fit(X.replace("a", "z"), [0, 1, 2] * 4)
    whole = weald.RandomForestClassifier(3, random_state=0).fit(X, [0, 1, 2] * 4)
    assert model.fit(X, [0, 1, 2] * 4).forest_.fingerprint() == whole.forest_.fingerprint()


def test_out_of_bag_rows_are_read_as_they_were():
    X = FRAMES["pandas text"](columns())
    model = weald.RandomForestClassifier(30, random_state=0, oob_score=True).fit(X, TARGETS["two classes"])
    by_hand = np.zeros((N, 2))
    reading = read_table(clone(model), X, TARGETS["two classes"], None, classify=True)
    coded = NATIVE.code(reading.table, 65_535, 1, None)
    bags = NATIVE.bags(coded, model.growth_, model.forest_.origins, 1)
    for bag, tree in zip(bags, model.estimators_, strict=True):
        by_hand += tree.predict_proba(X) * (bag == 0)[:, None]
    seen = by_hand.sum(axis=1) > 0
    assert np.allclose(model.oob_decision_function_[seen], by_hand[seen] / by_hand[seen].sum(axis=1, keepdims=True))


# ---------------------------------------------------------------------------------------------------------- in words


def fit_words():
    X = pd.DataFrame(
        {
            "island": ["Biscoe", "Dream", "Torgersen", None] * 6,
            "grade": pd.Categorical(["low", "mid", "high"] * 8, categories=["low", "mid", "high"], ordered=True),
        }
    )
    y = np.where(X["island"] == "Dream", "a", np.where(X["grade"] == "high", "b", "c"))
    return weald.DecisionTreeClassifier().fit(X, y), X, y


def test_texts_and_rules_show_the_labels():
    model, X, y = fit_words()
    text = model.export_text()
    assert "island = Dream" in text or "island ≠ Dream" in text
    assert "grade ≤ mid" in text
    rules = model.regions()
    message = " / ".join(str(rule) for rule in rules)
    assert "island = Dream" in message
    assert "grade > mid" in message
    rows = read_rows(model, X)
    inside = np.array([rule.contains(rows) for rule in rules])
    assert (inside.sum(axis=0) == 1).all()  # each row is in one region, which predicts the same as the tree
    assert [rules[i].prediction for i in inside.argmax(axis=0)] == model.predict(X).tolist() == y.tolist()


def test_pictures_and_pages_show_the_labels():
    model, _, _ = fit_words()
    drawn = [text.get_text() for text in TreeDisplay.from_estimator(model).ax_.texts]
    page = html.unescape(weald.export_html(model))
    for words in ("island ≠ Dream", "grade ≤ mid"):
        assert words in drawn
        assert words in page


def test_exports_hold_the_labels():
    model, X, _ = fit_words()
    text = model.to_json(X=X).model
    assert all(f'"{label}"' in text for label in ("Biscoe", "Dream", "Torgersen", "low", "mid", "high"))


def test_a_row_is_explained_by_its_labels():
    model, X, _ = fit_words()
    assert "island is Dream" in str(model.explain_row(X.iloc[[1]]))
    assert "island is missing" in str(model.explain_row(X.iloc[[3]]))


def test_tampered_sets_are_refused():
    X = FRAMES["pandas text"](columns())
    forest = make_forest("two classes").fit(X, TARGETS["two classes"]).forest_
    rows = np.zeros((1, 3))
    long = np.flatnonzero(np.diff(forest.category_start) > 1)[0]
    backwards = forest.category_sets.copy()
    backwards[forest.category_start[long] : forest.category_start[long + 1]] = backwards[
        forest.category_start[long] : forest.category_start[long + 1]
    ][::-1]
    for changes in (
        {"category_start": forest.category_start[:-1]},
        {"category_start": forest.category_start + 1},
        {"category_start": forest.category_start * 1000},
        {"category_sets": forest.category_sets[:-1]},
        {"category_sets": backwards},
        {"threshold": forest.threshold + (forest.flags & CATEGORICAL)},
        {"flags": forest.flags | CATEGORICAL},
    ):
        with pytest.raises(ValueError, match=r"categor|sets"):
            NATIVE.leaves(dataclasses.replace(forest, **changes), rows, 1, None)
