// The trees of a forest, one behind the other.

#pragma once

#include <vector>

#include "forest.h"
#include "forest_arrays.h"
#include "threads.h"

namespace weald {

// Takes the trees apart: what is copied is freed at once, so that the forest is not in memory twice.
ForestArrays join_trees(std::vector<TreeArrays> trees, Work& work);

}  // namespace weald
