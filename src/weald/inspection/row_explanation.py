"""Explaining one prediction: contributions, nearest training rows, and the smallest changes, as text.

explain_one_row       a model, a row, optionally data    ->    ForestRowExplanation
explain_matrix_row    explains a row that has already been read
list_neighbors        the training rows with the largest weights in a prediction
Contribution          the SHAP value of a feature, with the row's value and its rank in the data
Neighbor              a training row with a large weight in the prediction
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weald.data import arguments
from weald.data.short_repr import short_repr
from weald.data.table import Matrix, TrainingArguments
from weald.data.task import Task
from weald.data.types import BoolArray, FloatArray, Label
from weald.engines.choose import open_engine
from weald.errors import ParameterError, shown
from weald.estimators.prediction import read_row, sum_votes
from weald.forest.describe.conditions import Names, format_number, format_value
from weald.inspection.dependence_request import WeightedRows, read_table
from weald.inspection.free_axes import Column
from weald.inspection.neighbors import Neighbors, find_neighbors
from weald.inspection.row_changes import Change, list_changes
from weald.inspection.shap_values import RowsToExplain, explain_rows, refuse_kernels

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

MOST = 10  # number of printed contributions
N_NEIGHBORS = 5
N_CHANGES = 5


@dataclass(frozen=True)
class Contribution:
    """The contribution of a feature's value to a prediction."""

    feature: str
    value: str  # value of the feature in the row
    contribution: float  # SHAP value of the feature
    quantile: float | None  # fraction of the data below the value; None: a category, missing, or no data is given
    frequency: float | None  # fraction of the data with this category, or missing like the value

    @property
    def standing(self) -> str:
        """Comparison of the value with the data, as text."""
        if self.quantile is not None:
            below = self.quantile
            word, part = ("higher", 100 * below) if below >= 0.5 else ("lower", 100 - 100 * below)
            return f"{word} than {part:.0f} %" if part < 99 else f"{word} than {min(part, 99.9):.1f} %"
        return "" if self.frequency is None else f"{100 * self.frequency:.1f} % of the rows"


@dataclass(frozen=True)
class Neighbor:
    """A training row with a large weight in the prediction."""

    row: int  # row number in the training data
    weight: float  # weight in the prediction
    target: Label


