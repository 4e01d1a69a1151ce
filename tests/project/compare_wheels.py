"""Are wheels reproducible? Build two in different folders, and compare their bytes.

    python -m tests.project.compare_wheels [--all]

By default only the plain instruction set is compiled, without a compiler cache; --all compiles every set.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "bindings", "core", "src")


def build(folder: Path, *, all_sets: bool) -> Path:
    """Copy the sources into a folder and build a wheel there."""
    folder.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(source, folder / part)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", folder]
    command += ["-C", f"build-dir={folder / 'made'}"]
    command += [] if all_sets else ["-C", "cmake.define.WEALD_INSTRUCTION_SETS=baseline"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_", "CCACHE_"))}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environment | {"CCACHE_DISABLE": "1"}
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def differences(one: Path, other: Path) -> list[str]:
    """Return the names of files that differ; "the archive" if only that does."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist(), *second.namelist()})
        contents = [{name: archive.read(name) for name in archive.namelist()} for archive in (first, second)]
    found = [name for name in names if contents[0].get(name) != contents[1].get(name)]
    return found or ([] if one.read_bytes() == other.read_bytes() else ["the archive"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="compile every instruction set")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        places = Path(top, "one"), Path(top, "another", "deeper")
        wheels = [build(place, all_sets=given.all) for place in places]
        found = differences(*wheels)
    print(f"different: {', '.join(found)}" if found else f"two builds of {wheels[0].name} have the same bytes")  # noqa: T201
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
