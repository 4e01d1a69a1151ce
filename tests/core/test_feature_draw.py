"""core/draw/feature_draw.h against the definition: the order in which a node draws its features."""

from types import SimpleNamespace

import pytest

from weald import _core
from weald.engines.reference import definition

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("n_features", [1, 2, 3, 15, 16, 17, 64, 65, 200])
@pytest.mark.parametrize("simd", _core.supported())
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("looks_at_all", [False, True])
def test_features_are_drawn_as_in_the_definition(simd, n_features, weighted, looks_at_all):
    core = _core.load(simd)
    weights = [float(1 + f * f % 7) for f in range(n_features)] if weighted else []
    max_features = n_features if looks_at_all else 0
    for seed, node, number in ((1, 1, 0), (2**64 - 1, 2**63 + 9, 5)):
        tree = SimpleNamespace(
            coded=SimpleNamespace(columns=[None] * n_features),
            growth=SimpleNamespace(max_features=max_features, feature_weights=tuple(weights), ties_by_column=False),
            seed=seed,
            number=number,
        )
        drawn = core.draw_features(seed, node, number, n_features, weights, looks_at_all)
        assert drawn == list(definition.draw_features(tree, node))
        assert sorted(drawn) == list(range(n_features))
