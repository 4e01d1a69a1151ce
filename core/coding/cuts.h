// Coding with bins that were computed elsewhere: for tables in parts, none of which has all values.
//
//   hash_values     rows to hashes of their values: those with the lowest are the sample for binning, and the sum of
//                   all is the fingerprint of the values
//   add_values      the same for tables given a few columns at a time
//   cut_quantiles   distinct values and their weights in all parts -> the smallest value of each code
//   code_values     the values of a column in one part -> codes
//   find_highs      values and codes of a column in one part -> the largest value of each code

#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/view.h"

namespace weald {

// All missing values have the same hash, and so have -0.0 and 0.0.
inline std::uint64_t value_bits(double x) {
    constexpr std::uint64_t kNanBits = 0x7FF8000000000000u;
    return std::isnan(x) ? kNanBits : std::bit_cast<std::uint64_t>(x + 0.0);
}

// Adds the contributions of rows begin ... end - 1 to the hashes of these rows. The first column of x is the feature
// `first` of the table.
void add_values(const Matrix& x, std::size_t first, std::size_t begin, std::size_t end, std::span<std::uint64_t> sums);

// Hashes the rows begin ... end - 1 by their values and the bits of their targets.
void hash_values(const Matrix& x, std::span<const std::uint64_t> targets, std::size_t begin, std::size_t end,
                 std::span<std::uint64_t> hashes);

// Walks the values upward and closes a code when its weight times the codes left reaches the weight that was left at
// its start. `values` are ascending and distinct.
std::vector<double> cut_quantiles(std::span<const double> values, std::span<const std::uint64_t> weights,
                                  std::uint32_t max_bins);

// A value takes the code of the largest start that is not above it, else 0; NaN takes the largest code of the type.
template <class Code>
void code_values(const Matrix& x, std::size_t column, std::span<const double> starts, std::span<Code> codes);

template <class Float>
struct Highs {
    std::vector<Float> of_code;  // the largest value of each code in these rows; minus infinity: there is none
    Float least;                 // the smallest value of all these rows; infinity
};

// All codes but the first start at a value of the table, so their smallest values are known.
template <class Float, class Code>
Highs<Float> find_highs(const Matrix& x, std::size_t column, std::span<const Code> codes, std::size_t n_codes);

}  // namespace weald
