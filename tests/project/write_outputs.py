"""Update the output of the examples in docs and docstrings: `python -m tests.project.write_outputs`.

Do it when the contract changes, and read the diff: an output may also be wrong.
"""

import doctest
import importlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

from tests.project.test_docs import PAGES, README
from tests.project.test_doctests import MODULES, PACKAGE

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
Change = tuple[int, list[str], list[str]]  # (line of the file, current text, printed text)


class Recorder(doctest.DocTestRunner):
    """Runs examples, and records where the output differs."""

    def __init__(self, flags: int, first_line: int, indent: str) -> None:
        super().__init__(optionflags=flags)
        self.first_line, self.indent = first_line, indent
        self.changes: list[Change] = []

    def report_failure(
        self, out: Callable[[str], object], test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        """Record an output that differs."""
        line = self.first_line + example.lineno + example.source.count("\n")
        new = [(self.indent + text).rstrip() for text in got.splitlines()]
        self.changes.append((line, example.want.splitlines(), new))


def rewrite(path: Path, changes: list[Change]) -> None:
    """Replace lines of a file, from its end."""
    lines = path.read_text().splitlines()
    for line, old, new in sorted(changes, reverse=True):
        if [text.strip() for text in lines[line : line + len(old)]] != [text.strip() for text in old]:
            message = f"{path}:{line + 1}: the output of an example is not where it was looked for."
            raise RuntimeError(message)
        lines[line : line + len(old)] = new
    path.write_text("\n".join(lines) + "\n")


def changes_of_page(path: Path) -> Iterator[Change]:
    """Run the Python blocks of a page from top to bottom."""
    text = path.read_text()
    names: dict[str, object] = {}
    for block in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        source, line = block[1], text.count("\n", 0, block.start(1))
        if ">>>" not in source:
            with redirect_stdout(io.StringIO()):
                exec(compile(source, path.name, "exec"), names)  # noqa: S102  (the docs' own code)
            continue
        test = doctest.DocTestParser().get_doctest(source, names, path.name, str(path), 0)
        runner = Recorder(0, line, "")
        runner.run(test, clear_globs=False, out=io.StringIO().write)
        names = test.globs
        yield from runner.changes


def changes_of_module(name: str) -> Iterator[Change]:
    """Run the examples of a module's docstrings."""
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module):
        if test.examples and test.lineno is not None:
            runner = Recorder(FLAGS, test.lineno, " " * test.examples[0].indent)
            runner.run(test, out=io.StringIO().write)
            yield from runner.changes


def write_readme() -> int:
    """Run the example of the README, and write its output."""
    text = README.read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})  # noqa: S102  (the docs' own code)
    new = re.sub(r"(?<=^```text\n).*?(?=^```$)", lambda _: printed.getvalue(), text, flags=re.MULTILINE | re.DOTALL)
    README.write_text(new)
    return int(new != text)


def main(names: list[str]) -> None:
    """Rewrite all files, or those whose path contains one of the names."""
    count = write_readme() if not names or "README" in names else 0
    files = [(page, changes_of_page(page)) for page in PAGES if page != README]
    for name in MODULES:
        path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        files.append((path, changes_of_module(name.removesuffix(".__init__"))))
    for path, changes in files:
        if names and not any(name in str(path) for name in names):
            continue
        found = list(changes)
        if found:
            rewrite(path, found)
            count += len(found)
            print(f"{path}: {len(found)}")  # noqa: T201
    print(f"{count} outputs changed")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
