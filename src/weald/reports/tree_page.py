"""A tree as one collapsible HTML page that opens in any browser.

    export_html    a fitted model -> HTML

The page is self-contained: an outline of nested `<details>` elements, which browsers can collapse without a script. A
short script adds arrow keys and two buttons. Names come from the user's table and are escaped.
"""

import os
from collections.abc import Sequence

import numpy as np

from weald.estimators.base import TreeModel
from weald.forest.describe.conditions import format_number
from weald.forest.describe.markup import safe
from weald.forest.describe.summary import Sketch, sketch_tree
from weald.io.atomic import write_file

N_COLORS = 8  # colors in the style sheet

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #66717d; --line: #d9dfe5; --paper: #fff; --hover: #f2f5f7;
  --c0: #33649a; --c1: #e5a63a; --c2: #3c9880; --c3: #842b48; --c4: #c795c9; --c5: #8fc4e6; --c6: #7d6b35;
  --c7: #2a2a2a }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #97a3af; --line: #36404a; --paper: #14191e;
  --hover: #1d242b; --c0: #5b8fc9; --c1: #f0b54d; --c2: #55b89d; --c3: #c2577b; --c4: #d3a9d6; --c5: #b4dcf2;
  --c6: #b09c5c; --c7: #c9ced3 } }
* { box-sizing: border-box }
body { margin: 2rem auto; padding: 0 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.3rem; font-weight: 600; margin: 0 }
p { margin: .2rem 0 .8rem; color: var(--soft) }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0 0 .8rem; padding: 0; list-style: none }
.key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em }
.tools { margin-bottom: 1rem }
button { font: inherit; font-size: .85rem; color: var(--ink); background: none; border: 1px solid var(--line);
  border-radius: 4px; padding: .15rem .7rem; cursor: pointer }
button:hover { background: var(--hover) }
""".strip()

# The style of the nodes of a tree.
LINES = """
details { position: relative }
details > :not(summary) { margin-left: .6rem; padding-left: .9rem; border-left: 1px solid var(--line) }
summary, .leaf, .head { display: flex; align-items: center; gap: .9rem; padding: .14rem .4rem; border-radius: 4px }
summary { cursor: pointer; list-style: none }
summary::-webkit-details-marker { display: none }
summary::before { content: "+"; width: .7em; color: var(--soft); font-family: ui-monospace, monospace }
details[open] > summary::before { content: "\\2212" }
.leaf::before { content: ""; width: .7em }
summary:hover, .leaf:hover { background: var(--hover) }
summary:focus-visible, button:focus-visible { outline: 2px solid var(--c0); outline-offset: 1px }
.when { flex: 1; min-width: 6rem; overflow-wrap: anywhere }
.bar { flex: none; width: 7rem; height: .5rem; display: flex; position: relative; overflow: hidden; border-radius: 2px }
.bar i { display: block; height: 100% }
.track { background: linear-gradient(var(--line), var(--line)) center / 100% 1px no-repeat }
.track i { position: absolute; top: 20%; height: 60%; background: var(--c2); opacity: .55 }
.track b { position: absolute; top: 0; width: 3px; height: 100%; margin-left: -1px; background: var(--ink) }
.say { flex: none; width: 9rem; overflow-wrap: anywhere }
.leaf .say { font-weight: 600 }
.head, .head .tally { color: var(--soft); font-size: .85rem }
.tally { flex: none; width: 9rem; text-align: right; color: var(--soft); font-variant-numeric: tabular-nums }
.more { color: var(--soft); font-style: italic; padding: .14rem 2rem }
@media (max-width: 40rem) { body { font-size: 14px } .bar { display: none } .say { width: 5rem } .tally { width: 5rem }
  summary, .leaf, .head { gap: .4rem } details > :not(summary) { margin-left: .4rem; padding-left: .3rem } }
