// The arrays of a forest, as in Python: the trees one after the other.
//
//   ForestArrays        all of them
//   for_walked_arrays   calls use(name, array) for the arrays that a walk needs
//   for_arrays          calls it for all arrays

#pragma once

#include <cstdint>

#include "base/large_pages.h"

namespace weald {

// There is one more start than parts; the last start is the end.
struct ForestArrays {
    LargeVector<std::int64_t> tree_start;
    LargeVector<std::int32_t> feature;
    LargeVector<double> threshold;
    LargeVector<std::int32_t> right;
    LargeVector<std::uint8_t> flags;
    LargeVector<std::uint32_t> size;
    LargeVector<double> weight;
    LargeVector<double> decrease;
    LargeVector<std::int64_t> leaf_start;
    LargeVector<std::int32_t> leaf_class;
    LargeVector<double> leaf_weight;
    LargeVector<double> value;
    LargeVector<double> impurity;
    LargeVector<std::int64_t> category_start;
    LargeVector<std::uint32_t> category_sets;
};

template <class Forest, class Use>
void for_walked_arrays(Forest& forest, Use&& use) {
    use("tree_start", forest.tree_start);
    use("feature", forest.feature);
    use("threshold", forest.threshold);
    use("right", forest.right);
    use("flags", forest.flags);
    use("leaf_start", forest.leaf_start);
    use("leaf_class", forest.leaf_class);
    use("leaf_weight", forest.leaf_weight);
    use("value", forest.value);
    use("category_start", forest.category_start);
    use("category_sets", forest.category_sets);
}

template <class Forest, class Use>
void for_arrays(Forest& forest, Use&& use) {
    for_walked_arrays(forest, use);
    use("size", forest.size);
    use("weight", forest.weight);
    use("decrease", forest.decrease);
    use("impurity", forest.impurity);
}

}  // namespace weald
