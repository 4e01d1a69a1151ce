"""From n_jobs to a number of threads. The forest does not depend on it, so the default is all cores.

joblib determines which cores this process may use (affinity, cgroup quota, LOKY_MAX_CPU_COUNT). In a joblib worker the
cores are already divided among workers, so the default there is the worker's part.
"""

import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import joblib
from joblib.parallel import get_active_backend

# More threads than cores do not help, but tests need a few more, to check that the forest stays the same.
THREADS_PER_CORE = 4
THREADS_ALWAYS = 64

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads to use.

    None is the `n_jobs` of an enclosing `joblib.parallel_config` if it has one, else all cores (as -1); in a joblib
    worker both are the worker's part of the cores. Other negative numbers leave cores free, as in joblib: -2 is all but
    one.

    Examples
    --------
    >>> from weald.engines.threads import count_threads
    >>> count_threads(3)
    3
    """
    backend, configured = get_active_backend()
    nested = (getattr(backend, "nesting_level", 0) or 0) > 0
    if n_jobs in (None, -1) and nested:
        return _share_of_worker()
    if n_jobs is None:
        n_jobs = -1 if configured is None else int(configured)
    if 0 < n_jobs <= THREADS_ALWAYS:
        return n_jobs  # cached: counting cores takes as long as growing a small tree
    n_cores = _count_cores()
    if n_jobs < 0:
        return max(1, n_cores + 1 + n_jobs)
    return min(n_jobs, max(THREADS_ALWAYS, THREADS_PER_CORE * n_cores))


def _count_cores() -> int:
    """Count the cores that this process may use. joblib reads files for this, so the answer is cached for a second."""
    limit = os.environ.get("LOKY_MAX_CPU_COUNT")
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return _cores_now(joblib.cpu_count, int(time.monotonic()), limit, tuple(allowed))


@functools.lru_cache(maxsize=1)
def _cores_now(count: Callable[[], int], second: int, limit: str | None, allowed: tuple[int, ...]) -> int:
    return int(count())


def _share_of_worker() -> int:
    """Return the part of the cores that loky assigns to its worker processes; threads of one process get one each."""
    share = os.environ.get("OMP_NUM_THREADS", "")
    in_loky = multiprocessing.current_process().name.startswith("LokyProcess")
    return max(1, min(int(share), _count_cores())) if in_loky and share.isdecimal() else 1


def map_on_threads(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """Call a function without side effects for each item, on several threads if the system starts them."""
    listed = list(items)
    if n_threads > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                results = pool.map(function, listed)
            except RuntimeError:  # threads cannot be started, or too few
                pool.shutdown(cancel_futures=True)
            else:
                return list(results)
    return [function(item) for item in listed]
