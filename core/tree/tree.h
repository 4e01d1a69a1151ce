// Trees as flat arrays, one entry per node in pre-order: the left child of node i is node i + 1.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weald {

enum NodeFlags : std::uint8_t { kMissingLeft = 1, kCategorical = 2, kOthersLeft = 4 };

struct TreeArrays {
    std::vector<std::int32_t> feature;  // -1: leaf
    std::vector<double> threshold;      // 0 in leaves
    std::vector<std::int32_t> right;    // number of the right child, 0 in leaves
    std::vector<std::uint8_t> flags;
    std::vector<std::uint32_t> size;
    std::vector<double> weight;  // empty: the sizes
    std::vector<double> decrease;

    // Classification, by leaf: its number of classes; by (leaf, class): the class and its weight.
    std::vector<std::uint32_t> leaf_length;
    std::vector<std::int32_t> leaf_class;
    std::vector<double> leaf_weight;
    // Regression, by node.
    std::vector<double> value;
    std::vector<double> impurity;
    // By categorical split: the number of categories of its set; by (split, category): the category. `threshold` is the
    // index of the set.
    std::vector<std::uint32_t> set_length;
    std::vector<std::uint32_t> category_sets;

    std::size_t n_nodes() const { return feature.size(); }
    void reserve(std::size_t n) {
        feature.reserve(n);
        threshold.reserve(n);
        right.reserve(n);
        flags.reserve(n);
        size.reserve(n);
        decrease.reserve(n);
    }
};

// Reads a tree from its first node to its last, to append its nodes to another.
struct TreeCursor {
    const TreeArrays& tree;
    std::size_t node = 0;
    std::size_t leaf = 0;
    std::size_t entry = 0;  // index into leaf_class and leaf_weight
    std::size_t set = 0;
    std::size_t category = 0;

    // Appends the next n nodes; `right` is unchanged.
    void copy(std::size_t n, TreeArrays& to) {
        append(to.feature, tree.feature, node, n);
        append(to.threshold, tree.threshold, node, n);
        append(to.right, tree.right, node, n);
        append(to.flags, tree.flags, node, n);
        append(to.size, tree.size, node, n);
        append(to.decrease, tree.decrease, node, n);
        if (!tree.set_length.empty()) {
            const auto flags = tree.flags.begin() + static_cast<std::ptrdiff_t>(node);
            const auto n_sets =
                static_cast<std::size_t>(std::count_if(flags, flags + static_cast<std::ptrdiff_t>(n),
                                                       [](std::uint8_t flag) { return (flag & kCategorical) != 0; }));
            const std::size_t n_categories = sum_of_lengths(tree.set_length, set, n_sets);
            append(to.set_length, tree.set_length, set, n_sets);
            append(to.category_sets, tree.category_sets, category, n_categories);
            set += n_sets;
            category += n_categories;
        }
        if (!tree.leaf_length.empty()) {
            const auto first = tree.feature.begin() + static_cast<std::ptrdiff_t>(node);
            const auto n_leaves =
                static_cast<std::size_t>(std::count(first, first + static_cast<std::ptrdiff_t>(n), -1));
            const std::size_t n_entries = sum_of_lengths(tree.leaf_length, leaf, n_leaves);
            append(to.leaf_length, tree.leaf_length, leaf, n_leaves);
            append(to.leaf_class, tree.leaf_class, entry, n_entries);
            append(to.leaf_weight, tree.leaf_weight, entry, n_entries);
            leaf += n_leaves;
            entry += n_entries;
        }
        if (!tree.weight.empty()) {
            append(to.weight, tree.weight, node, n);
        }
        if (!tree.value.empty()) {
            append(to.value, tree.value, node, n);
        }
        node += n;
    }

    static std::size_t sum_of_lengths(const std::vector<std::uint32_t>& lengths, std::size_t begin, std::size_t n) {
        const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::accumulate(first, first + static_cast<std::ptrdiff_t>(n), std::size_t{0});
    }

    template <class T>
    static void append(std::vector<T>& to, const std::vector<T>& from, std::size_t begin, std::size_t n) {
        const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
        to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(n));
    }
};

}  // namespace weald
