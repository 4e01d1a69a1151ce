"""Shared functions of the benchmarks: libraries, measurements, tables.

LIBRARIES, make_forest    the forests that are compared, with one interface
find_libraries            where they are installed: in this environment or in others
afresh                    run a function in a new Python process
time_fit, MemoryWatch     seconds of a fit, and its peak memory above that before
error_of                  error rate, or root mean squared error
describe_machine          one line for the caption: date, processor, versions
markdown, publish         a table, and the page it is written to
"""

import argparse
import contextlib
import datetime as dt
import functools
import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import joblib
import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "speed.md"
CORES = joblib.cpu_count()  # the processors available to this process

# Name of a library -> the package, the module with its forests, and additional parameters.
LIBRARIES = {
    "scikit-learn": ("scikit-learn", "sklearn.ensemble", {}),
    "scikit-learn-intelex": ("scikit-learn-intelex", "sklearnex.ensemble", {}),
    "LightGBM": ("lightgbm", "benchmarks.boosters", {"booster": "lightgbm"}),
    "XGBoost": ("xgboost-cpu", "benchmarks.boosters", {"booster": "xgboost"}),
    "weald": ("weald", "weald", {}),
    "weald max_bins=255": ("weald", "weald", {"max_bins": 255}),
}
# Libraries that only table.py and settings.py measure, where they are installed.
OPTIONAL = {
    "YDF": ("ydf", "benchmarks.peer_forests", {"peer": "ydf"}),
    "ranger": ("ranger", "benchmarks.peer_forests", {"peer": "ranger"}),
    "cuML": ("cuml", "benchmarks.peer_forests", {"peer": "cuml"}),
}
EVERY = {name: of for name, of in LIBRARIES.items() if of[0] != "weald"} | OPTIONAL
EVERY |= LIBRARIES
OUTSIDE = ("ranger", "cuML")  # their memory is in another process or on the GPU


def version_of(package):
    """The version of an installed package; cuML's name has that of CUDA at its end, ranger is a package of R."""
    if package == "ranger":
        return version_of_ranger()
    for name in (package, *(f"cuml-cu{cuda}" for cuda in (13, 12) if package == "cuml")):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


@functools.cache
def version_of_ranger():
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    command = [rscript, "-e", 'cat(as.character(packageVersion("ranger")))']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def installed(*, boosters=False, optional=False):
    """Names of the installed libraries; boosting libraries can grow forests, but take minutes for deep trees."""
    return [
        name
        for name, (package, module, _) in EVERY.items()
        if version_of(package) and (boosters or module != "benchmarks.boosters") and (optional or name not in OPTIONAL)
    ]


def versions_of(packages):
    """Name -> version of the libraries installed in this environment."""
    return {name: version_of(package) for name, package in packages.items() if version_of(package)}


def find_libraries(packages, pythons):
    """Name -> interpreter (None: this one) and version, of libraries here and in other environments."""
    found = {}
    for python in (None, *pythons):
        for name, version in afresh(versions_of, packages, python=python).items():
            found.setdefault(name, (python, version))
    return {name: found[name] for name in packages if name in found}


def name_versions(found):
    """One line for the caption."""
    return ", ".join(f"{name} {version}" for name, (_, version) in found.items())


def make_forest(library, task, **parameters):
    """An unfitted forest of a library for "classes" or "values"."""
    _, module, more = EVERY[library]
    name = "RandomForestClassifier" if task == "classes" else "RandomForestRegressor"
    return getattr(importlib.import_module(module), name)(**parameters, **more)


