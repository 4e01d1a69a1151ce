"""exp, ln and the logistic function on arrays.

They use only + - x / and exact scaling by powers of two, in a fixed order: the same bits on every machine. C libraries
differ in the last bits. The error is at most two units in the last place.
"""

import numpy as np

from weald.data.types import FloatArray

LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # ln 2 in two parts; the first has 32 trailing zero bits
ROOT_HALF = 0.7071067811865476
TERMS_OF_EXP = 14  # terms of the series of exp for |x| <= ln(2) / 2
TERMS_OF_LN = 12  # terms of the series of ln in z * z
LARGEST = 708.0  # largest |x|: exp(x) is finite, and exp(-x) is not subnormal


def exp(x: FloatArray) -> FloatArray:
    """Compute the exponential function; x is clipped to -708 <= x <= 708."""
    x = np.clip(x, -LARGEST, LARGEST)
    power = np.rint(x * 1.4426950408889634)
    rest = (x - power * LN2_HIGH) - power * LN2_LOW
    series = np.ones_like(rest)
    for n in range(TERMS_OF_EXP, 0, -1):
        series = 1.0 + rest / n * series
    found: FloatArray = np.ldexp(series, power.astype(np.int32))
    return found


def ln(x: FloatArray) -> FloatArray:
    """Compute the natural logarithm of positive numbers: x = m * 2^k, z = (m - 1) / (m + 1), ln m = 2 atanh z."""
    part, power = np.frexp(x)
    is_low = part < ROOT_HALF
    part = np.where(is_low, 2.0 * part, part)
    k = np.where(is_low, power - 1, power).astype(np.float64)
    z = (part - 1.0) / (part + 1.0)
    square = z * z
    series = np.full_like(z, 1.0 / (2 * TERMS_OF_LN - 1))
    for n in range(TERMS_OF_LN - 1, 0, -1):
        series = 1.0 / (2 * n - 1) + square * series
    found: FloatArray = k * LN2_HIGH + (k * LN2_LOW + 2.0 * z * series)
    return found


def logistic(z: FloatArray) -> FloatArray:
    """Compute 1 / (1 + exp(-z))."""
    found: FloatArray = 1.0 / (1.0 + exp(-z))
    return found


def log_one_plus_exp(z: FloatArray) -> FloatArray:
    """Compute ln(1 + exp(z)) without overflow."""
    found: FloatArray = np.maximum(z, 0.0) + ln(1.0 + exp(-np.abs(z)))
    return found


def add_up(values: FloatArray) -> float:
    """Sum numbers from first to last. Unlike in `np.sum`, the order is the same on every machine."""
    return float(np.cumsum(values)[-1])
