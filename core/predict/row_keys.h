// Rows as keys, for a packed forest.
//
//   KeyReader   reads the keys of a row, for the columns that the forest uses

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/view.h"
#include "predict/packed.h"

namespace weald {

// A table as keys of the columns that a forest uses. A row that is given in float also has keys of double.
template <class Node>
class KeyReader {
  public:
    using Key = typename Node::Key;
    using Float = typename Node::Float;

    KeyReader(const Matrix& x, const PackedForest& forest)
        : x_(x), features_(forest.columns()), n_numbers_(forest.head().n_numbers), n_in_word_(forest.head().n_in_word) {
        if (!x.by_row.is_empty()) {
            column_of_.assign(x.n_columns, kNoColumn);
            for (std::uint32_t c = 0; c < features_.size(); ++c) {
                column_of_[features_[c]] = c;
            }
        }
    }
    std::size_t n_keys() const { return kOwnColumns + features_.size(); }

    // Prepares the keys of the next rows.
    void clear(std::span<Key> keys) const {
        if (!x_.by_row.is_empty()) {
            std::fill(keys.begin(), keys.end(), key_of(Float{0}));
        }
    }

    // Clears keys of a row that have been read.
    void clear_again(std::size_t row, Key* keys, std::size_t stride) const {
        if (x_.by_row.is_empty()) {
            return;
        }
        const auto end = static_cast<std::size_t>(x_.by_row.starts[row + 1]);
        for (auto j = static_cast<std::size_t>(x_.by_row.starts[row]); j < end; ++j) {
            const std::uint32_t column = column_of_[static_cast<std::size_t>(x_.by_row.places[j])];
            if (column != kNoColumn) {
                keys[(kOwnColumns + column) * stride] = key_of(Float{0});
            }
        }
    }

    // Writes the keys of a row, `stride` apart; returns whether one is missing.
    bool read(std::size_t row, Key* keys, std::size_t stride) const {
        keys[0] = 0;
        keys[stride] = static_cast<Key>(~0ull);
        keys += kOwnColumns * stride;
        if (!x_.by_row.is_empty()) {
            return read_sparse(row, keys, stride);
        }
        return x_.dispatch([&]<class Given>() { return read_dense<Given>(row, keys, stride); });
    }

  private:
    // In a word, keys are the number of bits to shift a word to the left, so that the bit of the category is the first;
    // they are above 0, see `step`.
    Key category(std::size_t column, Float value) const {
        if (column >= n_numbers_ + n_in_word_) {
            return category_key<Key>(value, Node::kOthersInSets);
        }
        const Key key = category_key<Key>(value, Node::kOthersInWord);
        return value != value ? key : (Node::kOthersInWord - key) | (Node::kOthersInWord + 1);
    }

    template <class Given>
    bool read_dense(std::size_t row, Key* keys, std::size_t stride) const {
        const std::byte* from = x_.data + static_cast<std::ptrdiff_t>(row) * x_.row_stride;
        const auto value = [&](std::size_t column) {
            Given given;
            std::memcpy(&given, from + static_cast<std::ptrdiff_t>(features_[column]) * x_.column_stride, sizeof given);
            return static_cast<Float>(given);
        };
        Key largest = 0;
        for (std::size_t c = 0; c < n_numbers_; ++c) {
            const Key key = key_of(value(c));
            keys[c * stride] = key;
            largest = std::max(largest, key);
        }
        for (std::size_t c = n_numbers_; c < features_.size(); ++c) {
            const Key key = category(c, value(c));
            keys[c * stride] = key;
            largest = std::max(largest, key);
        }
        return largest == static_cast<Key>(~0ull);
    }

    // For a sparse table, which is numeric. Cells that are not stored have been cleared.
    bool read_sparse(std::size_t row, Key* keys, std::size_t stride) const {
        Key largest = 0;
        const auto end = static_cast<std::size_t>(x_.by_row.starts[row + 1]);
        for (auto j = static_cast<std::size_t>(x_.by_row.starts[row]); j < end; ++j) {
            const std::uint32_t column = column_of_[static_cast<std::size_t>(x_.by_row.places[j])];
            if (column != kNoColumn) {
                const Key key = key_of(static_cast<Float>(x_.by_row.values[j]));
                keys[column * stride] = key;
                largest = std::max(largest, key);
            }
        }
        return largest == static_cast<Key>(~0ull);
    }

    static constexpr std::uint32_t kNoColumn = ~0u;

    const Matrix& x_;
    std::span<const std::uint32_t> features_;  // indexed by column
    std::size_t n_numbers_;
    std::size_t n_in_word_;
    std::vector<std::uint32_t> column_of_;  // by feature, of a sparse table
};

}  // namespace weald
