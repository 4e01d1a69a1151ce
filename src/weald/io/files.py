"""Model files: `.weald`.

    save, load       an estimator to a file, and back
    write, read      an estimator to bytes, and back
    write_forest     a forest without estimator as bytes, for pickles
    read_forest

A file is a safetensors container (`container.py`) with the arrays of the forest (`packing.py`), and with parameters and
notes as JSON (`values.py`). The header lists features that a reader must support (`words.py`). Nothing in a file is
ever executed.
docs/deployment/model-files.md is the specification.
"""

import json
import math
import mmap as memory
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weald.data.schema import TIMES, Categories, Schema
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.params import Growth
from weald.errors import FormatError, ParameterError
from weald.estimators.calibration.calibrator import calibrator_of
from weald.estimators.calibration.kept_errors import KeptErrors
from weald.estimators.fit import check
from weald.estimators.out_of_bag import Curve, OutOfBag
from weald.estimators.prediction import voting_of
from weald.estimators.tree_base import SingleTree
from weald.forest.compaction import Thinning
from weald.forest.forest import CATEGORICAL, CONTRACT_VERSION, Bags, Forest, Origin
from weald.forest.leaf_targets import LeafTargets
from weald.forest.leaf_times import LeafTimes
from weald.io import (
    calibration,
    container,
    kept_errors,
    kernel_parts,
    leaf_targets,
    leaf_times,
    multi_output,
    plain_arrays,
    words,
)
from weald.io import tree_hashes as hashing
from weald.io.atomic import PathLike, write_file
from weald.io.compression import unzip, zip_arrays
from weald.io.container import Buffer, Contents, Json, require
from weald.io.packing import BYTES_PER_NODE, Head, check_fewest_draws, pack, unpack
from weald.io.streams import Arrays
from weald.io.values import Hint, Reader, Writer, fits

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

FORMAT = "1.1"

RECORDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Bags, Categories, Curve, Growth, Head, Origin, Schema, Thinning, *kernel_parts.RECORDS)
}

# Attributes of a fitted estimator other than the forest, the growth and the schema, which are written separately.
LEARNED: dict[str, Hint] = {
    "altered_by_": str,
    "class_labels_": np.ndarray | list,  # labels stored with a tree of a forest
    "classes_": np.ndarray | list,  # lists for multi-output
    "event_times_": np.ndarray,  # of survival models
    "feature_names_in_": np.ndarray,
    "n_classes_": int | list,
    "n_features_in_": int,
    "n_outputs_": int,
    "oob_error_": float,
    "oob_fraction_": float,
    "oob_score_": float,
    "seed_": int,
    "thinning_": Thinning,
    **kernel_parts.LEARNED,
}
IN_FILES = {"oob_fraction_": "oob_share_"}  # attributes that have another name in files
TRAINING = "training"  # an optional note on the training table, not needed for predictions
OF_TRAINING = {"rows": "n_samples_fit_", "target": "target_name_", "data_hash": "data_hash_"}
SHA256 = "[0-9a-f]{64}"
APART = (
    "n_samples_fit_",
    "target_name_",
    "data_hash_",
    "forest_",
    "forests_",
    "growth_",
    "schema_",
    "tree_",
    "leaf_targets_",
    "leaf_times_",
    "unique_times_",
    "kept_errors_",
    "calibrator_",
    "oob_",
    "oob_decision_function_",
    "oob_prediction_",
)
OOB_OF_TARGETS = {"oob_decision_function_": np.ndarray, "oob_prediction_": np.ndarray}
OOB_STATE: dict[str, Hint] = {
    "_averages": FloatArray,
    "_error_spread": float,
    "_hard": bool,
    "_n_effective": float,
    "classes": Array | None,
    "counts": IntArray,
    "curve": Curve,
    "error": float,
    "mask": BoolArray,
    "n_trees": int,
    "share": float,
}


# --------------------------------------------------------------------------------------------------------------- save


