"""From a fitted model and its data to a report.

report   computes the contents and writes the page
Report   the page, which can be saved or shown in a notebook
"""

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.table import Matrix, TrainingArguments
from weald.data.types import Array, ColumnLike, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import uncalibrated
from weald.estimators.features import features_of
from weald.estimators.multi_output import is_multi_output
from weald.estimators.out_of_bag import OutOfBag
from weald.estimators.prediction import read_matrix
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.training_data import read_training_data
from weald.forest.describe.markup import tag
from weald.inspection.importance_request import ByRow, FitArguments, read_fit_arguments
from weald.inspection.importance_result import names_of
from weald.inspection.resample import count_rows
from weald.io.atomic import write_file
from weald.reports import (
    browser,
    columns,
    dependence,
    drift,
    growth,
    importance,
    mistakes,
    quality,
    reproducibility,
    shap,
    uncertainty,
)
from weald.reports.metrics import Score, compute_scores
from weald.reports.page import write_page
from weald.reports.predictions import Predictions, held_out, out_of_bag
from weald.reports.section import Section


class ReportOptions(FitArguments, total=False):
    """Further arguments of `report`.

    timings   dict of str: seconds: times to show
    command   str: command that fits the model again, to show
    """

    timings: Mapping[str, float] | None
    command: str | None


@dataclass(frozen=True)
class Report:
    """A report on a model. Save it with `save`, or display it in a notebook.

    Attributes
    ----------
    html : str
        The HTML of the page.
    metrics : dict
        By kind of rows ("out of bag", "held out"): value and limits of the interval of each metric.
    """

    html: str
    metrics: dict[str, dict[str, tuple[float, float, float]]]

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the page to a file. An existing file is replaced atomically.

        Parameters
        ----------
        file : str or path

        Returns
        -------
        Path
            The path of the file.
        """
        path = Path(file)
        write_file(path, [self.html.encode()])
        return path

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in its own frame so that its styles do not affect the notebook."""
        return tag(
            "iframe",
            srcdoc=self.html.replace("\n", " "),
            style="width:100%;height:48rem;border:0",
            title="Report on a model",
        )

    def __repr__(self) -> str:
        return f"<report: {len(self.html) / 1024:,.0f} kB of HTML; save it with .save(file)>"


