"""A model as JSON: the contents of its `.weald` file as text for any language.

    write_json    fitted model -> text, checked by reading it again
    from_json     text or a file of it -> the estimator

    {"format": "weald JSON 1.0", "texts": {...}, "notes": {...}, "arrays": {name: {"type", "shape", "values"}}}

Texts, notes and arrays are those of the file (`files.py`). To read JSON, it is converted to the bytes of a file,
so the same checks apply. Numbers that JSON does not have are "inf", "-inf" and "nan". docs/deployment/export.md lists
the arrays.
"""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.types import Array, TableLike
from weald.errors import FormatError
from weald.estimators.features import features_of
from weald.estimators.multi_output import each_target
from weald.io import container, files
from weald.io.atomic import PathLike, write_file
from weald.io.container import NAMES, PACKED, TYPES, Json, is_numbers, require
from weald.io.export.parity import Export, Parity, answer, compare, compared_values, not_compared, rows_to_compare

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

FORMAT = "weald JSON 1.0"
NOTES = "weald.notes"
DIGESTS = ("weald.sha256", "weald.data")  # digests of the bytes of a file, which are computed again
BEYOND = ("inf", "-inf", "nan")


def write_json(model: "TreeModel", path: PathLike | None, X: TableLike, *, check: bool) -> Export:
    """Write a model as JSON; with `check`, read it again and compare."""
    check_is_fitted(model)
    features_of(model).require_table("to_json")
    contents = container.read(b"".join(files.write(model, compress=False, mappable=True)))
    arrays = {name: array for name, array in contents.arrays.items() if PACKED not in name}
    texts = {name: text for name, text in contents.metadata.items() if name not in (*DIGESTS, NOTES)}
    notes = _inline_texts(container.parse_json(contents.metadata[NOTES]), arrays)
    for other in notes.get("others", []):
        other["same"] = [name for name in other["same"] if PACKED not in name]
    # One line for each part and array, so that two models can be compared by lines.
    lines = [f"{_dumps(name)}:{_dumps(_write_array(array))}" for name, array in sorted(arrays.items())]
    parts = [("format", _dumps(FORMAT)), ("texts", _dumps(texts)), ("notes", _dumps(notes))]
    parts.append(("arrays", "{\n" + ",\n".join(lines) + "\n}"))
    text = "{\n" + ",\n".join(f"{_dumps(name)}:{part}" for name, part in parts) + "\n}\n"
    parity = _compare(model, text, X) if check else not_compared()
    if path is not None:
        write_file(path, [text.encode("ascii")])
    return Export(text, parity)


def _dumps(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _inline_texts(notes: Json, arrays: dict[str, Array]) -> Json:
    """Convert long lists of texts, stored in a file as arrays of bytes, to lists of texts."""
    if isinstance(notes, list):
        return [_inline_texts(note, arrays) for note in notes]
    if not isinstance(notes, dict):
        return notes
    if notes.keys() != {"texts"}:
        return {name: _inline_texts(note, arrays) for name, note in notes.items()}
    joined, lengths = (arrays.pop(name) for name in notes["texts"])
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    whole = joined.tobytes()
    pieces = zip([0, *ends], ends, strict=False)
    return {"texts": [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pieces]}


def _write_array(array: Array) -> dict[str, Json]:
    values = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        values = [value if math.isfinite(value) else str(value) for value in values]
    return {"type": NAMES[array.dtype.newbyteorder("<")], "shape": list(array.shape), "values": values}


# -------------------------------------------------------------------------------------------------------------- read


def from_json(source: PathLike) -> "TreeModel":
    """Read a model written by `to_json`.

    Reading does not execute code. Invalid text is refused.

    Parameters
    ----------
    source : str or path
        The text, which begins with a brace, or the path of a file.

    Returns
    -------
    estimator
        Fitted: the same forest bit for bit, with its parameters, names, categories, classes and out-of-bag results.

    Raises
    ------
    weald.FormatError
        The text is damaged, forged, or of a later version.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
    >>> again = weald.from_json(model.to_json().model)
    >>> again.forest_.fingerprint() == model.forest_.fingerprint()
    True
    """
    text = source if isinstance(source, str) and source.lstrip()[:1] == "{" else _read_file(Path(source))
    written = container.parse_json(text)
    require(written.get("format") == FORMAT, f"It is not {FORMAT}: its format is {str(written.get('format'))[:40]!r}.")
    require(
        written.keys() == {"format", "texts", "notes", "arrays"},
        "It must have exactly the parts format, texts, notes and arrays.",
    )
    texts, listed = written["texts"], written["arrays"]
    is_text = isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values())
    require(is_text and not texts.keys() & {NOTES, *DIGESTS}, "Its texts are invalid.")
    require(isinstance(listed, dict), "Its arrays are invalid.")
    arrays = {name: _read_array(name, entry) for name, entry in listed.items()}
    notes = _gather_texts(written["notes"], arrays)
    texts[NOTES] = _dumps(notes)
    return files.read(b"".join(container.write(texts, arrays)))


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not a text file: {error}.") from None


