"""Ctrl-C, standard streams and process exit, set up before large imports."""

import codecs
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import NoReturn

AGAIN = 0.1  # seconds until a swallowed interrupt is raised again
IN_ASCII = str.maketrans(
    {"±": "+-", "×": "x", "…": "...", "−": "-", "≤": "<=", "≥": ">=", "≠": "!=", "├": "|", "└": "`", "─": "-", "│": "|"}
)


def set_up() -> None:
    """Prepare the process for a command."""
    _handle_interrupts()
    _occupy_closed_streams()
    codecs.register_error("weald.ascii", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(errors="weald.ascii")  # type: ignore[union-attr]
    warnings.showwarning = _show_warning


def leave(code: int) -> NoReturn:
    """End the process at once: at a normal exit, threads of other packages may wait for each other forever."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


# ------------------------------------------------------------------------------------------------------------ Ctrl-C

_state = {"interrupted": False}


def _handle_interrupts() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise ignored, as under nohup
        signal.signal(signal.SIGALRM, _interrupt_again)
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _drop_interrupt


def _interrupt(*_: object) -> NoReturn:
    _state["interrupted"] = True
    signal.setitimer(signal.ITIMER_REAL, AGAIN)
    raise KeyboardInterrupt


def _interrupt_again(*_: object) -> None:
    """Raise the interrupt again if it was swallowed, as by imports of compiled modules, unless it is being handled."""
    handled = sys.exc_info()[1]
    while handled is not None and not isinstance(handled, KeyboardInterrupt):
        handled = handled.__context__
    if handled is None:
        _interrupt()
    signal.setitimer(signal.ITIMER_REAL, AGAIN)


def _drop_interrupt(error: "sys.UnraisableHookArgs") -> None:
    """Ignore an interrupt that Python cannot raise here; it is raised again later."""
    if not issubclass(error.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(error)


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed, and stop raising interrupts."""
    if _state["interrupted"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return _state["interrupted"]


# ----------------------------------------------------------------------------------------------------------- streams


def _occupy_closed_streams() -> None:
    """Open the null device for closed streams: otherwise the next opened file would get the number of stdout."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # opens with the lowest free number


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal cannot show."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(IN_ASCII)
    return "".join(c if c.isascii() else "?" for c in text), error.end


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    from weald.cli import screen

    screen.note(f"note: {message}")
