"""The number of draws of each stratum, and the errors for invalid numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import balanced_accuracy_score

import weald
from weald.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
X, Y = X[20:120], Y[20:120]  # 30, 50 and 20 rows of the classes
STRATA = np.array(["a", "b", "b", "b", "c"] * 20)
VISITS = np.arange(100) // 4


def forest(n_trees=5, **given):
    return weald.RandomForestClassifier(n_trees, **{"random_state": 0, **given})


def draws(given, by_row):
    return forest(1, **given).fit(X, Y, **by_row).growth_.draws


DRAWS = [
    ({}, {}, ()),
    ({"bootstrap": "balanced"}, {}, (20, 20, 20)),
    ({"bootstrap": "balanced", "max_samples": 0.5}, {}, (10, 10, 10)),
    ({"bootstrap": "balanced", "max_samples": 33}, {}, (33, 33, 33)),
    ({"max_samples": {0: 5, 2: 0.25}}, {}, (5, 50, 5)),
    ({"max_samples": {0: 0.001}}, {}, (1, 50, 20)),
    ({}, {"stratify": STRATA}, (20, 60, 20)),
    ({"max_samples": 0.29}, {"stratify": STRATA}, (6, 17, 6)),
    ({"max_samples": 1}, {"stratify": STRATA}, (1, 1, 1)),
    ({}, {"groups": VISITS}, (25,)),
    ({"max_samples": 0.2}, {"groups": VISITS}, (5,)),
    ({}, {"groups": VISITS, "stratify": VISITS % 2}, (13, 12)),
    ({"bootstrap": "balanced"}, {"groups": np.char.add(Y.astype(str), (np.arange(100) // 10).astype(str))}, (2, 2, 2)),
    ({"bootstrap": "balanced"}, {"sample_weight": np.where(Y == 2, 4, 1)}, (30, 30, 30)),
    ({"bootstrap": "balanced"}, {"sample_weight": np.where(Y == 2, 0.1, 1)}, (20, 20, 20)),
    ({}, {"groups": VISITS, "sample_weight": (VISITS > 2).astype(int)}, (22,)),
    ({}, {"stratify": STRATA, "sample_weight": (STRATA != "c").astype(int)}, (20, 60)),
]


@pytest.mark.parametrize(("given", "by_row", "expected"), DRAWS)
def test_each_stratum_has_as_many_draws_as_the_docs_say(given, by_row, expected):
    assert draws(given, by_row) == expected


def test_with_groups_the_most_that_a_bag_can_hold_is_the_largest_group_every_time():
    model = forest(1).fit(X, Y, groups=np.maximum(VISITS, 5))
    assert model.growth_.n_draws == 20 * 24
    assert model.forest_.size[0] == pytest.approx(100, abs=60)


REFUSED = {
    "groups without bags": (
        {"bootstrap": False},
        {"groups": VISITS},
        ParameterError,
        "groups controls how bags are drawn",
    ),
    "strata without bags": (
        {"bootstrap": False},
        {"stratify": Y},
        ParameterError,
        "stratify controls how bags are drawn",
    ),
    "two strata": ({"bootstrap": "balanced"}, {"stratify": Y}, ParameterError, '"balanced" and stratify each define'),
    "two by class": (
        {"bootstrap": "balanced", "max_samples": {0: 3}},
        {},
        ParameterError,
        "and max_samples by class each define",
    ),
    "a class that is not there": ({"max_samples": {7: 3}}, {}, ParameterError, r"names the class 7, .* \[0, 1, 2\]"),
    "no draws": ({"max_samples": {0: 0}}, {}, ParameterError, "max_samples={0: 0} is not allowed.*a dict of class"),
    "a word": ({"bootstrap": "blanced"}, {}, ParameterError, "bootstrap='blanced' is not allowed.*\"balanced\""),
    "a group in two strata": ({}, {"groups": VISITS, "stratify": STRATA}, DataError, "group of row 1 is in more than"),
    "a group in two classes": ({"bootstrap": "balanced"}, {"groups": np.arange(100) // 60}, DataError, "stratum or cl"),
    "fractions": ({}, {"groups": VISITS, "sample_weight": np.full(100, 0.5)}, DataError, "sample_weight has fractions"),
    "too few labels": ({}, {"groups": VISITS[1:]}, DataError, "X has 100 rows but groups has 99"),
    "no label": ({}, {"stratify": np.where(STRATA == "a", None, STRATA)}, DataError, "Row 0 of stratify is None"),
    "not a number": ({}, {"groups": np.where(VISITS == 1, np.nan, VISITS)}, DataError, "Row 4 of groups is nan"),
    "labels of two kinds": ({}, {"groups": np.array([1, "a"] * 50, dtype=object)}, TypeError, "groups mixes labels"),
    "too much": ({"max_samples": 2**30}, {"groups": VISITS}, ParameterError, "up to 4294967296 draws"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_refused(case):
    given, by_row, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        forest(**given).fit(X, Y, **by_row)


@pytest.mark.parametrize("given", [{"bootstrap": "balanced"}, {"max_samples": {0: 3}}])
def test_a_regressor_has_no_classes_to_draw_from(given):
    with pytest.raises(ParameterError, match="needs classes, but a regressor has none"):
        weald.RandomForestRegressor(2, **given).fit(X, Y)


def test_out_of_bag_with_groups_is_honest():
    """Rows of a group are near copies with the same label: a tree that has seen one of them predicts the others."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(60, 3)), 5, axis=0) + 0.001 * rng.normal(size=(300, 3))
    y, group = np.repeat(rng.integers(0, 2, 60), 5), np.repeat(np.arange(60), 5)
    naive = forest(100, oob_score=True).fit(x, y)
    honest = forest(100, oob_score=True).fit(x, y, groups=group)
    assert naive.oob_error_ < 0.05
    assert 0.35 < honest.oob_error_ < 0.65


