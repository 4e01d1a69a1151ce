"""The report: complete, safe for any content of the table, and interactive in a browser."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

import weald
from tests.browser import needs_browser, open_page
from weald.data.times import format_time
from weald.estimators.prediction import read_matrix
from weald.reports import columns, dependence, guides, svg

ROOT = Path(__file__).parents[2]
VOID = {"meta", "input", "br"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</title></style></svg>&amp;\x00\n",
    "\u202egnirts \ud800",
]
ALL = ["data", "drift", "quality", "sure", "trees", "importance", "shap", "dependence", "mistakes"]
ALL += ["browser", "making"]


class Page(HTMLParser):
    """An HTML parser that checks that all tags are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.attributes, self.sections = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "section":
            self.sections.append(dict(attrs)["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    y = data.target_names[data.target]
    X, X_test, y, y_test = train_test_split(data.data, y, random_state=0)
    forest = weald.RandomForestClassifier(30, random_state=0).fit(X, y)
    return forest, X, y, X_test, y_test


def mixed_table(n=120):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["oak", "ash", "elm"], size=n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], size=n), ["low", "mid", "high"], ordered=True),
            "holes": np.where(rng.random(n) < 0.7, np.nan, rng.normal(size=n)),
            "still": np.ones(n),
        }
    )


def test_a_report_has_all_its_parts_and_the_right_numbers(iris):
    forest, X, y, X_test, y_test = iris
    made = weald.report(forest, X, y, X_test=X_test, y_test=y_test, title="Irises")
    page = Page(made.html)
    assert page.sections == ALL
    assert made.metrics["held out"]["accuracy"][0] == accuracy_score(y_test, forest.predict(X_test))
    assert made.metrics["out of bag"]["accuracy"][0] == 1 - forest.out_of_bag(X, y).error
    text = " ".join(page.text)
    assert forest.forest_.fingerprint() in text
    assert "petal length (cm)" in text
    assert "Irises" in text


def test_the_lines_that_grow_it_again_do(iris):
    forest, X, y, *_ = iris
    text = "".join(Page(weald.report(forest, X, y).html).text)
    code = text[text.index("import weald") : text.index("Fingerprints")]
    exec(code, {"X": X, "y": y})  # noqa: S102  (it is ours)


@pytest.mark.parametrize("kind", ["regressor", "tree", "extra", "bare", "weighted", "hard", "boosted", "array"])
def test_pages_of_all_kinds_of_models_are_well_formed(kind, iris):
    forest, X, y, X_test, y_test = iris
    diabetes = load_diabetes(return_X_y=True)
    weight = np.where(np.arange(len(y)) % 5, 1.5, 0.0)
    models = {
        "regressor": lambda: weald.RandomForestRegressor(20, random_state=0).fit(*diabetes).report(*diabetes),
        "tree": lambda: weald.DecisionTreeClassifier().fit(X, y).report(X, y, X_test=X_test, y_test=y_test),
        "extra": lambda: weald.ExtraTreesRegressor(5, random_state=0).fit(*diabetes).report(*diabetes),
        "bare": forest.report,
        "weighted": lambda: (
            weald.RandomForestClassifier(9, random_state=0).fit(X, y, weight).report(X, y, sample_weight=weight)
        ),
        "hard": lambda: weald.RandomForestClassifier(9, voting="hard", random_state=0).fit(X, y).report(X, y),
        "boosted": lambda: (
            weald.RandomForestClassifier(5, resampling="boosting", random_state=0).fit(X, y).report(X, y)
        ),
        "array": lambda: weald.RandomForestClassifier(9, random_state=0).fit(X.to_numpy(), y).report(X.to_numpy(), y),
    }
    page = Page(models[kind]().html)
    assert page.sections[-2:] == ["browser", "making"]
    assert ("quality" in page.sections) == (kind not in ("extra", "bare", "boosted"))


def test_a_table_with_categories_and_holes_is_described():
    X = mixed_table()
    y = np.where(X["kind"] == "oak", "yes", "no")
    y[:5] = "perhaps"
    text = " ".join(Page(weald.RandomForestClassifier(20, random_state=0).fit(X, y).report(X, y).html).text)
    assert "ordered categories" in text
    assert "Columns that have one value only, or none, and cannot help: still." in text
    assert "Columns that are missing in more than half of the rows: holes." in text


