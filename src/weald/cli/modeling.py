"""Estimators from options, X and y from tables, and model files."""

import ast
import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weald.cli import arrow, screen
from weald.cli.columns import (
    ColumnPlan,
    choose,
    decoded,
    is_number,
    is_usable,
    make_plan,
    read_dates,
    read_labels,
    refuse_duplicates,
)
from weald.cli.failures import BadFile, UserError, for_the_shell
from weald.cli.options import ColumnOptions, FitOptions
from weald.cli.reading import read_table
from weald.data.schema import DATES
from weald.data.task import Task
from weald.data.types import Array, FloatArray
from weald.estimators.base import TreeModel

MODELS = {"forest": "RandomForest", "extra": "ExtraTrees", "tree": "DecisionTree"}


@dataclass(frozen=True)
class LabeledRows:
    """The rows of a file as X and y."""

    X: arrow.Table
    y: Array
    weight: FloatArray | None
    ids: list[object] | None
    n_dropped: int  # rows without a target


def read_rows(data: Path, target: str, columns: ColumnOptions) -> tuple[ColumnPlan, LabeledRows]:
    """Read a file and decide the roles of its columns."""
    table = read_table(data)
    present = [name for name in columns.dates or [] if name in table.column_names]  # other columns raise an error below
    table = read_dates(table, present, data.name)
    plan = make_plan(table, data.name, target, columns)
    table = read_labels(table, columns.categorical or [])
    return plan, take_rows(table, plan)


def take_rows(table: arrow.Table, plan: ColumnPlan) -> LabeledRows:
    """Take the columns of the plan; rows without a target are skipped."""
    import pyarrow.compute as pc

    known = pc.is_valid(table.column(plan.target))
    n_dropped = table.num_rows - int(pc.sum(known).as_py() or 0)
    table = table.filter(known) if n_dropped else table
    target = read_target(table.column(plan.target), plan.task)
    weight = None if plan.weight is None else read_weights(table.column(plan.weight), plan.weight)
    ids = None if plan.id is None else table.column(plan.id).to_pylist()
    return LabeledRows(table.select(plan.features), target, weight, ids, n_dropped)


def read_target(column: arrow.Column, task: Task) -> Array:
    """Read the target as an array."""
    if task is Task.SURVIVAL:
        raise UserError(
            "This is a survival model, whose target is a time and an event. The command line reads one target column: "
            "use model.score(X, y) or weald.importance in Python."
        )
    if task is Task.REGRESSION:
        return _numbers(column, "The target")
    if not is_usable(column.type):
        raise UserError(f"The target holds {column.type}, neither numbers nor text. Give another column.")
    return np.array(column.to_numpy().tolist())


def read_weights(column: arrow.Column, name: str) -> FloatArray:
    """Read a column of sample weights."""
    return _numbers(column, f"--weight {name!r}")


def _numbers(column: arrow.Column, what: str) -> FloatArray:
    plain = decoded(column)
    if not is_number(plain.type):
        raise UserError(f"{what} holds {plain.type}, not numbers. Give another column.")
    return np.asarray(plain.to_numpy(), dtype=np.float64)


def make_model(task: Task, fit: FitOptions, **more: object) -> TreeModel:
    """Make an estimator from options: common parameters have an option, all others are `--set name=value`."""
    import weald

    if fit.model not in MODELS:
        raise UserError(f"There is no model {fit.model!r}. Use one of {', '.join(MODELS)}.")
    class_ = getattr(weald, MODELS[fit.model] + ("Classifier" if task is Task.CLASSIFICATION else "Regressor"))
    known = list(inspect.signature(class_).parameters)
    given = {name: read_value(v) if isinstance(v, str) else v for name, v in fit.parameters().items()} | more
    chosen = {name: value for name, value in given.items() if value is not None and name in known}
    for setting in fit.settings or []:
        name, sign, text = setting.partition("=")
        if not sign:
            raise UserError(f"--set {setting!r} has no value. Give it as name=value, for example --set max_depth=5.")
        chosen[choose(name.strip(), known, f"{class_.__name__} parameter")] = read_value(text.strip())
    model: TreeModel = class_(**chosen)
    return model


def read_value(text: str) -> object:
    """Read a value as a Python literal, or true and false as in JSON; anything else is text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # deep nesting raises various errors
        return text


def load_model(path: Path) -> TreeModel:
    """Load a model file."""
    import weald

    if not path.exists():
        raise BadFile(f"{path} does not exist.")
    model: TreeModel = weald.load(path)
    return model


def task_of(model: TreeModel) -> Task:
    """Return the task of a model."""
    return model.task


def names_of(model: TreeModel) -> list[str]:
    """Return the names of the columns that a model needs."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise BadFile(
            "This model was trained without column names, so it cannot be used on files. Train it on a data frame."
        )
    return [str(name) for name in names]


def types_for(model: TreeModel) -> dict[str, arrow.DataType]:
    """Return the types in which the columns of a text file must be read: those of the training data."""
    import pyarrow as pa

    types = {}
    for f, (name, categories) in enumerate(zip(names_of(model), model.schema_.categories, strict=True)):
        if f in model.schema_.times:
            types[name] = pa.string()  # read by select_features
            continue
        labels = [] if categories is None else categories.labels.tolist()
        is_text = bool(labels) and isinstance(labels[0], str)
        types[name] = pa.string() if is_text else pa.bool_() if labels and isinstance(labels[0], bool) else pa.float64()
    return types


def select_features(table: arrow.Table, model: TreeModel, where: str) -> arrow.Table:
    """Select the columns that a model needs, by name."""
    names = names_of(model)
    refuse_duplicates([name for name in table.schema.names if name in names], where)
    lacking = [name for name in names if name not in table.schema.names]
    if lacking:
        try:
            choose(lacking[0], table.schema.names)
        except UserError as error:
            raise BadFile(
                f"{where} lacks {len(lacking)} of the {len(names)} columns that the model needs. {error}"
            ) from None
    for name in names:
        kind = table.schema.field(name).type
        if not is_usable(kind):
            raise BadFile(f"{where}: column {name!r} holds {kind}, but the model needs numbers or text.")
    dates = [name for f, name in enumerate(names) if model.schema_.times.get(f) == DATES]
    return read_labels(read_dates(table.select(names), dates, where), _integer_categories(model))


def _integer_categories(model: TreeModel) -> list[str]:
    """Return the names of columns whose categories are integers."""
    pairs = zip(names_of(model), model.schema_.categories, strict=True)
    return [name for name, c in pairs if c is not None and len(c.labels) and c.labels.dtype.kind in "iu"]


@contextmanager
def quiet_warnings() -> Iterator[list[str]]:
    """Collect warnings, to print them after the tables."""
    warned: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield warned
    warned += list(dict.fromkeys(for_the_shell(str(w.message)) for w in caught))


def say_warnings(warned: list[str]) -> None:
    """Print the collected warnings."""
    for words in warned:
        screen.note(f"note: {words}")
