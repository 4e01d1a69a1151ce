"""Every example draws its figure, and the gallery shows it."""

import importlib.util
import re
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="the gallery needs matplotlib, which is not installed")

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
NO_PICTURES = ("demo", "gallery", "folding_page", "report_page", "service")
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem not in NO_PICTURES)
PAGES = "\n".join(page.read_text() for page in GALLERY.glob("*.md"))


@pytest.fixture(autouse=True)
def settings_stay_as_they_were():
    with plt.rc_context():
        yield


def load(script, monkeypatch):
    """Import a script as Python would run it: its folder is on the path."""
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws_its_picture(script, monkeypatch):
    figure = load(script, monkeypatch).draw(quick=True)
    figure.canvas.draw()
    assert figure.axes


def test_the_page_that_folds_is_the_one_that_the_script_writes(tmp_path, monkeypatch):
    load(ROOT / "examples" / "folding_page.py", monkeypatch).write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == (GALLERY / "folding_page.html").read_text()
    assert "<folding_page.html>" in PAGES


def test_the_report_is_the_one_that_the_script_writes_but_for_times_and_versions(tmp_path, monkeypatch):
    load(ROOT / "examples" / "report_page.py", monkeypatch).write(tmp_path / "page.html")
    written, shown = (
        (folder / file).read_text() for folder, file in ((tmp_path, "page.html"), (GALLERY, "report_page.html"))
    )
    ends = '<section id="making"'
    assert written.partition(ends)[0] == shown.partition(ends)[0]
    assert "<report_page.html>" in PAGES


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_the_gallery_shows_the_picture_and_the_script(script):
    assert f"]({script.stem}.svg)" in PAGES
    assert f"../../examples/{script.name}" in PAGES
    assert (GALLERY / f"{script.stem}.svg").exists()


def test_the_gallery_shows_nothing_else():
    stems = {path.stem for path in EXAMPLES}
    assert set(re.findall(r"\]\((\w+)\.svg\)", PAGES)) == stems
    assert {path.stem for path in GALLERY.glob("*.svg")} == stems
