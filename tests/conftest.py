"""Settings of generated tests: the examples are always the same, so a failure can be reproduced.

`HYPOTHESIS_PROFILE=search` looks for new ones, twenty times as many.

A test or a test process that takes too long prints the stacks of all threads and ends.
"""

import faulthandler
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
UNDER_SANITIZERS = "libasan" in os.environ.get("LD_PRELOAD", "")

os.environ.setdefault("MPLBACKEND", "agg")  # pictures are drawn without a screen
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # tests send nothing anywhere

settings.register_profile("search", deadline=None, max_examples=500, suppress_health_check=SLOW_IS_FINE)
settings.register_profile(
    "same",
    deadline=None,
    max_examples=8 if UNDER_SANITIZERS else 40,
    derandomize=True,
    database=None,
    suppress_health_check=SLOW_IS_FINE,
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
settings.load_profile(PROFILE)

SLOW_LIMIT = 1800  # seconds for a test that is slow, or made slow
EXIT_LIMIT = 120  # time limit in seconds for a process to end after its last test: threads and children may hang


def pytest_collection_modifyitems(items):
    """Give slow tests more time."""
    for item in items:
        is_slow = item.get_closest_marker("slow") or UNDER_SANITIZERS or PROFILE == "search"
        if is_slow and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test has drawn: pyplot keeps figures, and warns of many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def pytest_unconfigure():
    faulthandler.dump_traceback_later(EXIT_LIMIT, exit=True, file=sys.__stderr__)
