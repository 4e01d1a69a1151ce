"""Kernels: from the user's parameters to a comparison of samples.

KERNELS, DISTANCES    names of kernels and distances
Kernel                a kernel that can compare samples with prototypes
resolve_kernel        from parameters and training samples to a Kernel
choose_prototypes     the training samples that all samples are compared with
choose_nearest        the pairs of prototypes

A split on a kernel column is a split on the argument of the kernel: the distance from the prototype, or the product
with it. All Gaussians of one distance offer the same splits, and so do all odd powers of the product. Three of four
columns compare two prototypes: which of them is the sample more similar to?
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weald.data.arguments import is_whole
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.draws import draw_many
from weald.engines.interface import Engine
from weald.engines.reference import kernels
from weald.engines.reference.definition import below
from weald.engines.reference.kernels import KernelRule
from weald.errors import DataError, DataTypeError, warn
from weald.estimators.kernel.samples import AnySamples, Curves, Grid, Things, Vectors

KERNELS = ("gaussian", "poly", "poly_inhomogeneous", "tanh", "precomputed", "auto")
DISTANCES = ("l2", "derivative", "dtw", "correlation")
MOST_PROTOTYPES = 500  # maximum for n_prototypes="auto"
PURPOSE_PROTOTYPES = 33  # purpose of the draws that choose prototypes
PAIRS = 500  # maximum number of samples for gamma="median"
CHECKED = 40  # prototypes used to check a user's kernel

Function = Callable[[Any, Any], float]
Prepared = kernels.Samples | tuple[Any, ...] | IntArray  # samples for the engine, for a user's function, or columns


@dataclass(frozen=True)
class Kernel:
    """A kernel that can compare samples with prototypes."""

    name: str
    rule: KernelRule  # for a user's kernel, only its shape and gamma are used
    distance: str = ""  # empty if there is none
    function: Function | None = None  # the user's function
    grid: Grid | None = None  # common times for curves of different lengths
    is_precomputed: bool = False

    def prepare(self, samples: AnySamples) -> Prepared:
        """Convert samples to the form in which they are compared."""
        if self.function is not None:
            return tuple(samples.matrix) if isinstance(samples, Vectors) else tuple(samples.each)
        if isinstance(samples, Curves) and self.grid is None:
            return samples.packed()
        if isinstance(samples, Curves):
            assert self.grid is not None  # noqa: S101  (for the type checker)
            return kernels.Samples.of_rows(transform(self.grid.read(samples), self.distance))
        if isinstance(samples, Things):
            raise DataTypeError(
                f"The kernel {self.name!r} compares numbers. Give your own kernel or distance function."
            )
        return kernels.Samples.of_rows(transform(samples.matrix, self.distance))

    def columns(self, engine: Engine, samples: Prepared, prototypes: Prepared, n_threads: int) -> FloatArray:
        """Values of the kernel (prototypes x samples)."""
        if isinstance(samples, kernels.Samples) and isinstance(prototypes, kernels.Samples):
            columns = engine.kernel_columns(samples, prototypes, self.rule, n_threads, None)
            return _check_values(columns, self.name)
        assert self.function is not None  # noqa: S101  (for the type checker: all others are numbers)
        values = _call(self.function, samples, prototypes)
        return values if self.rule.shape == "plain" else kernels.shape_of(values * values, self.rule)

    def sums(self, engine: Engine, samples: Prepared, prototypes: Prepared, n_threads: int) -> FloatArray:
        """The arguments of the kernel: squared distances, or products (prototypes x samples)."""
        plain = replace(self, rule=replace(self.rule, shape="plain")).columns(engine, samples, prototypes, n_threads)
        return plain * plain if self.function is not None and self.rule.shape == "gaussian" else plain

    def apart(self, values: FloatArray, candidates: IntArray) -> FloatArray:
        """Compute the distances between prototypes and candidates among them (prototypes x candidates).

        `values` (candidates x prototypes) are arguments of a Gaussian kernel, which are squared distances. For other
        kernels they are K, and the squared distance from b is K(a, a) + K(b, b) - 2·K(a, b), where K(a, a) is omitted.
        """
        if self.rule.shape == "gaussian":
            return values.T
        own = values[np.arange(len(candidates)), candidates]
        distances: FloatArray = own - 2.0 * values.T
        return distances

    def contrast(self, sums: FloatArray, pairs: IntArray) -> FloatArray:
        """Compute columns of pairs (columns x samples): the kernel with the first minus the kernel with the second.

        For the Gaussian kernel it is the difference of exponents, the logarithm of K(a, x) / K(b, x), so that gamma
        does not affect splits here either.
        """
        a, b = pairs.T
        if self.rule.shape == "gaussian":
            apart: FloatArray = (sums[b] - sums[a]) * self.rule.gamma
            return apart
        return _check_values(kernels.shape_of(sums[a], self.rule) - kernels.shape_of(sums[b], self.rule), self.name)


def transform(matrix: FloatArray, distance: str) -> FloatArray:
    """Transform rows so that their Euclidean distance is the requested distance.

    "derivative": differences of neighbors. "correlation": mean 0 and length 1, so that the squared distance is
    2·(1 - correlation); a constant curve becomes 0.
    """
    if distance == "derivative":
        return np.diff(matrix, axis=1) if matrix.shape[1] > 1 else np.zeros_like(matrix)
    if distance != "correlation":
        return matrix
    centered = matrix - (_sum_places(matrix) / matrix.shape[1])[:, np.newaxis]
    length = np.sqrt(_sum_places(centered * centered))
    scale = np.abs(matrix).max(axis=1) * matrix.shape[1] * 2.0**-52  # a constant curve differs from 0 by rounding only
    level = length <= scale
    normal: FloatArray = np.where(level[:, np.newaxis], 0.0, centered / np.where(level, 1.0, length)[:, np.newaxis])
    return normal


def _sum_places(matrix: FloatArray) -> FloatArray:
    """Sum each row from left to right: `sum` would use another order on another processor."""
    sums = np.zeros(len(matrix))
    for column in matrix.T:
        sums += column
    return sums


# -------------------------------------------------------------------------------------------------- a user's kernel


def _call(function: Function, samples: Any, prototypes: Any) -> FloatArray:
    """Call a user's function for all pairs (prototypes x samples)."""
    values = np.empty((len(prototypes), len(samples)))
    for p, prototype in enumerate(prototypes):
        for i, sample in enumerate(samples):
            values[p, i] = _number(function(sample, prototype), function)
    return values


