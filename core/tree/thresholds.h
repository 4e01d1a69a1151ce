// The thresholds of cuts: midpoints between the values of two codes.
//
//   place_threshold      between two values
//   put_off, beside_of   the two codes instead of a threshold, if the values of codes were not stored
//   look_up_values       looks up the values of a feature's codes in the table
//   look_up_thresholds   writes the postponed thresholds when the forest has been grown

#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "base/threads.h"
#include "coding/codes.h"
#include "coding/column.h"
#include "tree/forest_arrays.h"
#include "tree/tree_parts.h"

namespace weald {

inline constexpr std::uint32_t kNothingAbove = 0xFFFFFFFFu;  // present values against missing ones

// Midpoint of a < b, so that a goes left and b goes right.
inline double place_threshold(double a, double b) {
    const double t = a / 2 + b / 2;
    return a <= t && t < b ? t : a;
}

inline double put_off(const CutCodes& beside) {
    return std::bit_cast<double>(std::uint64_t{beside.below} << 32 | beside.above);
}
inline CutCodes beside_of(double threshold) {
    const auto both = std::bit_cast<std::uint64_t>(threshold);
    return {static_cast<std::uint32_t>(both >> 32), static_cast<std::uint32_t>(both)};
}

// The smallest and the largest value of each code.
std::pair<Values, Values> look_up_values(const Codes& codes, std::size_t feature);

void look_up_thresholds(ForestArrays& forest, const Codes& codes, Work& work);

}  // namespace weald
