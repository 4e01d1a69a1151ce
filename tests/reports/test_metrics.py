"""Metrics of a report are those of scikit-learn, and their intervals have the stated coverage."""

import numpy as np
import pytest
from sklearn import metrics as theirs

from weald.reports.metrics import area, by_chance, compute_scores
from weald.reports.predictions import Predictions


def answers(truth, predicted, weight=None):
    n = len(truth)
    weight = np.ones(n) if weight is None else weight
    return Predictions("held out", truth, predicted, weight, np.arange(n), bool((weight % 1 == 0).all()))


def draw_classes(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_classes), size=n).round(2)
    shares[:, 0] += 1 - shares.sum(axis=1)
    shares = shares.clip(0)  # of rounding
    truth = np.array([rng.choice(n_classes, p=np.abs(row) / np.abs(row).sum()) for row in shares])
    return truth, shares


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_classes_are_those_of_scikit_learn(n_classes, weighted):
    truth, shares = draw_classes(300, n_classes, 0)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=300) if weighted else None
    found = {score.name: score.value for score in compute_scores(answers(truth, shares, weight))}
    given = {"sample_weight": weight}
    predicted = shares.argmax(axis=1)
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(truth, predicted, **given))
    assert found["balanced accuracy"] == pytest.approx(theirs.balanced_accuracy_score(truth, predicted, **given))
    one = [theirs.roc_auc_score(truth == k, shares[:, k], **given) for k in range(n_classes)]
    assert found["ROC AUC"] == pytest.approx(one[1] if n_classes == 2 else np.mean(one))
    squares = ((shares - np.eye(n_classes)[truth]) ** 2).sum(axis=1)
    brier = np.average(squares, weights=weight)
    assert found["Brier score"] == pytest.approx(brier / 2 if n_classes == 2 else brier)
    assert found["log loss"] == pytest.approx(theirs.log_loss(truth, shares, **given))
    if n_classes == 2:
        assert found["Brier score"] == pytest.approx(theirs.brier_score_loss(truth, shares[:, 1], **given))


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_numbers_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(2)
    truth = rng.normal(size=200)
    predicted = truth + rng.normal(size=200)
    weight = rng.uniform(0.5, 2, size=200) if weighted else None
    found = {score.name: score.value for score in compute_scores(answers(truth, predicted, weight))}
    given = {"sample_weight": weight}
    assert found["RMSE"] == pytest.approx(theirs.root_mean_squared_error(truth, predicted, **given))
    assert found["MAE"] == pytest.approx(theirs.mean_absolute_error(truth, predicted, **given))
    assert found["R²"] == pytest.approx(theirs.r2_score(truth, predicted, **given))
    assert found["bias"] == pytest.approx(np.average(predicted - truth, weights=weight))


def test_one_who_knows_the_target_only_is_no_better_than_chance():
    truth, shares = draw_classes(200, 2, 3)
    found = {score.name: score.value for score in by_chance(answers(truth, shares))}
    assert found["accuracy"] == max(np.bincount(truth)) / 200
    assert found["ROC AUC"] == found["balanced accuracy"] == 0.5
    numbers = np.random.default_rng(0).normal(size=50)
    found = {score.name: score.value for score in by_chance(answers(numbers, numbers))}
    assert found["RMSE"] == pytest.approx(numbers.std())
    assert found["R²"] == pytest.approx(0)


def draw_numbers(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=400)
    return answers(truth, 0.7 * truth + rng.normal(scale=0.5, size=400))


def draw_two(seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random(400) < 0.3).astype(int)
    score = np.clip(0.4 + 0.2 * truth + rng.normal(scale=0.2, size=400), 0.01, 0.99)
    return answers(truth, np.column_stack([1 - score, score]))


@pytest.mark.parametrize("draw", [draw_numbers, draw_two])
def test_intervals_hold_the_value_of_many_rows_nineteen_times_in_twenty(draw):
    many = [compute_scores(draw(seed)) for seed in range(200)]
    for scores in zip(*many, strict=True):
        middle = np.mean([score.value for score in scores])
        held = np.mean([score.low <= middle <= score.high for score in scores])
        assert 0.88 <= held <= 0.995, (scores[0].name, held)


def test_the_influence_on_the_area_under_the_curve_is_its_derivative():
    truth, shares = draw_classes(40, 2, 4)
    weight = np.ones(40)
    value, influence = area(shares[:, 1], truth == 1, weight)
    for i in (0, 7, 23):
        more = weight.copy()
        more[i] += 1e-6
        moved = (area(shares[:, 1], truth == 1, more)[0] - value) / 1e-6 * 40
        assert moved == pytest.approx(influence[i], abs=1e-4)


def test_a_single_class_has_no_area_under_the_curve():
    names = [score.name for score in compute_scores(answers(np.zeros(5, dtype=int), np.tile([0.9, 0.1], (5, 1))))]
    assert names == ["accuracy", "balanced accuracy", "Brier score", "log loss"]


def test_an_infinite_log_loss_counts_as_in_scikit_learn_and_has_no_interval():
    truth, shares = np.array([0, 1, 1]), np.array([[0.8, 0.2], [1.0, 0.0], [0.4, 0.6]])
    found = {score.name: score for score in compute_scores(answers(truth, shares))}["log loss"]
    assert found.value == pytest.approx(theirs.log_loss(truth, shares))
    assert np.isnan([found.low, found.high]).all()
    found = {score.name: score for score in compute_scores(answers(truth[[0, 2]], shares[[0, 2]]))}["log loss"]
    assert found.low < found.value < found.high
