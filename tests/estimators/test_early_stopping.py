"""A forest with "auto" stops according to the rule, and is the forest of that many trees."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_friedman1

import weald
from weald.errors import ParameterError
from weald.estimators import early_stopping

X, Y = load_iris(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)


def first_that_settles(errors, n_rows, classify, max_trees):
    """Apply the rule as documented."""
    for n in range(64, max_trees + 1, 32):
        third, last = np.mean(errors[n // 2 : 3 * n // 4]), np.mean(errors[3 * n // 4 : n])
        band = 0.01 * errors[n - 1]
        if classify:
            band = max(band, 0.5 * np.sqrt(errors[n - 1] * (1 - errors[n - 1]) / n_rows))
        if 2 * abs(third - last) <= band:
            return n
    return max_trees


@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
@pytest.mark.parametrize("seed", range(3))
def test_growth_ends_where_the_rule_says(seed):
    friedman = make_friedman1(400, noise=1.0, random_state=seed)
    cases = [(weald.RandomForestClassifier, X, Y), (weald.RandomForestRegressor, *friedman)]
    for kind, x, y in cases:
        auto = kind("auto", max_estimators=200, random_state=seed).fit(x, y)
        whole = kind(200, oob_score=True, random_state=seed).fit(x, y)
        n = first_that_settles(whole.oob_.curve.error, len(y), kind is weald.RandomForestClassifier, 200)
        assert auto.forest_.n_trees == n
        same = kind(n, oob_score=True, random_state=seed).fit(x, y)
        assert auto.forest_.fingerprint() == same.forest_.fingerprint()
        assert auto.oob_error_ == same.oob_error_
        np.testing.assert_array_equal(auto.oob_.curve.error, same.oob_.curve.error)
        np.testing.assert_array_equal(auto.oob_.counts, same.oob_.counts)


def test_engines_and_threads_stop_at_the_same_tree():
    x, y = X[::3, :2], Y[::3]
    reference = weald.RandomForestClassifier("auto", random_state=0, engine="reference", max_depth=3).fit(x, y)
    for n_jobs in (1, 3):
        native = weald.RandomForestClassifier("auto", random_state=0, n_jobs=n_jobs, max_depth=3).fit(x, y)
        assert native.forest_.fingerprint() == reference.forest_.fingerprint()


def test_more_than_the_most_is_never_grown():
    with pytest.warns(UserWarning, match="has not converged after 40 trees"):
        model = weald.RandomForestRegressor("auto", max_estimators=40, random_state=0).fit(XR, YR)
    assert model.forest_.n_trees == len(model.estimators_) == 40


def test_a_warm_start_goes_on_until_it_has_settled():
    alone = weald.RandomForestClassifier("auto", random_state=0).fit(X, Y)
    begun = weald.RandomForestClassifier(10, random_state=0, warm_start=True).fit(X, Y)
    begun.set_params(n_estimators="auto").fit(X, Y)
    assert begun.forest_.fingerprint() == alone.forest_.fingerprint()


def test_a_falling_error_has_not_settled():
    errors = 0.2 + 1 / np.arange(1.0, 129)
    assert not early_stopping.has_converged(errors, 1000, classify=False)
    assert early_stopping.has_converged(np.full(64, 0.2), 1000, classify=False)
    assert not early_stopping.has_converged(np.r_[np.full(40, np.nan), np.full(24, 0.2)], 1000, classify=False)
    flickering = 0.2 + 0.05 * (np.arange(64) % 2)
    assert early_stopping.has_converged(flickering, 1000, classify=False)
    step = np.repeat([0.205, 0.202], [48, 16])
    assert early_stopping.has_converged(step, 1000, classify=True)
    assert not early_stopping.has_converged(step, 1000, classify=False)


def test_without_bags_there_is_no_error_to_watch():
    with pytest.raises(ParameterError, match="n_estimators='auto'"):
        weald.RandomForestClassifier("auto", bootstrap=False).fit(X, Y)
