"""Tables of nodes: every number against the rows that reach the node."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import weald
from tests.laws.cases import CRITERIA, ENGINES, is_of_classes, make_table, suited
from tests.laws.test_medians import mean_deviation, median_of
from weald import impurity
from weald.engines.reference import definition

each = pytest.mark.parametrize("criterion", CRITERIA)
OF = {"gini": impurity.gini, "entropy": impurity.entropy, "misclassification": impurity.misclassification}


def grow(criterion, weights="none", **given):
    table = make_table(90, ("many", "few"), 3 if is_of_classes(criterion) else 0, weights=weights, missing=0.1)
    table = suited(criterion, table)
    kind = weald.DecisionTreeClassifier if is_of_classes(criterion) else weald.DecisionTreeRegressor
    return kind(criterion=criterion, **given).fit(table.X, table.target, sample_weight=table.weight), table


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@each
def test_the_numbers_of_a_node_are_those_of_its_rows(criterion, weights):
    model, table = grow(criterion, weights, max_depth=4)
    weight = np.ones(90) if table.weight is None else table.weight
    nodes = model.nodes(frame="dict")
    impurities = []
    for node, rows in enumerate(model.decision_path(table.X).toarray().astype(bool).T):
        y, w = table.target[rows], weight[rows]
        assert nodes["samples"][node] == (rows.sum() if weights == "fractional" else w.sum())
        assert nodes["share"][node] == pytest.approx(w.sum() / weight.sum())
        if is_of_classes(criterion):
            counts = np.bincount(y, weights=w, minlength=3)
            impurities.append(OF[criterion](counts))
            np.testing.assert_allclose(nodes["value"][node], counts / counts.sum(), rtol=1e-9)
            assert nodes["prediction"][node] == counts.argmax()
            assert nodes["error"][node] == pytest.approx(1 - counts.max() / counts.sum(), abs=1e-9)
        elif criterion in definition.OF_MEDIANS:
            impurities.append(mean_deviation(y, w))
            assert nodes["value"][node] == nodes["prediction"][node] == pytest.approx(median_of(y, w))
            assert nodes["error"][node] == pytest.approx(impurities[-1], abs=1e-9)
        else:
            impurities.append(impurity.squared_error(y, w))
            assert nodes["value"][node] == nodes["prediction"][node] == pytest.approx(np.average(y, weights=w))
            assert nodes["error"][node] == pytest.approx(impurities[-1], abs=1e-9)
    np.testing.assert_allclose(nodes["impurity"], impurities, atol=1e-9)


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c not in definition.OF_COUNTS])
def test_gains_are_what_the_children_lack(criterion):
    nodes = grow(criterion, "whole")[0].nodes()
    leaf = nodes["left"] < 0
    assert (nodes[leaf][["gain", "decrease"]] == 0).all(axis=None)
    assert nodes[leaf][["split", "feature", "threshold", "missing"]].isna().all(axis=None)
    for _, node in nodes[~leaf].iterrows():
        left, right = nodes.loc[node["left"]], nodes.loc[node["right"]]
        rest = (left["share"] * left["impurity"] + right["share"] * right["impurity"]) / node["share"]
        assert node["gain"] == pytest.approx(node["impurity"] - rest, abs=1e-8)
        assert node["decrease"] == pytest.approx(node["gain"] * node["share"])
        assert left["parent"] == right["parent"] == node["node"]
        assert left["depth"] == right["depth"] == node["depth"] + 1
        assert node["samples"] == left["samples"] + right["samples"]
    assert nodes["parent"][0] == -1
    assert nodes["depth"].max() == grow(criterion, "whole")[0].get_depth()


def test_splits_are_in_words_and_in_numbers():
    model, _ = grow("gini", max_depth=3)
    nodes = model.nodes(frame="dict", feature_names=["height", "color"], class_names=["ash", "beech", "elm"])
    for node, words in enumerate(nodes["split"]):
        if words is not None:
            assert words.startswith(nodes["feature"][node])
            assert nodes["missing"][node] == ("left" if model.tree_.missing_go_to_left[node] else "right")
    assert set(nodes["feature"]) <= {"height", "color", None}
    assert set(nodes["prediction"]) <= {"ash", "beech", "elm"}
    np.testing.assert_array_equal(nodes["left"], model.tree_.children_left)
    np.testing.assert_array_equal(nodes["right"], model.tree_.children_right)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("engine", ENGINES)
@each
def test_the_training_error_is_that_of_the_rows(criterion, engine, weights):
    model, table = grow(criterion, weights, engine=engine, max_depth=3)
    predicted = model.predict(table.X)
    losses = predicted != table.target if is_of_classes(criterion) else (predicted - table.target) ** 2
    losses = np.abs(predicted - table.target) if criterion in definition.OF_MEDIANS else losses
    assert model.training_error() == pytest.approx(np.average(losses, weights=table.weight), abs=1e-9)
    nodes = model.nodes(frame="dict")
    if criterion not in definition.OF_COUNTS:
        assert model.total_impurity() == pytest.approx(nodes["impurity"][0] - nodes["decrease"].sum(), abs=1e-8)
    if criterion == "misclassification" or not is_of_classes(criterion):
        assert model.total_impurity() == pytest.approx(model.training_error(), abs=1e-12)


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_trees_of_a_forest_speak_of_their_bags(kind):
    table = make_table(60, ("many", "few"), 3 if kind is weald.RandomForestClassifier else 0, missing=0.1)
    model = kind(n_estimators=3, random_state=0, max_depth=3).fit(table.X, table.target)
    from weald.engines.choose import open_engine

    engine = open_engine("native")
    bags = engine.bags(engine.code(table, 65535, 1, None), model.growth_, model.forest_.origins, 1)
    for tree, bag in zip(model.estimators_, bags, strict=True):
        predicted = tree.predict(table.X)
        losses = (predicted - table.target) ** 2 if table.n_classes == 0 else predicted != table.target
        assert tree.training_error() == pytest.approx(np.average(losses, weights=bag))
        assert tree.nodes(frame="dict")["samples"][0] == bag.sum()


def test_what_is_not_fitted_cannot_be_read():
    model = weald.DecisionTreeClassifier()
    for ask in (model.nodes, model.total_impurity, model.training_error, model.pruning_path, lambda: model.prune(0)):
        with pytest.raises(NotFittedError):
            ask()
