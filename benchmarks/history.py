"""What did each step of the work on speed bring? Builds old commits and measures them side by side.

    python benchmarks/history.py [--data NAMES] [--trees 10] [--repeats 3] [--jobs N] [--write]

It needs the repository with its history, git, and what a build needs (run it with .venv/bin/python). A step is found by
the beginning of its commit's message; builds are kept with the data of the benchmarks. `--write` puts the table into
docs/how-it-works/log.md. To add a step, add a line to STEPS.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
from typing import NamedTuple

import data
import measure
import simd

PAGE = measure.ROOT / "docs" / "how-it-works" / "log.md"
SHOWN = ("clusters", "cover", "collisions", "friedman")


class Step(NamedTuple):
    """A commit, by the beginning of its message, and what it changed, in a few words."""

    commit: str
    change: str


STEPS = (
    Step(
        "Grow and predict in C++: the same forests as the reference, bit for bit",
        "the start: bags as counts, histograms, coarse bins with bounds, small nodes sorted by std::sort",
    ),
    Step(
        "Sort small nodes in registers, copy middle ones into the cache, bound bins in vector code",
        "sorting networks, one block for the cache, bounds in vectors",
    ),
    Step(
        "Copy rows into two levels of cache, from codes kept row by row",
        "blocks for two caches, filled from codes that are kept row by row",
    ),
    Step(
        "Bind the exact logarithm by its type",  # the first that builds after bins were bounded in single precision
        "most cuts are dismissed in single precision",
    ),
    Step(
        "Transpose copied rows in registers; let comparisons become vector code; a criterion names its magnitude",
        "rows become columns in registers",
    ),
    Step(
        "Draw, sort and score in vectors, also where the compiler would not by itself",
        "draws and many-class scores in vectors, 256 keys in a network",
    ),
    Step(
        "Keep a few rows of very many from vanishing in single precision; take bins as they are needed",
        "bins are taken as they are needed",
    ),
    Step(
        "Search nodes of few rows and two classes from keys that hold all a cut needs",
        "two classes: keys with class and count; radix sort, fewer coarse bins",
    ),
    Step(
        "Search nodes of few rows with numbers many cuts at a time",
        "numbers: one division for a gain, running sums in vectors, the smallest nodes by features side by side",
    ),
    Step(
        "Search nodes of few rows and many classes from keys, too",
        "many classes: keys with class and count",
    ),
    Step(
        "Divide two rows by the first feature that tells them apart, without a search",
        "two rows are divided without a search",
    ),
)


def git(*words):
    return subprocess.check_output(["git", "-C", str(measure.ROOT), *words], text=True).strip()  # noqa: S607


def find(step):
    """Return the commit of a step."""
    found = git("log", "--format=%H", "--fixed-strings", f"--grep={step.commit}", "HEAD").splitlines()
    if not found:
        raise SystemExit(f'No commit begins with "{step.commit}"')
    return found[-1]


def build(commit, sets):
    """Return the folder of a commit's Python sources, with its compiled modules beside them."""
    folder = data.FOLDER.parent / "history" / commit[:12]
    source = folder / "src"
    if all(list(source.glob(f"weald/_core_{name}*.so")) for name in sets):
        return source
    measure.say(f"building {commit[:12]}")
    folder.mkdir(parents=True, exist_ok=True)
    git("archive", "--format=tar", f"--output={folder / 'sources.tar'}", commit)
    with tarfile.open(folder / "sources.tar") as sources:
        sources.extractall(folder, filter="data")
    tools = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    prepare = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    modules = [f"_core_{name}" for name in sets]
    for command in ([*prepare, python], ["cmake", "--build", folder / "build", "--target", *modules]):
        subprocess.run(command, check=True, env=tools, stdout=subprocess.DEVNULL)
    for module in (folder / "build").glob("_core_*.so"):
        module.rename(source / "weald" / module.name)
    return source


def run(name, n_rows, n_trees, n_jobs):
    """Seconds of a fit, and where the code was."""
    import weald

    task = data.DATA_SETS[name].task
    X, y, _, _ = data.load(name, n_rows)
    forest = measure.make_forest("weald", task, n_estimators=n_trees, n_jobs=n_jobs, random_state=0)
    return measure.time_fit("weald", forest, X, y), weald.__file__


def measure_all(sources, names, given):
    """Return the best seconds by data set and source."""
    best = {}
    for _ in range(given.repeats):
        for name in names:
            for source in sources:
                seconds, where = measure.afresh(run, name, given.rows, given.trees, given.jobs, source=source)
                if not where.startswith(str(source)):
                    raise SystemExit(f"{where} was measured instead of {source}")
                measure.say(f"{name}, {source.parent.name}: {seconds:.3f} s")
                best[name, source] = min(best.get((name, source), seconds), seconds)
    return best


def rows(steps, sources, names, best):
    """A line for each step: seconds, and in brackets the share of the time that it saved."""
    for number, (step, source) in enumerate(zip(steps, sources, strict=True)):
        cells = []
        for name in names:
            now = best[name, source]
            before = best[name, sources[max(0, number - 1)]]
            change = f" ({100 * (now / before - 1):+.0f} %)" if number else ""
            cells.append(measure.digits(now) + change.replace("-", "−"))
        yield [step.change, *cells]
    total = [f"**{best[name, sources[0]] / best[name, sources[-1]]:.1f}×**" for name in names]
    yield ["from first to last", *total]


TEXT = """\
{table}

Seconds to fit {trees} trees, {repeats}, {jobs} threads; in brackets, the change against the line above. Measured with
`benchmarks/history.py` on {machine}."""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--data", default=",".join(SHOWN), help="names with commas")
    parser.add_argument("--steps", type=int, default=len(STEPS), help="only so many, the last ones")
    parser.add_argument("--list", action="store_true", help="show the commits of the steps, and measure nothing")
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--rows", type=int, help="use no more for training")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    steps = STEPS[-given.steps :]
    if given.list:
        print("\n".join(f"{find(step)[:12]}  {step.change}" for step in steps))
        return
    names = given.data.split(",")
    for name in names:
        data.load(name)  # made here, not while somebody is measured
    sets = sorted({"baseline", simd.supported()[-1]})
    sources = [build(find(step), sets) for step in steps]
    best = measure_all(sources, names, given)
    text = TEXT.format(
        table=measure.markdown(
            ["step", *(data.DATA_SETS[name].title for name in names)], list(rows(steps, sources, names, best))
        ),
        trees=given.trees,
        repeats=measure.best_of(given).lower(),
        jobs=given.jobs,
        machine=measure.describe_machine("scikit-learn"),
    )
    measure.publish(given, "history", text)


if __name__ == "__main__":
    main()
