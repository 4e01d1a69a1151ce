"""Parameters are converted to numbers, or an error lists the valid values."""

import dataclasses

import numpy as np
import pytest

import weald
from weald.data.table import Table
from weald.data.task import Task
from weald.engines import criteria, params
from weald.engines.params import Growth, draw_seed, resolve
from weald.engines.reference import definition
from weald.errors import DataError, ParameterError

FOREST = weald.RandomForestClassifier().get_params()
TREE = weald.DecisionTreeRegressor().get_params()
ALL_MODELS = [
    weald.DecisionTreeClassifier,
    weald.DecisionTreeRegressor,
    weald.RandomForestClassifier,
    weald.RandomForestRegressor,
    weald.ExtraTreeClassifier,
    weald.ExtraTreeRegressor,
    weald.ExtraTreesClassifier,
    weald.ExtraTreesRegressor,
]


def table(n_rows=100, n_features=12, size=None):
    x = np.zeros((n_rows, n_features))
    return Table(x, np.arange(n_rows, dtype=np.int32) % 2, 2, None, True, n_rows if size is None else size)


def grown(n_rows=100, n_features=12, size=None, classes=("a", "b"), base=FOREST, **given):
    params.check({**base, **given}, Task.CLASSIFICATION if base is FOREST else Task.REGRESSION)
    return resolve({**base, **given}, table(n_rows, n_features, size), np.array(classes))


# ----------------------------------------------------------------------------------------------------- numbers


def test_more_features_than_draws_have_addresses_for_are_refused():
    wide = Table(np.broadcast_to(0.0, (2, 2**24 + 1)), np.arange(2, dtype=np.int32), 2, None, True, 2)
    with pytest.raises(DataError, match=r"16,777,217 features\. weald supports up to 16,777,216"):
        resolve(FOREST, wide, np.array(["a", "b"]))


def test_the_growth_of_the_front_is_that_of_the_definition():
    names = [field.name for field in dataclasses.fields(Growth)]
    assert names == [field.name for field in dataclasses.fields(definition.Growth)]


@pytest.mark.parametrize(
    ("given", "n_features", "expected"),
    [
        ("sqrt", 12, 3),
        ("sqrt", 16, 4),
        ("sqrt", 1, 1),
        ("log2", 12, 3),
        ("log2", 16, 4),
        ("log2", 1, 1),
        ("third", 12, 4),
        ("third", 2, 1),
        ("all", 12, 12),
        (None, 12, 12),
        (5, 12, 5),
        (np.int64(12), 12, 12),
        (1, 12, 1),
        (0.5, 13, 6),
        (1.0, 12, 12),
        (0.001, 12, 1),
    ],
)
def test_max_features(given, n_features, expected):
    assert grown(n_features=n_features, max_features=given).max_features == expected


def test_max_features_beyond_the_table_says_what_to_do():
    with pytest.warns(UserWarning, match="max_features=40") as message:
        assert grown(max_features=40).max_features == 12
    assert str(message[0].message) == (
        "max_features=40 is more than the 12 features of X. "
        'Give a number up to 12, a fraction between 0 and 1, "sqrt" or "log2".'
    )


@pytest.mark.parametrize(
    ("given", "expected"), [(None, 2**31 - 1), (3, 3), (10**12, 2**31 - 1), ("sqrt", 3), (np.uint8(4), 4)]
)
def test_max_depth(given, expected):
    assert grown(max_depth=given).max_depth == expected


@pytest.mark.parametrize(
    ("given", "expected"), [(2, 2), (7, 7), (0.001, 2), (0.051, 6), (1.0, 100), (10**12, 2**31 - 1)]
)
def test_min_samples_split(given, expected):
    assert grown(min_samples_split=given).min_samples_split == expected


@pytest.mark.parametrize(("given", "expected"), [(1, 1), (7, 7), (0.001, 1), (0.051, 6), (10**12, 2**31 - 1)])
def test_min_samples_leaf(given, expected):
    assert grown(min_samples_leaf=given).min_samples_leaf == expected


def test_shares_are_of_the_total_weight_when_it_is_whole():
    assert grown(size=1000, min_samples_leaf=0.25, max_samples=50).min_samples_leaf == 250


def test_shares_are_of_the_rows_where_sizes_count_rows():
    assert grown(size=2**40, min_samples_leaf=0.25, bootstrap=False).min_samples_leaf == 25


@pytest.mark.parametrize(("given", "expected"), [(None, 100), (7, 7), (150, 150), (0.555, 55), (0.001, 1), (1.0, 100)])
def test_draws(given, expected):
    assert grown(max_samples=given).n_draws == expected


def test_a_bag_of_2_to_the_31_draws_is_refused():
    with pytest.raises(ParameterError, match=r"2147483648 draws; fewer than 2\*\*31"):
        grown(max_samples=2**31)
    with pytest.warns(UserWarning, match="survey"), pytest.raises(ParameterError, match="Give max_samples"):
        grown(size=2**40)


