"""The entry point: runs a command, formats errors, sets the exit code.

0   success
1   the request is not possible: an unknown option, column or parameter
2   a file cannot be used: it is empty, broken or of the wrong kind
3   a bug in weald
130 Ctrl-C
"""

import os
import sys

from weald.cli import process
from weald.cli.failures import BadFile, UserError, for_the_shell

MISSING = "The command line needs packages that are not installed ({}). Install them: pip install pyarrow rich typer"
FAULT = "This is a bug in weald: {}. Please report it with the traceback that WEALD_TRACEBACK=1 shows."


def main() -> None:
    """Run `weald` with the arguments of this process."""
    process.set_up()
    process.leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    try:
        return _run(arguments)
    except (Exception, KeyboardInterrupt) as error:
        if process.was_interrupted() or isinstance(error, KeyboardInterrupt):
            return _fail("interrupted", 130, arguments)  # an interrupted import can raise any error
        if isinstance(error, BrokenPipeError) and error.filename is None:
            _drop_output()  # e.g. `weald ... | head` closed the pipe
            return 0
        words, code = _word(error)
        if code == 3 and os.environ.get("WEALD_TRACEBACK"):
            raise
        return _fail(words, code, arguments)


def _run(arguments: list[str]) -> int:
    """Run a command without the error handling of typer, which would turn Ctrl-C and closed pipes into exits."""
    from weald.cli.app import Exit, command

    try:
        with command.make_context("weald", arguments or ["--help"]) as context:
            command.invoke(context)
    except Exit as end:
        return int(end.exit_code)
    if sys.stdout is not None:
        sys.stdout.flush()  # a full disk can still be reported here
    return 0


def _word(error: Exception | KeyboardInterrupt) -> tuple[str, int]:
    """Return the message and the exit code."""
    if isinstance(error, UserError | BadFile):
        return str(error), error.code
    if isinstance(error, ModuleNotFoundError):
        return MISSING.format(error.name), 1
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), 2
    if isinstance(error, MemoryError):
        return f"There is not enough memory{f': {error}' if str(error) else ''}.", 2
    from weald.errors import ExportError, ParameterError, WealdError

    if isinstance(error, WealdError):
        return for_the_shell(str(error)), 1 if isinstance(error, ParameterError | ExportError) else 2
    from weald.cli.app import UsageError

    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "weald"
        message = getattr(error, "format_message", error.__str__)()
        return f"{message.rstrip('.')}. See '{command} --help'.", 1
    return FAULT.format(f"{type(error).__name__}: {error}"), 3


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int, arguments: list[str]) -> int:
    import json

    from weald.cli import screen

    words = " ".join(message.splitlines())
    if "--json" in arguments:
        screen.write_error(json.dumps({"error": words, "code": code}))
    else:
        screen.write_error(f"weald: {words}")
    return code
