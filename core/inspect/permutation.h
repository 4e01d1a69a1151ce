// Permutation importance: how much worse is a tree when the values of some features are permuted among its out-of-bag
// rows?
//
// For each tree and each group of features, every row that the tree has not seen takes the group's values from another
// such row. A row whose path does not meet the group stays where it is: so a row is walked once, the groups on its path
// are noted with the node where each is met first, and only these walks are taken again, from there on.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "predict/leaves.h"

namespace weald {

struct Mixing {
    std::span<const std::int32_t> group_of;   // by feature: its group; -1: it is not permuted
    std::span<const std::uint32_t> group_id;  // by group: enters the address of its draws
    std::uint32_t repeat;                     // enters it, too
    std::span<const std::uint32_t> order;     // rows in rank order
    std::span<const double> target;           // by row: a number, or the number of a class
    std::span<const double> weight;           // by row
    std::span<const std::uint8_t> is_new;     // trees x rows: is the row out of the tree's bag?
    std::span<const std::int32_t> cells;  // trees x groups x rows: values are permuted inside cells; empty: among all

    std::size_t n_groups() const { return group_id.size(); }
};

struct NamedTree {
    std::size_t place;  // in the forest
    std::uint64_t seed;
    std::uint32_t number;
};

// What a row loses in all trees, rows x groups: its sums, and sums of squares. Empty where it is not wanted.
struct ByRow {
    std::span<double> sums;
    std::span<double> squares;
};

// Increase of the loss (fraction of wrong classes, or squared error) by tree and group: sums over the tree's new rows
// by weight, in rank order. What rows lose is added to by_row, unweighted, in tree order.
std::vector<double> mix_features(const Predictor& predictor, const Matrix& x, std::span<const NamedTree> trees,
                                 const Mixing& mixing, ByRow by_row, Work& work);

// Which of n rows each row takes its values from: a shuffle inside each cell.
std::vector<std::uint32_t> shuffle_rows(std::span<const std::int32_t> cells, std::size_t n, std::uint64_t seed,
                                        std::uint32_t tree, std::uint32_t group_id, std::uint32_t repeat);

}  // namespace weald
