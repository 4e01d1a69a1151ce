"""The calibration of class probabilities as a note and arrays of a file (word `calibration`), and back.

pack      Calibrator -> note and arrays
take      arrays of a file -> the arrays of the calibration, and all others
unpack    note and arrays -> Calibrator, with every number checked
"""

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.estimators.calibration.calibrator import Calibrator, Map
from weald.estimators.calibration.isotonic import Isotonic
from weald.estimators.calibration.logistic import Beta, Sigmoid
from weald.estimators.calibration.venn_abers import VennAbers
from weald.io.container import Json, require
from weald.io.streams import Arrays

PREFIX = "calibration."
COEFFICIENTS, LENGTH, THRESHOLD = "calibration.coefficients", "calibration.length", "calibration.threshold"
VALUE, LOW, HIGH = "calibration.value", "calibration.low", "calibration.high"
IN_FILES = {"venn-abers": "venn_abers"}  # methods that have another name in files
N_COEFFICIENTS = {"sigmoid": 2, "beta": 3}
STEPS = {"isotonic": (THRESHOLD, VALUE), "venn_abers": (THRESHOLD, LOW, HIGH)}


def pack(calibrator: Calibrator) -> tuple[Json, Arrays]:
    """Write a calibration."""
    method = IN_FILES.get(calibrator.method, calibrator.method)
    note = {"method": method, "n_maps": len(calibrator.maps)}
    of_maps = [vars(function) for function in calibrator.maps]
    if not of_maps:
        return note, {}
    if method in N_COEFFICIENTS:
        return note, {COEFFICIENTS: np.array([of_map["coefficients"] for of_map in of_maps])}
    arrays: Arrays = {LENGTH: np.array([len(of_map["threshold"]) for of_map in of_maps], dtype=np.uint32)}
    for name in STEPS[method]:
        arrays[name] = np.concatenate([of_map[name.removeprefix(PREFIX)] for of_map in of_maps])
    return note, arrays


def take(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Divide the arrays of a file into those of the calibration and the others."""
    own = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    return own, {name: array for name, array in arrays.items() if name not in own}


def unpack(note: Json, arrays: Arrays, n_classes: int) -> Calibrator:
    """Restore a calibration for a number of classes."""
    require(isinstance(note, dict) and note.keys() == {"method", "n_maps"}, "The note on the calibration is invalid.")
    methods = {*N_COEFFICIENTS, *STEPS}
    method, n_maps = note["method"], note["n_maps"]
    require(isinstance(method, str) and method in methods, "The method of the calibration is unknown.")
    expected = n_classes if n_classes > 2 else n_classes - 1
    require(type(n_maps) is int and n_maps == expected, "The number of calibration maps is inconsistent.")
    names = {COEFFICIENTS} if method in N_COEFFICIENTS else {LENGTH, *STEPS[method]}
    require(arrays.keys() == (names if n_maps else set()), "The arrays of the calibration are not those of its method.")
    maps: list[Map] = []
    if n_maps:
        maps = _logistic_maps(method, arrays, n_maps) if method in N_COEFFICIENTS else _steps(method, arrays, n_maps)
    given = {there: name for name, there in IN_FILES.items()}
    return Calibrator(given.get(method, method), tuple(maps))


def _logistic_maps(method: str, arrays: Arrays, n_maps: int) -> list[Map]:
    coefficients = arrays[COEFFICIENTS]
    proper = coefficients.dtype == np.float64 and coefficients.shape == (n_maps, N_COEFFICIENTS[method])
    require(proper and np.isfinite(coefficients).all(), "The coefficients of the calibration are invalid.")
    if method == "sigmoid":
        return [Sigmoid(row) for row in coefficients]
    require((coefficients[:, :2] >= 0).all(), "A coefficient of the beta calibration is negative.")
    return [Beta(row) for row in coefficients]


def _steps(method: str, arrays: Arrays, n_maps: int) -> list[Map]:
    length = _lengths(arrays[LENGTH], n_maps)
    parts = [arrays[name] for name in STEPS[method]]
    require(
        all(part.dtype == np.float64 and part.shape == (length.sum(),) for part in parts),
        "The thresholds of the calibration have a wrong type or length.",
    )
    ends = np.cumsum(length)[:-1]
    maps: list[Map] = []
    for threshold, *values in zip(*(np.split(part, ends) for part in parts), strict=True):
        require(_are_probabilities(threshold) and (np.diff(threshold) > 0).all(), "Thresholds do not ascend.")
        require(
            all(_are_probabilities(value) and (np.diff(value) >= 0).all() for value in values),
            "Calibrated probabilities are not from 0 to 1, or fall.",
        )
        if method == "isotonic":
            maps.append(Isotonic(threshold, values[0]))
        else:
            require((values[0] <= values[1]).all(), "A lower probability is above the upper one.")
            require(values[0].max() < 1 or values[1].min() > 0, "A calibrated probability is not defined.")
            maps.append(VennAbers(threshold, values[0], values[1]))
    return maps


def _lengths(length: IntArray, n_maps: int) -> IntArray:
    require(length.dtype.kind in "iu" and length.shape == (n_maps,), "The lengths of the calibration are invalid.")
    require((length > 0).all() and (length < 2**32).all(), "A calibration map has no thresholds.")
    return length.astype(np.int64)


def _are_probabilities(values: FloatArray) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())
