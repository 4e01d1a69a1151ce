"""The flow of every fit, from the user's arguments to a fitted estimator.

    check      parameters, one by one              engines/params.py
    read       any X, y, weights   ->  Table        engine.read, data/table.py
    resolve    parameters, Table   ->  Growth       engines/params.py
    code       Table               ->  codes        engine.code
    grow       codes, Growth, seed ->  Forest       growing.py, engine.grow
    keep       Forest, votes       ->  estimator    out_of_bag.py

A fit works on a copy and changes the estimator only when everything has succeeded: an error or Ctrl-C leaves it
unchanged.
"""

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from weald.data.schema import Schema, same_categories
from weald.data.table import Reading, TrainingArguments
from weald.data.targets import name_of_target
from weald.data.task import Task
from weald.data.types import FloatArray
from weald.engines import params
from weald.engines.choose import open_engine
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.engines.precision import warn_of_rounding
from weald.errors import DataError, ParameterError, warn
from weald.estimators import growing, multi_output, out_of_bag, resampling
from weald.estimators.calibration.kept_errors import TableOfRows, keep_errors
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.features import Features, features_of
from weald.estimators.growing import Grower, Plan
from weald.estimators.merging import same_values
from weald.estimators.multi_output import forests_of
from weald.estimators.out_of_bag import OutOfBag
from weald.estimators.prediction import voting_of
from weald.estimators.same_data import require_same_data
from weald.estimators.stopping_rules import note_mixed
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel
    from weald.estimators.survival.models import TreeSurvival

Model = TypeVar("Model", bound="TreeModel")

# Every attribute that a fit sets, or that is derived from a fitted model. A fit starts without them; the other
# attributes of an estimator are its parameters and those of the user's subclasses.
LEARNED = frozenset(
    {
        "n_features_in_",
        "n_samples_fit_",
        "feature_names_in_",
        "target_name_",
        "data_hash_",
        "schema_",
        "n_outputs_",
        "classes_",
        "class_labels_",
        "n_classes_",
        "growth_",
        "seed_",
        "forest_",
        "forests_",
        "altered_by_",
        "tree_",
        "leaf_targets_",
        "leaf_times_",
        "unique_times_",
        "event_times_",
        "kept_errors_",
        "calibrator_",
        "thinning_",
        "oob_",
        "oob_score_",
        "oob_error_",
        "oob_fraction_",
        "oob_decision_function_",
        "oob_prediction_",
        "kernel_",
        "choice_",
        "mix_",
        "sample_kind_",
        "prototype_rows_",
        "_prototype_seed_",
        "_rows_",
        "_n_columns_",
        "_columns_",
        "_n_prototypes_",
        "_kept_",
        "_training_bags",
    }
)

# scikit-learn's names of out-of-bag predictions.
OOB_PREDICTIONS = {Task.CLASSIFICATION: "oob_decision_function_", Task.REGRESSION: "oob_prediction_"}


def fit(model: "TreeModel", data: TrainingArguments, checkpoint: Checkpoint | None = None) -> None:
    """Fit an estimator to a table: check, read, resolve, code, grow, keep."""
    check(model)
    learned = unfitted_copy(model)
    if checkpoint is not None:
        checkpoint = replace(checkpoint, model=learned)
    features, plan = features_of(learned), _plan_trees(model, checkpoint)
    before = model if getattr(model, "warm_start", False) and is_fitted(model) else None
    if model.task is Task.SURVIVAL:
        from weald.estimators.survival.training_times import learn_times  # on use, as below

        data = learn_times(learned, data, has_checkpoint=checkpoint is not None)

    engine = open_engine(model.engine, data.X)
    for keeps, attach in (("keep_targets", "attach_targets"), ("keep_errors", "attach_errors")):
        if getattr(model, keeps, False):
            from weald.engines import leaf_targets  # imported on use, to keep `import weald` fast

            leaf_targets.require_local(engine, keeps, attach)
    try:
        if features.needs_seed:
            learned.seed_ = _choose_seed(model, None, before, checkpoint)
        reading = features.read(engine, data, before)
        _warn_of_labels_by_row(learned.schema_, reading.table.n_rows)
        learned.n_samples_fit_ = reading.table.n_rows
        if (name := name_of_target(data.y)) is not None:
            learned.target_name_ = name

        _resolve(learned, reading)

        if not features.needs_seed:  # after the checks, so that a fit that fails does not use the user's generator
            learned.seed_ = _choose_seed(model, learned.growth_, before, checkpoint)
        codes = features.code(engine, reading, plan.n_trees if plan.is_plain and before is None else 0)

        if learned.task is Task.REGRESSION:
            warn_of_rounding(reading.table, learned.growth_)

        train(learned, engine, codes, reading, plan, before)
    except BaseException:
        engine.release()
        raise

    model.__dict__ = learned.__dict__


