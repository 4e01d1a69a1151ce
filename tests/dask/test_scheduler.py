"""Tasks run in the order of submission, and tasks for the error run before more trees."""

import numpy as np
import pytest

import weald
from weald.dask.work_split import split_trees
from weald.engines import progress

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("dask")]
N_ROWS = 20_000


def start(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="2GiB"
    )


def fit(n_trees, **how):
    """Fit a forest on the cluster of the client in scope; return the progress messages."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6))
    y = (X[:, 0] + rng.normal(size=N_ROWS) > 0).astype(int)
    heard = []
    with progress.listening(heard.append):
        weald.RandomForestClassifier(n_trees, random_state=0, engine="dask", **how).fit(
            da.from_array(X, chunks=(7000, 6)), da.from_array(y, chunks=7000)
        )
    return heard


def test_one_worker_takes_large_tasks_first_and_small_ones_last():
    with start(1) as local, distributed.Client(local):
        done = [growing.n_done for growing in fit(60)]
    assert np.diff([0, *done]).tolist() == [len(trees) for trees in split_trees(range(60), N_ROWS, 4)]


def test_the_error_so_far_is_known_before_all_trees_have_grown():
    with start(2) as local, distributed.Client(local):
        heard = fit(160, oob_score=True)
    assert any(growing.error is not None for growing in heard if growing.n_done < 160)


def test_all_workers_have_as_much_to_do():
    """When the first trees are due, the codes are in one place: without a preference all trees would be grown there."""
    with start(2) as local, distributed.Client(local) as client:
        with distributed.get_task_stream(client) as noted:
            fit(64)
        growing = [task["worker"] for task in noted.data if distributed.utils.key_split(task["key"]) == "grow_trees"]
        n_tasks = [growing.count(name) for name in client.scheduler_info()["workers"]]
    assert sum(n_tasks) == len(split_trees(range(64), N_ROWS, 8))
    assert min(n_tasks) >= sum(n_tasks) // 4
