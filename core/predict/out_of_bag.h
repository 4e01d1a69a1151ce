// Out-of-bag votes.
//
// Rows are converted to keys, as for prediction, and each tree is walked by its out-of-bag rows, eight in step. Sums
// over trees run in tree order for each row, for any number of threads.

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

// For at most 64 trees: bit t of out[row] is set if the row is out of tree t's bag.
using OutOfBag = std::span<const std::uint64_t>;

struct OutOfBagVotes {
    std::vector<double> sums;            // rows x width
    std::vector<std::uint32_t> n_trees;  // by row: how many trees voted for it
    ErrorCurve curve;
};

struct TreeRange {
    std::size_t begin;
    std::size_t end;
    std::size_t first_packed = 0;  // index of the first tree of the packed forest
};

// Adds the votes of at most 64 trees for out-of-bag rows to their sums; hard: one vote for the most common class of the
// leaf. Counts the trees that voted for each row, and adds the error after each tree to the curve.
void add_votes_out_of_bag(const PackedForest& forest, const Matrix& x, bool hard, TreeRange trees, OutOfBag out,
                          OutOfBagVotes& votes, Work& work);

}  // namespace weald
