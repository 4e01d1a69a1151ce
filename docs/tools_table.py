"""Tools for scikit-learn's trees and forests with weald's models: each row of the table is a call that ran.

    python docs/tools_table.py            # runs every tool, prints the table
    python docs/tools_table.py --write    # and writes it into docs/deployment/export.md

It needs the tools: `pip install '.[tools]'`, into an environment of its own. A call counts as right if it answers
what weald predicts, where the tool predicts at all.
"""

import argparse
import contextlib
import datetime as dt
import importlib.metadata
import io
import platform
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import weald

PAGE = Path(__file__).parent / "deployment" / "export.md"


@dataclass(frozen=True)
class Tool:
    """A tool, and a call of it that checks the result."""

    package: str
    name: str
    call: Callable[[Any, Any, Any], None]  # (forest, tree, weald's forest)


X = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32).astype(np.float64)
Y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)  # dtreeviz knows classes that are numbers
NAMES = list("abcd")


def agree(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """Raise an error if the result is not weald's."""
    if not np.allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float), atol=tolerance):
        raise ValueError("its answers are not those of the forest")


def with_export_text(forest: Any, tree: Any, ours: Any) -> None:
    from sklearn.tree import export_text

    if export_text(tree).count("class:") != tree.get_n_leaves():
        raise ValueError("leaves are missing")


def with_export_graphviz(forest: Any, tree: Any, ours: Any) -> None:
    from sklearn.tree import export_graphviz

    if export_graphviz(tree, feature_names=NAMES).count("[label=") < tree.tree_.node_count:
        raise ValueError("nodes are missing")


def with_plot_tree(forest: Any, tree: Any, ours: Any) -> None:
    from sklearn.tree import plot_tree

    if len(plot_tree(tree)) < tree.tree_.node_count:
        raise ValueError("nodes are missing")


def with_shap(forest: Any, tree: Any, ours: Any) -> None:
    import shap

    explainer = shap.TreeExplainer(forest)
    total = np.asarray(explainer.shap_values(X[:20])).sum(axis=1) + explainer.expected_value
    agree(total, ours.predict_proba(X[:20]))


def with_treeinterpreter(forest: Any, tree: Any, ours: Any) -> None:
    from treeinterpreter import treeinterpreter

    shares, bias, contributions = treeinterpreter.predict(forest, X[:20])
    agree(shares, ours.predict_proba(X[:20]))
    agree(bias + contributions.sum(axis=1), ours.predict_proba(X[:20]))


def with_eli5(forest: Any, tree: Any, ours: Any) -> None:
    import eli5

    found = eli5.explain_prediction(forest, X[0], feature_names=NAMES)
    agree(found.targets[0].proba, ours.predict_proba(X[:1]).max())
    if not eli5.explain_weights(forest).feature_importances.importances:
        raise ValueError("no importances")


def with_dtreeviz(forest: Any, tree: Any, ours: Any) -> None:
    import dtreeviz

    drawn = dtreeviz.model(tree, X, Y, feature_names=NAMES, target_name="y", class_names=["no", "yes"])
    if "<" not in drawn.explain_prediction_path(X[0]):
        raise ValueError("no path")
    drawn.ctree_leaf_distributions()
    drawn.leaf_sizes()


def with_skl2onnx(forest: Any, tree: Any, ours: Any) -> None:
    import onnxruntime
    from skl2onnx import to_onnx

    made = to_onnx(forest, X[:1].astype(np.float32), options={"zipmap": False})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    _, shares = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    agree(shares, ours.predict_proba(X), 1e-5)


def with_m2cgen(forest: Any, tree: Any, ours: Any) -> None:
    import m2cgen

    names: dict[str, Any] = {}
    exec(m2cgen.export_to_python(forest), names)  # noqa: S102  (the code that the tool is for)
    agree([names["score"](row.tolist()) for row in X[:20]], ours.predict_proba(X[:20]))


