"""How a command fails. The exit code tells scripts why: 1 for what the user said, 2 for a file, 130 for Ctrl-C."""


class UserError(Exception):
    """What the user asked for cannot be done."""

    code = 1


class BadFile(Exception):  # noqa: N818  (it reads better where it is raised)
    """A file cannot be used."""

    code = 2
