"""Choosing by out-of-bag error between trees that use kernels and columns, and trees that use columns only.

The more columns a node considers, the better the best split looks by chance. If the columns of X determine the target,
trees of columns only have lower error; if class borders are curved or oblique, kernels do. Alternating both kinds of
trees is often better than either.

    choose_mix     grows some trees of each kind, and chooses the kind with the lowest out-of-bag error
    MixChoice      the errors, the choice, and its reason
    list_runs      the kind of each tree
    share_draws    probabilities of drawing a column
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weald.engines.interface import AddVotes
from weald.forest.forest import Forest

COLUMNS = "columns"  # trees of columns only
MIXED = "mixed"  # trees of kernels and columns
IN_TURN = "in turn"  # both kinds alternate
RUN = 16  # consecutive trees of one kind
TRIED = 4  # number of runs grown for the choice

Grow = Callable[[str, int, int], Forest]  # (kind of the trees, number of the first tree, number of trees)


@dataclass(frozen=True)
class MixChoice:
    """The result of `mix="auto"`: the errors of the kinds of trees, and the choice.

    Attributes
    ----------
    way : str
        "mixed": trees use kernels and columns. "columns": trees use columns of X only, as in a random forest. "in
        turn": 16 trees of one kind, then 16 of the other, and so on.
    errors : dict
        The out-of-bag error of 32 trees of each kind; empty if nothing was tried.
    reason : str
        The reason for the choice.
    """

    way: str
    errors: dict[str, float]
    reason: str

    def __str__(self) -> str:
        return self.reason


def choose_mix(grow: Grow, open_bags: Callable[[list[Forest]], AddVotes]) -> MixChoice:
    """Compare 32 trees of each kind by out-of-bag error. Ties go to the first kind."""
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
        return MixChoice(IN_TURN, {}, "There are no out-of-bag rows, so both kinds of trees alternate.")
    way = min(errors, key=lambda name: errors[name])
    found = ", ".join(f"{name} {error:.4g}" for name, error in errors.items())
    return MixChoice(way, errors, f'"{way}" has the lowest out-of-bag error of 32 trees: {found}.')


def list_runs(way: str, first: int, n_trees: int) -> Iterator[tuple[str, int, int]]:
    """List runs of trees of one kind: kind, number of the first tree, number of trees.

    The first runs are those grown to choose from, regardless of the choice.

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
    """Return the weights of columns for a kind of trees: half of the draws are columns of X, or all."""
    if kind == COLUMNS:
        return (0.0,) * n_kernel + (1.0,) * n_raw
    return (float(n_raw),) * n_kernel + (float(n_kernel),) * n_raw if n_raw != n_kernel else ()
