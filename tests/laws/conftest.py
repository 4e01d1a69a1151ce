"""Which laws are slow: `make test` tries one criterion of classes and one of numbers, `make test-all` each.

Under the sanitizers every criterion is tried.
"""

import pytest

from tests.conftest import UNDER_SANITIZERS

QUICK = {"gini", "squared_error"}
LONG = {"test_large_nodes.py"}  # its tables have thousands of rows
OWN = {"test_counts.py", "test_medians.py", "test_impurity.py"}  # tests written for one criterion


def pytest_collection_modifyitems(items):
    """Mark laws of the other criteria as slow."""
    for item in items:
        given = getattr(item, "callspec", None)
        criterion = given.params.get("criterion") if given else None
        in_laws = "laws" in item.path.parts and item.path.name not in OWN
        is_quick = not isinstance(criterion, str) or (criterion in QUICK and item.path.name not in LONG)
        if not UNDER_SANITIZERS and in_laws and not is_quick:
            item.add_marker(pytest.mark.slow)
