"""Objects of many arrays are sent as one buffer."""

import pickle
from dataclasses import dataclass, field

import numpy as np

from weald.codes.single_buffer import ALIGNED, SingleBuffer


@dataclass(frozen=True)
class Things(SingleBuffer):
    name: str
    arrays: dict[str, np.ndarray]
    empty: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))


def make_things():
    arrays = {"odd": np.arange(13, dtype=np.uint8), "doubles": np.linspace(0, 1, 100), "rows": np.eye(3)[:, ::2]}
    return Things("some", arrays)


def send(thing):
    buffers = []
    content = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=buffers), buffers


def assert_same(one, other):
    assert one.name == other.name
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        assert array.dtype == other.arrays[name].dtype
        np.testing.assert_array_equal(array, other.arrays[name])
    assert one.empty.dtype == other.empty.dtype
    assert not len(other.empty)


def test_all_arrays_arrive_in_one_buffer():
    thing = make_things()
    arrived, buffers = send(thing)
    assert len(buffers) == 1
    assert_same(make_things(), arrived)
    assert_same(make_things(), thing)
    assert_same(make_things(), pickle.loads(pickle.dumps(thing)))  # also if the pickler does not support buffers


def test_arrays_are_in_memory_once_here_and_there_and_are_passed_on_without_a_copy():
    thing = make_things()
    arrived, (buffer,) = send(thing)
    piece = np.frombuffer(buffer.raw(), np.uint8)
    _, (again,) = send(arrived)
    assert np.shares_memory(piece, np.frombuffer(again.raw(), np.uint8))
    for of in (thing, arrived):
        for array in (of.arrays["odd"], of.arrays["doubles"]):  # non-contiguous arrays are copied
            assert np.shares_memory(piece, array)
            assert (array.ctypes.data - piece.ctypes.data) % ALIGNED == 0


def test_what_is_only_kept_here_does_not_travel():
    thing = make_things()
    vars(thing)["_table"] = "large"
    arrived, _ = send(thing)
    assert "_table" not in vars(arrived)
    assert vars(thing)["_table"] == "large"