@media print { .tools { display: none } }
""".strip()

SCRIPT = """
const all = [...document.querySelectorAll("details")];
const set = open => all.forEach((d, i) => { d.open = open || i === 0 });
document.getElementById("open").onclick = () => set(true);
document.getElementById("close").onclick = () => set(false);
document.addEventListener("keydown", event => {
  const here = event.target;
  if (here.tagName !== "SUMMARY") return;
  const details = here.parentElement;
  const seen = all.map(d => d.firstElementChild).filter(s => s.checkVisibility());
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) (seen[seen.indexOf(here) + step] || here).focus();
  else if (event.key === "ArrowRight") details.open = true;
  else if (event.key === "ArrowLeft" && details.open) details.open = false;
  else if (event.key === "ArrowLeft") (details.parentElement.closest("details") || details).firstElementChild.focus();
  else return;
  event.preventDefault();
});
""".strip()


def export_html(
    estimator: TreeModel,
    file: str | os.PathLike[str] | None = None,
    *,
    tree: int = 0,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = 64,
    max_nodes: int | None = 2001,
    open_depth: int = 3,
) -> str:
    """Write a tree as one collapsible HTML page that opens in any browser.

    Each line shows the condition of a node, the fractions of its classes, the class that it predicts, and
    "errors/rows"; in regression the mean, the standard deviation, and the number of rows. The page is self-contained,
    supports light and dark mode, and can be used with the keyboard.

    Parameters
    ----------
    estimator : fitted tree or forest
    file : str, path or None, default=None
        File to write. None: only return the page.
    tree : int, default=0
        Number of the tree in a forest.
    title : str or None, default=None
        Heading of the page. None: the class of the model.
    feature_names, class_names : sequence of str or None, default=None
        None: the names seen in `fit`.
    max_depth : int or None, default=64
        Deeper nodes are left out, and the page shows their number. Browsers support a nesting of about 500.
    max_nodes : int or None, default=2001
        Maximum number of nodes; those with the most rows are shown.
    open_depth : int, default=3
        Depth to which the tree is expanded at first.

    Returns
    -------
    str
        The HTML of the page.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import DecisionTreeClassifier, export_html
    >>> X, y = load_iris(return_X_y=True)
    >>> page = export_html(
    ...     DecisionTreeClassifier(max_depth=2).fit(X, y), class_names=["setosa", "versicolor", "virginica"]
    ... )
    >>> page.count("<details"), page.count('class="leaf"')
    (2, 3)
    """
    names = {"feature_names": feature_names, "class_names": class_names}
    sketch = sketch_tree(estimator, tree=tree, **names, max_depth=max_depth, max_nodes=max_nodes)
    heading = title if title is not None else _title(estimator, tree)
    page = "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{safe(heading)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>\n{STYLE}\n{LINES}\n</style>\n</head>\n<body>\n<h1>{safe(heading)}</h1>\n<p>{summary(sketch)}</p>",
            key(sketch),
            '<div class="tools"><button id="open">Open all</button> <button id="close">Close all</button></div>',
            "<main>",
            f'<div class="head"><span class="when">rows</span><span class="bar"></span>{heads(sketch)}</div>',
            *outline(sketch, open_depth),
            f"</main>\n<script>\n{SCRIPT}\n</script>\n</body>\n</html>\n",
        ]
    )
    if file is not None:
        write_file(file, [page.encode()])
    return page


def _title(estimator: TreeModel, tree: int) -> str:
    kind = type(estimator).__name__
    return f"{kind}, tree {tree}" if hasattr(estimator, "n_estimators") else kind


def summary(sketch: Sketch) -> str:
    """Summarize the tree in one line, and state what is not shown."""
    words = [f"{sketch.n_leaves:,} leaves", f"depth {sketch.max_depth}", f"{sketch.size[0]:,} rows"]
    text = ", ".join(words) + "."
    if len(sketch.node) < sketch.n_nodes:
        text += f" {len(sketch.node):,} of {sketch.n_nodes:,} nodes are shown, those with the most rows."
    return text


def heads(sketch: Sketch) -> str:
    """Name the columns of the outline."""
    say, tally = ("class", "errors/rows") if sketch.mean is None else ("mean", "deviation, rows")
    return f'<span class="say">{say}</span><span class="tally">{tally}</span>'


def key(sketch: Sketch) -> str:
    """List the classes with their colors."""
    if sketch.mean is not None:
        low, high = (format_number(float(end)) for end in (sketch.mean.min(), sketch.mean.max()))
        return f"<p>The rule spans means from {low} to {high}; the band is one standard deviation to either side.</p>"
    items = (f"<li>{_color(k)}<bdi>{safe(label)}</bdi></li>" for k, label in enumerate(sketch.labels))
    return f'<ul class="key">{"".join(items)}</ul>'


def _color(k: int, width: str = "") -> str:
    return f'<i style="{width}background:var(--c{k % N_COLORS})"></i>'


def outline(sketch: Sketch, open_depth: int) -> list[str]:
    """Write the nodes in order; a stack holds the open elements that must be closed before the next node."""
    lines, unfinished = [], []  # number of missing children of each open node
    way = _ways(sketch)
    for i in range(len(sketch.node)):
        content = _line(sketch, i, way[i])
        if sketch.is_open[i]:
            is_open = " open" if sketch.depth[i] < open_depth else ""
            lines.append(f"<details{is_open}><summary>{content}</summary><div>")
            unfinished.append(2)
            continue
        lines.append(f'<div class="leaf">{content}</div>')
        if sketch.hidden[i]:
            lines.append(f'<div class="more">… {sketch.hidden[i]:,} more nodes</div>')
        while unfinished:
            unfinished[-1] -= 1
            if unfinished[-1]:
                break
            unfinished.pop()
            lines.append("</div></details>")
    return lines


def _ways(sketch: Sketch) -> list[str]:
    """Return for each node the condition under which rows reach it from its parent."""
    ways = ["all rows"] * len(sketch.node)
    for i in np.flatnonzero(sketch.is_open):
        ways[sketch.left[i]], ways[sketch.right[i]] = sketch.question[i], sketch.otherwise[i]
    return ways


def _line(sketch: Sketch, i: int, way: str) -> str:
    parts = [("when", way), ("say", sketch.answer[i]), ("tally", sketch.tally[i])]
    when, say, tally = (f'<span class="{name}"><bdi>{safe(text)}</bdi></span>' for name, text in parts)
    return when + _bar(sketch, i) + say + tally


def _bar(sketch: Sketch, i: int) -> str:
    if sketch.probabilities is not None:
        shares = ((k, share) for k, share in enumerate(sketch.probabilities[i]) if share > 0)
        return f'<span class="bar">{"".join(_color(k, f"width:{100 * share:.4g}%;") for k, share in shares)}</span>'
    assert sketch.mean is not None and sketch.deviation is not None  # noqa: S101, PT018  (for the type checker)
    least, span = float(sketch.mean.min()), float(np.ptp(sketch.mean)) or 1.0
    mean, deviation = float(sketch.mean[i]), float(sketch.deviation[i])
    low, middle, high = (
        2 + 96 * min(1.0, max(0.0, (v - least) / span)) for v in (mean - deviation, mean, mean + deviation)
    )
    band = f'<i style="left:{low:.4g}%;width:{high - low:.4g}%"></i>'
    return f'<span class="bar track">{band}<b style="left:{middle:.4g}%"></b></span>'
