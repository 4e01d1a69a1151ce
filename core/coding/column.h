// A feature as codes, and the smallest and largest value of each code.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "coding/code_storage.h"

namespace weald {

// Values by code. Values of a table of floats are stored as floats, which convert to the same doubles. None are stored
// if they take more memory than the codes and can be looked up in the table.
class Values {
  public:
    Values() = default;
    explicit Values(std::vector<float> values) : size_(values.size()), floats_(std::move(values)) {}
    explicit Values(std::vector<double> values) : size_(values.size()), doubles_(std::move(values)) {}

    static Values left_out(std::size_t size) {
        Values values;
        values.size_ = size;
        return values;
    }

    std::size_t size() const { return size_; }
    bool are_left_out() const { return size_ != floats_.size() + doubles_.size(); }
    double operator[](std::size_t code) const {
        return doubles_.empty() ? static_cast<double>(floats_[code]) : doubles_[code];
    }
    // Prefetches the value.
    void prefetch(std::size_t code) const {
        doubles_.empty() ? __builtin_prefetch(floats_.data() + code) : __builtin_prefetch(doubles_.data() + code);
    }

  private:
    std::size_t size_ = 0;
    std::vector<float> floats_;  // one of the two is empty
    std::vector<double> doubles_;
};

struct Column {
    std::uint8_t width = 1;             // bytes of a code: 1, 2 or 4; the largest integer of that width means missing
    CodeBytes codes;                    // indexed by rank
    const std::byte* mapped = nullptr;  // the same, in the caller's memory; then `codes` is empty
    Values lows;                        // indexed by code
    Values highs;                       // empty: each code has one value
    bool is_categorical = false;

    template <class Code>
    const Code* as() const {
        return reinterpret_cast<const Code*>(mapped ? mapped : codes.get());
    }
    const Values& upper() const { return highs.size() == 0 ? lows : highs; }
};

}  // namespace weald
