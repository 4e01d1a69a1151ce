"""The notebooks of the docs run from top to bottom and print what they say."""

import contextlib
import io
import json
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="the notebooks draw with matplotlib, which is not installed")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def code_cells(path):
    """Return (source, what it printed) of the code cells."""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            yield (
                "".join(cell["source"]),
                "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"),
            )


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_says(path):
    names: dict[str, object] = {}
    for source, printed in code_cells(path):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, path.name, "exec"), names)  # noqa: S102  (the docs' own code)
        assert out.getvalue() == printed
