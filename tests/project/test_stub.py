"""The type stub in the repository is that of the compiled core."""

from bindings import stub


def test_the_stub_of_the_core_is_current():
    assert stub.STUB.read_text() == stub.make_stub(), "src/weald/_core.pyi is not current: run `make fix`."
