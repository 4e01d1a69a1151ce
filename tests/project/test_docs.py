"""The docs are correct: their code runs, their figures can be drawn, their lists are current."""

import doctest
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weald

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RECIPE = DOCS / "project" / "add-a-criterion.md"  # executed by test_add_a_criterion.py
README = ROOT / "README.md"
PAGES = sorted(page for page in [README, *DOCS.rglob("*.md")] if "_build" not in page.parts and page != RECIPE)
FIGURES = sorted(path for path in (DOCS / "figures").rglob("*.py") if path.stem != "drawing")


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    names: dict[str, object] = {}
    for i, block in enumerate(blocks(page, "python")):
        where = f"{page.name}, block {i + 1}"
        if ">>>" not in block:
            exec(compile(block, where, "exec"), names)  # noqa: S102  (the docs' own code)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, where, str(page), 0)
        runner = doctest.DocTestRunner()
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.summarize(verbose=False).failed == 0


def test_the_example_of_the_readme_is_short_and_prints_what_it_says(capsys):
    (example,) = blocks(README, "python")
    (printed,) = blocks(README, "text")
    assert example.count("\n") <= 15
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102  (the docs' own code)
    assert capsys.readouterr().out == printed


# A process that cannot import packages that only the tests have.
PLAIN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
"""


def test_the_start_page_needs_nothing_that_pip_did_not_install():
    code = "\n".join([PLAIN, *blocks(DOCS / "start" / "getting-started.md", "python")])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def links(page: Path) -> list[str]:
    """Return the files that a page links to, without web addresses."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return [link for link in found if "://" not in link]


@pytest.mark.parametrize("page", [*PAGES, RECIPE, *ROOT.glob("*.md")], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


def load_script(path, monkeypatch):
    """Import a script as Python would run it: its folder is on the path."""
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", FIGURES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_picture_can_be_drawn_again(script, monkeypatch):
    assert load_script(script, monkeypatch).draw().axes
    assert script.with_suffix(".svg").exists()


def documented_names():
    """Return what the reference documents: entries of the summary tables, each of which has a page of its own."""
    pattern = re.compile(r"^(?:   |\.\. auto\w+:: )(weald\.[\w.]+)$", re.MULTILINE)
    return sorted({name for page in (DOCS / "reference").glob("*.md") for name in pattern.findall(page.read_text())})


def public_names():
    """Return the names of `weald` and of its public modules, in full."""
    names = {f"weald.{name}" for name in weald.__all__} - {"weald.__version__"}
    for module in ("accel", "codes", "mlflow", "plot"):
        names |= {f"weald.{module}.{name}" for name in importlib.import_module(f"weald.{module}").__all__}
    return names


def test_the_reference_has_every_public_name():
    assert public_names() - set(documented_names()) == set()


def test_the_index_of_the_reference_has_every_page_and_every_name_of_weald():
    index = (DOCS / "reference" / "index.md").read_text()
    pages = {page.name for page in (DOCS / "reference").glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" in index} == pages
    names = {*weald.__all__, *weald.plot.__all__} - {"__version__"}
    assert {name for name in names if f"`{name}`" in index} == names


def test_the_readme_summarizes_the_table_of_the_page_on_input_data(monkeypatch):
    block = (
        (DOCS / "guides" / "input-data.md").read_text().partition("<!-- peers -->")[2].partition("<!-- /peers -->")[0]
    )
    summary = load_script(ROOT / "benchmarks" / "accuracy" / "frames.py", monkeypatch).summarize(block)
    assert f"<!-- text-tables -->\n{summary}\n<!-- /text-tables -->" in README.read_text()


def test_no_page_has_a_placeholder():
    """A word in capitals on a separate line is a placeholder."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    assert [name for name, text in texts.items() if re.search(r"^[A-Z]{6,}$", text, re.MULTILINE)] == []


def test_every_page_is_in_the_tree_of_pages():
    names = set()
    for page in PAGES:
        for tree in blocks(page, r"\{toctree\}"):
            names |= {(page.parent / name).resolve() for name in re.findall(r"^[\w/.-]+$", tree, re.MULTILINE)}
    pages = {page.with_suffix("") for page in [*PAGES, RECIPE] if page != README}
    assert pages - names == {DOCS / "index"}


def test_the_readme_has_a_place_for_benchmarks():
    text = README.read_text()
    assert text.index("<!-- benchmarks -->") < text.index("<!-- /benchmarks -->")


@pytest.mark.parametrize("name", documented_names())
def test_what_the_reference_documents_exists(name):
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            continue
        for part in parts[i:]:
            found = getattr(found, part)
        return
    pytest.fail(f"{name} cannot be imported.")
