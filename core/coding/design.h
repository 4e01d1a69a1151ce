// Strata, which have their own draws, and groups, which are drawn as a whole.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/view.h"

namespace weald {

struct Design {
    std::vector<std::uint32_t> strata;  // by rank; empty: there is only one
    std::vector<std::uint32_t> groups;  // by rank: the rank of the group; empty: each row is its own group
    std::uint32_t n_groups = 0;
    std::uint64_t fingerprint = 0;  // 0: neither strata nor groups
};

// The contribution of a row to the fingerprint of the data, per unit of weight.
struct RowPrint {
    std::uint64_t print;
    std::uint64_t weight;
};

// Groups are ranked by the sum of their rows' prints, ties by their first row. `prints` are by position.
Design make_design(const Table& table, std::span<const RowPrint> prints, std::span<const std::uint32_t> positions);

}  // namespace weald
