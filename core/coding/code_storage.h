// Memory for the codes of columns.
//
//   CodeBytes   the codes of one column, possibly in a block of memory shared with other columns
//   CodeRoom    allocates consecutive pieces of memory
//
// A node of a wide table reads a few codes of each of many columns. If every column had its own memory, on small pages,
// address translation would take longer than reading the codes.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>

#include "base/large_pages.h"

namespace weald {

using CodeBytes = std::shared_ptr<std::byte[]>;

class CodeRoom {
  public:
    // For columns of at most `column_bytes`, and at most `n_columns` of them.
    CodeRoom(std::size_t column_bytes, std::size_t n_columns)
        : piece_bytes_(std::max(column_bytes, std::min(whole_lines(column_bytes) * n_columns, kPiece))) {}

    // Uninitialized bytes. Thread-safe.
    CodeBytes take(std::size_t n_bytes) {
        const std::scoped_lock lock(mutex_);
        if (!piece_ || n_taken_ + n_bytes > piece_->size()) {
            piece_ = std::make_shared<LargeVector<std::byte>>(piece_bytes_);
            n_taken_ = 0;
        }
        std::byte* begin = piece_->data() + n_taken_;
        n_taken_ += whole_lines(n_bytes);
        return CodeBytes(piece_, begin);
    }

  private:
    static constexpr std::size_t kPiece = 4 * kLargePage;

    static std::size_t whole_lines(std::size_t n_bytes) { return (n_bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

    std::size_t piece_bytes_;
    std::mutex mutex_;
    std::shared_ptr<LargeVector<std::byte>> piece_;
    std::size_t n_taken_ = 0;  // bytes already used
};

}  // namespace weald
