"""Time of plotting and exporting a tree with a hundred thousand nodes: SVG, HTML, text, table.

    python -m benchmarks.speed.pictures            a tree of about 100,000 nodes
    python -m benchmarks.speed.pictures --rows 1000

A plot omits parts that do not fit, and states this. Times are the best of three, in seconds.
"""

import argparse
import io
import os
import time

import numpy as np

import weald

os.environ.setdefault("MPLBACKEND", "agg")


def draw(tree):
    from matplotlib import pyplot as plt

    from weald.plot import TreeDisplay

    display = TreeDisplay.from_estimator(tree)
    display.figure_.savefig(io.BytesIO(), format="svg")
    plt.close(display.figure_)


WAYS = {
    "TreeDisplay, saved as SVG": draw,
    "export_html": weald.export_html,
    "export_text": lambda tree: tree.export_text(),
    "nodes()": lambda tree: tree.nodes(frame="dict"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000, help="rows of noise; about half as many nodes")
    rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    tree = weald.DecisionTreeClassifier().fit(rng.normal(size=(rows, 6)), rng.integers(0, 2, rows))
    print(f"{tree.forest_.n_nodes:,} nodes, depth {tree.get_depth()}")
    for name, way in WAYS.items():
        seconds = []
        for _ in range(3):
            begun = time.perf_counter()
            way(tree)
            seconds.append(time.perf_counter() - begun)
        print(f"  {name:<28}{min(seconds):.2f} s")


if __name__ == "__main__":
    main()
