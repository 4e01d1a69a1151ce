"""Kernels: the definition, the compiled core, and independent computations agree."""

import itertools
import math

import numpy as np
import pytest

from weald import _core
from weald.engines.choose import open_engine
from weald.engines.native import NativeEngine
from weald.engines.reference import kernels as definition
from weald.engines.reference.engine import ReferenceEngine
from weald.engines.reference.kernels import KernelRule, Samples
from weald.errors import DataError
from weald.estimators.kernel import kernels
from weald.estimators.kernel.samples import Curves, Things, Vectors

RULES = [
    KernelRule("product", "plain"),
    KernelRule("product", "power", gamma=0.3, shift=1.0, degree=3),
    KernelRule("product", "tanh", gamma=0.2, shift=-0.1),
    KernelRule("distance", "plain"),
    KernelRule("distance", "gaussian", gamma=0.07),
    KernelRule("warping", "plain", band=0.2),
    KernelRule("warping", "gaussian", gamma=0.5, band=1.0),
]


def rows_of(n, length, seed=0):
    return Samples.of_rows(np.random.default_rng(seed).normal(size=(n, length)) * 3)


def ragged(n, seed=0):
    rng = np.random.default_rng(seed)
    return Curves(tuple(rng.normal(size=rng.integers(1, 12)) for _ in range(n))).packed()


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.pairing} {rule.shape}")
@pytest.mark.parametrize("simd", _core.supported())
def test_instruction_sets_and_threads_give_the_bits_of_the_definition(rule, simd):
    if not _core.cpu_supports(simd):
        pytest.skip("not on this processor")
    engine = NativeEngine(_core.load(simd))
    samples, prototypes = rows_of(37, 13), rows_of(7, 13, seed=1)
    expected = definition.kernel_columns(samples, prototypes, rule)
    for n_threads in (1, 3):
        assert np.array_equal(engine.kernel_columns(samples, prototypes, rule, n_threads), expected)


@pytest.mark.sanitize
@pytest.mark.parametrize("band", [0.0, 0.3, 1.0])
def test_curves_of_unequal_lengths_are_warped_alike(band):
    rule, samples, prototypes = KernelRule("warping", "plain", band=band), ragged(40), ragged(9, seed=1)
    expected = definition.kernel_columns(samples, prototypes, rule)
    assert np.array_equal(NativeEngine().kernel_columns(samples, prototypes, rule, 2), expected)
    assert np.isfinite(expected).all()


def cheapest_path(x, y, width):
    """Enumerate all warping paths."""
    best = math.inf
    for steps in itertools.product([(1, 0), (0, 1), (1, 1)], repeat=len(x) + len(y) - 2):
        i = j = 0
        cost = (x[0] - y[0]) ** 2
        for down, right in steps:
            if (i, j) == (len(x) - 1, len(y) - 1):
                break
            i, j = i + down, j + right
            if i >= len(x) or j >= len(y) or abs(i - j) > width:
                cost = math.inf
                break
            cost += (x[i] - y[j]) ** 2
        if (i, j) == (len(x) - 1, len(y) - 1):
            best = min(best, cost)
    return best


@pytest.mark.parametrize(("n", "m", "band", "width"), [(4, 4, 1.0, 4), (4, 4, 0.25, 1), (3, 4, 0.0, 1), (4, 4, 0.0, 0)])
def test_warping_finds_the_cheapest_of_all_paths_inside_the_band(n, m, band, width):
    rng = np.random.default_rng(n + m)
    x, y = rng.normal(size=n), rng.normal(size=m)
    found = definition.kernel_columns(
        Curves((x,)).packed(), Curves((y,)).packed(), KernelRule("warping", "plain", band=band)
    )
    assert found[0, 0] == pytest.approx(cheapest_path(x, y, width))


def test_kernels_are_what_their_formulas_say():
    A, B = np.random.default_rng(0).normal(size=(2, 20, 4))
    product, apart = A @ B.T, ((A[:, None] - B[None]) ** 2).sum(axis=2)
    expected = {
        "power": (0.3 * product + 1) ** 3,
        "tanh": np.tanh(0.2 * product - 0.1),
        "gaussian": np.exp(-0.07 * apart),
    }
    for rule in RULES[1], RULES[2], RULES[4]:
        values = definition.kernel_columns(Samples.of_rows(A), Samples.of_rows(B), rule).T
        np.testing.assert_allclose(values, expected[rule.shape], rtol=1e-12, atol=1e-15)


