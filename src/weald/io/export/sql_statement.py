"""A forest as one SQL statement: DuckDB, SQLite and PostgreSQL predict the rows of a table without weald.

    write_sql    fitted model -> text of the statement, checked by running it
    SourceTable       the table, its columns in the order of the features, and the columns to return

The statement is a chain of SELECTs. The first reads the columns as doubles and numbers of categories, NULL if missing;
each of the next adds some trees; the last divides and finds the label. A tree is a CASE: its heaviest path is one list
of WHENs, so expressions are nested no deeper than the logarithm of the number of leaves. Sums run in tree order, in
double: weald's results, bit for bit.
"""

import itertools
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, Native, TableLike
from weald.errors import ExportError, ParameterError, shown
from weald.estimators.prediction import sum_votes
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.atomic import PathLike, write_file
from weald.io.export.label_kinds import LabelKind, kind_of_labels
from weald.io.export.leaf_values import LeafValues, answers_of, refuse_overflow, require_exportable
from weald.io.export.packages import require
from weald.io.export.parity import (
    Export,
    Parity,
    answer,
    compare,
    compared_values,
    lost_uncertainty,
    not_compared,
    rows_to_compare,
)
from weald.io.export.sql_dialects import DIALECTS, Dialect

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

FEW_ARGUMENTS = 50  # arguments of one GREATEST: SQLite allows 100
LOST = ("how the model was fitted", "statistics of nodes: sizes, impurities, decreases")
PREDICTION, PROBABILITY = "prediction", "probability_"


class SourceTable(NamedTuple):
    """The table of the rows."""

    table: tuple[str, ...]  # name of the table, with the schema and database before it if given
    columns: tuple[str, ...]  # names of the features
    keep: tuple[str, ...]  # columns to return beside the prediction


class ColumnReader(NamedTuple):
    """The expression that reads a feature."""

    column: str
    labels: tuple[object, ...] | None  # None: numbers
    kind: LabelKind | None


@dataclass(frozen=True)
class StatementPlan:
    """The parts of a model that the statement contains."""

    dialect: Dialect
    forest: Forest
    answers: LeafValues
    readers: dict[int, ColumnReader]  # for the features that trees use
    classes: tuple[object, ...]  # empty in regression
    class_kind: LabelKind | None


def write_sql(
    model: "TreeModel",
    path: PathLike | None,
    dialect: object,
    source: tuple[object, object, object],
    X: TableLike,
    connection: Native,
    *,
    check: bool,
) -> Export:
    """Write a model as a statement; with `check`, run it in the database and compare its predictions."""
    spoken = DIALECTS.get(dialect) if isinstance(dialect, str) else None
    if spoken is None:
        raise ParameterError(f"dialect={shown(dialect)} is unknown. Give one of {', '.join(map(repr, DIALECTS))}.")
    forest = require_exportable(model, "to_sql")
    refuse_overflow(forest)
    read = _source_of(model, *source)
    plan = _plan(model, forest, spoken, read)
    text = _statement(plan, read)
    lost = [*LOST, *lost_uncertainty(model), *lost_checks(model)]
    parity = _compare(model, plan, read, X, connection, lost) if check else not_compared(*lost)
    if path is not None:
        write_file(path, [text.encode()])
    return Export(text, parity)


def lost_checks(model: "TreeModel") -> Iterator[str]:
    """List the errors that `predict` would raise, but the statement does not."""
    if getattr(model, "missing", "learn") == "error":
        yield 'missing="error": rows with missing values get a prediction'
    if getattr(model, "unknown_category", "missing") == "error" and any(model.schema_.categories):
        yield 'unknown_category="error": unknown categories are missing values'


# --------------------------------------------------------------------------------------------- table and columns


