// Integers of 256 bits: sums of products of integers of 128 bits.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/int128.h"

namespace weald {

// All operations wrap, so intermediate results may be negative.
class UInt256 {
  public:
    UInt256(std::uint64_t x = 0) : low_(x) {}

    static UInt256 product(Int128 a, Int128 b) {
        UInt256 found = product_of_sizes(size_of(a), size_of(b));
        return (a < 0) != (b < 0) ? UInt256() - found : found;
    }

    UInt256& operator+=(const UInt256& other) {
        low_ += other.low_;
        high_ += other.high_ + (low_ < other.low_);
        return *this;
    }
    UInt256& operator-=(const UInt256& other) {
        high_ -= other.high_ + (low_ < other.low_);
        low_ -= other.low_;
        return *this;
    }
    friend UInt256 operator+(UInt256 a, const UInt256& b) { return a += b; }
    friend UInt256 operator-(UInt256 a, const UInt256& b) { return a -= b; }

    // The nearest double; ties to even.
    explicit operator double() const {
        if (high_ == 0) {
            return static_cast<double>(low_);
        }
        const int above = width(high_);
        const int rest = 128 - above;
        // The first 128 digits. The last of them is set if any digits follow, which decides ties.
        UInt128 first = rest == 0 ? high_ : high_ << rest | low_ >> above;
        first |= (rest == 0 ? low_ : low_ << rest) != 0 ? 1u : 0u;
        return std::ldexp(static_cast<double>(first), above);
    }

  private:
    static UInt128 size_of(Int128 x) { return x < 0 ? -static_cast<UInt128>(x) : static_cast<UInt128>(x); }
    static int width(UInt128 x) {
        const auto high = static_cast<std::uint64_t>(x >> 64);
        const int of_high = static_cast<int>(std::bit_width(high));
        return high == 0 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) : 64 + of_high;
    }
    static UInt256 product_of_sizes(UInt128 a, UInt128 b) {
        const UInt128 half = ~std::uint64_t{0};
        const UInt128 low = (a & half) * (b & half);
        const UInt128 one = (a >> 64) * (b & half) + (low >> 64);
        const UInt128 other = (a & half) * (b >> 64) + (one & half);
        UInt256 found;
        found.low_ = other << 64 | (low & half);
        found.high_ = (a >> 64) * (b >> 64) + (one >> 64) + (other >> 64);
        return found;
    }

    UInt128 high_ = 0;
    UInt128 low_ = 0;
};

}  // namespace weald