def test_names_of_classes_keep_their_letters():
    X = mixed_table()
    y = np.where(X["size"] > 0, "OAK-like", "ASH-like")
    text = " ".join(Page(weald.RandomForestClassifier(10, random_state=0).fit(X, y).report(X, y).html).text)
    assert "OAK-like" in text
    assert "oak-like" not in text.replace("OAK-like", "").lower()
    assert re.search(r"false positive rate of class \S+\. Area [01]", text)


def test_columns_are_described_as_numpy_does():
    column = np.array([3.0, 1.0, np.nan, 2.0, 2.0, np.inf])
    found = columns.describe(column, None)
    assert found["missing"] == pytest.approx(1 / 6)
    assert found["n_distinct"] == 4
    assert found["quartiles"] == np.quantile([1, 2, 2, 3], [0, 0.25, 0.5, 0.75, 1]).tolist()
    assert sum(found["counts"]) == 4


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_partial_dependence_is_the_mean_prediction_with_the_feature_set(task):
    X, y = load_diabetes(return_X_y=True)
    kind, y = (weald.RandomForestRegressor, y) if task == "numbers" else (weald.RandomForestClassifier, y > 150)
    forest = kind(10, random_state=0).fit(X, y)
    names = tuple(f"x{f}" for f in range(10))
    weight = np.arange(len(X)) % 3
    (found,) = dependence.depend(forest, X, weight, np.array([2])[:1], names)
    for i in (0, 77, -1):
        changed = X.copy()
        changed[:, 2] = found.series[0].x[i]
        predicted = forest.predict(changed) if task == "numbers" else forest.predict_proba(changed)[:, 1]
        assert found.series[0].y[i] == pytest.approx(np.average(predicted, weights=weight), abs=1e-12)


def test_mistakes_are_rows_that_are_wrong(iris):
    forest, X, y, *_ = iris
    html = weald.report(forest, X, y, ids=[f"flower-{i}" for i in range(len(y))]).html
    out = forest.out_of_bag(X, y)
    wrong = np.flatnonzero(out.predictions != y)
    listed = {int(n) for n in re.findall(r"flower-(\d+)", html)}
    assert listed == set(wrong[np.argsort(out.margins[wrong])][:20])


def test_hostile_names_are_text_and_nothing_else(iris, tmp_path):
    _, X, y, *_ = iris
    labels = np.unique(y)
    plain = pd.DataFrame(X.to_numpy(), columns=["n0", "n1", "n2", "n3"]).assign(c=np.resize(["p", "q"], len(X)))
    strange = plain.set_axis(
        [*HOSTILE[:3], HOSTILE[3].replace("\ud800", "&"), "c"], axis=1
    )  # pandas refuses surrogates
    strange = strange.assign(c=np.resize([HOSTILE[0], HOSTILE[1]], len(X)))
    renamed = np.array(HOSTILE[:3])[np.searchsorted(labels, y)]
    order = {name: i for i, name in enumerate(sorted(HOSTILE[:3]))}
    tame = np.array(["a", "b", "c"])[[order[name] for name in renamed]]
    pages = []
    for table, target, title in ((plain, tame, "t"), (strange, renamed, HOSTILE[2])):
        forest = weald.RandomForestClassifier(10, random_state=0).fit(table, target)
        html = weald.report(forest, table, target, title=title, ids=[HOSTILE[i % 4] for i in range(len(table))]).html
        html.encode("utf-8")
        pages.append((html, Page(html)))
    (_, tame_page), (html, hostile) = pages
    assert sorted(set(hostile.tags)) == sorted(set(tame_page.tags))
    assert set(hostile.attributes) == set(tame_page.attributes)
    assert "<img" not in html
    assert html.count("<script") == 1


def test_a_page_asks_for_nothing_from_elsewhere(iris):
    forest, X, y, *_ = iris
    html = weald.report(forest, X, y).html
    assert not [word for word in ("http:", "https:", " src=", "url(", "@import", "<link") if word in html]
    assert "default-src &#x27;none&#x27;" in html


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(iris):
    forest, *_ = iris
    shown = forest.report()._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown


