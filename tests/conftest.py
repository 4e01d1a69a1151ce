"""How generated tests run: always the same examples, so that a failure can be repeated and CI is never a lottery.

`HYPOTHESIS_PROFILE=search` looks for new ones, twenty times as many.
"""

import os

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
UNDER_SANITIZERS = "libasan" in os.environ.get("LD_PRELOAD", "")

os.environ.setdefault("MPLBACKEND", "agg")  # pictures are drawn without a screen

settings.register_profile("search", deadline=None, max_examples=500, suppress_health_check=SLOW_IS_FINE)
settings.register_profile(
    "same",
    deadline=None,
    max_examples=8 if UNDER_SANITIZERS else 40,
    derandomize=True,
    database=None,
    suppress_health_check=SLOW_IS_FINE,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
