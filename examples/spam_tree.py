"""Spam: a tree over frequencies of words and characters, with errors/messages in each node. The data are synthetic."""

import numpy as np
from gallery import Array, save
from matplotlib.figure import Figure

from weald import DecisionTreeClassifier
from weald.plot import TreeDisplay

# Probability of a word to occur in a message, and its mean frequency then, in percent: mail, spam.
WORDS = {
    "$": (0.08, 0.1, 0.62, 0.3),
    "!": (0.25, 0.2, 0.83, 0.5),
    "remove": (0.02, 0.2, 0.42, 0.6),
    "free": (0.10, 0.4, 0.55, 0.9),
    "money": (0.05, 0.3, 0.38, 0.5),
    "our": (0.25, 0.5, 0.62, 0.8),
    "business": (0.10, 0.4, 0.35, 0.7),
    "meeting": (0.30, 0.7, 0.02, 0.3),
    "project": (0.30, 0.8, 0.03, 0.3),
    "university": (0.22, 0.9, 0.02, 0.4),
    "1999": (0.25, 0.6, 0.05, 0.3),
}


def make_messages(n_rows: int = 3000, seed: int = 0) -> tuple[Array, Array, list[str]]:
    """Make word frequencies, and the mean length of words in capitals; two messages in five are spam."""
    rng = np.random.default_rng(seed)
    spam = rng.random(n_rows) < 0.4
    columns = []
    for mail_rate, mail_share, spam_rate, spam_share in WORDS.values():
        there = rng.random(n_rows) < np.where(spam, spam_rate, mail_rate)
        share = rng.gamma(1.5, np.where(spam, spam_share, mail_share) / 1.5, size=n_rows)
        columns.append(np.round(np.where(there, share, 0.0), 2))
    capitals = np.round(1 + rng.lognormal(np.where(spam, 1.1, 0.2), 0.8), 2)
    X = np.column_stack([*columns, capitals])
    return X, np.where(spam, "spam", "email"), [*WORDS, "capitals"]


def draw(quick: bool = False) -> Figure:
    """Draw the tree of twelve leaves with the largest decrease of impurity."""
    X, y, names = make_messages(500 if quick else 3000)
    tree = DecisionTreeClassifier(max_leaf_nodes=12).fit(X, y)
    return TreeDisplay.from_estimator(tree, feature_names=names).figure_


if __name__ == "__main__":
    save(draw(), __file__)
