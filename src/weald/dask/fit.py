"""The fit of a forest on a Dask cluster: read, resolve, code, grow, keep, all but the last done by the workers.

learn          the flow of `estimators/base.py`, for partitions, or for a table that is here
OnCluster      out-of-bag votes that are added up by the workers
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.codes.partitioned_table import Labels, Rows
from weald.dask.cluster import Cluster, LostCodesError
from weald.dask.coding import CodedOnCluster, Coding, is_collection, partitions, send_table
from weald.dask.scheduler import Scheduler
from weald.data.table import Reading, Table
from weald.engines import params
from weald.engines.interface import OutOfBagVotes
from weald.engines.native import NativeEngine
from weald.engines.params import Growth
from weald.errors import ParameterError, warn
from weald.estimators import early_stopping, out_of_bag
from weald.estimators.training_data import refuse_other_values, require_same_data
from weald.forest.forest import Forest

TIMES_SENT = 5  # that a table is sent to workers which die with it, or with a part of its values


def learn(model: Any, before: Any, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
    """Fit a forest on the cluster of the client in scope."""
    _refuse_what_has_an_order(model)
    cluster = Cluster()
    try:
        if is_collection(X):
            _learn_from_partitions(model, before, cluster, X=X, y=y, sample_weight=sample_weight, **by_row)
        else:
            _learn_from_here(model, before, cluster, model._read_table(X, y, sample_weight, **by_row))  # noqa: SLF001
    except BaseException:
        cluster.let_go()
        raise


def _learn_from_here(model: Any, before: Any, cluster: Cluster, reading: Reading) -> None:
    if reading.table.targets is not None:
        raise ParameterError("Several targets cannot be had on a cluster yet. Fit one for each, or on one machine.")
    engine, coded = model._code(reading)  # noqa: SLF001
    model.growth_ = params.resolve(
        params.gather(model), reading.table, reading.classes, getattr(model, "feature_names_in_", None)
    )
    model._keep_schema(reading)  # noqa: SLF001
    for times_left in reversed(range(TIMES_SENT)):
        try:
            there = send_table(cluster, model, reading, engine, coded)
            _grow(model, before, Scheduler(there, model, engine.bag_source(coded)), reading)
        except LostCodesError:
            cluster.let_go()
            if not times_left:
                raise
        else:
            return


def _refuse_what_has_an_order(model: Any) -> None:
    if getattr(model, "resampling", "bagging") != "bagging":
        raise ParameterError(
            f"resampling={model.resampling!r} grows one tree after the other, so that a cluster is of no use. Fit on "
            'one machine: engine="auto".'
        )


def _learn_from_partitions(model: Any, before: Any, cluster: Cluster, **given: Any) -> None:
    said = params.gather(model)
    coding = Coding(cluster, model, *partitions(cluster, **given), params.count_bins(said["max_bins"]))
    labels = coding.labels
    model.schema_, model.n_features_in_ = labels.schema, labels.n_features
    if labels.schema.names is not None:
        model.feature_names_in_ = np.array(labels.schema.names, dtype=object)
    coded, (model.growth_, told) = coding.code(
        lambda rows, labels_there: cluster.submit(resolve_there, said, rows, labels_there)
    )
    for message in told:
        warn(message)
    model._keep_schema(Reading(BareTable(labels), labels.classes, None))  # noqa: SLF001
    _grow(model, before, Scheduler(coded, model), None)


class BareTable(Table):
    """A table of which only target, weights, groups and strata are at hand."""

    def __init__(self, labels: Labels, rows: Rows | None = None) -> None:
        nothing = np.empty((0, labels.n_features))
        super().__init__(
            nothing,
            nothing[:, 0] if rows is None else rows.target,
            labels.n_classes,
            None if rows is None else rows.weight,
            labels.whole,
            labels.size,
            groups=None if rows is None else rows.groups,
            strata=None if rows is None else rows.strata,
            categorical=labels.schema.categorical,
        )
        object.__setattr__(self, "_n_rows", labels.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows, wherever they are."""
        n_rows: int = vars(self)["_n_rows"]
        return n_rows


