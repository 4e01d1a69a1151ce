"""What estimators do on a Dask cluster. `weald.dask` is a layer above and is imported only when it is used."""

from typing import Any


def fit(model: Any, before: Any, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
    """Fit a forest on the cluster of the client in scope."""
    from weald.dask.fit import learn

    learn(model, before, X, y, sample_weight, **by_row)


def predict(model: Any, method: str, X: Any, **how: Any) -> Any:
    """Predict a Dask collection, partition by partition."""
    from weald.dask.prediction import predict

    return predict(model, method, X, **how)
