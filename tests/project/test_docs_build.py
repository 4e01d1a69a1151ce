"""The documentation builds without a warning, and search works offline."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from sklearn.base import BaseEstimator

import weald
from tests.browser import needs_browser, open_page

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("docs")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build all pages; a warning is an error."""
    for package in ("furo", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(package, reason="the documentation needs packages that are not installed")
    place = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", ROOT / "docs", place]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def test_pages_ask_for_nothing_from_elsewhere(built):
    pages = [*built.rglob("*.html")]
    assert len(pages) > 40
    loaded = [
        (page.name, word)
        for page in pages
        for word in ('<script src="http', '<link rel="stylesheet" href="http', '<img src="http', "@import")
        if word in page.read_text(encoding="utf-8")
    ]
    assert loaded == []


# Search terms, and the page that must come first.
SEARCHES = {
    "feature importance": "guides/feature-importance",
    "probability": "guides/probabilities",
    "quantile": "guides/prediction-intervals",
    "missing values": "guides/input-data",
    "categorical": "guides/input-data",
    "permutation importance": "guides/feature-importance",
    "prediction interval": "guides/prediction-intervals",
    "SHAP": "guides/explaining-predictions",
    "FAQ": "start/faq",
    "cite": "background/bibliography",
    "ranger": "coming-from/r",
    "install": "start/install",
    "save model": "deployment/model-files",
    "reproducibility": "deployment/reproducibility",
    "calibration": "guides/probabilities",
}


@needs_browser
@pytest.mark.parametrize("words", SEARCHES)
def test_search_puts_the_right_page_first_without_a_network(built, tmp_path, words):
    options = ["--virtual-time-budget=20000", "--host-resolver-rules=MAP * ~NOTFOUND"]
    dom, console = open_page(built / "search.html", tmp_path / "profile", *options, query=f"?q={quote(words)}")
    found = re.findall(r'<li[^>]*>\s*<a href="([\w/.-]+)\.html', dom.partition('id="search-results"')[2])
    assert found[0] == SEARCHES[words]
    assert console == []


def documented(built):
    """Return the full names of everything that the reference documents."""
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((built / "objects.inv").read_bytes(), uri="")
    return {name for kind in ("method", "property") for name in inventory.data[f"py:{kind}"]}


def test_the_reference_has_every_public_method_of_the_estimators(built):
    names = documented(built)
    for name in weald.__all__:
        kind = getattr(weald, name)
        if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
            continue
        ours = {
            method
            for base in kind.__mro__
            if base.__module__.startswith("weald")
            for method, value in vars(base).items()
            if callable(value) and not method.startswith("_") and not method.endswith("_request")
        }
        assert {method for method in ours if f"weald.{name}.{method}" not in names} == set()


def test_links_between_pages_lead_to_a_part_that_exists(built):
    pages = {page.resolve(): page.read_text(encoding="utf-8") for page in built.rglob("*.html")}
    parts = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    broken = [
        (page.name, link)
        for page, text in pages.items()
        for link in re.findall(r'<a [^>]*href="([^":?]+)"', text)
        if not leads_somewhere(page, unquote(link), parts)
    ]
    assert broken == []


def leads_somewhere(page, link, parts):
    """Tell whether a file and a part of it exist."""
    file, _, part = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not part or target not in parts or part in parts[target])


@pytest.mark.parametrize("page", ["index.html", "start/getting-started.html"])
def test_code_can_be_copied(built, page):
    assert "copybutton.js" in (built / page).read_text(encoding="utf-8")
