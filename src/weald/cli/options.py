"""Options that several commands take, with their help texts.

ColumnOptions   roles of the columns
FitOptions      model and parameters
expand_groups   a decorator that replaces a group of options by one option per field
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import typer

Data = Annotated[
    Path, typer.Argument(help="csv, tsv, parquet, feather or JSON lines; text files may end in .gz", metavar="DATA")
]
ModelFile = Annotated[Path, typer.Argument(help="A .weald file", metavar="MODEL")]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="Column to predict")]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="Column with the true values; default: the target of the model"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON")]
Task = Annotated[
    str | None, typer.Option(metavar="TASK", help="classification or regression; default: inferred from the target")
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", "-x", metavar="COLUMN", help="Column to leave out; can be repeated"),
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column with row names; not used as a feature")]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with sample weights")]
Dates = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Text column with dates like 2015-03-14 or 2015-03-14 06:30; can be repeated"),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column to read as categories: integers, or text that looks like row names; can be repeated",
    ),
]
Model = Annotated[str, typer.Option(metavar="MODEL", help="forest, extra (extra-trees) or tree")]
Trees = Annotated[str | None, typer.Option("--trees", "-n", metavar="N", help="Number of trees, or auto")]
Depth = Annotated[str | None, typer.Option("--max-depth", metavar="N", help="Maximum depth of the trees")]
Leaf = Annotated[str | None, typer.Option("--min-samples-leaf", metavar="N", help="Minimum number of rows in a leaf")]
Features = Annotated[
    str | None,
    typer.Option(
        "--max-features", metavar="N", help="Features considered at each node: number, fraction, sqrt or log2"
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="Any parameter of the estimator; can be repeated"),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed; the same seed gives the same forest")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; default: all")]


@dataclass(frozen=True)
class ColumnOptions:
    """Roles of the columns."""

    task: Task = None
    exclude: Exclude = None
    id: Id = None
    weight: Weight = None
    categorical: Categorical = None
    dates: Dates = None


@dataclass(frozen=True)
class FitOptions:
    """Model and parameters."""

    model: Model = "forest"
    trees: Trees = None
    max_depth: Depth = None
    min_samples_leaf: Leaf = None
    max_features: Features = None
    settings: Settings = None
    seed: Seed = 0
    jobs: Jobs = None

    def parameters(self) -> dict[str, str | int | None]:
        """Return the parameters that have an option of their own; text is not converted yet."""
        return {
            "n_estimators": self.trees,
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "max_features": self.max_features,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        }


@dataclass(frozen=True)
class Without:
    """Fields of a group to leave out of a command: Annotated[ColumnOptions, Without("weight")]."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each group among the parameters of a command by one option per field.

    typer reads the signature, so the signature has the fields in place of the group, in their order.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        group, *notes = get_args(parameter.annotation) or (parameter.annotation,)
        if group not in (ColumnOptions, FitOptions):
            parameters.append(parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD))
            continue
        left_out = [name for note in notes for name in note.names]
        options = [field for field in fields(group) if field.name not in left_out]
        hints = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(
                option.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=option.default,
                annotation=hints[option.name],
            )
            for option in options
        ]
        groups[parameter.name] = group, [option.name for option in options]

    @wraps(command)
    def run(**given: object) -> None:
        made = {name: group(**{n: given.pop(n) for n in names}) for name, (group, names) in groups.items()}
        command(**given, **made)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
