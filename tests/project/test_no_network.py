"""Nothing reaches the network: all work runs with sockets switched off, and in a namespace without a network."""

import shutil
import subprocess
import sys

import pytest

# Connecting, sending, and asking for the address of a name are errors. Packages may make sockets and bind them to this
# machine when they are imported, to see what the system has; that reaches nobody.
REFUSE = """
import sys

NAMES = ("socket.", "urllib.", "http.", "ftplib.", "smtplib.")

def refuse(event, arguments):
    if event.startswith(NAMES) and event not in ("socket.__new__", "socket.bind"):
        raise SystemExit(f"the network is used: {event} {arguments}")

sys.addaudithook(refuse)
"""

WORK = """
import importlib, pathlib, pkgutil, sys, tempfile

import numpy as np
import pandas as pd
import weald
from weald.cli.main import main

folder = pathlib.Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y", None], 200)})
y = np.where(X.a + (X.b == "x") > 0, "yes", "no")
forest = weald.RandomForestClassifier(10, random_state=0, oob_score=True, keep_errors=True).fit(X, y)
forest.predict_proba(X)
forest.save(folder / "model.weald")
assert weald.load(folder / "model.weald").forest_.fingerprint() == forest.forest_.fingerprint()
weald.explain(forest, X[:5])
weald.importance(forest, X=X, y=y)
forest.report(X, y)
forest.to_js(check=False)
forest.to_sql("sqlite", table="t", check=False)
weald.RandomForestRegressor(5, random_state=0).fit(X, X.a.to_numpy()).predict(X)
X.assign(y=y).to_csv(folder / "t.csv", index=False)
for module in pkgutil.walk_packages(weald.__path__, "weald."):
    if not module.name.startswith(("weald.mlflow", "weald.dask", "weald.__main__")):
        importlib.import_module(module.name)
print("done", flush=True)  # the command line ends the process
sys.argv = ["weald", "train", str(folder / "t.csv"), "--target", "y", "--out", str(folder / "again.weald")]
main()
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done\n")
    assert "again.weald" in done.stdout


def test_the_hook_sees_a_connection():
    code = REFUSE + "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert "the network is used: socket." in done.stderr


@pytest.mark.slow
def test_all_work_is_done_without_sockets():
    run(sys.executable, "-c", REFUSE + WORK)


@pytest.mark.slow
def test_all_work_is_done_without_a_network():
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "--net", "true"], capture_output=True, check=False).returncode:
        pytest.skip("network namespaces need unshare and the rights to use it")
    run(unshare, "--net", sys.executable, "-c", WORK)
