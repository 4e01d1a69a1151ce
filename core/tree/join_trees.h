// The trees of a forest, joined in order.
//
//   GrownTrees    the arrays of the forest, and the unit of its targets
//   TreeJoiner    takes trees as they are grown, in any order
//
// A tree of a small forest is copied as soon as those before it are finished, while it is in a cache; the next one
// grows in its memory, so few new pages are allocated. Trees of a large forest take less memory than their share of it:
// they wait until all are grown and the memory used by growth is free again.

#pragma once

#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/release_memory.h"
#include "base/threads.h"
#include "tree/forest_arrays.h"
#include "tree/tree.h"

namespace weald {

struct GrownTrees {
    ForestArrays forest;
    double target_center = 0;
    int target_exponent = 0;
    std::vector<double> weight_scale;  // the user's unit of weight for each tree; empty: all equal
};

class TreeJoiner {
  public:
    explicit TreeJoiner(std::size_t n_trees);

    // Adds a tree, from any thread. Returns the memory of a tree that was copied meanwhile, if there is one.
    TreeArrays add(std::size_t number, TreeArrays tree);

    // Called when all trees have been added.
    ForestArrays finish(Work& work);

  private:
    // The number of entries of each kind.
    struct Counts {
        std::size_t nodes = 0;
        std::size_t values = 0;
        std::size_t impurities = 0;
        std::size_t leaves = 0;
        std::size_t entries = 0;  // entries of leaves
        std::size_t sets = 0;     // category sets
        std::size_t categories = 0;
    };
    struct Placed {
        TreeArrays tree;
        Counts start;
    };

    Placed place(TreeArrays tree);
    void make_room(std::size_t n_here);
    void copy(Placed& placed);
    void copy_all(Work& work);

    std::mutex order_;                 // guards the trees that have not been added to the forest
    std::vector<TreeArrays> waiting_;  // indexed by number
    std::vector<bool> is_waiting_;
    bool is_large_ = false;
    std::size_t next_ = 0;  // next tree to be placed
    Counts placed_;         // all trees before `next_`
    Counts room_;
    std::shared_mutex moving_;  // the arrays move while one thread holds it exclusively
    ForestArrays joined_;
};

}  // namespace weald
