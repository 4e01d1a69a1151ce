// Permutation importance: the increase in a tree's loss when the values of some features are permuted among its
// out-of-bag rows.
//
// For each tree and each group of features, every out-of-bag row takes the group's values from another such row. If the
// path of a row does not use the group, its leaf does not change. So a row is walked once, the first node of each group
// on its path is recorded, and only these walks are repeated, from that node on.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "predict/leaves.h"

namespace weald {

struct PermutationTask {
    std::span<const std::int32_t> group_of;   // by feature: its group; -1: it is not permuted
    std::span<const std::uint32_t> group_id;  // by group: part of the address of its draws
    std::uint32_t repeat;                     // part of the address, too
    std::span<const std::uint32_t> order;     // rows in rank order
    std::span<const double> target;           // by row: a number, or the index of a class
    std::span<const double> weight;           // indexed by row
    std::span<const std::uint8_t> is_new;     // trees x rows: whether the row is out of the tree's bag
    std::span<const std::int32_t> cells;  // trees x groups x rows: values are permuted inside cells; empty: among all

    std::size_t n_groups() const { return group_id.size(); }
};

struct NamedTree {
    std::size_t place;  // position of the tree in the forest
    std::uint64_t seed;
    std::uint32_t number;
};

// The increase of the loss of each row over all trees, rows x groups: sums, and sums of squares. Empty if not
// requested.
struct ByRow {
    std::span<double> sums;
    std::span<double> squares;
};

// Increase of the loss (error rate, or squared error) by tree and group: sums over the tree's out-of-bag rows by
// weight, in rank order. The increase for each row is added to by_row, unweighted, in tree order.
std::vector<double> mix_features(const Predictor& predictor, const Matrix& x, std::span<const NamedTree> trees,
                                 const PermutationTask& request, ByRow by_row, Work& work);

// The source row of each of n rows: a shuffle inside each cell.
std::vector<std::uint32_t> shuffle_rows(std::span<const std::int32_t> cells, std::size_t n, std::uint64_t seed,
                                        std::uint32_t tree, std::uint32_t group_id, std::uint32_t repeat);

}  // namespace weald
