// A multiset hash of rows: the same for any order of the rows and any division into parts, and hard to forge.
//
//   hash_of_row     a row, as 64-bit words -> a number below the prime P
//   product_of      rows and how often each counts -> the product of their numbers modulo P
//   multiply        two products -> that of all their rows
//
// It is MSet-Mu-Hash of Clarke et al. (2003) with the prime of Bitcoin's MuHash. Finding two different multisets of the
// same product is as hard as computing discrete logarithms modulo P, whatever the multiplicities: a sum of hashes would
// fall to lattice reduction as soon as rows may count more than a few times. docs/background/contract.md defines it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/view.h"

namespace weald {

// A number below P = 2^3072 - 1103717, a safe prime; the lowest limb first.
using RowProduct = std::array<std::uint64_t, 48>;

inline constexpr RowProduct kEmptyProduct{1};

// What is hashed of each row besides the values of X: targets and weights, as words.
struct RowWords {
    std::span<const std::uint64_t> words;  // rows x n_words
    std::size_t n_words;
};

// The product of rows begin ... end - 1, each of them `copies` times (empty: once).
RowProduct product_of(const Matrix& x, const RowWords& more, std::span<const std::uint64_t> copies, std::size_t begin,
                      std::size_t end);

void multiply(RowProduct& product, const RowProduct& other);

}  // namespace weald
