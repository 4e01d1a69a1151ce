// What trees say of the rows outside their bags.
//
// Rows become keys, as for prediction, and each tree is walked by those that its bag lacks, eight in step. Sums over
// trees run in tree order for each row, whatever the number of threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "predict/oob_curve.h"
#include "predict/packed.h"

namespace weald {

// For 64 trees at most: bit t of out[row] says whether the row is out of tree t's bag.
using OutOfBag = std::span<const std::uint64_t>;

struct OutOfBagVotes {
    std::vector<double> sums;            // rows x width
    std::vector<std::uint32_t> n_trees;  // by row: how many trees spoke of it
    ErrorCurve curve;
};

struct TreeRange {
    std::size_t begin;
    std::size_t end;
    std::size_t first_packed = 0;  // number of the first tree of the packed forest
};

// Adds what the trees, 64 at most, say of rows that are out of bag to their sums; hard: one vote for the most common
// class of the leaf. Counts the trees that spoke of each row, and puts the error after each tree on the curve.
void add_votes_out_of_bag(const PackedForest& forest, const Matrix& x, bool hard, TreeRange trees, OutOfBag out,
                          OutOfBagVotes& votes, Work& work);

}  // namespace weald
