// The criteria: how good is a cut?
//
// A cut scores term(left) + term(right); larger is better. A criterion is one struct: its name, and its term. To add
// one, write the struct, put it into ClassCriteria or NumberCriteria below, and write the same formula once more in the
// reference engine (docs/add-a-criterion.md).
//
// Sums are exact integers and are rounded to double once, here. IEEE arithmetic in the order written, no contraction:
// all engines must get the same bits. A term must be convex in the class weights (of squared error: in sum and weight),
// as those of all sensible impurities are: the search bounds what a bin can hold by that.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>

namespace weald {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// Below this weight the sum of squared class weights is exact in a double.
inline constexpr double kExactInDouble = 67108864.0;  // 2^26

// Class weights of a set of rows, classes ascending, those that are absent may be left out. Number is std::uint64_t, or
// double where all of them are whole and their sum is below 2^26.
template <class Number>
struct ClassWeights {
    std::span<const Number> of_class;
    Number total;
};

inline double square_sum(std::span<const double> numbers) {
    double sum = 0;
    for (const double x : numbers) {
        sum += x * x;
    }
    return sum;
}

inline double square_sum(std::span<const std::uint64_t> numbers) {
    UInt128 sum = 0;
    for (const std::uint64_t x : numbers) {
        sum += static_cast<UInt128>(x) * x;
    }
    return static_cast<double>(sum);
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

// F(x) = x log2 x, F(0) = 0.
inline double x_log2_x(double x) {
    return x == 0.0 ? 0.0 : x * log2_of(x);
}

struct Gini {
    static constexpr const char* name = "gini";
    using TieBreaker = void;

    template <class Number>
    static double term(const ClassWeights<Number>& side) {
        return square_sum(side.of_class) / static_cast<double>(side.total);
    }
};

struct Entropy {
    static constexpr const char* name = "entropy";
    using TieBreaker = void;

    template <class Number>
    static double term(const ClassWeights<Number>& side) {
        double sum = 0;
        for (const Number x : side.of_class) {
            sum += x_log2_x(static_cast<double>(x));
        }
        return sum - x_log2_x(static_cast<double>(side.total));
    }
};

struct Misclassification {
    static constexpr const char* name = "misclassification";
    // Its plateaus would otherwise peel trees row by row.
    using TieBreaker = Gini;

    template <class Number>
    static double term(const ClassWeights<Number>& side) {
        return static_cast<double>(*std::max_element(side.of_class.begin(), side.of_class.end()));
    }
};

struct SquaredError {
    static constexpr const char* name = "squared_error";

    // `about_mean` is the side's sum of targets about the node's mean, rounded down.
    static double term(double about_mean, double weight) { return about_mean * about_mean / weight; }
};

using ClassCriteria = std::tuple<Gini, Entropy, Misclassification>;
using NumberCriteria = std::tuple<SquaredError>;

}  // namespace weald
