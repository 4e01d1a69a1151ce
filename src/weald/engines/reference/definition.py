"""The random forest, defined.

This file is what a weald forest *is*. It is plain Python on lists, ints and floats: slow, complete, and meant to be
read from top to bottom. Every other engine must return the same forest, bit for bit, and is tested against it.

    1  random numbers       a function of seed, address, tree and purpose
    2  weights              row weights as integers
    3  codes                the values of a column as small integers
    4  ranks                an order of rows that does not depend on their order in the table
    5  targets              class numbers, or numbers as integers
    6  bags                 the rows that a tree sees, as counts
    7  criteria             the score of a cut
    8  splits               the best cut of a node
    9  growth               from the root to the leaves
    10 predictions          from a row to its leaf, and the sum over trees
    11 out of bag           predictions for rows outside the bags, and the error after each tree

Two rules make it reproducible on every machine. Statistics are exact integers, so the order of summation does not
matter. Floats appear only in scores, thresholds and leaf values, computed by + - * / in the order written here: no
sum() of floats, no **, no logarithm of the machine's library.
"""

import heapq
import math
import operator
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise

# ------------------------------------------------------------------------------------------------ 1 random numbers

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
PURPOSE_BAG = 0
PURPOSE_FEATURES = 1
PURPOSE_CUTS = 2
ROOT_ID = 1


def mix64(x: int) -> int:
    """Hash 64 bits: the finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK64
    return x ^ (x >> 31)


def philox(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Philox4x32-10: four random words for a counter of four words and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def draw(seed: int, address: int, tree: int, purpose: int, i: int) -> int:
    """Draw number `i` at an address: 64 random bits."""
    counter = (address & MASK32, address >> 32, tree, purpose + 256 * (i // 2))
    words = philox(counter, (seed & MASK32, seed >> 32))
    first = 2 * (i % 2)
    return words[first] | words[first + 1] << 32


def below(bits: int, n: int) -> int:
    """Turn 64 random bits into a number from 0 to n - 1."""
    return bits * n >> 64


def child_id(node_id: int, side: int) -> int:
    """Return the identifier of a child, determined by its path: side 0 is left, 1 is right."""
    return mix64((2 * node_id + side) & MASK64)


# ------------------------------------------------------------------------------------------------------- 2 weights

WHOLE_LIMIT = 2**31  # upper limit of sizes, exclusive


Wide = tuple[int, float]  # (k, m): m * 2^k with m from 1/2 to 1, or 0; products may exceed the range of doubles
ZERO = (-(2**28), 0.0)  # smaller than any other exponent


def wide(x: float) -> Wide:
    """Convert a nonnegative double to exponent and mantissa."""
    m, k = math.frexp(x)
    return (k, m) if m else ZERO


def multiply(a: Wide, b: Wide) -> Wide:
    """Multiply with one rounding, like doubles with unlimited exponents."""
    k, m = wide(a[1] * b[1])
    return (k + a[0] + b[0], m) if m else ZERO


def fixed_point_shift(weights: Sequence[Wide]) -> int:
    """Exponent of the integers that represent fractional weights: 2^exponent is a weight of 1."""
    return 53 - max(weights)[0] - len(weights).bit_length()


def fixed_point(weights: Sequence[Wide]) -> list[int]:
    """Convert fractional weights to integers whose total stays near 2^53."""
    shift = fixed_point_shift(weights)
    return [max(1, round(math.ldexp(m, k + shift))) for k, m in weights]


def line_weights(weights: Sequence[float], whole: bool) -> list[int]:
    """Return the length of each row's interval on the line from which bags are drawn."""
    return [int(w) for w in weights] if whole else fixed_point([wide(w) for w in weights])


# --------------------------------------------------------------------------------------------------------- 3 codes

MISSING = 2**32 - 1  # code of a missing value in the hash of a row
SAMPLE_SIZE = 2**18  # copies of rows whose quantiles define codes
NAN_BITS = 0x7FF8000000000000


def float_bits(x: float) -> int:
    """Return the 64 bits of a float. -0.0 counts as 0.0, and all NaNs are equal."""
    if x != x:
        return NAN_BITS
    (bits,) = struct.unpack("<Q", struct.pack("<d", x + 0.0))
    return int(bits)


@dataclass
class Column:
    """A column as codes 0, 1, 2 ... (None: missing), with the smallest and largest value of each code.

    The values of a categorical column are the numbers of its categories. Each category has its own code.
    """

    codes: list[int | None]
    lows: list[float]
    highs: list[float]
    is_categorical: bool = False


def hash_values(columns: Sequence[Sequence[float]], targets: Sequence[int]) -> list[int]:
    """Hash each row by its values and the bits of its target."""
    salts = [mix64(f + 1) for f in range(len(columns))]
    hashes = []
    for r, target in enumerate(targets):
        total = mix64(target)
        for column, salt in zip(columns, salts, strict=True):
            total += mix64((float_bits(column[r]) + salt) & MASK64)
        hashes.append(mix64(total & MASK64))
    return hashes


def sample_rows(hashes: Sequence[int], copies: Sequence[int]) -> list[int]:
    """Choose the rows whose quantiles define codes: all, or those with the lowest hashes."""
    rows = range(len(hashes))
    if sum(copies) <= SAMPLE_SIZE:
        return list(rows)
    seen = 0
    for r in sorted(rows, key=hashes.__getitem__):
        seen += copies[r]
        if seen >= SAMPLE_SIZE:
            highest = hashes[r]
            break
    return [r for r in rows if hashes[r] <= highest]


def cut_quantiles(values: Sequence[float], weights: Sequence[int], max_bins: int) -> list[float]:
    """Divide sampled values into codes of about equal weight; return the smallest value of each."""
    weight_of: dict[float, int] = {}
    for x, w in zip(values, weights, strict=True):
        weight_of[x] = weight_of.get(x, 0) + w
    starts: list[float] = []
    weight_left = sum(weights)
    inside, at_start = 0, weight_left
    for x in sorted(weight_of):
        if inside == 0:
            starts.append(x)
            at_start = weight_left
        inside += weight_of[x]
        weight_left -= weight_of[x]
        codes_left = max_bins - len(starts) + 1
        if inside * codes_left >= at_start:
            inside = 0
    return starts


def code_column(values: Sequence[float], weights: Sequence[int], sample: Sequence[int], max_bins: int) -> Column:
    """Replace values by codes; `max_bins` 0 keeps every distinct value."""
    values = [x + 0.0 for x in values]  # -0.0 becomes 0.0
    starts = sorted({x for x in values if x == x})
    if max_bins and len(starts) > max_bins:
        sampled = [r for r in sample if values[r] == values[r]]
        starts = cut_quantiles([values[r] for r in sampled], [weights[r] for r in sampled], max_bins) or starts[:1]
    codes: list[int | None] = [None if x != x else max(0, bisect_right(starts, x) - 1) for x in values]
    lows, highs = [math.inf] * len(starts), [-math.inf] * len(starts)
    for x, code in zip(values, codes, strict=True):
        if code is not None:
            lows[code], highs[code] = min(lows[code], x), max(highs[code], x)
    return Column(codes, lows, highs)


# --------------------------------------------------------------------------------------------------------- 4 ranks


