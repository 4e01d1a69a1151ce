// What the models have in common.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "candidate.h"

namespace weald {

// A cut with `left` on its left side, if that is admissible.
template <class Scorer, class Cell>
std::optional<Candidate> judge_cell(const Scorer& scorer, const Cell& left, std::uint64_t order) {
    if (!scorer.is_admissible(left)) {
        return {};
    }
    const std::int64_t balance = scorer.balance(left);
    return Candidate{scorer.score(left), scorer.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)), order,
                     balance >= 0};
}

// Of classes nothing is kept.
struct NoSums {
    void append(const NoSums&, std::size_t, std::size_t) {}
    void reserve(std::size_t) {}
};

}  // namespace weald
