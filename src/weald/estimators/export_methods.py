"""Methods that export a model to other programs. The work is done in `io/export/`."""

from typing import TYPE_CHECKING, Any

from weald.data.arguments import check_flags

if TYPE_CHECKING:
    from weald.io.export.parity import Export


class ExportMethods:
    """A model that can be taken to other programs. Each way is imported when it is asked for."""

    def to_c(self, path: Any = None, *, name: str = "forest", X: Any = None, check: bool = True) -> "Export":
        """Write the model as one file of C99 that needs nothing else, and predicts the same bits.

        Parameters
        ----------
        path : path, optional
            Where to write the file. None: nowhere; the text is in the result.
        name : str, default="forest"
            What the names of all functions and tables begin with.
        X : array or data frame, optional
            Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to compile the file and compare its answers. It needs a C compiler: `CC`, `cc`, `gcc` or `clang`.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of its answers.

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
        return write_c(self, path, name, X, check=check)  # type: ignore[arg-type]  # part of a TreeModel

    def to_onnx(self, path: Any = None, *, columns: bool = False, X: Any = None, check: bool = True) -> "Export":
        """Write the model for ONNX: doubles throughout, and the same bits in onnxruntime.

        The model takes `X` (float64, rows x features), in which categories are numbers. A classifier answers with
        `label` and `probabilities`, a regressor with `prediction` (rows x 1).

        Parameters
        ----------
        path : path, optional
            Where to write the file. None: nowhere; the model is in the result.
        columns : bool, default=False
            Whether the model takes each column by itself instead (rows x 1), by its name: numbers as float64, labels of
            categories as text, or as float64 where they are numbers. Labels that are not known are missing values.
        X : array or data frame, optional
            Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to let onnxruntime predict, and compare.

        Returns
        -------
        weald.io.export.parity.Export
            An `onnx.ModelProto`, as `model`, and the `parity` of its answers.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> model.to_onnx().parity.is_exact
        True
        """
        from weald.io.export.onnx_graph import write_onnx

        check_flags(columns=columns, check=check)
        return write_onnx(self, path, X, columns=columns, check=check)  # type: ignore[arg-type]  # part of a TreeModel

    def to_json(self, path: Any = None, *, X: Any = None, check: bool = True) -> "Export":
        """Write the model as JSON: all that its `.weald` file holds, as text. `weald.from_json` gives it back.

        Parameters
        ----------
        path : path, optional
            Where to write the text. None: nowhere; it is in the result.
        X : array or data frame, optional
            Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to read the text again, and compare.

        Returns
        -------
        weald.io.export.parity.Export
            The text, as `model`, and the `parity` of the model that is read from it.

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
        return write_json(self, path, X, check=check)  # type: ignore[arg-type]  # part of a TreeModel

    def to_treelite(self, path: Any = None, *, X: Any = None, check: bool = True) -> "Export":
        """Write the model for treelite, from which other fast predictors load it, FIL of RAPIDS for one.

        Parameters
        ----------
        path : path, optional
            Where to write treelite's own file. None: nowhere; the model is in the result.
        X : array or data frame, optional
            Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to let treelite predict, and compare.

        Returns
        -------
        weald.io.export.parity.Export
            A `treelite.Model`, as `model`, and the `parity` of its answers.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
        >>> model.to_treelite().model.num_tree
        1
        """
        from weald.io.export.treelite_model import write_treelite

        check_flags(check=check)
        return write_treelite(self, path, X, check=check)  # type: ignore[arg-type]  # part of a TreeModel

    def to_shap(self, *, X: Any = None, check: bool = True) -> "Export":
        """Write the model as the dictionary that `shap.TreeExplainer` takes.

        Features that are divided into sets of categories are refused: shap takes thresholds alone.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
        check : bool, default=True
            Whether to let shap predict, and compare.

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
        return write_shap(self, X, check=check)  # type: ignore[arg-type]  # part of a TreeModel