def check_that_it_was_its_own(library, forest):
    """scikit-learn-intelex silently uses scikit-learn for unsupported parameters, which would be measured twice."""
    if library == "scikit-learn-intelex" and not hasattr(forest, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex left this fit to scikit-learn")


# ------------------------------------------------------------------------------------------------------------ measure


def afresh(function, *arguments, source=None, python=None, limit=None):
    """Call a function of a benchmark in a new Python process, without warm caches, threads or freed memory.

    Arguments and results are sent as JSON, so tuples arrive as lists. `source` is a folder with another version of
    weald, which is used instead of the installed one; `python` is the interpreter of another environment. A process
    that takes more than `limit` seconds is ended, and subprocess.TimeoutExpired raised.
    """
    script = Path(function.__code__.co_filename).relative_to(ROOT).with_suffix("")
    call = json.dumps([".".join(script.parts), function.__name__, arguments])
    command = [python or sys.executable, "-m", "benchmarks.measure", call]
    env, folders = dict(os.environ), [str(ROOT)]
    if source:
        # Without `site`, an editable installation is not found; other packages are found in the folders of sys.path.
        command.insert(1, "-S")
        folders = [str(ROOT), str(source), sysconfig.get_path("purelib")]
    env["PYTHONPATH"] = os.pathsep.join(folders)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=limit)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def answer(call):
    """Run the function in the new process, whose script is this file."""
    script, name, arguments = json.loads(call)
    print(json.dumps(getattr(importlib.import_module(script), name)(*arguments)))


def clock(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def clock_often(work, seconds=2.0):
    """Median time of repeated work; work that takes long is timed once."""
    times = [clock(work)]
    while sum(times) < seconds and len(times) < 50:
        times.append(clock(work))
    return statistics.median(times)


class MemoryWatch:
    """Measures the peak megabytes inside a block, above those in use before."""

    def __enter__(self):
        self.before = self.read("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        return self

    def __exit__(self, *_):
        self.megabytes = self.read("VmHWM") - self.before

    @staticmethod
    def read(key):
        """Read a field of the process status, in megabytes."""
        return int(re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def time_fit(library, forest, X, y, watch=None):
    """Seconds of a fit, after a small one that does the setup. Memory is measured once."""
    forest.fit(X[:100], y[:100])
    with watch or contextlib.nullcontext():
        seconds = clock(lambda: forest.fit(X, y))
    check_that_it_was_its_own(library, forest)
    if hasattr(forest, "fit_seconds_"):  # without the transfer to another program
        return forest.fit_seconds_
    return seconds if seconds >= 1 else clock_often(lambda: forest.fit(X, y))


def error_of(task, y, predicted):
    if task == "classes":
        return float(np.mean(y != predicted))
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


# --------------------------------------------------------------------------------------------------------------- show


def describe_machine(*packages):
    """Return the date, the processor and the versions."""
    found = {package: version_of(package) for package in dict.fromkeys(packages)}
    versions = ", ".join(f"{package} {version}" for package, version in found.items() if version)
    return f"{dt.date.today().isoformat()}, {processor()}, Python {platform.python_version()}, {versions}"  # noqa: DTZ011  (the day here)


def processor():
    with contextlib.suppress(OSError):
        named = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
        if named:
            return named[1]
    return platform.machine()


def best_of(given):
    """The number of repeats, for the caption."""
    return f"Best of {given.repeats}" if given.repeats > 1 else "Measured once"


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def digits(number, n=3):
    """Format a number with n significant digits, without an exponent."""
    whole = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    if whole == 0 and number:
        whole = 1 + int(np.floor(np.log10(abs(number))))
    return f"{number:,.{max(0, n - whole)}f}"


def write_block(path, name, text):
    """Replace the text between `<!-- name -->` and `<!-- /name -->` in a file."""
    old = path.read_text()
    new, n = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m: m[1] + text + "\n" + m[2], old, flags=re.DOTALL
    )
    if n != 1:
        raise SystemExit(f"{path} has {n} places between <!-- {name} --> and <!-- /{name} -->, not one")
    path.write_text(new)


def options(docstring, page=PAGE):
    """A parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, few trees: a test run")
    parser.add_argument("--repeats", type=int, default=3, help="the best counts")
    parser.add_argument("--jobs", type=int, default=CORES, help="threads, by default as many as there are cores")
    parser.add_argument("--write", nargs="?", const=page, type=Path, help=f"write into {page.name}, or another file")
    return parser


def publish(given, name, text):
    """Print a text, and with `--write` put it between the marks of a page."""
    print(text)
    if given.write:
        write_block(given.write, name, text)


def say(*words):
    """Print progress to stderr."""
    print(*words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    answer(sys.argv[1])