def with_forestci(forest: Any, tree: Any, ours: Any) -> None:
    import forestci

    found = forestci.random_forest_error(_as_regressor(forest), X.shape, X[:5], inbag=_bags())
    if found.shape != (5,) or not np.isfinite(found).all():
        raise ValueError("no intervals")


def _as_regressor(forest: Any) -> Any:
    """Set the attributes that forestci needs, as in the given forest."""
    model = weald.RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    return model if isinstance(forest, weald.RandomForestClassifier) else model.to_sklearn().model


def _bags() -> Any:
    """Count the rows of each bag: the leaves have the counts, since a full tree separates all rows."""
    counts = np.zeros((len(X), 10))
    model = weald.RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    seen = model.neighbors(X, X[:, 0])
    for tree in range(10):
        for leaf in np.unique(model.apply(X)[:, tree]):
            found = seen.leaf_rows(tree, int(leaf))
            counts[found.rows, tree] += found.counts
    return counts


def with_supertree(forest: Any, tree: Any, ours: Any) -> None:
    from supertree import SuperTree

    page = SuperTree(tree, X, Y, NAMES, ["no", "yes"])
    with tempfile.TemporaryDirectory() as folder:
        page.save_html(str(Path(folder) / "tree"))
        if not any(path.stat().st_size for path in Path(folder).iterdir()):
            raise ValueError("no page")


TOOLS = (
    Tool("scikit-learn", "`plot_tree`", with_plot_tree),
    Tool("scikit-learn", "`export_text`", with_export_text),
    Tool("scikit-learn", "`export_graphviz`", with_export_graphviz),
    Tool("shap", "`TreeExplainer`", with_shap),
    Tool("dtreeviz", "`model`, leaf sizes, a path in words", with_dtreeviz),
    Tool("treeinterpreter", "`predict`", with_treeinterpreter),
    Tool("eli5", "`explain_prediction`, `explain_weights`", with_eli5),
    Tool("skl2onnx", "`to_onnx`", with_skl2onnx),
    Tool("m2cgen", "`export_to_python`", with_m2cgen),
    Tool("forestci", "`random_forest_error` with `inbag`", with_forestci),
    Tool("supertree", "`save_html`", with_supertree),
)


def attempt(tool: Tool, forest: Any, tree: Any, ours: Any) -> str:
    """Run a call: "yes", or the reason why not."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            tool.call(forest, tree, ours)
    except Exception as error:  # noqa: BLE001  (whatever a tool may raise)
        words = textwrap.shorten(str(error).replace("|", "/").replace("`", "'"), 60, placeholder=" …")
        return f"no: `{type(error).__name__}: {words}`"
    return "yes"


def make_table() -> str:
    """Run all tools."""
    import matplotlib as mpl

    mpl.use("Agg")
    forest = weald.RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, Y)
    tree = weald.DecisionTreeClassifier(max_depth=3).fit(X, Y)
    rows = ["| Tool | Call | weald's own model | `to_sklearn().model` |", "| --- | --- | --- | --- |"]
    theirs = forest.to_sklearn(X=X).model, tree.to_sklearn(X=X).model
    for tool in TOOLS:
        version = importlib.metadata.version(tool.package)
        found = [attempt(tool, *models, forest) for models in ((forest, tree), theirs)]
        rows.append(f"| {tool.package} {version} | {tool.name} | {' | '.join(found)} |")
        print(rows[-1], file=sys.stderr)
    date = dt.datetime.now(tz=dt.UTC).date().isoformat()
    note = f"Run once, `docs/tools_table.py`, {date}, Python {platform.python_version()}."
    return "\n".join([*rows, "", note])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table into docs/deployment/export.md")
    given, table = parser.parse_args(), make_table()
    if not given.write:
        print(table)
        return
    text = PAGE.read_text()
    begin, end = "<!-- tools -->\n", "<!-- /tools -->"
    head, _, rest = text.partition(begin)
    PAGE.write_text(head + begin + table + "\n" + end + rest.partition(end)[2])


if __name__ == "__main__":
    main()
