"""Names with control characters: every plot is drawn, and its SVG is well-formed XML."""

import io
import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import weald
from weald import plot

ODD = "a\x00\x01\x0b\x1f\x7f\x85\ufffe\u2028\ud800<&\"'"
ROWS = np.random.default_rng(0).normal(size=(60, 2))
X = pd.DataFrame(ROWS).set_axis(pd.Index([ODD, "b\x03"], dtype=object), axis=1)
Y = np.where(ROWS[:, 0] > 0, ODD, "n\x05").astype(object)
WHOLE = X.set_axis([ODD.replace("\ud800", ""), "b\x03"], axis=1)  # pandas refuses surrogates
KINDS = X.assign(kind=pd.Categorical.from_codes(np.arange(60) % 2, pd.Index([ODD, "ok\x02"], dtype=object)))
TREE = weald.DecisionTreeClassifier(max_depth=3, random_state=0)
FOREST = weald.RandomForestClassifier(5, max_depth=3, random_state=0)

PICTURES = {
    "tree": lambda: plot.TreeDisplay.from_estimator(TREE.fit(KINDS, Y)),
    "importance": lambda: plot.ImportanceDisplay.from_estimator(FOREST.fit(KINDS, Y)),
    "confusion": lambda: plot.ConfusionDisplay.from_estimator(FOREST.fit(X, Y), X, Y),
    "proximity": lambda: plot.ProximityDisplay.from_estimator(FOREST.fit(X, Y), X, Y),
    "partition": lambda: plot.PartitionDisplay.from_estimator(TREE.fit(X, Y), X, Y),
    "boundary": lambda: plot.BoundaryDisplay.from_estimator(TREE.fit(WHOLE, Y), WHOLE, Y),
}


@pytest.mark.parametrize("fonts", ["path", "none"])
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_well_formed(name, fonts):
    written = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": fonts}):
        PICTURES[name]().figure_.savefig(written, format="svg")
    ET.fromstring(written.getvalue())  # noqa: S314  (written above)


def test_pages_hold_well_formed_pictures(tmp_path):
    weald.export_html(TREE.fit(KINDS, Y), tmp_path / "tree.html")
    pages = [(tmp_path / "tree.html").read_text("utf-8"), weald.report(FOREST.fit(KINDS, Y), KINDS, Y).html]
    for page in pages:
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", page)
    pictures = re.findall(r"<svg.*?</svg>", pages[1], re.DOTALL)
    assert pictures
    for picture in pictures:
        ET.fromstring(picture)  # noqa: S314  (written above)
