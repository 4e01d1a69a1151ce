// A forest as the arrays that Python keeps.

#pragma once

#include <cstdint>
#include <span>

namespace weald {

// Those that a walk needs (forest_arrays.h tells their names).
struct ForestView {
    std::uint32_t n_features = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::span<const std::int64_t> tree_start;
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int32_t> right;
    std::span<const std::uint8_t> flags;
    std::span<const std::int64_t> leaf_start;
    std::span<const std::int32_t> leaf_class;
    std::span<const double> leaf_weight;
    std::span<const double> value;
    std::span<const std::int64_t> category_start;
    std::span<const std::uint32_t> category_sets;

    std::size_t n_trees() const { return tree_start.size() - 1; }
};

// Throws std::invalid_argument where the arrays do not make a forest.
void check_forest(const ForestView& forest);

}  // namespace weald
