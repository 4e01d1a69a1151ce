"""The example service predicts as the model does, under load, refuses wrong requests, and stops without losing any."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald

pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

SCRIPT = Path(__file__).parents[2] / "examples" / "service.py"
SECONDS = 60  # that a server may take to start, on a loaded machine

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": np.where(RNG.random(300) < 0.1, np.nan, RNG.integers(18, 90, 300)),
        "city": RNG.choice(["Oslo", "Lima", "Kyoto"], 300),
        "member": RNG.random(300) < 0.5,
    }
)
BOUGHT = np.where(PEOPLE.age.fillna(40) + 20 * (PEOPLE.city == "Oslo") > 50, "yes", "no")
ROWS = json.loads(PEOPLE.to_json(orient="records"))


class Server:
    """A server in a process of its own."""

    def __init__(self, model, folder):
        self.model = model
        path = folder / "model.weald"
        model.save(path)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, SCRIPT, path, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._wait()

    def _wait(self):
        for _ in range(SECONDS * 20):
            assert self.process.poll() is None, self.process.stderr.read()
            with contextlib.suppress(OSError):
                if self.get("/health")[0] == 200:
                    return
            time.sleep(0.05)
        pytest.fail("the server does not start")

    def get(self, path, body=None, method=None):
        """Return the status and the answer to one request."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)) as connection:
            return ask(connection, path, body, method)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)


def ask(connection, path, body=None, method=None):
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    connection.request(method or ("GET" if body is None else "POST"), path, text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or "null")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    model = weald.RandomForestClassifier(30, random_state=0).fit(PEOPLE, BOUGHT)
    server = Server(model, tmp_path_factory.mktemp("service"))
    yield server
    server.process.kill()
    server.process.wait()
    server.process.stderr.close()


def test_the_health_check_names_the_model(server):
    status, answer = server.get("/health")
    assert (status, answer["status"], answer["estimator"]) == (200, "ok", "RandomForestClassifier")
    assert answer["features"] == ["age", "city", "member"]
    assert answer["fingerprint"] == server.model.forest_.fingerprint()


def test_predictions_under_load_are_those_of_the_model(server):
    """Eight clients ask for one row and for many at the same time; every answer is exact."""
    expected = server.model.predict_proba(PEOPLE)
    labels = server.model.predict(PEOPLE).tolist()

    def client(number):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)) as connection:
            for i in range(40):
                first = (37 * number + 11 * i) % 200
                n_rows = 100 if i % 10 == 0 else 1
                status, answer = ask(connection, "/predict", {"rows": ROWS[first : first + n_rows]})
                assert status == 200
                assert (np.array(answer["probabilities"]) == expected[first : first + n_rows]).all()
                assert answer["predictions"] == labels[first : first + n_rows]
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(client, range(8)))


def test_rows_may_be_arrays_and_have_unknown_categories(server):
    asked = [[54, "Oslo", True], [None, "Atlantis", None]]
    status, answer = server.get("/predict", {"rows": asked})
    frame = pd.DataFrame(asked, columns=PEOPLE.columns).astype({"age": float})
    with pytest.warns(UserWarning, match="Atlantis"):
        expected = server.model.predict_proba(frame)
    assert status == 200
    assert (np.array(answer["probabilities"]) == expected).all()


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("{", 422, "JSON decode error"),
        ("[]", 422, "valid dictionary"),
        ({}, 422, "Field required"),
        ({"rows": []}, 422, "at least 1 item"),
        ({"rows": [{"age": 1}]}, 422, "city"),
        ({"rows": [{"age": "old", "city": "Oslo", "member": True}]}, 422, "age"),
        ({"rows": [{"age": 1, "city": 7, "member": True}]}, 422, "The categories of column 'city'"),
        ({"rows": [[54, "Oslo"]]}, 422, "2"),
        ({"rows": [{"age": [1], "city": "Oslo", "member": True}]}, 422, "valid"),
        ({"rows": [[1, "Oslo", True]] * 10_001}, 422, "at most 10000 items"),
        ({"rows": [[1, "Oslo", True]], "model": "other"}, 422, "Extra inputs"),
    ],
)
def test_wrong_requests_are_refused_with_the_reason(server, body, status, words):
    found, answer = server.get("/predict", body)
    assert found == status
    assert words in json.dumps(answer, ensure_ascii=False)
    assert server.get("/health")[0] == 200


def test_wrong_paths_and_methods_are_refused(server):
    assert server.get("/fit")[0] == 404
    assert server.get("/predict", method="GET")[0] == 405


def test_a_server_that_is_told_to_stop_answers_the_requests_that_it_has(tmp_path):
    """SIGTERM arrives while large requests are being answered; all are answered in full."""
    model = weald.RandomForestRegressor(20, random_state=0).fit(PEOPLE, np.arange(300.0))
    server = Server(model, tmp_path)
    expected = model.predict(PEOPLE).tolist() * 20
    body = json.dumps({"rows": ROWS * 20})
    answers, sent = [], threading.Barrier(5)

    def client():
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)) as connection:
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            sent.wait()
            answer = connection.getresponse()
            answers.append((answer.status, json.loads(answer.read())))

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    sent.wait()
    time.sleep(0.3)  # the server reads the requests; it answers each in about as much time
    code = server.stop()
    for one in clients:
        one.join()
    assert code == 0, server.process.stderr.read()
    assert [status for status, _ in answers] == [200] * 4
    assert all(answer["predictions"] == expected for _, answer in answers)
    with pytest.raises(OSError, match="refused"):
        server.get("/health")
    server.process.stderr.close()


def test_without_a_model_the_server_does_not_start(tmp_path):
    (tmp_path / "model.weald").write_bytes(b"no model")
    command = [sys.executable, SCRIPT, tmp_path / "model.weald", "--port", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode != 0
    assert "FormatError" in done.stderr
