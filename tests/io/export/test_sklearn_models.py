"""scikit-learn's own trees predict what weald predicts, and tools that read them work."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.base
import sklearn.ensemble
import sklearn.tree
from sklearn.tree import export_graphviz, export_text

import weald
from tests.io.export.models import MODELS, fitted, has_sets, make_frame, make_table

NUMERIC = [name for name in MODELS if not any(word in name for word in ("categories", "hard", "different weight"))]
TREES = (
    weald.DecisionTreeClassifier,
    weald.DecisionTreeRegressor,
    weald.ExtraTreeClassifier,
    weald.ExtraTreeRegressor,
)
FORESTS = (
    weald.RandomForestClassifier,
    weald.RandomForestRegressor,
    weald.ExtraTreesClassifier,
    weald.ExtraTreesRegressor,
)


def table_for(kind, n_targets=1, missing=0.05):
    """Make a table of float32 numbers, with labels as text or with numbers."""
    X, signal = make_table(n_classes=0, missing=missing)
    X = X.astype(np.float32).astype(np.float64)
    columns = [np.array(["no", "yes", "maybe"])[np.digitize(signal + o, [0, 1.5])] for o in range(n_targets)]
    if kind.task == "regression":
        columns = [signal + o * X[:, 2] ** 2 for o in range(n_targets)]
        columns = [np.nan_to_num(column) for column in columns]
    return X, columns[0] if n_targets == 1 else np.column_stack(columns)


def fit(kind, n_targets=1, missing=0.05, **given):
    return kind(random_state=3, **given).fit(*table_for(kind, n_targets, missing))


# ------------------------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("name", NUMERIC)
def test_scikit_learn_predicts_the_same_bits_at_the_edges_of_leaves_in_float32(name):
    parity = fitted(name).to_sklearn().parity
    assert parity.is_exact, str(parity)
    assert parity.n_rows == 2000  # rounded down, and up
    assert parity.compared.endswith("of rows rounded to float32")


@pytest.mark.parametrize("kind", [*TREES, *FORESTS])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_class_is_that_of_the_same_name_and_rows_of_float32_are_answered_alike(kind, n_targets):
    given = {"n_estimators": 4} if kind in FORESTS else {}
    model = fit(kind, n_targets, min_samples_leaf=3, **given)
    X, _ = table_for(kind, n_targets)
    export = model.to_sklearn(X=X)
    module = sklearn.ensemble if kind in FORESTS else sklearn.tree
    assert type(export.model) is getattr(module, kind.__name__)
    assert export.parity.is_exact
    assert export.parity.n_rows == 2400
    assert "changes its predictions for 0 of the 400 rows of X" in str(export)
    assert np.array_equal(export.model.predict(X), model.predict(X))
    assert np.array_equal(export.model.apply(X), model.apply(X))
    assert (export.model.decision_path(X)[0] != model.decision_path(X)[0]).sum() == 0


def test_doubles_between_neighbors_of_float32_are_counted():
    X = np.array([[1.0], [1.0 + 1e-9], [2.0]])
    model = weald.DecisionTreeRegressor().fit(X, [1.0, 2.0, 3.0])
    export = model.to_sklearn(X=X)
    assert export.parity.is_exact
    assert "changes its predictions for 1 of the 3 rows of X" in str(export)
    assert (export.model.predict(X) != model.predict(X)).sum() == 1


def test_without_a_check_nothing_is_compared():
    assert fitted("two classes").to_sklearn(check=False).parity.n_rows == 0


def test_a_model_that_would_answer_otherwise_is_found(monkeypatch):
    from sklearn.ensemble import RandomForestRegressor

    monkeypatch.setattr(RandomForestRegressor, "predict", lambda _, X: np.zeros(len(X)))
    with pytest.raises(weald.ExportError, match="does not predict the same as weald"):
        fitted("regression").to_sklearn()


def test_infinite_thresholds_send_present_values_left():
    X = [[np.nan], [1.0], [2.0], [np.nan]]
    model = weald.DecisionTreeClassifier().fit(X, [0, 1, 1, 0])
    made = model.to_sklearn().model
    assert made.tree_.threshold[0] == np.inf
    assert made.predict([[np.nan], [-5.0], [3e38]]).tolist() == [0, 1, 1]


# ------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [True, False], ["b", "a"], [2.0, -1.0], np.array(["x", "yy"], dtype=object)],
    ids=["int", "bool", "text", "float", "object"],
)
def test_labels_keep_their_type(labels):
    model = weald.RandomForestClassifier(3, random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], [*labels, *labels])
    made = model.to_sklearn().model
    assert made.classes_.dtype == model.classes_.dtype
    assert made.predict([[1.0], [4.0]]).tolist() == model.predict([[1.0], [4.0]]).tolist()


def test_targets_of_different_types_are_labels_of_one_type():
    Y = np.array([["a", 1], ["b", 2], ["a", 2], ["b", 1]], dtype=object)
    model = weald.DecisionTreeClassifier(random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], Y)
    assert model.to_sklearn().model.predict([[1.0], [2.0]]).tolist() == [["a", 1], ["b", 2]]


def test_names_of_features_come_along_and_are_checked():
    frame = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "height": [4.0, 3.0, 1.0, 2.0]})
    made = weald.RandomForestRegressor(3, random_state=0).fit(frame, [1.0, 2.0, 3.0, 4.0]).to_sklearn(X=frame).model
    assert made.feature_names_in_.tolist() == ["width", "height"]
    with pytest.raises(ValueError, match="feature names"):
        made.predict(frame[["height", "width"]])


# ------------------------------------------------------------------------------------------------ truth values


@pytest.mark.parametrize("order", [[False, True], [True, False]])
def test_columns_of_truth_values_become_zeros_and_ones(order):
    frame = pd.DataFrame({"flag": np.resize(order, 40), "number": np.arange(40.0)})
    target = np.where(frame["flag"], frame["number"], -10.0)
    model = weald.RandomForestRegressor(6, max_features=None, random_state=1).fit(frame, target)
    assert len(model.forest_.category_sets)
    export = model.to_sklearn(X=frame)
    assert export.parity.is_exact
    assert export.model.predict(frame).tolist() == model.predict(frame).tolist()


def test_a_set_that_holds_true_changes_sides():
    frame = pd.DataFrame({"flag": [True, True, True, False], "other": [1.0, 2.0, 3.0, 4.0]})
    for target in ([1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]):
        model = weald.DecisionTreeRegressor(max_depth=1).fit(frame[["flag"]], target)
        made = model.to_sklearn(X=frame[["flag"]]).model
        assert made.predict(frame[["flag"]]).tolist() == target
        assert made.tree_.threshold[0] == 0.5


# ------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fitted("categories"), r"column '(few|many)' of X is split into sets of categories.*OneHotEncoder"),
        (lambda: fitted("hard votes"), r'voting="hard" gives.*set_params\(voting="soft"\)'),
        (lambda: fitted("votes of different weight"), "different weights"),
        (lambda: weald.KernelForestRegressor(3).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]), r"plain_forest\(\)"),
        (lambda: weald.RandomForestRegressor(3).fit([[1.0], [2.0]], [1e308, 1.5e308]), "exceed the range of doubles"),
        (weald.DecisionTreeClassifier, "not fitted"),
    ],
    ids=["categories", "hard votes", "weighted votes", "kernels", "overflow", "not fitted"],
)
def test_what_scikit_learn_cannot_hold_is_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make().to_sklearn()


def test_hard_votes_can_be_made_soft():
    model = weald.RandomForestClassifier(5, voting="hard", random_state=0).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    assert model.set_params(voting="soft").to_sklearn().parity.is_exact


# ------------------------------------------------------------------------------------------- what is carried over


def test_nodes_hold_what_scikit_learns_own_tree_of_the_same_table_holds():
    X, y = make_table(missing=0.0)
    X = X.astype(np.float32).astype(np.float64)
    for criterion in ("gini", "entropy"):
        given = {"max_depth": 3, "criterion": criterion}
        theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **given).fit(X, y).tree_
        ours = weald.DecisionTreeClassifier(**given).fit(X, y).to_sklearn().model.tree_
        assert ours.node_count == theirs.node_count
        for name in ("children_left", "children_right", "feature", "n_node_samples", "weighted_n_node_samples"):
            assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
        for name in ("impurity", "value"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-12), name
        assert ours.max_depth == theirs.max_depth
        assert ours.n_leaves == theirs.n_leaves


@pytest.mark.parametrize("kind", [*TREES, *FORESTS])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_importances_are_those_of_weald(kind, n_targets):
    given = {"n_estimators": 5} if kind in FORESTS else {}
    model = fit(kind, n_targets, max_depth=4, **given)
    assert model.to_sklearn().model.feature_importances_ == pytest.approx(model.feature_importances_, abs=1e-9)


def test_with_weights_the_root_weighs_its_size():
    X, y = make_table(missing=0.0)
    model = weald.DecisionTreeClassifier(max_depth=3, class_weight="balanced").fit(X, y)
    tree = model.to_sklearn().model.tree_
    assert tree.weighted_n_node_samples[0] == tree.n_node_samples[0] == 400
    assert tree.compute_feature_importances() == pytest.approx(model.feature_importances_)


def test_parameters_mean_the_same_and_a_clone_can_be_fitted():
    X, y = make_table(n_classes=0)
    model = weald.RandomForestRegressor(
        4, max_depth="sqrt", min_samples_leaf=0.01, max_samples=0.5, feature_weights=[1, 1, 1, 1, 2, 2], random_state=5
    ).fit(X, y)
    export = model.to_sklearn()
    found = export.model.get_params()
    expected = {"max_depth": 2, "min_samples_leaf": 0.01, "max_samples": 0.5, "max_features": 2, "random_state": 5}
    assert {name: found[name] for name in expected} == expected
    assert "parameters that scikit-learn lacks: feature_weights" in str(export)
    assert len(sklearn.base.clone(export.model).fit(X, y).estimators_) == 4


def test_misclassification_is_written_as_gini_and_said():
    X, y = make_table()
    export = weald.DecisionTreeClassifier(criterion="misclassification", max_depth=3).fit(X, y).to_sklearn()
    assert export.parity.is_exact
    assert export.model.criterion == "gini"
    assert "the criterion misclassification: impurities are Gini impurities" in export.parity.lost


def test_out_of_bag_results_come_along():
    X, y = make_table()
    model = weald.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    made = model.to_sklearn().model
    assert made.oob_score_ == model.oob_score_
    assert np.array_equal(made.oob_decision_function_, model.oob_decision_function_, equal_nan=True)


def test_a_bag_that_scikit_learn_would_draw_is_an_error_not_another_bag():
    from sklearn.utils import check_random_state

    bagged = fit(weald.RandomForestRegressor, n_estimators=2).to_sklearn().model
    with pytest.raises(ValueError, match="grown by weald, so scikit-learn cannot draw its bag"):
        check_random_state(bagged.estimators_[0].random_state)
    with pytest.raises((AttributeError, ValueError)):
        _ = bagged.estimators_samples_


def test_ordered_categories_are_cut_like_numbers():
    frame, signal = make_frame()
    model = weald.RandomForestRegressor(4, random_state=0).fit(frame[["number", "grade"]], signal)
    assert "labels of categories: rows have their numbers" in model.to_sklearn().parity.lost
    assert has_sets("categories")


def test_a_subclass_is_converted_as_its_base():
    class Mine(weald.ExtraTreesRegressor):
        pass

    made = Mine(n_estimators=2, random_state=0).fit([[1.0], [2.0]], [1.0, 2.0]).to_sklearn().model
    assert type(made) is sklearn.ensemble.ExtraTreesRegressor


def test_what_was_saved_and_loaded_is_converted_too(tmp_path):
    fitted("two classes").save(tmp_path / "forest.weald")
    assert weald.load(tmp_path / "forest.weald").to_sklearn().parity.is_exact


def test_from_scikit_learn_and_back():
    X, y = make_table()
    theirs = sklearn.ensemble.RandomForestClassifier(4, random_state=0).fit(X.clip(-1e30, 1e30), y)
    again = weald.from_sklearn(theirs).to_sklearn().model
    assert np.array_equal(again.predict_proba(X), theirs.predict_proba(X))


# -------------------------------------------------------------------------------------------------------- tools


def test_scikit_learns_own_tools_read_the_trees():
    X, y = make_table(missing=0.0)
    made = fitted("leaves of several classes").to_sklearn().model
    assert "class:" in export_text(made.estimators_[0])
    assert export_graphviz(made.estimators_[0]).startswith("digraph")
    tree = fitted("one tree").to_sklearn().model
    assert (np.diff(tree.cost_complexity_pruning_path(X, y).ccp_alphas) >= 0).all()
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.predict_proba(X), made.predict_proba(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sklearn.base.clone(tree).fit(X, y)


def test_plot_tree_draws_every_node():
    plt = pytest.importorskip("matplotlib.pyplot")
    made = fitted("small regression").to_sklearn().model.estimators_[0]
    figure, axes = plt.subplots()
    assert len(sklearn.tree.plot_tree(made, ax=axes)) >= made.tree_.node_count
    plt.close(figure)


@pytest.mark.parametrize("name", ["leaves of several classes", "regression", "bound leaves"])
def test_shap_reads_the_forest_as_scikit_learns(name):
    import shap

    model = fitted(name)
    made = model.to_sklearn().model
    rows = np.nan_to_num(make_table()[0][:20])
    explainer = shap.TreeExplainer(made)
    values = explainer.shap_values(rows, check_additivity=False)
    predicted = made.predict_proba(rows) if hasattr(made, "predict_proba") else made.predict(rows)[:, np.newaxis]
    total = values.reshape(*rows.shape, -1).sum(axis=1) + explainer.expected_value
    assert total == pytest.approx(predicted, abs=1e-6)
