"""The docs say what is true: their code runs, their pictures can be drawn, their lists are current.

add-a-criterion.md is followed to the letter: its code goes into a copy of the sources, which is built and used.
"""

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import weald

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RECIPE = DOCS / "add-a-criterion.md"
README = ROOT / "README.md"
PAGES = sorted(page for page in [README, *DOCS.rglob("*.md")] if "_build" not in page.parts and page != RECIPE)
FIGURES = sorted(path for path in (DOCS / "figures").glob("*.py") if path.stem != "drawing")


def blocks(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    names: dict[str, object] = {}
    for i, block in enumerate(blocks(page, "python")):
        where = f"{page.name}, block {i + 1}"
        if ">>>" not in block:
            exec(compile(block, where, "exec"), names)  # noqa: S102  (the docs' own code)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, where, str(page), 0)
        runner = doctest.DocTestRunner()
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.summarize(verbose=False).failed == 0


def test_the_example_of_the_readme_is_short_and_prints_what_it_says(capsys):
    (example,) = blocks(README, "python")
    (printed,) = blocks(README, "text")
    assert example.count("\n") <= 15
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102  (the docs' own code)
    assert capsys.readouterr().out == printed


# A process in which nothing can be imported that the tests have and a plain installation lacks.
PLAIN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
"""


@pytest.mark.parametrize("page", [README, DOCS / "start.md"], ids=lambda p: p.name)
def test_what_a_new_user_tries_first_needs_nothing_that_pip_did_not_install(page):
    subprocess.run([sys.executable, "-c", "\n".join([PLAIN, *blocks(page, "python")])], check=True, timeout=240)


def links(page: Path) -> list[str]:
    """Return the files that a page links to, without those of the web."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    return [link for link in found if "://" not in link]


@pytest.mark.parametrize("page", [*PAGES, RECIPE, *ROOT.glob("*.md")], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("script", FIGURES, ids=lambda p: p.stem)
def test_a_picture_can_be_drawn_again(script, monkeypatch):
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location(f"figure_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.draw().axes
    assert script.with_suffix(".svg").exists()


def test_the_reference_has_every_public_name():
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^\.\. auto(?:class|function|exception):: weald\.(?:\w+\.)*(\w+)", pages, re.MULTILINE))
    listed |= set(re.findall(r"\w+", " ".join(re.findall(r":members: (.*)", pages))))
    assert set(weald.__all__) - {"__version__"} - listed == set()


def test_every_page_is_in_the_tree_of_pages():
    index = (DOCS / "index.md").read_text()
    assert [page.stem for page in DOCS.glob("*.md") if not re.search(rf"^{page.stem}$", index, re.MULTILINE)] == [
        "index"
    ]


def test_the_readme_has_a_place_for_benchmarks():
    text = README.read_text()
    assert text.index("<!-- benchmarks -->") < text.index("<!-- /benchmarks -->")


# --------------------------------------------------------------------------------- add-a-criterion.md, to the letter

USE = """
import numpy as np
import weald
from pathlib import Path
from weald.engines import criteria

assert Path(weald.__file__).is_relative_to({copy!r}), weald.__file__
assert "{name}" in criteria.names("classification")

rng = np.random.default_rng(0)
for n_rows, n_classes in ((60, 2), (60, 4), (900, 2), (900, 3)):
    X = rng.normal(size=(n_rows, 4))
    X[:, 3] = np.round(X[:, 3])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0) * 1 + rng.integers(0, n_classes - 1, size=n_rows)
    trees = dict(criterion="{name}", n_estimators=3, random_state=1, class_weight="balanced")
    native, reference = (
        weald.RandomForestClassifier(**trees, engine=engine).fit(X, y) for engine in ("native", "reference")
    )
    assert native.forest_.fingerprint() == reference.forest_.fingerprint(), (n_rows, n_classes)
    assert native.forest_.n_nodes > 3 * n_rows / 10

tree = weald.DecisionTreeClassifier(criterion="{name}").fit(X, y)
t = tree.tree_
share = t.weighted_n_node_samples / t.weighted_n_node_samples[0]
split = t.children_left >= 0
lowered = share * t.impurity
lowered[split] -= lowered[t.children_left[split]] + lowered[t.children_right[split]]
assert (lowered[split] > -1e-12).all()
assert abs(t.impurity[~split] @ share[~split]) < 1e-12
"""


def insert_before(file: Path, mark: str, text: str) -> None:
    """Put text before the one line of a file that begins with a mark."""
    lines = file.read_text().splitlines(keepends=True)
    (at,) = [i for i, line in enumerate(lines) if line.startswith(mark)]
    file.write_text("".join([*lines[:at], text, *lines[at:]]))


def replace_line(file: Path, mark: str, text: str) -> None:
    """Replace the one line of a file that begins with a mark."""
    insert_before(file, mark, text)
    lines = file.read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith(mark)][-1]
    file.write_text("".join([*lines[:at], *lines[at + 1 :]]))


def follow_recipe(copy: Path) -> str:
    """Do what the page says to a copy of the sources; return the name of the new criterion."""
    struct, include, listed = blocks(RECIPE, "cpp")
    function, entry, use = blocks(RECIPE, "python")
    core, reference = copy / "core/score/criteria.h", copy / "src/weald/engines/reference/definition.py"
    if include not in core.read_text():
        insert_before(core, "#include <cstdint>", include)
    insert_before(core, "using ClassCriteria", struct + "\n")
    replace_line(core, "using ClassCriteria", listed)
    insert_before(reference, "Term = Callable", function + "\n\n")
    insert_before(reference, '    "squared_error": squared_error,', entry)
    (name,) = re.findall(r'criterion="(\w+)"', use)
    return name


def run(*command: object, **options: object) -> None:
    """Run a command, and show what it said when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy what a build needs."""
    folder = tmp_path_factory.mktemp("recipe")
    for name in ("core", "bindings", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("CMakeLists.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.mark.slow
def test_a_criterion_is_added_as_the_page_says(copy):
    name = follow_recipe(copy)
    build = copy / "build"
    options = ["-DWEALD_WERROR=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    tools = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    run("cmake", "-S", copy, "-B", build, "-G", "Ninja", *options, env=tools)
    run("cmake", "--build", build, "--target", "_core_baseline", env=tools)
    for module in build.glob("_core_baseline*.so"):
        shutil.copy(module, copy / "src" / "weald")
    # -S: without site, so that the installed weald is not found first; other packages are.
    path = os.pathsep.join([str(copy / "src"), sysconfig.get_path("purelib")])
    env = {**os.environ, "PYTHONPATH": path, "WEALD_SIMD": "baseline"}
    run(sys.executable, "-S", "-W", "error", "-c", USE.format(copy=str(copy), name=name), env=env, cwd=copy)
    use = blocks(RECIPE, "python")[-1]
    run(sys.executable, "-S", "-c", use, env=env, cwd=copy)
