"""Gauss-Legendre rules are exact for polynomials, and correctly rounded."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from weald.engines.quadrature import make_rule


@pytest.mark.parametrize("n", [1, 2, 3, 8, 25, 100])
def test_rules_are_those_of_numpy(n):
    points, weights = np.polynomial.legendre.leggauss(n)
    rule = make_rule(n)
    np.testing.assert_allclose(rule.points, (points + 1) / 2, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rule.weights, weights / 2, rtol=1e-11)
    assert (np.diff(rule.points) > 0).all()
    np.testing.assert_array_equal(rule.rest, rule.points[::-1])


@pytest.mark.parametrize("n", [1, 4, 30, 150])
def test_polynomials_up_to_degree_2n_minus_1_are_integrated(n):
    rule = make_rule(n)
    points, weights = (list(map(Fraction, array.tolist())) for array in (rule.points, rule.weights))
    for degree in {0, 1, n, 2 * n - 1}:
        integral = sum(w * t**degree for t, w in zip(points, weights, strict=True))
        assert abs(float(integral * (degree + 1) - 1)) < 4e-16 * (degree + 4)


def test_two_points_are_correctly_rounded():
    rule, exact = make_rule(2), (1 - 1 / Decimal(3).sqrt()) / 2
    assert rule.points.tolist() == [float(exact), float(1 - exact)]
    assert rule.weights.tolist() == [0.5, 0.5]
