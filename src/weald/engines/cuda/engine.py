"""The engine on a GPU: the same forest as every other engine.

It reads and codes tables as the native engine does, and grows trees on the GPU if the kernels support them
(`support.py`). Otherwise the native engine grows them, and `verbose` says why. Predictions and all else are the native
engine's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from weald.data.table import Reading, TrainingArguments
from weald.engines import progress
from weald.engines.cuda.device import Device, open_cupy
from weald.engines.cuda.grower import DeviceTable, DrawBag, TooManyCopiesError, TreeGrower
from weald.engines.cuda.support import find_obstacle, is_plain_bootstrap
from weald.engines.cuda.table import describe_columns, pack_table
from weald.engines.interface import Codes, Model, Watch
from weald.engines.native import NativeEngine, own_codes
from weald.engines.params import Growth
from weald.forest.forest import Forest, Origin
from weald.forest.pruning import prune_forest


class CudaEngine(NativeEngine):
    """Grows trees on the GPU."""

    name = "cuda"

    def __init__(self, open_device: Callable[[], Device] = open_cupy, **sizes: int) -> None:
        """Open no device yet: a model that was grown on a GPU predicts everywhere. `sizes` are for tests."""
        super().__init__()
        self._open_device = open_device
        self._sizes = sizes
        self.tables: list[tuple[Codes, DeviceTable]] = []  # the last one, and where it is
        self.n_grown = 0  # trees that this engine grew on the GPU

    @property
    def local(self) -> NativeEngine:  # type: ignore[override]
        """Return the native engine, which predicts."""
        return NativeEngine()

    def read(self, model: Model, data: TrainingArguments) -> Reading:
        """Read a table in memory, after checking that there is a GPU."""
        self._open_device()
        return super().read(model, data)

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow trees on the GPU, or, if the kernels do not support them, on the CPU."""

        def grow_natively(obstacle: str) -> Forest:
            progress.tell(watch, f"engine='cuda' does not support {obstacle} yet: growing on the CPU")
            grow = super(CudaEngine, self).grow
            return grow(codes, growth, seed, first_tree, n_trees, n_threads, watch, ccp_alpha)

        columns = describe_columns(self.core, own_codes(codes), n_threads)
        obstacle = find_obstacle(own_codes(codes), columns, growth)
        if obstacle is not None:
            return grow_natively(obstacle)
        device = self._open_device()
        if not self.tables or self.tables[0][0] is not codes:
            packed = pack_table(self.core, own_codes(codes), columns, n_threads)
            self.tables = [(codes, DeviceTable(device, packed, own_codes(codes).n_classes))]
        draw_bag = None if is_plain_bootstrap(own_codes(codes), growth) else self._bag_drawer(codes, growth)
        grower = TreeGrower(device, self.tables[0][1], growth, draw_bag, **self._sizes)
        try:
            arrays: dict[str, Any] = dict(grower.grow(seed, first_tree, n_trees, watch))
        except TooManyCopiesError:
            return grow_natively("bags with more than 255 copies of a row")
        self.n_grown += n_trees
        origin = Origin(seed, first_tree, n_trees, codes.fingerprint, growth.bags(codes.design), values=codes.values)
        forest = Forest(
            n_features=len(columns),
            n_classes=own_codes(codes).n_classes,
            target_center=0.0,
            target_exponent=0,
            value=np.empty(0),
            impurity=np.empty(0),
            category_start=np.zeros(1, dtype=np.int64),
            category_sets=np.empty(0, dtype=np.uint32),
            origins=(origin,),
            **arrays,
        )
        return prune_forest(forest, ccp_alpha) if ccp_alpha else forest

    def _bag_drawer(self, codes: Codes, growth: Growth) -> DrawBag:
        """Draw bags on the host: those of weights, strata, and without bootstrap."""
        by_rank, drawn = own_codes(codes).positions(), self._growth(growth)
        return lambda seed, tree: self.core.bag(codes, drawn, seed, tree)[by_rank]
