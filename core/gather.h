// The codes of one feature, gathered for the rows of one node.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "codes.h"

namespace weald {

// What is known of a node's codes of a feature. No code is present when low > high.
struct CodeRange {
    std::uint32_t low = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t high = 0;
    std::uint32_t n_missing = 0;

    bool is_constant() const { return low > high || (low == high && n_missing == 0); }
};

template <class Code>
inline constexpr Code kMissing = std::numeric_limits<Code>::max();

// Copies the codes of the rows `ids`, widening them; missing stays the largest number of the type.
template <class From, class To>
CodeRange gather_codes(const From* column, bool has_missing, const std::uint32_t* ids, std::uint32_t n, To* codes) {
    CodeRange range;
    if (!has_missing) {
        To low = kMissing<To>;
        To high = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const To code = column[ids[i]];
            codes[i] = code;
            low = std::min(low, code);
            high = std::max(high, code);
        }
        range.low = low;
        range.high = high;
        return range;
    }
    for (std::uint32_t i = 0; i < n; ++i) {
        const From code = column[ids[i]];
        const bool missing = code == kMissing<From>;
        codes[i] = missing ? kMissing<To> : static_cast<To>(code);
        range.n_missing += missing;
        range.low = std::min(range.low, missing ? std::numeric_limits<std::uint32_t>::max() : std::uint32_t{code});
        range.high = std::max(range.high, missing ? 0 : std::uint32_t{code});
    }
    return range;
}

}  // namespace weald
