"""Mean decrease in impurity: the total decrease in impurity by the splits on a feature.

    on_training_rows    mean decrease in impurity on the training rows, as `feature_importances_`
    on_new_rows         decrease of the same splits on rows that the tree has not seen ("debiased")

The first favors features with many values: with many candidates, some split always looks good on the rows that choose
it. The second is MDI-oob of Li, Wang, Basu, Kumbier and Yu (2019). The decrease of a split is the covariance, over the
rows of its node, of the target (y) and the change of the prediction (mean of the child minus mean of the node). On the
training rows this is the variance that the split removes (summed over classes: Gini); on rows that are new to the tree
its mean is 0 for an unimportant feature. Here the mean of the root is subtracted from y, which changes nothing for
training rows and makes the estimate less noisy. (Subtracting the mean of the node would be wrong: where chance has
shifted that mean, new rows reverse it, and every split would seem to help.)
"""

import numpy as np
from sklearn.base import clone

from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray
from weald.errors import DataError
from weald.estimators.training_data import TrainingData
from weald.forest.forest import Forest
from weald.forest.impurity_decrease import decreases_of_trees, mean_decrease
from weald.inspection.importance_request import Groups, ImportanceRequest
from weald.inspection.importance_result import Found
from weald.inspection.significance import BETWEEN_ROWS, OVER_TREES, compare_rows, error_over_trees

PERMUTED_TARGETS = (
    "Altmann et al. (2010): the fraction of {n} forests, grown from targets that were permuted among rows, in which "
    "the feature has at least this value; this forest counts as one of them"
)


def on_training_rows(question: ImportanceRequest) -> Found:
    """Fraction of the decrease in impurity due to each group; p-values by growing forests from permuted targets."""
    groups, forest = question.groups, question.training.forest
    by_tree = _in_groups(decreases_of_trees(forest), groups)
    values = _in_groups(mean_decrease(forest)[None], groups)[0]
    found: Found = {
        "values": values,
        "std_error": error_over_trees(by_tree),
        "by_tree": by_tree,
        "methods": {"std_error": OVER_TREES},
    }
    if question.n_null:
        n_larger = sum(_in_groups(null[None], groups)[0] >= values for null in _null_decreases(question))
        found["p_value"] = (1 + np.asarray(n_larger)) / (1 + question.n_null)
        found["methods"]["p_value"] = PERMUTED_TARGETS.format(n=question.n_null)
    return found


def _in_groups(by_feature: FloatArray, groups: Groups) -> FloatArray:
    return np.column_stack([by_feature[:, list(members)].sum(axis=1) for members in groups.members])


def _null_decreases(question: ImportanceRequest) -> list[FloatArray]:
    """Grow forests from permuted targets, for which no feature is important; return their importances."""
    model, reading = question.training.model, question.training.reading
    if question.y is None:
        raise DataError("n_null needs permuted targets, which is impossible with a code store. Give X and y.")
    places = np.arange(reading.table.n_rows) if reading.kept is None else np.flatnonzero(reading.kept)
    ranked = places[question.training.order()]
    found = []
    for i in range(question.n_null):
        permuted = np.array(question.y)
        permuted[ranked] = permuted[np.random.default_rng([model.seed_, i]).permutation(ranked)]
        null = clone(model).set_params(random_state=model.seed_, warm_start=False, oob_score=False)
        null.fit(question.X, permuted, question.sample_weight, **question.by_row)
        found.append(mean_decrease(null.forest_))
    return found


def on_new_rows(question: ImportanceRequest) -> Found:
    """Decrease in impurity of the splits on out-of-bag rows."""
    training, groups = question.training, question.groups
    target, weight = training.reading.table.target, training.weight * weigh_classes(training)
    n_groups = len(groups.names)
    group_of = groups.group_of(training.reading.table.n_features)
    group_of[group_of < 0] = n_groups  # an unused column
    sums = np.zeros((training.n_rows, n_groups + 1))
    n_trees = np.zeros(training.n_rows, dtype=np.int64)
    by_tree = np.full((training.forest.n_trees, n_groups), np.nan)
    for trees in training.batches(bytes_per_row=8):
        is_new = training.out_of_bag(trees)
        n_trees += is_new.sum(axis=0)
        forest = training.forest.take(trees)
        leaves = training.engine.leaves(forest, training.reading.table.X, training.n_threads, None)
        for i, tree in enumerate(trees):
            rows = np.flatnonzero(is_new[i])
            if weight[rows].any():  # there may be no rows, or only rows of classes of weight 0
                of_tree = np.zeros((len(rows), n_groups + 1))
                add_decreases(of_tree, forest.take([i]), leaves[rows, i], target[rows], group_of)
                by_tree[tree] = np.average(of_tree, axis=0, weights=weight[rows])[:-1]
                sums[rows] += of_tree
    by_row = sums[:, :-1] / np.where(n_trees > 0, n_trees, np.nan)[:, None]
    _, _, p_value = compare_rows(by_row, weight)
    return {
        "values": np.nanmean(by_tree, axis=0),
        "std_error": error_over_trees(by_tree),
        "p_value": p_value,
        "by_tree": by_tree,
        "methods": {"std_error": OVER_TREES, "p_value": BETWEEN_ROWS},
    }


def add_decreases(sums: FloatArray, tree: Forest, leaves: IntArray, target: Array, group_of: IntArray) -> None:
    """Add the contributions of the splits on each row's path (rows x groups), from its leaf upward.

    The contribution of the step from a node with mean m to a child with mean c is (y - root's mean)(c - m), summed over
    classes.
    """
    parent = tree.parents()
    above = np.maximum(parent, 0)
    means = class_probabilities(tree) if tree.task is Task.CLASSIFICATION else tree.value
    moves = means - means[above]
    expected = moves @ means[0] if tree.task is Task.CLASSIFICATION else means[0] * moves
    at: IntArray = leaves
    rows = np.arange(len(leaves))
    while True:
        below_root = parent[at] >= 0
        at, rows = at[below_root], rows[below_root]
        if not len(at):
            return
        gained = moves[at, target[rows]] if tree.task is Task.CLASSIFICATION else target[rows] * moves[at]
        sums[rows, group_of[tree.feature[parent[at]]]] += gained - expected[at]
        at = parent[at]


def weigh_classes(training: TrainingData) -> FloatArray:
    """Weight each row by its class weight in the fit; "balanced" weights are those of the table, for every tree."""
    growth, target = training.model.growth_, training.reading.table.target
    if growth.class_weight == "none":
        return np.ones(training.n_rows)
    if growth.class_weight == "given":
        given: FloatArray = np.array(growth.class_weights)[target]
        return given
    counts = np.bincount(target, weights=training.weight)
    balanced: FloatArray = counts.sum() / (len(counts) * counts[target])
    return balanced


def class_probabilities(tree: Forest) -> FloatArray:
    """Class probabilities of every node (nodes x classes); 0 if a bag is empty."""
    weights = tree.class_weights()
    total = weights.sum(axis=1, keepdims=True)
    shares: FloatArray = weights / np.where(total > 0, total, 1.0)
    return shares
