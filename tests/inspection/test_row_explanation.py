"""One row in words: contributions, the smallest changes that change the prediction, training rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import weald
from weald.errors import DataError, DataTypeError, ParameterError, WealdError
from weald.inspection.free_axes import thresholds_of

RNG = np.random.default_rng(11)
N = 150
X = RNG.normal(size=(N, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
LABELS = np.where(Y > 0.5, "high", np.where(Y < -0.5, "low", "middle"))
FRAME = pd.DataFrame({"a": X[:, 0], "color": RNG.choice(["red", "green", "blue"], N)})
FRAME["size"] = pd.Categorical(RNG.choice(["s", "m", "l"], N), categories=["s", "m", "l"], ordered=True)
FRAME["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), "D")
FRAME.loc[:4, "a"] = np.nan
MIXED = FRAME["a"].fillna(0) + (FRAME["color"] == "red") + (FRAME["size"] == "l")

REGRESSOR = weald.RandomForestRegressor(20, min_samples_leaf=3, random_state=0).fit(X, Y)
CLASSIFIER = weald.RandomForestClassifier(20, min_samples_leaf=3, random_state=0).fit(X, LABELS)
FORESTS = {
    "regression": REGRESSOR,
    "classes": CLASSIFIER,
    "hard votes": weald.RandomForestClassifier(20, voting="hard", random_state=0).fit(X, LABELS),
    "weighted votes": weald.RandomForestClassifier(8, resampling="boosting", max_depth=3, random_state=0).fit(
        X, LABELS
    ),
    "extra trees": weald.ExtraTreesRegressor(8, random_state=0).fit(X, Y),
}


def numbers_of(forest, rows):
    return forest.predict_proba(rows) if hasattr(forest, "classes_") else forest.predict(rows)[:, None]


@pytest.mark.parametrize("case", FORESTS)
def test_base_and_contributions_add_up_to_the_prediction(case):
    forest = FORESTS[case]
    for row in X[:5]:
        found = forest.explain_row(row)
        assert found.prediction == forest.predict([row])[0]
        assert found.value == pytest.approx(numbers_of(forest, [row]).max() if found.output else found.prediction)
        assert found.base + sum(c.contribution for c in found.contributions) == pytest.approx(found.value, abs=1e-12)
        sizes = [abs(c.contribution) for c in found.contributions]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("case", FORESTS)
def test_no_smaller_change_of_a_feature_does_it(case):
    """Brute force: predict the row with every value between two thresholds of the forest."""
    forest = FORESTS[case]
    move = None if hasattr(forest, "classes_") else 0.3
    for row in X[5:9]:
        found = {c.feature: c for c in forest.explain_row(row, X, move=move).changes}
        now = numbers_of(forest, [row])[0]
        for feature, thresholds in enumerate(thresholds_of(forest.forest_)):
            values = np.concatenate([thresholds, np.nextafter(thresholds, np.inf)])
            rows = np.repeat(row[None], len(values), axis=0)
            rows[:, feature] = values
            then = numbers_of(forest, rows)
            does = np.abs(then[:, 0] - now[0]) >= move if move else then.argmax(axis=1) != now.argmax()
            passed = [
                ((X[:, feature] > min(v, row[feature])) & (X[:, feature] < max(v, row[feature]))).mean() for v in values
            ]
            if not does.any():
                assert f"x{feature}" not in found
            else:
                change = found[f"x{feature}"]
                assert change.distance == pytest.approx(np.min(np.array(passed)[does]), abs=1e-6)
                assert any(change.result == pytest.approx(p.max() if not move else p[0]) for p in then[does])


def test_the_smallest_change_to_a_category_is_to_the_most_common_one_that_does_it():
    """Brute force: predict the row with every category."""
    colors = pd.Series(RNG.choice(list("abcdef"), N, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]))
    frame = pd.DataFrame({"size": X[:, 0], "color": colors})
    forest = weald.RandomForestRegressor(20, random_state=0).fit(frame, Y + colors.map(ord) % 3)
    common = colors.value_counts()
    n_found = 0
    for i in range(5, 25):
        row = frame.iloc[[i]]
        now = forest.predict(row)[0]
        does = [c for c in common.index if abs(forest.predict(row.assign(color=c))[0] - now) >= 1.0]
        found = {c.feature: c for c in forest.explain_row(row, frame, move=1.0).changes}
        assert ("color" in found) == bool(does)
        if does:
            n_found += 1
            change = found["color"]
            assert common[change.to] == common[does].max()
            assert change.distance == pytest.approx(1 - common[change.to] / N)
            assert change.result == pytest.approx(forest.predict(row.assign(color=change.to))[0])
    assert 0 < n_found < 20


def test_changes_are_sorted_and_say_where_to():
    found = CLASSIFIER.explain_row(X[7], X)
    distances = [c.distance for c in found.changes]
    assert distances == sorted(distances)
    for change in found.changes:
        word, bound = change.to.rsplit(" ", 1)
        changed = X[7].copy()
        changed[int(change.feature[1:])] = float(bound) + (0.005 if word == "above" else -0.005)
        assert word in ("above", "at most")
        assert CLASSIFIER.predict([changed])[0] == change.prediction != found.prediction


def test_categories_dates_and_missing_values_are_written_as_in_the_data():
    forest = weald.RandomForestRegressor(20, min_samples_leaf=3, random_state=0).fit(FRAME, MIXED)
    found = forest.explain_row(FRAME.iloc[0], FRAME, move=0.2)
    by_name = {c.feature: c for c in found.contributions}
    assert by_name["a"].value == "missing"
    assert by_name["a"].frequency == pytest.approx(5 / N)
    assert by_name["color"].value == FRAME["color"][0]
    assert by_name["color"].frequency == pytest.approx((FRAME["color"] == FRAME["color"][0]).mean())
    assert by_name["when"].value == str(FRAME["when"][0].date())
    assert 0 <= by_name["size"].quantile <= 1
    changes = {c.feature: c for c in found.changes}
    for name in ("color", "size"):
        if name in changes:
            then = forest.predict(
                FRAME.iloc[[0]].assign(**{name: [changes[name].to]}).astype({"size": FRAME["size"].dtype})
            )
            assert then[0] == pytest.approx(changes[name].result)
            assert abs(then[0] - found.value) >= 0.2
    assert changes["a"].value == "missing"
    assert {"red", "green", "blue"} >= {changes["color"].to}


def test_neighbors_are_the_training_rows_with_the_largest_weights():
    found = REGRESSOR.explain_row(X[3], X, Y)
    nearest = REGRESSOR.neighbors(X, Y).nearest(X[3:4])
    assert [n.row for n in found.neighbors] == nearest.rows[0].tolist()
    assert [n.weight for n in found.neighbors] == nearest.weights[0].tolist()
    assert [n.target for n in found.neighbors] == Y[nearest.rows[0]].tolist()
    weight = np.ones(N)
    weight[:10] = 0
    forest = weald.RandomForestClassifier(5, random_state=0).fit(X, LABELS, weight)
    rows = forest.explain_row(X[20], X, LABELS, weight).neighbors
    assert [LABELS[n.row] for n in rows] == [n.target for n in rows]


def test_it_is_text_and_plain_values():
    iris = load_iris(as_frame=True)
    forest = weald.RandomForestClassifier(20, random_state=0).fit(iris.data, iris.target_names[iris.target])
    found = forest.explain_row(iris.data.iloc[0], iris.data, iris.target_names[iris.target])
    text = str(found)
    assert text.startswith("predicted setosa; probability 1.000")
    for words in ("petal length (cm)", "The smallest changes", "Training rows", "weight 0."):
        assert words in text
    assert "others" in found.text(most=2)
    assert len(repr(found)) < 400
    other = forest.explain_row(iris.data.iloc[0].to_dict(), label="virginica")
    assert (other.output, other.value, other.prediction) == ("virginica", 0.0, "setosa")
    assert "probability of virginica 0.000" in str(other)
    names = forest.explain_row(iris.data.iloc[[0]], feature_names=list("abcd"))
    assert {c.feature for c in names.contributions} <= set("abcd")
    assert found.to_dict()["neighbors"][0]["row"] == found.neighbors[0].row


def test_a_forest_that_cannot_change_says_so():
    forest = weald.RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, np.arange(N) == 0)
    assert "No change of a single feature would change the prediction." in str(forest.explain_row(X[9]))


def test_engines_and_sparse_rows_agree():
    forest = weald.RandomForestRegressor(3, max_depth=4, random_state=0).fit(sparse.csr_matrix(X), Y)
    row = sparse.csr_matrix(X[:1])
    found = forest.explain_row(row, sparse.csr_matrix(X), Y)
    assert found == weald.RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, Y).explain_row(X[0], X, Y)
    forest.set_params(engine="reference")
    assert forest.explain_row(row, sparse.csr_matrix(X), Y) == found


SEVERAL = weald.RandomForestRegressor(2, random_state=0).fit(X, X[:, :2])
KERNELS = weald.KernelForestRegressor(2, random_state=0).fit(X[:30], Y[:30])
REFUSED = {
    "not fitted": (lambda: weald.RandomForestRegressor().explain_row(X[0]), NotFittedError, "not fitted"),
    "nothing": (lambda: REGRESSOR.explain_row(None), DataTypeError, "x is None"),
    "a number": (lambda: REGRESSOR.explain_row(1.0), DataTypeError, "not a row"),
    "ragged": (lambda: REGRESSOR.explain_row([[1.0], [1.0, 2.0]]), DataError, "cannot be read as a row"),
    "two rows": (lambda: REGRESSOR.explain_row(X[:2]), DataError, "x has 2 rows"),
    "too short": (lambda: REGRESSOR.explain_row(X[0, :2]), WealdError, "2 features"),
    "names": (lambda: REGRESSOR.explain_row({"x0": 1.0}), DataError, "without"),
    "several targets": (lambda: SEVERAL.explain_row(X[0]), ParameterError, "2 targets"),
    "kernels": (lambda: KERNELS.explain_row(X[0]), ParameterError, "kernel"),
    "other table": (lambda: REGRESSOR.explain_row(X[0], X[:, :2]), WealdError, "2 features"),
    "not the training data": (lambda: REGRESSOR.explain_row(X[0], X[:50], Y[:50]), DataError, "."),
    "label": (lambda: CLASSIFIER.explain_row(X[0], label="x"), ParameterError, "label='x' is not a class"),
    "label of regression": (lambda: REGRESSOR.explain_row(X[0], label=1), ParameterError, "predicts numbers"),
    "move of classes": (lambda: CLASSIFIER.explain_row(X[0], move=1.0), ParameterError, "move=1.0 is for regression"),
    "move below 0": (lambda: REGRESSOR.explain_row(X[0], move=-1), ParameterError, "move=-1"),
    "feature names": (lambda: REGRESSOR.explain_row(X[0], feature_names=["a"]), DataError, "feature_names"),
    "target without table": (lambda: REGRESSOR.explain_row(X[0], y=Y), ParameterError, "y is given without X"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_words(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()