def test_weights_that_look_like_a_survey_warn():
    with pytest.warns(UserWarning, match="max_samples=100"):
        assert grown(size=1001).n_draws == 1001
    assert grown(size=1000).n_draws == 1000


def test_without_bootstrap_any_total_weight_will_do():
    assert grown(size=2**40, bootstrap=False).n_draws == 2**31 - 1
    assert grown(size=100_000, bootstrap=False).n_draws == 100_000


def test_a_single_tree_has_no_bag():
    growth = grown(base=TREE)
    assert (growth.bootstrap, growth.n_draws, growth.class_weight) == (False, 100, "none")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ("none", ())),
        ("balanced", ("table", ())),
        ("balanced_subsample", ("bag", ())),
        ({"a": 3}, ("given", (3.0, 1.0))),
        ({"b": 0.5, "a": 0}, ("given", (0.0, 0.5))),
        ({"a": 2**60, "b": 2.0**40}, ("given", (2.0**60, 2.0**40))),
        ({"a": 2, "b": 3, "z": 1}, ("given", (2.0, 3.0))),
    ],
)
def test_class_weight(given, expected):
    growth = grown(class_weight=given)
    assert (growth.class_weight, growth.class_weights) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"z": 1}, "class_weight names the class 'z', which is not in y, and omits the class 'a'"),
        ({"b": 1, "A": 0}, "class_weight names the class 'A', which is not in y, and omits the class 'a'"),
        ({"a": 1, "b": 1, "z": -1}, r"class_weight\['z'\]=-1"),
        ({"a": -1}, r"class_weight\['a'\]=-1"),
        ({"a": float("nan")}, r"class_weight\['a'\]=nan"),
        ({"a": "1"}, r"class_weight\['a'\]='1'"),
        ({"a": 0, "b": 0}, "0 for every class"),
        ("Balanced", "class_weight='Balanced'"),
        ([{"a": 1}], "class_weight="),
    ],
)
def test_bad_class_weights_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        grown(class_weight=given)


def test_an_alias_is_the_criterion_itself():
    assert grown(criterion="log_loss").criterion == "entropy"


@pytest.mark.parametrize(("given", "expected"), [(None, 0), (255, 255)])
def test_max_bins(given, expected):
    assert params.count_bins(given) == expected


# ------------------------------------------------------------------------------------------------------- checks

BAD = [
    ("n_estimators", [0, -1, 1.5, "10", None, True]),
    ("criterion", ["squared_error", "Gini", None, 1]),
    ("max_depth", [0, -1, 2.5, "log2", True]),
    ("min_samples_split", [1, 0, 0.0, 1.5, "2", None, float("nan")]),
    ("min_samples_leaf", [0, 1.0, 0.0, 2.5, "1", None]),
    ("min_weight_fraction_leaf", [-0.1, 0.6, "0", None, float("nan")]),
    ("max_features", [0, -1, 0.0, 1.5, "auto", float("nan"), True, [1]]),
    ("max_leaf_nodes", [1, 0, -5, 2.5]),
    ("min_impurity_decrease", [-1e-9, float("inf"), float("nan"), None]),
    ("bootstrap", [None, 1, "yes"]),
    ("oob_score", [None, 1, "accuracy"]),
    ("n_jobs", [0, 1.5, "all"]),
    ("random_state", [-1, 2**64, 1.5, "seed"]),
    ("verbose", [-1, None, "1"]),
    ("warm_start", [None, 1]),
    ("max_samples", [0, -1, 0.0, -0.5, float("inf"), float("nan"), "all"]),
    ("ccp_alpha", [-0.1, None, float("nan")]),
    ("shrinkage", [-1, None, "yes", float("nan"), float("inf")]),
    ("calibrate", ["platt", 1, True]),
    ("keep_errors", [1, None, "yes"]),
    ("monotonic_cst", ["rising", 1, True]),
    ("interaction_cst", ["pairs", 2, True]),
    ("feature_weights", ["sqrt", 1.0, True]),
    ("category_penalty", [-0.1, 1e9, "sqrt", None, True, float("nan")]),
    ("voting", ["Soft", None, 1]),
    ("max_bins", [1, 0, 65536, 255.0, "auto"]),
    ("max_estimators", [0, 1.5, "auto", None]),
    ("resampling", ["boost", "arc", None, True]),
    ("engine", ["gpu", None, 1]),
    ("categorical_features", ["all", 3, True]),
    ("unknown_category", ["learn", None, 1]),
    ("missing", ["missing", None, True]),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD for value in values])
def test_a_bad_parameter_is_named_with_what_it_may_be(name, value):
    with pytest.raises(ParameterError, match=f"^{name}=.* is not allowed. Give ") as error:
        grown(**{name: value})
    assert repr(value) in str(error.value)


def test_choices_are_listed_with_one_or():
    with pytest.raises(ParameterError, match=r'"third", "all", a function of the number of features or None\.$'):
        grown(max_features="auto")
    with pytest.raises(ParameterError, match="Give True, False or a function"):
        grown(oob_score="yes")


