// The distinct values of a column and their weights, in some rows of a part, or in all parts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/view.h"

namespace weald {

template <class Float>
struct WeighedValues {
    std::vector<Float> values;  // distinct, ascending; without missing ones
    std::vector<std::uint64_t> weights;
};

// Adds up the weights of equal values in a column. `rows` empty: all rows; `lengths` (by row) empty: all one.
template <class Float>
WeighedValues<Float> weigh_values(const Matrix& x, std::size_t column, std::span<const std::uint32_t> rows,
                                  std::span<const std::uint64_t> lengths);

}  // namespace weald
