"""The documentation is built without a warning, and can be searched where there is no network."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import needs_browser, open_page

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("docs")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build all pages; a warning is an error."""
    pytest.importorskip("furo", reason="the documentation needs sphinx and furo, which are not installed")
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


@needs_browser
@pytest.mark.parametrize(
    ("words", "page"), [("fingerprint", "reproducibility.html"), ("calibration", "out-of-bag-error.html")]
)
def test_search_finds_pages_without_a_network(built, tmp_path, words, page):
    options = ["--virtual-time-budget=20000", "--host-resolver-rules=MAP * ~NOTFOUND"]
    dom, console = open_page(built / "search.html", tmp_path / "profile", *options, query=f"?q={words}")
    assert f'href="{page}' in dom.partition('id="search-results"')[2]
    assert console == []
