#include "coding/design.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace weald {

namespace {

// The rank of each group.
std::vector<std::uint32_t> rank_groups(const std::vector<std::uint64_t>& keys,
                                       const std::vector<std::uint32_t>& first) {
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return keys[a] != keys[b] ? keys[a] < keys[b] : first[a] < first[b];
    });
    std::vector<std::uint32_t> rank(keys.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        rank[order[i]] = i;
    }
    return rank;
}

void add_groups(Design& design, std::span<const std::int32_t> groups, std::span<const RowPrint> prints,
                std::span<const std::uint32_t> positions) {
    design.n_groups = static_cast<std::uint32_t>(*std::max_element(groups.begin(), groups.end())) + 1;
    std::vector<std::uint64_t> keys(design.n_groups);
    std::vector<std::uint32_t> first(design.n_groups, static_cast<std::uint32_t>(groups.size()));
    for (std::uint32_t r = 0; r < groups.size(); ++r) {
        const auto group = static_cast<std::size_t>(groups[r]);
        keys[group] += prints[r].weight * prints[r].print;
        first[group] = std::min(first[group], r);
    }
    for (const std::uint64_t key : keys) {
        design.fingerprint += mix64(key);
    }
    const std::vector<std::uint32_t> rank = rank_groups(keys, first);
    for (const std::uint32_t r : positions) {
        design.groups.push_back(rank[static_cast<std::size_t>(groups[r])]);
    }
}

void add_strata(Design& design, std::span<const std::int32_t> strata, std::span<const RowPrint> prints,
                std::span<const std::uint32_t> positions) {
    for (const std::uint32_t r : positions) {
        const auto stratum = static_cast<std::uint32_t>(strata[r]);
        design.strata.push_back(stratum);
        design.fingerprint += prints[r].weight * mix64(prints[r].print + mix64(stratum + 1));
    }
}

}  // namespace

Design make_design(const Table& table, std::span<const RowPrint> prints, std::span<const std::uint32_t> positions) {
    Design design;
    if (!table.strata.empty()) {
        add_strata(design, table.strata, prints, positions);
    }
    if (!table.groups.empty()) {
        add_groups(design, table.groups, prints, positions);
    }
    return design;
}

}  // namespace weald
