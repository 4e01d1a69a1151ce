"""The docs say what is true: their code runs, their pictures can be drawn, their lists are current."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weald

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RECIPE = DOCS / "add-a-criterion.md"  # test_add_a_criterion.py runs its code
README = ROOT / "README.md"
PAGES = sorted(page for page in [README, *DOCS.rglob("*.md")] if "_build" not in page.parts and page != RECIPE)
FIGURES = sorted(path for path in (DOCS / "figures").glob("*.py") if path.stem != "drawing")


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


# A process in which nothing can be imported that the tests have and a plain installation lacks.
PLAIN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
"""


def test_the_start_page_needs_nothing_that_pip_did_not_install():
    code = "\n".join([PLAIN, *blocks(DOCS / "getting-started.md", "python")])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def links(page: Path) -> list[str]:
    """Return the files that a page links to, without those of the web."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return [link for link in found if "://" not in link]


@pytest.mark.parametrize("page", [*PAGES, RECIPE, *ROOT.glob("*.md")], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("script", FIGURES, ids=lambda p: p.stem)
def test_a_picture_can_be_drawn_again(script, monkeypatch):
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location(f"figure_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.draw().axes
    assert script.with_suffix(".svg").exists()


def test_the_reference_has_every_public_name():
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^\.\. auto(?:class|function|exception):: weald\.(?:\w+\.)*(\w+)", pages, re.MULTILINE))
    listed |= set(re.findall(r"\w+", " ".join(re.findall(r":members: (.*)", pages))))
    assert set(weald.__all__) - {"__version__"} - listed == set()


def test_every_page_is_in_the_tree_of_pages():
    index = (DOCS / "index.md").read_text()
    assert [page.stem for page in DOCS.glob("*.md") if not re.search(rf"^{page.stem}$", index, re.MULTILINE)] == [
        "index"
    ]


def test_the_readme_has_a_place_for_benchmarks():
    text = README.read_text()
    assert text.index("<!-- benchmarks -->") < text.index("<!-- /benchmarks -->")


def documented_names():
    pattern = re.compile(r"^\.\. auto\w+:: ([\w.]+)", re.MULTILINE)
    return sorted({name for page in (DOCS / "reference").glob("*.md") for name in pattern.findall(page.read_text())})


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
