"""core/draw/feature_draw.h against the definition: the order in which a node draws its features."""

from types import SimpleNamespace

import pytest

from weald import _core
from weald.engines.reference import definition

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("n_features", [1, 2, 3, 15, 16, 17, 64, 65, 200])
@pytest.mark.parametrize("simd", _core.supported())
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_drawn_as_in_the_definition(simd, n_features, weighted):
    core = _core.load(simd)
    weights = [float(1 + f * f % 7) for f in range(n_features)] if weighted else []
    for seed, node, number in ((1, 1, 0), (2**64 - 1, 2**63 + 9, 5)):
        tree = SimpleNamespace(
            coded=SimpleNamespace(columns=[None] * n_features),
            growth=SimpleNamespace(max_features=0, feature_weights=tuple(weights)),
            seed=seed,
            number=number,
        )
        drawn = core.draw_features(seed, node, number, n_features, weights)
        assert drawn == list(definition.draw_features(tree, node))
        assert sorted(drawn) == list(range(n_features))
