// The arrays of a forest by name, for Python.

#pragma once

#include <utility>

#include "arrays.h"
#include "forest_arrays.h"

namespace weald {

inline nb::dict dict_of(ForestArrays arrays) {
    nb::dict found;
    found["tree_start"] = to_numpy(std::move(arrays.tree_start));
    found["feature"] = to_numpy(std::move(arrays.feature));
    found["threshold"] = to_numpy(std::move(arrays.threshold));
    found["right"] = to_numpy(std::move(arrays.right));
    found["flags"] = to_numpy(std::move(arrays.flags));
    found["size"] = to_numpy(std::move(arrays.size));
    found["weight"] = to_numpy(std::move(arrays.weight));
    found["decrease"] = to_numpy(std::move(arrays.decrease));
    found["leaf_start"] = to_numpy(std::move(arrays.leaf_start));
    found["leaf_class"] = to_numpy(std::move(arrays.leaf_class));
    found["leaf_weight"] = to_numpy(std::move(arrays.leaf_weight));
    found["value"] = to_numpy(std::move(arrays.value));
    found["impurity"] = to_numpy(std::move(arrays.impurity));
    found["category_start"] = to_numpy(std::move(arrays.category_start));
    found["category_sets"] = to_numpy(std::move(arrays.category_sets));
    return found;
}

}  // namespace weald
