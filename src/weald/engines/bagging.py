"""How bags are drawn: groups, and the number of draws from each stratum.

    read_design    groups and stratify of a fit  -> numbers of groups and strata in the table
    plan_bags      bootstrap, max_samples        -> Bags: draws from each stratum

A draw picks a row by its weight or, with groups, a whole group; "row" below then means group.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.data.table import Reading, Table
from weald.data.targets import number_labels, read_labels
from weald.data.task import Task
from weald.data.types import Array, ColumnLike
from weald.errors import DataError, ParameterError, shown, warn
from weald.forest.forest import Bags

MAX_DRAWS = 2**31 - 1
BALANCED = "balanced"

Numbers = npt.NDArray[np.int32]
Classes = Array


def read_design(reading: Reading, groups: ColumnLike = None, stratify: ColumnLike = None) -> Reading:
    """Add groups and strata to a table: one label for each row given by the user."""
    table = reading.table
    if groups is not None:
        table = replace(table, groups=_number_rows(groups, "groups", reading))
        if not table.weights_whole:
            raise DataError(
                "groups are drawn as a whole and rows count as often as their weight, but sample_weight has fractions. "
                "Give whole weights, or leave sample_weight out."
            )
    if stratify is not None:
        table = replace(table, strata=_number_rows(stratify, "stratify", reading))
    return replace(reading, table=table)


def _number_rows(labels: ColumnLike, name: str, reading: Reading) -> Numbers:
    """Replace the labels of the rows in the table by numbers, in sorted order."""
    n_rows = reading.table.n_rows if reading.kept is None else len(reading.kept)
    column = read_labels(labels, name, n_rows)
    return number_labels(column if reading.kept is None else column[reading.kept], name)[1]


# ------------------------------------------------------------------------------------------------------------- plan


def plan_bags(bootstrap: Any, max_samples: Any, table: Table, classes: Classes | None) -> Bags:
    """Return the number of draws from each stratum."""
    if not bootstrap:
        _refuse_design(table)
        return Bags(False, min(table.size, MAX_DRAWS))
    strata = _find_strata(bootstrap, max_samples, table)
    sizes = _sizes_of_strata(table, strata)
    if strata is None:
        draws = [count_draws(max_samples, sizes[0], table)]
    elif isinstance(max_samples, Mapping):
        draws = _draws_by_class(max_samples, sizes, table, classes)
    elif bootstrap == BALANCED:
        least = min(size for size in sizes if size)
        draws = [count_draws(max_samples, least, table) if size else 0 for size in sizes]
    else:
        draws = _share_out(count_draws(max_samples, sum(sizes), table), sizes)
    kind = "none" if strata is None else "given" if table.strata is not None else "class"
    most = _most(sum(draws), table)
    plain = strata is None and table.groups is None
    return Bags(True, most, kind, () if plain else tuple(draws))


def _refuse_design(table: Table) -> None:
    for name, given in (("groups", table.groups), ("stratify", table.strata)):
        if given is not None:
            raise ParameterError(
                f"{name} controls how bags are drawn, but bootstrap=False draws none. Set bootstrap=True, or leave "
                f"{name} out."
            )


def _find_strata(bootstrap: Any, max_samples: Any, table: Table) -> Numbers | None:
    """Return the kind of strata: the classes, the user's strata, or none."""
    by_class = {'bootstrap="balanced"': bootstrap == BALANCED, "max_samples by class": isinstance(max_samples, Mapping)}
    wanted = [words for words, is_wanted in by_class.items() if is_wanted]
    if table.strata is not None:
        wanted.append("stratify")
    if len(wanted) > 1:
        raise ParameterError(f"{' and '.join(wanted)} each define the strata of a bag. Give only one of them.")
    if not any(by_class.values()):
        return table.strata
    if table.task is Task.REGRESSION:
        raise ParameterError(f"{wanted[0]} needs classes, but a regressor has none. Give stratify to draw from strata.")
    classes: Numbers = table.target
    return classes


def _sizes_of_strata(table: Table, strata: Numbers | None) -> list[int]:
    """Count what can be drawn in each stratum: rows (with whole weights, their copies), or groups."""
    if strata is None and table.groups is None:
        return [table.size]
    strata = np.zeros(table.n_rows, dtype=np.int32) if strata is None else strata
    if table.groups is None:
        copies = table.weight if table.weights_whole else None
        n_strata = table.n_classes if table.strata is None else 0  # all rows of a class may have weight 0
        counts = np.bincount(strata, weights=copies, minlength=n_strata)
        return [int(size) for size in counts]  # sums of whole numbers up to 2^53 are exact
    first = np.unique(table.groups, return_index=True)[1]  # one row of each group
    astray = np.flatnonzero(strata[first][table.groups] != strata)
    if len(astray):
        raise DataError(
            f"Groups are drawn as a whole, but the group of row {astray[0]} is in more than one stratum or class. Put "
            "each group into one stratum."
        )
    return [int(size) for size in np.bincount(strata[first], minlength=table.n_classes if table.strata is None else 0)]


def _share_out(n_draws: int, sizes: Sequence[int]) -> list[int]:
    """Distribute the draws over the strata in proportion, rounded, at least one each."""
    total = sum(sizes)
    return [max(1, (2 * n_draws * size + total) // (2 * total)) for size in sizes]


def _draws_by_class(
    max_samples: Mapping[object, object], sizes: Sequence[int], table: Table, classes: Classes | None
) -> list[int]:
    """Read the number of draws (or a fraction) of each class; by default it is the number of rows of the class."""
    labels = [] if classes is None else classes.tolist()
    unknown = [label for label in max_samples if label not in labels]
    if unknown:
        raise ParameterError(
            f"max_samples names the class {unknown[0]!r}, which y does not have. Its classes are {labels}."
        )
    return [
        count_draws(max_samples.get(label), size, table) if size else 0
        for label, size in zip(labels, sizes, strict=True)
    ]


def count_draws(max_samples: Any, size: int, table: Table) -> int:
    """Return the number of draws from a number of rows, copies or groups."""
    if max_samples is not None:
        return int(max_samples) if isinstance(max_samples, Integral) else max(1, math.floor(max_samples * size))
    if table.groups is None and table.size > 10 * table.n_rows:
        warn(
            f"sample_weight adds up to {table.size}, over 10 times the {table.n_rows} rows, and a bag has as many "
            "draws. If they are survey weights rather than numbers of copies, give max_samples, for example "
            f"max_samples={table.n_rows}."
        )
    return size


def _most(n_draws: int, table: Table) -> int:
    """Return the maximum size of a bag: the draws, or with groups the draws times the largest group."""
    most = n_draws
    if table.groups is not None:
        most *= int(np.bincount(table.groups, weights=table.weight).max())
    if most > MAX_DRAWS:
        raise ParameterError(
            f"A bag would have {'up to ' if most > n_draws else ''}{shown(most)} draws; fewer than 2**31 are "
            f"possible. Give max_samples, for example max_samples={table.n_rows}."
        )
    return most