def _number(value: Any, function: Function) -> float:
    """Raise an error unless the value is one finite number."""
    if np.ndim(value) != 0:
        raise DataError(
            f"{_called(function)} returned an array of shape {np.shape(value)} for two samples instead of a number; "
            'for a whole matrix, use kernel="precomputed".'
        )
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataTypeError(
            f"{_called(function)} returned {value!r} for two samples. It must return one number."
        ) from error
    if not math.isfinite(number):
        raise DataError(f"{_called(function)} returned {number} for two samples. It must return a finite number.")
    return number


def _called(function: Function) -> str:
    return f"The function {getattr(function, '__name__', type(function).__name__)!r}"


def check_function(kernel: Kernel, samples: Prepared) -> None:
    """Refuse a user's kernel that is not symmetric, or a distance that is negative, on some samples."""
    function = kernel.function
    if function is None or isinstance(samples, kernels.Samples):
        return
    some = samples[:CHECKED]
    values = _call(function, some, some)
    if kernel.rule.shape == "gaussian" and (values < 0).any():
        raise DataError(
            f"{_called(function)} returned a negative distance, {values.min():g}. Distances are at least 0."
        )
    refuse_asymmetric(values, _called(function))


def refuse_asymmetric(values: FloatArray, what: str) -> None:
    """Refuse a matrix that is not symmetric, up to rounding."""
    apart = np.abs(values - values.T)
    if (apart > 1e-8 * max(np.abs(values).max(initial=0.0), 1e-300)).any():
        i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
        raise DataError(
            f"{what} is not symmetric: for samples {i} and {j} it is {values[i, j]:g}, in reverse {values[j, i]:g}. "
            "A kernel must not depend on the order; (K(a, b) + K(b, a)) / 2 does not."
        )


def _check_values(columns: FloatArray, name: str) -> FloatArray:
    if not np.isfinite(columns).all():
        raise DataError(
            f"The kernel {name!r} gives values that are not finite: the numbers in X are too large for it. Scale X, or "
            "give a smaller gamma."
        )
    return columns


