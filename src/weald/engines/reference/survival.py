"""Survival forests, defined. Read `definition.py` first; every other engine must return the same bits.

The target of a row is one number, 2 * place + event: the place of its time among the distinct times of the table,
ascending, and whether it had the event then (1) or was censored (0). Codes, ranks and bags use only that number.

Every node computes its own targets: the martingale residuals of its rows, as integers. A row with an early event has
a positive residual, a row that outlived most others a negative one:

    residual = event - H(time)      H(t) = sum of events / rows at risk over the times up to t, all within the node

The sum of residuals over one side of a cut is the number of its events minus the number expected if both sides had the
same hazard: the numerator of the log-rank statistic. Its square over its variance under permutation of the residuals
is the gain in squared error, up to a factor of the node. So a node searches its cuts like a node of regression.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from weald.engines.reference.definition import (
    FIXED_POINT_TARGET_BITS,
    FIXED_POINT_WEIGHT_BITS,
    Coded,
    FlatTree,
    Growth,
    Node,
    Target,
    Tree,
    fill_bag,
    grow,
    in_fixed_point,
    ldexp,
    variance,
)


def exponent_of(coded: Coded, growth: Growth) -> int:
    """Exponent of the integers that represent residuals: 2^exponent is an event.

    With N rows, a cumulated hazard is at most 1 + 1/2 + ... + 1/N < 1 + ln N < 1 + bit_length(N).
    """
    if in_fixed_point(coded, growth):
        return FIXED_POINT_TARGET_BITS - (1 + FIXED_POINT_WEIGHT_BITS).bit_length()
    n_bits = growth.n_draws.bit_length()
    return 61 - (1 + n_bits).bit_length() - n_bits


@dataclass
class Hazard:
    """The cumulative hazard of some rows as integers: after each time at which there were events, by its place."""

    places: list[int]
    sums: list[int]

    def up_to(self, place: int) -> int:
        """Return the cumulative hazard at a time."""
        n_steps = bisect_right(self.places, place)
        return self.sums[n_steps - 1] if n_steps else 0


def hazard_of(numbers: Sequence[int], weights: Sequence[int], exponent: int) -> Hazard:
    """Compute the Nelson-Aalen estimate of some rows in units of 2^-exponent. Each step is rounded once."""
    by_place: dict[int, list[int]] = {}
    for number, weight in zip(numbers, weights, strict=True):
        place, event = divmod(number, 2)
        by_place.setdefault(place, [0, 0])[event] += weight
    places, steps = [], []
    at_risk = sum(weights)
    for place in sorted(by_place):
        censored, events = by_place[place]
        if events:
            places.append(place)
            steps.append(round(ldexp(float(events) / float(at_risk), exponent)))
        at_risk -= censored + events
    return Hazard(places, list(accumulate(steps)))


def event_places(coded: Coded) -> list[int]:
    """List the places of the times at which any row of the table had the event."""
    return sorted({int(number) // 2 for number in coded.numbers if int(number) % 2})


@dataclass
class SurvivalTree(Tree):
    """A tree while it grows. Its targets are the residuals of the node that was entered last."""

    exponent: int = 0
    numbers: Sequence[int] = ()  # 2 * place + event, by rank
    events: Sequence[int] = ()  # places of event times in the table
    risk: int = 0  # of the node: the sum of its cumulative hazard over these times

    def enter(self, node: Node) -> None:
        """Replace the targets of the rows of a node by their residuals in this node."""
        weights = [self.bag.weights[r] for r in node.ranks]
        hazard = hazard_of([self.numbers[r] for r in node.ranks], weights, self.exponent)
        for r in node.ranks:
            place, event = divmod(self.numbers[r], 2)
            self.target.labels[r] = (event << self.exponent) - hazard.up_to(place)
        self.risk = sum(hazard.up_to(place) for place in self.events)
        node.tally = self.tally(node.ranks)

    def write_predictions(self, node: Node, flat: FlatTree) -> None:
        """Append the risk of a node, and the variance of its residuals."""
        flat.value.append(ldexp(float(self.risk), -self.exponent))
        flat.impurity.append(variance(self, node))


def grow_forest(coded: Coded, growth: Growth, seed: int, numbers: Sequence[int]) -> Iterator[FlatTree]:
    """Grow the trees with these numbers, one after the other."""
    exponent, events = exponent_of(coded, growth), event_places(coded)
    of_rows = [int(number) for number in coded.numbers]
    for number in numbers:
        target = Target([0] * len(of_rows), 0, 0.0, exponent)
        bag = fill_bag(coded, growth, seed, number)
        yield grow(
            SurvivalTree(
                *(coded, target, growth, bag, seed, number),
                decrease_unit=2 * exponent,
                exponent=exponent,
                numbers=of_rows,
                events=events,
            )
        )
