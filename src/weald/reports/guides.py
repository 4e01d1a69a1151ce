"""The guides of the documentation on what a section shows: their titles and files.

The documentation has no public address yet, so the page names a guide, and its file when pointed at, without a link.
"""

GUIDES: dict[str, tuple[tuple[str, str], ...]] = {
    "data": (("Input data: data frames, categories, missing values", "input-data.md"),),
    "quality": (
        ("Out-of-bag error", "out-of-bag-error.md"),
        ("Class probabilities, calibration and thresholds", "probabilities.md"),
        ("Quantiles and prediction intervals", "prediction-intervals.md"),
    ),
    "trees": (("Choosing parameters", "choosing-parameters.md"),),
    "importance": (("Feature importance", "feature-importance.md"),),
    "shap": (("Explaining predictions", "explaining-predictions.md"),),
    "dependence": (("Partial dependence and ALE", "partial-dependence.md"),),
    "mistakes": (("Explaining one row", "explaining-one-row.md"), ("Out-of-bag error", "out-of-bag-error.md")),
    "drift": (("HTML report for a model", "html-report.md"), ("Production: save, compact, serve", "production.md")),
    "browser": (("Decision trees: read, explain, export as text", "decision-trees.md"),),
    "making": (("Reproducibility", "reproducibility.md"),),
}
WHERE = "Guides are pages of weald's documentation: docs/ in its source repository."
