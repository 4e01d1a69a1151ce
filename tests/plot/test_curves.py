"""Curves show the numbers that they are computed from."""

import numpy as np
import pytest

from weald.plot import ImpurityDisplay


def test_impurity_curves_are_the_formulas_scaled_to_one_half():
    display = ImpurityDisplay.from_criteria()
    p = display.probabilities[1:-1]
    entropy = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    expected = {"gini": 2 * p * (1 - p), "entropy": entropy / 2, "misclassification": np.minimum(p, 1 - p)}
    drawn = {line.get_label().split(" ")[0]: line.get_ydata()[1:-1] for line in display.ax_.lines}
    assert drawn.keys() == expected.keys()
    for name, curve in expected.items():
        assert drawn[name] == pytest.approx(curve)


def test_some_criteria_can_be_drawn_alone():
    assert list(ImpurityDisplay.from_criteria(["log_loss"]).impurities) == ["log_loss"]