def save(
    model: "TreeModel", path: PathLike, *, compress: bool = True, mappable: bool = False, tree_hashes: bool = False
) -> None:
    """Write a fitted estimator to a file; see `estimator.save`."""
    write_file(path, write(model, compress=compress, mappable=mappable, tree_hashes=tree_hashes))


def write(
    model: "TreeModel", *, compress: bool = True, mappable: bool = False, tree_hashes: bool = False
) -> list[Buffer]:
    """Lay out the file of a fitted estimator as pieces to be written one after the other."""
    name = type(model).__name__
    if type(model) not in estimators().values():
        raise FormatError(
            f"A {name} cannot be written to a .weald file: it is not an estimator of weald itself, and a file "
            "contains no code. Save the estimator that it is derived from."
        )
    check(model)  # checks that the file can be loaded
    writer = Writer()
    notes = {
        "estimator": name,
        "parameters": {key: writer.write(value) for key, value in _parameters(model).items()},
        "learnt": {key: writer.write(value) for key, value in sorted(_learned(model).items())},
        "growth": writer.write(model.growth_),
        "schema": writer.write_record("Schema", _schema_fields(model.schema_)),
        "oob": _write_oob(model, writer),
    }
    if training := _write_training(model):
        notes[OPTIONAL] = {TRAINING: training}
    forests = model.forests_ if _has_several(model) else (model.forest_,)
    way = words.MAPPABLE if mappable else words.ZLIB if compress else None
    targets: LeafTargets | None = vars(model).get("leaf_targets_")
    if targets is not None and targets.forest is not vars(model).get("forest_"):
        targets = None  # out-of-bag results belong to other trees
    calibrator = calibrator_of(model)
    parts = None if calibrator is None else calibration.pack(calibrator)
    if parts is not None:
        notes[words.CALIBRATION] = parts[0]
    own = {} if parts is None else parts[1]
    times: LeafTimes | None = vars(model).get("leaf_times_")
    if times is not None:
        own |= leaf_times.pack(times, mappable=mappable)
    errors: KeptErrors | None = vars(model).get("kept_errors_")
    is_usable = errors is not None and getattr(errors, "voting", voting_of(model)) == voting_of(model)
    if errors is not None and is_usable and errors.forest is vars(model).get("forest_"):
        notes[words.ERRORS], arrays = kept_errors.pack(errors, mappable=mappable)
        own |= arrays
    extra = [] if times is None else [words.SURVIVAL]
    pieces = _write(
        *(words.ESTIMATOR, notes, forests, writer, way),
        tree_hashes=tree_hashes,
        targets=targets,
        more=own,
        more_words=extra,
    )
    _check_notes(notes, forests, writer)
    return pieces


def _schema_fields(schema: Schema) -> dict[str, object]:
    """Return the columns as stored in a file: without counts of predictions; dates and durations if there are any."""
    kept: dict[str, object] = {"names": schema.names, "categories": schema.categories, "unknown": {}}
    return {**kept, "times": schema.times} if schema.times else kept


def _check_notes(notes: dict[str, Json], forests: tuple[Forest, ...], writer: Writer) -> None:
    """Read the header back, so that no file is written that cannot be loaded."""
    try:
        notes = container.parse_json(_dumps(notes))
        reader = Reader(dict(writer.arrays), RECORDS)
        heads = [reader.read(told["head"]) for told in (notes, *notes.get("others", []))]
        again = _read_model(notes, reader, heads)
        _put_forests(again, forests, is_checked=True)
        _read_oob(again, reader, notes["oob"])
    except FormatError as error:
        raise FormatError(f"This model cannot be saved, since its file could not be loaded. {error}") from None


def write_forest(forest: Forest) -> bytes:
    """Write a forest without its estimator, uncompressed."""
    return b"".join(_write(words.FOREST, {}, (forest,), Writer()))


