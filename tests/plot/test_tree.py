"""The plot of a tree shows the tree, and nothing overlaps."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.errors import DataError
from weald.plot import TreeDisplay
from weald.plot.cards import FittedText

IRIS = load_iris(as_frame=True)
RNG = np.random.default_rng(7)
NOISE, LABELS = RNG.normal(size=(600, 3)), RNG.integers(0, 2, 600)


def classifier(**given):
    return weald.DecisionTreeClassifier(**given).fit(IRIS.data, IRIS.target)


def missing():
    X = IRIS.data.to_numpy().copy()
    X[RNG.random(X.shape) < 0.2] = np.nan
    return weald.DecisionTreeClassifier(max_depth=4).fit(X, IRIS.target)


def weighted():
    weight = RNG.random(150)
    return weald.DecisionTreeClassifier(max_depth=4).fit(IRIS.data, IRIS.target, sample_weight=weight)


MODELS = {
    "classifier": classifier,
    "regressor": lambda: weald.DecisionTreeRegressor(max_depth=4).fit(*load_diabetes(return_X_y=True)),
    "missing": missing,
    "weighted": weighted,
    "class weights": lambda: classifier(class_weight="balanced", max_depth=3),
    "forest": lambda: weald.RandomForestClassifier(3, random_state=0).fit(IRIS.data, IRIS.target),
    "regression forest": lambda: weald.RandomForestRegressor(2, max_depth=4).fit(NOISE, NOISE[:, 0]),
    "one leaf": lambda: weald.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"]),
    "hundred leaves": lambda: weald.DecisionTreeClassifier(max_leaf_nodes=100).fit(NOISE, LABELS),
    "cut": lambda: weald.DecisionTreeClassifier().fit(NOISE, LABELS),
    "two dozen classes": lambda: weald.DecisionTreeClassifier().fit(NOISE, np.arange(600) % 24),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


def text_boxes(display):
    """Draw, then return the boxes of all texts in the units of the axes."""
    display.figure_.canvas.draw()
    texts = [artist for artist in display.ax_.get_children() if isinstance(artist, FittedText)]
    to_units = display.ax_.transData.inverted()
    return texts, np.array([text.get_window_extent().transformed(to_units).extents for text in texts])


@pytest.mark.parametrize("orientation", ["down", "right"])
def test_cards_do_not_overlap(model, orientation):
    boxes = TreeDisplay.from_estimator(model, orientation=orientation).boxes_
    x0, y0 = boxes[:, 0], boxes[:, 1]
    x1, y1 = x0 + boxes[:, 2], y0 + boxes[:, 3]
    apart = (x1[:, None] <= x0) | (x1 <= x0[:, None]) | (y1[:, None] <= y0) | (y1 <= y0[:, None])
    assert (apart | np.eye(len(boxes), dtype=bool)).all()


@pytest.mark.parametrize("size", [None, (3, 3)])
def test_text_stays_on_its_card_at_any_size(model, size):
    ax = None if size is None else plt.figure(figsize=size).add_subplot()
    display = TreeDisplay.from_estimator(model, ax=ax, max_nodes=41)
    if size is None:
        display.figure_.set_dpi(200)
    else:
        display.figure_.set_dpi(400)  # small text, measured precisely
    texts, found = text_boxes(display)
    boxes = display.boxes_
    for text, (x0, y0, x1, y1) in zip(texts, found, strict=True):
        if text.get_text() in ("yes", "no") or "nodes are drawn" in text.get_text():
            continue
        x, y, width, height = boxes.T
        within = (x <= x0) & (x1 <= x + width) & (y <= y0) & (y1 <= y + height)
        assert within.sum() == 1, text.get_text()


def test_texts_do_not_overlap(model):
    display = TreeDisplay.from_estimator(model, max_nodes=41)
    display.figure_.set_dpi(200)
    texts, found = text_boxes(display)
    low, high = found[:, :2], found[:, 2:]
    apart = ((high[:, None] <= low + 0.5) | (high <= low[:, None] + 0.5)).any(axis=2)
    assert (apart | np.eye(len(texts), dtype=bool)).all()


def test_every_node_is_drawn_with_its_words(model):
    display = TreeDisplay.from_estimator(model)
    texts = {text.get_text() for text in display.ax_.get_children() if isinstance(text, FittedText)}
    sketch = display.sketch
    assert {question for question, shown in zip(sketch.question, sketch.is_open, strict=True) if shown} <= texts
    assert set(sketch.tally) <= texts
    assert set(sketch.answer) <= texts


def test_what_is_not_drawn_is_said():
    display = TreeDisplay.from_estimator(MODELS["cut"](), max_nodes=21)
    texts = [text.get_text() for text in display.ax_.get_children() if isinstance(text, FittedText)]
    hidden = [int(t.split()[1].replace(",", "")) for t in texts if t.startswith("…")]
    assert len(display.sketch.node) == 21
    assert sum(hidden) + 21 == display.sketch.n_nodes
    assert any(t.startswith(f"21 of {display.sketch.n_nodes:,} nodes are drawn") for t in texts)


def test_wide_trees_grow_to_the_right_and_small_ones_down():
    small = TreeDisplay.from_estimator(classifier(max_depth=2)).boxes_
    assert small[0, 1] == small[:, 1].max()
    large = TreeDisplay.from_estimator(MODELS["hundred leaves"]()).boxes_
    assert large[0, 0] == large[:, 0].min() == 0
    assert len(large) == 199


def test_a_new_figure_has_the_size_of_the_tree():
    display = TreeDisplay.from_estimator(classifier(max_depth=3))
    units = np.ptp(display.ax_.get_xlim()) / 72, np.ptp(display.ax_.get_ylim()) / 72
    assert display.figure_.get_size_inches() == pytest.approx(units)


def test_given_axes_are_used_and_kept():
    figure, ax = plt.subplots()
    display = TreeDisplay.from_estimator(classifier(), ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_names_are_not_read_as_mathematics():
    names = ["$x^2$", "a_b$", "\\alpha", "$"]
    tree = classifier(max_depth=3)
    display = TreeDisplay.from_estimator(tree, feature_names=names, class_names=["$", "$$", "\\frac{1}"])
    display.figure_.savefig(io.BytesIO(), format="svg")


def test_an_unknown_orientation_is_refused():
    with pytest.raises(weald.ParameterError, match="orientation='up' is not allowed"):
        TreeDisplay.from_estimator(classifier(), orientation="up")


def test_cards_count_the_errors_of_test_data():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = weald.RandomForestClassifier(3, max_depth=3, random_state=0).fit(X[::2], labels[::2])
    for model, number in ((forest, 1), (forest.estimators_[1], 0)):
        display = TreeDisplay.from_estimator(model, tree=number, X=X[1::2], y=labels[1::2])
        plain = TreeDisplay.from_estimator(model, tree=number).sketch
        path = forest.estimators_[1].decision_path(X[1::2]).toarray()
        for i, node in enumerate(plain.node):
            rows = path[:, node] == 1
            wrong = (labels[1::2][rows] != plain.answer[i]).sum()
            assert display.sketch.tally[i] == f"{plain.tally[i]}, test {wrong}/{rows.sum()}"
    numbers = weald.DecisionTreeRegressor(max_depth=2).fit(X[::2], X[::2, 0])
    display = TreeDisplay.from_estimator(numbers, X=X[1::2], y=X[1::2, 0])
    assert display.sketch.tally[0] == TreeDisplay.from_estimator(numbers).sketch.tally[0] + ", test 75"
    with pytest.raises(DataError, match="needs both X and y"):
        TreeDisplay.from_estimator(numbers, X=X)
    with pytest.raises(DataError, match="X has 150 rows but y has 3"):
        TreeDisplay.from_estimator(numbers, X=X, y=[1, 2, 3])
