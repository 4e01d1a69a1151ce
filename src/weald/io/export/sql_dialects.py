"""Differences between databases: quoting of names and text, doubles, and the reading of columns.

    DIALECTS         by name: "duckdb", "sqlite", "postgresql"

Names and text come from the user's tables and may contain anything. Both are quoted, always; NUL cannot be.
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from weald.errors import ExportError
from weald.io.export.label_kinds import LabelKind
from weald.io.export.leaf_values import utf8


@dataclass(frozen=True)
class Dialect:
    """The SQL of one database. This class is PostgreSQL; subclasses override the differences."""

    product: str = "PostgreSQL"
    since: str = "12"
    double_type: str = "double precision"
    text_type: str = "text"
    boolean_type: str = "boolean"
    greatest: str = "GREATEST"
    fence: str = "OFFSET 0"  # prevents the planner from merging nested SELECTs, which would copy expressions
    binary: str = ' COLLATE "C"'  # compare text by bytes
    null: tuple[str, ...] = ()  # an extra column for thresholds
    nan: str = "'NaN'::float8"
    trees_at_once: int = 100  # trees in one SELECT: limits the depth of a sum and the number of columns
    most_columns: int = 1600  # columns of one SELECT: PostgreSQL allows 1,664
    most_bytes: int = 2**23
    note: str = "-- Run `SET jit = off` first: compiling large expressions takes the server gigabytes.\n"

    def identifier(self, name: str) -> str:
        """Quote the name of a table or column."""
        self._check(name, "name")
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Quote text. E'' does not depend on the setting standard_conforming_strings."""
        self._check(value, "label")
        quoted = value.replace("'", "''")
        return "E'" + quoted.replace("\\", "\\\\") + "'" if "\\" in value else f"'{quoted}'"

    def _check(self, text: str, what: str) -> None:
        utf8(text, self.product)
        if "\0" in text:
            raise ExportError(f"The {what} {text!r} contains NUL, which {self.product} does not support. Rename it.")

    def double(self, value: float) -> str:
        """Write a double exactly, with a cast: without it, the number would be a decimal."""
        if math.isinf(value):
            return "'Infinity'::float8" if value > 0 else "'-Infinity'::float8"
        return f"{value!r}::float8"

    def threshold(self, value: float) -> str:
        """Write a double in a comparison with a double, which needs no cast."""
        return self.double(value) if math.isinf(value) else repr(value)

    def label(self, value: object, kind: LabelKind) -> str:
        """Write a label of a class or category."""
        if kind == "text":
            return self.text(str(value))
        if kind == "booleans":
            return self.boolean(bool(value))
        return self.double(float(str(value))) if kind == "numbers" else str(value)

    def boolean(self, value: bool) -> str:
        """Write a boolean."""
        return str(value).upper()

    def read_number(self, column: str, name: str) -> str:
        """Read a column as doubles; NaN is NULL, because databases hold NaN equal to itself and above all numbers."""
        del name
        return f"NULLIF(CAST({column} AS {self.double_type}), {self.nan})"

    def read_label(self, column: str, name: str, kind: LabelKind) -> str:
        """Read a column of categories, to be compared with labels."""
        if kind == "text":
            return f"CAST({column} AS {self.text_type}){self.binary}"
        if kind == "booleans":
            return f"CAST({column} AS {self.boolean_type})"
        return self.read_number(column, name)

    def same_name(self, name: str) -> str:
        """Return a normalized name: equal for names that the database treats as the same."""
        return name


