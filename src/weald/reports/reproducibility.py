"""Reproducibility: parameters, times, versions, fingerprints, and how to fit the model again."""

import inspect
import platform
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version

from weald.engines.progress import words_of
from weald.estimators.base import TreeModel
from weald.estimators.fit import random_state_of
from weald.forest.describe.markup import Markup, join, tag
from weald.reports.section import Section, stack, subhead, table

VERSIONS = ("weald", "numpy", "scikit-learn")


def section(model: TreeModel, timings: Mapping[str, float], command: str | None) -> Section:
    """Show the information needed to fit the same forest again."""
    forest = model.forest_
    given, usual = model.get_params(deep=False), _usual(type(model))
    changed = {key: value for key, value in given.items() if repr(value) != repr(usual[key])}
    prints = [
        ["forest", forest.fingerprint()],
        *(["training data", f"{origin.data:016x}"] for origin in forest.origins[:1]),
        ["seed", str(model.seed_)],
        ["trees", f"{forest.n_trees:,}"],
        ["nodes", f"{forest.n_nodes:,}"],
    ]
    times = [
        [words, words_of(seconds) if seconds >= 1 else f"{1000 * seconds:.1f} ms"] for words, seconds in timings.items()
    ]
    parts = [
        subhead("Train it again"),
        tag(
            "p",
            "The same table, parameters and seed give the same forest, bit for bit, on any machine and with any number "
            "of threads. " + ("X and y are the training data." if command is None else "Run it in the same folder."),
        ),
        tag("pre", tag("code", join(*(command or code(model, changed)).splitlines(), between="\n")), tabindex=0),
        table(["item", "value"], prints, caption="Fingerprints"),
        table(["step", "time"], times, caption="Times on this machine", numeric=(1,)) if times else Markup(""),
        table(
            ["parameter", "value", ""],
            [[k, repr(v), "" if k not in changed else "changed"] for k, v in given.items()],
            caption="Parameters",
        ),
        table(["item", "version"], _versions(), caption="Date and versions of this report"),
    ]
    return Section(
        "making",
        "Reproduce",
        f"A {type(model).__name__} with {forest.n_trees:,} trees.",
        stack(*(part for part in parts if part)),
    )


def code(model: TreeModel, changed: Mapping[str, object]) -> str:
    """Return the lines of Python that fit the forest again."""
    given = {
        key: value for key, value in changed.items() if key not in ("random_state", "verbose", "n_jobs", "warm_start")
    }
    given["random_state"] = random_state_of(model)
    words = ", ".join(f"{key}={value!r}" for key, value in given.items())
    kind = type(model).__name__
    return (
        f"import weald\n\nmodel = weald.{kind}({words})\nmodel.fit(X, y)\n"
        f"assert model.forest_.fingerprint() == {model.forest_.fingerprint()!r}"
    )


def _usual(kind: type) -> dict[str, object]:
    return {key: parameter.default for key, parameter in inspect.signature(kind).parameters.items()}


def _versions() -> list[list[str]]:
    return (
        [["date", time.strftime("%Y-%m-%d %H:%M")]]
        + [[package, version(package)] for package in VERSIONS]
        + [
            ["Python", platform.python_version()],
            ["system", f"{sys.platform}, {platform.machine()}"],
        ]
    )
