"""Options that several commands take, with their words."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path, typer.Argument(help="csv, tsv, parquet, feather or JSON lines; text files may end in .gz")]
ModelFile = Annotated[Path, typer.Argument(help="A .weald file", metavar="MODEL")]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts")]
Task = Annotated[str | None, typer.Option(help="classification or regression; found out if not given")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", "-x", help="Column to leave out; may be given often")]
Id = Annotated[str | None, typer.Option("--id", help="Column with the names of rows; not learned from")]
Weight = Annotated[str | None, typer.Option(help="Column with the weights of rows")]
Categorical = Annotated[list[str] | None, typer.Option(help="Text column to keep although it looks like names of rows")]
Model = Annotated[str, typer.Option(help="forest, extra (extra-trees) or tree")]
Trees = Annotated[str | None, typer.Option("--trees", "-n", help="Number of trees, or auto")]
Depth = Annotated[str | None, typer.Option("--max-depth", help="Depth of trees at most")]
Leaf = Annotated[str | None, typer.Option("--min-samples-leaf", help="Rows of a leaf at least")]
Features = Annotated[
    str | None, typer.Option("--max-features", help="Features that a node looks at: number, share, sqrt")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", "-s", help="Any parameter of the estimator, name=value; may be given often")
]
Seed = Annotated[int, typer.Option(help="Seed: the same seed gives the same forest")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads; all if not given")]
