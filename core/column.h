// A feature as codes, and the smallest and largest value of each code.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weald {

struct Column {
    std::uint8_t width = 1;        // bytes of a code: 1, 2 or 4; the largest number of that width means missing
    std::vector<std::byte> codes;  // by rank
    std::vector<double> lows;      // by code
    std::vector<double> highs;     // empty: each code is one value
    bool is_categorical = false;

    double high(std::size_t code) const { return highs.empty() ? lows[code] : highs[code]; }

    template <class Code>
    const Code* as() const {
        return reinterpret_cast<const Code*>(codes.data());
    }
};

}  // namespace weald
