"""What the laws run over: criteria, engines, and generated tables with ways to grow trees from them.

CRITERIA, ENGINES, CORES    the lists: a criterion or an instruction set that is added is tested without a change
make_table                  a table from a few words: kinds of columns, kind of target, kind of weights
cases                       strategy: a table, how to grow, how to code, a seed
outcome                     all that an engine can say of a case, as arrays; equal means bit for bit
"""

import random
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

from weald import _core
from weald.data.table import Table
from weald.data.task import Task
from weald.engines import criteria
from weald.engines.native import NativeEngine
from weald.engines.params import UNLIMITED, Growth
from weald.engines.reference import definition
from weald.engines.reference.engine import ReferenceEngine
from weald.estimators import multi_output

CRITERIA = tuple(criteria.tasks())
# Medians have a single search method, and the definition is slow for many rows.
OF_SUMS = tuple(c for c in CRITERIA if c not in definition.OF_MEDIANS)
OF_SEVERAL_TARGETS = tuple(c for c in CRITERIA if c not in multi_output.SINGLE)
REFERENCE = ReferenceEngine()
CORES = {name: NativeEngine(_core.load(name)) for name in _core.supported()}
NATIVE = next(iter(CORES.values()))
ENGINES = {"reference": REFERENCE, "native": NATIVE}


def is_of_classes(criterion: str) -> bool:
    return criteria.tasks()[criterion] == Task.CLASSIFICATION


# ------------------------------------------------------------------------------------------------------------ tables

