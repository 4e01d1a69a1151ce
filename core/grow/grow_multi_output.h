// Growing multi-output trees.

#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "coding/codes.h"
#include "draw/tree_params.h"
#include "targets/multi_output.h"
#include "tree/join_trees.h"

namespace weald {

// Entries of leaves have the classes of all targets, one after the other; values are by node and target.
struct GrownTargets {
    GrownTrees grown;
    std::vector<double> centers;  // indexed by target
};

GrownTargets grow_targets(const Codes& codes, const Targets& targets, const Growth& growth, std::uint64_t seed,
                          std::uint32_t first_tree, std::uint32_t n_trees, Work& work);

}  // namespace weald