def report(
    estimator: object,
    X: TableLike = None,
    y: ColumnLike = None,
    *,
    X_test: TableLike = None,
    y_test: ColumnLike = None,
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
    ids: Sequence[object] | None = None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Write a report on a fitted model: one HTML page that opens in any browser.

    It shows the training data, metrics and charts of the predictions, their uncertainty, the out-of-bag error by number
    of trees, feature importance, SHAP values, partial dependence, the rows with the largest errors, some trees, and how
    to fit the model again. The page is self-contained.

    Parameters
    ----------
    estimator : fitted forest or tree
    X, y : the training data, optional
        With rows in any order. A model does not keep its rows: without them the page shows only what the model stores.
    X_test, y_test : test rows, optional
        The model is also evaluated on them. A single tree has no out-of-bag rows and needs them for its evaluation.
    file : str, path or None, default=None
        File to write. None: only return the report.
    title : str or None, default=None
        Heading of the page. None: the class of the model.
    ids : sequence or None, default=None
        Names of the training rows. None: numbers from 0.
    sample_weight : array, optional
        As given to `fit`.
    fit_params : dict, optional
        Other arguments of `fit` by row: `{"groups": ..., "stratify": ...}`.
    timings : dict of str: seconds, optional
        Times to show, by name.
    command : str or None, default=None
        Command that fits the model again, to show. None: lines of Python.

    Returns
    -------
    Report

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> page = weald.report(forest, X, y, title="Iris")
    >>> [round(value, 3) for value in page.metrics["out of bag"]["accuracy"]]
    [0.94, 0.89, 0.968]
    >>> page.save("iris.html")  # doctest: +SKIP
    """
    refuse_survival(estimator, "weald.report", "Use `score`, `brier_score` and weald.importance.")
    times, command = dict(options.pop("timings", None) or {}), options.pop("command", None)
    weight, by_row = read_fit_arguments("report", options)
    model = _check(estimator, X, y, X_test, y_test, ids)
    began = time.perf_counter()
    data = ReportData(X, y, weight, by_row)
    found = _look(model, data)
    sources = [a for a in (out_of_bag(found, model), None if X_test is None else held_out(model, X_test, y_test)) if a]
    rows = None if X is None else _read(model, X)
    times.setdefault("computing this report", 0.0)
    tables = None if rows is None or X_test is None else drift.read_tables(model, rows, X_test)
    test = None if X_test is None else _read(model, X_test)
    sections = [*_sections(model, data, rows, test, tables, found, sources, ids)]
    times["computing this report"] = time.perf_counter() - began
    sections.append(reproducibility.section(model, times, command))
    scores = [(predictions, compute_scores(predictions)) for predictions in sources]
    heading = title if title is not None else type(model).__name__
    html = write_page(
        heading,
        _words(model, rows),
        _cards(model, scores),
        sections,
        f"Made by weald {version('weald')} on {time.strftime('%Y-%m-%d')}.",
    )
    made = Report(html, {a.source: {s.name: (s.value, s.low, s.high) for s in of_source} for a, of_source in scores})
    if file is not None:
        made.save(file)
    return made


@dataclass(frozen=True)
class ReportData:
    """The training data, as given by the user."""

    X: TableLike
    y: ColumnLike
    weight: ColumnLike
    by_row: ByRow


def _check(
    estimator: object,
    X: TableLike,
    y: ColumnLike,
    X_test: TableLike,
    y_test: ColumnLike,
    ids: Sequence[object] | None,
) -> TreeModel:
    if not isinstance(estimator, TreeModel):
        raise ParameterError(f"report was given a {type(estimator).__name__}. Give a fitted tree or forest of weald.")
    check_is_fitted(estimator)
    features_of(estimator).require_table("report")
    if is_multi_output(estimator):
        raise ParameterError(
            f"A report covers one target, and this model has {estimator.n_outputs_}. Report each target with test "
            "rows, for example report(model.of_target(0), X_test=X_test, y_test=y_test[:, 0])."
        )
    for one, other, words in ((X, y, "X and y"), (X_test, y_test, "X_test and y_test")):
        if (one is None) != (other is None):
            raise ParameterError(f"Give both of {words}, or neither.")
    if ids is not None and (X is None or len(ids) != count_rows(y)):
        raise DataError("ids must have one entry for each training row.")
    return estimator


def _look(model: TreeModel, data: ReportData) -> OutOfBag | None:
    """Return the out-of-bag predictions; None if the trees have no bags."""
    if data.X is None:
        return getattr(model, "oob_", None)
    origins = model.forest_.origins
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page states the number of rows without prediction
        has_bags = any(o.bags.bootstrap for o in origins) and all(o.resampling == "bagging" for o in origins)
        if not (has_bags and hasattr(model, "out_of_bag")):
            if origins:  # trees of other libraries have no origin
                read_training_data(
                    model, TrainingArguments(data.X, data.y, data.weight, **data.by_row)
                )  # raises an error for other data
            return None
        found: OutOfBag = model.out_of_bag(data.X, data.y, data.weight, **data.by_row)
    return found


def _read(model: TreeModel, X: TableLike) -> Matrix:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_matrix(model, X)


def _sections(
    model: TreeModel,
    data: ReportData,
    rows: Matrix | None,
    test: Matrix | None,
    tables: drift.Tables | None,
    found: OutOfBag | None,
    sources: list[Predictions],
    ids: Sequence[object] | None,
) -> list[Section]:
    names = names_of(model, None)
    made = []
    if rows is not None:
        made.append(columns.section(model, rows, _target(model, data.y), names))
    if sources:
        made.append(quality.section(model, sources))
        of_trees = _of_trees(model, sources, found)
        if (sure := uncertainty.section(of_trees)) is not None:
            made.append(sure)
    model = uncalibrated(model)  # uncalibrated
    if found is not None:
        made.append(growth.section(found))
    asked, n_asked = ([], 0) if data.X is None else importance.ask(model, data.X, data.y, data.weight, data.by_row)
    asked = asked or importance.stored_importances(model)
    made.append(importance.section(asked, n_asked or model.forest_.n_trees, model.forest_.n_trees))
    order = asked[0].order()
    if tables is not None:  # refers to the data section
        made.insert(1, drift.section(model, tables, (_target(model, data.y), sources[-1].truth), order, names))
    if rows is not None:
        if shap.has_values(model):
            made.append(shap.section(model, rows))
        made.append(dependence.section(model, rows, data.weight, order, names))
    if sources:
        made.append(mistakes.section(model, sources[0], _source(data, rows, test, sources[0], ids), order, names))
    made.append(browser.section(model))
    return made


def _of_trees(model: TreeModel, sources: list[Predictions], found: OutOfBag | None) -> list[Predictions]:
    """Return uncalibrated predictions: prediction sets are made from these."""
    plain = uncalibrated(model)
    own = out_of_bag(found, plain)
    if plain is model or own is None:
        return sources
    return [own]


def _source(
    data: ReportData, rows: Matrix | None, test: Matrix | None, first: Predictions, ids: Sequence[object] | None
) -> mistakes.Source:
    """Return the rows that the first predictions are for."""
    if first.source != "out of bag":
        return mistakes.Source(test)
    if rows is None:
        return mistakes.Source(None)
    return mistakes.Source(rows, TrainingArguments(data.X, data.y, data.weight, **data.by_row), ids)


def _target(model: TreeModel, y: ColumnLike) -> Array:
    """Return the target as numbers."""
    values = np.asarray(y).ravel()
    if not hasattr(model, "classes_"):
        return values.astype(np.float64)
    number_of = {label: k for k, label in enumerate(model.classes_.tolist())}
    try:
        return np.array([number_of[label] for label in values.tolist()])
    except KeyError as error:
        raise DataError(
            f"y has the class {error.args[0]!r}, which the forest does not know. Give the training data."
        ) from error


def _words(model: TreeModel, rows: Matrix | None) -> str:
    forest = model.forest_
    table = f" grown from {rows.shape[0]:,} rows and {rows.shape[1]:,} columns" if rows is not None else ""
    trees = f"{forest.n_trees:,} trees" if forest.n_trees > 1 else "One tree"
    return f"{type(model).__name__}. {trees}{table}, fingerprint {forest.fingerprint()[:16]}."


def _cards(model: TreeModel, scores: list[tuple[Predictions, list[Score]]]) -> list[tuple[str, str]]:
    cards: list[tuple[str, str]] = []
    for predictions, of_source in scores:
        second = next((score for score in of_source if score.name in ("ROC AUC", "R²")), of_source[1])
        cards += [
            (f"{score.name}, {predictions.source}", quality.say(score, score.value)) for score in (of_source[0], second)
        ]
    return [*cards, ("trees", f"{model.forest_.n_trees:,}"), ("nodes", f"{model.forest_.n_nodes:,}")]
