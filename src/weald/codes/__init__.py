"""Code stores: tables larger than memory, as codes on the disk. Estimators fit to them: `model.fit(store)`.

    from_parquet   parquet files -> CodeStore
    from_csv       CSV files
    from_chunks    whatever yields chunks of a table
    load           a store that was made before

The rows are gone through twice. The first time settles what each column holds, the second replaces values by codes, one
or two bytes a cell. All else that a fit needs of the whole table is done once, when the store is made: its rows are
ranked, and the codes lie in the order of ranks. A fit maps the file and reads from it what it looks at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from weald.codes import sources
from weald.codes.sources import Columns, Source
from weald.codes.store import CodeStore, load_store
from weald.codes.writer import Recipe, make
from weald.data.arguments import FLAG, Name, check_argument
from weald.data.frames import kind_of_target
from weald.data.task import Task
from weald.engines.params import count_bins
from weald.engines.threads import count_threads
from weald.errors import DataError
from weald.estimators.base import TreeModel
from weald.estimators.fit import check
from weald.estimators.forests import RandomForestClassifier, RandomForestRegressor

__all__ = ["CodeStore", "from_chunks", "from_csv", "from_parquet", "load"]

TASKS = (Task.CLASSIFICATION, Task.REGRESSION)


def from_parquet(
    paths: Any,
    *,
    target: str,
    folder: Any,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    task: str | None = None,
    max_bins: int | None = 65_535,
    categorical_features: Any = "from_dtype",
    missing: str = "learn",
    keep_values: bool = False,
    rows: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CodeStore:
    """Make a code store from parquet files.

    Parameters
    ----------
    paths : str, path, or list of them
        The files; a `*` stands for any part of a name.
    target : str
        The column to be learned.
    folder : str or path
        Where the store is to be. If making it was cut short, the same call goes on; if it is finished, it is opened.
    features : list of str, optional
        The columns to learn from; by default all but target and weight.
    weight : str, optional
        The column of weights.
    task : {"classification", "regression"}, optional
        By default regression if the target holds floats, else classification.
    max_bins, categorical_features, missing
        As the estimators have them, which must be given the same.
    keep_values : bool, default=False
        Whether to keep the values of features that have more than `max_bins` of them, beside their codes: four bytes a
        cell, or eight. Trees do not need them, but out-of-bag estimates do, to be those of a fit to the values.
    rows : int, optional
        Rows of a chunk; by default so many that it has 8 million cells.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        1 shows progress on stderr.

    Returns
    -------
    CodeStore

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> import weald
    >>> table = pd.DataFrame({"height": [3.0, 9.5, 4.0, 11.0], "kind": ["ash", "oak", "ash", "oak"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trees.parquet")
    ...     table.to_parquet(file)
    ...     store = weald.codes.from_parquet(file, target="kind", folder=folder)
    ...     model = weald.RandomForestClassifier(random_state=0).fit(store)
    >>> model.predict(pd.DataFrame({"height": [10.0]}))
    array(['oak'], dtype=object)
    """
    source = sources.parquet_chunks(paths, Columns(target, weight, features), rows)
    return _make(source, folder, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose)


def from_csv(
    paths: Any,
    *,
    target: str,
    folder: Any,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    types: Mapping[str, Any] | None = None,
    separator: str = ",",
    task: str | None = None,
    max_bins: int | None = 65_535,
    categorical_features: Any = "from_dtype",
    missing: str = "learn",
    keep_values: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CodeStore:
    r"""Make a code store from CSV files, whose first lines are the names of the columns.

    Parameters
    ----------
    paths, target, folder, features, weight, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose
        As `from_parquet` has them.
    types : dict, optional
        What columns are, `{"zip": "string"}`: names of Arrow's types. Others are what the first megabyte of the first
        file makes them; whole numbers are read as floats.
    separator : str, default=","
        What stands between cells.

    Returns
    -------
    CodeStore

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import weald
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trees.csv")
    ...     _ = file.write_text("age,height\n10,3.5\n20,8.0\n30,11.5\n")
    ...     weald.codes.from_csv(file, target="height", folder=folder).n_rows
    3
    """
    source = sources.csv_chunks(paths, Columns(target, weight, features), types, separator)
    return _make(source, folder, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose)


def from_chunks(
    chunks: Callable[[], Iterable[Any]] | Iterable[Any],
    *,
    folder: Any,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    task: str | None = None,
    max_bins: int | None = 65_535,
    categorical_features: Any = "from_dtype",
    missing: str = "learn",
    keep_values: bool = False,
    n_rows: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CodeStore:
    """Make a code store from chunks of a table, wherever they come from.

    Parameters
    ----------
    chunks : function without arguments that returns an iterator, or a list of chunks
        A chunk is (X, y) or (X, y, weight), arrays or frames; or with `target` a frame with all columns. The function
        is called for each pass over the rows, and must yield the same chunks each time.
    n_rows : int, optional
        How many rows there are, for the progress.
    folder, target, features, weight, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose
        As `from_parquet` has them.

    Returns
    -------
    CodeStore

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import weald
    >>> def chunks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(3):
    ...         X = rng.normal(size=(100, 4))
    ...         yield X, X[:, 0] > 0
    >>> model = weald.RandomForestClassifier(10, random_state=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = weald.codes.from_chunks(chunks, folder=folder)
    ...     print = model.fit(store).forest_.fingerprint()
    >>> X, y = (np.concatenate(parts) for parts in zip(*chunks()))
    >>> print == model.fit(X, y).forest_.fingerprint()
    True
    """
    if target is None and (features is not None or weight is not None):
        raise DataError("features and weight name columns of frames; then target must name one, too.")
    source = sources.any_chunks(chunks, None if target is None else Columns(target, weight, features))
    source = Source(source.chunks, source.about, n_rows)
    return _make(source, folder, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose)


def load(folder: Any, *, check: bool = True) -> CodeStore:
    """Open a store that was made before.

    Parameters
    ----------
    folder : str or path
    check : bool, default=True
        Whether to read all of the file and compare its digest, which takes a second for each gigabyte or so.

    Returns
    -------
    CodeStore
        A file that is damaged, cut short, or no store, is refused with a `FormatError`.
    """
    return load_store(folder, check=check)


def _make(
    source: Source,
    folder: Any,
    task: str | None,
    max_bins: int | None,
    categorical_features: Any,
    missing: str,
    keep_values: Any,
    n_jobs: int | None,
    verbose: int,
) -> CodeStore:
    if task is not None:
        check_argument("task", task, (Name(TASKS),))
    check_argument("keep_values", keep_values, (FLAG,))
    chosen = categorical_features if isinstance(categorical_features, str | None) else list(categorical_features)
    kind = RandomForestClassifier if (task or _guess_task(source)) == Task.CLASSIFICATION else RandomForestRegressor
    model: TreeModel = kind(max_bins=max_bins, categorical_features=chosen, missing=missing)
    check(model)
    about = {"task": model.task, "source": source.about}
    recipe = Recipe(
        model, count_bins(max_bins), about, source.n_rows, count_threads(n_jobs), verbose, bool(keep_values)
    )
    return make(Path(folder), source.chunks, recipe)


def _guess_task(source: Source) -> str:
    """Take floats for numbers to be learned, all else for labels."""
    first = next(iter(source.chunks(0)), None)
    if first is None:
        raise DataError("There are no chunks. Give at least one.")
    return Task.REGRESSION if kind_of_target(first.y) == "numbers" else Task.CLASSIFICATION
