"""The errors of commands, and the library's messages in the terms of the command line.

UserError, BadFile    errors of commands; the exit code tells scripts the cause
for_the_shell         a message for Python -> a message for the shell
"""

import re


class UserError(Exception):
    """The user asked for something that is not possible."""

    code = 1


class BadFile(Exception):  # noqa: N818  (it reads better where it is raised)
    """A file that cannot be used."""

    code = 2


PARAMETER = r"[a-z]+(?:_[a-z]+)+|bootstrap|criterion|missing|resampling|voting"

# Advice in messages of the library, and its equivalent on the command line.
ADVICE = (
    (r", for example by pandas\.to_datetime", " with --dates"),
    (r"(?:, for example|: use|\. Use) \w+\.(?:ravel|toarray|astype)\(\w*\)", ""),
    (r" Set max_bytes of load\.", ""),
    (r" \(see oob_\w+_\)", ""),
    (r" and counted in unknown_categories_\. This warning is given once\.", "."),
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
    """Replace the advice for Python in a message by options of the command line."""
    for python, shell in ADVICE:
        message = re.sub(python, shell, message)
    return message
