"""The method by which a model writes a report on itself."""

from typing import Any


class ReportMethods:
    """A model on which a page can be written."""

    def report(self, X: Any = None, y: Any = None, **given: Any) -> Any:
        """Write one page on this model that opens in any browser; a notebook shows it at once.

        Parameters
        ----------
        X, y : the training data, optional
            Without it the page has only what the model knows.
        **given
            What else `weald.report` takes: `X_test`, `y_test`, `file`, `title` and more.

        Returns
        -------
        weald.reports.Report
        """
        from weald.reports import report  # it asks models, which stand below it

        return report(self, X, y, **given)
