// The arrays of a forest, as Python keeps them: the trees one behind the other.

#pragma once

#include <cstdint>

#include "large_pages.h"

namespace weald {

// Starts are one more than what they start; the last one is the end.
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

}  // namespace weald