@dataclass(frozen=True, repr=False)
class ForestRowExplanation:
    """Explanation of the prediction for a row. Printed, it is text.

    Attributes
    ----------
    prediction : label or float
        The prediction of the model.
    output : label or None
        The class that is explained; None for regression.
    value : float
        The probability of this class, or the mean.
    base : float
        The mean over the training rows, from which contributions start: base + contributions = value.
    probabilities : dict
        By class; empty for regression.
    contributions : tuple of Contribution
        The largest first; features without any effect are left out.
    changes : tuple of Change
        The smallest changes of one feature that change the prediction, the smallest first.
    neighbors : tuple of Neighbor
        The training rows with the largest weights; empty if no training data is given.
    """

    prediction: Label
    output: Label | None
    value: float
    base: float
    probabilities: dict[Label, float]
    contributions: tuple[Contribution, ...]
    changes: tuple[Change, ...]
    neighbors: tuple[Neighbor, ...]
    aim: str  # the goal of changes, as text

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, most: int = MOST) -> str:
        """Return the explanation as text, with at most this number of contributions."""
        return "\n\n".join(part for part in (self._head(most), self._say_changes(), self._say_neighbors()) if part)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: dictionaries, lists, text and numbers."""
        return {
            "prediction": self.prediction,
            "class": self.output,
            "value": self.value,
            "average": self.base,
            "probabilities": {str(label): p for label, p in self.probabilities.items()},
            "contributions": [asdict(one) for one in self.contributions],
            "changes": [asdict(one) for one in self.changes],
            "neighbors": [asdict(one) for one in self.neighbors],
        }

    def _head(self, most: int) -> str:
        number = self._write(self.value)
        if self.output is None:
            first = f"predicted {number}; the mean is {self._write(self.base)}"
        else:
            first = f"predicted {self.prediction}"
            whose = "" if self.output == self.prediction else f" of {self.output}"
            first += f"; probability{whose} {number}, on average {self._write(self.base)}"
        rest = self.contributions[most:]
        rows = [[c.feature, c.value, self._sign(c.contribution), c.standing] for c in self.contributions[:most]]
        if rest:
            rows.append([f"{len(rest)} others", "", self._sign(sum(c.contribution for c in rest)), ""])
        return first + "\n\n" + align([["feature", "value", "contribution", "among the data"], *rows], right=(2,))

    def _say_changes(self) -> str:
        if not self.changes:
            return f"No change of a single feature would {self.aim}."
        rows = [[c.feature, c.to, f"(now {c.value})", f"→  {self._say_result(c)}"] for c in self.changes]
        return f"The smallest changes of one feature that {self.aim}:\n" + align(rows)

    def _say_result(self, change: Change) -> str:
        return self._write(change.result) if self.output is None else f"{change.prediction} ({change.result:.2f})"

    def _say_neighbors(self) -> str:
        rows = [
            [f"row {n.row}", f"weight {n.weight:.3f}", str(n.target) if self.probabilities else self._write(n.target)]
            for n in self.neighbors
        ]
        return "Training rows that determine the prediction:\n" + align(rows) if rows else ""

    def _write(self, number: float) -> str:
        """Write a probability or a value of the target, with the same decimals in the whole text."""
        if self.output is not None:
            return f"{number:.3f}"
        power = math.floor(math.log10(max(abs(self.value), abs(self.base)) or 1.0))
        return f"{number:,.{max(0, 3 - power)}f}" if -5 < power < 15 else format_number(number)

    def _sign(self, number: float) -> str:
        return ("+" if number >= 0 else "") + self._write(number)


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Write rows of text as columns; empty ones are left out."""
    kept = [c for c in range(len(rows[0])) if any(row[c] for row in rows[1:] or rows)]
    widths = {c: max(len(row[c]) for row in rows) for c in kept}
    lines = [
        "  ".join(row[c].rjust(widths[c]) if c in right else row[c].ljust(widths[c]) for c in kept) for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


# ----------------------------------------------------------------------------------------------------------- flow


def explain_one_row(
    model: "TreeModel",
    x: Any,
    data: TrainingArguments,
    *,
    label: Label = None,
    move: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> ForestRowExplanation:
    """Explain the prediction for a row; see `RandomForest.explain_row`."""
    arguments.check_argument("move", move, (arguments.RealNumber(0), arguments.NOTHING))
    if move is not None and model.task is Task.CLASSIFICATION:
        raise ParameterError(f"move={shown(move)} is for regression. Leave it out: a change is to another class.")
    if data.X is None and data.y is not None:
        raise ParameterError("y is given without X. Give both parts of the training data, or neither.")
    refuse_kernels(model)
    row = read_row(model, x)
    table = None if data.X is None else read_table(model, data.X, None, "explain_row")
    neighbors = () if data.y is None else list_neighbors(model, row, find_neighbors(model, data))
    return explain_matrix_row(model, row, table, neighbors, label=label, move=move, feature_names=feature_names)


def explain_matrix_row(
    model: "TreeModel",
    row: Matrix,
    table: WeightedRows | None,
    neighbors: "tuple[Neighbor, ...]",
    *,
    label: Label = None,
    move: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> ForestRowExplanation:
    """Explain a row that has been read."""
    names = Names.of(model, feature_names)
    predicted = _predict(model, row)
    output = _output(model, predicted, label)
    explanation = explain_rows(model, RowsToExplain(row), names.features)
    assert not isinstance(explanation, list)  # noqa: S101  (for the type checker: there is one target)
    if explanation.output_names is not None:
        explanation = explanation.of_output(model.classes_.tolist()[output])
    changes, aim = list_changes(model, row, table, predicted, names, move, N_CHANGES)
    classes = None if model.task is Task.REGRESSION else model.classes_.tolist()
    return ForestRowExplanation(
        prediction=float(predicted[0]) if classes is None else classes[int(predicted.argmax())],
        output=None if classes is None else classes[output],
        value=float(predicted[output]),
        base=float(explanation.base_values[0]),
        probabilities={} if classes is None else dict(zip(classes, predicted.tolist(), strict=True)),
        contributions=_contributions(model, row, table, explanation.values[0], names),
        changes=changes,
        neighbors=neighbors,
        aim=aim,
    )


def _predict(model: "TreeModel", row: Matrix) -> FloatArray:
    """Return the probabilities, or the mean, of one row."""
    sums = sum_votes(model, model.forest_, row) / model.forest_.vote_total
    return np.atleast_1d(sums[0])


def _output(model: "TreeModel", predicted: FloatArray, label: Label) -> int:
    """Return the number of the class to explain."""
    if model.task is Task.REGRESSION:
        if label is not None:
            raise ParameterError(f"label={shown(label)} is a class, but this model predicts numbers. Leave it out.")
        return 0
    if label is None:
        return int(predicted.argmax())
    classes = model.classes_.tolist()
    if label not in classes:
        raise ParameterError(f"label={shown(label)} is not a class. Give one of {', '.join(map(repr, classes[:30]))}.")
    number: int = classes.index(label)
    return number


def _contributions(
    model: "TreeModel", row: Matrix, table: WeightedRows | None, values: FloatArray, names: Names
) -> tuple[Contribution, ...]:
    """List the contributions, the largest magnitude first."""
    cells = np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=np.float64)[0]
    order = [int(f) for f in np.argsort(-np.abs(values), kind="stable") if values[f]]
    found = []
    for f in order:
        categories = names.categories[f]
        words = "missing" if np.isnan(cells[f]) else format_value(cells[f], categories, names.times.get(f))
        quantile, frequency = (
            (None, None) if table is None else _standing(Column(f, "", table.column(f), model.schema_), cells[f])
        )
        found.append(Contribution(names.features[f], words, float(values[f]), quantile, frequency))
    return tuple(found)


def _standing(column: Column, value: float) -> tuple[float | None, float | None]:
    """Return the fraction of the data below a number (of equal values half), or that with a category."""
    if np.isnan(value):
        return None, float(np.isnan(column.values).mean())
    if column.is_unordered:
        return None, float((column.values == value).mean())
    known = column.known
    if not len(known):
        return None, None
    return float(((known < value).sum() + 0.5 * (known == value).sum()) / len(known)), None


def list_neighbors(
    model: "TreeModel", row: Matrix, near: Neighbors, seen: BoolArray | None = None
) -> tuple[Neighbor, ...]:
    """Find the training rows with the largest weights; `seen` marks trees that are left out."""
    leaves = open_engine(model.engine).local.leaves(model.forest_, row, 1, None)
    counted = leaves if seen is None else np.where(seen, -1, leaves).astype(np.int32)
    found = near.nearest_of_leaves(counted, N_NEIGHBORS)
    rows, weights = found.rows[0][found.weights[0] > 0], found.weights[0][found.weights[0] > 0]
    targets = near.targets_of(rows)
    return tuple(Neighbor(int(r), float(w), _plain(y)) for r, w, y in zip(rows, weights, targets, strict=True))


def _plain(label: Label) -> Label:
    return label.item() if isinstance(label, np.generic) else label
