"""`python -m weald.accel [--report] script.py [arguments]`: run a script with weald in place of scikit-learn."""

import runpy
import sys
from pathlib import Path

from weald import accel

USAGE = """\
usage: python -m weald.accel [--report] script.py [arguments]
       python -m weald.accel [--report] -m module [arguments]

Run a script with weald's trees and forests in place of scikit-learn's.

  --report    print on stderr which fits weald did, which scikit-learn did, and why
  -m module   run a module instead of a script
"""


def main(arguments: list[str]) -> int:
    """Run a script or a module; return the exit status of this command itself."""
    report = "--report" in arguments[:1]
    rest = arguments[1:] if report else arguments
    if rest[:1] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
    as_module = rest[:1] == ["-m"]
    rest = rest[1:] if as_module else rest
    if not rest or rest[0].startswith("-"):
        found = f"unknown option {rest[0]}" if rest else f"no {'module' if as_module else 'script'} was given"
        sys.stderr.write(f"{USAGE}\nerror: {found}\n")
        return 2
    if not as_module and not Path(rest[0]).exists():
        sys.stderr.write(f"error: script {rest[0]!r} does not exist\n")
        return 2
    accel.install()
    sys.argv = rest
    try:
        if as_module:
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(rest[0]).resolve().parent)
            runpy.run_path(rest[0], run_name="__main__")
    finally:
        if report:
            sys.stderr.write(f"{accel.summary()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