def test_a_file_that_cannot_be_written_leaves_nothing_behind(iris, tmp_path):
    forest, *_ = iris
    target = tmp_path / "page.html"
    target.mkdir()
    with pytest.raises(OSError, match=r"page\.html"):
        forest.report(file=target)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": "X"}, "Give both of X and y"),
        ({"X_test": "X"}, "Give both of X_test and y_test"),
        ({"X_test": "X", "y_test": [1, 2]}, "y_test has 2 values"),
        ({"ids": [1]}, "ids must have"),
    ],
)
def test_what_cannot_be_reported_is_refused(iris, given, words):
    forest, X, *_ = iris
    with pytest.raises(weald.WealdError, match=words):
        weald.report(forest, **{key: X if value == "X" else value for key, value in given.items()})


def test_other_data_than_the_training_data_is_refused(iris):
    forest, _, _, X_test, y_test = iris
    with pytest.raises(weald.DataError, match="grown from"):
        forest.report(X_test, y_test)


def test_two_hundred_columns_stay_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200))
    y = X[:, 0] + rng.normal(size=3000)
    made = weald.RandomForestRegressor(5, max_features=0.1, random_state=0).fit(X, y).report(X, y)
    assert len(made.html.encode()) < 3_000_000


@pytest.mark.slow
def test_two_hundred_columns_and_a_hundred_thousand_rows_stay_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 200))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=100_000) > 0).astype(int)
    made = weald.RandomForestClassifier(10, random_state=0).fit(X, y).report(X, y)
    assert len(made.html.encode()) < 3_000_000


# -------------------------------------------------------------------------------------------------------- a browser

