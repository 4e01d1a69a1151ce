"""The guides of the documentation for each section: titles and files.

The documentation has no public address yet, so the page shows the title of a guide, with its file as a tooltip.
"""

GUIDES: dict[str, tuple[tuple[str, str], ...]] = {
    "data": (("Input data: data frames, categories, missing values", "guides/input-data.md"),),
    "quality": (
        ("Out-of-bag error", "guides/out-of-bag-error.md"),
        ("Class probabilities and calibration", "guides/probabilities.md"),
    ),
    "sure": (("Quantiles and prediction intervals", "guides/prediction-intervals.md"),),
    "trees": (("Choosing parameters", "guides/choosing-parameters.md"),),
    "importance": (("Feature importance", "guides/feature-importance.md"),),
    "shap": (("Explaining predictions: SHAP values", "guides/explaining-predictions.md"),),
    "dependence": (("Partial dependence and ALE", "guides/partial-dependence.md"),),
    "mistakes": (
        ("Explaining one row", "guides/explaining-one-row.md"),
        ("Out-of-bag error", "guides/out-of-bag-error.md"),
    ),
    "drift": (
        ("HTML report for a model", "guides/html-report.md"),
        ("Production: save, compact, serve", "deployment/production.md"),
    ),
    "browser": (("Decision trees: read, explain, export as text", "guides/decision-trees.md"),),
    "making": (("Reproducibility", "deployment/reproducibility.md"),),
}
WHERE = "Guides are pages of weald's documentation: docs/ in its source repository."
