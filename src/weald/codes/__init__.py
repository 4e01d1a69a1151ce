"""Code stores: tables larger than memory, stored as codes on disk. Fit estimators to them: `model.fit(store)`.

    from_parquet   parquet files -> CodeStore
    from_csv       CSV files
    from_chunks    a function or list that returns chunks of a table
    load           opens an existing store

The rows are read twice. The first pass finds the types and values of the columns, the second replaces values by codes
of one or two bytes. Everything else that needs the whole table is computed once, when the store is made:
its rows are ranked, and the codes are stored in rank order. A fit maps the file and reads what it needs.

The modules:

    sources             files and iterators -> chunks of a table
    partitioned_table   a table in parts, read part by part, with the classes and categories of the whole table
    bins                converting the values of a table in parts to codes
    survey              types and values of the columns, chunk by chunk
    writer              chunks -> a store on disk
    store               a store, and the engine that grows trees from it
    resident_memory     releasing pages of a memory map after use
    single_buffer       pickling objects of many arrays as one buffer
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from weald.codes import sources
from weald.codes.sources import ChunkSource, Columns, Paths
from weald.codes.store import CodeStore, load_store
from weald.codes.writer import StoreRules, make
from weald.data.arguments import FLAG, OneOf, check_argument
from weald.data.frames import kind_of_target
from weald.data.task import Task
from weald.engines import params
from weald.engines.threads import count_threads
from weald.errors import DataError
from weald.estimators.base import TreeModel
from weald.estimators.forests import RandomForestClassifier, RandomForestRegressor

__all__ = ["CodeStore", "from_chunks", "from_csv", "from_parquet", "load"]

TASKS = (Task.CLASSIFICATION, Task.REGRESSION)


class CodeRules(TypedDict, total=False):
    """Options for making a store: keyword arguments of all functions. `from_parquet` describes them."""

    task: str | None
    max_bins: int | None
    categorical_features: str | Collection[str | int | bool] | None
    missing: str
    keep_values: bool
    n_jobs: int | None
    verbose: int


def from_parquet(
    paths: Paths,
    *,
    target: str,
    folder: str | PathLike[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    rows: int | None = None,
    **rules: Unpack[CodeRules],
) -> CodeStore:
    """Make a code store from parquet files.

    Parameters
    ----------
    paths : str, path, or list of them
        The files; `*` matches any part of a name.
    target : str
        The target column.
    folder : str or path
        The folder of the store. An interrupted call is resumed by the same call; a finished store is opened.
    features : list of str, optional
        The feature columns; by default all but target and weight.
    weight : str, optional
        The column of sample weights.
    rows : int, optional
        Rows per chunk; by default as many as have 8 million cells.
    task : {"classification", "regression"}, optional
        By default regression if the target has floats, else classification.
    max_bins : int or None, default=65,535
        As for the estimators, which must have the same value.
    categorical_features : {"from_dtype"}, list or None, default="from_dtype"
        As for the estimators, which must have the same value.
    missing : {"learn", "error"}, default="learn"
        As for the estimators, which must have the same value.
    keep_values : bool, default=False
        Whether to store the values of features with more than `max_bins` distinct values, too: four or eight bytes per
        cell. Trees do not need them, but out-of-bag estimates need them to equal those of a fit to the values.
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
    return _make("from_parquet", source, folder, rules)


def from_csv(
    paths: Paths,
    *,
    target: str,
    folder: str | PathLike[str],
    features: Sequence[str] | None = None,
    weight: str | None = None,
    types: Mapping[str, object] | None = None,
    separator: str = ",",
    **rules: Unpack[CodeRules],
) -> CodeStore:
    r"""Make a code store from CSV files whose first lines are the column names.

    Parameters
    ----------
    paths, target, folder, features, weight, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose
        As for `from_parquet`.
    types : dict, optional
        Types of columns, `{"zip": "string"}`, as Arrow's type names. Other types are inferred from the first megabyte
        of the first file; whole numbers are read as floats.
    separator : str, default=","
        The separator of cells.

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
    return _make("from_csv", source, folder, rules)


def from_chunks(
    chunks: Callable[[], Iterable[object]] | Iterable[object],
    *,
    folder: str | PathLike[str],
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    n_rows: int | None = None,
    **rules: Unpack[CodeRules],
) -> CodeStore:
    """Make a code store from chunks of a table from any source.

    Parameters
    ----------
    chunks : function without arguments that returns an iterator, or a list of chunks
        A chunk is (X, y) or (X, y, weight), arrays or frames; or with `target` a frame with all columns. The function
        is called for each pass over the rows, and must yield the same chunks each time.
    n_rows : int, optional
        Number of rows, for the progress.
    folder, target, features, weight, task, max_bins, categorical_features, missing, keep_values, n_jobs, verbose
        As for `from_parquet`.

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
        raise DataError(
            "features and weight are column names, so target must be one, too. Set target to a column name."
        )
    source = sources.any_chunks(chunks, None if target is None else Columns(target, weight, features))
    source = ChunkSource(source.chunks, source.about, n_rows)
    return _make("from_chunks", source, folder, rules)


def load(folder: str | PathLike[str], *, check: bool = True) -> CodeStore:
    """Open an existing store.

    Parameters
    ----------
    folder : str or path
    check : bool, default=True
        Whether to read the whole file and compare its digest, which takes about a second per gigabyte.

    Returns
    -------
    CodeStore
        A file that is damaged, truncated or not a store is refused with a `FormatError`.
    """
    return load_store(folder, check=check)


def _make(function: str, source: ChunkSource, folder: str | PathLike[str], rules: CodeRules) -> CodeStore:
    unknown = [name for name in rules if name not in CodeRules.__annotations__]
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}")
    task, keep_values = rules.get("task"), rules.get("keep_values", False)
    if task is not None:
        check_argument("task", task, (OneOf(TASKS),))
    check_argument("keep_values", keep_values, (FLAG,))
    task = Task(task or _guess_task(source))
    max_bins, categorical = rules.get("max_bins", 65_535), rules.get("categorical_features", "from_dtype")
    kind = RandomForestClassifier if task is Task.CLASSIFICATION else RandomForestRegressor
    model: TreeModel = kind(
        max_bins=max_bins,
        categorical_features=categorical if isinstance(categorical, str | None) else list(categorical),
        missing=rules.get("missing", "learn"),
    )
    params.check(params.gather(model), task)  # the same check as in fit
    recipe = StoreRules(
        model,
        params.count_bins(max_bins),
        {"task": task, "source": source.about},
        source.n_rows,
        count_threads(rules.get("n_jobs")),
        rules.get("verbose", 0),
        bool(keep_values),
    )
    return make(Path(folder), source.chunks, recipe)


def _guess_task(source: ChunkSource) -> Task:
    """Return whether the target is numbers (floats) or labels (everything else)."""
    first = next(iter(source.chunks(0)), None)
    if first is None:
        raise DataError("There are no chunks. Give at least one.")
    return Task.REGRESSION if kind_of_target(first.y) == "numbers" else Task.CLASSIFICATION
