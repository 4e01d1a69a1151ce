"""The HTML page of a tree: well-formed, safe for any names, and interactive."""

import os
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.forest.describe.summary import sketch_tree

IRIS = load_iris(as_frame=True)
VOID = {"meta"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</title></style></details>&amp;\x00\n",
    "\u202egnirts \ud800 ",
]


class Page(HTMLParser):
    """An HTML parser that checks that all tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.attributes = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def iris_tree(**given):
    return weald.DecisionTreeClassifier(**given).fit(IRIS.data, IRIS.target)


def test_a_page_has_every_node_in_its_words():
    model = iris_tree()
    page, sketch = Page(weald.export_html(model)), sketch_tree(model)
    assert page.tags.count("details") == sketch.is_open.sum()
    text = set(page.text)
    assert {*filter(None, sketch.question), *filter(None, sketch.otherwise), *sketch.tally, *sketch.answer} <= text


@pytest.mark.parametrize("model", ["regressor", "forest", "missing", "weighted", "leaf"])
def test_pages_of_all_kinds_of_trees_are_well_formed(model):
    X = IRIS.data.to_numpy().copy()
    holes = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    models = {
        "regressor": lambda: weald.DecisionTreeRegressor().fit(*load_diabetes(return_X_y=True)),
        "forest": lambda: weald.RandomForestClassifier(2).fit(X, IRIS.target),
        "missing": lambda: weald.DecisionTreeClassifier().fit(holes, IRIS.target),
        "weighted": lambda: iris_tree(class_weight="balanced"),
        "leaf": lambda: weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 3.0]),
    }
    assert Page(weald.export_html(models[model]())).tags


def test_hostile_names_are_text_and_nothing_else(tmp_path):
    plain = Page(weald.export_html(iris_tree()))
    file = tmp_path / "tree.html"
    page = weald.export_html(
        iris_tree(), file, title=HOSTILE[0], feature_names=HOSTILE, class_names=HOSTILE[:3], max_depth=None
    )
    hostile = Page(page)
    assert hostile.tags == plain.tags
    assert hostile.attributes == plain.attributes
    assert page.count("<script>") == 1
    assert file.read_text(encoding="utf-8") == page


def test_a_page_asks_for_nothing_from_elsewhere():
    page = weald.export_html(iris_tree())
    assert not [word for word in ("http:", "https:", "src=", "href=", "url(", "@import") if word in page]


def test_what_is_left_out_is_said():
    rng = np.random.default_rng(0)
    model = weald.DecisionTreeClassifier().fit(rng.normal(size=(500, 3)), rng.integers(0, 2, 500))
    page = Page(weald.export_html(model, max_nodes=51))
    hidden = [int(words.split()[1].replace(",", "")) for words in page.text if words.startswith("…")]
    assert sum(hidden) + 51 == model.tree_.node_count
    assert any(f"51 of {model.tree_.node_count} nodes are shown" in words for words in page.text)


def test_only_the_top_is_open_at_first():
    page = weald.export_html(iris_tree(), open_depth=2)
    assert page.count("<details open>") == 2


def test_a_very_deep_tree_is_a_page(recwarn):
    n = 3000
    model = weald.DecisionTreeClassifier(criterion="misclassification").fit(np.arange(n)[:, None], np.arange(n) % 2)
    assert Page(weald.export_html(model, max_depth=None, max_nodes=None)).tags.count("details") == n - 1


# -------------------------------------------------------------------------------------------------------- a browser

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# Presses buttons and keys, and writes the results into the text of the page.
PRESS = """<script>
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const count = () => document.querySelectorAll("details[open]").length;
const result = [count()];
document.getElementById("open").click(); result.push(count());
document.getElementById("close").click(); result.push(count());
all[0].firstElementChild.focus();
press("ArrowLeft"); result.push(count());
press("ArrowRight"); result.push(count());
press("ArrowDown"); result.push(all.findIndex(d => d.firstElementChild === document.activeElement));
press("ArrowRight"); result.push(count());
press("ArrowLeft"); press("ArrowLeft"); result.push(all.findIndex(d => d.firstElementChild === document.activeElement));
document.body.setAttribute("data-result", result.join(" "));
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="there is no chromium to open the page with")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="a browser cannot run under the sanitizers")
def test_the_page_folds_in_a_browser(tmp_path):
    file = tmp_path / "tree.html"
    page = weald.export_html(iris_tree(max_depth=3), feature_names=HOSTILE)
    file.write_text(page.replace("</body>", PRESS), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command = [BROWSER, *options, file.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    n_cuts = page.count("<details")
    assert f'data-result="{n_cuts} {n_cuts} 1 0 1 1 2 0"' in dom
