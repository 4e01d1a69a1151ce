"""X-ray images: the class probabilities of all trees are added up, not the votes.

The images are synthetic: bright bone in gray tissue on dark air, rotated, shifted and noisy.
"""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.figure import Figure
from scipy import ndimage

from weald import RandomForestClassifier
from weald.plot.palette import SCALE, calm, class_colors

SIDE = 48


def ellipse(x: float, y: float, width: float, height: float, turn: float = 0.0) -> Array:
    """Mark the inside of an ellipse on a square from -1 to 1."""
    v, u = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    a, b = np.cos(turn) * (u - x) + np.sin(turn) * (v - y), np.cos(turn) * (v - y) - np.sin(turn) * (u - x)
    inside: Array = (a / width) ** 2 + (b / height) ** 2 <= 1
    return inside


def make_chest() -> Array:
    """Two dark lungs behind ribs, and the spine."""
    picture = np.where(ellipse(0, 0, 0.9, 0.95), 0.5, 0.0)
    for side in (-1, 1):
        picture[ellipse(0.42 * side, 0, 0.33, 0.7)] = 0.12
    for y in np.linspace(-0.7, 0.7, 6):
        picture[ellipse(0, y, 0.85, 0.2) & ~ellipse(0, y + 0.06, 0.85, 0.2)] += 0.35
    picture[ellipse(0, 0, 0.08, 0.9)] = 0.9
    return picture


def make_hand() -> Array:
    """A palm and five fingers with their bones."""
    picture = np.where(ellipse(0, 0.45, 0.5, 0.5), 0.35, 0.0)
    for i, turn in enumerate(np.linspace(-0.5, 0.5, 5)):
        reach = 0.85 - 0.12 * abs(i - 2)
        x, y = np.sin(turn) * 0.6, 0.45 - np.cos(turn) * 0.55 * reach
        picture[ellipse(x, y, 0.13, 0.62 * reach, turn)] = 0.35
        picture[ellipse(x, y, 0.06, 0.55 * reach, turn)] = 0.95
    return picture


def make_knee() -> Array:
    """Two long bones that meet."""
    picture = np.where(ellipse(0, 0, 0.5, 1.2), 0.35, 0.0)
    for y in (-0.75, 0.75):
        picture[ellipse(0, y, 0.2, 0.7)] = 0.8
    for y in (-0.18, 0.18):
        picture[ellipse(0, y, 0.36, 0.15)] = 0.95
    return picture


def make_skull() -> Array:
    """A round shell with eyes, nose and jaw."""
    picture = np.where(ellipse(0, -0.15, 0.75, 0.75) | ellipse(0, 0.6, 0.4, 0.35), 0.95, 0.0)
    picture[ellipse(0, -0.15, 0.64, 0.64)] = 0.55
    for side in (-1, 1):
        picture[ellipse(0.28 * side, 0.12, 0.17, 0.15)] = 0.15
    picture[ellipse(0, 0.4, 0.09, 0.13)] = 0.2
    return picture


PARTS = {"chest": make_chest, "hand": make_hand, "knee": make_knee, "skull": make_skull}


def take_picture(part: str, rng: np.random.Generator) -> Array:
    """Rotate and shift a part, blur it, and add noise."""
    turned = ndimage.rotate(PARTS[part](), rng.normal(scale=14), reshape=False, order=1)
    shifted = ndimage.shift(turned, rng.normal(scale=3, size=2), order=1)
    blurred = ndimage.gaussian_filter(shifted * rng.uniform(0.7, 1.1), 1.0)
    noisy: Array = blurred + rng.normal(scale=0.18, size=blurred.shape)
    return noisy


def measure(picture: Array) -> Array:
    """Describe an image: brightness and contrast of 6 x 6 tiles."""
    tiles = picture.reshape(6, SIDE // 6, 6, SIDE // 6)
    return np.concatenate([tiles.mean(axis=(1, 3)).ravel(), tiles.std(axis=(1, 3)).ravel()])


def draw(quick: bool = False) -> Figure:
    """Draw images of each part, the predictions of every tree, and the sums."""
    rng = np.random.default_rng(2)
    n_each, n_trees = (10, 20) if quick else (60, 100)
    labels = np.repeat(list(PARTS), n_each)
    X = np.array([measure(take_picture(part, rng)) for part in labels])
    forest = RandomForestClassifier(n_trees, min_samples_leaf=3, random_state=0).fit(X, labels)

    pictures = [take_picture(part, rng) for part in PARTS]
    rows = np.array([measure(picture) for picture in pictures])
    sums = forest.predict_votes(rows)
    of_trees = np.array([tree.predict_proba(rows) for tree in forest.estimators_])

    figure, axes = plt.subplots(4, 3, figsize=(8.6, 7.4), layout="constrained", width_ratios=[1, 2.4, 1.7])
    for i, (look, strip, bars) in enumerate(axes):
        look.imshow(pictures[i], cmap="gray", vmin=-0.2, vmax=1.2, interpolation="bilinear")
        look.set(xticks=[], yticks=[], ylabel=list(PARTS)[i])
        strip.imshow(of_trees[:, i].T, aspect="auto", cmap=SCALE, vmin=0, vmax=1, interpolation="nearest")
        strip.set(yticks=range(4), yticklabels=list(PARTS), xticks=[])
        strip.tick_params(length=0)
        bars.barh(list(PARTS), sums[i], color=class_colors(4), height=0.7)
        bars.set(xlim=(0, n_trees), yticks=[])
        bars.invert_yaxis()
        calm(bars, grid="x")
        for spine in (*look.spines.values(), *strip.spines.values()):
            spine.set_visible(False)
    for ax, title in zip(axes[0], ("picture", "probabilities by tree", "sum of probabilities"), strict=True):
        ax.set_title(title)
    axes[-1, 1].set_xlabel(f"{n_trees} trees")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
