"""The roles of columns: target, features, row names, columns left out and why; and the task.

ColumnPlan   the columns of a file and their roles
make_plan    decides the roles
read_dates   reads text as dates if an option or the model requires it
read_labels  reads integers as categories if an option requires it
choose       finds a column by name, with "did you mean"
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from weald.cli import arrow
from weald.cli.failures import BadFile, UserError
from weald.cli.options import ColumnOptions
from weald.data.schema import DATES, DURATIONS
from weald.data.task import Task
from weald.data.times import UNITS

FEW = 20  # maximum number of distinct integers of a target that are read as classes
NAMES_OF_ROWS = 0.5  # fraction of distinct values from which a text column is read as row names
MANY = 100
MOST_NAMES = 60  # names listed in a message
_HAS_ZONE = re.compile(r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)$")  # a time zone after a time of day
AS_DATES = f"numbers: {UNITS[DATES]}"


@dataclass
class ColumnPlan:
    """The roles of the columns of a file."""

    target: str
    task: Task
    reason: str  # why this task was chosen
    features: list[str] = field(default_factory=list)
    done: list[tuple[str, str, str]] = field(default_factory=list)  # (column, contents, role)
    id: str | None = None
    weight: str | None = None


def choose(name: str, names: Sequence[str], what: str = "column") -> str:
    """Find a name in a list; if it is missing, suggest similar ones."""
    if name in names:
        return name
    lower = {other.lower(): other for other in names}
    near = [lower[name.lower()]] if name.lower() in lower else difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"Available: {_list(names)}."
    raise UserError(f"There is no {what} {name!r}. {hint}")


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in list(names)[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else shown or "none"


def is_number(kind: arrow.DataType) -> bool:
    """Return whether a type of Arrow is numeric."""
    import pyarrow.types as kinds

    return bool(kinds.is_floating(kind) or kinds.is_integer(kind) or kinds.is_decimal(kind))


def decoded(column: arrow.Column) -> arrow.Column:
    """Decode a dictionary column to its labels."""
    import pyarrow.types as kinds

    return column.cast(column.type.value_type) if kinds.is_dictionary(column.type) else column


def is_usable(kind: arrow.DataType) -> bool:
    """Return whether a type of Arrow has one number, one label or nothing per row."""
    import pyarrow.types as kinds

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    tests = (is_number, kinds.is_boolean, kinds.is_string, kinds.is_large_string, kinds.is_temporal, kinds.is_null)
    return any(test(plain) for test in tests)


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Raise an error if two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadFile(f"{where} has more than one column named {name!r}. Give each column its own name.")
        seen.add(name)


def make_plan(
    table: arrow.Table,
    where: str,
    target: str,
    columns: ColumnOptions,
) -> ColumnPlan:
    """Decide the role of each column."""
    exclude, categorical, dates = columns.exclude or [], columns.categorical or [], columns.dates or []
    names = list(table.column_names)
    refuse_duplicates(names, where)
    choose(target, names)
    for one in (*exclude, *categorical, *dates, *(n for n in (columns.id, columns.weight) if n is not None)):
        if choose(one, names) == target:
            raise UserError(f"{one!r} is the target and cannot have another role. Leave it out of the other options.")
    task, reason = _find_task(table.column(target), target, _read_task(columns.task))
    plan = ColumnPlan(target, task, reason, id=columns.id, weight=columns.weight)
    roles = {target: "target", **dict.fromkeys(exclude, "left out (--exclude)")}
    roles |= {n: what for n, what in ((columns.id, "row name"), (columns.weight, "sample weight")) if n is not None}
    for name in names:
        holds, doing = _look(table.column(name), forced=name in categorical)
        if name in categorical and doing != "categories":
            raise UserError(
                f"--categorical is for columns of text or integers, but {name!r} holds {holds}. Leave it out."
            )
        if name in dates and doing != AS_DATES:
            raise UserError(f"--dates is for columns of dates, but {name!r} holds {holds}. Leave it out.")
        doing = roles.get(name, doing)
        plan.done.append((name, holds, doing))
        if not doing.startswith(("left out", "target", "row name", "sample weight")):
            plan.features.append(name)
    if not plan.features:
        raise BadFile(f"{where} has no feature columns besides the target {target!r}. Add columns, or leave out fewer.")
    return plan


def read_dates(table: arrow.Table, names: Sequence[str], where: str) -> arrow.Table:
    """Read the text of some columns as dates; columns without text do not change."""
    import pyarrow as pa
    import pyarrow.types as kinds

    for name in names:
        column = decoded(table.column(name))
        if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
            continue
        try:
            with_zone = any(_HAS_ZONE.search(text) for text in column.unique().to_pylist() if text)
            read = column.cast(pa.timestamp("us", "UTC" if with_zone else None))
        except pa.ArrowInvalid:
            raise BadFile(
                f"{where}: column {name!r} should hold dates, but has {_no_date(column)!r}. Write dates as 2015-03-14, "
                "2015-03-14 06:30 or 2015-03-14T06:30:00Z, with a time zone in all rows of a column or in none."
            ) from None
        table = table.set_column(table.schema.get_field_index(name), name, read)
    return table


def read_labels(table: arrow.Table, names: Sequence[str]) -> arrow.Table:
    """Convert integers of some columns to text, which is read as categories."""
    import pyarrow as pa

    for name in names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type) or not is_number(column.type) or not _is_whole(column):
            continue
        labels = column if pa.types.is_integer(column.type) else column.cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, labels.dictionary_encode())
    return table


def _no_date(column: arrow.Column) -> str:
    """Return the first text that is not a date; if all are dates, time zones are mixed."""
    import pyarrow as pa

    for text in column.unique().drop_null():
        try:
            text.cast(pa.timestamp("us", "UTC" if _HAS_ZONE.search(text.as_py()) else None))
        except pa.ArrowInvalid:
            return str(text)
    return f"{next(t for t in column.to_pylist() if t and not _HAS_ZONE.search(t))} without a time zone among others"


def _look(column: arrow.Column, *, forced: bool) -> tuple[str, str]:
    """Describe the contents and the role of a column."""
    import pyarrow.types as kinds

    kind = column.type
    n_rows, n_missing = len(column), column.null_count
    missing = f", {100 * n_missing / n_rows:.1f} % missing" if n_missing else ""
    if n_missing == n_rows:
        return "nothing", "left out: no values"
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    if is_number(kind):
        holds = "integers" if kinds.is_integer(kind) else "numbers"
        is_label = forced and (kinds.is_integer(kind) or kinds.is_dictionary(column.type) or _is_whole(column))
        return f"{holds}{missing}", "categories" if is_label else "numbers"
    if kinds.is_boolean(kind):
        return f"true or false{missing}", "categories"
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        n_labels = len(column.unique()) - bool(n_missing)
        holds = f"text, {n_labels:,} distinct{missing}"
        if not forced and n_labels > MANY and n_labels > NAMES_OF_ROWS * (n_rows - n_missing):
            return holds, "left out: looks like row names (keep it with --categorical; read dates with --dates)"
        return holds, "categories"
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return f"dates{missing}", AS_DATES
    if kinds.is_duration(kind):
        return f"durations{missing}", f"numbers: {UNITS[DURATIONS]}"
    if kinds.is_temporal(kind):
        return f"times of the day{missing}", "left out: convert it to numbers first, such as hours since midnight"
    return str(kind), "left out: neither numbers nor text"


def _read_task(given: str | None) -> Task | None:
    if given not in (None, *Task):
        raise UserError(f"--task {given!r} is not allowed. Give classification or regression.")
    return None if given is None else Task(given)


def _find_task(column: arrow.Column, target: str, wanted: Task | None) -> tuple[Task, str]:
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    column = decoded(column)
    kind = column.type
    numbers = is_number(kind)
    if len(column) == column.null_count:
        raise BadFile(f"The target {target!r} has no values. Give another --target.")
    if wanted is Task.REGRESSION and not numbers:
        raise UserError(
            f"The target {target!r} holds {kind}, not numbers. Leave --task out, or give --task classification."
        )
    if not is_usable(kind):
        raise UserError(f"The target {target!r} holds {kind}, but a target is one number or label for each row.")
    if kinds.is_temporal(kind):
        raise UserError(f"The target {target!r} holds dates or times. Convert it to numbers or to class names.")
    n_distinct = pc.count_distinct(column, mode="only_valid").as_py()
    if wanted:
        found = wanted, "--task"
    elif not numbers:
        found = Task.CLASSIFICATION, f"the target has {n_distinct:,} labels"
    else:
        whole = kinds.is_integer(kind) or _is_whole(column)
        if whole and n_distinct <= FEW:
            found = Task.CLASSIFICATION, f"the target has {n_distinct} distinct integers"
        else:
            found = Task.REGRESSION, f"the target has {n_distinct:,} distinct numbers"
    if n_distinct < 2:
        raise BadFile(
            f"The target {target!r} has only one value, so there is nothing to predict. Give another --target."
        )
    if found[0] is Task.CLASSIFICATION and n_distinct > 1000 and n_distinct > 0.5 * len(column):
        raise BadFile(
            f"The target {target!r} has {n_distinct:,} labels in {len(column):,} rows: it looks like row names. "
            "Give another --target, or --task regression if it is a number."
        )
    return found


def _is_whole(column: arrow.Column) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = column.cast(pa.float64())  # not all numeric types can be rounded
    return bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())
