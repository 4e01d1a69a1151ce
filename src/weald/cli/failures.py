"""The errors of commands, and messages of the library in the terms of the command line.

UserError, BadFile    what a command raises; the exit code tells scripts why
for_the_shell         a message for Python programmers -> one for the shell
"""

import re


class UserError(Exception):
    """The user asked for something impossible."""

    code = 1


class BadFile(Exception):  # noqa: N818  (it reads better where it is raised)
    """A file cannot be used."""

    code = 2


PARAMETER = r"[a-z]+(?:_[a-z]+)+|bootstrap|criterion|missing|resampling|voting"

# What messages of the library advise, and what to do instead on the command line.
ADVICE = (
    (r", for example by pandas\.to_datetime", " with --dates"),
    (r"(?:, for example|: use|\. Use) \w+\.(?:ravel|toarray|astype)\(\w*\)", ""),
    (r" Set max_bytes of load\.", ""),
    (r" \(see oob_\w+_\)", ""),
    (r" Report each target with test rows, for example .*", " Train a model for each target."),
    (r"\bUse a regressor\b", "Use --task regression"),
    (r"\buse a regressor\b", "use --task regression"),
    (r"\buse a classifier\b", "use --task classification"),
    (r"\bsample_weight\b", "--weight"),
    (r"(?<= )random_state(?!=)\b", "--seed"),
    (rf"\bset (?=(?:{PARAMETER})=)", "use "),
    (rf"\bSet (?=(?:{PARAMETER})=)", "Use "),
    (rf"(?<=[ (])(?=(?:{PARAMETER})=)", "--set "),
)


def for_the_shell(message: str) -> str:
    """Word a message of the library for people who have options, and no Python."""
    for python, shell in ADVICE:
        message = re.sub(python, shell, message)
    return message
