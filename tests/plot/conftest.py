"""Figures are drawn without a display, and closed after each test."""

import pytest

plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib, which is not installed")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")
