"""The page docs/compatibility.md: what became of the tests of peers, and why some fail."""

from collections.abc import Mapping
from pathlib import Path

from tests.peers.reasons import Judgment


def write_page(path: Path, judged: Mapping[str, Judgment]) -> None:
    """Bring the page up to date."""
