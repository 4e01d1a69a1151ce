"""A packed tree: nodes that share a cache line, and eight rows predicted at a time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import weald
from docs.figures.drawing import LEAF, LINE, SHADES, blank, cell, note, save, title

ROWS = [0, 70, 77, 83, 106, 119, 133, 149]  # of the table
HEAD = 120  # bytes before the parts of the buffer, which are aligned to 64 bytes
SLOT = 0.34


def read_nodes(buffer: np.ndarray) -> np.ndarray:
    """Find the nodes of the only tree in a buffer: key and link of each."""
    n_columns, n_slots = int(buffer[28:32].view(np.uint32)[0]), int(buffer[48:56].view(np.uint64)[0])
    at = -(-HEAD // 64) * 64 + -(-4 * n_columns // 64) * 64 + 64
    return buffer[at : at + 8 * n_slots].view(np.uint32).reshape(-1, 2)


def key_of(x: float) -> int:
    """Convert a float to an unsigned integer of the same order."""
    bits = int(np.array(x, dtype=np.float32).view(np.uint32))
    return bits ^ (0xFFFFFFFF if bits >> 31 else 0x80000000)


class Walks:
    """The tree as nodes, and the slots on the paths of rows."""

    def __init__(self) -> None:
        X, y = load_iris(return_X_y=True)
        tree = weald.DecisionTreeClassifier(random_state=0).fit(X, y)
        buffer = tree.compile(dtype="float32").buffer()
        self.nodes = read_nodes(buffer)
        self.columns = buffer[128 : 128 + 16].view(np.uint32)
        self.rows = X[ROWS]

    def is_leaf(self, slot: int) -> bool:
        """Return whether a slot is a leaf."""
        return bool(self.nodes[slot, 1] & 2)

    def child(self, slot: int, side: int) -> int:
        """Find the slot of a child."""
        return 2 * int(self.nodes[slot, 1] >> 12) + side

    def step(self, slot: int, row: np.ndarray) -> int:
        """Move a row to the next slot; in a leaf it stays."""
        if self.is_leaf(slot):
            return slot
        column = int(self.nodes[slot, 1] >> 2 & 1023) - 2
        return self.child(slot, int(self.nodes[slot, 0] < key_of(row[self.columns[column]])))


def draw_tree(axes: Axes, walks: Walks, x: float, y: float) -> None:
    """Draw the tree; the color of a node is that of its line."""
    places, edges, next_x = [], [], [x]

    def place(slot: int, depth: int) -> float:
        top = y + 0.52 * depth
        if walks.is_leaf(slot):
            at = next_x[0]
            next_x[0] += SLOT + 0.05
        else:
            below = [place(walks.child(slot, side), depth + 1) for side in (0, 1)]
            at = sum(below) / 2
            edges.extend(((at, top), (child, top + 0.52)) for child in below)
        places.append((at, top, slot))
        return at

    place(0, 0)
    for (x0, y0), (x1, y1) in edges:
        axes.plot([x0 + SLOT / 2, x1 + SLOT / 2], [y0 + 0.15, y1 + 0.15], color=LINE, lw=1, zorder=0)
    for at, top, slot in places:
        edge = LEAF if walks.is_leaf(slot) else LINE
        cell(axes, at, top, str(slot), width=SLOT, fill=SHADES[slot // 8], edge=edge)


def draw_lines(axes: Axes, walks: Walks, x: float, y: float) -> None:
    """Draw the buffer, line by line."""
    for line in range(len(walks.nodes) // 8):
        for place in range(8):
            slot = 8 * line + place
            is_used = walks.nodes[slot].any()
            cell(
                axes, x + SLOT * place, y + 0.34 * line, str(slot) if is_used else "", width=SLOT,
                fill=SHADES[line] if is_used else "#ffffff", edge=LEAF if is_used and walks.is_leaf(slot) else LINE,
            )  # fmt: skip


def draw_steps(axes: Axes, walks: Walks, x: float, y: float) -> None:
    """Draw the slots of eight rows, step by step, until all have arrived."""
    at = [0] * 8
    for lane in range(8):
        note(axes, x + SLOT * (lane + 0.5), y - 0.13, f"{lane + 1}", ha="center")
    step = 0
    while True:
        note(axes, x - 0.1, y + 0.34 * step + 0.15, f"step {step}", ha="right")
        for lane, slot in enumerate(at):
            look = {"fill": SHADES[slot // 8], "edge": LEAF if walks.is_leaf(slot) else LINE}
            cell(axes, x + SLOT * lane, y + 0.34 * step, str(slot), width=SLOT, **look)
        if all(map(walks.is_leaf, at)):
            return
        at = [walks.step(slot, row) for slot, row in zip(at, walks.rows, strict=True)]
        step += 1


def draw() -> Figure:
    """Draw the tree above, the buffer below it on the left, the walks on the right."""
    walks = Walks()
    figure, axes = blank(7.6, 5.6)
    title(axes, 0.3, 0.3, "A tree: one color per cache line")
    note(axes, 0.3, 0.56, "numbers are slots; leaves have a green border; equal pairs of leaves are stored once")
    draw_tree(axes, walks, 0.3, 0.8)
    title(axes, 0.3, 4.12, "The buffer: 8 bytes per slot")
    draw_lines(axes, walks, 0.3, 4.35)
    title(axes, 4.55, 3.12, "Eight rows at a time")
    draw_steps(axes, walks, 4.55, 3.52)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
