// Targets as integers: y = center + q / 2^exponent.
//
//   TargetUnit    narrow: sums of q have 64 bits, or 128 with weights in fixed point; or wide, if outliers would leave
//                 too few digits for all other targets
//   spread_of     the width of the targets, robust to outliers

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/int128.h"
#include "base/weights.h"

namespace weald {

inline constexpr int kFixedPointTargetBits =
    35;  // with weights in fixed point: sums of weight * q * q stay below 2^127

inline constexpr int kFixedPointWeightBits = 54;  // bits of the sum of such weights
inline constexpr int kDoubleBits = 53;
inline constexpr int kFineBits = 30;  // the width of the targets is to be at least 2^30 units

// On overflow the result is the largest double.
inline double within_doubles(double x) {
    constexpr double kMost = std::numeric_limits<double>::max();
    return std::clamp(x, -kMost, kMost);
}

inline double ldexp_within(double x, int exponent) {
    return within_doubles(std::ldexp(x, exponent));
}

// 2^exponent, to multiply with as ldexp_within does: if it is a double, both round the same number once.
class PowerOfTwo {
  public:
    explicit PowerOfTwo(int exponent)
        : exponent_(exponent), factor_(std::ldexp(1.0, exponent)), is_double_(factor_ != 0 && !std::isinf(factor_)) {}

    double times(double x) const { return is_double_ ? within_doubles(x * factor_) : ldexp_within(x, exponent_); }

  private:
    int exponent_;
    double factor_;
    bool is_double_;
};

struct TargetSpread {
    double median = 0;
    double width = 0;  // between the quartiles; if these are equal, the median distance of all other values from them
};

// For values with weights `lengths`; empty: equal weights.
TargetSpread spread_of(std::span<const double> y, std::span<const std::uint64_t> lengths);

// A quick check: true means that the quartiles are at least this far apart, false that they may be closer.
bool quartiles_are_apart(std::span<const double> y, std::span<const std::uint64_t> lengths, double least);

// The conversion of targets to integers.
class TargetUnit {
  public:
    // `copies`: sums of n_draws targets must fit 64 bits; otherwise weights are in fixed point and sums have 128.
    // `from_zero`: the center is 0.
    TargetUnit(std::span<const double> y, bool copies, std::uint64_t n_draws, bool from_zero = false)
        : is_from_zero_(from_zero) {
        const auto [low, high] = std::minmax_element(y.begin(), y.end());
        center = from_zero ? 0 : *low / 2 + *high / 2;
        double reach = 0;
        for (const double v : y) {
            reach = std::max(reach, std::abs(v - center));
        }
        if (reach == 0) {
            return;
        }
        const int k = frexp_exponent(reach);
        weight_bits_ = copies ? static_cast<int>(std::bit_width(n_draws)) : kFixedPointWeightBits;
        set_exponent((copies ? 61 - weight_bits_ : kFixedPointTargetBits) - k);
        finest_ = std::min(exponent, kDoubleBits - k);  // y - center is rounded, too
        is_constant_ = false;
    }

    // Switches to wide if necessary and possible; returns whether it is wide.
    bool widen(std::span<const double> y, std::span<const std::uint64_t> lengths) {
        if (is_constant_ || quartiles_are_apart(y, lengths, ldexp_within(1.0, kFineBits - finest_))) {
            return false;
        }
        const TargetSpread spread = spread_of(y, lengths);
        const double middle = is_from_zero_ ? 0 : spread.median;
        double reach = 0;
        for (const double v : y) {
            reach = std::max(reach, std::abs(v - middle));
        }
        if (ldexp_within(spread.width, finest_ - kFineBits) >= 1 || std::isinf(reach)) {
            return false;
        }
        center = middle;
        set_exponent(120 - weight_bits_ - frexp_exponent(reach));
        return true;
    }

    // q = rint((y - center) * 2^exponent). 2^exponent may overflow, its two factors with half the exponent do not. What
    // the first factor makes too small to be exact is 0 in the end.
    std::int64_t whole(double y) const { return static_cast<std::int64_t>(rounded(y)); }
    Int128 wide_whole(double y) const { return static_cast<Int128>(rounded(y)); }

    double center = 0;
    int exponent = 0;

  private:
    void set_exponent(int e) {
        exponent = e;
        half_ = std::ldexp(1.0, exponent / 2);
        rest_ = std::ldexp(1.0, exponent - exponent / 2);
    }
    double rounded(double y) const { return std::rint((y - center) * half_ * rest_); }

    double half_ = 1;
    double rest_ = 1;
    int weight_bits_ = 0;
    int finest_ = 0;
    bool is_constant_ = true;
    bool is_from_zero_;
};

}  // namespace weald
