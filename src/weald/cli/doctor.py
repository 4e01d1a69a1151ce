"""`weald doctor`: installed versions, processor features, and whether the engines agree."""

import os
import platform
import sys

from weald.cli import screen
from weald.cli.options import Json
from weald.cli.screen import Facts

PACKAGES = (
    "weald",
    "numpy",
    "scipy",
    "scikit-learn",
    "narwhals",
    "pyarrow",
    "typer",
    "rich",
    "matplotlib",
    "pandas",
    "polars",
    "onnx",
)


def doctor(json: Json = False) -> None:
    """Show what is installed and check that the engines agree.

    Versions, processor features, threads; a small forest is grown on each engine.
    """
    facts = examine()
    if json:
        screen.show_json(facts)
    else:
        for key, value in facts.items():
            words = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
            screen.say(f"{key:<18} {words}")
    if not facts["engines agree"]:
        from weald.cli.failures import BadFile

        raise BadFile("The engines do not agree: this installation is broken. Install weald again.")


def examine() -> Facts:
    """Collect the facts."""
    import joblib
    import numpy as np

    import weald
    from weald import _core
    from weald.engines.threads import count_threads

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    prints = {}
    for engine in ("native", "reference"):
        grown = weald.RandomForestClassifier(3, engine=engine, random_state=0).fit(X, y)
        prints[engine] = grown.forest_.fingerprint()[:16]
    return {
        "versions": {name: _version(name) for name in PACKAGES},
        "python": f"{platform.python_version()} at {sys.executable}",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "processor": ", ".join(_core.supported()) + f" supported, {_core.simd} in use",
        "threads": f"{count_threads(None)} of {os.cpu_count()} cores may be used (joblib counts {joblib.cpu_count()})",
        "engines": prints,
        "engines agree": len(set(prints.values())) == 1,
    }


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
