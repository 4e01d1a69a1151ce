"""A report: one page on a model that opens in any browser.

    writing          report, the function that users call, and Report, its result
    predictions      predictions of rows that the trees have not seen, with the true values
    metrics          how good the predictions are, with intervals
    columns          section: the data, column by column
    quality          section: metrics and pictures of the predictions
    classification   pictures of predicted classes: confusion matrix, ROC, calibration
    regression       pictures of predicted numbers: predicted against true, residuals
    growth           section: the out-of-bag error after each tree
    importance       section: feature importance
    dependence       section: partial dependence
    mistakes         section: the rows that are predicted worst
    browser          section: some trees, to be opened and closed
    making           section: parameters, times and versions; how to fit the model again
    section          a section, and its parts: tables, figures, notes
    charts           charts: lines, bars, histograms, points
    svg              scales, axes and marks of charts
    page             all sections as one HTML file
    style            its style sheet and script
    tree_page        export_html: one tree as a page of its own

A section takes what it needs and returns a `Section`. Text goes through `weald.forest.describe.markup`, which escapes.
"""

from weald.reports.writing import Report, report

__all__ = ["Report", "report"]
