"""Features of a file that a reader must support, as words in its header.

read_words    the texts of a header -> the words, all of which this version of weald understands
words_of      forests -> the words for their features

A file with an unknown word is refused, and the error says which version of weald reads the file.
docs/deployment/model-files.md lists the words.
"""

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import NoReturn

from weald.data.task import Task
from weald.errors import FormatError, shown
from weald.forest.forest import Forest
from weald.io.container import require

ESTIMATOR, FOREST = "estimator", "forest"  # kind of contents: exactly one of these
CALIBRATION = "calibration"  # calibrated class probabilities; since format 1.1
CONTRACT = "contract"  # the head has the contract version of the trees; since format 1.1
ERRORS = "errors"  # errors that intervals and prediction sets are computed from; since format 1.1
LEAF_TARGETS = "leaf_targets"  # the target values in each leaf; since format 1.1
MAPPABLE = "mappable"
SHRINKAGE = "shrinkage"  # a note has lambda; since format 1.1
SURVIVAL = "survival"  # the times in each leaf of survival trees; since format 1.1
TARGETS = "targets"
WEIGHT_SCALE = "weight_scale"  # weights are not in the user's units; since format 1.1
ZERO_VOTES = "zero_votes"  # a tree has no vote; since format 1.1
ZLIB = "zlib"
# Features of forests: the header has the word if and only if a forest has the feature
PARTS = frozenset({SHRINKAGE, WEIGHT_SCALE, ZERO_VOTES})
OF_PARTS = frozenset({CALIBRATION, CONTRACT, ERRORS, LEAF_TARGETS, MAPPABLE, SURVIVAL, TARGETS, ZLIB})
READABLE = frozenset({ESTIMATOR, FOREST}) | OF_PARTS | PARTS
# Words of format 1.1 that this version does not support. A file with such a word is refused.
SPECIFIED: frozenset[str] = frozenset()

REQUIRES, WRITER, FORMAT = "weald.requires", "weald.writer", "weald.format"
MAJOR = "1"
WORD = re.compile("[a-z][a-z0-9_]{0,39}")
VERSION = re.compile("[0-9][0-9a-zA-Z.+]{0,39}")


def read_words(texts: Mapping[str, str]) -> frozenset[str]:
    """Read the format and the words of a header; refuse those that this version does not support."""
    major, _, minor = texts.get(FORMAT, "").partition(".")
    require(_is_number(major) and _is_number(minor), "It does not state its format.")
    if major != MAJOR:
        raise FormatError(f"It is of format {major}.{minor}; weald {version('weald')} reads {MAJOR}.x. {advice(texts)}")
    words = texts.get(REQUIRES, "").split(" ")
    for word in words:
        require(WORD.fullmatch(word), f"{REQUIRES} is not a list of words: it contains {shown(word)}.")
        require(words.count(word) == 1, f"{REQUIRES} contains the word {word!r} twice.")
        if word not in READABLE:
            _refuse(word, texts)
    require((ESTIMATOR in words) != (FOREST in words), f"It must contain either an {ESTIMATOR} or a {FOREST}.")
    return frozenset(words)


def words_of(forests: Sequence[Forest]) -> frozenset[str]:
    """Return the words for the features of some forests."""
    found = {WEIGHT_SCALE} if any(len(forest.weight_scale) for forest in forests) else set()
    if any(forest.shrinkage for forest in forests):
        found.add(SHRINKAGE)
    of_classes = [forest for forest in forests if forest.task is Task.CLASSIFICATION]
    return frozenset(found | ({ZERO_VOTES} if not all(forest.has_vote().all() for forest in of_classes) else set()))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 8


def _refuse(word: str, texts: Mapping[str, str]) -> NoReturn:
    mine = f"weald {version('weald')}"
    why = f"is specified, but not readable by {mine}" if word in SPECIFIED else f"is unknown to {mine}"
    raise FormatError(f"It needs {word!r}, which {why}. {advice(texts)}")


def advice(texts: Mapping[str, str]) -> str:
    """Return advice on the version of weald that reads a file."""
    writer = texts.get(WRITER, "")
    if not VERSION.fullmatch(writer):
        return "Install a later version of weald."
    return f"It was written by weald {writer}: install that version or a later one."
