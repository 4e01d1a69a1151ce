"""Warnings about misleading importances.

many_values    columns with many more values than others, which mean decrease in impurity favors
correlated     pairs of correlated features, whose importance is too low if one of them is permuted or dropped
"""

import numpy as np

from weald.inspection.conditional import rank_correlation
from weald.inspection.importance_request import ImportanceRequest

MANY = 10  # times as many distinct values as the feature with the fewest
STRONG = 0.8  # absolute rank correlation above which features are reported
NAMED = 3  # pairs listed by name


def many_values(question: ImportanceRequest) -> list[str]:
    """Compare the numbers of distinct values of the features."""
    training, groups = question.training, question.groups
    X = training.reading.table.X
    members = [f for group in groups.members for f in group]
    distinct = np.array([len(np.unique(X[~np.isnan(X[:, f]), f])) for f in members])
    several = distinct >= 2
    if not several.any() or distinct.max() < MANY * distinct[several].min():
        return []
    most, least = members[int(distinct.argmax())], members[int(np.where(several, distinct, distinct.max()).argmin())]
    words = (
        f"{question.names[most]} has {distinct.max()} distinct values, {question.names[least]} has "
        f"{distinct[several].min()}. Mean decrease in impurity favors features with many values, even if they do not "
        'help on new rows; kind="debiased_mdi" and kind="permutation" do not.'
    )
    return [words]


def correlated(question: ImportanceRequest) -> list[str]:
    """Find pairs of features with strong rank correlation that are not in one group."""
    training, groups = question.training, question.groups
    group_of = groups.group_of(training.reading.table.n_features)
    together = np.abs(rank_correlation(training))
    strong = np.triu(together >= STRONG, 1) & (group_of[:, None] != group_of)
    strong &= (group_of[:, None] >= 0) | (group_of >= 0)
    pairs = np.argwhere(strong)
    if not len(pairs):
        return []
    pairs = pairs[np.argsort(-together[tuple(pairs.T)], kind="stable")]
    named = [f"{question.names[a]} and {question.names[b]} ({together[a, b]:.2f})" for a, b in pairs[:NAMED]]
    more = f" and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
    words = (
        f"Some features are correlated (rank correlation): {', '.join(named)}{more}. Each can replace the other, "
        "so each seems less important than both are together. Evaluate them together (groups=), or use "
        'kind="conditional".'
    )
    return [words]