def test_exp_is_exp():
    x = np.concatenate([np.linspace(-699, 0, 5001), -np.logspace(-300, 0, 50)])
    np.testing.assert_allclose(definition.exp_of(x), np.exp(x), rtol=5e-16)
    assert definition.exp_of(np.array([-701.0, -np.inf])).tolist() == [0, 0]


def test_distances_of_curves_are_what_they_are_called():
    X = np.random.default_rng(0).normal(size=(6, 15))
    plain = KernelRule("distance", "plain")

    def squared(distance):
        rows = Samples.of_rows(kernels.transform(X, distance))
        return definition.kernel_columns(rows, rows, plain)

    steps = np.diff(X, axis=1)
    np.testing.assert_allclose(squared("derivative"), ((steps[:, None] - steps[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(squared("correlation"), 2 - 2 * np.corrcoef(X), atol=1e-12)
    level = kernels.transform(np.full((1, 7), 0.1), "correlation")
    assert not level.any()


# --------------------------------------------------------------------------------------------------------- resolve

SAID = {"kernel": "gaussian", "distance": "l2", "gamma": "median", "degree": 3, "coef0": 0.0, "band": 0.1}


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_gamma_is_one_over_the_median_or_the_variance(engine):
    X = np.random.default_rng(0).normal(size=(41, 3)) * 5
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    pairs = np.sort(apart[np.triu_indices(41, 1)])
    resolve = lambda gamma: kernels.resolve_kernel({**SAID, "gamma": gamma}, Vectors(X), open_engine(engine), 1)  # noqa: E731
    assert resolve("median").rule.gamma == pytest.approx(1 / pairs[len(pairs) // 2])
    assert resolve("scale").rule.gamma == pytest.approx(1 / (3 * X.var()))
    assert resolve(0.25).rule.gamma == 0.25


def test_gamma_does_not_depend_on_the_order_of_rows_or_on_copies():
    X = np.random.default_rng(0).normal(size=(41, 3))
    again = np.vstack([X, X[:9]])[np.random.default_rng(1).permutation(50)]
    for gamma in "median", "scale":
        one, two = (kernels.find_gamma(gamma, _gaussian(), Vectors(rows), ReferenceEngine(), 1) for rows in (X, again))
        assert one == two


def _gaussian():
    return kernels.Kernel("gaussian", KernelRule("distance", "gaussian"), distance="l2")


def test_prototypes_are_distinct_and_do_not_depend_on_the_order_of_rows():
    X = np.random.default_rng(0).normal(size=(60, 2))
    again = np.vstack([X, X[:20]])[::-1]
    for n in ("all", 25, 0.5):
        one = X[kernels.choose_prototypes(Vectors(X), n, seed=3)]
        two = again[kernels.choose_prototypes(Vectors(np.ascontiguousarray(again)), n, seed=3)]
        assert np.array_equal(one, two)
        assert len(np.unique(one, axis=0)) == len(one) == {"all": 60, 25: 25, 0.5: 30}[n]
    other = X[kernels.choose_prototypes(Vectors(X), 25, seed=4)]
    assert not np.array_equal(other, X[kernels.choose_prototypes(Vectors(X), 25, seed=3)])


def test_text_has_hashes_and_other_things_have_places():
    words = Things(("oak", "ash", "oak", "elm"))
    assert len(kernels.choose_prototypes(words, "all", 0)) == 3
    graphs = Things(({1, 2}, {1, 2}, {3}))
    assert kernels.choose_prototypes(graphs, "all", 0).tolist() == [0, 1, 2]


def test_values_beyond_doubles_are_refused():
    X = np.full((2, 2), 1e200)
    kernel = kernels.Kernel("poly", KernelRule("product", "power", degree=3))
    rows = kernel.prepare(Vectors(X))
    with pytest.raises(DataError, match="not finite"):
        kernel.columns(open_engine("native"), rows, rows, 1)
