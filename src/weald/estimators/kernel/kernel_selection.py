"""Choosing a kernel by out-of-bag error, over a fixed grid.

GRID            the kernels to try, best guess first
choose_kernel   fit a forest for each, and choose the one with the lowest out-of-bag error
Choice          the kernels that were tried, the chosen one, and the reason
check_matrix    whether a matrix is a kernel: symmetric, without negative eigenvalues

γ, odd powers and tanh are not in the grid, since other kernels of the grid allow the same splits.
"""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from weald.data.types import FloatArray
from weald.errors import ParameterError

Model = TypeVar("Model")

KernelParameters: TypeAlias = dict[str, Any]  # parameters of a kernel

GRID: tuple[KernelParameters, ...] = (
    {"kernel": "gaussian", "distance": "l2"},
    {"kernel": "gaussian", "distance": "derivative"},
    {"kernel": "gaussian", "distance": "correlation"},
    {"kernel": "gaussian", "distance": "dtw"},
    {"kernel": "poly", "degree": 1},
    {"kernel": "poly", "degree": 2},
)
MOST_STEPS = 2e10  # limit for steps of warping, about ten seconds; beyond it "dtw" is not tried


@dataclass(frozen=True)
class Choice:
    """The result of `kernel="auto"`: the kernels that were tried, and the chosen one.

    Attributes
    ----------
    words : dict
        The chosen parameters.
    tried : list of (dict, float)
        Each kernel of the grid and its out-of-bag error, in the order of the grid.
    left_out : list of str
        Kernels that were not tried, with reasons.
    reason : str
        The reason for the choice.
    """

    words: KernelParameters
    tried: list[tuple[KernelParameters, float]]
    left_out: list[str]
    reason: str

    def __str__(self) -> str:
        lines = [f"{error:10.5g}  {describe(words)}" for words, error in self.tried]
        return "\n".join(["out-of-bag error", *lines, *self.left_out, textwrap.fill(self.reason, 88)])


def describe(words: KernelParameters) -> str:
    """Return a short description of a kernel."""
    if words["kernel"] == "gaussian":
        return f"gaussian of {words['distance']}"
    return f"{words['kernel']} of degree {words['degree']}"


def choose_kernel(
    fit: Callable[[KernelParameters], tuple[Model, float]], n_steps: float, n_rows: float
) -> tuple[Model, Choice]:
    """Choose the kernel with the lowest out-of-bag error, ties to the first. `fit` returns a forest and its error.

    `n_steps` is the number of warping steps, `n_rows` the number of rows that the error is computed on.
    """
    best: Model | None = None
    tried: list[tuple[KernelParameters, float]] = []
    left_out = []
    least = math.inf
    for words in GRID:
        if words.get("distance") == "dtw" and n_steps > MOST_STEPS:
            left_out.append(f"not tried: {describe(words)}, which would take {n_steps:.1g} warping steps")
            continue
        model, error = fit(words)
        tried.append((words, error))
        if best is None or error < least:
            best, least = model, error
    if best is None:  # the grid is never empty
        raise ParameterError("There is no kernel to choose from. Name a kernel.")
    return best, _explain(tried, left_out, n_rows)


def _explain(tried: list[tuple[KernelParameters, float]], left_out: list[str], n_rows: float) -> Choice:
    """Explain why the first kernel with the lowest error was chosen, and how certain that is."""
    errors = [error for _, error in tried]
    chosen = int(np.argmin(errors))
    words, least = tried[chosen]
    others = [(error, describe(other)) for i, (other, error) in enumerate(tried) if i != chosen]
    reason = f"{describe(words)} has the lowest out-of-bag error, {least:.4g} on {n_rows:.0f} rows"
    if others:
        error, name = min(others)
        reason += f"; next is {name} with {error:.4g}"
        reason += "." if error > least else ", which is equal: the first kernel of the grid is chosen."
    return Choice(words, tried, left_out, reason)


# --------------------------------------------------------------------------------------------------------------- check


@dataclass(frozen=True)
class KernelReport:
    """Whether a function is a kernel in the strict sense on some samples: symmetric and positive semi-definite.

    Attributes
    ----------
    is_kernel : bool
        Whether both hold, up to rounding.
    asymmetry : float
        The largest absolute value of K(a, b) - K(b, a).
    smallest_eigenvalue, largest_eigenvalue : float
        Extreme eigenvalues of the kernel matrix of the samples.
    n_samples : int
        Number of samples that were checked.
    reason : str
        The result as text.
    """

    is_kernel: bool
    asymmetry: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    n_samples: int
    reason: str

    def __str__(self) -> str:
        return self.reason


def check_matrix(K: FloatArray) -> KernelReport:
    """Check the kernel matrix of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.kernel.kernel_selection import check_matrix
    >>> print(check_matrix(np.array([[1.0, 0.5], [0.5, 1.0]])))
    A kernel on these 2 samples: symmetric, and the smallest eigenvalue is 0.5, not below 0.
    >>> check_matrix(np.array([[1.0, 2.0], [2.0, 1.0]])).is_kernel
    False
    """
    n = len(K)
    asymmetry = float(np.abs(K - K.T).max(initial=0.0))
    values = np.linalg.eigvalsh((K + K.T) / 2)
    smallest, largest = float(values[0]), float(values[-1])
    rounding = n * float(np.abs(K).max()) * 2.0**-50
    if asymmetry > 1e-8 * float(np.abs(K).max()):
        reason = f"Not a kernel: not symmetric, K(a, b) and K(b, a) differ by {asymmetry:.3g}."
        return KernelReport(False, asymmetry, smallest, largest, n, reason)
    if smallest < -rounding:
        reason = (
            f"Not a kernel in the strict sense on these {n} samples: symmetric, but the smallest eigenvalue is "
            f"{smallest:.3g}, below 0 (the largest is {largest:.3g}), so no inner product gives these values. Trees do "
            "not need one: they only compare values."
        )
        return KernelReport(False, asymmetry, smallest, largest, n, reason)
    reason = f"A kernel on these {n} samples: symmetric, and the smallest eigenvalue is {smallest:.3g}, not below 0"
    reason += "." if smallest >= 0 else " within rounding."
    return KernelReport(True, asymmetry, smallest, largest, n, reason)
