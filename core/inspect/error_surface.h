// The errors of a forest under many settings of its stopping rules, in one pass over its trees.
//
//   SurfaceSettings   the settings: stopping rules, and which votes the nodes have
//   SurfaceTrees      some trees, and the leaf of each row that is new to them
//   SurfaceSums       the sums of votes so far
//   KnownRows         the targets and weights of the rows
//   add_to_surface    adds the votes of trees in their order; returns the errors after some of them
//
// With a setting, a row ends in the first node on its path whose split the setting removes. So each leaf of a full
// tree has one vote for each setting: a row of a table, which is computed once per tree, from the root down, and added
// to the sums of each row that reaches the leaf. Tables of several trees are added to a block of rows at a time, whose
// sums stay in the cache; errors are computed while they are there.
//
// Errors are summed in double: over the rows of a block in their order, then over blocks. The same sums are in
// src/weald/forest/error_sums.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/task.h"
#include "base/threads.h"

namespace weald {

constexpr std::size_t kRowsOfSum = 1024;  // rows of a block

struct SurfaceSettings {
    std::span<const std::int64_t> max_depth;
    std::span<const std::int64_t> min_samples_split;
    std::span<const double> min_impurity_decrease;  // 0: no test
    std::span<const std::int64_t> max_leaf_nodes;   // 0: no limit
    std::span<const double> ccp_alpha;
    std::span<const std::int32_t> votes;  // index of the votes of nodes

    std::size_t size() const { return max_depth.size(); }
};

struct SurfaceTrees {
    std::span<const std::int64_t> tree_start;
    std::span<const std::int32_t> feature;       // below 0 in a leaf
    std::span<const std::int32_t> right;         // inside the tree
    std::span<const std::uint32_t> size;         // of nodes
    std::span<const double> decrease;            // of splits
    int exponent;                                // times 2^exponent, decreases are in the user's units
    std::span<const double> weight;              // weight of each tree's votes; 0 if it has none
    std::vector<std::span<const double>> votes;  // nodes x width; of numbers, times a power of two
    std::span<const std::int32_t> leaves;        // trees x rows: node inside the tree; -1: the row is in the bag

    std::size_t n_trees() const { return tree_start.size() - 1; }
};

struct SurfaceSums {
    std::size_t n_rows;
    std::size_t width;
    std::size_t n_settings;
    std::span<double> sums;          // rows x width x settings
    std::span<double> weight;        // weight of the trees that voted for each row
    std::span<std::int64_t> leaves;  // leaves of all trees for each setting
};

struct KnownRows {
    std::span<const std::int32_t> classes;  // empty: regression
    std::span<const double> numbers;        // times the same power of two as the votes
    std::span<const double> weight;
};

// After each scored tree.
struct SurfaceErrors {
    std::vector<double> losses;          // scored x settings: sum of weight x loss, of rows that have votes
    std::vector<double> squares;         // scored x settings: sum of weight x (squared error - mean)^2; empty: classes
    std::vector<double> weight;          // scored: sum of the weights of these rows
    std::vector<double> weight_squares;  // scored
    std::vector<std::int64_t> n_rows;    // scored
    std::vector<std::int64_t> leaves;    // scored x settings: number of leaves of all trees so far
};

SurfaceErrors add_to_surface(const SurfaceTrees& trees, const SurfaceSettings& settings, const KnownRows& known,
                             std::span<const std::uint8_t> scored, const SurfaceSums& sums, Work& work);

}  // namespace weald
