"""The reference engine: the definition in plain Python (`definition.py`), behind the engine interface."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald.data.table import Table
from weald.data.targets import Targets
from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray
from weald.engines import data_hash
from weald.engines.error_surface import KnownRows, SurfaceErrors, SurfaceSettings, SurfaceSums, SurfaceTrees
from weald.engines.free_features import NO_BIN, DependenceSums, FreeFeatures, LocalBins
from weald.engines.interface import (
    Block,
    Codes,
    LeafMembership,
    LocalEngine,
    OutOfBagVotes,
    PermutationTask,
    ShapTask,
    Watch,
    sum_weighted_votes,
)
from weald.engines.params import Growth
from weald.engines.quadrature import make_rule
from weald.engines.reference import (
    definition,
    dependence,
    error_surface,
    interventional,
    kernels,
    permutation,
    shap,
    survival,
)
from weald.engines.reference import multi_output as several
from weald.engines.reference import proximity as share
from weald.engines.reference.data_hash import row_product as product_of_rows
from weald.engines.reference.shrinkage import shrink_tree
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest, Origin
from weald.forest.pruning import link_strengths, prune_forest


class ReferenceEngine(LocalEngine):
    """The definition behind the engine interface. It always uses one thread and ignores `n_threads`."""

    name = "reference"

    def code(
        self, table: Table, max_bins: int, n_threads: int = 1, watch: Watch | None = None, n_trees: int = 0
    ) -> definition.Coded:
        """Convert a table to codes and ranks."""
        weight = np.ones(len(table.target)) if table.weight is None else table.weight
        columns = _dense(table.X).T.tolist()
        target = table.target.tolist()
        return definition.code_table(
            columns,
            classes=target if table.task is Task.CLASSIFICATION else [],
            numbers=[] if table.task is Task.CLASSIFICATION else target,
            n_classes=table.n_classes,
            weight=weight.tolist(),
            whole=table.weights_whole,
            max_bins=max_bins,
            strata=[] if table.strata is None else table.strata.tolist(),
            groups=[] if table.groups is None else table.groups.tolist(),
            categorical=sorted(table.categorical),
        )

    def code_blocks(
        self, table: Table, blocks: Iterable[Block], max_bins: int, n_threads: int = 1, watch: Watch | None = None
    ) -> definition.Coded:
        """Convert a table given in blocks of columns to codes and ranks."""
        X = np.hstack([block for block, _ in blocks])
        return self.code(dataclasses.replace(table, X=X), max_bins, n_threads, watch)

    def row_product(self, table: Table, n_threads: int = 1) -> int:
        """Compute the multiset hash of the rows of a table."""
        words, copies = data_hash.row_words(table)
        bits = [[definition.float_bits(x) for x in row] for row in _dense(table.X).tolist()]
        rows = [of_values + more for of_values, more in zip(bits, words.tolist(), strict=True)]
        return product_of_rows(rows, None if copies is None else copies.tolist())

    def kernel_columns(
        self,
        samples: kernels.Samples,
        prototypes: kernels.Samples,
        rule: kernels.KernelRule,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Values of a kernel (prototypes x samples)."""
        return kernels.kernel_columns(samples, prototypes, rule)

    def column(self, codes: Codes, feature: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Codes of a feature in the order of the table's rows, with the smallest and largest value of each code."""
        coded = _own(codes)
        column = coded.columns[feature]
        of_rows = np.empty(len(coded.position), dtype=np.uint32)
        of_rows[coded.position] = [definition.MISSING if code is None else code for code in column.codes]
        return of_rows, np.array(column.lows), np.array(column.highs)

    def grow(
        self,
        codes: Codes,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
        ccp_alpha: float = 0.0,
    ) -> Forest:
        """Grow trees one after the other."""
        coded, trees = _own(codes), []
        is_survival = growth.criterion in definition.OF_SURVIVAL
        grow_forest = survival.grow_forest if is_survival else definition.grow_forest
        for tree in grow_forest(coded, _plain(growth), seed, range(first_tree, first_tree + n_trees)):
            trees.append(tree)
            if watch:
                watch(len(trees) / n_trees)
        center, exponent = 0.0, 0
        if is_survival:
            exponent = survival.exponent_of(coded, _plain(growth))
        elif Task.of(coded.n_classes) is Task.REGRESSION:
            target = definition.target_of(coded, _plain(growth))
            center, exponent = target.center, target.exponent
        origin = Origin(seed, first_tree, n_trees, coded.fingerprint, growth.bags(coded.design), values=coded.values)
        forest = _forest_of(trees, len(coded.columns), coded.n_classes, center, exponent, origin)
        return prune_forest(forest, ccp_alpha) if ccp_alpha else forest

    def grow_targets(
        self,
        codes: Codes,
        targets: Targets,
        growth: Growth,
        seed: int,
        first_tree: int,
        n_trees: int,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> tuple[Forest, ...]:
        """Grow trees one after the other."""
        coded = _own(codes)
        plain = several.Targets(targets.values.T.tolist(), list(targets.n_classes))
        grown = []
        for each in several.grow_targets(coded, plain, _plain(growth), seed, range(first_tree, first_tree + n_trees)):
            grown.append(each)
            if watch:
                watch(len(grown) / n_trees)
        origin = Origin(
            seed, first_tree, n_trees, coded.fingerprint, growth.bags(coded.design), values=targets.add_to(coded.values)
        )
        fixed = [definition.target_of(table, _plain(growth), may_be_wide=False) for table in plain.one_by_one(coded)]
        unit = several.common_unit(fixed)
        return tuple(
            _forest_of([each[o] for each in grown], len(coded.columns), target.n_classes, target.center, unit, origin)
            for o, target in enumerate(fixed)
        )

    def leaves(self, forest: Forest, X: Array, n_threads: int = 1, watch: Watch | None = None) -> IntArray:
        """Return the leaf of each row in each tree."""
        rows = _dense(X).tolist()
        found = [[definition.find_leaf(tree, row) for row in rows] for tree in _flat_trees(forest)]
        return np.array(found, dtype=np.int32).reshape(forest.n_trees, len(rows)).T

    def add_to_surface(
        self,
        trees: SurfaceTrees,
        X: Array,
        settings: SurfaceSettings,
        known: KnownRows,
        state: SurfaceSums,
        n_threads: int = 1,
    ) -> SurfaceErrors:
        """Add the votes of trees, under each setting, for the rows that are new to them; compute errors."""
        return error_surface.add_to_surface(trees, self.leaves(trees.forest, X), settings, known, state)

    def link_strengths(self, forest: Forest, n_threads: int = 1) -> FloatArray:
        """Return the alpha at which pruning removes each split."""
        return link_strengths(forest)

    def sum_votes(
        self, forest: Forest, X: Array, voting: str, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Sum the predictions of the trees for each row."""
        if len(forest.tree_weight):
            return sum_weighted_votes(self, forest, X, voting, n_threads, watch)
        rows = _dense(X).tolist()
        sums = np.array(definition.sum_votes(_flat_trees(forest), rows, forest.n_classes, voting))
        return sums.reshape(len(rows), -1) if forest.task is Task.CLASSIFICATION else sums.reshape(len(rows))

    def predict(
        self,
        forest: Forest,
        X: Array,
        voting: str,
        out: Array,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> None:
        """Average the predictions of the trees for each row."""
        out[...] = self.sum_votes(forest, X, voting) / forest.vote_total

    def bags(self, codes: Codes, growth: Growth, origins: Sequence[Origin], n_threads: int = 1) -> IntArray:
        """Draw the bags again."""
        coded = _own(codes)
        found = np.empty((sum(origin.n_trees for origin in origins), len(coded.line)), dtype=np.uint32)
        trees = ((growth.with_bags(origin.bags), *tree) for origin in origins for tree in origin.trees())
        for i, (drawn, seed, tree) in enumerate(trees):
            found[i, coded.position] = definition.count_rows(coded, _plain(drawn), seed, tree)
        return found

    def order(self, codes: Codes) -> IntArray:
        """Rows of the table in rank order."""
        return np.array(_own(codes).position, dtype=np.uint32)

    def shuffle(self, n_rows: int, seed: int, tree: int, group_id: int, repeat: int) -> IntArray:
        """Permute all ranks."""
        return np.array(permutation.shuffle_rows([0] * n_rows, seed, tree, group_id, repeat), dtype=np.uint32)

    def permute(
        self, forest: Forest, X: Array, task: PermutationTask, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Permute features in one tree after the other."""
        values, trees = X.astype(np.float64).tolist(), _flat_trees(forest)
        of_trees = np.zeros((len(task.trees), len(task.group_id)))
        for t, (seed, number) in enumerate(task.names):
            rows = [r for r in task.order.tolist() if task.is_new[t, r]]
            for group, group_id in enumerate(task.group_id.tolist()):
                cells = [0] * len(rows) if task.cells is None else task.cells[t, group, rows].tolist()
                lost = permutation.increases(
                    trees[task.trees[t]],
                    [values[r] for r in rows],
                    task.target[rows].tolist(),
                    forest.n_classes,
                    np.flatnonzero(task.group_of == group).tolist(),
                    permutation.shuffle_rows(cells, seed, number, group_id, task.repeat),
                )
                for row, increase in zip(rows, lost, strict=True):
                    of_trees[t, group] += task.weight[row] * increase
                    if task.sums is not None:
                        task.sums[row, group] += increase
                    if task.squares is not None:
                        task.squares[row, group] += increase * increase
        return of_trees

    def shap(
        self, forest: Forest, X: Array, task: ShapTask, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Compute SHAP values tree by tree and row by row."""
        rows, n = _dense(X).tolist(), forest.n_features
        values = np.zeros((len(rows), n, n) if task.pairs else (len(rows), n))
        background = None if task.background is None else _dense(task.background).tolist()
        for t, tree in enumerate(_flat_trees(forest)):
            nodes = slice(*forest.tree_start[t : t + 2])
            weight, amounts = forest.weight[nodes].tolist(), task.amounts[nodes].tolist()
            rule = make_rule(max((shap.count_features(tree) + 1) // 2, 1))
            points = list(zip(rule.points.tolist(), rule.rest.tolist(), rule.weights.tolist(), strict=True))
            for r, row in enumerate(rows):
                if task.is_new is not None and not task.is_new[t, r]:
                    continue
                if task.pairs:
                    shap.add_interactions(tree, weight, amounts, row, points, values[r])
                    continue
                if background is None:
                    found = shap.shap_values(tree, weight, amounts, row, points)
                else:
                    found = interventional.interventional_values(tree, amounts, row, background)
                for feature, value in found.items():
                    values[r, feature] += value
        return values

    def add_proximities(
        self, sharing: LeafMembership, k: int, n_threads: int = 1, watch: Watch | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Sum the proximities of each row."""
        kept = [share.keep_largest(sums, k) for sums in _sums_of_shares(sharing)]
        starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
        members = np.array([member for sums in kept for member in sums], dtype=np.int32)
        return starts, members, np.array([s for sums in kept for s in sums.values()], dtype=np.float64)

    def square_proximities(
        self,
        sharing: LeafMembership,
        of_rows: IntArray,
        of_members: IntArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Sum the squared proximities of each row."""
        kinds, sums = of_members.tolist(), _sums_of_shares(sharing)
        return np.array(
            [share.square_proximities(s, kind, kinds) for s, kind in zip(sums, of_rows.tolist(), strict=True)]
        )

    def quantiles(
        self,
        sharing: LeafMembership,
        target: FloatArray,
        levels: FloatArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Cumulate the weights of each row."""
        targets = target.tolist()
        found = [[share.quantile(sums, targets, q) for q in levels.tolist()] for sums in _sums_of_shares(sharing)]
        return np.array(found, dtype=np.float64).reshape(len(sharing.leaves), len(levels))

    def cumulated_shares(
        self,
        sharing: LeafMembership,
        target: FloatArray,
        limits: IntArray,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> FloatArray:
        """Cumulate the weights of each row."""
        found = [[share.cumulated_share(sums, i) for i in limits.tolist()] for sums in _sums_of_shares(sharing)]
        return np.array(found, dtype=np.float64).reshape(len(sharing.leaves), len(limits))

    def standard_deviations(
        self, sharing: LeafMembership, target: FloatArray, n_threads: int = 1, watch: Watch | None = None
    ) -> FloatArray:
        """Compute the standard deviation of each row from its weights."""
        return np.array([share.standard_deviation(sums, target.tolist()) for sums in _sums_of_shares(sharing)])

    def sum_dependence(
        self,
        forest: Forest,
        values: FloatArray,
        X: Array,
        weight: IntArray | None,
        free: FreeFeatures,
        bins: LocalBins | None,
        n_threads: int = 1,
        watch: Watch | None = None,
    ) -> DependenceSums:
        """Add up the values of leaves, one group after the other."""
        trees, rows = _flat_trees(forest), _dense(X).tolist()
        weights = [1] * len(rows) if weight is None else weight.tolist()
        by_tree = list(itertools.pairwise(forest.tree_start.tolist()))
        leaf_values = [values[begin:end].tolist() for begin, end in by_tree]
        places = [free.place[begin:end].tolist() for begin, end in by_tree]
        starts = np.concatenate([[0], np.cumsum(free.n_points, dtype=np.int64)])
        found = []
        for group in free.groups:
            axes = [dependence.Axis(f, int(free.n_points[f]), bool(free.has_categories[f]), places) for f in group]
            asked = dependence.Free(axes, rows, weights)
            if bins is not None:
                of_step = bins.of_step[starts[group[0]] : starts[group[0] + 1]]
                asked.bin_of_row, asked.bin_of_step = _bins(bins.of_row[group[0]]), _bins(of_step)
            found.append(dependence.sum_group(trees, leaf_values, asked))
        width = values.shape[1]
        return DependenceSums(
            np.array([step for sums in found for step in sums.steps]).reshape(-1, width),
            np.array([sums.on_path for sums in found]).reshape(-1, width),
            np.array(dependence.sum_own_leaves(trees, leaf_values, rows, weights)),
        )

    def sum_votes_out_of_bag(
        self,
        codes: Codes,
        growth: Growth,
        forest: Forest,
        X: Array,
        voting: str,
        n_threads: int = 1,
        watch: Watch | None = None,
        start: OutOfBagVotes | None = None,
        room: int = 0,
    ) -> OutOfBagVotes:
        """Sum the predictions of the trees for rows outside their bags."""
        coded = _own(codes)
        bags = self.bags(coded, growth, forest.origins).tolist()
        rows = _dense(X).tolist()
        before = start and (start.sums.reshape(len(rows), -1).tolist(), start.n_trees.tolist())
        out = definition.sum_votes_out_of_bag(coded, _flat_trees(forest), bags, rows, voting, before, room)
        sums = np.array(out.sums)
        return OutOfBagVotes(
            sums if forest.task is Task.CLASSIFICATION else sums[:, 0],
            np.array(out.n_trees, dtype=np.uint32),
            np.array(out.errors),
            np.array(out.shares),
        )

    def bag_source(self, codes: Codes) -> definition.Coded:
        """Return the coded table; bags do not need its columns."""
        return dataclasses.replace(_own(codes), columns=[])

    def weigh(self, codes: Codes, line: npt.NDArray[np.uint64]) -> definition.Coded:
        """Return the coded table with other row lengths."""
        coded = _own(codes)
        return dataclasses.replace(coded, line=line[coded.position].tolist())


def _own(codes: Codes) -> definition.Coded:
    """Refuse the codes of another engine."""
    if not isinstance(codes, definition.Coded):
        raise TypeError(f"The reference engine was given {type(codes).__name__}, which are codes of another engine.")
    return codes


def _bins(numbers: npt.NDArray[np.uint16]) -> list[int]:
    """Return numbers of bins, -1 for none."""
    return [-1 if number == NO_BIN else int(number) for number in numbers]


def _sums_of_shares(sharing: LeafMembership) -> list[dict[int, float]]:
    """Return the proximity of each given row to each member of its leaves."""
    shares = np.ones(len(sharing.member)) if sharing.share is None else sharing.share
    members = list(zip(sharing.member.tolist(), shares.tolist(), strict=True))
    start, trees = sharing.start.tolist(), sharing.tree_start[:-1].tolist()

    def members_of(tree: int, leaf: int) -> list[share.Member] | None:
        return None if leaf < 0 else members[start[tree + leaf] : start[tree + leaf + 1]]

    sums = [
        share.add_proximities([members_of(*at) for at in zip(trees, leaves, strict=True)])
        for leaves in sharing.leaves.tolist()
    ]
    if sharing.counting is None:
        return sums
    counting = sharing.counting.tolist()
    return [share.divide(s, row, counting) for s, row in zip(sums, counting, strict=True)]


def _dense(X: "Array | sparse.spmatrix") -> FloatArray:
    """Convert a table to float64, the only type that the definition reads."""
    dense: FloatArray = (X.toarray() if not isinstance(X, np.ndarray) else X).astype(np.float64)
    return dense


def _plain(growth: Growth) -> definition.Growth:
    """Convert growth parameters: the reference engine does not import other parts of weald."""
    return definition.Growth(**{name: getattr(growth, name) for name in definition.Growth.__dataclass_fields__})


def _forest_of(
    trees: Sequence[definition.FlatTree],
    n_features: int,
    n_classes: int,
    center: float,
    exponent: int,
    origin: Origin,
) -> Forest:
    """Concatenate flat trees to a forest."""
    sets = [c for tree in trees for c in tree.categories if c is not None]
    entries = [[(k, c) for k, c in enumerate(leaf) if c] for tree in trees for leaf in tree.classes]

    def per_node(name: str, dtype: type) -> Array:
        return np.array([x for tree in trees for x in getattr(tree, name)], dtype=dtype)

    flags = [_flags(tree, node) for tree in trees for node in range(len(tree.feature))]
    threshold = per_node("threshold", np.float64)
    threshold[[flag & CATEGORICAL != 0 for flag in flags]] = np.arange(len(sets))
    return Forest(
        n_features=n_features,
        n_classes=n_classes,
        target_center=center,
        target_exponent=exponent,
        tree_start=np.cumsum([0, *(len(tree.feature) for tree in trees)], dtype=np.int64),
        feature=per_node("feature", np.int32),
        threshold=threshold,
        right=per_node("right", np.int32),
        flags=np.array(flags, dtype=np.uint8),
        size=per_node("size", np.uint32),
        weight=per_node("weight", np.float64),
        decrease=per_node("decrease", np.float64),
        leaf_start=np.cumsum([0, *(len(leaf) for leaf in entries)], dtype=np.int64),
        leaf_class=np.array([k for leaf in entries for k, _ in leaf], dtype=np.int32),
        leaf_weight=np.array([c for leaf in entries for _, c in leaf], dtype=np.float64),
        value=per_node("value", np.float64),
        impurity=per_node("impurity", np.float64),
        category_start=np.cumsum([0, *(len(c.of_lighter) for c in sets)], dtype=np.int64),
        category_sets=np.array([x for c in sets for x in c.of_lighter], dtype=np.uint32),
        weight_scale=np.array([tree.weight_scale for tree in trees if tree.weight_scale is not None]),
        origins=(origin,),
    )


def _flags(tree: definition.FlatTree, node: int) -> int:
    """Return the flags of a node as bits."""
    flags, categories = MISSING_LEFT * tree.missing_left[node], tree.categories[node]
    return flags | (CATEGORICAL | OTHERS_LEFT * categories.others_left if categories else 0)


def _flat_trees(forest: Forest) -> list[definition.FlatTree]:
    """Read trees back from the arrays, with leaves that predict shrunk values if the forest is shrunk."""
    trees = []
    leaf_index = forest.leaf_index()
    weight = forest.in_user_weights(forest.weight)
    for begin, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        nodes = slice(begin, end)
        tree = definition.FlatTree(
            feature=forest.feature[nodes].tolist(),
            threshold=forest.threshold[nodes].tolist(),
            right=forest.right[nodes].tolist(),
            missing_left=[bool(f & MISSING_LEFT) for f in forest.flags[nodes]],
            categories=[_categories(forest, node) for node in range(begin, end)],
            value=forest.value[nodes].tolist(),
        )
        if forest.task is Task.CLASSIFICATION:
            for leaf in leaf_index[nodes][forest.feature[nodes] < 0]:
                entries = slice(forest.leaf_start[leaf], forest.leaf_start[leaf + 1])
                classes = [0.0] * forest.n_classes
                for k, w in zip(forest.leaf_class[entries].tolist(), forest.leaf_weight[entries].tolist(), strict=True):
                    classes[k] = w
                tree.classes.append(classes)
        if forest.shrinkage:
            tree = shrink_tree(tree, weight[nodes].tolist(), forest.shrinkage, forest.n_classes)
        trees.append(tree)
    return trees


def _categories(forest: Forest, node: int) -> definition.Categories | None:
    """Read the set of a categorical split."""
    if not forest.flags[node] & CATEGORICAL:
        return None
    return definition.Categories(forest.category_set(node).tolist(), bool(forest.flags[node] & OTHERS_LEFT))
