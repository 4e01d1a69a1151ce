"""Another engine can be plugged in: a forest of stumps that predict the mean, in about 30 lines."""

from dataclasses import dataclass

import numpy as np
import pytest

import weald
from weald.engines import choose
from weald.engines.interface import LocalEngine
from weald.forest.forest import Forest, Origin


@dataclass(frozen=True)
class MeanCodes:
    """The parts of a table that this engine needs."""

    mean: float
    n_features: int
    n_rows: int
    fingerprint: int = 1
    values: int | None = None
    design: int = 0


class MeanEngine(LocalEngine):
    """Grows trees of one node."""

    name = "mean"

    def code(self, table, max_bins, n_threads, watch, n_trees=0):
        return MeanCodes(float(table.target.mean()), table.n_features, table.n_rows)

    def grow(self, codes, growth, seed, first_tree, n_trees, n_threads, watch, ccp_alpha=0.0):
        nodes, none = np.zeros(n_trees), np.zeros(0)
        origin = Origin(seed, first_tree, n_trees, codes.fingerprint, growth.bags(codes.design))
        starts = np.arange(n_trees + 1)
        ints = {name: nodes.astype(np.int32) for name in ("right", "flags")}
        lists = {"leaf_start": none, "leaf_class": none, "leaf_weight": none, "category_sets": none}
        return Forest(
            *(codes.n_features, 0, codes.mean, 0),
            **{"tree_start": starts, "feature": nodes.astype(np.int32) - 1, "threshold": nodes, **ints, **lists},
            size=nodes + codes.n_rows,
            weight=nodes + codes.n_rows,
            decrease=nodes,
            value=nodes + codes.mean,
            impurity=nodes,
            category_start=np.zeros(1, dtype=np.int64),
            origins=(origin,),
        )

    def predict(self, forest, X, voting, out, n_threads, watch):
        out[:] = forest.value.mean()


def test_another_engine_fits_and_predicts(monkeypatch):
    monkeypatch.setitem(choose.ENGINES_BY_NAME, "native", MeanEngine)
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    model = weald.RandomForestRegressor(3, engine="native", random_state=0).fit(X, y)
    assert model.forest_.n_trees == 3
    np.testing.assert_array_equal(model.predict(X[:2]), [2.5, 2.5])
    warm = model.set_params(warm_start=True, n_estimators=5).fit(X, y)
    assert warm.forest_.n_trees == 5


def test_codes_of_another_engine_are_refused():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    for name in ("native", "reference"):
        engine, model = choose.open_engine(name), weald.RandomForestRegressor(1, engine=name, random_state=0).fit(X, y)
        with pytest.raises(TypeError, match="codes of another engine"):
            engine.order(MeanCodes(0.0, 2, 6))
        assert model.forest_.n_trees == 1