def test_a_criterion_that_scikit_learn_has_deprecated_is_not_allowed():
    with pytest.raises(ParameterError, match=r'not allowed\. Give "squared_error", "poisson" or "absolute_error"\.$'):
        weald.RandomForestRegressor(criterion="friedman_mse").fit([[1.0], [2.0]], [1.0, 2.0])


def test_every_parameter_has_a_rule():
    assert {name for name, _ in BAD} | {"class_weight"} == set(FOREST)
    for model in ALL_MODELS:
        given = model().get_params()
        params.check(given, model.task)


def test_the_names_of_criteria_come_from_one_list():
    with pytest.raises(ParameterError) as error:
        grown(criterion="no such thing")
    for name in criteria.names(Task.CLASSIFICATION):
        assert f'"{name}"' in str(error.value)


def test_each_criterion_is_in_the_definition():
    assert set(criteria.tasks()) <= set(definition.CRITERIA)
    assert set(criteria.tasks().values()) == {Task.CLASSIFICATION, Task.REGRESSION}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bootstrap": False, "max_samples": 0.5}, "bootstrap=False draws none"),
        ({"bootstrap": False, "oob_score": True}, "every tree sees every row"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        grown(**given)


def test_a_single_tree_has_no_bag_to_balance():
    with pytest.raises(ParameterError, match="class_weight"):
        weald.DecisionTreeClassifier(class_weight="balanced_subsample").fit([[1.0]], [1])


# --------------------------------------------------------------------------------------------------------- seed


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1, np.int32(7), np.uint64(2**64 - 1)])
def test_a_whole_number_is_the_seed(seed):
    assert draw_seed(seed) == int(seed)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_gives_one_draw(make):
    generator = make(3)
    first, second = draw_seed(generator), draw_seed(generator)
    assert first == draw_seed(make(3))
    assert first != second
    assert 0 <= first < 2**64


def test_no_seed_is_one_draw_from_the_global_generator(monkeypatch):
    shared = np.random.RandomState(3)
    monkeypatch.setattr(np.random, "bytes", shared.bytes)
    first, second = draw_seed(None), draw_seed(None)
    twin = np.random.RandomState(3)
    assert [first, second] == [draw_seed(twin), draw_seed(twin)]


FITS = {
    "forest": (lambda: weald.RandomForestClassifier(3), 1),
    "extra-trees": (lambda: weald.ExtraTreesClassifier(3), 1),
    "extra tree": (weald.ExtraTreeClassifier, 1),
    "tree that draws features": (lambda: weald.DecisionTreeClassifier(max_features=1), 1),
    "tree": (weald.DecisionTreeClassifier, 0),
    "forest of a seed": (lambda: weald.RandomForestClassifier(3, random_state=1), 0),
    "boosting": (lambda: weald.RandomForestClassifier(3, resampling="boosting"), 1),
    "kernel forest": (lambda: weald.KernelForestClassifier(3), 1),
    "kernel forest that chooses": (lambda: weald.KernelForestClassifier(25, kernel="auto"), 1),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_draws_its_seed_once(name, monkeypatch):
    make, n_draws = FITS[name]
    drawn = []
    monkeypatch.setattr(np.random, "bytes", lambda n: drawn.append(n) or bytes(range(n)))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    model = make().fit(X, X[:, 0] > 0)
    assert drawn == [8] * n_draws
    if n_draws:
        assert model.seed_ == int.from_bytes(bytes(range(8)), "little")


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.KernelForestClassifier])
def test_the_global_seed_makes_fits_repeatable(kind):
    state, prints = np.random.get_state(), []  # noqa: NPY002
    X = np.random.default_rng(0).normal(size=(30, 3))
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002
        prints.append([kind(3).fit(X, X[:, 0] > 0).forest_.fingerprint() for _ in range(2)])
    np.random.set_state(state)  # noqa: NPY002
    assert prints[0] == prints[1]
    assert prints[0][0] != prints[0][1]


def test_a_fit_that_fails_draws_no_seed():
    before = np.random.get_state()[1].tolist(), np.random.get_state()[2]  # noqa: NPY002
    with pytest.raises(weald.ParameterError, match="monotonic_cst"):
        weald.RandomForestClassifier(3, monotonic_cst=[1, 1]).fit([[0.0], [1.0]], [0, 1])
    assert (np.random.get_state()[1].tolist(), np.random.get_state()[2]) == before  # noqa: NPY002


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 2**32),
        ("min_impurity_decrease", 10**400),
        ("ccp_alpha", 10**400),
        ("category_penalty", 10**400),
        ("interaction_cst", np.int8(2)),
        ("monotonic_cst", np.float64(1)),
    ],
)
def test_a_value_that_no_engine_could_take_is_refused_by_name(name, value):
    with pytest.raises(weald.ParameterError, match=name):
        weald.RandomForestClassifier(**{"n_estimators": 2, name: value}).fit([[0.0], [1.0]], [0, 1])


def test_constraints_in_an_array_are_refused_with_several_targets():
    model = weald.RandomForestRegressor(2, monotonic_cst=np.array([1]))
    with pytest.raises(weald.ParameterError, match="monotonic_cst"):
        model.fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
