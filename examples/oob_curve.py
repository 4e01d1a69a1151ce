"""Out-of-bag error and test error of a growing forest."""

from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from weald import RandomForestClassifier
from weald.plot import OutOfBagDisplay


def draw(quick: bool = False) -> Figure:
    """Draw both errors after each tree."""
    X, y = load_digits(return_X_y=True)
    X, fresh, y, truth = train_test_split(X, y, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(30 if quick else 300, oob_score=True, random_state=0).fit(X, y)
    return OutOfBagDisplay.from_estimator(forest, fresh, truth).figure_


if __name__ == "__main__":
    save(draw(), __file__)
