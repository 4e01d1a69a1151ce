// Split criteria.
//
// A cut scores term(left) + term(right); larger is better. A criterion is one struct: its name, and its term. To add
// one, write the struct, put it into ClassCriteria or NumberCriteria below, and write the same formula once more in the
// reference engine (docs/project/add-a-criterion.md).
//
// Sums are exact integers and are rounded to double once, here. IEEE arithmetic in the order written, no contraction:
// all engines must get the same bits. A term must be convex in the class weights (in regression: in sum and weight), as
// for all common impurities: the search uses this to bound the cuts inside a bin.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/int128.h"

namespace weald {

// Below this weight the sum of squared class weights is exact in a double.
inline constexpr double kExactInDouble = 67108864.0;  // 2^26

// Class weights of a set of rows, classes ascending; absent classes may be left out. They are std::uint64_t, or double
// if all of them are integers and their sum is below 2^26. With float a term is only approximate, to find which cuts
// need the exact one. Weights is a span of any number of classes, or an array of two.
template <class Weights>
struct ClassWeights {
    using Number = std::remove_const_t<typename Weights::value_type>;
    using Real = std::conditional_t<std::is_same_v<Number, float>, float, double>;

    Weights of_class;
    Number total;
};

// The sum of f over the classes, in their order. An array is unrolled, so that loops around it can be vectorized.
template <class Sum, class Number, class F>
Sum sum_of(std::span<const Number> weights, F f) {
    Sum sum = 0;
    for (const Number x : weights) {
        sum += f(x);
    }
    return sum;
}
template <class Sum, class Number, class F>
Sum sum_of(const std::array<Number, 2>& weights, F f) {
    return f(weights[0]) + f(weights[1]);
}

template <class Number>
Number largest_of(std::span<const Number> weights) {
    return *std::max_element(weights.begin(), weights.end());
}
template <class Number>
Number largest_of(const std::array<Number, 2>& weights) {
    return weights[0] > weights[1] ? weights[0] : weights[1];
}

// Squares are added exactly: as integers, or as doubles that are small enough.
template <class Side>
typename Side::Real square_sum(const Side& side) {
    using Number = typename Side::Number;
    using Square = std::conditional_t<std::is_floating_point_v<Number>, Number, UInt128>;
    const Square sum = sum_of<Square>(side.of_class, [](Number x) { return static_cast<Square>(x) * x; });
    return static_cast<typename Side::Real>(sum);
}

// Logarithm in bits of a number >= 1 from + - * / alone: log((1 + z) / (1 - z)) = 2 (z + z^3/3 + z^5/5 + ...).
inline double log2_of(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    auto exponent = static_cast<std::int32_t>(bits >> 52) - 1022;
    double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FE0000000000000u);
    const bool low = m < 0.7071067811865476;
    m = low ? m * 2.0 : m;
    exponent = low ? exponent - 1 : exponent;
    const double z = (m - 1.0) / (m + 1.0);
    const double zz = z * z;
    double series = 1.0 / 23.0;
    series = series * zz + 1.0 / 21.0;
    series = series * zz + 1.0 / 19.0;
    series = series * zz + 1.0 / 17.0;
    series = series * zz + 1.0 / 15.0;
    series = series * zz + 1.0 / 13.0;
    series = series * zz + 1.0 / 11.0;
    series = series * zz + 1.0 / 9.0;
    series = series * zz + 1.0 / 7.0;
    series = series * zz + 1.0 / 5.0;
    series = series * zz + 1.0 / 3.0;
    series = series * zz + 1.0;
    return static_cast<double>(exponent) + z * series * 2.8853900817779268;  // 2 / ln 2
}

// The same, to about 20 bits.
inline float log2_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto exponent = static_cast<std::int32_t>((bits + 0x004AFB0Du) >> 23) - 127;  // exponent of x / sqrt(1/2)
    const float m = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23));
    const float t = m - 1.0f;
    float series = 0.165215403f;  // log2(1 + t) / t, fitted to 21 bits
    series = series * t - 0.270915300f;
    series = series * t + 0.298242033f;
    series = series * t - 0.359205008f;
    series = series * t + 0.480404228f;
    series = series * t - 0.721368372f;
    series = series * t + 1.442700982f;
    return static_cast<float>(exponent) + t * series;
}

