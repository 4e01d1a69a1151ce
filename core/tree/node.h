// A node of a growing tree, and its split.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "score/candidate.h"
#include "score/monotonic.h"

namespace weald {

inline constexpr std::uint64_t kRootId = 1;

inline std::uint64_t child_id(std::uint64_t id, std::uint64_t side) {
    return mix64(2 * id + side);
}

// The rows of a node are a range of the tree's rows.
struct Node {
    std::uint32_t begin;
    std::uint32_t end;
    std::int32_t depth;
    std::uint64_t id;
    ValueBounds bounds = {};

    std::uint32_t n_rows() const { return end - begin; }
};

struct Split {
    std::uint32_t feature = 0;
    Candidate cut;
    std::uint32_t below = 0;  // the node's codes on both sides of the cut
    std::uint32_t above = 0;
    double decrease = 0;
    bool has_missing = false;  // the node has missing values of the feature
    bool missing_left = false;
    // For a categorical feature: which order of the categories is cut, and the index of their set in the grower.
    std::uint32_t order = 0;
    std::size_t set_begin = 0;
    std::size_t set_end = 0;
    double threshold = 0;  // threshold of a random cut
    double middle = 0;     // between the values of the sides, under a monotonic constraint
};

}  // namespace weald
