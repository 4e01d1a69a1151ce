"""The container is a valid safetensors file, and nothing else is accepted as one."""

import numpy as np
import pytest
import safetensors.numpy

from weald.errors import FormatError
from weald.io import container


def arrays():
    kinds = ("f8", "i8", "u8", "f4", "i4", "u4", "i2", "u2", "i1", "u1", "?")
    found = {f"a.{kind}": np.arange(3).astype(kind) for kind in kinds}
    return found | {"matrix": np.arange(6, dtype=np.uint16).reshape(2, 3), "empty": np.empty(0)}


def joined(metadata=None, given=None):
    return b"".join(container.write({"a": "b"} if metadata is None else metadata, arrays() if given is None else given))


def test_the_real_safetensors_reads_it():
    found = safetensors.numpy.load(joined())
    assert found.keys() == arrays().keys()
    for name, array in arrays().items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def test_it_reads_what_it_wrote():
    contents = container.read(joined())
    assert contents.metadata["a"] == "b"
    for name, array in arrays().items():
        assert np.array_equal(contents.arrays[name], array)
        assert contents.arrays[name].dtype == array.dtype


def test_equal_contents_are_equal_bytes_in_whatever_order():
    backwards = dict(reversed(arrays().items()))
    assert joined() == joined(given=backwards)


def test_arrays_are_aligned():
    contents = container.read(joined())
    assert all(array.ctypes.data % array.dtype.itemsize == 0 for array in contents.arrays.values())


def signed(header: bytes, data: bytes = b"") -> bytes:
    """Add the digest to a header, so that the reader continues."""
    head = bytearray(len(header).to_bytes(8, "little") + header)
    head[container.DIGEST] = b"0" * 64
    head[container.DIGEST] = container._digest([head]).encode()
    return bytes(head) + data


ZEROS = "0" * 64
OPENING = container.OPENING.decode() + ZEROS + '"'


def with_entries(entries: str, data: bytes = b"") -> bytes:
    digest = container._digest([data])
    return signed(f'{OPENING},"weald.data":"{digest}"}}{entries}}}'.encode(), data)


def entry(name="x", dtype="U8", shape="[4]", places="[0,4]"):
    return f',"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{places}}}'


def test_a_proper_entry_is_read():
    assert container.read(with_entries(entry(), b"abcd")).arrays["x"].tolist() == [97, 98, 99, 100]


@pytest.mark.parametrize(
    "entries",
    [
        entry(dtype="C64"),
        entry(shape="[5]"),
        entry(shape="[-4]"),
        entry(shape="[4.0]"),
        entry(shape="[true,4]"),
        entry(shape="[4,18446744073709551617]"),
        entry(shape="[1,1,1,1,4]"),
        entry(places="[0,5]"),
        entry(places="[1,5]"),
        entry(places="[0,4,4]"),
        entry(places='"04"'),
        entry(shape="[3]", places="[0,3]"),
        entry() + entry(),
        entry() + entry("y"),
        entry("y", shape="[2]", places="[0,2]") + entry("z", shape="[1]", places="[3,4]"),
        entry("y", shape="[3]", places="[0,3]") + entry("z", shape="[2]", places="[2,4]"),
        ',"x":[]',
        ',"x":{"dtype":"U8","shape":[4]}',
        ',"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"more":1}',
        ',"x":NaN',
        ',"x":' + "[" * 100_000 + "]" * 100_000,
        ',"x":' + "1" * 5000,
        "",
    ],
)
def test_what_is_not_laid_out_as_it_should_be_is_refused(entries):
    with pytest.raises(FormatError):
        container.read(with_entries(entries, b"abcd"))


@pytest.mark.parametrize("header", [b"[]", b"{}", OPENING.encode() + b"}}garbage", OPENING.encode() + b',"a":1}}'])
def test_a_header_that_is_none_is_refused(header):
    with pytest.raises(FormatError):
        container.read(signed(header.ljust(120)))


@pytest.mark.parametrize("length", [0, 1, 2**22 + 1, 2**32, 2**63, 2**64 - 1])
def test_a_header_of_another_length_is_refused(length):
    whole = joined()
    with pytest.raises(FormatError):
        container.read(length.to_bytes(8, "little") + whole[8:])


def test_a_header_too_long_is_not_written():
    with pytest.raises(FormatError, match="room for"):
        joined({"a": "b" * 2**22})