# --------------------------------------------------------------------------------------------------------- resolve


def resolve_kernel(given: Mapping[str, Any], samples: AnySamples, engine: Engine, n_threads: int) -> Kernel:
    """Turn parameters into a kernel. `given` has kernel, distance, gamma, degree, coef0 and band."""
    kernel, distance = given["kernel"], given["distance"]
    if kernel == "precomputed":
        return Kernel("precomputed", KernelRule("product", "plain"), is_precomputed=True)
    if callable(kernel):
        return Kernel(getattr(kernel, "__name__", "kernel"), KernelRule("product", "plain"), function=kernel)
    found = _by_name(given)
    if kernel == "gaussian" and callable(distance):
        found = replace(found, function=distance, distance=getattr(distance, "__name__", "distance"))
    if isinstance(samples, Curves) and not (kernel == "gaussian" and distance == "dtw" and samples.times is None):
        found = replace(found, grid=Grid.of(samples))
    gamma = find_gamma(given["gamma"], found, samples, engine, n_threads)
    if kernel == "tanh":
        warn(
            "tanh is not a kernel in the strict sense: it is not positive semi-definite for all samples. Trees do not "
            "need that, but weald.check_kernel reports it. Its splits are those of poly with degree=1."
        )
    return replace(found, rule=replace(found.rule, gamma=gamma))


def _by_name(given: Mapping[str, Any]) -> Kernel:
    kernel, distance = given["kernel"], given["distance"]
    if kernel == "gaussian":
        band = 1.0 if given["band"] is None else float(given["band"])
        pairing = "warping" if distance == "dtw" else "distance"
        return Kernel(
            "gaussian", KernelRule(pairing, "gaussian", band=band), distance="l2" if callable(distance) else distance
        )
    if kernel == "tanh":
        return Kernel("tanh", KernelRule("product", "tanh", shift=float(given["coef0"])))
    shift = 1.0 if kernel == "poly_inhomogeneous" else 0.0
    return Kernel(kernel, KernelRule("product", "power", shift=shift, degree=int(given["degree"])))


def find_gamma(gamma: Any, kernel: Kernel, samples: AnySamples, engine: Engine, n_threads: int) -> float:
    """Resolve gamma: a number, 1 / (variance of all numbers x number of columns), or 1 / median over pairs."""
    if not isinstance(gamma, str):
        return float(gamma)
    distinct = samples.take(distinct_rows(samples))
    if gamma == "scale":
        prepared = kernel.prepare(distinct)
        if not isinstance(prepared, kernels.Samples):
            raise DataError('gamma="scale" needs numeric samples. Give gamma="median" or a number.')
        values = prepared.values.tolist()
        mean = math.fsum(values) / len(values)  # fsum: exact, so the order of the rows does not matter
        size = math.fsum((x - mean) * (x - mean) for x in values) / len(distinct)
    else:
        some = kernel.prepare(distinct.take(np.arange(min(PAIRS, len(distinct)))))
        size = _median_size(kernel, some, engine, n_threads)
    return 1.0 / size if size > 0 and math.isfinite(1.0 / size) else 1.0


