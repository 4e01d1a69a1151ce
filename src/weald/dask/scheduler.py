"""The division of trees and out-of-bag votes among the workers of a cluster, and the join of the results.

    TreeJob        parameters of growth and votes
    Scheduler      divides the work, and reports progress
    TreeJobs       the trees of one call: submits tasks as workers finish others
    ErrorsBySet    the out-of-bag error so far
    RemoteVotes    sums of votes that stay on the workers

Sums over trees run in tree order, so rows are divided among the workers, and each block of rows gets the votes of one
set of trees after the other. Errors are integers: the sums over all blocks equal those of one machine.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from weald.dask.cluster import Future, PendingTasks
from weald.dask.coding import CodedOnCluster
from weald.dask.joining import Joining, TreeArrays, join
from weald.dask.task_queue import Job, TaskQueue
from weald.dask.tree_tasks import (
    Run,
    draw_outside,
    errors_of,
    grow_piece,
    grow_trees,
    join_pieces,
    length_of_line,
    take_rows,
    vote,
    votes_of,
)
from weald.dask.work_split import count_pieces, divide, divide_rows, first_helped, split_trees
from weald.engines import progress
from weald.engines.interface import OutOfBagVotes, Watch
from weald.engines.native import Errors, curve_of
from weald.engines.params import Growth
from weald.engines.progress import Growing
from weald.engines.threads import count_threads
from weald.errors import ParameterError
from weald.forest.forest import Bags, Forest

TASKS_PER_THREAD = 4  # minimum number of tasks: with more, less is lost with a worker
BLOCK_BYTES = 1 << 28  # size limit of the values that a vote reads
JOINERS = 4  # maximum number of threads of the client that join trees


@dataclass(frozen=True)
class RowBlock:
    """Rows whose votes are summed by one task after the other."""

    runs: list[Run]
    values: Any = None  # future of the values; None: read from codes
    place: str | None = None  # the worker that holds the values


class ErrorsBySet:
    """The errors of sets of trees, joined as they arrive, block by block of the rows."""

    def __init__(self, n_told: int, n_blocks: int) -> None:
        self._n_told, self._n_blocks = n_told, n_blocks
        self._found: dict[int, Errors] = {}
        self.errors: list[Errors] = []  # errors of the first sets, for which all blocks have arrived
        self.error: float | None = None  # after all trees of these sets

    def add(self, number: int, errors: Errors) -> None:
        """Add the errors of one block. Blocks are numbered set by set, and may arrive in any order."""
        self._found[number] = errors
        while not self.is_complete():
            first = len(self.errors) * self._n_blocks
            of_set = [self._found[i] for i in range(first, first + self._n_blocks) if i in self._found]
            if len(of_set) < self._n_blocks:
                return
            self.errors.append(reduce(Errors.add, of_set))
            self.error = float(self.errors[-1].means()[-1])

    def is_complete(self) -> bool:
        """Return whether the errors of all sets are complete."""
        return len(self.errors) * self._n_blocks == self._n_told


@dataclass(frozen=True)
class TreeJob:
    """Parameters of growth and votes: the arguments of tasks besides the table."""

    growth: Growth
    seed: int
    ccp_alpha: float
    voting: str | None = None  # None: no out-of-bag votes


class Scheduler:
    """Divides the trees of a forest, and their out-of-bag votes, among the workers."""

    def __init__(self, coded: CodedOnCluster) -> None:
        """Prepare the division of a table on the cluster."""
        self.coded, self.cluster = coded, coded.cluster
        self.n_threads = self.cluster.n_threads
        self._sent: list[Future] = []
        self.blocks = _blocks_of_parts(coded) if coded.parts else _blocks_of_codes(coded, self.n_threads)

    def grow(self, job: TreeJob, first: int, n_trees: int) -> Forest:
        """Grow trees `first`, `first + 1` ... on the whole cluster."""
        with closing(TreeJobs(self, replace(job, voting=None), first, n_trees).results()) as results:
            found = dict(results)
        return join([found[i] for i in range(len(found))])

    def sum_votes(
        self, job: TreeJob, forest: Forest, before: OutOfBagVotes | None = None, room: int = 0
    ) -> OutOfBagVotes:
        """Sum out-of-bag votes. The sums stay on the workers: `sums` has their futures."""
        named = [(origin.bags, *tree) for origin in forest.origins for tree in origin.trees()]
        self._sent.append(self.cluster.send(TreeArrays.of(forest)))  # sent data cannot be computed again
        earlier: Any = None if before is None else before.sums
        votes = self.vote(
            job, self._sent[-1:], self.draw(job, named), None if earlier is None else earlier.blocks, room
        )
        errors = reduce(Errors.add, self.cluster.gather_all([self.cluster.submit(errors_of, block) for block in votes]))
        return self._with_curve(votes, [errors])

    def grow_and_vote(self, job: TreeJob, n_trees: int, watch: Watch | None) -> tuple[Forest, OutOfBagVotes | None]:
        """Grow the first trees and, if requested, sum their votes as they arrive; report progress."""
        jobs = TreeJobs(self, job, 0, n_trees)
        forest, errors = self._watch(jobs, n_trees, watch)
        return forest, None if jobs.votes is None else self._with_curve(jobs.votes, errors)

    def fetch(self, remote: OutOfBagVotes) -> OutOfBagVotes:
        """Fetch the votes for all rows."""
        names: Any = remote.sums
        found = self.cluster.gather_all([self.cluster.submit(votes_of, block) for block in names.blocks])
        n_rows, width = self.coded.labels.n_rows, found[0].sums.shape[1:]
        sums, n_trees = np.empty((n_rows, *width)), np.empty(n_rows, dtype=found[0].n_trees.dtype)
        for block, votes in zip(self.blocks, found, strict=True):
            rows = np.concatenate([np.arange(*run) for run in block.runs])
            sums[rows], n_trees[rows] = votes.sums, votes.n_trees
        return OutOfBagVotes(sums, n_trees, remote.errors, remote.shares)

    def draw(self, job: TreeJob, named: Sequence[tuple[Bags | None, int, int]]) -> Future:
        """Submit the search for the out-of-bag rows of some trees."""
        return self.coded.submit(draw_outside, job.growth, named, priority=1)

    def vote(self, job: TreeJob, trees: list[Future], outside: Future, before: Any, room: int) -> list[Future]:
        """Submit the votes of one set of trees, block by block."""
        return [
            self.coded.submit(
                vote,
                job.growth,
                trees,
                outside,
                job.voting,
                block.runs,
                block.values,
                None if before is None else before[i],
                room,
                priority=1,  # early, so that progress shows the error
                wish=block.place,  # keep the task where the values are
            )
            for i, block in enumerate(self.blocks)
        ]

    # ------------------------------------------------------------------------------------------------------ inside

    def _watch(self, jobs: "TreeJobs", n_trees: int, watch: Watch | None) -> tuple[Forest, list[Errors]]:
        """Wait for trees and the errors of sets of them, and report progress."""
        listener = progress.listener()
        joining = Joining(n_trees, min(count_threads(None), JOINERS))
        measured, n_done = ErrorsBySet(jobs.n_told, len(self.blocks)), 0
        results = jobs.results()
        try:
            for i, thing in results:
                if i < jobs.n_tasks:
                    joining.add(i, thing)
                    n_done += thing.n_trees
                else:
                    measured.add(i - jobs.n_tasks, thing)
                if isinstance(watch, progress.Progress) and measured.error is not None:
                    watch.note = f"  out-of-bag error {measured.error:.4g}"
                if watch:
                    watch(min(n_done / n_trees, 1.0 if measured.is_complete() else 0.99))
                if listener and i < jobs.n_tasks and listener(Growing(n_done, n_trees, measured.error)):
                    raise ParameterError(
                        "A callback asked to stop the fit, but a fit on a cluster grows all trees at the same time. "
                        "Leave the callback out, or fit on one machine."
                    )
            return joining.forest(), measured.errors
        finally:
            results.close()
            joining.close()

    def _with_curve(self, votes: Any, errors: Sequence[Errors]) -> OutOfBagVotes:
        """Combine the futures of votes and the errors of all rows in the result type of one machine."""
        labels = self.coded.labels
        length = labels.total if labels.whole else self._line_length()
        names: Any = RemoteVotes(self, votes)
        return OutOfBagVotes(names, names, *curve_of(errors, length))

    def _line_length(self) -> int:
        """Sum the integer weights of all rows, if weights are fractional."""
        found: int = self.cluster.gather(self.cluster.submit(length_of_line, self.coded.rows, self.coded.labels_there))
        return found


@dataclass(frozen=True)
class RemoteVotes:
    """Sums of votes on the workers, block by block."""

    scheduler: Scheduler
    blocks: list[Future]

    def fetch(self, remote: OutOfBagVotes) -> OutOfBagVotes:
        """Fetch the sums."""
        return self.scheduler.fetch(remote)


class TreeJobs:
    """Trees that are grown task by task, and their out-of-bag votes, set by set."""

    def __init__(self, scheduler: Scheduler, job: TreeJob, first: int, n_trees: int) -> None:
        """Divide the trees into tasks."""
        self._scheduler, self._job, self._coded, self._cluster = scheduler, job, scheduler.coded, scheduler.cluster
        n_tasks = scheduler.n_threads * TASKS_PER_THREAD
        tree_ranges = split_trees(range(first, first + n_trees), scheduler.coded.labels.n_rows, n_tasks)
        self.n_tasks = len(tree_ranges)
        self._tasks: list[Future] = [None] * self.n_tasks  # None: not submitted yet
        # Each set reads the rows again, so there are no more sets than needed.
        self._sets = divide(range(self.n_tasks), n_tasks) if job.voting is not None else []
        self._tree_ranges, self._n_voting = tree_ranges, 0  # sets whose votes were submitted
        self.votes: Any = None  # futures of votes, block by block
        self.n_told = len(self._sets) * len(scheduler.blocks)
        self._awaited = PendingTasks(self.n_tasks + self.n_told)
        slots = self._cluster.slots()
        self._queue = TaskQueue(slots, self._jobs(slots), self._awaited.fail)

    def results(self) -> Generator[tuple[int, Any], None, None]:
        """Yield trees by task number, and errors by the numbers after these. Workers need not keep either.

        The scheduler checks all chunks of codes for each task. So each worker first gets one task, and more when the
        codes have arrived.
        """
        try:
            self._queue.begin()
            self._coded.wait_until_ranked()
            self._queue.fill()
            self._vote_for_ready_sets()
            here = []
            for i, thing in self._cluster.results(self._awaited, lambda: self._queue.poll(self._cluster.slots)):
                self._vote_for_ready_sets()
                here += [i] if i < self.n_tasks else []
                here = [task for task in here if not self._release(task)]
                yield i, thing
        finally:
            self._queue.close()
            self._cluster.cancel([task for task in self._tasks if task is not None])

    # ------------------------------------------------------------------------------------------------------ inside

    def _jobs(self, slots: Sequence[str]) -> list[Job]:
        """Return the jobs in order.

        Dask runs tasks where their data are, but the codes are on no worker, or on one, when the first trees are
        submitted. So each job names its worker. And Dask runs tasks of one priority in any order: large ones might come
        last.
        """
        n_rows, growth = self._coded.labels.n_rows, self._job.growth
        # Trees with max_leaf_nodes grow best-first and have no pieces.
        n_last, n_pieces = (
            (0, 1) if growth.max_leaf_nodes else count_pieces(self._tree_ranges, min(n_rows, growth.n_draws), slots)
        )
        helped = first_helped(self.n_tasks, len(slots))
        jobs: list[Job] = []
        for i in range(self.n_tasks):
            if i < self.n_tasks - n_last:
                jobs.append(partial(self._grow, i, i >= helped))
            else:
                found: list[Future] = []
                jobs += [partial(self._grow_piece, i, number, n_pieces, found) for number in range(n_pieces)]
        return jobs

    def _grow(self, i: int, helped: bool, wish: str | None) -> Future:
        job, trees = self._job, self._tree_ranges[i]
        what = (job.growth, job.seed, trees[0], len(trees), job.ccp_alpha, helped)
        return self._expect(i, self._coded.submit(grow_trees, *what, priority=-i / self.n_tasks, wish=wish))

    def _grow_piece(self, i: int, number: int, n_pieces: int, found: list[Future], wish: str | None) -> Future:
        """Submit a piece of a tree. After the last piece, submit the task that joins them."""
        job = self._job
        what = (job.growth, job.seed, self._tree_ranges[i][0], number, n_pieces)
        piece = self._coded.submit(grow_piece, *what, priority=-i / self.n_tasks, wish=wish)
        found.append(piece)
        if len(found) == n_pieces:
            self._expect(i, self._cluster.submit(join_pieces, found, job.ccp_alpha, priority=1))
            found.clear()
        return piece

    def _expect(self, i: int, task: Future) -> Future:
        self._tasks[i] = task
        self._awaited.add(i, task)
        return task

    def _vote_for_ready_sets(self) -> None:
        """Submit the votes of sets of trees that have been submitted."""
        for of_set in self._sets[self._n_voting :]:
            tasks = [self._tasks[i] for i in of_set]
            if None in tasks:
                return
            trees = [tree for i in of_set for tree in self._tree_ranges[i]]
            outside = self._scheduler.draw(self._job, [(None, self._job.seed, tree) for tree in trees])
            self.votes = self._scheduler.vote(self._job, tasks, outside, self.votes, 0)
            first = self.n_tasks + self._n_voting * len(self.votes)
            for i, block in enumerate(self.votes, first):
                self._awaited.add(i, self._cluster.submit(errors_of, block))
            self._n_voting += 1

    def _release(self, i: int) -> bool:
        """Release a task whose trees have arrived, unless their votes have yet to be submitted."""
        if self._sets and not any(i in of_set for of_set in self._sets[: self._n_voting]):
            return False
        self._tasks[i].release()
        return True


def _blocks_of_codes(coded: CodedOnCluster, n_threads: int) -> list[RowBlock]:
    """Divide rows whose values are read from codes, which every worker has."""
    n_rows, n_features = coded.labels.n_rows, coded.labels.n_features
    n_blocks = min(n_rows, max(n_threads, -(-8 * n_rows * n_features // BLOCK_BYTES)))
    ends = [n_rows * i // n_blocks for i in range(n_blocks + 1)]
    return [RowBlock([run]) for run in pairwise(ends)]


def _blocks_of_parts(coded: CodedOnCluster) -> list[RowBlock]:
    """Divide rows among the workers that hold their values."""
    firsts = [0, *accumulate(part.n_rows for part in coded.parts)]
    places, n_rows = ([getattr(part, name) for part in coded.parts] for name in ("place", "n_rows"))
    blocks = []
    for place, pieces in divide_rows(places, n_rows, coded.cluster.slots()):
        cut = [(coded.parts[i].values, begin - firsts[i], end - firsts[i]) for i, begin, end in pieces]
        values = coded.cluster.submit(take_rows, cut, wish=place)
        blocks.append(RowBlock([run for _, *run in pieces], values, place))
    coded.parts.clear()  # the blocks hold the values now
    return blocks
