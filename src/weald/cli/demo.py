"""`weald demo`: a first example with a dataset of scikit-learn."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.failures import UserError
from weald.cli.options import ColumnOptions, FitOptions, Json
from weald.cli.writing import Columns


def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the files")] = Path("weald-demo"),
    json: Json = False,
) -> None:
    """Train on a small table and suggest next commands."""
    from sklearn.datasets import load_iris

    from weald.cli.train import fit_file, show_metrics, summarize, write_report
    from weald.cli.writing import open_writer

    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file. Name a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    columns: Columns = {name: iris.data[:, f] for f, name in enumerate(names)}
    columns["species"] = iris.target_names[iris.target].tolist()
    table, model, page = folder / "iris.csv", folder / "iris.weald", folder / "iris.html"
    _refuse_files_of_others(columns, table, model, page)
    with open_writer(table) as write:
        write(columns)
    trained = fit_file(table, "species", ColumnOptions(), FitOptions(), quiet=json)
    trained.model.save(model)
    write_report(trained, page, table.name, f"weald train {table} --target species --out {model}")
    facts = summarize(trained) | {"data": str(table), "model": str(model), "report": str(page)}
    if json:
        screen.show_json(facts)
        return
    screen.say(f"A forest of {facts['trees']} trees predicts the species of 150 irises.\n")
    show_metrics(facts["metrics"])
    screen.say(f"\nOpen {page} in a browser. Then try:\n")
    for words in (
        f"weald train {table} --target species --out {model}",
        f"weald predict {model} {table} --probabilities",
        f"weald explain {model} {table} --row 70",
        f"weald inspect {model}",
    ):
        screen.say(f"  {words}")


def _refuse_files_of_others(columns: Columns, table: Path, *made: Path) -> None:
    """Refuse to overwrite files that an earlier demo did not write."""
    from weald.cli.reading import read_table

    if table.exists():
        is_ours = read_table(table).to_pydict() == {name: list(column) for name, column in columns.items()}
        lost = None if is_ours else table
    else:
        lost = next((file for file in made if file.exists()), None)
    if lost is not None:
        raise UserError(f"{lost} exists and would be overwritten. Give another folder: weald demo FOLDER.")