@dataclass
class Coded:
    """A training table as engines see it. Rows are in rank order; `position[rank]` is the row of the user's table."""

    columns: list[Column]
    classes: list[int]  # empty: regression
    numbers: list[float]  # empty: classification
    n_classes: int  # 0: regression
    weight: list[float]
    whole: bool
    line: list[int]
    position: list[int]
    fingerprint: int  # fingerprint of the codes and the target
    values: int | None  # fingerprint of the values and the target; None: unknown
    strata: list[int]  # empty: a single stratum
    groups: list[int]  # the rank of each row's group; empty: each row is its own group
    design: int  # fingerprint of strata and groups; 0: neither


def code_table(
    columns: Sequence[Sequence[float]],
    classes: Sequence[int],
    numbers: Sequence[float],
    n_classes: int,
    weight: Sequence[float],
    whole: bool,
    max_bins: int,
    strata: Sequence[int] = (),
    groups: Sequence[int] = (),
    categorical: Sequence[int] = (),
) -> Coded:
    """Code every column and rank the rows by (hash of their codes, target, position)."""
    numbers = [y + 0.0 for y in numbers]  # -0.0 becomes 0.0
    target: Sequence[float] = classes if n_classes else numbers
    target_bits = list(classes) if n_classes else [float_bits(y) for y in numbers]
    line = line_weights(weight, whole)
    copies = line if whole else [1] * len(target)
    value_hashes = hash_values(columns, target_bits)
    sample = sample_rows(value_hashes, copies)
    coded = [code_column(values, line, sample, 0 if f in categorical else max_bins) for f, values in enumerate(columns)]
    for f in categorical:
        coded[f].is_categorical = True
    hashes = [hash_row([c.codes[r] for c in coded]) for r in range(len(target))]
    position = sorted(range(len(target)), key=lambda r: (hashes[r], target[r], r))
    prints = [print_row(h, bits) for h, bits in zip(hashes, target_bits, strict=True)]
    group_rank, of_groups = rank_groups(groups, prints, line)
    of_strata = sum(line[r] * mix64((prints[r] + mix64(stratum + 1)) & MASK64) for r, stratum in enumerate(strata))
    for column in coded:
        column.codes = [column.codes[r] for r in position]
    return Coded(
        columns=coded,
        classes=[classes[r] for r in position] if n_classes else [],
        numbers=[] if n_classes else [numbers[r] for r in position],
        n_classes=n_classes,
        weight=[weight[r] for r in position],
        whole=whole,
        line=[line[r] for r in position],
        position=position,
        fingerprint=sum(w * p for w, p in zip(line, prints, strict=True)) & MASK64,
        values=sum(n * h for n, h in zip(copies, value_hashes, strict=True)) & MASK64,
        strata=[strata[r] for r in position] if strata else [],
        groups=[group_rank[groups[r]] for r in position] if groups else [],
        design=(of_strata + of_groups) & MASK64,
    )


def hash_row(codes: Sequence[int | None]) -> int:
    """Hash the codes of a row, so that ranks do not depend on the order of rows."""
    total = 0
    for f, code in enumerate(codes):
        total += mix64(f * 2**32 + (MISSING if code is None else code))
    return mix64(total & MASK64)


PRINT_SALT = 0x9E3779B97F4A7C15  # mix64(0) is 0, but a row whose hash and target are 0 must count, too


def print_row(row_hash: int, target: int) -> int:
    """Return what a row of weight 1 adds to the fingerprint of the data, and to the key of its group."""
    return mix64((row_hash + mix64(target) + PRINT_SALT) & MASK64)


def rank_groups(groups: Sequence[int], prints: Sequence[int], line: Sequence[int]) -> tuple[dict[int, int], int]:
    """Rank groups by what their rows add to the fingerprint of the data, ties by their first row.

    Also returns a fingerprint of the grouping.
    """
    keys: dict[int, int] = {}  # in the order of their first rows
    for group, p, w in zip(groups, prints, line, strict=False):
        keys[group] = (keys.get(group, 0) + w * p) & MASK64
    ranked = sorted(keys, key=keys.__getitem__)  # sorting keeps the order of equal keys
    return {group: rank for rank, group in enumerate(ranked)}, sum(mix64(key) for key in keys.values())


# ------------------------------------------------------------------------------------------------------- 5 targets


@dataclass
class Target:
    """The target: class numbers, or integers q with y = center + q / 2^exponent."""

    labels: list[int]
    n_classes: int
    center: float = 0.0
    exponent: int = 0


FIXED_POINT_TARGET_BITS = 35  # with fractional weights: sums of weight * q * q stay below 2^127
FIXED_POINT_WEIGHT_BITS = 54  # bits of the sum of such weights
DOUBLE_BITS = 53
FINE_BITS = 30  # the width of the targets should be at least 2^30 units, about 10^9


def narrow_exponent(k: int, n_draws: int | None) -> int:
    """Exponent of integers below 2^k that can be summed `n_draws` times in 64 bits (None: weights in fixed point)."""
    return FIXED_POINT_TARGET_BITS - k if n_draws is None else 61 - k - n_draws.bit_length()


def wide_exponent(k: int, n_draws: int | None) -> int:
    """Like `narrow_exponent`, with 128 bits for sums."""
    return 120 - k - (FIXED_POINT_WEIGHT_BITS if n_draws is None else n_draws.bit_length())


@dataclass
class Spread:
    """A robust location and scale of numbers, which a few outliers do not affect."""

    median: float
    width: float  # interquartile range; if it is 0, the median distance of the other numbers from the quartiles


def spread_of(y: Sequence[float], lengths: Sequence[int]) -> Spread:
    """Compute the spread of numbers with weights `lengths`."""
    low, median, high = (quantile(y, lengths, quarters) for quarters in (1, 2, 3))
    if low < high:
        return Spread(median, high - low)
    others = [r for r, v in enumerate(y) if v != median]
    distances = [abs(y[r] - median) for r in others]
    return Spread(median, quantile(distances, [lengths[r] for r in others], 2) if others else math.inf)


def quantile(values: Sequence[float], lengths: Sequence[int], quarters: int) -> float:
    """Return the smallest value up to which the values have at least `quarters` quarters of the total length."""
    ascending = sorted(zip(values, lengths, strict=True))
    ends = accumulate(length for _, length in ascending)
    at_least = quarters * sum(lengths)
    return next(value for (value, _), end in zip(ascending, ends, strict=True) if 4 * end >= at_least)


def is_coarse(width: float, exponent: int) -> bool:
    """Return whether units of 2^-exponent would round numbers of this width noticeably."""
    return ldexp(width, exponent - FINE_BITS) < 1.0


def fix_target(
    y: Sequence[float], n_draws: int | None, lengths: Sequence[int] | None, *, from_zero: bool = False
) -> Target:
    """Express numbers as integers that can be summed exactly.

    By default they are narrow: their sums have 64 bits, or 128 with weights in fixed point. If an outlier would cost
    all other numbers their precision, and `lengths` are given, they are wide, so that the precision is kept.
    With `from_zero` the center is 0, so that sums of integers are sums of the numbers.
    """
    center = 0.0 if from_zero else min(y) / 2 + max(y) / 2
    reach = max(abs(v - center) for v in y)
    if reach == 0:
        return Target([0] * len(y), 0, center, 0)
    k = math.frexp(reach)[1]
    exponent = narrow_exponent(k, n_draws)
    if lengths is not None:
        spread = spread_of(y, lengths)
        middle = 0.0 if from_zero else spread.median
        reach = max(abs(v - middle) for v in y)
        if is_coarse(spread.width, min(exponent, DOUBLE_BITS - k)) and reach <= LARGEST:
            center, exponent = middle, wide_exponent(math.frexp(reach)[1], n_draws)
    return Target([round(math.ldexp(v - center, exponent)) for v in y], 0, center, exponent)


