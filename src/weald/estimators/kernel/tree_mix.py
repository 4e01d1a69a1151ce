"""Trees that see kernels and columns, or columns alone: the out-of-bag error decides.

A cut is the best of many, and the more columns a node looks at, the better the best looks by luck. Where columns say
it all, trees of columns alone err less; where borders are round or slanted, kernels do. Trees of both kinds, some after
the other, are often better than either.

    choose_mix     grow some trees of each kind, and take the way of least out-of-bag error
    MixChoice      what was tried, what was chosen, and why
    list_runs      which trees are of which kind
    share_draws    how likely a column is drawn
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weald.engines.interface import AddVotes
from weald.forest.forest import Forest

COLUMNS = "columns"  # trees of columns alone
MIXED = "mixed"  # trees of kernels and columns
IN_TURN = "in turn"  # trees of columns alone, and trees of kernels and columns
RUN = 16  # trees of one kind that stand together
TRIED = 4  # runs that are grown to choose from

Grow = Callable[[str, int, int], Forest]  # the kind of the trees, the number of the first, how many


@dataclass(frozen=True)
class MixChoice:
    """What `mix="auto"` tried and chose.

    Attributes
    ----------
    way : str
        "mixed": trees look at kernels and columns. "columns": at columns of X alone, as those of a random forest.
        "in turn": 16 trees of the one kind, then 16 of the other, and so on.
    errors : dict
        The out-of-bag error of 32 trees of each way; empty where nothing was tried.
    reason : str
        Why this one.
    """

    way: str
    errors: dict[str, float]
    reason: str

    def __str__(self) -> str:
        return self.reason


def choose_mix(grow: Grow, open_bags: Callable[[list[Forest]], AddVotes]) -> MixChoice:
    """Judge 32 trees of each way by the rows outside their bags. Ties go to the way that stands first."""
    grown = [grow(kind, k * RUN, RUN) for k, kind in enumerate((COLUMNS, MIXED) * (TRIED // 2))]
    add_votes = open_bags(grown)
    one, two, three, four = grown
    of_one, of_two = add_votes(one, None), add_votes(two, None)
    errors = {
        IN_TURN: float(add_votes(two, of_one).errors[-1]),
        MIXED: float(add_votes(four, of_two).errors[-1]),
        COLUMNS: float(add_votes(three, of_one).errors[-1]),
    }
    if not all(map(math.isfinite, errors.values())):
        return MixChoice(IN_TURN, {}, "No row is outside a bag, so trees of both kinds were taken in turn.")
    way = min(errors, key=lambda name: errors[name])
    found = ", ".join(f"{name} {error:.4g}" for name, error in errors.items())
    return MixChoice(way, errors, f'"{way}" has the least out-of-bag error of 32 trees: {found}.')


def list_runs(way: str, first: int, n_trees: int) -> Iterator[tuple[str, int, int]]:
    """List trees of one kind that stand together: the kind, the number of the first, how many.

    The first runs are those that are grown to choose from, whatever was chosen.

    Examples
    --------
    >>> from weald.estimators.kernel.tree_mix import list_runs
    >>> list(list_runs("in turn", 10, 30))
    [('columns', 10, 6), ('mixed', 16, 16), ('columns', 32, 8)]
    """
    end = first + n_trees
    while first < end:
        run = first // RUN
        n_more = min(end, (run + 1) * RUN) - first
        if way != IN_TURN and run >= TRIED:
            n_more = end - first
        yield (way if way != IN_TURN else MIXED if run % 2 else COLUMNS), first, n_more
        first += n_more


def share_draws(kind: str, n_kernel: int, n_raw: int) -> tuple[float, ...]:
    """Weigh columns for a kind of trees: half of the draws are raw ones, which kernels would outnumber, or all."""
    if kind == COLUMNS:
        return (0.0,) * n_kernel + (1.0,) * n_raw
    return (float(n_raw),) * n_kernel + (float(n_kernel),) * n_raw if n_raw != n_kernel else ()
