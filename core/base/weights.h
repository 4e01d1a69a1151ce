// Weights as integers: sums of them do not depend on their order.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace weald {

inline constexpr std::uint64_t kWholeLimit = std::uint64_t{1} << 31;  // sizes stay below this

inline int frexp_exponent(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return exponent;
}

// Weights that are not whole become integers whose total stays near 2^53.
inline std::vector<std::uint64_t> fixed_point(std::span<const double> weights) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    const int shift = 53 - frexp_exponent(largest) - static_cast<int>(std::bit_width(weights.size()));
    std::vector<std::uint64_t> fixed(weights.size());
    std::transform(weights.begin(), weights.end(), fixed.begin(), [&](double w) {
        return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::rint(std::ldexp(w, shift))));
    });
    return fixed;
}

// Lengths of the rows on the line of weights; empty: all one.
inline std::vector<std::uint64_t> lay_line(std::span<const double> weights, bool whole) {
    if (weights.empty() || whole) {
        return {weights.begin(), weights.end()};
    }
    return fixed_point(weights);
}

// Class weights become integers, the largest 2^20.
inline std::vector<std::uint64_t> class_scales(std::span<const double> weights) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    std::vector<std::uint64_t> scales(weights.size());
    std::transform(weights.begin(), weights.end(), scales.begin(), [&](double w) {
        return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::rint(1048576.0 * w / largest)));
    });
    return scales;
}

// Weights of features become integers, the largest 2^20; only a weight of 0 is 0. No weights stay none.
inline std::vector<std::uint64_t> feature_scales(std::span<const double> weights) {
    if (weights.empty()) {
        return {};
    }
    std::vector<std::uint64_t> scales = class_scales(weights);
    for (std::size_t f = 0; f < weights.size(); ++f) {
        scales[f] = weights[f] == 0 ? 0 : scales[f];
    }
    return scales;
}

// Weights of classes against their frequency; a class that is absent weighs nothing.
inline std::vector<double> balanced_weights(std::span<const std::uint64_t> of_class) {
    std::uint64_t total = 0;
    for (const std::uint64_t n : of_class) {
        total += n;
    }
    std::vector<double> weights(of_class.size());
    std::transform(of_class.begin(), of_class.end(), weights.begin(), [&](std::uint64_t n) {
        return n == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(of_class.size() * n);
    });
    return weights;
}

}  // namespace weald
