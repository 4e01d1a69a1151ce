"""Where an importance misleads, said in plain words.

many_values    columns with many more values than others, which mean decrease in impurity favors
correlated     pairs of features that stand in for one another, which permuting or dropping one does not see
"""

import numpy as np

from weald.inspection.conditional import rank_correlation
from weald.inspection.importance_request import ImportanceRequest

MANY = 10  # times as many distinct values as the feature with the fewest
STRONG = 0.8  # rank correlation of features that stand in for one another
NAMED = 3  # pairs that are named


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
        f"{distinct[several].min()}. Mean decrease in impurity favors features with many values, whether or not they "
        'help on new rows; kind="debiased_mdi" and kind="permutation" do not.'
    )
    return [words]


def correlated(question: ImportanceRequest) -> list[str]:
    """Find pairs of features, not of one group, whose rank correlation is strong."""
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
        f"Some features go together, by rank correlation: {', '.join(named)}{more}. What one of them knows the other "
        "knows too, so that each seems to matter less than both do. Look at them together (groups=), or ask for "
        'kind="conditional".'
    )
    return [words]
