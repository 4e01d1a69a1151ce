"""The same laws on a GPU: `make test-cuda`. Without CuPy and a GPU they are skipped in words."""

import random

import numpy as np
import pytest

import weald
from tests.engines.cuda.test_laws import SMALL, draw_case, grow
from tests.laws.cases import NATIVE
from weald.engines.cuda.device import open_cupy
from weald.engines.cuda.engine import CudaEngine
from weald.errors import WealdError


@pytest.fixture(scope="module")
def device():
    try:
        return open_cupy()
    except WealdError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["usual sizes", "small sizes"])
def test_a_gpu_does_what_the_native_engine_does(device, sizes, seed):
    dice = random.Random(seed)
    table, growth = draw_case(dice, dice.choice([1, 10, 60, 500, 5000]))
    engine = CudaEngine(lambda: device, **sizes)
    found, expected = grow(engine, table, growth, n_trees=20), grow(NATIVE, table, growth, n_trees=20)
    assert engine.n_grown == 20
    assert found.fingerprint() == expected.fingerprint()


@pytest.mark.slow
def test_a_large_table_has_one_fingerprint_however_often_it_is_grown(device):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0).astype(int)
    forest = lambda engine: weald.RandomForestClassifier(10, random_state=1, engine=engine)  # noqa: E731
    expected = forest("native").fit(X, y).forest_.fingerprint()
    assert {forest("cuda").fit(X, y).forest_.fingerprint() for _ in range(20)} == {expected}
