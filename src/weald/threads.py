"""n_jobs -> a number of threads. The forest does not depend on it, so by default all cores are used.

Which cores this process may use (affinity, cgroup quota, LOKY_MAX_CPU_COUNT) is joblib's knowledge. Inside a worker of
joblib the cores are already shared out, so there the default is the worker's share.
"""

import os
from typing import Any

import joblib
from joblib.parallel import get_active_backend

# More threads than cores help nobody, but a few more must be possible: that the forest stays the same is tested so.
THREADS_PER_CORE = 4
THREADS_ALWAYS = 64


def count_threads(n_jobs: int | None) -> int:
    """Say how many threads to use.

    None is the `n_jobs` of an enclosing `joblib.parallel_config` if it has one, else all cores (as -1); in a joblib worker
    both are the worker's share of the cores. Other negative numbers leave cores free, as in joblib: -2 all but one.

    Examples
    --------
    >>> from weald.threads import count_threads
    >>> count_threads(3)
    3
    """
    backend, configured = get_active_backend()
    nested = (getattr(backend, "nesting_level", 0) or 0) > 0
    if n_jobs in (None, -1) and nested:
        return _share_of_worker()
    if n_jobs is None:
        n_jobs = -1 if configured is None else int(configured)
    n_cores = int(joblib.cpu_count())
    if n_jobs < 0:
        return max(1, n_cores + 1 + n_jobs)
    return min(n_jobs, max(THREADS_ALWAYS, THREADS_PER_CORE * n_cores))


def _share_of_worker() -> int:
    """Read the share that loky gives its workers; threads of one process get one each."""
    share: Any = os.environ.get("OMP_NUM_THREADS", "")
    if not share.isdecimal() or not _in_worker_process():
        return 1
    return max(1, min(int(share), int(joblib.cpu_count())))


def _in_worker_process() -> bool:
    """Say whether this process was started by joblib, whose environment is then set for one worker."""
    import multiprocessing  # noqa: PLC0415  (only asked inside workers)

    return multiprocessing.parent_process() is not None or "LOKY_PARENT" in os.environ or _is_loky()


def _is_loky() -> bool:
    from joblib.externals.loky import process_executor  # noqa: PLC0415

    return bool(getattr(process_executor, "_CURRENT_DEPTH", 0) > 0)
