"""Arrays from PyTorch, JAX, CuPy and other libraries: read if NumPy can read them, else refused with a clear message.

on_host    any argument -> itself, or for another library's array a NumPy array that shares its memory

Such arrays follow the DLPack protocol, which also states the device of the memory.
"""

from typing import Protocol, TypeGuard

import numpy as np

from weald.data.types import Array, Native
from weald.errors import DataTypeError

HOST = (1, 3, 11)  # DLPack's numbers: memory of the CPU, and memory of the CPU that GPUs can read (CUDA, ROCm)


class ForeignArray(Protocol):
    """An array that follows the DLPack protocol."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of memory, and the number of the device."""

    def __dlpack__(self, *, stream: None = None) -> Native:
        """Return a capsule with the array."""


def on_host(value: object, name: str) -> object:
    """Return a NumPy array of an array of another library; everything else as it is."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__arrow_c_array__"):
        return value
    if _is_foreign(value):
        return _read(value, name)
    if hasattr(value, "__cuda_array_interface__"):
        raise DataTypeError(_refusal(value, name))
    return value


def _is_foreign(value: object) -> TypeGuard[ForeignArray]:
    return hasattr(value, "__dlpack_device__") and not isinstance(value, type)


def _read(value: ForeignArray, name: str) -> Array:
    try:
        kind = int(value.__dlpack_device__()[0])
    except Exception as error:  # arrays on several devices, tensors without memory: any exception
        raise DataTypeError(f"{name} is {_kind(value)}, which cannot be read: {error}. {_advice(name)}") from error
    if kind not in HOST:
        raise DataTypeError(_refusal(value, name))
    try:
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    except Exception as error:  # tensors with gradients, number types that NumPy does not have
        raise DataTypeError(f"{name} is {_kind(value)}, which NumPy cannot read: {error}. {_advice(name)}") from error


def _kind(value: object) -> str:
    return f"an array of {type(value).__module__.partition('.')[0]}"


def _refusal(value: object, name: str) -> str:
    return f"{name} is {_kind(value)} in the memory of a GPU; weald computes on the CPU. {_advice(name)}"


def _advice(name: str) -> str:
    return (
        f"Copy it to a NumPy array first: {name}.detach().cpu().numpy() in PyTorch, {name}.get() in CuPy, "
        f"numpy.asarray({name}) in JAX."
    )
