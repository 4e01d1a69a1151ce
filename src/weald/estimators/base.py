"""Common base of all estimators: one `fit`, and the methods of a fitted model.

TreeModel    a model made of trees

`fit.py` has the flow of a fit, `prediction.py` that of a prediction.
"""

import copy
from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from weald.data import arguments
from weald.data.arguments import check_flags
from weald.data.schema import Schema, counts_by_name
from weald.data.table import TrainingArguments
from weald.data.task import OF_MEDIANS, Task
from weald.data.types import Array, ColumnLike, FloatArray, Native, PathLike, TableLike
from weald.engines.params import Growth
from weald.errors import ParameterError, shown
from weald.estimators import chunked_prediction, multi_output
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.calibration.kept_errors import KeptErrors
from weald.estimators.features import Features, features_of
from weald.estimators.fit import fit
from weald.estimators.multi_output import forests_of
from weald.estimators.prediction import mark_paths
from weald.estimators.stopping_rules import COMPACTED
from weald.forest.forest import Forest
from weald.forest.impurity_decrease import mean_decrease

if TYPE_CHECKING:
    from weald.io.compiled_model import CompiledModel
    from weald.io.export.parity import Export


class TreeModel(BaseEstimator):
    """A model made of trees. `forest_` holds everything it has learned; a single tree is a forest of one."""

    task: ClassVar[Task]
    _features: ClassVar[type[Features]] = Features
    _splitter: ClassVar[str] = "best"  # an attribute unless the class has it as a parameter

    engine: str
    ccp_alpha: float
    shrinkage: float | str
    n_jobs: int | None
    random_state: object
    verbose: int

    forest_: Forest
    forests_: tuple[Forest, ...]  # for multi-output; then there is no forest_
    growth_: Growth
    seed_: int
    classes_: Any  # classifiers: an array, for multi-output a list of arrays
    class_labels_: Any  # trees of a forest: `classes_` of the forest; their own are codes
    n_classes_: Any
    n_outputs_: int
    n_features_in_: int
    n_samples_fit_: int
    target_name_: str  # only if y has a name
    schema_: Schema
    kept_errors_: KeptErrors
    data_hash_: str
    altered_by_: str  # reason why trees cannot be truncated; usually absent

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: TableLike, y: ColumnLike = None, sample_weight: ColumnLike = None) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are. Or a `CodeStore`
            (see `weald.codes`), given alone: it has the target and the weights.
        y : array of shape (n_rows,), or (n_rows, n_targets)
            Class labels, or numbers; for multi-output one column for each.
        sample_weight : array of shape (n_rows,), optional
            A row of weight k counts as k copies. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        fit(self, TrainingArguments(X, y, sample_weight))
        return self

    # --------------------------------------------------------------------------------------------------- predict

    def predict_chunks(
        self,
        X: TableLike,
        *,
        rows: int = 100_000,
        method: str | None = None,
        out: Any = None,
        dtype: Any = None,
        n_rows: int | None = None,
        verbose: int = 0,
    ) -> Iterator[Array]:
        """Predict a table piece by piece; it may be larger than memory.

        Parameters
        ----------
        X : array, memory map, or iterable of tables
            An array or a memory map is cut into pieces; an iterable yields them.
        rows : int, default=100,000
            Number of rows of a piece.
        method : {"predict", "predict_proba", "predict_votes"}, optional
            The method to call for each piece: by default `predict_proba` for classifiers, `predict` for regressors.
        out : array with one entry per row, optional
            Where to write the predictions, for example a memory map. The iterator then yields views of it.
        dtype : {float64, float32}, optional
            Type of the probabilities or means.
        n_rows : int, optional
            Number of rows of an iterable, to show progress.
        verbose : int, default=0
            1 shows progress and the time left on stderr.

        Returns
        -------
        iterator of arrays
            One for each piece. Pieces are read on demand: only one is in memory.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> model = RandomForestRegressor(3, random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
        >>> pieces = ([[i + 0.5]] for i in range(3))
        >>> [len(means) for means in model.predict_chunks(pieces)]
        [1, 1, 1]
        """
        check_is_fitted(self, "forest_")
        arguments.check_argument("rows", rows, (arguments.WholeNumber(1),))
        arguments.check_argument("n_rows", n_rows, (arguments.WholeNumber(0), arguments.NOTHING))
        chunked_prediction.check_table(X)
        chunked_prediction.check_out(out)
        own = "predict_proba" if self.task is Task.CLASSIFICATION else "predict"
        name = own if method is None else method
        known = [way for way in chunked_prediction.METHODS if hasattr(self, way)]
        arguments.check_argument("method", name, (arguments.OneOf(tuple(known)),))
        if dtype is not None and name != own:
            raise ParameterError(f"dtype={shown(dtype)} cannot be used with method={name!r}. Leave one of them out.")
        nothing = chunked_prediction.predict_nothing(self, name)
        nothing = nothing if dtype is None else nothing.astype(chunked_prediction.read_dtype(dtype))
        predict_rows = getattr(self, name) if dtype is None else partial(getattr(self, name), dtype=dtype)

        def predict_piece(piece: Any) -> Array:
            return nothing.copy() if chunked_prediction.is_empty(piece) else predict_rows(piece)

        pieces, n_total = chunked_prediction.cut(X, rows), n_rows or chunked_prediction.count_rows(X)
        return chunked_prediction.predict(predict_piece, pieces, out, n_total, verbose)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise a helpful error: for multi-output models, or that of the property of this name."""
            if name == "forest_" and multi_output.is_multi_output(self):
                raise multi_output.one_target_only(len(self.forests_))
            if isinstance(getattr(type(self), name, None), property | cached_property):
                return object.__getattribute__(self, name)  # raises the property's own AttributeError again
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ------------------------------------------------------------------------------------ copies, pickle and skops

    def __copy__(self) -> Self:
        """Copy the estimator; it shares its attributes with the copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __reduce_ex__(self, protocol: Native) -> Native:
        """Pickle all attributes, unless a subclass has a state of its own."""
        if type(self).__getstate__ is not TreeModel.__getstate__:
            return super().__reduce_ex__(protocol)
        from weald.io.stored_state import pickle_state

        return pickle_state(self)

    def __getstate__(self) -> dict[str, object]:
        """Return what skops writes: a model file."""
        from weald.io.stored_state import file_state

        return file_state(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore what pickle or skops has kept."""
        from weald.io.stored_state import restore

        restore(self, state)

    # ---------------------------------------------------------------------------------------------- uncertainty

    def attach_errors(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        held_out: bool = False,
    ) -> Self:
        """Store errors, from which prediction intervals and sets are computed; `keep_errors=True` does this in `fit`.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order: out-of-bag errors are kept. With
            `held_out=True`, rows that no tree has seen.
        held_out : bool, default=False
            Whether no tree has seen these rows. All trees then predict them. The training data is refused.
            Single trees, and forests without bags, need such rows.

        Returns
        -------
        self
        """
        from weald.uncertainty.attached_errors import attach_errors

        return attach_errors(self, TrainingArguments(X, y, sample_weight, groups, stratify), held_out=held_out)

    # ------------------------------------------------------------------------------------------- proof of training

    def attach_data_hash(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> Self:
        """Keep a cryptographic hash of the training data, for `weald.audit`: `data_hash_`, which `save` writes.

        The hash covers the values, targets and weights of all rows, and the labels of classes and categories. It does
        not depend on the order of the rows, on the engine, or on how a Dask collection or a code store is divided. A
        row of weight 2 is the row twice. The hash takes about 2 microseconds of processor time for each row.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order. Other data is refused.

        Returns
        -------
        self

        Examples
        --------
        >>> import weald
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
        >>> model = weald.RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> model.attach_data_hash(X, y).data_hash_[:16]
        'e6f842c10697dd4b'
        >>> model.attach_data_hash(X[::-1], y[::-1]).data_hash_[:16]
        'e6f842c10697dd4b'
        """
        from weald.inspection.auditing.data_hash import attach_data_hash

        return attach_data_hash(self, TrainingArguments(X, y, sample_weight, groups, stratify))

    # ----------------------------------------------------------------------------------------------- make others

    def compact(self) -> Self:
        """Remove splits that do not affect predictions, because both sides predict the same for every row.

        A branch whose leaves all predict the same becomes one leaf; of two equal sibling branches, one is kept. Equal
        branches elsewhere stay, since each node has one parent.

        Returns
        -------
        model of the same class
            The predictions are identical. Node numbers differ, and so does `feature_importances_` if a removed split
            contributed to it.

        Examples
        --------
        >>> from weald import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"]
        >>> model = RandomForestClassifier(20, random_state=0).fit(X, y)
        >>> smaller = model.compact()
        >>> smaller.forest_.n_nodes <= model.forest_.n_nodes
        True
        """
        from weald.forest.compaction import compact_forest

        check_is_fitted(self, "forest_")
        if self.shrinkage_:
            raise ParameterError(
                f"A model with shrinkage={self.shrinkage_:g} cannot be compacted: the prediction of a leaf depends on "
                "all splits above it. Fit with shrinkage=0.0."
            )
        if self.growth_.criterion in OF_MEDIANS:
            raise ParameterError(
                f"A model with criterion={self.growth_.criterion!r} cannot be compacted: the median of nodes that "
                "become one is unknown without their rows. Save the model as it is."
            )
        smaller = copy.copy(self)
        smaller.forest_ = compact_forest(self.forest_)
        for name in ("tree_", "leaf_targets_", "kept_errors_"):  # remove what belongs to the larger forest
            smaller.__dict__.pop(name, None)
        if smaller.forest_.n_nodes < self.forest_.n_nodes:
            smaller.altered_by_ = COMPACTED
        return smaller

    def of_target(self, number: int) -> Self:
        """Return a model of one target: the same trees, with the leaf values of that target.

        Use it for methods that support a single target: inspection, `compile`, exports.

        Parameters
        ----------
        number : int
            Number of the target, from 0: the column of y.

        Returns
        -------
        model of the same class
            It predicts that column, bit for bit. Out-of-bag results are not copied.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> X, Y = [[1.0], [2.0], [3.0]], [[1.0, 10.0], [2.0, 20.0], [4.0, 50.0]]
        >>> model = RandomForestRegressor(10, random_state=0).fit(X, Y)
        >>> model.of_target(1).predict(X).tolist() == model.predict(X)[:, 1].tolist()
        True
        """
        check_is_fitted(self)
        arguments.check_argument("number", number, (arguments.WholeNumber(0, self.n_outputs_ - 1),))
        return multi_output.select_target(self, number)

    # --------------------------------------------------------------------------------------------------- explain

    def shap_values(self, X: TableLike, *, interactions: bool = False) -> FloatArray:
        """Compute SHAP values: how much each feature moved the prediction of a row away from the base value.

        They are exact Shapley values of the path-dependent game. `weald.explain` returns the same values together with
        base values, rows, names and plots; see there.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        interactions : bool, default=False
            Whether to return the SHAP interaction values of pairs of features instead.

        Returns
        -------
        array of shape (n_rows, n_features)
            For a classifier of shape (n_rows, n_features, n_classes), for a multi-output regressor
            (n_rows, n_features, n_targets); for a multi-output classifier a list of arrays. With `interactions`,
            n_features appears twice.

        Examples
        --------
        >>> import weald
        >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 2.0, 7.0]
        >>> tree = weald.DecisionTreeRegressor().fit(X, y)
        >>> tree.shap_values([[1.0, 1.0]]).round(12)  # the mean is 2.5: 2.5 + 2.5 + 2 = 7
        array([[2.5, 2. ]])
        """
        from weald.inspection.shap_values import shap_values

        return shap_values(self, X, interactions=interactions)  # type: ignore[return-value]  # a list for multi-output

    # ---------------------------------------------------------------------------------------------------- deploy

    def save(self, path: PathLike, *, compress: bool = True, mappable: bool = False, tree_hashes: bool = False) -> None:
        """Write the model to a `.weald` file; `weald.load` reads it back bit for bit.

        The file holds the forest, parameters, feature names, categories, classes and out-of-bag results, but no code
        and no training data. Equal models give equal files. Saving is atomic: after an error, an existing file
        is unchanged.

        Parameters
        ----------
        path : str or path
            The file to write, usually with the suffix `.weald`.
        compress : bool, default=True
            Compress the file (zlib); loading takes a little longer.
        mappable : bool, default=False
            Store the arrays uncompressed, as they are in memory. The file is several times as large, but
            `weald.load(path, mmap=True)` maps it in milliseconds, and processes that map it share the memory.
        tree_hashes : bool, default=False
            Also store a SHA-256 hash of each tree and the root of their Merkle tree; with the root, a single tree can
            be verified. `forest_.tree_hashes()` gives the same hashes. Saving and loading take longer.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import weald
        >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "tree.weald")
        ...     model.save(file)
        ...     weald.load(file).predict([[2.9]])
        array([4.])
        """
        from weald.io import files  # imported on use: it imports all estimators

        check_is_fitted(self)
        files.save(self, path, compress=compress, mappable=mappable, tree_hashes=tree_hashes)

    def compile(self, *, dtype: str = "float64") -> "CompiledModel":
        """Make a predictor with low latency for single rows, for services.

        It takes rows as dicts, tuples and lists, data frames, and arrays of floats. The forest is a native object
        without Python objects and locks: threads can share it and predict at the same time, since it releases the GIL.
        It is one buffer, so processes can share it; see `weald.open_compiled`.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            Type of the rows. "float64" takes both. With "float32" nodes are half as large, and rows must contain
            float32 numbers.

        Returns
        -------
        CompiledModel
            `predictor(row)` returns the class probabilities, in the order of `classes_`, or the mean. `predictor(X)`
            returns an array of them; `threads=` sets the number of threads. The results have the same bits as
            `predict_proba` or `predict`, and unknown categories are treated and counted in the same way. In arrays of
            floats, categories are given as their codes: their positions in `categories_`. `predictor.buffer()` is the
            buffer.

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestClassifier
        >>> model = RandomForestClassifier(10, random_state=0).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
        >>> predictor = model.compile()
        >>> row = np.array([2.6])
        >>> bool((predictor(row) == model.predict_proba([row])).all())
        True
        """
        from weald.io.compiled_model import compile_model

        check_is_fitted(self, "forest_")
        require_uncalibrated(self, "compile")
        features_of(self).require_table("compile")
        return compile_model(self, dtype)

    def to_c(
        self, path: PathLike | None = None, *, name: str = "forest", X: TableLike = None, check: bool = True
    ) -> "Export":
        """Export the model as one file of C99 without dependencies that predicts the same bits.

        Parameters
        ----------
        path : path, optional
            The file to write. None: no file; the text is in the result.
        name : str, default="forest"
            Prefix of the names of all functions and tables.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to compile the file and compare its predictions. Needs a C compiler: `CC`, `cc`, `gcc`, `clang`.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> export = model.to_c(check=False)
        >>> "int forest_predict(const double *x)" in export.model
        True
        """
        from weald.io.export.c_code import write_c

        check_flags(check=check)
        return write_c(self, path, name, X, check=check)

    def to_sql(
        self,
        dialect: str,
        path: PathLike | None = None,
        *,
        table: object,
        columns: object = None,
        keep: object = (),
        X: TableLike = None,
        check: bool = True,
        connection: Native = None,
    ) -> "Export":
        """Export the model as one SQL statement that predicts the rows of a table, with the same bits.

        The statement is a SELECT: run it, make a view of it, or select from it. It returns the columns of `keep`,
        `prediction`, and for classifiers `probability_0`, `probability_1` and so on, in the order of `classes_`.
        NULL and NaN are missing values, and so are unknown categories.

        Parameters
        ----------
        dialect : {"duckdb", "sqlite", "postgresql"}
            The database.
        path : path, optional
            The file to write. None: no file; the text is in the result.
        table : str or tuple of str
            The table of the rows: its name, or the names of its schema and the table.
        columns : list of str, optional
            The columns of the table, in the order of the features. None: the names of the features, or `x0`, `x1` and
            so on if they have none. Only those that trees use are read.
        keep : str or list of str, default=()
            Columns of the table to return beside the prediction, for example its key, since the result is not ordered.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to run the statement and compare its predictions. SQLite is part of Python; DuckDB needs `duckdb`.
        connection : optional
            An open connection (DB-API) of the database, where the check makes a temporary table. PostgreSQL needs one;
            the others run in memory otherwise.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> export = model.to_sql("sqlite", table="houses", columns=["rooms"], keep="id")
        >>> export.parity.is_exact
        True
        """
        from weald.io.export.sql_statement import write_sql

        check_flags(check=check)
        return write_sql(self, path, dialect, (table, columns, keep), X, connection, check=check)

    def to_js(
        self,
        path: PathLike | None = None,
        *,
        name: str = "forest",
        module: bool = True,
        X: TableLike = None,
        check: bool = True,
    ) -> "Export":
        """Export the model as one file of JavaScript without dependencies that predicts the same bits.

        `forest.predict(x)` returns the label or the mean, `forest.predictProba(x)` the class probabilities. Rows are
        arrays, or objects with the values by name; categories are given by label, missing values as null or NaN.

        Parameters
        ----------
        path : path, optional
            The file to write. None: no file; the text is in the result.
        name : str, default="forest"
            Name of the object.
        module : bool, default=True
            Whether the file is a module, whose default export is the object. False: a classic script, which declares
            the object as a global variable.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to run the file and compare its predictions. Needs Node.js.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> export = model.to_js(check=False)
        >>> "export default forest;" in export.model
        True
        """
        from weald.io.export.js_code import write_js

        check_flags(module=module, check=check)
        return write_js(self, path, name, X, module=module, check=check)

    def to_onnx(
        self, path: PathLike | None = None, *, columns: bool = False, X: TableLike = None, check: bool = True
    ) -> "Export":
        """Export the model to ONNX: float64 throughout, and the same bits in onnxruntime.

        The model takes `X` (float64, rows x features), with categories as numbers. A classifier returns `label` and
        `probabilities`, a regressor `prediction` (rows x 1).

        Parameters
        ----------
        path : path, optional
            The file to write. None: no file; the model is in the result.
        columns : bool, default=False
            Whether the model takes each column as an input of its own (rows x 1), by name: numbers as float64,
            category labels as text, or as float64 where they are numbers. Unknown labels are treated as missing.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to compare with the predictions of onnxruntime.

        Returns
        -------
        weald.io.export.parity.Export
            An `onnx.ModelProto`, as `model`, and the `parity` of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> model.to_onnx().parity.is_exact
        True
        """
        from weald.io.export.onnx_graph import write_onnx

        check_flags(columns=columns, check=check)
        return write_onnx(self, path, X, columns=columns, check=check)

    def to_json(self, path: PathLike | None = None, *, X: TableLike = None, check: bool = True) -> "Export":
        """Export the model as JSON, with the content of its `.weald` file. `weald.from_json` reads it back.

        Parameters
        ----------
        path : path, optional
            The file to write. None: no file; the text is in the result.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to read the text back and compare the predictions.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of the model read back from it.

        Examples
        --------
        >>> import json
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> json.loads(model.to_json().model)["arrays"]["forest.threshold"]
        {'type': 'F64', 'shape': [3], 'values': [1.5, 0.0, 0.0]}
        """
        from weald.io.json_text import write_json

        check_flags(check=check)
        return write_json(self, path, X, check=check)

    def to_treelite(self, path: PathLike | None = None, *, X: TableLike = None, check: bool = True) -> "Export":
        """Export the model to treelite, the input of other fast predictors such as FIL of RAPIDS.

        Parameters
        ----------
        path : path, optional
            The file to write, in treelite's format. None: no file; the model is in the result.
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to compare with the predictions of treelite.

        Returns
        -------
        weald.io.export.parity.Export
            A `treelite.Model`, as `model`, and the `parity` of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> model.to_treelite().model.num_tree
        1
        """
        from weald.io.export.treelite_model import write_treelite

        check_flags(check=check)
        return write_treelite(self, path, X, check=check)

    def to_shap(self, *, X: TableLike = None, check: bool = True) -> "Export":
        """Export the model as the dictionary that `shap.TreeExplainer` takes.

        shap supports only thresholds. Sets of categories that have the first or the last codes become thresholds; trees
        with other sets are refused. `weald.explain` supports them all.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to compare with the predictions of shap.

        Returns
        -------
        weald.io.export.parity.Export
            The dictionary, as `model`, and the `parity` of shap's predictions.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> export = model.to_shap(check=False)
        >>> export.model["trees"][0]["thresholds"]
        array([1.5, 0. , 0. ])
        """
        from weald.io.export.shap_trees import write_shap

        check_flags(check=check)
        return write_shap(self, X, check=check)

    def to_sklearn(self, *, X: TableLike = None, check: bool = True) -> "Export":
        """Convert to scikit-learn's fitted estimator, for tools that require its classes.

        Splits by sets of categories, hard votes and weighted votes are refused: scikit-learn has no such trees. Boolean
        columns become 0 and 1.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to compare, besides generated edge cases: values at the edges of leaves, missing. scikit-learn rounds
            rows to float32, and all rows are compared after this rounding. The number of rows whose float64 prediction
            differs is also reported.
        check : bool, default=True
            Whether to compare with the predictions of scikit-learn.

        Returns
        -------
        weald.io.export.parity.Export
            A `DecisionTree`, `ExtraTree`, `RandomForest` or `ExtraTrees` of scikit-learn, as `model`, and the `parity`
            of its predictions.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> export = model.to_sklearn()
        >>> export.model, export.parity.is_exact
        (DecisionTreeRegressor(), True)
        """
        from weald.io.export.sklearn_models import write_sklearn

        check_flags(check=check)
        return write_sklearn(self, X, check=check)

    # ------------------------------------------------------------------------------------------------------ look

    def report(self, X: TableLike = None, y: Any = None, **given: Any) -> Any:
        """Write an HTML report on this model, one file for any browser; a notebook displays it directly.

        Parameters
        ----------
        X, y : the training data, optional
            Without it the report shows only what the model stores.
        **given
            Further arguments of `weald.report`: `X_test`, `y_test`, `file`, `title` and more.

        Returns
        -------
        weald.reports.Report
        """
        from weald.reports import report  # imported on use: it is in a higher layer

        return report(self, X, y, **given)

    @property
    def shrinkage_(self) -> float:
        """Lambda of hierarchical shrinkage; 0 if predictions are not shrunk."""
        check_is_fitted(self)
        return forests_of(self)[0].shrinkage

    @property
    def feature_importances_(self) -> FloatArray:
        """Fraction of the decrease in impurity due to each feature, averaged over trees; the sum is 1.

        It favors features with many distinct values, whether or not they help on new rows.
        """
        check_is_fitted(self)
        return mean_decrease(forests_of(self)[0])

    def mean_path_length(self, X: TableLike = None) -> "float | FloatArray":
        """Mean number of splits from the root to the leaf. Prediction time grows with it.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
            Rows to predict. None: the training rows in the bags; the model stores their counts.

        Returns
        -------
        float, or with X array of shape (n_rows,)
            Averaged over the trees.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> tree = DecisionTreeRegressor(random_state=0).fit([[1.0], [2.0], [4.0]], [0.0, 1.0, 8.0])
        >>> round(tree.mean_path_length(), 3), tree.mean_path_length([[4.0], [1.0]])
        (1.667, array([1., 2.]))
        """
        check_is_fitted(self)
        forest = forests_of(self)[0]
        if X is not None:
            passed = np.diff(mark_paths(self, X).indptr)  # number of nodes, with the leaf
            lengths: FloatArray = passed / forest.n_trees - 1.0
            return lengths
        roots = forest.tree_start[:-1]
        passed = np.add.reduceat(np.where(forest.feature >= 0, forest.size, 0).astype(np.float64), roots)
        size = forest.size[roots]
        return float(np.mean(passed / np.where(size > 0, size, 1)))

    @property
    def categories_(self) -> list[Array | None]:
        """Labels of each categorical feature, in the order of their codes; None for numeric features.

        Ordered features are split by thresholds on these codes, others by sets of codes.
        """
        check_is_fitted(self, "schema_")
        return [None if categories is None else categories.labels for categories in self.schema_.categories]

    @property
    def unknown_categories_(self) -> dict[Any, int]:
        """Number of cells with categories unknown in training, read since the fit, by column."""
        check_is_fitted(self, "schema_")
        return counts_by_name(self.schema_)

    def __sklearn_tags__(self) -> Tags:
        tags, is_table = super().__sklearn_tags__(), self._features.is_table
        tags.input_tags.allow_nan = is_table and getattr(self, "missing", "learn") != "error"
        tags.input_tags.categorical = is_table and hasattr(self, "categorical_features")
        tags.input_tags.sparse = is_table
        tags.input_tags.string = is_table and getattr(self, "categorical_features", None) is not None
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        tags.target_tags.multi_output = is_table
        return tags
