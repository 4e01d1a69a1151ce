#include "tree/forest_view.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/require.h"
#include "tree/tree.h"

namespace weald {

namespace {

// Sets are numbered in the order of their nodes, and their categories ascend.
void check_sets(const ForestView& forest) {
    const auto is_by_set = [&](std::size_t i) {
        return (forest.flags[i] & kCategorical) != 0 && forest.feature[i] >= 0;
    };
    std::size_t n_sets = 0;
    for (std::size_t i = 0; i < forest.feature.size(); ++i) {
        if (is_by_set(i)) {
            require(forest.threshold[i] == static_cast<double>(n_sets), "sets of categories are not in order");
            ++n_sets;
        }
    }
    require(forest.category_start.size() == n_sets + 1 && forest.category_start.front() == 0,
            "category_start and categorical splits differ in number");
    require(static_cast<std::size_t>(forest.category_start.back()) == forest.category_sets.size(),
            "category_start does not end at the number of categories");
    for (std::size_t s = 0; s < n_sets; ++s) {
        require(forest.category_start[s] <= forest.category_start[s + 1] &&
                    forest.category_start[s + 1] <= forest.category_start.back(),
                "category_start does not ascend");
        for (std::int64_t j = forest.category_start[s] + 1; j < forest.category_start[s + 1]; ++j) {
            const auto at = static_cast<std::size_t>(j);
            require(forest.category_sets[at - 1] < forest.category_sets[at],
                    "the categories of a set are not in ascending order");
        }
    }
}

// All nodes are checked before any is reported: without branches, many at once.
void check_tree(const ForestView& forest, std::size_t begin, std::int32_t n_nodes) {
    bool features_fit = true, children_fit = true;
    std::int32_t n_leaves = 0;
    for (std::int32_t i = 0; i < n_nodes; ++i) {
        const std::int32_t feature = forest.feature[begin + i], right = forest.right[begin + i];
        const bool is_leaf = feature < 0;
        n_leaves += is_leaf;
        features_fit &= is_leaf | (static_cast<std::uint32_t>(feature) < forest.n_features);
        children_fit &= is_leaf | ((right > i + 1) & (right < n_nodes));
    }
    require(features_fit, "a feature is out of range");
    require(children_fit, "a right child is out of range");
    require(n_leaves == n_nodes - n_leaves + 1, "a tree does not have one leaf more than it has splits");
}

}  // namespace

SomeTrees::SomeTrees(const ForestView& forest, std::size_t begin, std::size_t end)
    : tree_start_(forest.tree_start.begin() + static_cast<std::ptrdiff_t>(begin),
                  forest.tree_start.begin() + static_cast<std::ptrdiff_t>(end) + 1),
      view_(forest) {
    const auto first = static_cast<std::size_t>(tree_start_.front());
    const std::size_t n = static_cast<std::size_t>(tree_start_.back()) - first;
    for (std::int64_t& start : tree_start_) {
        start -= static_cast<std::int64_t>(first);
    }
    view_.tree_start = tree_start_;
    view_.feature = forest.feature.subspan(first, n);
    view_.threshold = forest.threshold.subspan(first, n);
    view_.right = forest.right.subspan(first, n);
    view_.flags = forest.flags.subspan(first, n);
    if (!forest.value.empty()) {
        view_.value = forest.value.subspan(first, n);
    }
    if (forest.task() == Task::classification) {  // a tree has one leaf more than splits
        view_.leaf_start = forest.leaf_start.subspan((first + begin) / 2, (n + end - begin) / 2 + 1);
    }
}

void check_forest(const ForestView& forest) {
    const std::size_t n = forest.feature.size();
    require(forest.n_features > 0, "a forest needs features");
    require(!forest.tree_start.empty() && forest.tree_start.front() == 0, "tree_start does not begin at 0");
    require(static_cast<std::size_t>(forest.tree_start.back()) == n, "tree_start does not end at the number of nodes");
    require(forest.threshold.size() == n && forest.right.size() == n && forest.flags.size() == n,
            "arrays of nodes differ in length");
    require(forest.value.size() == n || (forest.task() == Task::classification && forest.value.empty()),
            "values and nodes differ in number");
    require(forest.task() == Task::regression || forest.n_classes == 2 || forest.value.empty(),
            "values are not for many classes");
    for (std::size_t t = 0; t + 1 < forest.tree_start.size(); ++t) {
        const std::int64_t begin = forest.tree_start[t];
        const std::int64_t end = forest.tree_start[t + 1];
        // Before a node is read: intermediate starts may lie beyond the arrays, whatever the last one is.
        require(
            begin < end && end <= forest.tree_start.back() && end - begin < std::numeric_limits<std::int32_t>::max(),
            "a tree has no nodes, or too many");
        check_tree(forest, static_cast<std::size_t>(begin), static_cast<std::int32_t>(end - begin));
    }
    check_sets(forest);
    if (forest.task() == Task::regression) {
        return;
    }
    const auto n_leaves = static_cast<std::size_t>(
        std::count_if(forest.feature.begin(), forest.feature.end(), [](std::int32_t f) { return f < 0; }));
    require(forest.leaf_start.size() == n_leaves + 1, "leaf_start and leaves differ in number");
    require(forest.leaf_start.front() == 0, "leaf_start does not begin at 0");
    for (std::size_t t = 0; t + 1 < forest.tree_start.size(); ++t) {
        const auto begin = static_cast<std::size_t>(forest.tree_start[t]);
        const std::size_t n_nodes = static_cast<std::size_t>(forest.tree_start[t + 1]) - begin;
        const std::size_t first = (begin + t) / 2;  // each tree before has one leaf more than splits
        for (std::size_t i = first; i < first + n_nodes / 2 + 1; ++i) {
            const bool is_empty = n_nodes == 1 && forest.leaf_start[i] == forest.leaf_start[i + 1];  // the bag is empty
            require(is_empty || forest.leaf_start[i] < forest.leaf_start[i + 1], "a leaf has no classes");
        }
    }
    require(static_cast<std::size_t>(forest.leaf_start.back()) == forest.leaf_class.size() &&
                forest.leaf_class.size() == forest.leaf_weight.size() &&
                forest.leaf_class.size() <= std::numeric_limits<std::uint32_t>::max(),
            "arrays of leaves differ in length");
    for (const std::int32_t k : forest.leaf_class) {
        require(k >= 0 && static_cast<std::uint32_t>(k) < forest.n_classes, "a class is out of range");
    }
}

}  // namespace weald