def check(model: "TreeModel") -> None:
    """Check the parameters of an estimator, one by one and in combination."""
    params.check(params.gather(model), model.task)
    features_of(model).check()


def unfitted_copy(model: Model) -> Model:
    """Copy an estimator without its fitted attributes."""
    twin = object.__new__(type(model))
    twin.__dict__ = {name: value for name, value in vars(model).items() if name not in LEARNED}
    return twin


def is_fitted(model: "TreeModel") -> bool:
    """Return whether an estimator has trees."""
    return "forest_" in vars(model) or "forests_" in vars(model)


def _plan_trees(model: "TreeModel", checkpoint: Checkpoint | None) -> Plan:
    """Read the number of trees; an estimator without this parameter has one tree."""
    given = params.gather(model)
    if "n_estimators" not in given:
        return Plan()
    until_converged = given["n_estimators"] == "auto"
    return Plan(
        n_trees=int(given["max_estimators"] if until_converged else given["n_estimators"]),
        until_converged=until_converged,
        wants_votes=bool(given.get("oob_score", False))
        or until_converged
        or given.get("calibrate") is not None
        or bool(given.get("keep_errors", False)),
        resampling=given.get("resampling", resampling.BAGGING),
        checkpoint=checkpoint,
    )


def _choose_seed(
    model: "TreeModel", growth: Growth | None, before: "TreeModel | None", checkpoint: Checkpoint | None
) -> int:
    """Draw a seed. A warm start keeps the seed of its trees; a checkpoint may provide one.

    `growth` is None before the table is read.
    """
    if before is not None:
        return before.seed_
    is_given = isinstance(model.random_state, int | np.integer)
    found = None if checkpoint is None or is_given else checkpoint.seed()
    if found is not None:
        return found
    return params.draw_seed(model.random_state) if growth is None else params.choose_seed(growth, model.random_state)


def random_state_of(model: "TreeModel") -> int | None:
    """Return the `random_state` that makes a fit grow the same trees again."""
    return None if model.growth_.ties_by_column else model.seed_


ROWS_TO_WARN = 50  # with fewer rows, many distinct labels are normal
SHOWN = 5


