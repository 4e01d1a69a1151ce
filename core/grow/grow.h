// Growing trees: from codes and a seed to flat arrays.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "coding/codes.h"
#include "draw/tree_params.h"
#include "tree/join_trees.h"
#include "tree/piece.h"

namespace weald {

// Names of the criteria and whether they are for classification.
std::vector<std::pair<std::string, bool>> criteria();

GrownTrees grow_trees(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t first_tree,
                      std::uint32_t n_trees, Work& work);

// One tree in which nodes of other pieces are leaves. It must be grown depth-first, by one thread.
GrownTrees grow_piece(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t tree, Piece& piece,
                      Work& work);

}  // namespace weald
