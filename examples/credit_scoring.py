"""Credit scoring: choose the threshold when a default costs more than a good loan earns.

The clients are synthetic.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from weald import RandomForestClassifier
from weald.plot.palette import FIRST, INK, SECOND, SOFT, calm

EARNED, LOST = 1.0, 6.0  # on a loan that is paid back, on one that is not


def make_clients(n_rows: int) -> tuple[Array, Array]:
    """Make income, debt, age, years in the job, late payments and the loan; about one in seven defaults."""
    rng = np.random.default_rng(11)
    income = rng.lognormal(3.4, 0.45, n_rows)
    loan = income * rng.uniform(0.1, 2.5, n_rows)
    debt = income * rng.gamma(1.2, 0.35, n_rows)
    age = rng.uniform(20, 70, n_rows)
    years = np.minimum(rng.exponential(6, n_rows), age - 18)
    late = rng.poisson(0.5, n_rows)
    risk = 1.2 * (loan + debt) / income + 0.9 * late - 0.12 * years - 0.015 * (age - 40) - 4.0
    default = rng.random(n_rows) < 1 / (1 + np.exp(-risk))
    return np.column_stack([income, loan, debt, age, years, late]), default


def profit(default: Array, granted: Array) -> float:
    """Profit on good loans minus loss on defaults, averaged over all applicants."""
    return float(np.where(granted, np.where(default, -LOST, EARNED), 0.0).mean())


def draw(quick: bool = False) -> Figure:
    """Draw profit over the threshold, and how many good and bad clients are rejected."""
    X, default = make_clients(1000 if quick else 12000)
    X, fresh, default, truth = train_test_split(X, default, test_size=0.5, random_state=0)
    n_trees = 30 if quick else 300
    forest = RandomForestClassifier(n_trees, min_samples_leaf=5, oob_score=True, random_state=0).fit(X, default)
    known, new = forest.oob_decision_function_[:, 1], forest.predict_proba(fresh)[:, 1]

    lines = np.linspace(0, 0.8, 161)
    out_of_bag = [profit(default, known <= line) for line in lines]
    on_new = [profit(truth, new <= line) for line in lines]
    best, break_even = lines[int(np.argmax(out_of_bag))], EARNED / (EARNED + LOST)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.plot(lines, out_of_bag, color=FIRST, linewidth=1.8, label="out of bag")
    left.plot(lines, on_new, color=SECOND, linewidth=1.8, linestyle="--", label="new clients")
    left.set(xlabel="threshold: highest risk accepted", ylabel="profit per client", ylim=(-0.22, None))
    for line, words in ((best, "best out of bag"), (0.5, "majority vote")):
        left.axvline(line, color=SOFT, linewidth=0.8, linestyle=":")
        left.annotate(f"{words}: {line:.2f}", (line, -0.22), (4, 6), textcoords="offset points", color=SOFT)
    left.legend(frameon=False, loc="upper right")

    order = np.argsort(new)
    bad = np.concatenate([[0], np.cumsum(truth[order]) / truth.sum()])
    good = np.concatenate([[0], np.cumsum(~truth[order]) / (~truth).sum()])
    right.plot(1 - good, 1 - bad, color=INK, linewidth=1.8)
    marks = [
        (best, "best out of bag", FIRST, -13),
        (break_even, "where costs break even", INK, -6),
        (0.5, "majority vote", SECOND, -4),
    ]
    for line, words, color, shift in marks:
        granted = new <= line
        point = ((~granted & ~truth).sum() / (~truth).sum(), (~granted & truth).sum() / truth.sum())
        right.plot(*point, "o", color=color, markersize=7, markeredgecolor="white", zorder=3)
        right.annotate(f"{words} ({line:.2f})", point, (9, shift), textcoords="offset points", color=INK)
    right.set(xlabel="good clients turned away", ylabel="bad clients turned away", xlim=(-0.02, 1), ylim=(0, 1.02))
    for ax in (left, right):
        calm(ax, grid="both")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
