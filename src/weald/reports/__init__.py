"""Reports on a model: one HTML file that opens in any browser.

    writing          report, the function that users call, and Report, its result
    predictions      predictions of rows that the trees have not seen, with the true values
    metrics          metrics of the predictions, with confidence intervals
    columns          section: the training data, column by column
    quality          section: metrics and charts of the predictions
    uncertainty      section: prediction intervals or sets of classes
    classification   charts for classification: confusion matrix, ROC, calibration
    regression       charts for regression: predicted against true, residuals
    growth           section: the out-of-bag error after each tree
    importance       section: feature importance
    shap             section: SHAP values
    dependence       section: partial dependence
    mistakes         section: the rows with the largest errors
    drift            section: test data against training data
    browser          section: some trees, whose nodes can be expanded
    reproducibility  section: parameters, times and versions; how to fit the model again
    section          a section and its parts: tables, figures, notes
    charts           charts: lines, bars, histograms, points
    svg              scales, axes and marks of charts
    guides           for each section, the guides of the documentation
    page             the HTML file of all sections
    style            its style sheet and script
    tree_page        export_html: a page with a single tree

Each section function returns a `Section`. All text is escaped by `weald.forest.describe.markup`.
"""

from weald.reports.writing import Report, report

__all__ = ["Report", "report"]
