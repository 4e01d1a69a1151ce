"""Labels become numbers in sorted order, however they are found."""

import numpy as np
import pytest

from weald.data.targets import number_labels

EDGES = {
    "bool": [False, True],
    "int8": [-128, 127],
    "uint8": [0, 255],
    "int64": [-(2**63), 2**63 - 1],
    "uint64": [2**63, 2**64 - 1],
}


@pytest.mark.parametrize("n_rows", [1, 5, 3000, 70_000])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_whole_numbers_are_numbered_as_if_they_were_sorted(dtype, n_rows):
    labels = (np.random.default_rng(n_rows).integers(0, 9, n_rows) * 3).astype(dtype)
    classes, numbers = number_labels(labels, "y")
    expected, places = np.unique(labels, return_inverse=True)
    assert (classes.dtype, numbers.dtype) == (labels.dtype, np.int32)
    assert np.array_equal(classes, expected)
    assert np.array_equal(numbers, places)


@pytest.mark.parametrize("dtype", EDGES)
def test_the_smallest_and_the_largest_number_of_a_type_are_labels_too(dtype):
    labels = np.array(EDGES[dtype] * 3, dtype=dtype)
    classes, numbers = number_labels(labels, "y")
    assert classes.tolist() == EDGES[dtype]
    assert numbers.tolist() == [0, 1] * 3
