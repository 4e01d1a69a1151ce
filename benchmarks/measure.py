"""What the benchmarks share: who is measured, how, and how it is shown.

LIBRARIES, make_forest    the forests that are compared, behind one call
find_libraries            where they are installed: here, or in other environments
afresh                    run a function in a Python process of its own
time_fit, MemoryWatch     seconds of a fit, and the memory it takes on top of what is there
error_of                  share of wrong classes, or root of the mean squared error
describe_machine          one line for the caption: date, processor, versions
markdown, publish         a table, and where it goes
"""

import argparse
import contextlib
import datetime as dt
import importlib
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import joblib
import numpy as np

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
CORES = joblib.cpu_count()  # those that this process may use

# How a library is called -> the package, the module with its forests, and what it is told beyond the others.
LIBRARIES = {
    "scikit-learn": ("scikit-learn", "sklearn.ensemble", {}),
    "scikit-learn-intelex": ("scikit-learn-intelex", "sklearnex.ensemble", {}),
    "LightGBM": ("lightgbm", "boosters", {"booster": "lightgbm"}),
    "XGBoost": ("xgboost-cpu", "boosters", {"booster": "xgboost"}),
    "weald": ("weald", "weald", {}),
    "weald max_bins=255": ("weald", "weald", {"max_bins": 255}),
}


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed(*, boosters=False):
    """Names of the libraries that are here; boosters can grow forests, but take minutes where trees are deep."""
    return [
        name
        for name, (package, module, _) in LIBRARIES.items()
        if version_of(package) and (boosters or module != "boosters")
    ]


def versions_of(packages):
    """Name -> version of those that are installed here."""
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
    _, module, more = LIBRARIES[library]
    name = "RandomForestClassifier" if task == "classes" else "RandomForestRegressor"
    return getattr(importlib.import_module(module), name)(**parameters, **more)


def check_that_it_was_its_own(library, forest):
    """scikit-learn-intelex hands what it cannot do to scikit-learn, without a word; that would be measured twice."""
    if library == "scikit-learn-intelex" and not hasattr(forest, "_onedal_estimator"):
        raise RuntimeError("scikit-learn-intelex left this fit to scikit-learn")


# ------------------------------------------------------------------------------------------------------------ measure


def afresh(function, *arguments, source=None, python=None):
    """Call a function of a benchmark in a new Python process: nobody inherits warm caches, threads or freed memory.

    Arguments and result travel as JSON, so tuples arrive as lists. `source` is a folder with another weald, which is
    used instead of the installed one; `python` is the interpreter of another environment.
    """
    script = Path(function.__code__.co_filename).stem
    call = json.dumps([script, function.__name__, arguments])
    command, env = [python or sys.executable, __file__, call], dict(os.environ)
    if source:
        # Without site an editable installation is not found; all else is, by its folder.
        command.insert(1, "-S")
        env["PYTHONPATH"] = os.pathsep.join([str(source), sysconfig.get_path("purelib")])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def answer(call):
    """What the new process does: this file is its script, and so benchmarks are found beside it."""
    script, name, arguments = json.loads(call)
    print(json.dumps(getattr(importlib.import_module(script), name)(*arguments)))


def clock(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def clock_often(work, seconds=2.0):
    """Median time of work that may be too short to be timed once; what takes longer than that is timed once."""
    times = [clock(work)]
    while sum(times) < seconds and len(times) < 50:
        times.append(clock(work))
    return statistics.median(times)


class MemoryWatch:
    """Tells the most megabytes that were held inside, beyond what was held before."""

    def __enter__(self):
        self.before = self.read("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        return self

    def __exit__(self, *_):
        self.megabytes = self.read("VmHWM") - self.before

    @staticmethod
    def read(key):
        """Read one of the process's figures, in megabytes."""
        return int(re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def time_fit(library, forest, X, y, watch=None):
    """Seconds of a fit, after a small one: the first of a process sets things up. Memory is watched once."""
    forest.fit(X[:100], y[:100])
    with watch or contextlib.nullcontext():
        seconds = clock(lambda: forest.fit(X, y))
    check_that_it_was_its_own(library, forest)
    return seconds if seconds >= 1 else clock_often(lambda: forest.fit(X, y))


def error_of(task, y, predicted):
    if task == "classes":
        return float(np.mean(y != predicted))
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


# --------------------------------------------------------------------------------------------------------------- show


def describe_machine(*packages):
    """Today, the processor and the versions."""
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
    """How often things were measured, for the caption."""
    return f"Best of {given.repeats}" if given.repeats > 1 else "Measured once"


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def digits(number, n=3):
    """A number with some significant digits, never as a power of ten."""
    whole = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    if whole == 0 and number:
        whole = 1 + int(np.floor(np.log10(abs(number))))
    return f"{number:,.{max(0, n - whole)}f}"


def write_block(path, name, text):
    """Replace what stands between `<!-- name -->` and `<!-- /name -->` in a file."""
    old = path.read_text()
    new, n = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m: m[1] + text + "\n" + m[2], old, flags=re.DOTALL
    )
    if n != 1:
        raise SystemExit(f"{path} has {n} places between <!-- {name} --> and <!-- /{name} -->, not one")
    path.write_text(new)


def options(docstring, page=PAGE):
    """A parser with what every benchmark knows."""
    parser = argparse.ArgumentParser(description=docstring.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="little data, few trees: to see that it runs")
    parser.add_argument("--repeats", type=int, default=3, help="the best counts")
    parser.add_argument("--jobs", type=int, default=CORES, help="threads, by default as many as there are cores")
    parser.add_argument("--write", nargs="?", const=page, type=Path, help=f"write into {page.name}, or another file")
    return parser


def publish(given, name, text):
    """Print a text, and if that is wanted put it between the marks of a page."""
    print(text)
    if given.write:
        write_block(given.write, name, text)


def say(*words):
    """Tell those who wait what was measured."""
    print(*words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    answer(sys.argv[1])