// F(x) = x log2 x, F(0) = 0.
template <class Float>
Float x_log2_x(Float x) {
    const Float product = x * log2_of(x);
    return x == 0 ? Float{0} : product;
}

// The same for integers. Small ones are looked up.
inline constexpr std::size_t kKnownLogs = 4096;
inline const double* known_x_log2_x() {
    static const std::array<double, kKnownLogs> known = [] {
        std::array<double, kKnownLogs> values;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = x_log2_x(static_cast<double>(i));
        }
        return values;
    }();
    return known.data();
}
inline double x_log2_x(std::uint64_t x) {
    return x < kKnownLogs ? known_x_log2_x()[x] : x_log2_x(static_cast<double>(x));
}

struct Gini {
    static constexpr const char* name = "gini";
    using TieBreaker = void;
    static double magnitude(double weight) { return weight; }

    template <class Side>
    static typename Side::Real term(const Side& side) {
        return square_sum(side) / static_cast<typename Side::Real>(side.total);
    }
    // The approximate sum of the terms of both sides: a division takes as long as all the rest.
    static float near_terms(const std::array<float, 2>& left, const std::array<float, 2>& right) {
        const float left_total = left[0] + left[1];
        const float right_total = right[0] + right[1];
        return ((left[0] * left[0] + left[1] * left[1]) * right_total +
                (right[0] * right[0] + right[1] * right[1]) * left_total) /
               (left_total * right_total);
    }
};

struct Entropy {
    static constexpr const char* name = "entropy";
    using TieBreaker = void;
    static double magnitude(double weight) { return x_log2_x(weight) + weight; }

    template <class Side>
    static typename Side::Real term(const Side& side) {
        const auto f = [](auto x) { return x_log2_x(x); };
        return sum_of<typename Side::Real>(side.of_class, f) - f(side.total);
    }
};

struct Misclassification {
    static constexpr const char* name = "misclassification";
    // Without it, plateaus of the score would split off rows one by one.
    using TieBreaker = Gini;
    static double magnitude(double weight) { return weight; }

    template <class Side>
    static typename Side::Real term(const Side& side) {
        return static_cast<typename Side::Real>(largest_of(side.of_class));
    }
};

struct SquaredError {
    static constexpr const char* name = "squared_error";

    // `about_mean` is the side's sum of targets about the node's mean, rounded down.
    template <class Float>
    static Float term(Float about_mean, Float weight) {
        return about_mean * about_mean / weight;
    }
};

// For targets of at least 0, whose integers are not centered. A side whose targets are all 0 is not admissible.
struct Poisson {
    static constexpr const char* name = "poisson";
    static constexpr double kNats = 0.6931471805599453;  // ln 2: in one bit
    static constexpr int kLargestShift =
        900;  // limit for shifts of decreases: their sums stay below the largest double

    static double term(double sum, double weight) {
        const double product = sum * (log2_of(sum) - log2_of(weight));
        return sum == 0 ? 0.0 : product;
    }
};

// Absolute deviations from the median: targets/medians.h.
struct AbsoluteError {
    static constexpr const char* name = "absolute_error";
};

// Some searches of regression are faster because they rely on the formula of squared error. Every other criterion uses
// the general search.
template <class Criterion>
inline constexpr bool kIsSquaredError = std::is_same_v<Criterion, SquaredError>;

using ClassCriteria = std::tuple<Gini, Entropy, Misclassification>;
using NumberCriteria = std::tuple<SquaredError, Poisson, AbsoluteError>;

// Whether a criterion supports multi-output.
template <class Criterion>
inline constexpr bool kIsOfSeveralTargets =
    !std::is_same_v<Criterion, Poisson> && !std::is_same_v<Criterion, AbsoluteError>;

// Calls visit.operator()<Criterion>() for each criterion of a list.
template <class Criteria, class Visit>
void for_each_criterion(Visit&& visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (visit.template operator()<std::tuple_element_t<I, Criteria>>(), ...);
    }(std::make_index_sequence<std::tuple_size_v<Criteria>>());
}

}  // namespace weald
