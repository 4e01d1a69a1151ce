"""Errors for models that cannot be exported name an alternative, and it works."""

import re

import numpy as np
import pytest

import weald
from tests.io.export.models import make_table

WAYS = ("to_c", "to_onnx", "to_treelite", "to_shap")


@pytest.fixture(scope="module")
def table():
    X, _ = make_table(n_rows=120, missing=0)
    return X, np.column_stack([X[:, 0] > 0, X[:, 1] > X[:, 2]]).astype(int)


@pytest.mark.parametrize("way", WAYS)
def test_several_targets_leave_one_after_the_other(way, table):
    X, Y = table
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, Y)
    asked = re.escape(f"this one has 2. Export the targets one by one: model.of_target(0).{way}(...).")
    with pytest.raises(weald.ExportError, match=asked):
        getattr(model, way)()
    for target in range(2):
        assert getattr(model.of_target(target), way)(X=X).parity.largest_difference < 1e-15


@pytest.mark.parametrize("way", WAYS)
def test_kernel_forests_leave_as_plain_ones(way, table):
    X, Y = table
    model = weald.KernelForestClassifier(5, random_state=0).fit(X[:, :3], Y[:, 0])
    asked = re.escape(
        f"Use model.prototypes_.plain_forest().{way}(...), with the rows of model.prototypes_.kernel_matrix(X)."
    )
    with pytest.raises(weald.ExportError, match=asked):
        getattr(model, way)()
    plain, rows = model.prototypes_.plain_forest(), model.prototypes_.kernel_matrix(X[:, :3])
    assert np.array_equal(plain.predict_proba(rows), model.predict_proba(X[:, :3]))
    assert getattr(plain, way)(X=rows).parity.largest_difference < 1e-15
