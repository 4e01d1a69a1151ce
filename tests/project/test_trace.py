"""A reader can follow a call from top to bottom: few files, no calls back into a file that is waiting."""

import pytest

from tests.project.trace_calls import cases, dask_cases, frames_to_grow, trace, walk

# Maximum numbers of files between the call and the engine, of hops, and of call-backs.
LIMITS = {
    "fit": (10, 20, 0),
    "fit with out-of-bag score": (13, 26, 1),  # `votes.average` scales very large targets and repeats their sums
    "fit of a tree": (10, 20, 0),
    "predict": (3, 6, 0),
    "importance": (14, 32, 0),
}
ON_A_CLUSTER = (10, 20, 0)
# Functions around `engine.grow`, that of the user's call included.
FRAMES = {"fit": 6, "fit with out-of-bag score": 6, "fit of a tree": 7}


@pytest.mark.parametrize("name", LIMITS)
def test_a_call_passes_few_files_and_never_turns_back(name):
    files, hops, back = walk(trace(cases()[name]))
    most_files, most_hops, most_back = LIMITS[name]
    assert len(files) <= most_files, files
    assert len(hops) <= most_hops, hops
    assert len(back) <= most_back, back
    assert hops


@pytest.mark.parametrize("name", FRAMES)
def test_few_functions_stand_around_the_growth_of_trees(name):
    *around, grow = frames_to_grow(trace(cases()[name]))
    assert grow == "engines/native.py:NativeEngine.grow"
    assert 0 < len(around) <= FRAMES[name], around


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.filterwarnings("default")
def test_so_does_a_fit_on_a_cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        (work,) = dask_cases().values()
        files, hops, back = walk(trace(work))
    assert (len(files) <= ON_A_CLUSTER[0], len(hops) <= ON_A_CLUSTER[1], back) == (True, True, [])
