"""Words in the header of a file that a reader must understand: each stands for what older readers would get wrong.

read_words    the texts of a header -> the words, all of which this version of weald understands

A word that is not understood is refused, and the error says which weald reads the file. docs/files.md lists the words.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import NoReturn

from weald.errors import FormatError, shown
from weald.io.container import require

ESTIMATOR, FOREST = "estimator", "forest"  # what is inside: one of the two
CONTRACT = "contract"  # the head says under which contract the trees were grown; since format 1.1
MAPPABLE = "mappable"
TARGETS = "targets"
ZLIB = "zlib"
READABLE = frozenset({ESTIMATOR, FOREST, CONTRACT, MAPPABLE, TARGETS, ZLIB})
# Of format 1.1, but no forest of this version has such parts. A file that does is refused, never read in part.
SPECIFIED = frozenset({"calibration", "leaf_targets", "shrinkage", "survival", "weight_scale", "zero_votes"})

REQUIRES, WRITER, FORMAT = "weald.requires", "weald.writer", "weald.format"
MAJOR = "1"
WORD = re.compile("[a-z][a-z0-9_]{0,39}")
VERSION = re.compile("[0-9][0-9a-zA-Z.+]{0,39}")


def read_words(texts: Mapping[str, str]) -> frozenset[str]:
    """Read the format and the words of a header; refuse what this version does not understand."""
    major, _, minor = texts.get(FORMAT, "").partition(".")
    require(_is_number(major) and _is_number(minor), "It does not say which format it has.")
    if major != MAJOR:
        raise FormatError(f"It is of format {major}.{minor}; weald {version('weald')} reads {MAJOR}.x. {advice(texts)}")
    words = texts.get(REQUIRES, "").split(" ")
    for word in words:
        require(WORD.fullmatch(word), f"{REQUIRES} is no list of words: it has {shown(word)}.")
        require(words.count(word) == 1, f"{REQUIRES} has the word {word!r} twice.")
        if word not in READABLE:
            _refuse(word, texts)
    require((ESTIMATOR in words) != (FOREST in words), f"It must hold either an {ESTIMATOR} or a {FOREST}.")
    return frozenset(words)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8


def _refuse(word: str, texts: Mapping[str, str]) -> NoReturn:
    mine = f"weald {version('weald')}"
    why = f"is specified, but not readable by {mine}" if word in SPECIFIED else f"is unknown to {mine}"
    raise FormatError(f"It needs {word!r}, which {why}. {advice(texts)}")


def advice(texts: Mapping[str, str]) -> str:
    """Say which version of weald reads a file: certainly the one that wrote it."""
    writer = texts.get(WRITER, "")
    if not VERSION.fullmatch(writer):
        return "Install a later version of weald."
    return f"It was written by weald {writer}: install that version or a later one."
