"""Checkpoints: trees saved to disk while a forest grows, so that an interrupted fit can be resumed.

A checkpoint is a folder. Each file in it holds some trees and is a model by itself: `weald.load` reads it,
`weald.merge` joins several. A tree depends only on the table, the parameters, the seed and its number, so a resumed
fit grows exactly the trees that an uninterrupted fit would have grown.
"""

import copy
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weald.data.arguments import WholeNumber, check_argument
from weald.data.schema import same_categories
from weald.engines import progress
from weald.engines.interface import Codes, Watch
from weald.errors import FormatError, ParameterError
from weald.forest.forest import CONTRACT_VERSION, Forest

if TYPE_CHECKING:
    from weald.estimators.forest_base import RandomForest
    from weald.estimators.growing import Grower


@dataclass(frozen=True)
class Checkpoint:
    """A folder, and the number of trees per file."""

    folder: Path
    every: int
    model: "RandomForest"  # the model being fitted

    @classmethod
    def read(cls, folder: "str | os.PathLike[str] | None", every: int, model: "RandomForest") -> "Checkpoint | None":
        """Read the user's arguments; None: no checkpoint."""
        check_argument("every", every, (WholeNumber(1),))
        if folder is None:
            return None
        plain = {"n_estimators": model.n_estimators != "auto"}
        plain["resampling"] = getattr(model, "resampling", "bagging") not in ("boosting", "arcing")
        for name, is_plain in plain.items():
            if not is_plain:
                raise ParameterError(
                    f"{name}={getattr(model, name)!r} cannot be used with checkpoint: each tree then depends on "
                    "others. Leave one of the two out."
                )
        return cls(Path(folder), int(every), model)

    def grow(self, grower: "Grower", first: int, n_trees: int) -> Forest:
        """Grow trees `first`, `first + 1` ..., except those already on disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with progress.watch_fit(grower.verbose, n_trees) as watch:
            return self._grow(grower, first, n_trees, watch)

    def _grow(self, grower: "Grower", first: int, n_trees: int, watch: Watch | None) -> Forest:
        parts: list[Forest] = []
        n_done = 0
        while n_done < n_trees:
            part = self._find(grower.codes, first + n_done, grower.shrinkage)
            if part is None:
                n_more = min(self.every, n_trees - n_done)
                of_part = _of_part(watch, n_done / n_trees, n_more / n_trees)
                part = grower.grow_quietly(first + n_done, n_more, of_part)
                self._save(part, first + n_done)
            parts.append(part)
            n_done += part.n_trees
        joined = parts[0].join(*parts[1:])
        return joined if n_done == n_trees else joined.take(list(range(n_trees)))

    def _save(self, forest: Forest, first: int) -> None:
        part = copy.copy(self.model)
        part.forest_, part.n_estimators, part.oob_score = forest, forest.n_trees, False
        if "calibrate" in vars(part):
            part.__dict__["calibrate"] = None  # models of a few trees are not calibrated
        part.save(self.folder / f"trees-{first:06d}-{first + forest.n_trees:06d}.weald")

    def _find(self, codes: Codes, first: int, shrinkage: float) -> Forest | None:
        """Find the file that begins with a tree, and check that it belongs to this fit."""
        from weald.io.files import load  # imported on use: it imports all estimators

        for path in sorted(self.folder.glob(f"trees-{first:06d}-*.weald")):
            part = load(path)
            strange = _find_difference(self.model, codes, part, first)
            if strange:
                raise FormatError(
                    f"{path} is from another fit: {strange} differs. Give another folder for the checkpoint, or delete "
                    "this one."
                )
            found: Forest = part.forest_
            return found.with_shrinkage(shrinkage)
        return None

    def seed(self) -> int | None:
        """Return the seed of the saved trees, for a fit without a seed."""
        from weald.io.files import load

        for path in sorted(self.folder.glob("trees-*.weald")):
            return int(load(path).seed_)
        return None


def _find_difference(model: "RandomForest", codes: Codes, part: "RandomForest", first: int) -> str | None:
    """Return a name for the first difference between a file and this fit."""
    origin = part.forest_.origins[0]
    pairs = {
        "the estimator": (type(model), type(part)),
        "the table": (codes.fingerprint, origin.data),
        "the fingerprint of the values of X (columns may be in other units)": (codes.values, origin.values),
        "groups or stratify": (codes.design, origin.bags.design),
        "a parameter": (model.growth_, part.growth_),
        "ccp_alpha": (model.ccp_alpha, part.ccp_alpha),
        "the seed": (model.seed_, origin.seed),
        "the first tree": (first, origin.first_tree),
        "the version of the contract": (CONTRACT_VERSION, part.forest_.contract),
        "the number of origins": (1, len(part.forest_.origins)),
    }
    strange = next((name for name, (mine, theirs) in pairs.items() if mine != theirs), None)
    if strange is None and not same_categories(model.schema_, part.schema_):
        return "a category"
    if strange is None and hasattr(model, "classes_") and model.classes_.tolist() != part.classes_.tolist():
        return "a class"
    return strange


def _of_part(watch: Watch | None, begin: float, share: float) -> Watch:
    """Report the progress of one part of the work."""

    def tell(done: float) -> None:
        if watch:
            watch(begin + share * done)

    return tell
