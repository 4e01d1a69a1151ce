// Targets as integers: y = center + q / 2^exponent.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/weights.h"

namespace weald {

inline constexpr int kFixedPointTargetBits =
    35;  // with weights in fixed point: sums of weight * q * q stay below 2^127

// What overflows stays at the largest double.
inline double within_doubles(double x) {
    constexpr double kMost = std::numeric_limits<double>::max();
    return std::clamp(x, -kMost, kMost);
}

inline double ldexp_within(double x, int exponent) {
    return within_doubles(std::ldexp(x, exponent));
}

// 2^exponent, to multiply by as ldexp_within does: where it is a double itself, both round the same number once.
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

// What makes whole numbers of targets.
class TargetUnit {
  public:
    // `copies`: sums of n_draws targets must fit 64 bits; otherwise weights are in fixed point and sums have 128.
    TargetUnit(std::span<const double> y, bool copies, std::uint64_t n_draws) {
        const auto [low, high] = std::minmax_element(y.begin(), y.end());
        center = *low / 2 + *high / 2;
        double reach = 0;
        for (const double v : y) {
            reach = std::max(reach, std::abs(v - center));
        }
        if (reach == 0) {
            return;
        }
        const int k = frexp_exponent(reach);
        exponent = copies ? 61 - k - static_cast<int>(std::bit_width(n_draws)) : kFixedPointTargetBits - k;
        half_ = std::ldexp(1.0, exponent / 2);
        rest_ = std::ldexp(1.0, exponent - exponent / 2);
    }

    // q = rint((y - center) * 2^exponent). 2^exponent may be beyond the doubles, its halves are not. What a half makes
    // too small to be exact is 0 in the end.
    std::int64_t whole(double y) const { return static_cast<std::int64_t>(std::rint((y - center) * half_ * rest_)); }

    double center = 0;
    int exponent = 0;

  private:
    double half_ = 1;
    double rest_ = 1;
};

}  // namespace weald
