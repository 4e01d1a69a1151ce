"""Checks of class weights: some row must have weight, and integers must be able to represent the ratios.

    check_class_weights    an error if no row has weight, a warning if a ratio is too large

In the statistics of trees the largest class weight is 2^20, and the others are rounded to whole numbers.
"""

import numpy as np
import numpy.typing as npt

from weald.data.table import Table
from weald.data.targets import Classes
from weald.data.types import FloatArray, IntArray
from weald.errors import ParameterError, shown, warn

BITS = 20  # the largest class weight is 2^20
WEIGHTS = {"none": "", "given": "class_weight", "table": 'class_weight="balanced"', "bag": 'class_weight="balanced"'}


def check_class_weights(kind: str, given: tuple[float, ...], table: Table, classes: Classes, *, rounded: bool) -> None:
    """Refuse weights that are all 0; warn if weights are rounded up (`rounded`: weights become 20-bit integers)."""
    if kind == "none" or (kind != "given" and table.size <= 2**BITS):
        return
    present = _classes_present(table, has_zeros=0.0 in given)
    exponent, mantissa = _multiply(kind, given, table, classes, present)
    order = np.lexsort((mantissa, exponent))
    order = order[mantissa[order] > 0]
    if not len(order):
        raise ParameterError(
            "class_weight is 0 for every class in y, so no rows are left. Give at least one of these classes a "
            "positive weight."
        )
    least, most = int(order[0]), int(order[-1])
    ratio = float(np.ldexp(mantissa[least] / mantissa[most], exponent[least] - exponent[most]))
    if rounded and ratio < 2.0**-BITS:
        names = [_name(joint, classes, present) for joint in (least, most)]
        warn(
            f"{WEIGHTS[kind]} weighs the class {names[0]} less than 2**-{BITS} (about 1e-6) times as much as "
            f"{names[1]}. Such weights are rounded up to 2**-{BITS} of the largest. Give weights that differ less, or "
            "a weight of 0 to leave the class out."
        )


def _classes_present(table: Table, *, has_zeros: bool) -> IntArray:
    """List the classes that occur in the rows: a row for each class or joint target, a column for each target."""
    if table.targets is not None:
        return table.targets.values.astype(np.int64)
    if has_zeros:
        return np.unique(table.target).astype(np.int64)[:, np.newaxis]
    return np.arange(table.n_classes)[:, np.newaxis]


def _multiply(
    kind: str, given: tuple[float, ...], table: Table, classes: Classes, present: IntArray
) -> tuple[IntArray, FloatArray]:
    """Multiply the weights of all targets, as exponents and mantissas: products may overflow doubles."""
    exponent, mantissa = np.zeros(len(present), dtype=np.int64), np.ones(len(present))
    begin = 0
    for o, of_target in enumerate(classes if isinstance(classes, list) else [classes]):
        end = begin + len(of_target)
        weights = np.array(given[begin:end]) if kind == "given" else _balance(table, o, len(of_target))
        factor, power = np.frexp(weights[present[:, o]])
        mantissa, carried = np.frexp(mantissa * factor)
        exponent, begin = exponent + power + carried, end
    return exponent, mantissa


def _balance(table: Table, target: int, n_classes: int) -> FloatArray:
    """Return the balanced weights of the classes of a target; classes without rows have weight 0."""
    numbers: npt.NDArray[np.int64] = table.target.astype(np.int64)
    if table.targets is not None:
        numbers = table.targets.values[numbers, target].astype(np.int64)
    counts = np.bincount(numbers, weights=table.weight, minlength=n_classes).astype(np.float64)
    weights: FloatArray = np.divide(counts.sum(), counts, out=np.zeros(n_classes), where=counts > 0)
    return weights


def _name(joint: int, classes: Classes, present: IntArray) -> str:
    """Name a class, or for multi-output the combination of classes."""
    if not isinstance(classes, list):
        return shown(classes.tolist()[present[joint, 0]])
    labels = (of_target.tolist()[k] for of_target, k in zip(classes, present[joint], strict=True))
    return f"({', '.join(shown(label) for label in labels)})"
