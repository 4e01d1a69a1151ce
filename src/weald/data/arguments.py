"""Checks of arguments: allowed values, and one function that writes all error messages.

ArgumentConstraint    one thing that an argument may be: `WholeNumber`, `Fraction`, `RealNumber`, `OneOf`, `Satisfies`
is_allowed            whether a value is of one of some kinds
check_argument        an argument against the allowed kinds
"""

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol, TypeGuard

import numpy as np

from weald.errors import ParameterError, shown


class ArgumentConstraint(Protocol):
    """A kind of value that a parameter may have."""

    def is_satisfied_by(self, value: object) -> bool:
        """Say whether a value is of this kind."""

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number of Python or NumPy; True and False are not."""
    if type(value) is int:  # faster than isinstance with an abstract class; a fit calls this 50 times
        return True
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_list(value: object) -> bool:
    """Return whether a value is a list, array, set or the like; text is not."""
    if isinstance(value, Sequence | AbstractSet):
        return not isinstance(value, str | bytes)
    return hasattr(value, "__array__") and np.ndim(value) > 0  # a NumPy number is not a list


def _is_finite(value: float) -> bool:
    """Return whether a number is finite as a double; large whole numbers of Python may not be."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a float or the like, which is a fraction where whole numbers are counts."""
    if type(value) is float:
        return True
    return isinstance(value, Real) and not isinstance(value, Integral | bool | np.bool_)


@dataclass(frozen=True)
class WholeNumber:
    """A whole number."""

    low: int
    high: int | None = None

    def is_satisfied_by(self, value: object) -> bool:
        """Say whether a value is a whole number within the limits."""
        return is_whole(value) and self.low <= value and (self.high is None or value <= self.high)

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""
        return (f"a whole number from {self.low}" + ("" if self.high is None else f" to {self.high}"),)


@dataclass(frozen=True)
class Fraction:
    """A fraction: above 0, and at most 1 or below 1."""

    one: bool = True

    def is_satisfied_by(self, value: object) -> bool:
        """Return whether a value is such a fraction."""
        return is_real(value) and (0 < value <= 1 if self.one else 0 < value < 1)

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""
        return (f"a fraction {'above 0 and up to' if self.one else 'between 0 and'} 1 (as a float)",)


@dataclass(frozen=True)
class RealNumber:
    """A number, whole or not."""

    low: float
    high: float = math.inf

    def is_satisfied_by(self, value: object) -> bool:
        """Say whether a value is a finite number within the limits."""
        return (is_whole(value) or is_real(value)) and _is_finite(value) and self.low <= value <= self.high

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""
        return (f"a number from {self.low:g}" + ("" if math.isinf(self.high) else f" to {self.high:g}"),)


@dataclass(frozen=True)
class OneOf:
    """One of some names."""

    names: tuple[str, ...]

    def is_satisfied_by(self, value: object) -> bool:
        """Say whether a value is one of the names."""
        return isinstance(value, str) and value in self.names

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""
        return tuple(f'"{name}"' for name in self.names)


@dataclass(frozen=True)
class Satisfies:
    """Any value that passes a test."""

    test: Callable[[object], bool]
    described: tuple[str, ...]

    def is_satisfied_by(self, value: object) -> bool:
        """Say whether a value passes."""
        return self.test(value)

    def describe(self) -> tuple[str, ...]:
        """Describe the allowed values: one entry for each choice."""
        return self.described


def join_choices(words: Sequence[str]) -> str:
    """Join words as an enumeration: a, b or c."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


NOTHING = Satisfies(lambda value: value is None, ("None",))
FLAG = Satisfies(lambda value: isinstance(value, bool | np.bool_), ("True", "False"))


def is_allowed(value: object, kinds: Sequence[ArgumentConstraint]) -> bool:
    """Return whether a value is of one of some kinds."""
    for one in kinds:  # noqa: SIM110  (a generator takes twice as long)
        if one.is_satisfied_by(value):
            return True
    return False


def check_argument(name: str, value: object, kinds: tuple[ArgumentConstraint, ...]) -> None:
    """Check an argument of a method, or a parameter, against its allowed values."""
    if not is_allowed(value, kinds):
        choices = join_choices([word for one in kinds for word in one.describe()])
        raise ParameterError(f"{name}={shown(value)} is not allowed. Give {choices}.")


def check_flags(**flags: object) -> None:
    """Check arguments that are True or False."""
    for name, value in flags.items():
        check_argument(name, value, (FLAG,))