def target_of(coded: Coded, growth: "Growth", *, may_be_wide: bool = True) -> Target:
    """Return the target as class numbers or as integers."""
    if coded.n_classes:
        return Target(coded.classes, coded.n_classes)
    from_zero = growth.criterion in OF_COUNTS
    if from_zero and min(coded.numbers) < 0:
        raise ValueError(f"criterion '{growth.criterion}' needs targets of at least 0")
    exact = growth.bootstrap or (coded.whole and sum(coded.line) < WHOLE_LIMIT)
    n_draws, lengths = growth.n_draws if exact else None, coded.line if may_be_wide else None
    return fix_target(coded.numbers, n_draws, lengths, from_zero=from_zero)


LARGEST = 1.7976931348623157e308
SMALLEST = 5e-324


def within_doubles(x: float) -> float:
    """Clip a sum that overflows to the largest double."""
    return min(max(x, -LARGEST), LARGEST)


def ldexp(x: float, exponent: int) -> float:
    """Return x * 2^exponent, clipped to the largest double."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.copysign(LARGEST, x)


def positive_power(x: float, exponent: int) -> float:
    """Like `ldexp` for a positive number; results that are too small become the smallest double."""
    return max(ldexp(x, exponent), SMALLEST)


# ---------------------------------------------------------------------------------------------------------- 6 bags


@dataclass
class Bag:
    """The rows of one tree by rank: how often each counts in sizes, and its weight in statistics."""

    sizes: list[int]
    weights: list[int]
    scale: float | None = None  # factor from weights to the user's units; None: 1


def draw_counts(coded: Coded, growth: "Growth", seed: int, tree: int) -> list[int]:
    """Draw with replacement: each draw picks a position on a line on which rows in rank order have their lengths.

    Each stratum has its own line, and strata are drawn from one after the other. With groups, a line consists of
    groups, all of length 1, and the rows of a group count as often as the group was drawn.
    """
    units = coded.groups or list(range(len(coded.line)))  # rows or groups to draw, by rank
    lengths = [1] * (max(units) + 1) if coded.groups else coded.line
    counts = [0] * len(lengths)
    drawn = 0
    for members, n_draws in zip(units_of_strata(coded, growth, units), growth.draws or [growth.n_draws], strict=True):
        ends = list(accumulate(lengths[unit] for unit in members))
        for j in range(drawn, drawn + n_draws):
            place = below(draw(seed, j // 2, tree, PURPOSE_BAG, j % 2), ends[-1])
            counts[members[bisect_right(ends, place)]] += 1
        drawn += n_draws
    return [counts[g] * w for g, w in zip(coded.groups, coded.line, strict=True)] if coded.groups else counts


def units_of_strata(coded: Coded, growth: "Growth", units: Sequence[int]) -> list[list[int]]:
    """List the rows or groups of each stratum, in rank order."""
    if growth.strata == "none":
        return [sorted(set(units))]
    strata = coded.classes if growth.strata == "class" else coded.strata
    members: list[set[int]] = [set() for _ in growth.draws]
    for unit, stratum in zip(units, strata, strict=True):
        members[stratum].add(unit)
    return [sorted(some) for some in members]


def class_scales(weights: Sequence[Wide]) -> list[int]:
    """Convert class weights to integers: the largest is 2^20, and only a weight of 0 is 0."""
    largest, of_largest = max(weights)
    return [max(1, round(math.ldexp(m / of_largest, 20 + k - largest))) if m else 0 for k, m in weights]


def balanced_weights(counts: Sequence[int], labels: Sequence[int], n_classes: int) -> list[Wide]:
    """Weight classes inversely to their frequency; an absent class has weight 0."""
    of_class = [0] * n_classes
    for n, k in zip(counts, labels, strict=True):
        of_class[k] += n
    total = sum(of_class)
    return [wide(float(total) / float(n_classes * n)) if n else ZERO for n in of_class]


def fill_bag(coded: Coded, growth: "Growth", seed: int, tree: int) -> Bag:
    """Compute how often each row counts in this tree, and its weight."""
    return weigh_bag(coded, growth, count_rows(coded, growth, seed, tree))


def count_rows(coded: Coded, growth: "Growth", seed: int, tree: int) -> list[int]:
    """Compute how often each row counts in this tree."""
    if growth.bootstrap:
        return draw_counts(coded, growth, seed, tree)
    return [1] * len(coded.line) if in_fixed_point(coded, growth) else coded.line


def in_fixed_point(coded: Coded, growth: "Growth") -> bool:
    """Return whether statistics use fixed-point weights."""
    return not growth.bootstrap and (not coded.whole or sum(coded.line) >= WHOLE_LIMIT)


def weigh_bag(coded: Coded, growth: "Growth", sizes: list[int]) -> Bag:
    """Compute the weights of a bag's rows in statistics."""
    class_weights = [wide(w) for w in growth.class_weights]
    if growth.class_weight == "table":
        class_weights = balanced_weights(coded.line, coded.classes, coded.n_classes)
    if growth.class_weight == "bag":
        class_weights = balanced_weights(sizes if growth.bootstrap else coded.line, coded.classes, coded.n_classes)
    return weigh_rows(coded, growth, sizes, class_weights)


def weigh_rows(coded: Coded, growth: "Growth", sizes: list[int], class_weights: Sequence[Wide]) -> Bag:
    """Weight rows by their sizes and by the weights of their classes, if any. Classes of weight 0 leave the bag."""
    if growth.class_weight != "none":
        sizes = [n if class_weights[k] > ZERO else 0 for n, k in zip(sizes, coded.classes, strict=True)]
    if in_fixed_point(coded, growth):
        weights = [wide(w) for w in coded.weight]
        if growth.class_weight != "none":
            weights = [multiply(w, class_weights[k]) for w, k in zip(weights, coded.classes, strict=True)]
        return Bag(sizes, fixed_point(weights), positive_power(1.0, -fixed_point_shift(weights)))
    if growth.class_weight == "none":
        return Bag(sizes, sizes)
    scales, (k, m) = class_scales(class_weights), max(class_weights)
    of_rows = [n * scales[label] for n, label in zip(sizes, coded.classes, strict=True)]
    return Bag(sizes, of_rows, positive_power(m, k - 20))


# ------------------------------------------------------------------------------------------------------ 7 criteria