def _write(
    inside: str,
    notes: dict[str, Json],
    forests: Sequence[Forest],
    writer: Writer,
    way: str | None = None,
    *,
    tree_hashes: bool = False,
    targets: LeafTargets | None = None,
    more: Arrays | None = None,
    more_words: Sequence[str] = (),
) -> list[Buffer]:
    packed = [plain_arrays.pack(forest) if way == words.MAPPABLE else pack(forest) for forest in forests]
    heads = [{"head": writer.write(p[0]), "fingerprint": f.fingerprint()} for p, f in zip(packed, forests, strict=True)]
    arrays, shared = multi_output.gather([arrays for _, arrays in packed])
    notes |= {**heads[0], "zipped": {}}
    if forests[0].shrinkage:
        notes[words.SHRINKAGE] = {LAMBDA: forests[0].shrinkage}
    needed = [inside, words.CONTRACT]
    if len(forests) > 1:
        notes["others"] = [{**head, "same": same} for head, same in zip(heads[1:], shared, strict=True)]
        needed.append(words.TARGETS)
    needed += sorted(words.words_of(forests))
    arrays = {**arrays, **writer.arrays}
    if targets is not None:
        arrays |= leaf_targets.pack(targets, mappable=way == words.MAPPABLE)
        needed.append(words.LEAF_TARGETS)
    arrays |= more or {}
    needed += [word for word in (words.CALIBRATION, words.ERRORS) if word in notes]
    needed += more_words
    if tree_hashes:
        note, hashes = hashing.write(forests)
        notes[OPTIONAL] = {**notes.get(OPTIONAL, {}), hashing.NOTE: note}
        arrays = {**arrays, **hashes}
    if way == words.ZLIB:
        arrays, notes["zipped"] = zip_arrays(arrays)
    needed += [way] if way else []
    texts = {
        words.FORMAT: FORMAT,
        words.REQUIRES: " ".join(needed),
        words.WRITER: version("weald"),
        "weald.notes": _dumps(notes),
    }
    return container.write(texts, arrays)


def _dumps(notes: dict[str, Json]) -> str:
    return json.dumps(notes, separators=(",", ":"), allow_nan=False)


@cache
def estimators() -> dict[str, type["TreeModel"]]:
    """Estimators that can be in a file, by name."""
    import weald
    from weald.estimators.base import TreeModel

    kinds = {name: getattr(weald, name) for name in weald.__all__}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, TreeModel)}


def _parameters(model: "TreeModel") -> dict[str, object]:
    """The parameters; a generator of random numbers becomes the drawn seed, a function becomes its result."""
    given: dict[str, object] = model.get_params(deep=False)
    if not isinstance(given["random_state"], int | np.integer | None):
        given["random_state"] = model.seed_
    if callable(given.get("oob_score")):
        given["oob_score"] = True
    if callable(given.get("max_features")):
        given["max_features"] = model.growth_.max_features
    return given


def _learned(model: "TreeModel") -> dict[str, object]:
    known = LEARNED | OOB_OF_TARGETS if _keeps_predictions(model) else LEARNED
    found = {name: value for name, value in vars(model).items() if name.endswith("_")}
    found = {name: value for name, value in found.items() if name in known or name not in APART}
    strange = [name for name, value in found.items() if name not in known or not fits(value, known[name])]
    if strange:
        raise FormatError(
            f"{strange[0]} of this model cannot be written to a .weald file. Delete this attribute before saving."
        )
    return {IN_FILES.get(name, name): value for name, value in found.items()}


def _write_training(model: "TreeModel") -> dict[str, Json]:
    """Store the number of training rows, the name of the target and the hash of the data, if known."""
    kept = {name: getattr(model, attribute, None) for name, attribute in OF_TRAINING.items()}
    return {name: value for name, value in kept.items() if value is not None}


def _read_training(model: "TreeModel", written: Json) -> None:
    kinds = {"rows": int, "target": str, "data_hash": str}
    proper = isinstance(written, dict) and all(type(written.get(name, kind())) is kind for name, kind in kinds.items())
    proper = proper and 0 <= written.get("rows", 0) < 2**63
    proper = proper and re.fullmatch(SHA256, written.get("data_hash", "0" * 64)) is not None
    require(proper, "The notes on the training data are invalid.")
    for name, attribute in OF_TRAINING.items():
        if name in written:
            setattr(model, attribute, written[name])


