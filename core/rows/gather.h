// The codes of one feature, gathered for the rows of one node.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "coding/codes.h"

namespace weald {

// What is known about a node's codes of a feature. No code is present if low > high.
struct CodeRange {
    std::uint32_t low = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t high = 0;
    std::uint32_t n_missing = 0;
};

template <class Code>
inline constexpr Code kMissing = std::numeric_limits<Code>::max();

// Copies the codes of the rows `ids`, widening them; missing becomes the largest integer of the type.
template <class From, class To>
void gather_codes(const From* column, const std::uint32_t* ids, std::uint32_t n, To* codes) {
    for (std::uint32_t i = 0; i < n; ++i) {
        const From code = column[ids[i]];
        if constexpr (sizeof(From) == sizeof(To)) {
            codes[i] = code;
        } else {
            codes[i] = code == kMissing<From> ? kMissing<To> : static_cast<To>(code);
        }
    }
}

template <class Code>
CodeRange range_of(const Code* codes, std::uint32_t n) {
    Code low = kMissing<Code>;
    Code high = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        low = codes[i] < low ? codes[i] : low;
        high = codes[i] > high ? codes[i] : high;
    }
    if (high != kMissing<Code>) {
        return {low, high, 0};
    }
    // Some codes are missing. Shifted by 1, missing becomes 0, which is never the highest.
    std::uint32_t n_missing = 0;
    Code above = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        const auto next = static_cast<Code>(codes[i] + 1);
        above = next > above ? next : above;
        n_missing += next == 0;
    }
    return n_missing == n ? CodeRange{1, 0, n} : CodeRange{low, above - 1u, n_missing};
}

}  // namespace weald