# Clicks everything, and writes the results into the text of the page.
PRESS = """
const result = {};
const count = () => document.querySelectorAll(".tree:not([hidden]) details[open]").length;
const all = document.querySelectorAll(".tree:not([hidden]) details").length;
document.querySelector(".fold.open").click(); result.opened = count() === all;
document.querySelector(".fold.close").click(); result.closed = count() === 1;
const first = document.querySelector(".tree summary"); first.focus();
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
press("ArrowLeft"); result.folded = count() === 0;
press("ArrowRight"); press("ArrowDown"); result.moved = document.activeElement !== first;
const pick = document.querySelector(".pick"); pick.value = "1"; pick.dispatchEvent(new Event("change"));
result.picked = document.querySelectorAll(".tree")[0].hidden && !document.querySelectorAll(".tree")[1].hidden;
const paper = () => getComputedStyle(document.body).backgroundColor;
const before = paper(); document.querySelector(".theme").click(); result.dark = before !== paper();
const head = document.querySelectorAll("#importance th")[0]; head.click();
const names = [...document.querySelectorAll("#importance tbody tr")].map(row => row.cells[0].textContent.toLowerCase());
result.sorted = names.join() === [...names].sort().reverse().join();
result.csv = [...document.querySelectorAll("main table")].every(table => table.querySelectorAll(".csv").length === 1);
const links = []; HTMLAnchorElement.prototype.click = function () { links.push(this.download) };
document.querySelector("#importance .csv").click();
result.download = links.join() === "feature-importance-by-method.csv";
const charts = [...document.querySelectorAll("svg.chart")].filter(svg => !svg.closest("[hidden]"));
result.charts = charts.every(svg => svg.getBoundingClientRect().width > 200);
result.wide = document.documentElement.scrollWidth <= innerWidth;
document.body.setAttribute("data-result", JSON.stringify(result));
"""


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_alive_in_a_browser(iris, tmp_path, width):
    forest, X, y, X_test, y_test = iris
    html = weald.report(forest, X, y, X_test=X_test, y_test=y_test).html
    file = tmp_path / "page.html"
    rule = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', html).group()
    file.write_text(html.replace(rule, "").replace("</body>", f"<script>{PRESS}</script></body>"), encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile", f"--window-size={width},900")
    output = re.search(r'data-result="([^"]*)"', dom)
    assert output, console
    assert output.group(1).count("true") == 11, output.group(1)
    assert console == []


@needs_browser
def test_the_page_itself_loads_without_a_complaint_and_strange_script_does_not_run(iris, tmp_path):
    forest, X, y, *_ = iris
    file = tmp_path / "page.html"
    html = weald.report(forest, X, y).html
    file.write_text(html, encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile")
    assert console == []
    assert dom.count('role="img"') > 10
    file.write_text(html.replace("</h1>", "</h1><script>document.body.id = 'broken'</script>"), encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile")
    assert 'id="broken"' not in dom
    assert "Content Security Policy" in " ".join(console)


@needs_browser
@pytest.mark.slow
def test_the_page_can_be_printed(iris, tmp_path):
    forest, X, y, *_ = iris
    file, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    forest.report(X, y, file=file)
    open_page(file, tmp_path / "profile", f"--print-to-pdf={paper}")
    assert 4 <= len(re.findall(rb"/Type /Page\b", paper.read_bytes())) <= 12


def contrast(one, other):
    """The contrast of two colors (WCAG)."""

    def light(color):
        parts = (
            [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            if len(color) == 7
            else [int(c * 2, 16) / 255 for c in color[1:]]
        )
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["LIGHT", "DARK"])
def test_words_stand_out_from_what_is_behind_them(name):
    from weald.reports import style

    color = dict(re.findall(r"--([\w-]+): (#\w+)", getattr(style, name)))
    for ink in ("ink", "soft", "link"):
        for paper in ("paper", "card", "hover"):
            assert contrast(color[ink], color[paper]) >= 4.5, (ink, paper)
    assert contrast(color["ink"], color["note"]) >= 4.5
    assert min(contrast(color[f"c{k}"], color["paper"]) for k in range(4)) >= 2.8


def test_what_a_report_cannot_take_is_refused_by_name(iris):
    X, y = load_iris(return_X_y=True)
    forest = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"report\(\) got an unexpected keyword argument 'heading'"):
        weald.report(forest, X, y, heading="Iris")
    with pytest.raises(weald.ParameterError, match="report was given a FeatureSelector"):
        weald.report(weald.select_features(forest, X, y, n_features=2, folds=0), X, y)


def test_all_categories_are_drawn_or_the_others_are_named():
    rng = np.random.default_rng(0)
    for n_labels in (35, 60):
        labels = np.array([f"grade {i:02}" for i in range(n_labels)])
        X = pd.DataFrame(
            {"grade": np.concatenate([labels, rng.choice(labels[:30], 800)]), "x": rng.normal(size=800 + n_labels)}
        )
        y = X["grade"].str[-2:].astype(int) + X["x"]
        forest = weald.RandomForestRegressor(10, random_state=0, category_penalty=0).fit(X, y)
        section = weald.report(forest, X, y).html.partition('<section id="dependence"')[2].partition("</section>")[0]
        assert [label for label in labels if label not in section] == []
        assert ("Not shown, since they are rarer: grade" in section) == (n_labels == 60)


def test_the_dependence_on_categories_is_the_mean_prediction_and_its_band():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"color": rng.choice(["red", "green", "blue"], 300), "x": rng.normal(size=300)})
    y = (X["color"] == "red") * 2.0 + X["x"]
    forest = weald.RandomForestRegressor(10, random_state=0).fit(X, y)
    (found,) = dependence.depend(forest, read_matrix(forest, X), None, np.array([0]), ("color", "x"))
    assert found.labels == ["blue", "green", "red"]
    for label, mean, (low, high) in zip(found.labels, found.series[0].y, found.half, strict=True):
        predicted = forest.predict(X.assign(color=label))
        assert mean == pytest.approx(predicted.mean())
        assert [low, high] == pytest.approx(np.quantile(predicted, [0.1, 0.9]))


def test_wrong_rows_are_explained_by_the_trees_that_have_not_seen_them(iris):
    forest, X, y, *_ = iris
    out = forest.out_of_bag(X, y)
    wrong = np.flatnonzero(out.predictions != y)
    worst = wrong[np.argsort(out.margins[wrong], kind="stable")][0]
    text = " ".join(Page(weald.report(forest, X, y).html).text)
    shown = text.partition("The worst rows explained")[2]
    probability = out.probabilities[worst].max()
    assert f"Row {worst}" in shown
    assert f"predicted {out.predictions[worst]}; probability {probability:.3f}" in shown
    assert "The smallest changes of one feature" in shown
    assert "Training rows that determine the prediction" in shown


