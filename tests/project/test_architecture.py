"""ARCHITECTURE.md names only files that exist, and fits on one screen."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
NAMED = sorted(set(re.findall(r"[\w.-]+/[\w./-]*", re.sub(r"\]\([^)]*\)", "]", TEXT))))
FILES = sorted(set(re.findall(r"(?<![\w/.-])[\w-]+\.(?:py|h|cpp|md)\b", TEXT)))


PACKAGE = ROOT / "src" / "weald"
TOPS = [ROOT, ROOT / "core", PACKAGE, *(path for path in PACKAGE.iterdir() if path.is_dir())]


@pytest.mark.parametrize("name", NAMED)
def test_a_path_exists(name):
    assert any((top / name).exists() for top in TOPS)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_named_without_its_folder_exists(name):
    assert any(ROOT.rglob(name))


def test_it_fits_on_one_screen():
    assert len(TEXT.splitlines()) <= 110