def _keeps_predictions(model: "TreeModel") -> bool:
    """Return whether out-of-bag predictions are stored by themselves, not as a part of `oob_`."""
    return _has_several(model) or model.task is Task.SURVIVAL


def _has_several(model: "TreeModel") -> bool:
    return "forests_" in vars(model)


def _write_oob(model: "TreeModel", writer: Writer) -> Json:
    if not hasattr(model, "oob_") or model.task is Task.SURVIVAL:  # of survival, the scores and predictions are stored
        return None
    state = {name: value for name, value in model.oob_.__getstate__().items() if name in OOB_STATE}
    return writer.write_record("OutOfBag", state)


# --------------------------------------------------------------------------------------------------------------- load


def load(path: PathLike, *, mmap: bool = False, max_bytes: int | None = None) -> "TreeModel":
    """Read an estimator from a `.weald` file.

    Loading does not execute code. A damaged, truncated or forged file is refused before memory is allocated for it.

    Parameters
    ----------
    path : str or path
        A file written by `estimator.save`.
    mmap : bool, default=False
        Map the file instead of reading it: this takes milliseconds for any size, and processes that map the same file
        share its memory. The file must have been saved with `mappable=True` and must not change while the model is in
        use. Its arrays are not checked before they are used, so map only your own files.
    max_bytes : int, optional
        Maximum memory of the forest; a larger one is refused. By default half of the machine's memory.

    Returns
    -------
    estimator
        Fitted: the same forest bit for bit, with its parameters, names, categories, classes and out-of-bag results.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import weald
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    >>> model = weald.RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "model.weald")
    ...     model.save(file)
    ...     again = weald.load(file)
    >>> again.forest_.fingerprint() == model.forest_.fingerprint()
    True
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        if mmap:
            return read(_map(path), mapped=True, max_bytes=max_bytes)
        return read(path.read_bytes(), max_bytes=max_bytes)
    except FormatError as error:
        raise FormatError(f"{path} cannot be read. {error}") from None


def _map(path: Path) -> memoryview:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(memory.mmap(file.fileno(), 0, access=memory.ACCESS_READ))


def read(buffer: Buffer, *, mapped: bool = False, max_bytes: int | None = None) -> "TreeModel":
    """Read an estimator from the bytes of a file."""
    contents, notes = _open(buffer, words.ESTIMATOR, check_data=not mapped)
    known = {"estimator", "parameters", "learnt", "growth", "schema", "oob", *COMMON}
    optional = {"others", OPTIONAL, words.CALIBRATION, words.ERRORS, words.SHRINKAGE}
    require(notes.keys() - optional == known, "It has missing or unknown notes.")
    opened = _Opened(contents, notes, max_bytes)
    model = _read_model(notes, opened.reader, opened.heads)
    _put_forests(model, opened.forests(mapped=mapped), is_checked=not mapped)
    _read_oob(model, opened.reader, notes["oob"])
    opened.put_leaf_targets(model, mapped=mapped)
    opened.put_leaf_times(model, mapped=mapped)
    opened.put_calibration(model)
    opened.put_kept_errors(model, mapped=mapped)
    _read_training(model, notes.get(OPTIONAL, {}).get(TRAINING, {}))
    require(not opened.reader.arrays, "The file has unknown arrays.")
    return model


def _read_model(notes: dict[str, Json], reader: Reader, heads: Sequence[Head]) -> "TreeModel":
    """Read an estimator without its forest."""
    kind = estimators().get(notes["estimator"]) if isinstance(notes["estimator"], str) else None
    if kind is None:
        raise FormatError(f"{notes['estimator']!r} is not an estimator of this version of weald.")
    model = _make(kind, _read_names(notes["parameters"], reader))
    of_files = {name: attribute for attribute, name in IN_FILES.items()}
    learned = {of_files.get(name, name): value for name, value in _read_names(notes["learnt"], reader).items()}
    left = LEARNED | OOB_OF_TARGETS if len(heads) > 1 or kind.task is Task.SURVIVAL else LEARNED
    for name, value in learned.items():
        require(name in left and fits(value, left[name]), f"The fitted attribute {name} is unknown or invalid.")
    growth, schema = reader.read(notes["growth"]), reader.read(notes["schema"])
    require(isinstance(growth, Growth) and isinstance(schema, Schema), "Growth parameters or columns are missing.")
    for name, value in {**learned, "growth_": growth, "schema_": schema}.items():
        setattr(model, name, value)
    _check_model(model, heads)
    return model


def _put_forests(model: "TreeModel", forests: tuple[Forest, ...], *, is_checked: bool) -> None:
    """Set the forest of an estimator, or the forests of all targets."""
    if len(forests) > 1:
        multi_output.check_trees(forests)
        model.forests_ = forests
    else:
        model.forest_ = forests[0]
    if is_checked:
        _check_sets(forests[0], kernel_parts.table_schema(model))


COMMON = ("head", "fingerprint", "zipped")
LAMBDA = "lambda"  # the only entry of the note on shrinkage
OPTIONAL = "optional"  # an optional note and an array prefix, which older readers ignore
OTHERS = {"head", "fingerprint", "same"}


def read_forest(buffer: Buffer) -> Forest:
    """Read a forest from the bytes of `write_forest`, without a memory limit, since pickles are trusted."""
    contents, notes = _open(buffer, words.FOREST, check_data=True)
    require(notes.keys() - {words.SHRINKAGE, OPTIONAL} == set(COMMON), "It has missing or unknown notes.")
    opened = _Opened(contents, notes, sys.maxsize)
    (forest,) = opened.forests(mapped=False)
    require(not opened.reader.arrays, "The file has unknown arrays.")
    return forest


def _open(buffer: Buffer, inside: str, *, check_data: bool) -> tuple[Contents, dict[str, Json]]:
    """Read the container, and check that this version supports its contents."""
    contents = container.read(buffer, check_data=check_data)
    texts = contents.metadata
    needed = words.read_words(texts)
    require(inside in needed, f"It contains no {inside}.")
    require(words.MAPPABLE in needed or check_data, "Only a file that was saved with mappable=True can be mapped.")
    notes = container.parse_json(texts.get("weald.notes", ""))
    require(words.ZLIB in needed or notes.get("zipped") == {}, "Arrays are compressed, but the file does not say so.")
    require(isinstance(notes.get(OPTIONAL, {}), dict), "The optional notes are invalid.")
    return contents, notes


class _Opened:
    """A file whose sizes were checked, and whose arrays were decompressed."""

    def __init__(self, contents: Contents, notes: dict[str, Json], max_bytes: int | None) -> None:
        limit = _half_of_memory() if max_bytes is None else max_bytes
        arrays = unzip(contents.arrays, notes["zipped"], limit)
        self.reader = Reader({name: a for name, a in arrays.items() if name.startswith("meta.")}, RECORDS)
        needed = words.read_words(contents.metadata)
        self.has_several, self._is_plain = words.TARGETS in needed, words.MAPPABLE in needed
        self._parts = needed & words.PARTS
        others = notes.get("others", [])
        proper = isinstance(others, list) and all(isinstance(o, dict) and o.keys() == OTHERS for o in others)
        require(proper and self.has_several == bool(others), "The notes on further targets are invalid.")
        self._told = [{**notes, "same": []}, *others]
        self.heads = [self.reader.read(told["head"]) for told in self._told]
        require(all(isinstance(head, Head) for head in self.heads), "The head of the forest is missing.")
        self._check_contract(contents.metadata, says_so=words.CONTRACT in needed)
        n_nodes = sum(head.n_nodes for head in self.heads)
        room = n_nodes * BYTES_PER_NODE
        message = (
            f"Its {n_nodes:,} nodes may take {room:,} bytes of memory; {limit:,} are allowed. Set max_bytes of load."
        )
        require(room <= limit, message)
        self._optional = {name: a for name, a in arrays.items() if name.startswith(f"{OPTIONAL}.")}
        self._arrays = {n: a for n, a in arrays.items() if not n.startswith("meta.") and n not in self._optional}
        self._targets: Arrays = {}
        if words.LEAF_TARGETS in needed:
            require(
                words.ESTIMATOR in needed and len(self.heads) == 1,
                "Only an estimator of one target can have leaf targets.",
            )
            require(self.heads[0].task is Task.REGRESSION, "Only regression has leaf targets.")
            self._targets, self._arrays = leaf_targets.take(self._arrays, mappable=self._is_plain)
        self._times: Arrays = {}
        if words.SURVIVAL in needed:
            require(
                words.ESTIMATOR in needed and len(self.heads) == 1 and self.heads[0].task is Task.REGRESSION,
                "Only an estimator whose leaves have one number can have times in its leaves.",
            )
            self._times, self._arrays = leaf_times.take(self._arrays, mappable=self._is_plain)
        self._calibration: tuple[Json, Arrays] | None = None
        says_so = words.CALIBRATION in needed
        require((words.CALIBRATION in notes) == says_so, f"{words.REQUIRES} and the notes disagree on a calibration.")
        if says_so:
            of_classes = len(self.heads) == 1 and self.heads[0].task is Task.CLASSIFICATION
            require(of_classes, "Only a classifier of one target can have a calibration.")
            own, self._arrays = calibration.take(self._arrays)
            self._calibration = notes[words.CALIBRATION], own
        self._errors: tuple[Json, Arrays] | None = None
        require(
            (words.ERRORS in notes) == (words.ERRORS in needed), f"{words.REQUIRES} and the notes disagree on errors."
        )
        if words.ERRORS in needed:
            require(len(self.heads) == 1, "Only an estimator of one target can have errors.")
            own, self._arrays = kept_errors.take(self._arrays)
            self._errors = notes[words.ERRORS], own
        self._shrinkage = _read_shrinkage(notes, self.heads)
        self._hashes = notes.get(OPTIONAL, {}).get(hashing.NOTE)

    def _check_contract(self, texts: dict[str, str], *, says_so: bool) -> None:
        """Refuse trees of an unknown contract version, or of several versions."""
        contract = self.heads[0].contract
        if contract > CONTRACT_VERSION:
            raise FormatError(
                f"Its trees were grown under version {contract} of the contract, but weald {version('weald')} knows "
                f"versions up to {CONTRACT_VERSION}. {words.advice(texts)}"
            )
        require(
            all(head.contract == contract for head in self.heads),
            "The forests of its targets have different contract versions.",
        )
        proper = says_so or contract == 1
        require(proper, f"Its trees need another contract version, but {words.REQUIRES} lacks {words.CONTRACT!r}.")

    def forests(self, *, mapped: bool) -> tuple[Forest, ...]:
        """Create the forest, or one for each target, and check the fingerprint."""
        make = partial(plain_arrays.unpack, mapped=mapped) if self._is_plain else unpack
        made = []
        for number, (head, told) in enumerate(zip(self.heads, self._told, strict=True)):
            arrays = multi_output.part_of(self._arrays, number, told["same"]) if number else self._first()
            forest = make(head, arrays).with_shrinkage(self._shrinkage)
            same = mapped or forest.fingerprint() == told["fingerprint"]
            require(same, "The fingerprint of the forest differs from that in the file.")
            made.append(forest)
        parts = (
            words.PARTS - {words.ZERO_VOTES} if mapped else words.PARTS
        )  # checking which trees vote would read the whole file
        differ = " ".join(sorted((words.words_of(made) ^ self._parts) & parts))
        require(not differ, f"{words.REQUIRES} and the trees do not agree on {differ}.")
        if not mapped:
            check_fewest_draws(made)
        if self._hashes is not None and not mapped:
            hashing.check(self._hashes, self._optional, made)
        return tuple(made)

    def put_leaf_targets(self, model: "TreeModel", *, mapped: bool) -> None:
        """Set the leaf targets of an estimator, if the file has them."""
        if self._targets:
            found = leaf_targets.unpack(self._targets, model.forest_, mappable=self._is_plain, mapped=mapped)
            model.__dict__["leaf_targets_"] = found

    def put_leaf_times(self, model: "TreeModel", *, mapped: bool) -> None:
        """Give a survival model the times of its leaves."""
        require(bool(self._times) == (model.task is Task.SURVIVAL), "The times of leaves do not fit the estimator.")
        if self._times:
            found = leaf_times.unpack(self._times, model.forest_, mappable=self._is_plain, mapped=mapped)
            model.__dict__["leaf_times_"], model.__dict__["unique_times_"] = found, found.time
            events = vars(model).get("event_times_")
            proper = isinstance(events, np.ndarray) and events.dtype == np.float64 and events.ndim == 1
            known = events if proper and events is not None else np.array([np.nan])
            require(bool(np.isin(known, found.time).all()), "The times with events are invalid.")

    def put_calibration(self, model: "TreeModel") -> None:
        """Set the calibration of an estimator, if the file has one. It is checked even if the file is mapped."""
        if self._calibration is not None:
            note, arrays = self._calibration
            found = calibration.unpack(note, arrays, self.heads[0].n_classes)
            model.__dict__["calibrator_"] = replace(found, voting=voting_of(model))

    def put_kept_errors(self, model: "TreeModel", *, mapped: bool) -> None:
        """Set the stored errors of an estimator, if the file has them."""
        if self._errors is not None:
            note, arrays = self._errors
            model.__dict__["kept_errors_"] = kept_errors.unpack(
                note, arrays, model.forest_, voting_of(model), mapped=mapped
            )

    def _first(self) -> Arrays:
        """Return the arrays of the first target. Arrays of other targets have their number as a prefix."""
        known = [f"{number}/" for number in range(1, len(self.heads))]
        first = {name: a for name, a in self._arrays.items() if "/" not in name}
        strange = [n for n in self._arrays if "/" in n and not n.startswith(tuple(known))]
        require(not strange, f"The file has unknown arrays: {', '.join(strange)}.")
        return first


def _read_shrinkage(notes: dict[str, Json], heads: Sequence[Head]) -> float:
    """Read lambda of hierarchical shrinkage; 0 if there is no note."""
    note = notes.get(words.SHRINKAGE, {LAMBDA: 0.0})
    proper = isinstance(note, dict) and note.keys() == {LAMBDA} and type(note[LAMBDA]) is float
    require(proper and 0.0 <= note[LAMBDA] < math.inf, "The note on shrinkage is invalid.")
    proper = not (note[LAMBDA] and any(head.is_bound for head in heads))
    require(proper, "Trees with monotonic constraints cannot be shrunk.")
    return float(note[LAMBDA])


def _half_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _read_names(written: Json, reader: Reader) -> dict[str, Json]:
    require(isinstance(written, dict), "Names and values must be a JSON object.")
    return {name: reader.read(value) for name, value in written.items()}


def _make(kind: type["TreeModel"], parameters: dict[str, Json]) -> "TreeModel":
    """Create an estimator with its parameters; parameters added since then have their defaults."""
    strange = parameters.keys() - _parameters_of(kind)
    require(not strange, f"{kind.__name__} has no parameter {min(strange, default=None)!r} in this version of weald.")
    model = kind(**parameters)
    try:
        check(model)
    except (ParameterError, TypeError, ValueError) as error:
        raise FormatError(f"A parameter is not allowed: {error}") from None
    return model


def _parameters_of(kind: type["TreeModel"]) -> frozenset[str]:
    return frozenset(kind().get_params(deep=False))


def _read_oob(model: "TreeModel", reader: Reader, written: Json) -> None:
    """Read the out-of-bag results; multi-output models have them among the fitted attributes."""
    if written is None or _has_several(model):
        return
    state = reader.read_record(written, "OutOfBag")
    proper = state.keys() == OOB_STATE.keys() and all(fits(state[name], hint) for name, hint in OOB_STATE.items())
    require(proper, "The out-of-bag results are invalid.")
    forest, n_rows = model.forest_, len(state["counts"])
    shapes = {
        "counts": (n_rows,),
        "mask": (n_rows,),
        "_averages": (n_rows, *([forest.n_classes] if forest.task is Task.CLASSIFICATION else [])),
    }
    rows = all(state[name].shape == shape for name, shape in shapes.items())
    trees = state["n_trees"] == forest.n_trees == len(state["curve"].error) == len(state["curve"].share)
    require(rows and trees, "The out-of-bag results do not belong to this forest.")
    found = OutOfBag.__new__(OutOfBag)
    vars(found).update(state, _truth=None, _weight=None, _bags=None)
    model.oob_ = found
    if forest.task is Task.CLASSIFICATION:
        model.oob_decision_function_ = found.probabilities
    else:
        model.oob_prediction_ = found.predictions


def _check_sets(forest: Forest, schema: Schema) -> None:
    """Check that only categorical features are split by sets, and that these contain categories of their features."""
    by_set = forest.feature[forest.flags & CATEGORICAL != 0]
    require(
        set(np.unique(by_set).tolist()) <= schema.categorical, "A numerical feature is split by sets of categories."
    )
    n_labels = np.array([0 if c is None else len(c.labels) for c in schema.categories])
    most = np.repeat(n_labels[by_set], np.diff(forest.category_start))
    require(np.all(forest.category_sets < most), "A set contains an unknown category.")


def _check_model(model: "TreeModel", heads: Sequence[Head]) -> None:
    """Check that the parts of a model belong together."""
    growth, schema, head = model.growth_, model.schema_, heads[0]
    n = kernel_parts.check_parts(model, head) if kernel_parts.has_kernel(model) else head.n_features
    needed = {
        "n_features_in_",
        "n_outputs_",
        "seed_",
        *(("classes_", "n_classes_") if head.task is Task.CLASSIFICATION else ()),
    }
    if not n:  # the samples are not rows of a table
        needed.remove("n_features_in_")
    missing = needed - vars(model).keys()
    require(not missing, f"Attributes are missing: {', '.join(sorted(missing))}.")
    same = all(h.task is model.task.of_forest and h.n_features == head.n_features for h in heads)
    require(same, "The forest does not fit the task of the estimator.")
    require(model.n_outputs_ == len(heads), "The number of targets is inconsistent.")
    require(
        getattr(model, "n_features_in_", 0) == n == len(schema.categories), "The number of features is inconsistent."
    )
    names = getattr(model, "feature_names_in_", None)
    named = names is None or (names.shape == (n,) and all(isinstance(name, str) for name in names.tolist()))
    require(named and (schema.names is None or len(schema.names) == n), "The feature names are invalid.")
    require(
        all(c is None or c.labels.ndim == 1 for c in schema.categories),
        "The categories must be one-dimensional arrays.",
    )
    proper = all(0 <= f < n and kind in TIMES and schema.categories[f] is None for f, kind in schema.times.items())
    require(proper, "Dates and durations must be numerical columns.")
    if model.task is Task.CLASSIFICATION:
        classes, numbers = (
            (model.classes_, model.n_classes_) if len(heads) > 1 else ([model.classes_], [model.n_classes_])
        )
        proper = all(isinstance(of_targets, list) for of_targets in (classes, numbers))
        proper = proper and all(type(number) is int for number in numbers)
        proper = proper and numbers == [h.n_classes for h in heads] and len(classes) == len(heads)
        proper = proper and all(
            isinstance(c, np.ndarray) and c.shape == (n,) for c, n in zip(classes, numbers, strict=True)
        )
        require(proper, "The number of classes is inconsistent.")
    for lengths in (growth.monotonic, growth.feature_weights):
        require(len(lengths) in (0, n), "The growth parameters have a wrong number of features.")
    require(not (isinstance(model, SingleTree) and head.n_trees != 1), "A decision tree must have exactly one tree.")
