// Weights as integers: sums of them do not depend on their order.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace weald {

inline constexpr std::uint64_t kWholeLimit = std::uint64_t{1} << 31;  // sizes stay below this

inline int frexp_exponent(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return exponent;
}

// A double that is not negative, with an exponent of any size: products of weights may exceed the range of doubles.
struct WideDouble {
    int exponent = -(1 << 28);  // exponent of 0: below all others
    double mantissa = 0;        // from 1/2 to 1, or 0

    WideDouble(double x) {
        if (x != 0) {
            mantissa = std::frexp(x, &exponent);
        }
    }
    double times_power(int k) const { return std::ldexp(mantissa, exponent + k); }
    friend WideDouble operator*(const WideDouble& a, const WideDouble& b) {
        WideDouble product = a.mantissa * b.mantissa;
        product.exponent += product.mantissa == 0 ? 0 : a.exponent + b.exponent;
        return product;
    }
    friend auto operator<=>(const WideDouble&, const WideDouble&) = default;
};

// A positive weight never becomes 0.
inline std::uint64_t whole_weight(double x) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::rint(x)));
}

// x * 2^exponent, above 0 and finite.
inline double positive_power(const WideDouble& x, int exponent) {
    return std::clamp(x.times_power(exponent), std::numeric_limits<double>::denorm_min(),
                      std::numeric_limits<double>::max());
}

// Fractional weights become integers whose total is near 2^53. The shift is the exponent of the integer for a weight of
// 1.
inline int fixed_point_shift(std::span<const double> weights) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    return 53 - frexp_exponent(largest) - static_cast<int>(std::bit_width(weights.size()));
}
inline int fixed_point_shift(std::span<const WideDouble> weights) {
    const int largest = std::max_element(weights.begin(), weights.end())->exponent;
    return 53 - largest - static_cast<int>(std::bit_width(weights.size()));
}
inline std::vector<std::uint64_t> fixed_point(std::span<const double> weights) {
    const int shift = fixed_point_shift(weights);
    std::vector<std::uint64_t> fixed(weights.size());
    std::transform(weights.begin(), weights.end(), fixed.begin(),
                   [&](double w) { return whole_weight(std::ldexp(w, shift)); });
    return fixed;
}
inline std::vector<std::uint64_t> fixed_point(std::span<const WideDouble> weights) {
    const int shift = fixed_point_shift(weights);
    std::vector<std::uint64_t> fixed(weights.size());
    std::transform(weights.begin(), weights.end(), fixed.begin(),
                   [&](const WideDouble& w) { return whole_weight(w.times_power(shift)); });
    return fixed;
}

// Lengths of the rows on the line of weights; empty: all one.
inline std::vector<std::uint64_t> lay_line(std::span<const double> weights, bool whole) {
    if (weights.empty() || whole) {
        return {weights.begin(), weights.end()};
    }
    return fixed_point(weights);
}

// Class weights become integers, the largest 2^20; only a weight of 0 is 0.
inline std::vector<std::uint64_t> class_scales(std::span<const WideDouble> weights) {
    const WideDouble largest = *std::max_element(weights.begin(), weights.end());
    std::vector<std::uint64_t> scales(weights.size());
    std::transform(weights.begin(), weights.end(), scales.begin(), [&](const WideDouble& w) {
        return w.mantissa == 0
                   ? 0
                   : whole_weight(std::ldexp(w.mantissa / largest.mantissa, 20 + w.exponent - largest.exponent));
    });
    return scales;
}

// The user's unit of weight, with class weights.
inline double class_weight_scale(std::span<const WideDouble> weights) {
    return weights.empty() ? 1.0 : positive_power(*std::max_element(weights.begin(), weights.end()), -20);
}

// Weights of features become integers, the largest 2^20; only a weight of 0 is 0. Empty stays empty.
inline std::vector<std::uint64_t> feature_scales(std::span<const double> weights) {
    if (weights.empty()) {
        return {};
    }
    return class_scales(std::vector<WideDouble>(weights.begin(), weights.end()));
}

// Weights inversely proportional to class frequencies; the weight of an absent class is 0.
inline std::vector<WideDouble> balanced_weights(std::span<const std::uint64_t> of_class) {
    std::uint64_t total = 0;
    for (const std::uint64_t n : of_class) {
        total += n;
    }
    std::vector<WideDouble> weights;
    std::transform(of_class.begin(), of_class.end(), std::back_inserter(weights), [&](std::uint64_t n) {
        const double n_classes = static_cast<double>(of_class.size());
        return n == 0 ? 0.0 : static_cast<double>(total) / (n_classes * static_cast<double>(n));
    });
    return weights;
}

}  // namespace weald