def _source_of(model: "TreeModel", table: object, columns: object, keep: object) -> SourceTable:
    names = _names("table", (table,) if isinstance(table, str) else table)
    if not 1 <= len(names) <= 3:
        raise ParameterError(
            f"table={shown(table)} is not the name of a table. Give its name, or a tuple of the names of the schema "
            "and the table."
        )
    of_model = model.schema_.names or tuple(f"x{f}" for f in range(model.n_features_in_))
    given = of_model if columns is None else _names("columns", columns)
    if len(given) != len(of_model):
        raise ParameterError(
            f"columns has {len(given)} names, but the model has {len(of_model)} features. Give the column of each "
            "feature, in their order."
        )
    kept = _names("keep", (keep,) if isinstance(keep, str) else keep)
    for name in kept:
        if name.lower() == PREDICTION or name.lower().startswith(PROBABILITY):
            raise ParameterError(
                f"keep has the column {name!r}, but that is the name of a result. Rename the column in a view."
            )
    return SourceTable(names, given, kept)


def _names(parameter: str, given: object) -> tuple[str, ...]:
    """Check names of columns and tables."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
        raise ParameterError(f"{parameter}={shown(given)} is not a list of names. Give text, one for each column.")
    for name in given:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{parameter} has {shown(name)}, which is not a name. Give text, as in the database.")
    return tuple(str(name) for name in given)


def _plan(model: "TreeModel", forest: Forest, dialect: Dialect, source: SourceTable) -> StatementPlan:
    asked = np.unique(forest.feature[forest.feature >= 0]).tolist()
    readers = {}
    for f in asked:
        categories, column = model.schema_.categories[f], source.columns[f]
        labels = None if categories is None else tuple(categories.labels.tolist())
        kind = None if labels is None else kind_of_labels(labels, f"The categories of column {column!r}")
        readers[f] = ColumnReader(column, labels, kind)
    is_of_classes = forest.task is Task.CLASSIFICATION
    classes: tuple[object, ...] = tuple(model.classes_.tolist()) if is_of_classes else ()
    class_kind = kind_of_labels(classes, "The classes") if is_of_classes else None
    _refuse_twins(dialect, source, [reader.column for reader in readers.values()])
    n_columns = len(source.keep) + len(readers) + max(1, len(classes)) + dialect.trees_at_once + 1
    if n_columns > dialect.most_columns:
        raise ExportError(
            f"The statement needs {n_columns} columns at once: {len(readers)} features that trees use, {len(classes)} "
            f"classes, {len(source.keep)} columns to keep and {dialect.trees_at_once} trees; {dialect.product} allows "
            f"{dialect.most_columns}. Fit with fewer features, or use to_c or compile."
        )
    return StatementPlan(dialect, forest, answers_of(model), readers, classes, class_kind)


def _refuse_twins(dialect: Dialect, source: SourceTable, columns: list[str]) -> None:
    """Raise an error for names that the database cannot distinguish."""
    for what, names in (("columns", columns), ("keep", list(source.keep))):
        seen: dict[str, str] = {}
        for name in names:
            twin = seen.setdefault(dialect.same_name(name), name)
            if twin != name:
                raise ParameterError(
                    f"{what} has {twin!r} and {name!r}, which are one name in {dialect.product}. Give the columns of a "
                    "view that has other names, with columns=[...]."
                )


# ------------------------------------------------------------------------------------------------ the statement


def _statement(plan: StatementPlan, source: SourceTable) -> str:
    """Return the whole statement; raise an error as soon as it is too large."""
    from weald import __version__

    forest, dialect = plan.forest, plan.dialect
    head = (
        f"-- {forest.n_trees} trees, {forest.n_nodes} nodes, for {dialect.product} {dialect.since} or newer.\n"
        f"{dialect.note}-- Written by weald {__version__}. Fingerprint of the forest:\n-- {forest.fingerprint()}\n"
    )
    parts, size = [], 0
    for part in _chain(plan, source):
        parts.append(part)
        size += len(part.encode())
        if size > dialect.most_bytes:
            raise ExportError(
                f"The statement would be larger than {dialect.most_bytes:,} bytes, the most that is tested in "
                f"{dialect.product}: the model has {forest.n_trees} trees and {forest.n_nodes:,} nodes. Take fewer "
                "trees, grow smaller ones (max_leaf_nodes, min_samples_leaf, ccp_alpha), or use to_c or compile."
            )
    return head + "".join(parts)


def _chain(plan: StatementPlan, source: SourceTable) -> Iterator[str]:
    """Yield the statement: each SELECT reads the one before, the first one the table."""
    name = "q"
    while source.table[-1].lower().startswith(name):
        name += "q"
    levels = list(_levels(plan, source))
    last, read = len(levels) - 1, f"{'.'.join(map(plan.dialect.identifier, source.table))} AS d"
    for i, (passed, added) in enumerate(levels):
        yield "SELECT\n" if i == last else f"{', ' if i else 'WITH '}{name}{i} AS (SELECT\n"
        is_first = True
        for item in itertools.chain(passed, added):
            yield item if is_first else f",\n{item}"
            is_first = False
        yield f"\nFROM {read}\n"
        if i < last:
            yield f"{plan.dialect.fence})"
        read = f"{name}{i}"


Level = tuple[list[str], Iterable[str]]  # columns that a SELECT passes on, and columns that it adds


def _levels(plan: StatementPlan, source: SourceTable) -> Iterator[Level]:
    """Yield the SELECTs in order. A column that is passed on has the same name in all of them."""
    dialect = plan.dialect
    kept = [f"k{i}" for i in range(len(source.keep))]
    read = [*(f"x{f}" for f in plan.readers), *(["n"] if dialect.null else [])]
    yield (
        [f"d.{dialect.identifier(name)} AS {k}" for name, k in zip(source.keep, kept, strict=True)],
        [*(_read(dialect, reader, f"x{f}") for f, reader in plan.readers.items()), *dialect.null, *_zeros(plan)],
    )
    for begin in range(0, plan.forest.n_trees, dialect.trees_at_once):
        trees = range(begin, min(begin + dialect.trees_at_once, plan.forest.n_trees))
        if plan.classes:
            yield [*kept, *read, *_sums(plan)], (f"{_tree(plan, t)} AS t{t}" for t in trees)
            yield [*kept, *read], _add_votes(plan, trees)
        else:
            yield [*kept, *read], [" + ".join(["s0", *(_tree(plan, t) for t in trees)]) + " AS s0"]
    names = [f"{k} AS {dialect.identifier(name)}" for name, k in zip(source.keep, kept, strict=True)]
    if plan.classes:
        yield [*kept, *_sums(plan)], [f"{_greatest(dialect, _sums(plan))} AS best"]
        yield names, [_winner(plan), *_probabilities(plan)]
    else:
        yield names, [f"s0 / {dialect.double(plan.answers.divisor)} AS {PREDICTION}"]


def _sums(plan: StatementPlan) -> list[str]:
    return [f"s{k}" for k in range(max(1, len(plan.classes)))]


def _zeros(plan: StatementPlan) -> list[str]:
    return [f"{plan.dialect.double(0.0)} AS {s}" for s in _sums(plan)]


def _read(dialect: Dialect, reader: ColumnReader, name: str) -> str:
    """Read a column as doubles, or as numbers of categories. NULL, NaN and unknown labels are NULL."""
    column = f"d.{dialect.identifier(reader.column)}"
    if reader.labels is None:
        return f"{dialect.read_number(column, reader.column)} AS {name}"
    assert reader.kind is not None  # noqa: S101  (labels have a kind)
    if not reader.labels:
        return f"CAST(NULL AS INTEGER) AS {name}"
    cell = dialect.read_label(column, reader.column, reader.kind)
    known = " ".join(f"WHEN {dialect.label(x, reader.kind)} THEN {i}" for i, x in enumerate(reader.labels))
    return f"CASE {cell} {known} END AS {name}"


def _winner(plan: StatementPlan) -> str:
    """Return the label of the first of the greatest sums."""
    assert plan.class_kind is not None  # noqa: S101  (classes have a kind)
    labels = [plan.dialect.label(c, plan.class_kind) for c in plan.classes]
    if len(labels) == 1:
        return f"{labels[0]} AS {PREDICTION}"
    cases = " ".join(f"WHEN s{k} = best THEN {label}" for k, label in enumerate(labels[:-1]))
    return f"CASE {cases} ELSE {labels[-1]} END AS {PREDICTION}"


def _probabilities(plan: StatementPlan) -> Iterator[str]:
    divisor = plan.dialect.double(plan.answers.divisor)
    return (f"s{k} / {divisor} AS {PROBABILITY}{k}" for k in range(len(plan.classes)))


def _greatest(dialect: Dialect, names: list[str]) -> str:
    """Return the maximum, for many columns as the maximum of the maxima of groups."""
    while len(names) > 1:  # MAX of a single argument would aggregate over all rows
        groups = [names[i : i + FEW_ARGUMENTS] for i in range(0, len(names), FEW_ARGUMENTS)]
        names = [f"{dialect.greatest}({', '.join(group)})" if len(group) > 1 else group[0] for group in groups]
    return names[0]


# ------------------------------------------------------------------------------------------------------- a tree


def _tree(plan: StatementPlan, tree: int) -> str:
    """Return a tree as an expression: the mean, or in classification the number of its leaf value."""
    forest, answers = plan.forest, plan.answers
    begin, end = forest.tree_start[tree : tree + 2].tolist()
    leaves_before = (begin - tree) // 2 + tree  # a tree has one leaf more than splits
    numbers = np.zeros(end - begin, dtype=np.int64)
    is_leaf = forest.feature[begin:end] < 0
    numbers[is_leaf] = answers.number[leaves_before : leaves_before + int(is_leaf.sum())]
    if plan.classes:
        leaves = list(map(str, numbers.tolist()))
    else:
        amounts = answers.amount[numbers].tolist()
        leaves = [plan.dialect.double(a) if leaf else "" for a, leaf in zip(amounts, is_leaf, strict=True)]
    return _subtree(plan, (begin, end), begin, leaves)


def _subtree(plan: StatementPlan, span: tuple[int, int], root: int, leaves: list[str]) -> str:
    """Return the subtree in a span of nodes: follow the larger child, and leave the path to the smaller ones."""
    forest, cases, (node, end) = plan.forest, [], span
    while forest.feature[node] >= 0:
        right = root + int(forest.right[node])
        left_is_larger = right - node - 1 > end - right
        smaller = (right, end) if left_is_larger else (node + 1, right)
        condition = _condition(plan, node, goes_left=not left_is_larger)
        cases.append(f"WHEN {condition} THEN {_subtree(plan, smaller, root, leaves)}")
        node, end = (node + 1, right) if left_is_larger else (right, end)
    return f"CASE {' '.join(cases)} ELSE {leaves[node - root]} END" if cases else leaves[node - root]


def _condition(plan: StatementPlan, node: int, *, goes_left: bool) -> str:
    """Return the condition for one side of a split. Comparisons with NULL are never true."""
    forest = plan.forest
    f, flags = int(forest.feature[node]), int(forest.flags[node])
    x, threshold = f"x{f}", float(forest.threshold[node])
    if flags & CATEGORICAL:
        chosen = forest.category_set(node).tolist()
        is_in = goes_left != bool(flags & OTHERS_LEFT)
        inside = f"{x} {'IN' if is_in else 'NOT IN'} ({','.join(map(str, chosen))})"
        test = inside if chosen else f"{x} IS {'' if is_in else 'NOT '}NULL AND {x} IS NOT NULL"
    else:
        is_number = plan.readers[f].labels is None
        edge = threshold if math.isinf(threshold) or is_number else math.floor(threshold)
        written = plan.dialect.threshold(edge) if isinstance(edge, float) else str(edge)
        test = f"{x} {'<=' if goes_left else '>'} {written}"
    takes_missing = bool(flags & MISSING_LEFT) == goes_left
    return f"{test} OR {x} IS NULL" if takes_missing else test


# ------------------------------------------------------------------------------------------------------ the votes


def _add_votes(plan: StatementPlan, trees: range) -> Iterator[str]:
    """Yield the sum of each class after some more trees; leaf values are looked up by number."""
    votes = [_votes_of(plan, t) for t in trees]
    for k in range(len(plan.classes)):
        added = (
            _steps(plan.dialect, f"t{t}", numbers, table[:, k])
            for t, (numbers, table) in zip(trees, votes, strict=True)
        )
        yield " + ".join([f"s{k}", *added]) + f" AS s{k}"


def _votes_of(plan: StatementPlan, tree: int) -> tuple[list[int], FloatArray]:
    """Return the numbers of the leaf values of a tree, ascending, and their contributions (values x classes)."""
    answers, (begin, end) = plan.answers, plan.forest.tree_start[tree : tree + 2].tolist()
    first = (begin - tree) // 2 + tree
    numbers = np.unique(answers.number[first : first + (end - begin + 1) // 2]).tolist()
    table = np.zeros((len(numbers), answers.width))
    for row, number in zip(table, numbers, strict=True):
        span = slice(answers.start[number], answers.start[number + 1])
        row[answers.which[span]] = answers.amount[span]
    return numbers, table


def _steps(dialect: Dialect, x: str, numbers: list[int], amounts: FloatArray) -> str:
    """Return a step function of an integer as nested CASE expressions: a binary search for its step."""
    is_new = np.concatenate([[True], amounts[1:] != amounts[:-1]])
    starts = [n for n, new in zip(numbers, is_new, strict=True) if new]
    written = [dialect.double(a) for a in amounts[is_new].tolist()]

    def search(low: int, high: int) -> str:
        if high - low == 1:
            return written[low]
        middle = (low + high) // 2
        return f"CASE WHEN {x} < {starts[middle]} THEN {search(low, middle)} ELSE {search(middle, high)} END"

    return search(0, len(starts))


# ------------------------------------------------------------------------------------------------------ the check


def _compare(
    model: "TreeModel", plan: StatementPlan, source: SourceTable, X: TableLike, connection: Native, lost: list[str]
) -> Parity:
    """Run the statement on rows at the edges of leaves, in a table made for it."""
    rows = _as_labels(plan, rows_to_compare(model, X))
    opened = open_database(plan.dialect) if connection is None else None
    try:
        found = _run(plan, source, rows, connection if opened is None else opened)
    finally:
        if opened is not None:
            opened.close()
    if plan.classes:
        _require_labels(model, plan, rows, [row[1] for row in found])
    theirs = np.array([row[2 if plan.classes else 1 :] for row in found], dtype=np.float64)
    return compare(plan.dialect.product, compared_values(plan.forest), answer(model, rows), theirs, 0.0, *lost)


def _as_labels(plan: StatementPlan, rows: FloatArray) -> FloatArray:
    """Replace values between codes of ordered categories by the nearest code."""
    for f, reader in plan.readers.items():
        if reader.labels is not None:
            rows[:, f] = np.clip(np.rint(rows[:, f]), 0, max(0, len(reader.labels) - 1))
            rows[:, f] = rows[:, f] if reader.labels else np.nan
    return rows


def _require_labels(model: "TreeModel", plan: StatementPlan, rows: FloatArray, theirs: list[object]) -> None:
    winners = sum_votes(model, model.forest_, rows).argmax(axis=1)
    ours = [plan.classes[k] for k in winners]
    wrong = [i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
    if wrong:
        raise ExportError(
            f"{plan.dialect.product} does not predict the same labels as weald: {len(wrong)} of {len(rows)} differ. "
            f"The first is in row {wrong[0]}: {theirs[wrong[0]]!r} instead of {ours[wrong[0]]!r}. Do not use this "
            "export."
        )


def open_database(dialect: Dialect) -> Native:
    """Open an empty database in memory, which PostgreSQL does not have."""
    if dialect.product == "SQLite":
        return sqlite3.connect(":memory:")
    if dialect.product == "DuckDB":
        duckdb = require("duckdb", "to_sql", "or set check=False")
        return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    raise ExportError(
        "to_sql compares the statement with the model in a PostgreSQL server. Give one, "
        "connection=psycopg.connect(...), where it makes a temporary table; or set check=False."
    )


def _run(plan: StatementPlan, source: SourceTable, rows: FloatArray, connection: Native) -> list[tuple[object, ...]]:
    """Predict rows in a temporary table that has the columns of the model, and the number of each row."""
    dialect, number = plan.dialect, "row number"
    while number in source.columns:
        number += "_"
    table = "rows to compare"
    columns = [number, *(reader.column for reader in plan.readers.values())]
    types = ["INTEGER", *(_column_type(dialect, reader) for reader in plan.readers.values())]
    made = ", ".join(f"{dialect.identifier(c)} {t}" for c, t in zip(columns, types, strict=True))
    name, cursor = dialect.identifier(table), connection.cursor()
    try:
        cursor.execute(f"CREATE TEMPORARY TABLE {name} ({made})")
        _insert(dialect, cursor, name, list(_cells(plan, rows)))
        with _settings(dialect, cursor):
            cursor.execute(_statement(plan, SourceTable((table,), source.columns, (number,))))
            found: list[tuple[object, ...]] = sorted(cursor.fetchall())
        cursor.execute(f"DROP TABLE {name}")
    except Exception as error:
        raise ExportError(f"{dialect.product} reports an error: {str(error).strip()[:500]}") from error
    return found


@contextmanager
def _settings(dialect: Dialect, cursor: Native) -> Iterator[None]:
    """Disable PostgreSQL's compilation of expressions meanwhile: it takes gigabytes for large ones."""
    if dialect.product != "PostgreSQL":
        yield
        return
    cursor.execute("SELECT current_setting('jit')")
    before = str(cursor.fetchone()[0])
    cursor.execute("SET jit = off")
    yield
    cursor.execute(f"SET jit = {before}")


