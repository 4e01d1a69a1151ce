"""The method by which every model is written to a file."""

from typing import Any


class SaveMethods:
    """What can be saved."""

    _shape: Any

    def save(self, path: Any, *, compress: bool = True, mappable: bool = False) -> None:
        """Write the model to a `.weald` file, from which `weald.load` gives it back bit for bit.

        The file holds the forest, parameters, names of features, categories, classes and out-of-bag results; it holds
        no code and no training data. Equal models make equal files. Saving is atomic: whatever goes wrong, a file that
        was there before stays whole.

        Parameters
        ----------
        path : str or path
            Where to; `.weald` is the usual ending.
        compress : bool, default=True
            Make the file smaller (zlib); loading takes a little longer.
        mappable : bool, default=False
            Write the arrays as they stand in memory. The file is several times as large and is not compressed, but
            `weald.load(path, mmap=True)` maps it in milliseconds, and processes that do so share its memory.

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
        from weald.io import files  # which knows all estimators

        self._shape()  # or it is not fitted
        files.save(self, path, compress=compress, mappable=mappable)  # type: ignore[arg-type]  # part of a TreeModel