BALANCED = [
    {},
    {"class_weight": "balanced", "min_samples_leaf": 10},
    {"class_weight": "balanced_subsample", "min_samples_leaf": 10},
    {"class_weight": {1: 30.0}, "min_samples_leaf": 10},
    {"bootstrap": "balanced"},
    {"max_samples": {0: 0.1}},
]


@pytest.mark.parametrize("given", BALANCED, ids=str)
def test_out_of_bag_scores_of_rare_classes_agree_with_those_of_fresh_rows(given):
    """Three percent of the rows are of a rare class, which models overfit."""
    scores = []
    for seed in range(3):
        words = {"n_features": 20, "n_informative": 6, "weights": [0.98], "class_sep": 0.8, "random_state": seed}
        rows, labels = make_classification(16_000, **words)
        (old, fresh), (y, fresh_y) = np.split(rows, 2), np.split(labels, 2)
        forest = weald.RandomForestClassifier(60, oob_score=True, random_state=seed, **given).fit(old, y)
        predicted = (forest.oob_decision_function_.argmax(axis=1), forest.predict(fresh), forest.predict(old))
        truth = (y, fresh_y, y)
        scores.append([balanced_accuracy_score(*pair) for pair in zip(truth, predicted, strict=True)])
    out_of_bag, held_out, fitted = np.mean(scores, axis=0)
    assert abs(out_of_bag - held_out) < 0.03
    assert fitted > held_out + 0.05


def test_bags_of_groups_and_strata_can_be_drawn_again():
    by_row = {"groups": VISITS, "stratify": VISITS % 3}
    model = forest(30, oob_score=True).fit(X, Y, **by_row)
    expected = model.oob_decision_function_
    again = model[:10] + model[10:]
    np.testing.assert_array_equal(again.out_of_bag(X, Y, **by_row).probabilities, expected)
    for other in ({}, {"groups": VISITS}, {"groups": VISITS // 2, "stratify": VISITS % 3}):
        with pytest.raises(DataError, match="groups or stratify differ"):
            again.out_of_bag(X, Y, **other)


def test_growing_on_with_groups_is_growing_at_once():
    part = forest(4, warm_start=True).fit(X, Y, groups=VISITS).set_params(n_estimators=9).fit(X, Y, groups=VISITS)
    assert part.forest_.fingerprint() == forest(9).fit(X, Y, groups=VISITS).forest_.fingerprint()
    assert len(part.forest_.origins) == 1
