// Sorting many keys byte by byte.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weald {

// Sorts the first n keys code << 32 | row by their codes, which are from `low` to `high`. Equal codes stay in order.
inline void sort_by_code(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& spare, std::uint32_t n,
                         std::uint32_t low, std::uint32_t high) {
    const int n_bits = std::bit_width(high - low);
    for (int shift = 0; shift < n_bits; shift += 8) {
        std::array<std::uint32_t, 257> starts{};
        const auto digit = [&](std::uint64_t key) {
            return (static_cast<std::uint32_t>(key >> 32) - low) >> shift & 0xFF;
        };
        for (std::uint32_t i = 0; i < n; ++i) {
            ++starts[digit(keys[i]) + 1];
        }
        std::inclusive_scan(starts.begin(), starts.end(), starts.begin());
        for (std::uint32_t i = 0; i < n; ++i) {
            spare[starts[digit(keys[i])]++] = keys[i];
        }
        keys.swap(spare);
    }
}

}  // namespace weald
