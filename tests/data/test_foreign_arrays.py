"""Arrays of other libraries are read without a copy, or refused with words that say how to copy them."""

from functools import partial

import numpy as np
import pytest

import weald
from weald.data.foreign_arrays import on_host

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] + X[:, 1]
CPU, CUDA, CUDA_HOST, ROCM = (1, 0), (2, 0), (3, 0), (10, 1)


class Exported:
    """An array that has only the DLPack protocol."""

    def __init__(self, array, device=CPU, error=None):
        self.array, self.device, self.error = array, device, error

    def __dlpack_device__(self):
        if isinstance(self.device, Exception):
            raise self.device
        return self.device

    def __dlpack__(self, **how):
        if self.error:
            raise self.error
        return self.array.__dlpack__()


def model():
    return weald.RandomForestRegressor(4, random_state=0)


def test_an_array_is_read_without_a_copy():
    assert np.shares_memory(on_host(Exported(X), "X"), X)
    assert on_host(X, "X") is X
    for other in None, "text", [1, 2], 3.0, np.float64(1):
        assert on_host(other, "X") is other


def test_fits_and_predictions_take_arrays_of_other_libraries():
    weight = np.arange(60.0) % 3
    ours = model().fit(X, Y, weight)
    theirs = model().fit(Exported(X), Exported(Y), Exported(weight))
    assert theirs.forest_.fingerprint() == ours.forest_.fingerprint()
    assert np.array_equal(theirs.predict(Exported(X)), ours.predict(X))
    two = model().fit(Exported(X), Exported(np.column_stack([Y, -Y])))
    assert two.predict(Exported(X)).shape == (60, 2)
    labels = Exported((Y > 0).astype(np.int64))
    assert weald.DecisionTreeClassifier().fit(Exported(X), labels).classes_.tolist() == [0, 1]


class Pinned(Exported):
    """An array in memory of the CPU that a GPU reads, which converts itself."""

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def test_memory_that_the_cpu_shares_with_a_gpu_is_read():
    pinned = Pinned(X, CUDA_HOST)
    assert np.shares_memory(on_host(pinned, "X"), X)
    assert np.array_equal(model().fit(pinned, Y).predict(X), model().fit(X, Y).predict(X))


class OldGpuArray:
    """An array of a library without DLPack."""

    __cuda_array_interface__ = {"shape": (60, 3)}  # noqa: RUF012


class NoNumbers(Exported):
    """A tensor with a number type that NumPy does not support."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


BAD = {
    "CUDA": (Exported(X, CUDA), "in the memory of a GPU"),
    "ROCm": (Exported(X, ROCM), "in the memory of a GPU"),
    "before DLPack": (OldGpuArray(), "in the memory of a GPU"),
    "gradients": (NoNumbers(X), "NumPy cannot read: Can't call numpy"),
    "no export": (Exported(X, error=BufferError("can't export")), "NumPy cannot read: can't export"),
    "several devices": (Exported(X, ValueError("sharded")), "which cannot be read: sharded"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("argument", ["X", "y", "sample_weight", "X of predict"])
def test_what_is_not_on_the_cpu_is_refused_with_the_way_to_copy_it(case, argument):
    given, words = BAD[case]
    name = argument.partition(" ")[0]
    asked = rf"^{name} is an array of tests.*{words}.*{name}\.detach\(\)\.cpu\(\)\.numpy\(\) in PyTorch"
    fitted = model().fit(X, Y)
    call = partial(fitted.predict, given) if name != argument else partial(fitted.fit, **{"X": X, "y": Y, name: given})
    with pytest.raises(weald.DataTypeError, match=asked):
        call()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Exported(X[:, 0]), "Expected 2D array, got 1D array"),
        (Exported(X[np.newaxis]), "dim 3"),
        (Exported(X.astype(complex)), "complex"),
        (Exported(X[:, :2]), "2 features"),
    ],
)
def test_shapes_and_types_are_checked_as_those_of_numpy(given, words):
    with pytest.raises(weald.DataError, match=words):
        model().fit(X, Y).predict(given)


def test_jax_arrays_are_taken():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    jax.config.update("jax_enable_x64", True)
    there = jax.numpy.asarray
    ours, theirs = model().fit(X, Y), model().fit(there(X), there(Y), there(np.ones(60)))
    assert theirs.forest_.fingerprint() == ours.forest_.fingerprint()
    assert np.array_equal(theirs.predict(there(X)), ours.predict(X))
    with pytest.raises(weald.DataTypeError, match="bfloat16"):
        ours.predict(there(X).astype("bfloat16"))


def test_torch_tensors_are_taken():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    ours = model().fit(X, Y)
    theirs = model().fit(torch.from_numpy(X), torch.from_numpy(Y))
    assert theirs.forest_.fingerprint() == ours.forest_.fingerprint()
    with pytest.raises(weald.DataTypeError, match="requires grad"):
        ours.predict(torch.from_numpy(X).requires_grad_())
    with pytest.raises(weald.DataTypeError, match="BFloat16"):
        ours.predict(torch.from_numpy(X).bfloat16())
