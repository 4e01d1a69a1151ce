"""The engine of a Dask cluster: workers read and code the partitions that they hold, and grow the trees.

ClusterEngine    implements `Engine` for fits; predictions are made by the native engine, locally or by partition
ClusterTable     a training table whose rows stay on the workers until they are needed locally
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weald.codes.partitioned_table import Labels, Rows
from weald.dask.cluster import Cluster, LostCodesError
from weald.dask.coding import CodedOnCluster, Coding, is_collection, partitions, send_table, wants_values
from weald.dask.scheduler import RemoteVotes, Scheduler, TreeJob
from weald.data.table import Answer, Asked, Reading, Table, TrainingArguments
from weald.data.types import Array, FloatArray
from weald.engines.interface import AddVotes, Codes, Model, OutOfBagVotes, Watch
from weald.engines.native import NativeEngine
from weald.engines.params import Growth
from weald.errors import DataError, ParameterError
from weald.estimators.forest_base import RandomForest
from weald.forest.forest import Forest

TIMES_SENT = 5  # maximum number of times a table is sent to workers that die with it


class ClusterEngine(NativeEngine):
    """Fits on the cluster of the current Dask client. An engine serves one fit."""

    name = "dask"

    @property
    def local(self) -> NativeEngine:  # type: ignore[override]  # not itself
        """The native engine, which uses the grown forest locally."""
        return NativeEngine()

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster."""
        return Cluster()

    def threads(self, n_jobs: int | None) -> int:
        """Return the number of threads of all workers."""
        return self.cluster.n_threads

    # ------------------------------------------------------------------------------------------------------- read

    def read(self, model: Model, data: TrainingArguments) -> Reading:
        """Read partitions on their workers, or a local table."""
        if not isinstance(model, RandomForest):
            if is_collection(data.X):
                raise DataError(
                    "X is a Dask collection, which only fit, predict and predict_proba of forests accept. Give "
                    "other methods and estimators a local table: X.compute()."
                )
            raise ParameterError(f"engine='dask' is for forests, not for {type(model).__name__}. Set engine=\"auto\".")
        if getattr(model, "resampling", "bagging") != "bagging":
            raise ParameterError(
                f"resampling={model.resampling!r} grows one tree after the other, which a cluster cannot speed up. Fit "
                'on one machine: engine="auto".'
            )
        self._wants_values = wants_values(model)
        if is_collection(data.X):
            return self._read_partitions(model, data)
        reading = super().read(model, data)
        if reading.table.targets is not None:
            raise ParameterError(
                "Multi-output does not work on a cluster. Fit one model per target, or on one machine."
            )
        self._reading, self._schema = reading, model.schema_
        return reading

    def _read_partitions(self, model: RandomForest, data: TrainingArguments) -> Reading:
        coding = Coding(self.cluster, model, *partitions(self.cluster, **vars(data)))
        labels = coding.labels
        if labels.groups is not None and not labels.whole:
            raise ParameterError(
                "With groups, sample_weight must be whole numbers, because each row of a drawn group is taken as often "
                "as its weight. It has fractions. Give whole weights, or leave sample_weight out."
            )
        model.schema_, model.n_features_in_ = labels.schema, labels.n_features
        if labels.schema.names is not None:
            model.feature_names_in_ = np.array(labels.schema.names, dtype=object)
        return Reading(ClusterTable(coding), labels.classes, coding.kept_rows() if self._wants_values else None)

    # ------------------------------------------------------------------------------------------------------- code

    def code(
        self, table: Table, max_bins: int, n_threads: int = 1, watch: Watch | None = None, n_trees: int = 0
    ) -> "ClusterCodes":
        """Code partitions on their workers; a local table is coded locally and sent."""
        if isinstance(table, ClusterTable):
            self._codes = ClusterCodes(table.coding.code())
            return self._codes
        codes = super().code(table, max_bins, n_threads, watch)

        def send() -> CodedOnCluster:
            what = (self.cluster, self._schema, self._reading, self, codes)
            for times_left in reversed(range(TIMES_SENT)):
                try:
                    return send_table(*what, keep_values=self._wants_values)
                except LostCodesError:
                    self.cluster.release_memory()
                    if not times_left:
                        raise
            raise AssertionError  # unreachable: the loop returns or raises

        self._codes = ClusterCodes(send(), self.bag_source_of(codes), send)
        return self._codes

    def bag_source_of(self, codes: Codes) -> Codes:
        """Reduce a coded table to the data from which bags are drawn."""
        source: Codes = super().bag_source(codes)
        return source

    def row_product(self, table: Table, n_threads: int = 1) -> int:
        """Compute the multiset hash of the rows: partitions on their workers, a local table locally."""
        if isinstance(table, ClusterTable):
            return table.coding.row_product()
        return super().row_product(table, n_threads)

    # ------------------------------------------------------------------------------------------------------- grow

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow the trees on the workers."""
        return _own(codes).scheduler.grow(TreeJob(growth, seed, ccp_alpha), first_tree, n_trees)

    def grow_and_vote(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        n_trees: int,
        n_threads: int,
        watch: Watch | None,
        ccp_alpha: float,
        voting: str | None,
        add_votes: AddVotes | None,
    ) -> tuple[Forest, OutOfBagVotes | None]:
        """Grow the trees on the workers, and sum out-of-bag votes as trees arrive."""
        return _own(codes).scheduler.grow_and_vote(TreeJob(growth, seed, ccp_alpha, voting), n_trees, watch)

    def sum_votes_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        voting: str,
        n_threads: int = 1,
        watch: Watch | None = None,
        start: OutOfBagVotes | None = None,
        room: int = 0,
    ) -> OutOfBagVotes:
        """Sum votes on the workers. The sums stay there until `collect`."""
        job = TreeJob(growth, 0, 0.0, voting)
        return _own(codes).scheduler.sum_votes(job, forest, start, room)

    def collect(self, votes: OutOfBagVotes) -> OutOfBagVotes:
        """Fetch the sums of votes."""
        sums: FloatArray | RemoteVotes = votes.sums
        return sums.fetch(votes) if isinstance(sums, RemoteVotes) else votes

    def bag_source(self, codes: Codes) -> Codes:
        """Fetch the data from which bags are drawn."""
        return _own(codes).bags

    # -------------------------------------------------------------------------------------------- workers that die

    def attempts(self) -> "Iterator[Attempt]":
        """Yield a context for each attempt to grow the trees.

        A local table that was lost with its workers is sent again; lost partitions are computed again by Dask.
        """
        for times_left in reversed(range(TIMES_SENT)):
            attempt = Attempt(self, may_fail=times_left > 0 and self._codes.send is not None)
            yield attempt
            if not attempt.failed:
                return

    def send_again(self) -> None:
        """Send the table again, to the current workers."""
        self.cluster.release_memory()
        if self._codes.send is not None:
            self._codes.scheduler = Scheduler(self._codes.send())

    def release(self) -> None:
        """Release the data of a failed fit on the cluster."""
        if "cluster" in vars(self):  # otherwise nothing was submitted
            self.cluster.release_memory()


@dataclass
class Attempt:
    """One attempt to grow trees. If workers are lost with parts of the table, only the last attempt fails."""

    engine: ClusterEngine
    may_fail: bool
    failed: bool = False

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.failed = self.may_fail and kind is not None and issubclass(kind, LostCodesError)
        if self.failed:
            self.engine.send_again()
        return self.failed


class ClusterCodes:
    """A coded table on a cluster."""

    def __init__(
        self, there: CodedOnCluster, bags: Codes | None = None, send: Callable[[], CodedOnCluster] | None = None
    ) -> None:
        """Take codes on the cluster; the bag data, if they are local; a function that sends the codes again."""
        self.scheduler, self.send = Scheduler(there), send
        if bags is not None:
            self.bags = bags

    @cached_property
    def bags(self) -> Codes:
        """The data from which bags are drawn."""
        found: Codes = NativeEngine().receive_bags(self.scheduler.coded.fetch_bags())
        return found

    @property
    def fingerprint(self) -> int:
        """Fingerprint of the training data as codes."""
        return self.bags.fingerprint

    @property
    def values(self) -> int | None:
        """Fingerprint of the values."""
        return self.bags.values

    @property
    def design(self) -> int:
        """Fingerprint of groups and strata."""
        return self.bags.design


def _own(codes: Codes) -> ClusterCodes:
    if not isinstance(codes, ClusterCodes):
        raise TypeError(f"The cluster engine was given {type(codes).__name__}, which are codes of another engine.")
    return codes


class ClusterTable(Table):
    """A table in partitions. Targets, weights, groups and strata are fetched only when they are needed."""

    is_in_memory: ClassVar[bool] = False

    def __init__(self, coding: Coding) -> None:
        labels = coding.labels
        known = {
            "X": np.empty((0, labels.n_features)),
            "n_classes": labels.n_classes,
            "weights_whole": labels.whole,
            "size": labels.size,
            "categorical": labels.schema.categorical,
            "targets": None,
            "coding": coding,
        }
        vars(self).update(known)

    coding: Coding

    @property
    def labels(self) -> Labels:
        """Names, classes and categories of the whole table, and its total weight."""
        return self.coding.labels

    @property
    def n_rows(self) -> int:
        """Number of rows in all partitions."""
        return self.labels.n_rows

    @property
    def _rows(self) -> Rows:
        return self.coding.fetch_rows()

    def compute_on_rows(self, ask: Callable[[Table, Asked], Answer], asked: Asked) -> Answer:
        """Call a function on a worker: the rows are many, and the result is small."""
        return self.coding.compute_on_rows(ask, asked)

    @property
    def target(self) -> Array:
        """The target of each row."""
        return self._rows.target

    @property
    def weight(self) -> FloatArray | None:
        """The weight of each row; None: all weigh 1."""
        return self._rows.weight if self.labels.is_weighted else None

    @property
    def groups(self) -> Array | None:
        """The group of each row."""
        return None if self.labels.groups is None else self._rows.groups

    @property
    def strata(self) -> Array | None:
        """The stratum of each row."""
        return None if self.labels.stratify is None else self._rows.strata