def _column_type(dialect: Dialect, reader: ColumnReader) -> str:
    if reader.kind == "text":
        return dialect.text_type
    return dialect.boolean_type if reader.kind == "booleans" else dialect.double_type


def _cells(plan: StatementPlan, rows: FloatArray) -> Iterator[tuple[object, ...]]:
    """Yield rows in the form of the database: row number, numbers, and labels."""
    columns: list[Sequence[object]] = [range(len(rows))]
    for f, reader in plan.readers.items():
        values: list[float] = rows[:, f].tolist()
        labels = reader.labels
        columns.append(values if labels is None else [None if math.isnan(v) else labels[int(v)] for v in values])
    return zip(*columns, strict=True)


def _insert(dialect: Dialect, cursor: Native, table: str, cells: list[tuple[object, ...]]) -> None:
    mark = "%s" if dialect.product == "PostgreSQL" else "?"
    row = f"({', '.join([mark] * len(cells[0]))})"
    at_once = max(1, min(500, 30_000 // len(cells[0])))
    for begin in range(0, len(cells), at_once):
        part = cells[begin : begin + at_once]
        made = f"INSERT INTO {table} VALUES {', '.join([row] * len(part))}"  # noqa: S608  (a quoted name, and marks)
        cursor.execute(made, [cell for cells_of_row in part for cell in cells_of_row])
