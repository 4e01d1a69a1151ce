"""HTML report on a forest: one file that opens in any browser."""

from pathlib import Path

from gallery import FOLDER
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from weald import RandomForestClassifier


def write(file: Path) -> None:
    """Write the report on a forest that classifies wines."""
    wine = load_wine(as_frame=True)
    label = wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    X, X_test, y, y_test = train_test_split(wine.data, label, random_state=0)
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    forest.report(X, y, X_test=X_test, y_test=y_test, title="Three wines of Piedmont", file=file)


if __name__ == "__main__":
    write(FOLDER / "report_page.html")
