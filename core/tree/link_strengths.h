// The alpha at which cost-complexity pruning removes each split of a tree.
//
//   link_strengths   for every node; -infinity in leaves
//
// src/weald/forest/pruning.py defines them and says how they are found; this is the same in whole numbers of fixed
// width, so each strength is rounded once and has the same bits.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weald {

// One tree. `kept`: the splits that it has, above each of which all are kept; other nodes count as leaves.
struct PrunedTree {
    std::span<const std::uint8_t> kept;
    std::span<const std::int32_t> right;  // inside the tree
    std::span<const double> decrease;     // at least 0
};

std::vector<double> link_strengths(const PrunedTree& tree);

}  // namespace weald
