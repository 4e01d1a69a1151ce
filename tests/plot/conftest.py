"""Figures are drawn without a display."""

import pytest

pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib, which is not installed")
