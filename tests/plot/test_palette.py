"""Colors of classes can be distinguished, with impaired color vision and in grayscale."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from weald.plot.palette import CLASSES, SCALE, class_colors, class_markers, mix, tint

# Simulated color blindness: linear maps of linear light (Machado, Oliveira and Fernandes, 2009).
EYES = {
    "all": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(color):
    c = np.array(to_rgb(color))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIELAB of linear light; differences of about 2 are just visible."""
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
def test_classes_differ_in_every_eye(eye):
    seen = [lab(np.array(EYES[eye]) @ linear(color)) for color in CLASSES]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 10


def test_the_first_classes_differ_in_gray():
    lightness = [lab(linear(color))[0] for color in CLASSES[:5]]
    assert min(abs(a - b) for a, b in itertools.combinations(lightness, 2)) > 8


def test_the_scale_gets_darker_all_the_way():
    lightness = [lab(linear(SCALE(x)[:3]))[0] for x in np.linspace(0, 1, 50)]
    assert (np.diff(lightness) < 0).all()


def test_classes_beyond_the_list_are_paler():
    colors = class_colors(20)
    assert len(set(colors)) == 20
    assert len(class_markers(20)) == 20
    assert sum(to_rgb(colors[8])) > sum(to_rgb(colors[0]))


def test_mixing_and_tints_keep_to_the_ends():
    assert tint("#336699", 1) == "#336699"
    assert tint("#336699", 0) == "#ffffff"
    assert np.allclose(mix(["#000000", "#ffffff"], np.array([[0.25, 0.75]])), 0.75)
