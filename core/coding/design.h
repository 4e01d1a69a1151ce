// How the rows of a table belong together: in strata, which have draws of their own, and in groups, which are drawn
// whole.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/view.h"

namespace weald {

struct Design {
    std::vector<std::uint32_t> strata;  // by rank; empty: there is but one
    std::vector<std::uint32_t> groups;  // by rank: the group's own rank; empty: each row for itself
    std::uint32_t n_groups = 0;
    std::uint64_t fingerprint = 0;  // 0: neither strata nor groups
};

// What a row adds to the fingerprint of the data, for each unit of its weight.
struct RowPrint {
    std::uint64_t print;
    std::uint64_t weight;
};

// Groups are ranked by the sum of their rows' prints, ties by their first row. `prints` are by position.
Design make_design(const Table& table, std::span<const RowPrint> prints, std::span<const std::uint32_t> positions);

}  // namespace weald
