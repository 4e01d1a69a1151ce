// Trees as flat arrays, one entry per node in pre-order: the left child of node i is node i + 1.

#pragma once

#include <cstdint>
#include <vector>

namespace weald {

enum NodeFlags : std::uint8_t { kMissingLeft = 1, kCategorical = 2, kOthersLeft = 4 };

struct TreeArrays {
    std::vector<std::int32_t> feature;  // -1: leaf
    std::vector<double> threshold;      // 0 in leaves
    std::vector<std::int32_t> right;    // number of the right child, 0 in leaves
    std::vector<std::uint8_t> flags;
    std::vector<std::uint32_t> size;
    std::vector<double> weight;
    std::vector<double> decrease;

    // Classification, by leaf: how many classes it has; by (leaf, class): the class and its weight.
    std::vector<std::uint32_t> leaf_length;
    std::vector<std::int32_t> leaf_class;
    std::vector<double> leaf_weight;
    // Regression, by node.
    std::vector<double> value;
    std::vector<double> impurity;
    // By categorical split: how many categories its set has; by (split, category): the category. `threshold` is the
    // number of the set.
    std::vector<std::uint32_t> set_length;
    std::vector<std::uint32_t> category_sets;

    std::size_t n_nodes() const { return feature.size(); }
    void reserve(std::size_t n) {
        feature.reserve(n);
        threshold.reserve(n);
        right.reserve(n);
        flags.reserve(n);
        size.reserve(n);
        weight.reserve(n);
        decrease.reserve(n);
    }
};

}  // namespace weald