def test_nineteen_classes_have_a_matrix_and_a_line_each():
    rng = np.random.default_rng(0)
    labels = np.array([f"kind {k:02}" for k in range(19)])
    y = np.concatenate([labels, rng.choice(labels, 600)])
    X = rng.normal(size=(619, 4)) + np.char.partition(y, " ")[:, 2].astype(int)[:, None] / 4
    forest = weald.RandomForestClassifier(30, random_state=0).fit(X, y)
    html = weald.report(forest, X, y).html
    confusion = forest.out_of_bag(X, y).confusion()
    text = Page(html).text
    start = text.index("Every class against the rest")
    for k, label in enumerate(labels):
        at = text.index(label, start)
        assert text[at + 1] == f"{confusion[k].sum():g}"
        assert text[at + 2] == f"{100 * confusion[k, k] / confusion[k].sum():.1f} %"
    assert "the 6 most common of 19 classes" in " ".join(text)
    assert html.count('class="n cell right"') == 19


def test_a_report_on_several_targets_is_refused_and_one_on_each_is_not():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -y])
    model = weald.RandomForestRegressor(5, random_state=0).fit(X[:300], Y[:300])
    with pytest.raises(weald.ParameterError, match=r"A report covers one target, and this model has 2.*of_target\(0\)"):
        model.report(X[:300], Y[:300])
    made = weald.report(model.of_target(1), X_test=X[300:], y_test=Y[300:, 1])
    off = model.predict(X[300:])[:, 1] - Y[300:, 1]
    assert made.metrics["held out"]["MAE"][0] == pytest.approx(np.abs(off).mean())


def test_rows_whose_log_loss_is_infinite_are_counted(iris):
    forest, X, y, *_ = iris
    found = forest.out_of_bag(X, y)
    right = found.probabilities[np.arange(len(y)), np.searchsorted(forest.classes_, y)]
    assert (right == 0).any()
    text = " ".join(Page(forest.report(X, y).html).text)
    assert f"probability 0 in {(right == 0).sum()} of {len(y)} rows" in text
    assert "no interval" in text


def test_test_rows_of_a_single_class_have_no_area_under_the_curve(iris):
    forest, X, y, X_test, y_test = iris
    one = y_test == y_test[0]
    made = weald.report(forest, X, y, X_test=X_test[one], y_test=y_test[one])
    assert "ROC AUC" in made.metrics["out of bag"]
    assert "ROC AUC" not in made.metrics["held out"]
    lines = re.findall(r"<tr><td>(ROC AUC|log loss)</td>(.*?)</tr>", made.html)
    assert [("unknown" in line, name) for name, line in lines[:2]] == [(True, "ROC AUC"), (False, "log loss")]


@pytest.mark.parametrize("days", [0.3, 3, 600])
def test_dates_on_an_axis_are_dates_and_do_not_overlap(days):
    scale = svg.Scale(19723.1, 19723.1 + days, 50, 318)
    ticks = svg.fit_ticks(scale, 4, lambda value: format_time(value, "dates"))
    assert ticks
    for value, words in ticks:
        assert words.startswith(str(np.datetime64("1970-01-01") + int(value)))
    for (one, words), (other, _) in pairwise(ticks):
        assert scale(other) - scale(one) > svg.LETTER * len(words)


@pytest.mark.parametrize("high", [0.8, 280000.0, 3e9])
def test_numbers_on_an_axis_do_not_overlap(high):
    scale = svg.Scale(0.0, high, 60, 318)
    ticks = svg.fit_ticks(scale)
    assert len(ticks) >= 2
    for (one, words), (other, more) in pairwise(ticks):
        assert scale(other) - scale(one) > svg.LETTER * (len(words) + len(more) + 2) / 2


def test_a_scale_without_room_ends_at_the_data():
    assert svg.span([19723.0, 20323.0], room=0.0) == (19723.0, 20323.0)
    assert svg.span([100.0, 100.0], room=0.0) == (95.0, 105.0)


def test_sections_name_guides_by_their_titles():
    assert set(guides.GUIDES) == set(ALL)
    for titles in guides.GUIDES.values():
        for title, file in titles:
            assert (ROOT / "docs" / file).read_text(encoding="utf-8").startswith(f"# {title}\n")


