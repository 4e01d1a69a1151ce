# Generated from the compiled core by `make fix`: edit bindings/*.cpp or src/weald/_core.py, not this file.

from types import ModuleType

from collections.abc import Sequence


simd: str

def cpu_supports(simd: str) -> bool:
    """Whether this processor can run the instruction set of that name."""

def mix64(word: int) -> int:
    """The splitmix64 finaliser."""

def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10: four words of random bits."""

def draw(seed: int, id: int, tree: int, purpose: int, i: int) -> int:
    """The 64 random bits at an address."""

def below(bits: int, n: int) -> int:
    """floor(bits * n / 2**64): a number from 0 to n - 1."""

SETS: tuple[str, ...]

def built() -> tuple[str, ...]:
    """Return the instruction sets that this installation has a module for, fastest first."""

def supported() -> tuple[str, ...]:
    """Return the instruction sets that are built and that this processor can run, fastest first."""

def load(name: str) -> ModuleType:
    """Return the compiled module of one instruction set."""