def _median_size(kernel: Kernel, some: Prepared, engine: Engine, n_threads: int) -> float:
    """Find the median squared distance of pairs, or the median product of a sample with itself."""
    sums = kernel.sums(engine, some, some, n_threads)
    if kernel.rule.pairing == "product" and kernel.function is None:
        sizes = np.abs(np.diag(sums))
    else:
        sizes = sums[np.triu_indices(len(sums), 1)]
    positive = np.sort(sizes[sizes > 0])
    return float(positive[len(positive) // 2]) if len(positive) else 0.0


# ------------------------------------------------------------------------------------------------------ prototypes


def distinct_rows(samples: AnySamples) -> IntArray:
    """Find the distinct samples, by hash; without hashes, all in their order."""
    hashes = samples.hashes()
    return np.arange(len(samples)) if hashes is None else np.unique(hashes, return_index=True)[1]


def choose_prototypes(samples: AnySamples, n_prototypes: Any, seed: int) -> IntArray:
    """Choose prototypes among the distinct samples: all, or those with the lowest draws, ordered by hash.

    The address of a draw is the hash of the sample, or its position if it has none.
    """
    rows = distinct_rows(samples)
    n = count_prototypes(n_prototypes, len(rows))
    if n == len(rows):
        return rows
    hashes = samples.hashes()
    draws = draw_many(seed, rows if hashes is None else hashes[rows], 0, PURPOSE_PROTOTYPES, 0)
    chosen: IntArray = rows[np.sort(np.argsort(draws, kind="stable")[:n])]
    return chosen


def choose_opposites(addresses: IntArray, targets: Array, seed: int) -> IntArray | None:
    """Draw a partner with another target for each prototype (any other if all targets are equal). None: too few.

    Prototypes are sorted by target; the draw is among those after the last of the same target, wrapping around at the
    end.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.kernel.kernels import choose_opposites
    >>> targets = np.array([0, 1, 1, 0, 2])
    >>> bool((targets[choose_opposites(np.arange(5), targets, seed=7)] != targets).all())
    True
    """
    n = len(targets)
    if n < 2:
        return None
    if (targets == targets[0]).all():
        targets = np.arange(n)
    order = np.argsort(targets, kind="stable")
    ranked = targets[order]
    begin, end = (np.searchsorted(ranked, targets, side=side) for side in ("left", "right"))
    draws = draw_many(seed, addresses, 0, PURPOSE_PROTOTYPES, 1).tolist()
    step = [below(bits, n - int(own)) for bits, own in zip(draws, end - begin, strict=True)]
    opposites: IntArray = order[(end + np.array(step)) % n]
    return opposites


def choose_candidates(addresses: IntArray, seed: int) -> IntArray:
    """Choose the candidates for pairs: all prototypes, or if there are many, those with the lowest draws."""
    n = len(addresses)
    if n <= MOST_PROTOTYPES:
        return np.arange(n)
    draws = draw_many(seed, addresses, 0, PURPOSE_PROTOTYPES, 2)
    return np.sort(np.argsort(draws, kind="stable")[:MOST_PROTOTYPES])


def choose_nearest(apart: FloatArray, candidates: IntArray, targets: Array, otherwise: IntArray, gap: int) -> IntArray:
    """Find for each prototype the nearest candidate of another target; `otherwise` if there is none.

    In the order of targets, at least `gap` prototypes are between the two, if possible, because pairs with nearly equal
    targets carry no information.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.kernel.kernels import choose_nearest
    >>> places = np.array([0.0, 1.0, 2.0, 4.0])
    >>> apart = np.abs(places[:, None] - places)
    >>> choose_nearest(apart, np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), gap=0)
    array([2, 2, 1, 1])
    """
    ranked = np.sort(targets)
    begin, end = (np.searchsorted(ranked, targets, side=side) for side in ("left", "right"))
    between = np.maximum(begin[candidates] - end[:, np.newaxis], begin[:, np.newaxis] - end[candidates])
    is_far = between >= gap
    is_far[~is_far.any(axis=1)] = between[~is_far.any(axis=1)] >= 0
    nearest = candidates[np.where(is_far, apart, np.inf).argmin(axis=1)]
    opposites: IntArray = np.where(is_far.any(axis=1), nearest, otherwise)
    return opposites


def targets_of(samples: AnySamples, target: Array) -> Array:
    """Assign each sample the smallest target of its copies, so that the order of rows does not matter."""
    hashes = samples.hashes()
    if hashes is None:
        return target
    _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
    least = target[first].copy()
    np.minimum.at(least, same, target)
    return least[same]


def count_prototypes(n_prototypes: Any, n_samples: int) -> int:
    """Return the number of prototypes for a number of distinct samples."""
    if n_prototypes == "all":
        return n_samples
    if n_prototypes == "auto":
        return min(n_samples, MOST_PROTOTYPES)
    if is_whole(n_prototypes):
        return min(n_samples, int(n_prototypes))
    return max(1, math.floor(float(n_prototypes) * n_samples))


def read_precomputed(matrix: FloatArray) -> FloatArray:
    """Check the kernel matrix of a fit, which compares all training samples with one another."""
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        raise DataError(
            f'kernel="precomputed" needs the kernel matrix of all training samples, which is square, but the '
            f"shape of X is {matrix.shape}. Precomputed metric requires shape (n_samples, n_samples)."
        )
    refuse_asymmetric(matrix, "The precomputed kernel")
    return matrix