PICK = """
const result = {}, part = document.querySelector(".classes"), select = part.querySelector("select");
const caption = () => part.querySelector(".of-class:not([hidden]) figcaption").textContent;
result.first = caption(); select.value = "7"; select.dispatchEvent(new Event("change")); result.picked = caption();
result.shown = part.querySelectorAll(".of-class:not([hidden])").length;
document.body.setAttribute("data-result", JSON.stringify(result));
"""


@needs_browser
def test_a_class_can_be_picked(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([f"kind {k:02}" for k in range(19)])
    y = np.concatenate([labels, rng.choice(labels, 600)])
    X = rng.normal(size=(619, 4)) + np.char.partition(y, " ")[:, 2].astype(int)[:, None] / 4
    forest = weald.RandomForestClassifier(30, random_state=0).fit(X, y)
    html = weald.report(forest, X, y).html
    assert html.count('class="of-class"') == 19
    file = tmp_path / "page.html"
    rule = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', html).group()
    file.write_text(html.replace(rule, "").replace("</body>", f"<script>{PICK}</script></body>"), encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile")
    output = json.loads(unescape(re.search(r'data-result="([^"]*)"', dom).group(1)))
    assert console == []
    found = forest.out_of_bag(X, y)
    known = found.mask
    area = roc_auc_score(y[known] == "kind 07", found.probabilities[known, 7])
    assert "class kind 00" in output["first"]
    assert f"class kind 07. Area {area:.4g}." in output["picked"]
    assert output["shown"] == 1


def test_a_report_has_its_date(iris):
    forest, X, y, *_ = iris
    assert re.search(r"Made by weald \S+ on \d{4}-\d\d-\d\d\.", weald.report(forest, X, y).html)


SLIDE = """
const part = document.querySelector(".thresholds"), result = {};
const text = () => part.querySelector(".outcome").textContent;
result.half = text();
const slider = part.querySelector(".threshold");
slider.value = 20; slider.dispatchEvent(new Event("input")); result.fifth = text();
part.querySelectorAll(".price")[1].value = 5; part.querySelector(".cheapest").click();
result.best = slider.value; result.cost = text();
document.body.setAttribute("data-result", JSON.stringify(result));
"""


@needs_browser
def test_a_threshold_can_be_chosen_by_its_cost(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    forest = weald.RandomForestClassifier(30, random_state=0).fit(X[::2], y[::2])
    html = weald.report(forest, X[::2], y[::2]).html
    file = tmp_path / "page.html"
    rule = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', html).group()
    file.write_text(html.replace(rule, "").replace("</body>", f"<script>{SLIDE}</script></body>"), encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile")
    output = json.loads(unescape(re.search(r'data-result="([^"]*)"', dom).group(1)))
    assert console == []
    found = forest.out_of_bag(X[::2], y[::2])
    score, truth = found._averages[:, 1], y[::2] == 1

    def outcome(t):
        called = score >= t / 100 - 1e-12
        return int((called & truth).sum()), int((called & ~truth).sum())

    for t, key in ((50, "half"), (20, "fifth")):
        hits, alarms = outcome(t)
        assert f"Threshold {t / 100:g}: {hits} of {truth.sum()} rows of class 1 found" in output[key]
        assert f", {alarms} others predicted as it" in output[key]
    costs = [outcome(t)[1] + 5 * (truth.sum() - outcome(t)[0]) for t in range(101)]
    assert costs[int(output["best"])] == min(costs)
    assert f"Cost {min(costs)}." in output["cost"]


def test_a_calibrated_forest_is_reported_by_rows_calibrated_by_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200) > 0
    forest = weald.RandomForestClassifier(40, calibrate="sigmoid", random_state=0).fit(X, y)
    page = weald.report(forest, X, y, X_test=X + 0.01, y_test=y)
    output = forest.oob_.calibrated_probabilities("sigmoid")
    assert page.metrics["out of bag"]["Brier score"][0] == pytest.approx(np.mean((output[:, 1] - y) ** 2))
    assert "Probabilities are calibrated (sigmoid)" in page.html