def _gather_texts(notes: Json, arrays: dict[str, Array]) -> Json:
    """Convert lists of texts to arrays of bytes, as in a file."""
    if isinstance(notes, list):
        return [_gather_texts(note, arrays) for note in notes]
    if not isinstance(notes, dict):
        return notes
    if notes.keys() != {"texts"}:
        return {name: _gather_texts(note, arrays) for name, note in notes.items()}
    texts = notes["texts"]
    require(
        isinstance(texts, list) and all(isinstance(text, str) for text in texts),
        "A list of texts contains other values.",
    )
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    names = [f"meta.text{len(arrays)}", f"meta.length{len(arrays)}"]
    arrays[names[0]] = np.frombuffer(b"".join(coded), dtype=np.uint8)
    arrays[names[1]] = np.array([len(text) for text in coded], dtype=np.uint64)
    return {"texts": names}


def _read_array(name: str, entry: Json) -> Array:
    """Read numbers of the given type; refuse any others."""
    proper = isinstance(entry, dict) and entry.keys() == {"type", "shape", "values"} and isinstance(entry["type"], str)
    proper = proper and entry["type"] in TYPES and is_numbers(entry["shape"]) and isinstance(entry["values"], list)
    require(proper, f"Array {name!r} has an invalid type, shape or values.")
    values, dtype = entry["values"], np.dtype(TYPES[entry["type"]])
    require(
        math.prod(entry["shape"]) == len(values),
        f"Array {name!r} has {len(values)} values, which do not fit its shape.",
    )
    kinds = {type(value) for value in values}
    if dtype.kind == "f":
        require(kinds <= {int, float, str}, f"Array {name!r} contains a value that is not a number.")
        values = [_number(name, value) if type(value) is str else value for value in values] if str in kinds else values
    else:
        require(
            kinds <= {bool if dtype.kind == "b" else int},
            f"Array {name!r} contains a value that is not of type {dtype}.",
        )
    try:
        with np.errstate(over="raise"):
            return np.array(values, dtype=dtype).reshape(entry["shape"])
    except (OverflowError, FloatingPointError):
        raise FormatError(f"Array {name!r} contains a number that is too large.") from None


def _number(name: str, text: str) -> float:
    require(text in BEYOND, f"Array {name!r} contains {text[:20]!r}, which is not a number.")
    return float(text)


def _compare(model: "TreeModel", text: str, X: TableLike) -> Parity:
    """Read the model again, and compare predictions of rows at the edges of leaves."""
    from weald import __version__

    again = from_json(text)
    ours, theirs = [], []
    for one, other in zip(each_target(model), each_target(again), strict=True):
        same = other.forest_.fingerprint() == one.forest_.fingerprint()
        require(same, "The forest differs after reading it again.")
        rows = rows_to_compare(one, X)
        ours.append(answer(one, rows))
        theirs.append(answer(other, rows))
    return compare(f"weald {__version__}", compared_values(one.forest_), np.hstack(ours), np.hstack(theirs), 0.0)