def _warn_of_labels_by_row(schema: Schema, n_rows: int) -> None:
    """Warn about categorical columns with more than half as many categories as rows."""
    n_labels = {f: len(c.labels) for f in sorted(schema.categorical) if (c := schema.categories[f]) is not None}
    found = [f for f, n in n_labels.items() if 2 * n > n_rows >= ROWS_TO_WARN]
    if not found:
        return
    listed = ", ".join(f"{schema.name(f)} ({n_labels[f]:,} categories)" for f in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    warn(
        f"X has {n_rows:,} rows, and columns with a category for nearly each of them: {listed}{more}. Such categories "
        "do not help to predict new rows. Drop names and row numbers; convert text that holds dates, for example by "
        "pandas.to_datetime; give amounts as numbers."
    )


def _resolve(learned: "TreeModel", reading: Reading) -> None:
    """Convert parameters to plain numbers, and store the classes of the target."""
    given, table = params.gather(learned), reading.table
    if table.targets is not None:
        multi_output.refuse(given)
    learned.growth_ = params.resolve(given, table, reading.classes, getattr(learned, "feature_names_in_", None))
    learned.n_outputs_ = 1 if table.targets is None else table.targets.n_targets
    if reading.classes is not None:
        learned.classes_ = reading.classes
        one = table.targets is None
        learned.n_classes_ = len(reading.classes) if one else [len(classes) for classes in reading.classes]


def train(
    learned: "TreeModel", engine: Engine, codes: Codes, reading: Reading, plan: Plan, before: "TreeModel | None"
) -> None:
    """Grow the trees, compute out-of-bag estimates if requested, and store both."""
    features = features_of(learned)
    given = getattr(learned, "shrinkage", 0.0)
    shrinkage = 0.0 if given == params.OUT_OF_BAG else float(given)
    old: tuple[Forest, ...] = ()
    if before is not None:
        old = tuple(forest.with_shrinkage(shrinkage) for forest in features.old_forests(before, codes))
        _require_same_schema(learned, features, before)
        note_mixed(learned, before, "warm_start=True")
    grower = features.grower(
        Grower(
            *(engine, codes, reading, learned.growth_, learned.seed_, learned.ccp_alpha),
            *(voting_of(learned), engine.threads(learned.n_jobs), learned.verbose, shrinkage),
        )
    )
    if "bootstrap" in vars(learned) and plan.resampling == resampling.BAGGING and reading.table.is_in_memory:
        learned.__dict__["_training_bags"] = out_of_bag.TrainingBags(
            engine.local, engine.bag_source(codes), learned.growth_, (), 1, reading.kept
        )
    if reading.table.targets is not None:
        learned.forests_ = growing.grow_targets(grower, plan, old)
        growing.require_votes(learned.forests_[0])
        if plan.wants_votes:
            _keep_out_of_bag_of_targets(learned, grower)
        return
    for attempt in engine.attempts():
        with attempt:
            forest, votes = growing.grow(grower, plan, old[0] if old else None)
            growing.require_votes(forest)
            if given == params.OUT_OF_BAG:
                forest, votes = forest.with_shrinkage(_choose(learned, engine, codes, reading, forest)), None
            wants_estimate = plan.wants_votes and learned.task is not Task.SURVIVAL
            found = out_of_bag.estimate_out_of_bag(grower.bagged(forest), reading, votes) if wants_estimate else None
    learned.forest_ = features.keep(forest, reading)
    if learned.task is Task.SURVIVAL:
        _keep_times(cast("TreeSurvival", learned), grower, wants_votes=plan.wants_votes)
        return
    if found is not None:
        from weald.estimators.error_surface import rows_outside_bags  # imported on use, to keep `import weald` fast

        found.rows_to_score = rows_outside_bags(learned, engine, codes, reading)
        keep_out_of_bag(learned, found)
        if (method := getattr(learned, "calibrate", None)) is not None:
            learned.__dict__["calibrator_"] = replace(found.calibrator(method), voting=voting_of(learned))
    _keep(learned, grower, found)
    _warn_of_idle_class_weights(learned)


def _keep_times(learned: "TreeSurvival", grower: Grower, *, wants_votes: bool) -> None:
    """Keep the times of the leaves of a survival model, and the out-of-bag estimates."""
    from weald.engines import leaf_times  # imported on use: `import weald` is faster without
    from weald.estimators.survival.out_of_bag import estimate

    engine, codes, reading = grower.engine, grower.codes, grower.reading
    require_same_data(learned.forest_, codes, reading)  # after a warm start
    learned.leaf_times_ = leaf_times.collect(
        *(engine, codes, reading.table, learned.growth_, learned.forest_, learned.unique_times_, grower.n_threads)
    )
    if wants_votes:
        found = estimate(learned, grower.bagged(learned.forest_), reading)
        learned.__dict__.update({"oob_": found, "oob_prediction_": found.predictions})
        learned.__dict__.update(oob_fraction_=found.share, oob_error_=found.error, oob_score_=found.score)


def _keep(learned: "TreeModel", grower: Grower, found: OutOfBag | None) -> None:
    """Store the targets of the leaves and the out-of-bag errors, if requested."""
    engine, codes, reading = grower.engine, grower.codes, grower.reading
    if getattr(learned, "keep_targets", False):
        from weald.engines import leaf_targets

        require_same_data(learned.forest_, codes, reading)  # left from before a warm start
        learned.__dict__["leaf_targets_"] = leaf_targets.collect(
            engine, codes, reading.table, learned.growth_, learned.forest_, grower.n_threads
        )
    if found is not None and getattr(learned, "keep_errors", False):
        rows = TableOfRows(
            *(engine, codes, reading.table, learned.growth_, learned.forest_, learned.seed_, grower.n_threads),
            keeps_leaves="leaf_targets_" in vars(learned),
            voting=voting_of(learned),
        )
        learned.__dict__["kept_errors_"] = keep_errors(rows, found, reading.kept)


def _choose(learned: "TreeModel", engine: Engine, codes: Codes, reading: Reading, forest: Forest) -> float:
    """Choose lambda of hierarchical shrinkage by the out-of-bag error."""
    from weald.estimators.error_surface import choose_shrinkage, rows_outside_bags

    grown = copy.copy(learned)
    grown.forest_ = forest
    rows = rows_outside_bags(grown, engine, codes, reading)
    if rows is None:
        raise ParameterError(
            "shrinkage='oob' needs the training rows in this process, and these stay on a cluster. Fit with "
            "shrinkage=0.0, and choose with a table in memory: forest.out_of_bag(X, y).surface('shrinkage')."
        )
    return choose_shrinkage(rows, learned.verbose)


def _warn_of_idle_class_weights(learned: "TreeModel") -> None:
    """Warn if class weights cannot affect predictions because every leaf has rows of one class only."""
    forest, weights = learned.forest_, learned.growth_.class_weights
    n_leaves = len(forest.leaf_start) - 1
    are_equal = bool(weights) and len(set(weights)) == 1
    is_bound = len(forest.value) > 0  # with monotonic_cst, nodes have values instead of class counts
    if (
        learned.growth_.class_weight == "none"
        or are_equal
        or is_bound
        or forest.n_classes < 2
        or forest.shrinkage
        or len(forest.leaf_class) != n_leaves
    ):
        return
    balanced = ', or draw as many rows of each class: bootstrap="balanced"' if learned.growth_.bootstrap else ""
    warn(
        "class_weight affected only the choice of splits: every leaf has rows of one class and predicts it with any "
        "weights. To let weights affect leaves, also set min_samples_leaf or max_depth" + balanced + "."
    )


def resume(model: "TreeModel", engine: Engine, codes: Codes, reading: Reading) -> None:
    """Fit an estimator to a table that was read and coded before, for another estimator of the same class."""
    _resolve(model, reading)
    model.seed_ = params.choose_seed(model.growth_, model.random_state)
    train(model, engine, codes, reading, _plan_trees(model, None), None)


# ------------------------------------------------------------------------------------------------------- out of bag


def keep_out_of_bag(learned: "TreeModel", found: OutOfBag) -> None:
    """Store the out-of-bag estimates, also under scikit-learn's names."""
    metric = getattr(learned, "oob_score", False)
    learned.__dict__.update(
        {
            "oob_": found,
            "oob_fraction_": found.share,
            "oob_error_": found.error,
            "oob_score_": found.score(metric if callable(metric) else None),
            OOB_PREDICTIONS[learned.task]: found.probabilities
            if learned.task is Task.CLASSIFICATION
            else found.predictions,
        }
    )


def _keep_out_of_bag_of_targets(learned: "TreeModel", grower: Grower) -> None:
    found = estimate_targets_out_of_bag(learned, grower.engine, grower.codes, grower.reading)
    averages: FloatArray = (
        multi_output.side_by_side(found.averages)
        if learned.task is Task.CLASSIFICATION
        else np.column_stack(found.averages)
    )
    learned.__dict__.update(
        {
            "oob_fraction_": found.share,
            "oob_error_": found.error,
            "oob_score_": found.score,
            OOB_PREDICTIONS[learned.task]: averages,
        }
    )


def estimate_targets_out_of_bag(
    model: "TreeModel", engine: Engine, codes: Codes, reading: Reading
) -> multi_output.OutOfBagOfTargets:
    """Predict each row of a multi-output table by the trees that have not seen it."""
    out_of_bag.require_bags(model.forests_[0])
    require_same_data(model.forests_[0], codes, reading)
    metric = getattr(model, "oob_score", False)
    return multi_output.estimate_targets(
        engine,
        codes,
        reading,
        model.growth_,
        model.forests_,
        voting_of(model),
        model.n_jobs,
        metric if callable(metric) else None,
    )


# ------------------------------------------------------------------------------------------------------- warm start


def _require_same_schema(learned: "TreeModel", features: Features, before: "TreeModel") -> None:
    """Raise an error for a table that the existing trees cannot have been grown from."""
    old = forests_of(before)[0]
    if learned.n_outputs_ != before.n_outputs_:
        raise DataError(
            f"y has {learned.n_outputs_} targets, but warm_start=True continues trees with {before.n_outputs_}. Give "
            "the same targets, or set warm_start=False to start over."
        )
    if features.n_columns != features_of(before).n_columns:
        raise DataError(
            f"X has {learned.n_features_in_} features, but warm_start=True continues trees with {old.n_features}. "
            "Give the same features, or set warm_start=False to start over."
        )
    if not same_categories(learned.schema_, before.schema_):
        raise DataError(
            "The categories in X differ from those of the table that warm_start=True continues from, so their codes "
            "would differ. Give the same table, or set warm_start=False to start over."
        )
    bound = ("monotonic", "interaction_groups", "max_interacting")
    if any(getattr(learned.growth_, name) != getattr(before.growth_, name) for name in bound):
        raise ParameterError(
            "monotonic_cst or interaction_cst differs from that of the trees that warm_start=True keeps, and these do "
            "not obey it. Give the same constraints, or set warm_start=False to start over."
        )
    if learned.growth_.criterion != before.growth_.criterion:
        raise ParameterError(
            f"criterion={learned.growth_.criterion!r} differs from the {before.growth_.criterion!r} of the trees that "
            "warm_start=True keeps. Give the same criterion, or set warm_start=False to start over."
        )
    for name in ("unique_times_", "event_times_"):
        if not same_values(vars(learned).get(name), vars(before).get(name)):
            raise DataError(
                "The times in y differ from those of the trees that warm_start=True keeps, so their risks cannot be "
                "averaged. Give the same rows, or set warm_start=False to start over."
            )
    if learned.task is Task.CLASSIFICATION and not same_values(learned.classes_, before.classes_):
        raise DataError(
            f"y has the classes {multi_output.listed(learned.classes_)}, but warm_start=True continues trees "
            f"of the classes {multi_output.listed(before.classes_)}. Give the same classes, or set "
            "warm_start=False to start over."
        )
