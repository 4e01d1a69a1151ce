"""Some trees of the forest, whose nodes can be expanded and collapsed."""

from weald.estimators.base import TreeModel
from weald.forest.describe.markup import Markup, tag
from weald.forest.describe.summary import sketch_tree
from weald.reports.section import Section, stack
from weald.reports.tree_page import heads, key, outline, summary

N_TREES = 3
MAX_NODES = 401
MAX_DEPTH = 30
OPEN_DEPTH = 3


def section(model: TreeModel) -> Section:
    """Show the first trees, one at a time."""
    n_trees = model.forest_.n_trees
    shown = min(N_TREES, n_trees)
    trees = [_tree(model, t) for t in range(shown)]
    options = (tag("option", f"tree {t}", value=t) for t in range(shown))
    choice = tag("label", "Show ", tag("select", *options, class_="pick")) if shown > 1 else Markup("")
    buttons = [
        tag("button", words, type="button", class_=f"fold {kind}")
        for words, kind in (("Open all", "open"), ("Close all", "close"))
    ]
    tools = tag("div", choice, *buttons, class_="tools")
    lead = "Each line shows the condition of a node and what the node would predict. " + (
        "A single tree of a forest is noisy: it shows how the forest works, but is no summary of the forest."
        if n_trees > 1
        else "Arrow keys move, open and close."
    )
    of = f"the first {shown} of {n_trees:,} trees" if n_trees > 1 else "the tree"
    return Section("browser", f"Trees: {of}", lead, stack(tools, *trees))


def _tree(model: TreeModel, tree: int) -> Markup:
    sketch = sketch_tree(model, tree=tree, max_depth=MAX_DEPTH, max_nodes=MAX_NODES)
    head = tag(
        "div", tag("span", "rows", class_="when"), tag("span", class_="bar"), Markup(heads(sketch)), class_="head"
    )
    lines = Markup("\n".join(outline(sketch, OPEN_DEPTH)))
    return tag("div", tag("p", summary(sketch)), Markup(key(sketch)), head, lines, class_="tree", hidden=tree > 0)
