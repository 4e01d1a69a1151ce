"""The entry: runs a command, words errors, chooses the exit code.

0   done
1   what was asked for cannot be done: an unknown option, column or parameter
2   a file cannot be used: it is empty, broken, or not what it should be
130 Ctrl-C
"""

import json
import os
import sys

from weald.cli.failures import BadFile, UserError

MISSING = "The command line needs packages that are not installed ({}). Install them: pip install 'weald[cli]'"


def main() -> None:
    """Run `weald` with the arguments of this process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    try:
        from weald.cli.app import UsageError, app
    except ModuleNotFoundError as error:
        return _fail(MISSING.format(error.name), 1, arguments)
    try:
        return int(app(arguments or ["--help"], standalone_mode=False, prog_name="weald") or 0)
    except UsageError as error:
        return _fail(f"{getattr(error, 'format_message', error.__str__)()} See 'weald --help'.", 1, arguments)
    except KeyboardInterrupt:
        return _fail("interrupted", 130, arguments)
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, BadFile) as error:
        return _fail(str(error), error.code, arguments)
    except ModuleNotFoundError as error:
        return _fail(MISSING.format(error.name), 1, arguments)
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), 2, arguments)
    except Exception as error:
        code = _code_of(error)
        if code is None:
            raise
        return _fail(str(error), code, arguments)


def _code_of(error: Exception) -> int | None:
    """Tell what weald refuses from what is a mistake of ours."""
    from weald.errors import ExportError, ParameterError, WealdError

    return 1 if isinstance(error, ParameterError | ExportError) else 2 if isinstance(error, WealdError) else None


def _fail(message: str, code: int, arguments: list[str]) -> int:
    from weald.forest.describe.markup import legible

    words = " ".join(legible(line) for line in message.splitlines())
    shown = json.dumps({"error": words, "code": code}) if "--json" in arguments else f"weald: {words}"
    print(shown, file=sys.stderr)  # noqa: T201  (the screen is its purpose)
    return code
