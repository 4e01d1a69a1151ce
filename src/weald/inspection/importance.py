"""Feature importance by several methods.

    importance    the function that users call
    KINDS         the methods, by name

`permutation.py` permutes the values of a feature among rows, `mdi.py` sums the decrease in impurity of its splits,
`drop_column.py` grows forests without a feature, `caveats.py` warns about misleading values. The result is an
`Importance` (`importance_result.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import is_whole
from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import ColumnLike, TableLike
from weald.errors import ParameterError
from weald.estimators.forest_base import RandomForest
from weald.estimators.training_data import read_again, read_new_rows
from weald.inspection import caveats, drop_column, mdi, permutation
from weald.inspection.importance_request import FitArguments, ImportanceRequest, group_features, read_fit_arguments
from weald.inspection.importance_result import Found, Importance, names_of

SHARE = "fraction of the decrease in impurity"
DECREASE = ("decrease in Gini impurity on new rows", "decrease in variance on new rows")
INCREASE = ("increase of the misclassification rate", "increase of the squared error")


@dataclass(frozen=True)
class ImportanceKind:
    """A method of computing importances."""

    answer: Callable[[ImportanceRequest], Found]
    units: tuple[str, str] = INCREASE  # in classification, in regression
    misleads: tuple[Callable[[ImportanceRequest], list[str]], ...] = (caveats.correlated,)
    rows: tuple[str, ...] = ("out_of_bag", "new")  # kinds of rows that it supports


CONCORDANCE = ("decrease of the concordance index",) * 2
SURVIVAL_KINDS = {  # no row has an error by itself
    "permutation": ImportanceKind(permutation.by_concordance, CONCORDANCE),
    "permutation_forest": ImportanceKind(permutation.by_concordance, CONCORDANCE),
    "mdi": ImportanceKind(mdi.on_training_rows, (SHARE, SHARE), (caveats.many_values,), rows=("out_of_bag",)),
}
KINDS = {
    "permutation": ImportanceKind(permutation.by_trees),
    "permutation_forest": ImportanceKind(permutation.by_forest),
    "conditional": ImportanceKind(permutation.within_cells, misleads=()),
    "local": ImportanceKind(permutation.by_rows),
    "drop_column": ImportanceKind(drop_column.dropped, rows=("out_of_bag",)),
    "mdi": ImportanceKind(mdi.on_training_rows, (SHARE, SHARE), (caveats.many_values,), rows=("out_of_bag",)),
    "debiased_mdi": ImportanceKind(mdi.on_new_rows, DECREASE),
}


def importance(
    forest: RandomForest,
    X: TableLike,
    y: ColumnLike,
    *,
    kind: str = "permutation",
    groups: Mapping[str, Sequence[str | int]] | None = None,
    names: Sequence[str] | None = None,
    rows: str = "out_of_bag",
    n_repeats: int = 1,
    n_null: int = 0,
    **fitted_with: Unpack[FitArguments],
) -> Importance:
    """Compute feature importances of a forest.

    Parameters
    ----------
    forest : RandomForestClassifier, RandomForestRegressor or RandomSurvivalForest
        A fitted forest.
    X, y : the training data
        The training data, given again with rows in any order: a forest stores no rows. The fingerprint is checked. With
        `rows="new"`, any other rows.
    kind : str, default="permutation"
        - "permutation": the increase of a tree's misclassification rate or squared error when a feature's values are
          permuted among the tree's out-of-bag rows, averaged over trees (Breiman 2001).
        - "permutation_forest": the same for the whole forest, on its out-of-bag votes.
        - "conditional": as "permutation", but values are permuted only among rows with similar values of correlated
          features (Strobl et al. 2008).
        - "local": as "permutation", row by row: the importance of features for each prediction.
        - "drop_column": the increase of the out-of-bag error of a forest that is grown without the feature.
        - "mdi": fraction of the mean decrease in impurity, as `feature_importances_`.
        - "debiased_mdi": the decrease in impurity of the same splits on out-of-bag rows (Li et al. 2019).

        For survival forests "permutation" and "permutation_forest" are both the decrease of the concordance index of
        the whole forest, since concordance is not a sum over rows; the others, except "mdi", are refused.
    groups : dict of name: features, optional
        Features (names or numbers) that are permuted or dropped together. Those in no group are left out.
    names : sequence of str, optional
        Names of the features; by default those of the training table.
    rows : {"out_of_bag", "new"}, default="out_of_bag"
        "new": X and y are rows that no tree has seen, a test set. Not for "mdi" and "drop_column".
    n_repeats : int, default=1
        Number of permutations of each feature; the result is the mean.
    n_null : int, default=0
        For "mdi": number of forests to grow from permuted targets for a p-value. 0: no p-value.
    sample_weight : array, optional
        As given to `fit`.
    fit_params : dict, optional
        Other arguments of `fit` by row: `{"groups": ..., "stratify": ...}`, from which bags were drawn.

    Returns
    -------
    Importance
        `names`, `values`, `std_error`, `p_value`, how these were computed (`methods`), and where they mislead
        (`warnings`).

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 1] + 0.1 * X[:, 0]
    >>> forest = weald.RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> weald.importance(forest, X, y, names=["a", "b", "c"]).values.argmax()
    np.int64(1)
    """
    check_is_fitted(forest, "forest_")
    _check(kind, rows, n_repeats, n_null)
    asked = _kind_of(forest, kind, n_null)
    named = names_of(forest, names)
    weight, by_row = read_fit_arguments("importance", fitted_with)
    if rows == "new":
        training = read_new_rows(forest, TrainingArguments(X, y, weight))
    else:
        training = read_again(forest, TrainingArguments(X, y, weight, **by_row), bags=kind != "mdi")
    grouped = group_features(groups, named)
    question = ImportanceRequest(training.written_out(), grouped, n_repeats, n_null, named, X, y, weight, by_row)
    return Importance(
        names=question.groups.names,
        kind=kind,
        unit=asked.units[0 if forest.forest_.task is Task.CLASSIFICATION else 1],
        warnings=tuple(words for look in asked.misleads for words in look(question)),
        **asked.answer(question),
    )


def _kind_of(forest: RandomForest, kind: str, n_null: int) -> ImportanceKind:
    """Choose the method; refuse those that a survival forest does not have."""
    if forest.task is not Task.SURVIVAL:
        return KINDS[kind]
    refused = f"kind={kind!r}" if kind not in SURVIVAL_KINDS else f"n_null={n_null}" if n_null else None
    if refused:
        raise ParameterError(
            f"{refused} is not available for {type(forest).__name__}: concordance compares pairs of rows, so no row "
            "has an error by itself. Give kind='permutation' or kind='mdi', and n_null=0."
        )
    return SURVIVAL_KINDS[kind]


def _check(kind: str, rows: str, n_repeats: int, n_null: int) -> None:
    """Refuse invalid arguments."""
    if kind not in KINDS:
        raise ParameterError(f"kind={kind!r} is not allowed. Give {', '.join(map(repr, KINDS))}.")
    if rows not in KINDS[kind].rows:
        choices = " or ".join(map(repr, KINDS[kind].rows))
        raise ParameterError(f"rows={rows!r} is not allowed with kind={kind!r}. Give {choices}.")
    for name, value, least in (("n_repeats", n_repeats, 1), ("n_null", n_null, 0)):
        if not is_whole(value) or value < least:
            raise ParameterError(f"{name}={value!r} is not allowed. Give a whole number from {least}.")
