"""A forest as a treelite model: the input of FIL in RAPIDS and of other fast predictors.

write_treelite    fitted model -> treelite.Model, checked by treelite's own predictor (GTIL)
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, Native, TableLike
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.atomic import PathLike
from weald.io.export.leaf_values import answers_of, refuse_overflow, require_exportable
from weald.io.export.packages import require
from weald.io.export.parity import (
    Export,
    Parity,
    answer,
    compare,
    compared_values,
    lost_uncertainty,
    not_compared,
    rows_to_compare,
)

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("how the model was fitted", "names of features, labels of classes and categories", "statistics of nodes")
LeafOutput: TypeAlias = list[float] | float  # class probabilities, or a mean

TOLERANCE = 1e-14  # relative tolerance: votes are divided before they are summed


def write_treelite(model: "TreeModel", path: PathLike | None, X: TableLike, *, check: bool) -> Export:
    """Write a model for treelite; with `check`, let treelite predict and compare."""
    forest = require_exportable(model, "to_treelite")
    refuse_overflow(forest)
    treelite = require("treelite", "to_treelite")
    made = _build(require("treelite.model_builder", "to_treelite"), model, forest)
    parity = _compare(treelite, made, model, X) if check else not_compared(*LOST, *lost_uncertainty(model))
    if path is not None:
        made.serialize(str(Path(path)))
    return Export(made, parity)


def _build(library: Native, model: "TreeModel", forest: Forest) -> Native:
    """Build node by node. Leaves are vectors of probabilities, or means; the result is their mean."""
    is_of_classes, width = forest.task is Task.CLASSIFICATION, forest.width
    builder = library.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=library.Metadata(
            num_feature=forest.n_features,
            task_type="kMultiClf" if is_of_classes else "kRegressor",
            average_tree_output=True,
            num_target=1,
            num_class=[width],
            leaf_vector_shape=(1, width),
        ),
        tree_annotation=library.TreeAnnotation(
            num_tree=forest.n_trees,
            target_id=[0] * forest.n_trees,
            class_id=[-1 if is_of_classes else 0] * forest.n_trees,
        ),
        postprocessor=library.PostProcessorFunc(name="identity_multiclass" if is_of_classes else "identity"),
        base_scores=[0.0] * width,
    )
    says = _leaf_outputs(model, forest)
    for begin, end in zip(forest.tree_start[:-1].tolist(), forest.tree_start[1:].tolist(), strict=True):
        builder.start_tree()
        _add_tree(builder, forest, begin, end, says)
        builder.end_tree()
    return builder.commit()


def _leaf_outputs(model: "TreeModel", forest: Forest) -> Iterator[LeafOutput]:
    """Yield the value of each leaf in order. Treelite divides sums by the number of trees."""
    answers = answers_of(model)
    table = answers.dense()
    if answers.divisor != forest.n_trees:
        table *= forest.n_trees / answers.divisor
    listed = table.tolist() if forest.task is Task.CLASSIFICATION else table[:, 0].tolist()
    return (listed[number] for number in answers.number.tolist())


def _add_tree(builder: Native, forest: Forest, begin: int, end: int, says: Iterator[LeafOutput]) -> None:
    nodes = slice(begin, end)
    columns = (forest.feature[nodes], forest.threshold[nodes], forest.right[nodes], forest.flags[nodes])
    for i, (feature, threshold, right, flags) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        builder.start_node(i)
        if feature < 0:
            builder.leaf(next(says))
            builder.end_node()
            continue
        ways = {"default_left": bool(flags & MISSING_LEFT), "left_child_key": i + 1, "right_child_key": right}
        others_left = bool(flags & OTHERS_LEFT)
        categories = forest.category_set(begin + i).tolist() if flags & CATEGORICAL else []
        if categories:
            builder.categorical_test(feature, category_list=categories, category_list_right_child=others_left, **ways)
        else:
            if flags & CATEGORICAL:  # present values against missing ones: a threshold that all or none of them pass
                threshold = np.inf if others_left else -np.inf  # noqa: PLW2901
            builder.numerical_test(feature, threshold, opname="<=", **ways)
        builder.end_node()


def _compare(treelite: Native, made: Native, model: "TreeModel", X: TableLike) -> Parity:
    """Predict rows at the edges of leaves with treelite."""
    rows = rows_to_compare(model, X)
    gtil = require("treelite.gtil", "to_treelite")
    theirs: FloatArray = np.asarray(gtil.predict(made, rows)).reshape(len(rows), -1)
    tolerance = TOLERANCE if len(model.forest_.tree_weight) else 0.0
    return compare(
        f"treelite {treelite.__version__}",
        compared_values(model.forest_),
        answer(model, rows),
        theirs,
        tolerance,
        *LOST,
        *lost_uncertainty(model),
    )
