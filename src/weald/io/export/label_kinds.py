"""The types of labels that databases and JavaScript support.

kind_of_labels    whether labels are text, numbers, whole numbers or booleans
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from weald.errors import ExportError

LabelKind: TypeAlias = Literal["text", "booleans", "whole numbers", "numbers"]
MOST_WHOLE = 2**53  # whole numbers are exact as doubles up to this


def kind_of_labels(labels: Sequence[object], what: str) -> LabelKind:
    """Return the type of labels; raise an error for labels that other programs cannot represent exactly."""
    if all(isinstance(label, str) for label in labels):
        return "text"
    if all(isinstance(label, bool) for label in labels):
        return "booleans"
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        large = [label for label in labels if isinstance(label, int) and abs(label) > MOST_WHOLE]
        if large:
            raise ExportError(
                f"{what} have the number {large[0]}, which is not exact as a double. Convert such numbers to text."
            )
        return "whole numbers" if all(isinstance(label, int) for label in labels) else "numbers"
    kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
    raise ExportError(f"{what} are of type {kinds}, which cannot be exported. Write them as text and fit again.")
