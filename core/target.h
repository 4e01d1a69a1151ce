// Targets as integers: y = center + q / 2^exponent.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weights.h"

namespace weald {

inline constexpr int kFixedPointTargetBits =
    35;  // with weights in fixed point: sums of weight * q * q stay below 2^127

struct Numbers {
    std::vector<std::int64_t> q;
    double center = 0;
    int exponent = 0;
};

// x * 2^exponent; beyond the largest double it stays at the largest double.
inline double ldexp_within(double x, int exponent) {
    const double scaled = std::ldexp(x, exponent);
    return std::isinf(scaled) ? std::copysign(std::numeric_limits<double>::max(), scaled) : scaled;
}

// `copies`: sums of n_draws targets must fit 64 bits; otherwise weights are in fixed point and sums have 128.
inline Numbers fix_target(std::span<const double> y, bool copies, std::uint64_t n_draws) {
    const auto [low, high] = std::minmax_element(y.begin(), y.end());
    Numbers numbers;
    numbers.center = *low / 2 + *high / 2;
    numbers.q.resize(y.size());
    double reach = 0;
    for (const double v : y) {
        reach = std::max(reach, std::abs(v - numbers.center));
    }
    if (reach == 0) {
        return numbers;
    }
    const int k = frexp_exponent(reach);
    numbers.exponent = copies ? 61 - k - static_cast<int>(std::bit_width(n_draws)) : kFixedPointTargetBits - k;
    std::transform(y.begin(), y.end(), numbers.q.begin(), [&](double v) {
        return static_cast<std::int64_t>(std::rint(std::ldexp(v - numbers.center, numbers.exponent)));
    });
    return numbers;
}

}  // namespace weald