@dataclass
class Tally:
    """Statistics of a set of rows: size, weight, and the weights of the classes or the sum of the targets."""

    size: int
    weight: int
    classes: list[int]
    total: int = 0
    numbers: dict[int, int] = field(default_factory=dict)  # weights by target, for criteria about the median

    def plus(self, other: "Tally") -> "Tally":
        """Add the statistics of a disjoint set."""
        classes = [a + b for a, b in zip(self.classes, other.classes, strict=True)]
        numbers = add_weights(self.numbers, other.numbers, 1)
        return Tally(self.size + other.size, self.weight + other.weight, classes, self.total + other.total, numbers)

    def minus(self, other: "Tally") -> "Tally":
        """Subtract the statistics of a subset."""
        classes = [a - b for a, b in zip(self.classes, other.classes, strict=True)]
        numbers = add_weights(self.numbers, other.numbers, -1)
        return Tally(self.size - other.size, self.weight - other.weight, classes, self.total - other.total, numbers)


def add_weights(some: dict[int, int], others: dict[int, int], sign: int) -> dict[int, int]:
    """Add or subtract weights by target; targets without weight are left out."""
    found = dict(some)
    for q, weight in others.items():
        found[q] = found.get(q, 0) + sign * weight
    return {q: weight for q, weight in found.items() if weight}


def medians(side: Tally) -> tuple[int, int]:
    """Return the lowest and the highest weighted median; they differ if half of the weight is up to the lowest."""
    low, seen = None, 0
    for q in sorted(side.numbers):
        seen += side.numbers[q]
        if low is None and 2 * seen >= side.weight:
            low = q
        if low is not None and 2 * seen > side.weight:
            return low, q
    raise ValueError("a child without rows has no median")


def deviations(side: Tally) -> int:
    """Sum the absolute deviations from the median, which is the lowest sum for any center."""
    median, _ = medians(side)
    return sum(weight * abs(q - median) for q, weight in side.numbers.items())


