"""A tree as an interactive HTML page: one file that opens in any browser."""

from pathlib import Path

from gallery import FOLDER
from sklearn.datasets import load_breast_cancer

from weald import DecisionTreeClassifier, export_html


def write(file: Path) -> None:
    """Write the page of a fully grown tree."""
    cancer = load_breast_cancer(as_frame=True)
    tree = DecisionTreeClassifier().fit(cancer.data, cancer.target)
    export_html(tree, file, class_names=cancer.target_names, title="Breast cancer: is it malignant?")


if __name__ == "__main__":
    write(FOLDER / "folding_page.html")
