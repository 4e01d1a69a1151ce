// Vectors of doubles, as wide as the instruction set allows, and masks of their lanes.

#pragma once

#include <cstddef>
#include <cstdint>

namespace weald {

#if defined(__AVX512F__)
constexpr std::size_t kDoubles = 8;
#elif defined(__AVX2__)
constexpr std::size_t kDoubles = 4;
#else
constexpr std::size_t kDoubles = 2;
#endif

typedef double DoubleVector __attribute__((vector_size(kDoubles * sizeof(double))));
typedef std::int64_t LaneMask __attribute__((vector_size(kDoubles * sizeof(std::int64_t))));  // -1: true, 0: false

inline DoubleVector all_lanes(double x) {
    return x - DoubleVector{};
}

}  // namespace weald