def log2(x: float) -> float:
    """Logarithm in bits of a float >= 1, by + - * / only: log((1 + z) / (1 - z)) = 2 (z + z^3/3 + z^5/5 + ...)."""
    m, k = math.frexp(x)
    if m < 0.7071067811865476:
        m, k = m * 2.0, k - 1
    z = (m - 1.0) / (m + 1.0)
    zz = z * z
    series = 1.0 / 23.0
    for odd in (21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        series = series * zz + 1.0 / odd
    series = series * zz + 1.0
    return float(k) + z * series * 2.8853900817779268  # 2 / ln 2


LN2 = 0.6931471805599453
LARGEST_SHIFT = 900  # limit for shifts of decreases: their sums stay below the largest double


def x_log2_x(n: int) -> float:
    """F(n) = n log2 n, with F(0) = 0."""
    x = float(n)
    return x * log2(x) if n else 0.0


def gini(side: Tally, mean: int) -> float:
    """Sum of squared class weights over the weight: weight * (1 - Gini index)."""
    return float(sum(c * c for c in side.classes)) / float(side.weight)


def misclassification(side: Tally, mean: int) -> float:
    """Weight of the most common class: weight * (1 - misclassification rate)."""
    return float(max(side.classes))


def entropy(side: Tally, mean: int) -> float:
    """Sum of F(class) - F(weight): weight * (- entropy in bits)."""
    total = 0.0
    for c in side.classes:
        total += x_log2_x(c)
    return total - x_log2_x(side.weight)


def squared_error(side: Tally, mean: int) -> float:
    """Squared sum of the targets about the node's mean, over the weight: the squares explained by the side's mean."""
    a = float(side.total - side.weight * mean)
    return a * a / float(side.weight)


def poisson(side: Tally, mean: int) -> float:
    """S * (log2 S - log2 weight), S the sum of the targets: up to a constant, minus half the deviance in bits."""
    s = float(side.total)
    return s * (log2(s) - log2(float(side.weight))) if side.total else 0.0


def absolute_error(side: Tally, mean: int) -> float:
    """Minus the sum of absolute deviations from the median."""
    return -float(deviations(side))


Term = Callable[[Tally, int], float]

# A criterion scores a cut by term(left) + term(right); larger is better. `mean` is the node's mean, rounded down.
CRITERIA: dict[str, Term] = {
    "gini": gini,
    "entropy": entropy,
    "misclassification": misclassification,
    "squared_error": squared_error,
    "poisson": poisson,
    "absolute_error": absolute_error,
    "log_rank": squared_error,  # of the residuals of the node: see survival.py
}
# Targets are at least 0, and their integers are not centered. Sides whose targets are all 0 are not admissible.
OF_COUNTS = ("poisson",)
# Nodes predict the median, and their impurity is the mean absolute deviation from it.
OF_MEDIANS = ("absolute_error",)
# Targets are times and events, of which each node computes its own targets.
OF_SURVIVAL = ("log_rank",)
# If scores are equal, the higher score by this criterion wins, before anything else is compared.
TIE_BREAKERS: dict[str, Term] = {"misclassification": gini}


# -------------------------------------------------------------------------------------------------------- 8 splits


@dataclass
class Growth:
    """Parameters of growth as plain numbers."""

    criterion: str
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_nodes: int  # 0: no limit
    bootstrap: bool
    n_draws: int  # maximum size of a bag
    class_weight: str  # "none", "given", or balanced by "table" or by "bag"
    class_weights: Sequence[float] = ()
    strata: str = "none"  # kind of strata: "none", "class", or "given"
    draws: Sequence[int] = ()  # from each stratum; empty: n_draws from all rows
    random_cuts: bool = False  # each feature offers one random cut, not its best one
    monotonic: Sequence[int] = ()  # by feature: 1 increasing, -1 decreasing, 0 unconstrained; empty: all unconstrained
    interaction_groups: Sequence[Sequence[int]] = ()  # features that may occur on one path; empty: all may
    max_interacting: int = 0  # maximum number of features on one path; 0: no limit
    feature_weights: Sequence[float] = ()  # relative probability of drawing each feature; empty: all equal
    category_penalty: float = 0.0  # cost of each category beyond two, in units of the gain expected by chance
    ties_by_column: bool = False  # if all features are considered, ties go to the first column; no draw
    max_categories: int = 0  # columns with more categories are cut in their order, like numbers; 0: none are


FREE_CATEGORIES = 10  # columns with at most this many categories have no penalty


@dataclass
class Split:
    """A cut of a node: values <= threshold go left, or a set of categories. The first codes of `order` do."""

    feature: int
    threshold: float
    order: Sequence[int]  # the codes that the node has, in the order of the cut
    n_left: int
    missing_left: bool
    score: float
    tie_score: float
    unevenness: int
    left: Tally
    right: Tally
    noise: float = 0.0  # the score expected by chance; subtracted for comparison with other features

    @property
    def worth(self) -> float:
        """The score that is compared with the cuts of other features."""
        return self.score - self.noise

    @property
    def cuts_off_missing(self) -> bool:
        """Whether the cut only separates missing from present values."""
        return self.threshold == math.inf

    def beats(self, other: "Split | None") -> bool:
        """Compare two cuts of one feature, where `other` is the earlier candidate."""
        if other is None:
            return True
        mine = (self.score, self.tie_score, -self.unevenness)
        return mine > (other.score, other.tie_score, -other.unevenness)

    def beats_earlier_feature(self, other: "Split | None") -> bool:
        """Compare with the best cut of features drawn earlier: a tie goes to the earlier feature."""
        if other is None:
            return True
        return (self.worth, self.tie_score) > (other.worth, other.tie_score)


@dataclass
class Tree:
    """A tree while it grows: the table, the bag, and the values shared by all its nodes."""

    coded: Coded
    target: Target
    growth: Growth
    bag: Bag
    seed: int
    number: int
    root_weight: int = 0
    min_weight: int = 0
    decrease_unit: int = 0  # a decrease is in units of 2^-decrease_unit

    def tally(self, ranks: Sequence[int]) -> Tally:
        """Count a set of rows."""
        side = Tally(0, 0, [0] * self.target.n_classes)
        for r in ranks:
            w, label = self.bag.weights[r], self.target.labels[r]
            side.size += self.bag.sizes[r]
            side.weight += w
            if self.target.n_classes:
                side.classes[label] += w
            else:
                side.total += w * label
            if self.growth.criterion in OF_MEDIANS:
                side.numbers[label] = side.numbers.get(label, 0) + w
        return side

    def score(self, term: Term, node: Tally, *sides: Tally) -> float:
        """Sum the terms of the sides of a node."""
        mean = node.total // node.weight
        terms = [term(side, mean) for side in sides]
        return reduce(operator.add, terms)

    def is_cut_by_sets(self, feature: int) -> bool:
        """Return whether a feature is cut by sets: if it is categorical and has at most `max_categories`."""
        column, most = self.coded.columns[feature], self.growth.max_categories
        return column.is_categorical and (most == 0 or len(column.lows) <= most)

    def decrease(self, gain: float, weight: int) -> float:
        """Convert a gain in score to a decrease in impurity for this weight, in units of 2^-decrease_unit."""
        decrease = max(0.0, gain) / float(weight)
        if self.growth.criterion == "poisson":  # converted from bits, in units of 2^-exponent
            return ldexp(decrease * LN2, min(self.target.exponent, LARGEST_SHIFT))
        if self.growth.criterion in OF_MEDIANS:  # in units of 2^-exponent
            return ldexp(decrease, min(self.target.exponent, LARGEST_SHIFT))
        return decrease

    def is_pure(self, ranks: Sequence[int]) -> bool:
        """Return whether all rows have the same target."""
        return len({self.target.labels[r] for r in ranks}) == 1

    def enter(self, node: "Node") -> None:
        """Compute the targets of a node, where they are its own: before its search, and before it is written."""

    def orders(self, node: Tally, tallies: dict[int, Tally]) -> "Iterator[list[int]]":
        """Yield the orders in which the categories of a node are cut like numbers."""
        return orders_of_categories(node, tallies)

    def write_predictions(self, node: "Node", flat: "FlatTree") -> None:
        """Append the prediction of a node."""
        if self.target.n_classes:
            if not node.split:
                flat.classes.append(node.tally.classes)
            if self.growth.monotonic:
                flat.value.append(bounded_value(node) if node.tally.size else 0.0)  # 0: the bag is empty
        else:
            mean = self.target.center + ldexp(bounded_value(node), -self.target.exponent)
            flat.value.append(within_doubles(mean))
            of_median = self.growth.criterion in OF_MEDIANS
            flat.impurity.append(mean_deviation(self, node) if of_median else variance(self, node))


def feature_scales(weights: Sequence[float], n_features: int) -> list[int]:
    """Convert feature weights to integers: the largest is 2^20, and only a weight of 0 is 0."""
    if not weights:
        return [2**20] * n_features
    return class_scales([wide(w) for w in weights])


def draw_features(tree: Tree, node_id: int) -> Iterator[int]:
    """Yield the features with positive weight in the order in which this node considers them.

    If all of them are considered, the order decides only ties. Then a single draw orders them, so that no column wins
    more ties than another; with `ties_by_column` they keep the order of columns, and nothing is drawn.
    """
    scales = feature_scales(tree.growth.feature_weights, len(tree.coded.columns))
    features = [f for f, scale in enumerate(scales) if scale]
    if tree.growth.max_features >= len(features):
        yield from features if tree.growth.ties_by_column else order_of_ties(tree, node_id, features)
        return
    scale_left = sum(scales)
    for v in range(len(features)):
        place = below(draw(tree.seed, node_id, tree.number, PURPOSE_FEATURES, v), scale_left)
        other = v
        while place >= scales[features[other]]:
            place -= scales[features[other]]
            other += 1
        features[v], features[other] = features[other], features[v]
        scale_left -= scales[features[v]]
        yield features[v]


def order_of_ties(tree: Tree, node_id: int, features: Sequence[int]) -> list[int]:
    """Order features by a single draw of the node. No two have the same key, since mix64 is a bijection."""
    bits = draw(tree.seed, node_id, tree.number, PURPOSE_FEATURES, 0)
    return sorted(features, key=lambda f: mix64((bits + f) & MASK64))


def may_interact(growth: Growth, path: frozenset[int], feature: int) -> bool:
    """Return whether a node may be cut by a feature, given the features on its path."""
    together = path | {feature}
    if growth.max_interacting and len(together) > growth.max_interacting:
        return False
    return not growth.interaction_groups or any(together.issubset(group) for group in growth.interaction_groups)


def place_threshold(a: float, b: float) -> float:
    """Place a threshold halfway between a < b, so that a goes left and b goes right."""
    t = a / 2 + b / 2
    return t if a <= t < b else a


@dataclass
class Candidate:
    """One way to cut a node by a feature: the first `n_left` codes of an order go left."""

    order: Sequence[int]
    n_left: int
    threshold: float
    missing_left: bool
    left: Tally


def candidates(tree: Tree, node: "Node", feature: int) -> Iterator[Candidate]:
    """Yield the cuts of a node by one feature, in order."""
    column = tree.coded.columns[feature]
    by_code: dict[int, list[int]] = {}
    missing_ranks = []
    for r in node.ranks:
        code = column.codes[r]
        if code is None:
            missing_ranks.append(r)
        else:
            by_code.setdefault(code, []).append(r)
    tallies = {code: tree.tally(by_code[code]) for code in sorted(by_code)}
    missing = tree.tally(missing_ranks) if missing_ranks else None
    by_sets = tree.is_cut_by_sets(feature)
    for order in tree.orders(node.tally, tallies) if by_sets else [list(tallies)]:
        left = tree.tally([])
        for i, (code, following) in enumerate(pairwise(order)):
            left = left.plus(tallies[code])
            threshold = 0.0 if by_sets else place_threshold(column.highs[code], column.lows[following])
            yield Candidate(order, i + 1, threshold, False, left)
            if missing:
                yield Candidate(order, i + 1, threshold, True, left.plus(missing))
        if order and missing:
            threshold = 0.0 if by_sets else math.inf
            yield Candidate(order, len(order), threshold, False, node.tally.minus(missing))


def orders_of_categories(node: Tally, tallies: dict[int, Tally]) -> Iterator[list[int]]:
    """Yield the orders in which the categories of a node are cut like numbers; ties are ordered by code.

    Regression: by mean. Two classes: by the probability of the second. More classes in the node: one order for the
    probability of each class. In the first two cases the best cut of the order is the best of all subsets.
    """
    if not node.classes:
        yield sorted(tallies, key=lambda code: (float(tallies[code].total) / float(tallies[code].weight), code))
        return
    present = [k for k, weight in enumerate(node.classes) if weight]
    for k in present[1:] if len(present) == 2 else present:

        def place(code: int, k: int = k) -> tuple[float, int]:
            return float(tallies[code].classes[k]) / float(tallies[code].weight), code

        yield sorted(tallies, key=place)


def random_candidate(tree: Tree, node: "Node", feature: int) -> Iterator[Candidate]:
    """Yield one random cut by a feature, in the form of `candidates`; nothing if the feature cannot cut the node.

    The threshold is uniform between the smallest and the largest value of the node. It is moved up to the end of the
    code that it falls into, if that has more than one value. Categories are put in a random order and cut at a random
    position.
    """
    column = tree.coded.columns[feature]
    codes = [column.codes[r] for r in node.ranks]
    present = [code for code in codes if code is not None]
    if not present or (min(present) == max(present) and len(present) == len(codes)):
        return
    low, high = min(present), max(present)
    order = sorted(set(present))
    place, side = (draw(tree.seed, node.node_id, tree.number, PURPOSE_CUTS, 2 * feature + i) for i in (0, 1))
    missing_left = low != high and below(side, 2) == 1
    by_sets = tree.is_cut_by_sets(feature)
    threshold = 0.0 if by_sets else math.inf
    if low == high:
        n_left = 1
    elif by_sets:
        order, n_left = order_at_random(order, place), 1 + below(mix64(place), len(order) - 1)
    else:
        t = place_at_random(column.highs[low], column.lows[high], place)
        last_left = bisect_right(column.lows, t) - 1
        n_left, threshold = bisect_right(order, last_left), max(t, column.highs[last_left])
    left_codes = set(order[:n_left])
    left = [
        r for r, code in zip(node.ranks, codes, strict=True) if (missing_left if code is None else code in left_codes)
    ]
    yield Candidate(order, n_left, threshold, missing_left, tree.tally(left))


def order_at_random(codes: Sequence[int], bits: int) -> list[int]:
    """Put the categories of a node in an order that depends only on the draw."""
    return sorted(codes, key=lambda code: (mix64((bits + code + 1) & MASK64), code))


def place_at_random(a: float, b: float, bits: int) -> float:
    """Place a random threshold between a < b: a goes left, b goes right. Infinities count as the largest doubles."""
    a_half, b_half = max(a, -LARGEST) / 2, min(b, LARGEST) / 2
    share = float(bits >> 11) * 2.0**-53
    t = 2 * (a_half + share * (b_half - a_half))
    return t if a <= t < b else a


def side_value(side: Tally) -> float:
    """Prediction of a side: the probability of the second class, or the mean or median in the target's integers."""
    if side.numbers:
        low, high = medians(side)
        return float(low) / 2 + float(high) / 2
    return float(side.classes[1] if side.classes else side.total) / float(side.weight)


def obeys(tree: Tree, node: "Node", split: Split) -> bool:
    """Return whether a cut satisfies the monotonic constraint of its feature, and the bounds set by the nodes above."""
    sign = tree.growth.monotonic[split.feature] if tree.growth.monotonic else 0
    if sign == 0 or split.cuts_off_missing:
        return True
    left, right = side_value(split.left), side_value(split.right)
    lower, upper = (left, right) if sign > 0 else (right, left)
    return node.lower <= lower <= upper <= node.upper


def cuts_of_feature(tree: Tree, node: "Node", feature: int) -> Iterator[Split]:
    """Yield the allowed cuts of a node by one feature, in order, with their scores."""
    term = CRITERIA[tree.growth.criterion]
    tie_term = TIE_BREAKERS.get(tree.growth.criterion)
    cuts = random_candidate if tree.growth.random_cuts else candidates
    noise = noise_of_labels(tree, node, feature)
    for candidate in cuts(tree, node, feature):
        left, right = candidate.left, node.tally.minus(candidate.left)
        if min(left.size, right.size) < tree.growth.min_samples_leaf:
            continue
        if min(left.weight, right.weight) < tree.min_weight:
            continue
        if tree.growth.criterion in OF_COUNTS and min(left.total, right.total) == 0:
            continue
        split = Split(
            feature=feature,
            threshold=candidate.threshold,
            order=candidate.order,
            n_left=candidate.n_left,
            missing_left=candidate.missing_left,
            score=tree.score(term, node.tally, left, right),
            tie_score=tree.score(tie_term, node.tally, left, right) if tie_term else 0.0,
            unevenness=abs(left.weight - right.weight),
            left=left,
            right=right,
            noise=noise,
        )
        if obeys(tree, node, split):
            yield split


def noise_of_labels(tree: Tree, node: "Node", feature: int) -> float:
    """Return the penalty of a cut by many categories: the score that it is expected to reach by chance.

    On average, random labels explain the fraction (labels - 1) / (rows - 1) of the impurity. Two labels can be cut in
    only one way, so the penalty begins with the third. With several classes, a cut orders categories by one class at a
    time. Columns with few labels in the whole table cannot fit much noise, so they have no penalty.
    """
    column, tally = tree.coded.columns[feature], node.tally
    if not tree.growth.category_penalty or not tree.is_cut_by_sets(feature) or len(column.lows) <= FREE_CATEGORIES:
        return 0.0
    n_labels = len({column.codes[r] for r in node.ranks} - {None})
    if n_labels <= 2:
        return 0.0
    n_cuts = max(1, sum(weight > 0 for weight in tally.classes) - 1)
    to_gain = mixed(tree, node) / float(n_cuts)
    return tree.growth.category_penalty * float(n_labels - 2) * to_gain / float(tally.size - 1)


def mixed(tree: Tree, node: "Node") -> float:
    """Return the largest possible gain of a node: that of a cut whose sides are both pure."""
    tally = node.tally
    if tree.target.n_classes:
        term = CRITERIA[tree.growth.criterion]
        return term(Tally(tally.size, tally.weight, [tally.weight]), 0) - term(tally, 0)
    if tree.growth.criterion in OF_MEDIANS:
        return float(deviations(tally))
    squares, explained = squares_about_mean(tree, node)
    if tree.growth.criterion == "poisson":  # half the deviance in bits, as if the rows were close to their mean
        return max(0.0, squares - explained) * (0.5 / LN2) / side_value(tally)
    return max(0.0, squares - explained)


def squares_about_mean(tree: Tree, node: "Node") -> tuple[float, float]:
    """Return the sum of squares about the node's mean (rounded down), and the error that this rounding causes."""
    mean = node.tally.total // node.tally.weight
    squares = sum(tree.bag.weights[r] * (tree.target.labels[r] - mean) ** 2 for r in node.ranks)
    return float(squares), squared_error(node.tally, mean)


def best_split_of_feature(tree: Tree, node: "Node", feature: int) -> Split | None:
    """Find the best allowed cut by one feature; None if it does not gain more than expected by chance."""
    best = None
    for split in cuts_of_feature(tree, node, feature):
        if split.beats(best):
            best = split
    if best is not None and best.noise > 0 and best.worth <= undivided(tree, node):
        return None
    if best is not None and not has_missing(tree, node.ranks, feature):
        best.missing_left = best.left.weight >= best.right.weight
    return best


def undivided(tree: Tree, node: "Node") -> float:
    """Score a node without a cut."""
    return tree.score(CRITERIA[tree.growth.criterion], node.tally, node.tally)


def has_missing(tree: Tree, ranks: Sequence[int], feature: int) -> bool:
    """Return whether the node has missing values of a feature."""
    codes = tree.coded.columns[feature].codes
    return any(codes[r] is None for r in ranks)


def best_split(tree: Tree, node: "Node") -> Split | None:
    """Consider `max_features` features that can cut the node, in drawn order; return the best cut."""
    best = None
    looked_at = 0
    for feature in draw_features(tree, node.node_id):
        if not may_interact(tree.growth, node.path, feature):
            continue
        split = best_split_of_feature(tree, node, feature)
        if split is None:
            continue  # a feature without cuts does not count towards max_features
        if split.beats_earlier_feature(best):
            best = split
        looked_at += 1
        if looked_at == tree.growth.max_features:
            break
    return best


# -------------------------------------------------------------------------------------------------------- 9 growth


@dataclass
class Node:
    """A node while the tree grows. A leaf has no split."""

    node_id: int
    depth: int
    ranks: list[int]
    tally: Tally
    path: frozenset[int] = frozenset()  # features on the path to the node
    lower: float = -math.inf  # bounds of the predictions below this node, in units of `side_value`
    upper: float = math.inf
    split: Split | None = None
    decrease: float = 0.0
    children: "list[Node]" = field(default_factory=list)


def find_split(tree: Tree, node: Node) -> None:
    """Find the split of a node, unless it must be a leaf."""
    growth = tree.growth
    tree.enter(node)
    if tree.is_pure(node.ranks) or node.tally.size < growth.min_samples_split or node.depth == growth.max_depth:
        return
    split = best_split(tree, node)
    if split is None:
        return
    node.decrease = tree.decrease(split.score - undivided(tree, node), tree.root_weight)
    if growth.min_impurity_decrease > 0 and ldexp(node.decrease, -tree.decrease_unit) < growth.min_impurity_decrease:
        return
    node.split = split


def divide(tree: Tree, node: Node, split: Split) -> list[Node]:
    """Create the two children of a node."""
    codes = tree.coded.columns[split.feature].codes
    left_codes = set(split.order[: split.n_left])
    sides: tuple[list[int], list[int]] = ([], [])
    for r in node.ranks:
        code = codes[r]
        goes_left = split.missing_left if code is None else code in left_codes
        sides[0 if goes_left else 1].append(r)
    node.children = make_children(tree, node, split, sides)
    for child in node.children:
        find_split(tree, child)
    return node.children


def make_children(tree: Tree, node: Node, split: Split, sides: Sequence[list[int]]) -> list[Node]:
    """Create the two children with their identifiers, paths and bounds."""
    tallies, bounds = (split.left, split.right), pass_down_bounds(tree, node, split)
    path = node.path | {split.feature}
    return [
        Node(child_id(node.node_id, side), node.depth + 1, sides[side], tallies[side], path, *bounds[side])
        for side in (0, 1)
    ]


def pass_down_bounds(tree: Tree, node: Node, split: Split) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bounds of predictions below each child: they meet halfway between the predictions of the children."""
    sign = tree.growth.monotonic[split.feature] if tree.growth.monotonic else 0
    whole = (node.lower, node.upper)
    if sign == 0 or split.cuts_off_missing:
        return whole, whole
    middle = side_value(split.left) / 2 + side_value(split.right) / 2
    below_middle, above_middle = (node.lower, middle), (middle, node.upper)
    return (below_middle, above_middle) if sign > 0 else (above_middle, below_middle)


def grow_depth_first(tree: Tree, root: Node) -> None:
    """Divide every node that has a split. The order does not matter: nodes are identified by their paths."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.split:
            waiting.extend(divide(tree, node, node.split))


def grow_best_first(tree: Tree, root: Node) -> None:
    """Divide the node with the largest decrease first, until there are `max_leaf_nodes` leaves."""
    made = 0
    heap = [(-root.decrease, made, root, root.split)] if root.split else []
    n_leaves = 1
    while heap and n_leaves < tree.growth.max_leaf_nodes:
        _, _, node, split = heapq.heappop(heap)
        n_leaves += 1
        for child in divide(tree, node, split):
            made += 1
            if child.split:
                heapq.heappush(heap, (-child.decrease, made, child, child.split))
    for _, _, node, _ in heap:
        node.split = None
        node.decrease = 0.0


def measure_root(tree: Tree, weight: int) -> None:
    """Compute the values that depend on the weight of the root."""
    tree.root_weight = weight
    tree.min_weight = math.ceil(tree.growth.min_weight_fraction_leaf * float(weight))


def grow_tree(coded: Coded, target: Target, growth: Growth, seed: int, number: int) -> "FlatTree":
    """Grow one tree."""
    bag = fill_bag(coded, growth, seed, number)
    return grow(Tree(coded, target, growth, bag, seed, number, decrease_unit=2 * target.exponent))


def grow(tree: Tree) -> "FlatTree":
    """Grow a tree from its bag."""
    ranks = [r for r, size in enumerate(tree.bag.sizes) if size > 0]
    root = Node(ROOT_ID, 0, ranks, tree.tally(ranks))
    measure_root(tree, root.tally.weight)
    find_split(tree, root)
    (grow_best_first if tree.growth.max_leaf_nodes else grow_depth_first)(tree, root)
    return flatten(tree, root)


@dataclass
class FlatTree:
    """A grown tree as lists, one entry per node in pre-order: the left child of node i is node i + 1."""

    feature: list[int] = field(default_factory=list)  # -1: leaf
    threshold: list[float] = field(default_factory=list)
    right: list[int] = field(default_factory=list)  # number of the right child, 0 in leaves
    missing_left: list[bool] = field(default_factory=list)
    categories: "list[Categories | None]" = field(default_factory=list)  # None: a leaf, or a cut of numbers
    size: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    decrease: list[float] = field(
        default_factory=list
    )  # divided by the root's weight, in units of the target's integers
    value: list[float] = field(
        default_factory=list
    )  # regression: mean or median; two classes with constraints: probability of the second
    impurity: list[float] = field(
        default_factory=list
    )  # regression: variance of the node, or mean deviation from its median
    classes: list[Sequence[float]] = field(default_factory=list)  # classification: class weights, of leaves only
    weight_scale: float | None = None  # factor from weights to the user's units; None: 1


@dataclass
class Categories:
    """The categories that go left. A category in the set goes to the lighter child, any other to the heavier one."""

    of_lighter: list[int]  # ascending
    others_left: bool

    def goes_left(self, category: float) -> bool:
        """Return whether a category goes left."""
        return self.others_left != (category in self.of_lighter)


def categories_of(tree: Tree, split: Split) -> Categories:
    """Convert a set of codes to numbers of categories. On a tie, the left child is the heavier one."""
    column = tree.coded.columns[split.feature]
    others_left = split.left.weight >= split.right.weight
    of_lighter = split.order[split.n_left :] if others_left else split.order[: split.n_left]
    return Categories([int(column.lows[code]) for code in sorted(of_lighter)], others_left)


def flatten(tree: Tree, root: Node) -> FlatTree:
    """Number the nodes in pre-order and store them in lists."""
    flat = FlatTree(weight_scale=tree.bag.scale)
    waiting: list[tuple[Node, int]] = [(root, -1)]
    while waiting:
        node, parent = waiting.pop()
        number = len(flat.feature)
        if parent >= 0:
            flat.right[parent] = number
        write_node(tree, node, flat)
        if node.split:
            left, right = node.children
            waiting.append((right, number))
            waiting.append((left, -1))
    return flat


def write_node(tree: Tree, node: Node, flat: FlatTree) -> None:
    """Append one node."""
    tree.enter(node)
    split = node.split
    flat.feature.append(split.feature if split else -1)
    flat.threshold.append(split.threshold if split else 0.0)
    flat.right.append(0)
    flat.missing_left.append(split.missing_left if split else False)
    by_sets = split is not None and tree.is_cut_by_sets(split.feature)
    flat.categories.append(categories_of(tree, split) if split and by_sets else None)
    flat.size.append(node.tally.size)
    flat.weight.append(float(node.tally.weight))
    flat.decrease.append(node.decrease if split else 0.0)
    tree.write_predictions(node, flat)


def bounded_value(node: Node) -> float:
    """The prediction of a node, clipped to the bounds set by the nodes above."""
    return min(max(side_value(node.tally), node.lower), node.upper)


def variance(tree: Tree, node: Node) -> float:
    """Mean squared deviation of a node's targets from their mean."""
    squares, explained = squares_about_mean(tree, node)
    spread = (squares - explained) / float(node.tally.weight)
    return ldexp(max(0.0, spread), -2 * tree.target.exponent)


def mean_deviation(tree: Tree, node: Node) -> float:
    """Mean absolute deviation of a node's targets from their median."""
    return ldexp(float(deviations(node.tally)) / float(node.tally.weight), -tree.target.exponent)


def grow_forest(coded: Coded, growth: Growth, seed: int, numbers: Sequence[int]) -> Iterator[FlatTree]:
    """Grow the trees with these numbers, one after the other."""
    target = target_of(coded, growth)
    for number in numbers:
        yield grow_tree(coded, target, growth, seed, number)


# ------------------------------------------------------------------------------------------------------ 10 predictions


def find_leaf(tree: FlatTree, row: Sequence[float]) -> int:
    """Return the node number of the leaf of a row of raw values."""
    i = 0
    while tree.feature[i] >= 0:
        i = i + 1 if goes_left(tree, i, row) else tree.right[i]
    return i


def goes_left(tree: FlatTree, node: int, row: Sequence[float]) -> bool:
    """Return whether a row goes left at a split."""
    x, categories = row[tree.feature[node]], tree.categories[node]
    if x != x:
        return tree.missing_left[node]
    return categories.goes_left(x) if categories else x <= tree.threshold[node]


def leaf_numbers(tree: FlatTree) -> dict[int, int]:
    """Map the node number of each leaf to its position among the leaves of the tree."""
    leaves = [i for i, f in enumerate(tree.feature) if f < 0]
    return {node: k for k, node in enumerate(leaves)}


def leaf_probabilities(classes: Sequence[float], second: float | None, voting: str) -> list[float]:
    """Probabilities of a leaf: class fractions ("soft"), or 1 for the most common class, ties to the first ("hard").

    `second` is the probability of the second of two classes if monotonic constraints determined it.
    """
    if not any(classes):  # the bag is empty
        return [0.0] * len(classes)
    probabilities = classes if second is None else [1.0 - second, second]
    if voting == "hard":
        winner = probabilities.index(max(probabilities))
        return [1.0 if k == winner else 0.0 for k in range(len(probabilities))]
    total = float(sum(classes)) if second is None else 1.0
    return [float(x) / total for x in probabilities]


def sum_votes(
    trees: Sequence[FlatTree], rows: Sequence[Sequence[float]], n_classes: int, voting: str
) -> list[list[float]]:
    """Sum the predictions of the trees for each row, in tree order."""
    sums = [[0.0] * (n_classes or 1) for _ in rows]
    for tree in trees:
        leaf_of = leaf_numbers(tree)
        for row, of_row in zip(rows, sums, strict=True):
            add_vote(of_row, tree, leaf_of, row, voting)
    return sums


def has_vote(tree: FlatTree) -> bool:
    """Return whether a tree votes. A tree whose bag has only classes of weight 0 is a root that does not vote."""
    return not tree.classes or any(tree.classes[0])


def add_vote(sums: list[float], tree: FlatTree, leaf_of: dict[int, int], row: Sequence[float], voting: str) -> None:
    """Add the prediction of one tree for a row."""
    leaf = find_leaf(tree, row)
    value = tree.value[leaf] if tree.value else None
    probabilities = (
        leaf_probabilities(tree.classes[leaf_of[leaf]], value, voting) if tree.classes else [tree.value[leaf]]
    )
    for k, share in enumerate(probabilities):
        sums[k] += share


# --------------------------------------------------------------------------------------------------- 11 out of bag


@dataclass
class OutOfBag:
    """Predictions of trees for rows outside their bags. Rows are in the order of the table."""

    sums: list[list[float]]
    n_trees: list[int]  # by row: number of trees that predicted it
    errors: list[float]  # after each tree: error over the rows predicted so far
    shares: list[float]  # after each tree: fraction of the rows predicted so far, by weight


def sum_votes_out_of_bag(
    coded: Coded,
    trees: Sequence[FlatTree],
    bags: Sequence[Sequence[int]],
    rows: Sequence[Sequence[float]],
    voting: str,
    start: tuple[list[list[float]], list[int]] | None = None,
    room: int = 0,
) -> OutOfBag:
    """Predict each row by the trees for which it is out of bag. `start` has the sums of earlier trees."""
    out = OutOfBag(*(start or ([[0.0] * (coded.n_classes or 1) for _ in rows], [0] * len(rows))), [], [])
    for tree, bag in zip(trees, bags, strict=True):
        leaf_of = leaf_numbers(tree)
        for r, row in enumerate(rows):
            if bag[r] == 0 and has_vote(tree):
                add_vote(out.sums[r], tree, leaf_of, row, voting)
                out.n_trees[r] += 1
        error, share = mean_error(coded, out, room)
        out.errors.append(error)
        out.shares.append(share)
    return out


def mean_error(coded: Coded, out: OutOfBag, room: int) -> tuple[float, float]:
    """Return the weighted mean error of the rows that have predictions, by sums of integers, and their fraction."""
    shift = 0
    if not coded.n_classes:
        center = min(coded.numbers) / 2 + max(coded.numbers) / 2
        reach = max(abs(y - center) for y in coded.numbers)
        shift = 29 - math.frexp(reach)[1] if reach else 0
    error = seen = 0
    for rank, r in enumerate(coded.position):
        if out.n_trees[r]:
            error += coded.line[rank] * row_error(coded, rank, out.sums[r], out.n_trees[r], shift, room)
            seen += coded.line[rank]
    mean = ldexp(float(error) / float(seen), -2 * shift) if seen else math.nan
    return mean, float(seen) / float(sum(coded.line))


def row_error(coded: Coded, rank: int, sums: Sequence[float], n_trees: int, shift: int, room: int) -> int:
    """Error of a row: 1 for a wrong class; in regression the squared error in units of 2^-shift, below 2^60."""
    if coded.n_classes:
        return int(sums.index(max(sums)) != coded.classes[rank])
    difference = math.ldexp(coded.numbers[rank], -room) - sums[0] / float(n_trees)
    d = min(abs(ldexp(difference, shift + room)), 1073741824.0)
    return round(d * d)
