"""Serve a forest over HTTP with FastAPI: rows in, predictions out; a health check; a graceful stop.

    pip install fastapi uvicorn
    weald train people.csv --target bought --out model.weald
    python examples/service.py model.weald --port 8000

    curl localhost:8000/health
    curl localhost:8000/predict -H 'Content-Type: application/json' -d '{"rows": [{"age": 54, "city": "Oslo"}]}'

A row is an object with a value for each column, or an array of values in the order of the columns; null is a missing
value. The answer has a prediction for each row, and of a classifier the probabilities in the order of `classes`.

On SIGTERM and Ctrl-C the server accepts no more connections, answers the requests that it has, and ends. For several
processes, start several servers, or let uvicorn start them:

    WEALD_MODEL=model.weald uvicorn service:from_environment --factory --workers 4
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

import weald

MOST_ROWS = 10_000  # of a request
MANY_ROWS = 50  # are predicted in another thread, so that other requests need not wait
STOP_SECONDS = 10  # that requests have to finish when the server stops

Cell = bool | int | float | str | None


class Rows(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid")
    rows: Annotated[list[dict[str, Cell] | list[Cell]], Field(min_length=1, max_length=MOST_ROWS)]


def create_app(path: str | Path) -> FastAPI:
    """Load a model once, compile it, and make a web application of it."""
    model = weald.load(path)
    predictor = model.compile()
    about = {
        "estimator": type(model).__name__,
        "features": [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))],
        "fingerprint": model.forest_.fingerprint(),
        "weald": weald.__version__,
    }
    classes: Any = getattr(model, "classes_", None)

    def answer(rows: list[dict[str, Cell] | list[Cell]]) -> dict[str, Any]:
        predicted = np.array([predictor(row) for row in rows])
        if classes is None:
            return {"predictions": predicted.tolist()}
        return {
            "predictions": classes[predicted.argmax(axis=1)].tolist(),
            "probabilities": predicted.tolist(),
            "classes": classes.tolist(),
        }

    app = FastAPI(title="A forest", version=weald.__version__)

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Say that the server is up, and which model it has."""
        return {"status": "ok", **about}

    @app.post("/predict")
    async def predict(body: Rows) -> dict[str, Any]:
        """Predict one row or many."""
        if len(body.rows) < MANY_ROWS:
            return answer(body.rows)
        return await run_in_threadpool(answer, body.rows)

    @app.exception_handler(weald.WealdError)
    async def refuse(_: Request, error: weald.WealdError) -> JSONResponse:
        """Answer what is wrong with the rows."""
        return JSONResponse({"detail": str(error)}, status_code=422)

    return app


def from_environment() -> FastAPI:
    """Make the application for uvicorn's own command line."""
    return create_app(os.environ["WEALD_MODEL"])


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve a forest over HTTP.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    # uvicorn passes the signal on when it has stopped: a stop that was asked for is a success.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    uvicorn.run(
        create_app(given.model),
        host=given.host,
        port=given.port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


if __name__ == "__main__":
    main()
