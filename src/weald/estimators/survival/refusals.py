"""What survival models cannot do, and why: the message says what to use instead."""

from weald.data.task import Task
from weald.errors import ParameterError

NO_LOSS = "a survival model has no error of single rows, since the time of a censored row is unknown"


def refuse_survival(model: object, who: str, instead: str) -> None:
    """Refuse a survival model where the errors of single rows are needed."""
    if getattr(model, "task", None) is Task.SURVIVAL:
        raise ParameterError(f"{who} does not support {type(model).__name__}: {NO_LOSS}. {instead}")
