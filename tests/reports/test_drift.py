"""Drift of test data: distances and p-values are those of SciPy and of brute force, and false alarms are rare."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import weald
from weald.estimators.prediction import read_matrix
from weald.reports import drift


def test_numbers_are_compared_by_the_test_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    training, test = rng.normal(size=200), rng.normal(0.3, size=150)
    found = drift.compare(training, test, None)
    expected = stats.ks_2samp(training, test, method="asymp")
    assert (found.distance, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.medians == (np.median(training), np.median(test))
    assert found.strange == np.mean((test < training.min()) | (test > training.max()))


def test_the_distance_of_numbers_counts_missing_values():
    training, test = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, np.nan, np.nan])
    found = drift.compare(training, test, None)
    at = [np.mean(training <= v) - np.mean(test <= v) for v in (1, 2, 3, 4)]
    assert found.distance == pytest.approx(np.abs(at).max()) == 0.5
    assert found.missing == (0.0, 0.5)
    assert found.medians == (2.5, 1.5)


def test_categories_are_compared_by_their_frequencies():
    rng = np.random.default_rng(1)
    training, test = rng.integers(0, 3, 300).astype(float), rng.integers(0, 3, 200).astype(float)
    test[:40] = np.nan
    found = drift.compare(training, test, 3, n_unknown=30)
    a = np.array([*np.bincount(training.astype(int)), 0, 0])
    b = np.array([*np.bincount(test[40:].astype(int)), 10, 30])
    assert found.distance == pytest.approx(np.abs(a / 300 - b / 200).sum() / 2)
    assert found.p_value == pytest.approx(stats.chi2_contingency([a, b], correction=False).pvalue)
    assert found.missing == (0.0, 0.05)
    assert found.strange == 0.15


def test_rare_categories_are_joined_in_the_test():
    training = np.repeat(np.arange(6.0), [50, 40, 3, 3, 2, 2])
    test = np.repeat(np.arange(6.0), [60, 20, 9, 5, 4, 2])
    found = drift.compare(training, test, 6)  # 6 of 12 rows are expected in each table
    expected = stats.chi2_contingency([[50, 40, 3, 7], [60, 20, 9, 11]], correction=False).pvalue
    assert found.p_value == pytest.approx(expected)


def test_p_values_are_adjusted_as_holm_does():
    assert drift.adjust([0.01, 0.04, 0.03, 0.5]).tolist() == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert drift.adjust([0.9, 0.8]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n_labels", [None, 4, 40])
def test_tables_of_one_distribution_rarely_differ(n_labels):
    rng = np.random.default_rng(2)

    def draw(n):
        return rng.normal(size=n) if n_labels is None else rng.integers(0, n_labels, n).astype(float)

    p_values = [drift.compare(draw(300), draw(200), n_labels).p_value for _ in range(400)]
    assert np.mean(np.array(p_values) < 0.05) < 0.09


def tables(n, moved):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["oak", "ash"], n)})
    X_test = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["oak", "ash"], n)})
    if moved:
        X_test["b"] += 1
        X_test.loc[:49, "kind"] = "elm"
    return X, X["a"] + X["b"], X_test, X_test["a"] + X_test["b"]


@pytest.mark.filterwarnings("ignore:Row 0 of column 'kind':UserWarning")
@pytest.mark.parametrize("moved", [False, True])
def test_the_report_names_the_columns_that_differ(moved):
    X, y, X_test, y_test = tables(300, moved)
    forest = weald.RandomForestRegressor(20, random_state=0).fit(X, y)
    html = weald.report(forest, X, y, X_test=X_test, y_test=y_test).html
    section = html.partition('<section id="drift"')[2].partition("</section>")[0]
    assert (
        "differ more than by chance (adjusted p-value below 0.01): b, kind. The target differs too" in section
    ) == moved
    assert ("No column differs more than by chance." in section) == (not moved)
    assert ("a forest cannot tell test rows from training rows" in section) == (not moved)
    assert ("16.7 %" in section) == moved  # 50 of 300 rows have an unknown category
    assert section.count("<figure") == 2 * moved


def test_a_change_that_no_single_column_shows_is_found_by_all_together():
    rng = np.random.default_rng(4)
    X, X_test = rng.normal(size=(2, 600, 2))
    X_test[:, 1] = X_test[:, 0] + 0.1 * X_test[:, 1]
    X_test[:, 1] *= X[:, 1].std() / X_test[:, 1].std()
    found = drift.separate(drift.Tables(X, X_test, {}), [0, 1])
    assert found.low > 0.7
    alike = drift.separate(drift.Tables(X, rng.normal(size=(600, 2)), {}), [0, 1])
    assert alike.low < 0.5 < alike.high + 0.03


def test_reading_the_test_table_does_not_count_its_unknown_categories_twice():
    X, y, X_test, _ = tables(300, moved=True)
    forest = weald.RandomForestRegressor(5, random_state=0).fit(X, y)
    found = drift.read_tables(forest, read_matrix(forest, X), X_test)
    assert found.unknown == {2: 50}
    assert forest.unknown_categories_ == {}
