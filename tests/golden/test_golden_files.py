"""Model files of every format version are read, and predict the same bits."""

import json
from pathlib import Path

import pytest

import weald
from tests.golden.write_files import told_by

FILES = sorted((Path(__file__).parent / "files").glob("*/*.weald"))


def test_there_are_golden_files():
    assert len(FILES) >= 14


@pytest.mark.sanitize
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_golden_file_is_read_and_predicts_the_same_bits(file):
    expected = json.loads(file.with_suffix(".json").read_text())
    found = told_by(weald.load(file))
    later = found.pop("parameters"), expected.pop("parameters")  # later versions may have more
    assert found == expected
    assert all(part in later[0] for part in ("random_state", "engine"))
    if file.stem == "mappable":
        mapped = told_by(weald.load(file, mmap=True))
        assert mapped["votes"] == expected["votes"]
