"""How many requests does the example service answer, and how soon? `examples/service.py` on loopback, under load.

    python -m benchmarks.speed.service [--seconds 5] [--trees 100] [--write]

The server and the clients are processes of their own. Each client sends the next request when the last is answered.
Beside it: the same service with scikit-learn's forest, grown on the same rows, and with no model at all, which is what
HTTP, JSON and FastAPI cost.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import signal
import socket
import sys
import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import weald
from benchmarks import data, measure

DATA = "clusters"
MODELS = ("weald", "scikit-learn", "no model")
FORK = multiprocessing.get_context("fork")
ONE_ROW = ((1, 1), (1, 16))  # rows of a request, clients
SHAPES = (*ONE_ROW, (100, 4))  # the service predicts row by row, for which scikit-learn is not made


class Peer:
    """A model with the interface that the service uses, and scikit-learn's predictions, or none."""

    def __init__(self, model, predict):
        self.classes_, self.n_features_in_ = model.classes_, model.n_features_in_
        self.forest_, self._predict = model.forest_, predict

    def compile(self):
        """Return the predictor of a row."""
        return self._predict


def predictors(X, y, n_trees):
    """Yield the name of each model and the model."""
    ours = weald.RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    theirs = RandomForestClassifier(n_trees, random_state=0, n_jobs=-1).fit(X, y).set_params(n_jobs=1)
    nothing = np.full(len(ours.classes_), 1 / len(ours.classes_))
    predictors = ours, Peer(ours, lambda row: theirs.predict_proba([row])[0]), Peer(ours, lambda _: nothing)
    yield from zip(MODELS, predictors, strict=True)


def serve(model, port):
    """Run the service of the examples with a model that is not in a file."""
    import uvicorn

    sys.path.insert(0, str(measure.ROOT / "examples"))
    import service

    service.weald.load = lambda _: model
    uvicorn.run(service.create_app("-"), port=port, log_level="warning", access_log=False)


def ask(port, bodies, seconds, answer):
    """Send one request after the other, and report how long each took."""
    taken, until, i = [], time.perf_counter() + seconds, 0
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        while time.perf_counter() < until:
            began = time.perf_counter()
            connection.request("POST", "/predict", bodies[i % len(bodies)], {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            taken.append(time.perf_counter() - began)
            i += 1
            if response.status != 200:
                raise RuntimeError(f"the service answered {response.status}")
    answer.put(taken)


def load_of(port, rows, n_rows, n_clients, seconds):
    """Requests per second, and the median and the 99th percentile of their seconds."""
    bodies = [json.dumps({"rows": rows[i : i + n_rows].tolist()}) for i in range(0, 20 * n_rows, n_rows)]
    answer = FORK.Queue()
    clients = [FORK.Process(target=ask, args=(port, bodies, seconds, answer)) for _ in range(n_clients)]
    for one in clients:
        one.start()
    taken = np.concatenate([answer.get() for _ in clients])
    for one in clients:
        one.join()
    return len(taken) / seconds, *np.quantile(taken, (0.5, 0.99))


@contextlib.contextmanager
def running(model):
    """Start a server, yield its port, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = FORK.Process(target=serve, args=(model, port))
    process.start()
    for _ in range(1200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.05)
    try:
        yield port
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.join()


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "deployment" / "production.md")
    parser.add_argument("--rows", type=int, default=20_000, help="rows to grow the forests from")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each measurement")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.trees, given.seconds = 200, 3, 0.2
    X, y, X_test, _ = data.load(DATA, given.rows)
    found, load = {}, os.getloadavg()[0]
    for name, model in predictors(X, y, given.trees):
        with running(model) as port:
            for shape in SHAPES if name != "scikit-learn" else ONE_ROW:
                found[shape, name] = load_of(port, X_test, *shape, given.seconds)
                measure.say(name, *shape, *found[shape, name])
    head = ["rows of a request", "clients", "model", "requests per second", "median, ms", "99th percentile, ms"]
    rows = [
        [*shape, name, f"{found[shape, name][0]:,.0f}", *(f"{1000 * t:.2f}" for t in found[shape, name][1:])]
        for shape in SHAPES
        for name in MODELS
        if (shape, name) in found
    ]
    text = (
        f"{measure.markdown(head, rows)}\n\nA forest of {given.trees} trees from {given.rows:,} × {X.shape[1]} values, "
        f"one server process, clients on the same machine with {measure.CORES} cores and a load "
        f"of {load:.1f} by other programs. Measured with "
        f"`benchmarks/speed/service.py` on "
        f"{measure.describe_machine('weald', 'scikit-learn', 'fastapi', 'uvicorn')}."
    )
    measure.publish(given, "service", text)


if __name__ == "__main__":
    main()
