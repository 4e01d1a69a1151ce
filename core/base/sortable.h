// Floats as integers in the same order, for sorting and searching.

#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weald {

template <class Float>
using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;

// Bits that compare like the values; both zeros are equal.
template <class Float>
Bits<Float> sortable(Float x) {
    constexpr Bits<Float> sign = Bits<Float>{1} << (8 * sizeof(Float) - 1);
    const auto bits = std::bit_cast<Bits<Float>>(x + Float{0});
    return bits & sign ? ~bits : bits | sign;
}

// The value of these bits.
template <class Float>
Float unsortable(Bits<Float> key) {
    constexpr Bits<Float> sign = Bits<Float>{1} << (8 * sizeof(Float) - 1);
    return std::bit_cast<Float>(key & sign ? key & ~sign : static_cast<Bits<Float>>(~key));
}

}  // namespace weald
