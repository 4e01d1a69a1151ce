"""The definition of hierarchical shrinkage: the predictions of the nodes of a tree.

shrink_tree    a tree, the weights of its nodes, lambda -> the tree whose leaves predict shrunk values
"""

from collections.abc import Sequence
from dataclasses import replace

from weald.engines.reference.definition import FlatTree

ONE = 4503599627370496.0  # 2^52


def shrink_tree(tree: FlatTree, weight: Sequence[float], shrinkage: float, n_classes: int) -> FlatTree:
    """Shrink the leaves of a tree. `weight` is that of each node in the user's units."""
    if n_classes == 1:
        return tree
    means = [[value] for value in tree.value] if tree.value else _fractions(tree)
    if n_classes == 2:
        means = [mean[-1:] for mean in means]  # probability of the second class
    shrunk = [means[0]]
    above = _parents(tree)
    for node in range(1, len(means)):  # a node comes before its children
        p = above[node]
        divisor = 1.0 + shrinkage / weight[p]
        shrunk.append([v + (u - m) / divisor for v, u, m in zip(shrunk[p], means[node], means[p], strict=True)])
    if n_classes <= 2:
        return replace(tree, value=[value for (value,) in shrunk])
    leaves = [node for node, feature in enumerate(tree.feature) if feature < 0]
    return replace(tree, classes=[[float(round(max(v, 0.0) * ONE)) for v in shrunk[leaf]] for leaf in leaves])


def _parents(tree: FlatTree) -> dict[int, int]:
    """Number of the parent of each node but the root."""
    above = {}
    for node, feature in enumerate(tree.feature):
        if feature >= 0:
            above[node + 1] = above[tree.right[node]] = node
    return above


def _fractions(tree: FlatTree) -> list[list[float]]:
    """Fractions of the classes in each node: sums of the leaves below, divided by their total."""
    classes: list[Sequence[float]] = [[] for _ in tree.feature]
    leaves = iter(reversed(tree.classes))
    for node in reversed(range(len(tree.feature))):
        if tree.feature[node] < 0:
            classes[node] = next(leaves)
        else:
            classes[node] = [a + b for a, b in zip(classes[node + 1], classes[tree.right[node]], strict=True)]
    return [[c / (sum(of_node) or 1.0) for c in of_node] for of_node in classes]