# Each makes n values from a generator; together they cover ties, constants, close values, extremes and infinities.
COLUMNS = {
    "many": lambda rng, n: rng.normal(size=n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    "few": lambda rng, n: rng.integers(0, 6, n) / 4,
    "binary": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda _, n: np.full(n, 3.0),
    "missing": lambda _, n: np.full(n, np.nan),
    "wide": lambda rng, n: rng.normal(size=n) * np.exp2(rng.integers(-1000, 1000, n).astype(float)),
    "subnormal": lambda rng, n: rng.integers(-50, 50, n) * 5e-324,
    "infinite": lambda rng, n: rng.choice([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf], n),
    "neighbors": lambda rng, n: 2.0**52 + rng.integers(0, 40, n),
    # Numbers of categories.
    "yes or no": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "kinds": lambda rng, n: rng.integers(0, 9, n).astype(float),
    "places": lambda rng, n: np.floor(70 * rng.random(n) ** 3),
    "names": lambda rng, n: rng.integers(0, 3 * n, n).astype(float),
}
CATEGORICAL = ("yes or no", "kinds", "places", "names")
COMMON = ("many", "many", "rounded", "rounded", "few", "few", "kinds", "places")
TARGETS = ("learnable", "noise", "rounded", "balanced", "extreme", "constant")
WEIGHTS = ("none", "whole", "fractional", "wide")


def make_table(n_rows, columns, n_classes, *, target="learnable", weights="none", missing=0.0, n_distinct=None, seed=0):
    """Make a table. `missing` is the share of missing values; with `n_distinct`, rows are copies of so many."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([COLUMNS[kind](rng, n_rows) for kind in columns])
    X[rng.random(X.shape) < missing] = np.nan
    if n_distinct:
        X = X[rng.integers(0, n_distinct, n_rows) % n_rows]
    if target == "balanced":  # each row occurs with two targets: no cut has a gain, and all cuts tie
        X = X[np.arange(n_rows) // 2]
    weight = _make_weights(rng, n_rows, weights)
    whole = weights in {"none", "whole"}
    size = int(weight.sum()) if weights == "whole" else n_rows
    categorical = frozenset(f for f, kind in enumerate(columns) if kind in CATEGORICAL)
    return Table(X, _make_target(rng, X, n_classes, target), n_classes, weight, whole, size, categorical=categorical)


def _make_target(rng, X, n_classes, target):
    n_rows = len(X)
    of_columns = np.where(np.abs(X) > 3, np.sin(np.nan_to_num(X, posinf=3, neginf=-3)), X)  # unordered categories
    signal = np.nan_to_num(of_columns[:, :3]).sum(axis=1) + 0.4 * rng.normal(size=n_rows)
    if target == "noise":
        signal = rng.normal(size=n_rows)
    if target == "rounded":
        signal = np.round(signal)
    if target == "balanced":
        signal = np.arange(n_rows) % 2 * 2.0 - 1
    if target == "constant":
        signal = np.full(n_rows, -7.5)
    if n_classes:
        edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
        return np.searchsorted(edges, signal).astype(np.int32)
    if target == "extreme":
        return np.clip(signal, -1, 1) * 1.7e308
    return signal


def _make_weights(rng, n_rows, weights):
    if weights == "none":
        return None
    if weights == "whole":
        return rng.integers(1, 5, n_rows).astype(float)
    if weights == "fractional":
        return rng.random(n_rows) + 0.01
    return np.exp2(rng.integers(-300, 300, n_rows) + rng.random(n_rows))


def change(table, **changes):
    """Change a table's parts; its size follows from the weights."""
    changed = replace(table, **changes)
    size = int(changed.weight.sum()) if changed.weight is not None and changed.weights_whole else len(changed.X)
    return replace(changed, size=size)


def suited(criterion, table):
    """Give a table targets that a criterion allows: for criteria of counts, negative ones become 0."""
    if criterion not in definition.OF_COUNTS or not (table.target < 0).any():
        return table
    return replace(table, target=np.maximum(table.target, 0.0))


def take_rows(table, rows):
    weight = None if table.weight is None else table.weight[rows]
    return change(table, X=table.X[rows], target=table.target[rows], weight=weight)


def drop_twins(table):
    """Keep one of all equal rows."""
    seen = np.where(np.isnan(table.X), 0.123, table.X) + 0.0
    return take_rows(table, np.unique(seen, axis=0, return_index=True)[1])


# ------------------------------------------------------------------------------------------------------------- cases


def make_growth(table, criterion, **given):
    """Growth parameters: by default unlimited trees from bags, half of the features at each node."""
    bootstrap = given.get("bootstrap", True)
    defaults = {
        "max_features": max(1, table.n_features // 2),
        "max_depth": UNLIMITED,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "min_weight_fraction_leaf": 0.0,
        "min_impurity_decrease": 0.0,
        "max_leaf_nodes": 0,
        "bootstrap": bootstrap,
        "n_draws": table.size,
        "class_weight": "none",
        "class_weights": (),
    }
    return Growth(criterion=criterion, **{**defaults, **given})


@dataclass(frozen=True)
class Case:
    """A table, and how to grow trees from it."""

    table: Table
    growth: Growth
    max_bins: int = 65_535
    seed: int = 1
    n_trees: int = 2
    words: dict = field(default_factory=dict)  # the source of the table

    def __post_init__(self):
        """Criteria of counts need targets of at least 0: others become 0, row by row."""
        if not self.table.n_classes:
            object.__setattr__(self, "table", suited(self.growth.criterion, self.table))

    def __repr__(self):
        return f"Case({self.words}, {self.growth}, max_bins={self.max_bins}, seed={self.seed})"

    def on(self, table):
        """Grow from another table of the same size with the same parameters."""
        return replace(self, table=table)


def usually(dice, value, *exceptions):
    """Draw one value five times out of six, so that most trees are of some size and exceptions come a few at a time."""
    if dice.random() < 5 / 6:
        return value
    chosen = dice.choice(exceptions)
    return chosen(dice) if callable(chosen) else chosen


@st.composite
def cases(draw, criterion, *, weights=WEIGHTS, max_rows=60, max_bins=None):
    """Draw a case: its number of rows, and random choices for the rest, which cover the options evenly."""
    n_rows = draw(st.one_of(st.integers(1, 12), st.integers(max_rows // 2, max_rows), st.just(max_rows)))
    dice = random.Random(draw(st.integers(0, 2**32 - 1)))
    words = {
        "n_rows": n_rows,
        "columns": tuple(dice.choices([*COMMON, *COLUMNS], k=dice.randint(1, 6))),
        "n_classes": dice.choice([2, 3, 7]) if is_of_classes(criterion) else 0,
        "target": usually(dice, "learnable", *TARGETS),
        "weights": dice.choice(weights),
        "missing": usually(dice, 0.0, 0.1, 0.6),
        "n_distinct": usually(dice, None, lambda d: d.randint(1, 12)),
        "seed": dice.getrandbits(32),
    }
    table = make_table(**words)
    growth = draw_growth(dice, table, criterion)
    bins = usually(dice, 65_535, 0, lambda d: d.randint(2, 20)) if max_bins is None else max_bins
    return Case(table, growth, bins, dice.getrandbits(64), dice.randint(1, 3), words)


def draw_growth(dice, table, criterion):
    bootstrap = dice.random() < 0.5
    class_weight = usually(dice, "none", "given", "table", "bag") if table.n_classes else "none"
    shares = [dice.choice((0.0, 0.3, 1.0, 2.7)) for _ in range(table.n_classes)] if class_weight == "given" else []
    return make_growth(
        table,
        criterion,
        max_features=dice.choice([dice.randint(1, table.n_features), table.n_features]),
        ties_by_column=usually(dice, False, True),
        max_depth=usually(dice, UNLIMITED, lambda d: d.randint(1, 5)),
        min_samples_split=usually(dice, 2, lambda d: d.randint(2, 12)),
        min_samples_leaf=usually(dice, 1, lambda d: d.randint(2, 8)),
        min_weight_fraction_leaf=usually(dice, 0.0, lambda d: d.uniform(0, 0.4)),
        min_impurity_decrease=usually(dice, 0.0, lambda d: d.uniform(0, 0.1)),
        max_leaf_nodes=usually(dice, 0, lambda d: d.randint(2, 9)),
        bootstrap=bootstrap,
        n_draws=usually(dice, table.size, lambda d: d.randint(1, 2 * table.size)) if bootstrap else table.size,
        class_weight=class_weight,
        class_weights=tuple(shares),
        **_draw_constraints(dice, table, criterion),
        **dice.choice([{"random_cuts": True}, {"category_penalty": dice.choice((0.5, 1.5, 3.0))}, {}, {}]),
        max_categories=usually(dice, 0, lambda d: d.randint(1, 6)),
    )


def draw_stopping_rules(dice, forest):
    """Draw limits that change a grown forest: sizes, decreases and numbers of leaves that it has."""
    splits = np.flatnonzero(forest.feature >= 0)
    at = dice.choice(splits.tolist()) if len(splits) else 0
    with np.errstate(over="ignore"):
        decrease = min(float(np.ldexp(forest.decrease[at], -2 * forest.target_exponent)), 1e308)
    most = int(np.diff(forest.tree_start).max()) // 2 + 1
    return {
        "max_depth": dice.choice([UNLIMITED, dice.randint(1, 1 + int(forest.depth().max()))]),
        "min_samples_split": dice.choice([2, max(2, int(forest.size[at]) + dice.choice([0, 1]))]),
        "min_impurity_decrease": dice.choice([0.0, decrease, float(np.nextafter(decrease, 1e300))]),
        "max_leaf_nodes": dice.choice([0, dice.randint(2, most + 1)]),
    }


def _draw_constraints(dice, table, criterion):
    n = table.n_features
    signs = usually(dice, (), lambda d: tuple(d.choice((-1, 0, 1)) for _ in range(n)))
    signs = tuple(0 if f in table.categorical else sign for f, sign in enumerate(signs))
    groups = usually(dice, (), lambda d: tuple(tuple(d.sample(range(n), d.randint(1, n))) for _ in range(3)))
    weights = usually(dice, (), lambda d: tuple(d.choice((0, 0.001, 1, 7)) for _ in range(n)))
    return {
        "monotonic": signs if any(signs) and table.n_classes in {0, 2} and criterion in OF_SUMS else (),
        "interaction_groups": groups,
        "max_interacting": usually(dice, 0, 1, 2, 3),
        "feature_weights": weights if any(weights) else (),
    }


# ---------------------------------------------------------------------------------------------------------- outcomes


def grow(engine, case, n_threads=1):
    coded = engine.code(case.table, case.max_bins, n_threads, None)
    return engine.grow(coded, case.growth, case.seed, 0, case.n_trees, n_threads, None)


def fingerprint(engine, case, n_threads=1):
    return grow(engine, case, n_threads).fingerprint()


def codes_of(coded):
    """Read the codes of any engine: for each feature (codes by row of the table, lows, highs)."""
    if hasattr(coded, "n_columns"):
        return [coded.column(f) for f in range(coded.n_columns)]
    found = []
    for column in coded.columns:
        by_row = np.empty(len(coded.position), dtype=np.uint32)
        by_row[coded.position] = [2**32 - 1 if code is None else code for code in column.codes]
        found.append((by_row, np.array(column.lows), np.array(column.highs)))
    return found


def positions_of(coded):
    return coded.positions() if hasattr(coded, "n_columns") else np.array(coded.position, dtype=np.uint32)


def probe_rows(table, forest, seed=0, n_rows=40):
    """Make rows for all branches: values of the table, thresholds and adjacent doubles, categories, unusual values."""
    rng = np.random.default_rng(seed)
    columns = []
    for f in range(table.n_features):
        if f in table.categorical:
            columns.append(rng.choice([*table.X[:, f], *range(100), 2.0**31, np.nan], n_rows))
            continue
        cuts = forest.threshold[forest.feature == f]
        odd = [np.nan, np.inf, -np.inf, 0.0]
        pool = np.concatenate([table.X[:, f], cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), odd])
        columns.append(rng.choice(pool, n_rows))
    return np.column_stack(columns)


def outcome(engine, case, n_threads=1, n_at_once=0):
    """Run all operations of an engine; return the results by name. The number of trees may be announced."""
    coded = engine.code(case.table, case.max_bins, n_threads, None, n_at_once)
    forest = engine.grow(coded, case.growth, case.seed, 0, case.n_trees, n_threads, None)
    rows = probe_rows(case.table, forest)
    found = {
        "data fingerprints": np.array([coded.fingerprint, coded.values], dtype=np.uint64),
        "positions": positions_of(coded),
        "target": np.array([forest.target_center, forest.target_exponent]),
        **forest.arrays(),
        "leaves": engine.leaves(forest, rows, n_threads, None),
        "bags": engine.bags(coded, case.growth, forest.origins, n_threads),
    }
    for f, (codes, lows, highs) in enumerate(codes_of(coded)):
        found |= {f"codes of {f}": codes, f"lows of {f}": lows, f"highs of {f}": highs}
    for voting in ("soft", "hard"):
        found[f"{voting} votes"] = engine.sum_votes(forest, rows, voting, n_threads, None)
        out = engine.sum_votes_out_of_bag(coded, case.growth, forest, case.table.X, voting, n_threads, None)
        found |= {f"{voting} {name} out of bag": array for name, array in out._asdict().items()}
    return found


def assert_same(found, expected):
    """Compare two outcomes bit for bit."""
    assert list(found) == list(expected)
    for name, array in expected.items():
        other = found[name]
        assert (name, other.dtype, other.shape) == (name, array.dtype, array.shape)
        assert np.array_equal(_bits(other), _bits(array)), f"{name} differ:\n{other}\n{array}"


def hold_against_definition(case):
    """Grow a case by the definition and by every instruction set."""
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)


def _bits(array):
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
