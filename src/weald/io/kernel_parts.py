"""The kernel and the prototypes of a kernel forest in a file, and checks that they belong together."""

from typing import TYPE_CHECKING

import numpy as np

from weald.data.schema import Schema
from weald.engines.reference.kernels import KernelRule
from weald.estimators.features import features_of
from weald.estimators.kernel.features import KernelFeatures
from weald.estimators.kernel.kernel_selection import Choice
from weald.estimators.kernel.kernels import DISTANCES, Kernel
from weald.estimators.kernel.learned import LearnedColumns
from weald.estimators.kernel.samples import AnySamples, Curves, Grid, Things, Vectors
from weald.estimators.kernel.table import Prototypes
from weald.estimators.kernel.tree_mix import MixChoice
from weald.io.container import ascends, require
from weald.io.packing import Head
from weald.io.values import Hint

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

RECORDS: tuple[type, ...] = (Choice, Curves, Grid, Kernel, KernelRule, MixChoice, Prototypes, Things, Vectors)
LEARNED: dict[str, Hint] = {
    "_columns_": np.ndarray,
    "_kept_": Prototypes,
    "_n_columns_": int,
    "_n_prototypes_": int,
    "_prototype_seed_": int,
    "choice_": Choice,
    "kernel_": Kernel,
    "mix_": MixChoice,
    "prototype_rows_": np.ndarray,
    "sample_kind_": str,
}
PAIRINGS, SHAPES = ("product", "distance", "warping"), ("plain", "gaussian", "power", "tanh")
MOST_DEGREE = 64
KINDS = {"vectors": Vectors, "curves": Curves, "things": Things}


def has_kernel(model: "TreeModel") -> bool:
    """Return whether a model is a kernel forest."""
    return not features_of(model).is_table


def table_schema(model: "TreeModel") -> Schema:
    """Return the columns that the trees of a model use: columns of X, or kernel columns with some columns of X."""
    schema: Schema = features_of(model).tree_schema
    return schema


def check_parts(model: "TreeModel", head: Head) -> int:
    """Check that kernel, prototypes and trees belong together; return the number of columns of samples."""
    missing = LEARNED.keys() - {"choice_", "mix_"} - vars(model).keys()
    require(not missing, f"Attributes are missing: {', '.join(sorted(missing))}.")
    learned = LearnedColumns(model)
    columns, kept, n_all, n_prototypes = learned.used, learned.prototypes, learned.n_columns, learned.n_prototypes
    proper = columns.dtype.kind == "i" and columns.shape == (head.n_features,) and 0 <= n_prototypes <= n_all
    proper = proper and ascends(columns) and 0 <= columns[0] <= columns[-1] < n_all
    require(proper, "The trees use unknown columns.")
    n_kept = int((columns < n_prototypes).sum())
    kind = KINDS.get(model.sample_kind_)
    require(kind, "The kind of samples is unknown.")
    _check_kernel(model.kernel_)
    rows, pairs = model.prototype_rows_, kept.pairs
    if model.kernel_.is_precomputed:
        numbers = kept.columns
        width = getattr(model, "n_features_in_", 0)
        proper = kept.samples is None and numbers is not None and numbers.dtype.kind == "i" and numbers.ndim == 1
        listed = [] if numbers is None or not proper else numbers.tolist()
        require(proper and all(0 <= i < width for i in listed), "The prototypes are not columns of the kernel.")
    else:
        require(kind is not None and isinstance(kept.samples, kind), "The prototypes and the samples differ in kind.")
        if kept.samples is not None:
            _check_samples(kept.samples, model)
    if pairs is not None:
        proper = pairs.dtype.kind == "i" and pairs.shape == (n_kept, 2)
        listed = pairs.tolist() if proper else []
        proper = proper and all(0 <= i < kept.n_compared and -1 <= j < kept.n_compared for i, j in listed)
        require(proper, "The pairs of prototypes are invalid.")
    proper = rows.dtype.kind == "i" and rows.shape == (kept.n_compared,) and len(kept) == n_kept
    require(proper, "The number of prototypes is inconsistent.")
    is_table = model.sample_kind_ == "vectors" and len(model.schema_.categories) > 0
    n_raw = len(model.schema_.categories) if KernelFeatures(model).mixes else 0
    require(n_all - n_prototypes == n_raw, "The number of columns beside the kernel is inconsistent.")
    return len(model.schema_.categories) if is_table else 0


def _check_kernel(kernel: Kernel) -> None:
    rule = kernel.rule
    proper = rule.pairing in PAIRINGS and rule.shape in SHAPES and 1 <= rule.degree <= MOST_DEGREE
    proper = proper and 0 <= rule.band <= 1 and bool(np.isfinite([rule.gamma, rule.shift]).all())
    grid = kernel.grid
    proper = proper and kernel.distance in ("", *DISTANCES) and (grid is None or grid.n >= 2)
    require(proper, "The kernel is invalid or unknown to this version.")


def _check_samples(samples: AnySamples, model: "TreeModel") -> None:
    if isinstance(samples, Vectors):
        matrix = samples.matrix
        n_numbers = sum(categories is None for categories in model.schema_.categories)
        require(matrix.dtype == np.float64 and matrix.ndim == 2, "The prototypes must be rows of numbers.")
        require(matrix.shape[1] == n_numbers, "The prototypes have a wrong number of columns.")
    if isinstance(samples, Curves):
        curves = (*samples.each, *(samples.times or ()))
        require(
            all(c.dtype == np.float64 and c.ndim == 1 and len(c) for c in curves),
            "The prototypes must be curves of numbers.",
        )
        times = samples.times
        same = times is None or [len(t) for t in times] == [len(c) for c in samples.each]
        require(same, "The prototypes must have one time for each value.")
        needs_grid = times is not None or model.kernel_.rule.pairing != "warping"
        require(not needs_grid or model.kernel_.grid is not None, "The grid of the curves is missing.")
