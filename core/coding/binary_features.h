// Features with two codes and no missing value, as bits: one word has all such features of a row.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/threads.h"
#include "coding/column.h"

namespace weald {

class BinaryFeatures {
  public:
    static constexpr std::uint32_t kMost = 64;
    static constexpr std::uint32_t kLeast = 4;  // minimum number of such features

    BinaryFeatures() = default;
    BinaryFeatures(const std::vector<Column>& columns, std::size_t n_rows, Work& work);

    bool is_empty() const { return words_.empty(); }
    bool has(std::uint32_t feature) const { return !words_.empty() && bits_[feature] != kNone; }
    std::uint32_t bit(std::uint32_t feature) const { return bits_[feature]; }
    const std::vector<std::uint32_t>& features() const { return features_; }
    const std::uint64_t* words() const { return words_.data(); }

  private:
    static constexpr std::uint8_t kNone = std::numeric_limits<std::uint8_t>::max();

    std::vector<std::uint64_t> words_;     // by rank; empty: there are none
    std::vector<std::uint32_t> features_;  // indexed by bit
    std::vector<std::uint8_t> bits_;       // indexed by feature
};

// Reads a feature from words.
template <class Code>
void gather_bits(const std::uint64_t* words, std::uint32_t bit, const std::uint32_t* ids, std::uint32_t n,
                 Code* codes) {
    for (std::uint32_t i = 0; i < n; ++i) {
        codes[i] = static_cast<Code>(words[ids[i]] >> bit & 1);
    }
}

}  // namespace weald
