// Common parts of the target models.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "score/candidate.h"
#include "tree/tree.h"

namespace weald {

// A cut with `left` on its left side, if it is admissible.
template <class Scorer, class Cell>
std::optional<Candidate> judge_cell(const Scorer& scorer, const Cell& left, std::uint64_t order) {
    if (!scorer.is_admissible(left)) {
        return {};
    }
    const std::int64_t balance = scorer.balance(left);
    return Candidate{scorer.score(left), scorer.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)), order,
                     balance >= 0};
}

inline void reserve_leaves(TreeArrays& tree, std::size_t n_nodes) {
    const std::size_t n_leaves = n_nodes / 2 + 1;
    tree.leaf_length.reserve(n_leaves);
    tree.leaf_class.reserve(n_leaves);  // most nodes are pure
    tree.leaf_weight.reserve(n_leaves);
}

// Classification stores nothing here.
struct NoSums {
    void append(const NoSums&, std::size_t, std::size_t) {}
    void reserve(std::size_t) {}
};

}  // namespace weald
