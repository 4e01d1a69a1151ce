"""Shared functions of the examples: saving figures.

    python examples/xor.py      ->  docs/gallery/xor.svg

Each script has a function `draw` that returns one figure; `quick=True` uses less data, for tests.
"""

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy.typing as npt
from matplotlib.figure import Figure

Array = npt.NDArray[Any]

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"

mpl.rcParams["font.size"] = 9
mpl.rcParams["axes.titlesize"] = 10
mpl.rcParams["svg.hashsalt"] = "weald"  # the same picture, the same bytes


def save(figure: Figure, script: str) -> None:
    """Write a figure into the docs, under the name of its script."""
    file = FOLDER / Path(script).with_suffix(".svg").name
    figure.savefig(file, metadata={"Date": None}, dpi=120, facecolor="white")
    print(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def where() -> str:
    """Return where and when a time was measured."""
    names = ("weald", "scikit-learn", "numpy")
    return f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, " + ", ".join(
        f"{name} {version(name)}" for name in names
    )