def resolve_there(given: dict[str, Any], rows: Rows, labels: Labels) -> tuple[Growth, list[str]]:
    """Turn parameters into numbers where the rows are; also say of what the user is to be warned."""
    if rows.groups is not None and not labels.whole:
        raise ParameterError(
            "groups are drawn whole, each row as often as its weight says, but sample_weight has fractions. Give "
            "whole weights, or leave sample_weight out."
        )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        growth = params.resolve(given, BareTable(labels, rows), labels.classes, labels.schema.names)
    return growth, [str(one.message) for one in told]


# -------------------------------------------------------------------------------------------------------------- grow


def _grow(model: Any, before: Any, dealer: Scheduler, reading: Reading | None) -> None:
    """Grow the trees, or those that are still missing; then keep what was said of rows outside the bags."""
    goes_on = model.warm_start and before._is_fitted()  # noqa: SLF001
    model.seed_ = before.seed_ if goes_on else params.draw_seed(model.random_state)
    if goes_on:
        model._check_that_it_goes_on(before, before._shape())  # noqa: SLF001
    old = before.forest_ if goes_on else None
    found: OutOfBagVotes | None
    if isinstance(model.n_estimators, str):
        found = _grow_until_settled(model, dealer, old)
    else:
        found = _grow_so_many(model, dealer, int(model.n_estimators), old)
    if found is not None:
        _keep_out_of_bag(model, dealer, found, reading)


def _grow_so_many(model: Any, dealer: Scheduler, n_trees: int, old: Forest | None) -> OutOfBagVotes | None:
    if old is None:
        model.forest_, found = dealer.grow_and_look(0, n_trees, judged=bool(model.oob_score))
        return found
    model.forest_ = old
    if model._lacks_trees(n_trees, old):  # noqa: SLF001
        model.forest_ = old.join(_grow_more(dealer, old, old.next_tree(model.seed_), n_trees - old.n_trees))
    return dealer.look(model.forest_, None) if model.oob_score else None


def _grow_more(dealer: Scheduler, old: Forest | None, first: int, n_trees: int) -> Forest:
    """Grow trees that are to stand beside old ones, if there are any. Only the workers know the fingerprints."""
    grown = dealer.grow(first, n_trees)
    if old is not None:
        refuse_other_values(old, grown.origins[0].data, grown.origins[0].values)
    return grown


def _grow_until_settled(model: Any, dealer: Scheduler, old: Forest | None) -> OutOfBagVotes:
    first = 0 if old is None else old.next_tree(model.seed_) - old.n_trees
    model.forest_, found, settled = early_stopping.grow_until_settled(
        lambda number, n_trees: _grow_more(dealer, old, first + number, n_trees),
        dealer.look,
        old,
        dealer.coded.labels.size,
        model.max_estimators,
    )
    if not settled:
        warn(
            f"The out-of-bag error has not settled after {model.forest_.n_trees} trees. More of them may help: give "
            f"more than max_estimators={model.max_estimators}."
        )
    return found


# -------------------------------------------------------------------------------------------------------- out of bag


@dataclass(frozen=True)
class OnCluster(out_of_bag.Bagged):
    """A forest whose training table is on a cluster."""

    dealer: Scheduler | None = None

    def sum_votes(self, X: Any, forest: Forest, start: OutOfBagVotes | None = None, room: int = 0) -> OutOfBagVotes:
        """Let the workers add up what trees say."""
        assert self.dealer is not None  # noqa: S101  (for the type checker: fields that follow others need a default)
        return self.dealer.fetch(self.dealer.look(forest, start, room))


def _keep_out_of_bag(model: Any, dealer: Scheduler, found: OutOfBagVotes, reading: Reading | None) -> None:
    """Bring what trees said of each row here, with the targets to judge it by."""
    if reading is None:
        reading = _read_rows(dealer.coded)
    bags = dealer.fetch_bags()
    require_same_data(model.forest_, bags, reading)
    how = OnCluster(NativeEngine(), bags, model.growth_, model.forest_, model._voting(), 1, dealer)  # noqa: SLF001
    model._keep_out_of_bag(out_of_bag.look(how, reading, dealer.fetch(found)))  # noqa: SLF001


def _read_rows(coded: CodedOnCluster) -> Reading:
    cluster, labels = coded.cluster, coded.labels
    rows: Rows = cluster.gather(coded.rows)
    kept = np.concatenate(cluster.gather_all(coded.kept)) if coded.kept else None
    if kept is not None and kept.all():
        kept = None
    return Reading(rows.table(labels), labels.classes, kept)
