"""Effect of optimizations over time: builds old commits and compares them with the current version.

    python -m benchmarks.speed.history [--trees 4] [--repeats 2] [--jobs N] [--write]

It needs the repository with its history, git, and what a build needs (run it with .venv/bin/python). A step is found by
the beginning of its commit's message, and built for the best instruction set of this processor; builds are cached with
the data of the benchmarks. `--write` puts the table into docs/how-it-works/performance-log.md. To add a step, add
a line to STEPS.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
from typing import NamedTuple

from benchmarks import data, measure
from benchmarks.speed import simd

PAGE = measure.ROOT / "docs" / "how-it-works" / "performance-log.md"
TODAY = ""  # the installed version, which needs no build


class Step(NamedTuple):
    """A commit, by the beginning of its message, and what it changed, in a few words."""

    commit: str
    change: str


# Each step includes all changes since the one before it; building and measuring every commit would take an hour.
STEPS = (
    Step(
        "Grow and predict in C++: the same forests as the reference, bit for bit",
        "first version: bags as counts, histograms, coarse bins with bounds, small nodes sorted by std::sort",
    ),
    Step(
        "Transpose copied rows in registers; let comparisons become vector code; a criterion names its magnitude",
        "sorting networks, blocks for two caches, most splits rejected in single precision",
    ),
    Step(
        "Divide two rows by the first feature that tells them apart, without a search",
        "keys with class and count, vectorized prefix sums, one feature per vector lane, two rows without a search",
    ),
    Step(TODAY, "histogram subtraction, a second bound, histograms for many classes, binary columns counted as bits"),
)
# Title -> the data set, and parameters of the forest.
SHOWN = {
    "two classes": ("clusters", {}),
    "seven classes, mostly binary": ("cover", {}),
    "regression": ("friedman", {}),
    "regression, all features, depth 12": ("friedman", {"max_features": 1.0, "max_depth": 12}),
}


def git(*words):
    return subprocess.check_output(["git", "-C", str(measure.ROOT), *words], text=True).strip()  # noqa: S607


def find(step):
    """Return the commit of a step."""
    found = git("log", "--format=%H", "--fixed-strings", f"--grep={step.commit}", "HEAD").splitlines()
    if not found:
        raise SystemExit(f'No commit begins with "{step.commit}"')
    return found[-1]


def build(step, instructions):
    """Return the folder of a step's Python sources and compiled module; nothing for the current version."""
    if step.commit == TODAY:
        return None
    commit = find(step)
    folder = data.FOLDER.parent / "history" / commit[:12]
    source = folder / "src"
    module = f"_core_{instructions}"
    if list(source.glob(f"weald/{module}*.so")):
        return source
    measure.say(f"building {commit[:12]}")
    folder.mkdir(parents=True, exist_ok=True)
    git("archive", "--format=tar", f"--output={folder / 'sources.tar'}", commit)
    with tarfile.open(folder / "sources.tar") as sources:
        sources.extractall(folder, filter="data")
    tools = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    prepare = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    for command in ([*prepare, python], ["cmake", "--build", folder / "build", "--target", module]):
        subprocess.run(command, check=True, env=tools, stdout=subprocess.DEVNULL)
    if instructions != "baseline":  # every version calls this to find the instruction sets; another module has it, too
        (source / "weald" / "_core_baseline.py").write_text(f"from weald.{module} import cpu_supports\n")
    for built in (folder / "build").glob("_core_*.so"):
        built.rename(source / "weald" / built.name)
    return source


def run(title, n_rows, n_trees, n_jobs):
    """Return the seconds of a fit, and the location of the code."""
    import weald

    name, parameters = SHOWN[title]
    task = data.DATA_SETS[name].task
    X, y, _, _ = data.load(name, n_rows)
    forest = measure.make_forest("weald", task, n_estimators=n_trees, n_jobs=n_jobs, random_state=0, **parameters)
    return measure.time_fit("weald", forest, X, y), weald.__file__


def measure_all(sources, given):
    """Return the best seconds by title and number of the step."""
    best = {}
    for _ in range(given.repeats):
        for title in SHOWN:
            for number, source in enumerate(sources):
                seconds, where = measure.afresh(run, title, given.rows, given.trees, given.jobs, source=source)
                if source and not where.startswith(str(source)):
                    raise SystemExit(f"{where} was measured instead of {source}")
                measure.say(f"{title}, {source.parent.name if source else 'today'}: {seconds:.3f} s")
                best[title, number] = min(best.get((title, number), seconds), seconds)
    return best


def rows(steps, best):
    """A line for each step: seconds, and in brackets the relative change."""
    for number, step in enumerate(steps):
        cells = []
        for title in SHOWN:
            now = best[title, number]
            before = best[title, max(0, number - 1)]
            change = f" ({100 * (now / before - 1):+.0f} %)" if number else ""
            cells.append(measure.digits(now) + change.replace("-", "−"))
        yield [step.change, *cells]
    yield ["from first to last", *(f"**{best[title, 0] / best[title, len(steps) - 1]:.1f}×**" for title in SHOWN)]


TEXT = """\
{table}

Seconds to fit {trees} trees, {repeats}, {jobs} threads; in brackets, the change from the line above. Measured with
`benchmarks/speed/history.py` on {machine}."""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--steps", type=int, default=len(STEPS), help="only the last ones, this many")
    parser.add_argument("--list", action="store_true", help="show the commits of the steps, and measure nothing")
    parser.add_argument("--trees", type=int, default=4)
    parser.add_argument("--rows", type=int, help="maximum number of training rows")
    parser.set_defaults(repeats=2)
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    steps = STEPS[-given.steps :]
    if given.list:
        print("\n".join(f"{find(step)[:12] if step.commit else 'today'}  {step.change}" for step in steps))
        return
    for name, _ in SHOWN.values():
        data.load(name)  # created before the measurements begin
    sources = [build(step, simd.supported()[-1]) for step in steps]
    best = measure_all(sources, given)
    text = TEXT.format(
        table=measure.markdown(["step", *SHOWN], list(rows(steps, best))),
        trees=given.trees,
        repeats=measure.best_of(given).lower(),
        jobs=given.jobs,
        machine=measure.describe_machine("scikit-learn"),
    )
    measure.publish(given, "history", text)


if __name__ == "__main__":
    main()