@dataclass(frozen=True)
class DuckDB(Dialect):
    """DuckDB, where a number without an exponent is a decimal."""

    product: str = "DuckDB"
    since: str = "1.0"
    double_type: str = "DOUBLE"
    text_type: str = "VARCHAR"
    boolean_type: str = "BOOLEAN"
    fence: str = ""
    binary: str = " COLLATE POSIX"
    nan: str = "'nan'::DOUBLE"
    trees_at_once: int = 10  # planning a SELECT of 100 large expressions takes minutes
    most_columns: int = 10_000
    most_bytes: int = 2**22  # planning more takes gigabytes of memory
    note: str = ""

    def text(self, value: str) -> str:
        """Quote text."""
        self._check(value, "label")
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        """Write a double exactly."""
        if math.isinf(value):
            return "'inf'::DOUBLE" if value > 0 else "'-inf'::DOUBLE"
        written = repr(value)
        return written if "e" in written else f"{written}e0"

    def threshold(self, value: float) -> str:
        """Write a double that is compared with one."""
        return self.double(value)

    def same_name(self, name: str) -> str:
        """Normalize a name: letter case does not matter."""
        return name.lower()


@dataclass(frozen=True)
class SQLite(Dialect):
    """SQLite, where each cell has its own type, and numbers with many digits are not read exactly."""

    product: str = "SQLite"
    since: str = "3.38"
    double_type: str = "REAL"
    text_type: str = "TEXT"
    greatest: str = "MAX"
    fence: str = "LIMIT -1 OFFSET 0"
    binary: str = " COLLATE BINARY"
    null: tuple[str, ...] = ("NULL AS n",)
    most_columns: int = 2000
    most_bytes: int = 2**25
    note: str = ""

    def text(self, value: str) -> str:
        """Quote text."""
        self._check(value, "label")
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: float) -> str:
        """Write a double exactly, as a whole number and powers of two: SQLite may read 17 digits as a neighbor."""
        number, *factors = _factors(value)
        return f"({number}{''.join(factors)})" if factors else number

    def threshold(self, value: float) -> str:
        """Write a double in a comparison, as an expression that is not constant.

        SQLite compares each constant with all earlier ones, so planning many trees would take hours. `n` is NULL.
        """
        number, *factors = _factors(value)
        return f"IFNULL(n,{number}){''.join(factors)}"

    def boolean(self, value: bool) -> str:
        """Write a boolean: SQLite keeps them as 1 and 0."""
        return str(int(value))

    def read_number(self, column: str, name: str) -> str:
        """Read a column as doubles. Text, which CAST would read as 0, raises an error of json_extract that shows it."""
        message = self.text(f"column {name} has no number: ")
        refuse = f"json_extract('{{}}', {message} || quote({column}))"
        return (
            f"CASE typeof({column}) WHEN 'real' THEN {column} WHEN 'null' THEN NULL "
            f"WHEN 'integer' THEN CAST({column} AS REAL) ELSE {refuse} END"
        )

    def read_label(self, column: str, name: str, kind: LabelKind) -> str:
        """Read a column of categories, to be compared with labels."""
        return super().read_label(column, name, "numbers" if kind == "booleans" else kind)

    def same_name(self, name: str) -> str:
        """Normalize a name: the case of ASCII letters does not matter."""
        return "".join(c.lower() if c.isascii() else c for c in name)


def _factors(value: float) -> list[str]:
    """Write a double as a number that SQLite reads exactly, and factors and divisors that are powers of two."""
    if math.isinf(value):
        return ["9e999" if value > 0 else "-9e999"]
    written = repr(value)
    if "e" not in written and len(written) <= 16 and Decimal(written) == Decimal(value):
        return [written]
    mantissa, exponent = math.frexp(value)
    whole, exponent = int(mantissa * 2**53), exponent - 53
    while whole % 2 == 0 and exponent < 0:
        whole, exponent = whole // 2, exponent + 1
    sign, size = "/" if exponent < 0 else "*", abs(exponent)
    factors = [f"{sign}{2 ** min(52, size - begin)}.0" for begin in range(0, size, 52)]
    return [str(whole), *factors] if factors else [f"{whole}.0"]


DIALECTS = {"duckdb": DuckDB(), "sqlite": SQLite(), "postgresql": Dialect()}
