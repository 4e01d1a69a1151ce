"""The section on prediction uncertainty has the numbers of `predict_interval` and `predict_set`."""

import re

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.estimators.calibration.kept_errors import bound
from weald.forest.describe.markup import Markup
from weald.reports.section import number, percent


def cells(html, caption):
    """The cells of a table, by row."""
    table = html.split(f"<caption>{caption}</caption>")[1].split("</table>")[0]
    rows = table.split("<tbody>")[1].split("<tr>")[1:]
    return [[str(Markup(cell)) for cell in re.findall(r"<td[^>]*>([^<]*)</td>", row)] for row in rows]


def test_intervals_are_those_of_the_model():
    X, y = load_diabetes(return_X_y=True)
    forest = weald.RandomForestRegressor(50, keep_errors=True, random_state=0).fit(X[:300], y[:300])
    html = weald.report(forest, X[:300], y[:300], X_test=X[300:], y_test=y[300:]).html
    lines = cells(html, "Prediction intervals")
    assert [line[0] for line in lines] == [percent(c) for c in (0.5, 0.8, 0.9, 0.95)]
    for line, coverage in zip(lines, (0.5, 0.8, 0.9, 0.95), strict=True):
        low, high = forest.predict_interval(X[300:], coverage).T
        assert line[1] == number(((high - low) / 2)[0])
        assert line[2] == percent(((low <= y[300:]) & (y[300:] <= high)).mean())
    assert "Fraction of the targets in their 90.0 % interval" in html


def test_sets_are_those_of_the_model_even_if_it_is_calibrated():
    X, y = load_iris(return_X_y=True)
    for calibrate in (None, "sigmoid"):
        forest = weald.RandomForestClassifier(50, keep_errors=True, calibrate=calibrate, random_state=0).fit(X, y)
        lines = cells(weald.report(forest, X, y).html, "Prediction sets")
        for line, coverage in zip(lines, (0.5, 0.8, 0.9, 0.95), strict=True):
            errors = forest.kept_errors_
            limit = bound(errors.lac, errors.weighing, coverage)
            sizes = (1 - forest.oob_.probabilities <= limit + 1e-12).sum(axis=1)
            expected = [percent(1 - limit), f"{sizes.mean():.2f}", percent((sizes == 1).mean())]
            assert line[:5] == [percent(coverage), *expected, percent((sizes == 0).mean())]


def test_few_rows_have_no_wide_intervals():
    X, y = load_diabetes(return_X_y=True)
    forest = weald.RandomForestRegressor(50, random_state=0).fit(X[:12], y[:12])
    lines = cells(weald.report(forest, X[:12], y[:12]).html, "Prediction intervals")
    assert lines[3][1] == "too few rows"
    assert np.isfinite(float(lines[0][1].replace(",", "")))


def test_a_model_without_out_of_bag_rows_has_no_such_section():
    X, y = load_diabetes(return_X_y=True)
    tree = weald.DecisionTreeRegressor(max_depth=3).fit(X[:300], y[:300])
    assert "Prediction intervals</caption>" not in weald.report(tree, X_test=X[300:], y_test=y[300:]).html
