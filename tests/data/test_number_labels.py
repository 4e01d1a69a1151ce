"""Labels become numbers in sorted order, whatever method finds them."""

import numpy as np
import pyarrow as pa
import pytest

import weald
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


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0]])
def test_zero_and_minus_zero_are_one_class(zeros):
    model = weald.DecisionTreeClassifier().fit(np.arange(6.0).reshape(-1, 1), np.array([*zeros, 1.0] * 2))
    assert [str(label) for label in model.classes_.tolist()] == ["0.0", "1.0"]


def test_equal_classes_of_an_arrow_dictionary_are_one():
    y = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1]), pa.array(["a", "b", "a"]))
    assert weald.DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0]], y).classes_.tolist() == ["a", "b"]


class Changing(np.ndarray):
    """Labels that another thread changes after they were read: in the first pass, or in the second."""

    def __getitem__(self, key):
        part = np.array(np.ndarray.__getitem__(self, key))
        if isinstance(key, slice):
            self.reads = getattr(self, "reads", 0) + 1
            if self.reads == self.change_at:
                part[0] = self.becomes
        return part


@pytest.mark.parametrize("change_at", [1, 2])
@pytest.mark.parametrize("becomes", [-1, 10**6, 3])
def test_labels_that_change_while_they_are_read_are_refused_by_name(change_at, becomes):
    labels = np.array([2, 2, 5, 9] * 10).view(Changing)
    labels.change_at, labels.becomes = change_at, becomes
    if (change_at, becomes) == (1, 3):
        assert number_labels(labels, "y")[0].tolist() == [2, 3, 5, 9]
        return
    with pytest.raises(weald.DataError, match="y changed while it was read"):
        number_labels(labels, "y")
