// A packed forest and the memory in which it stands.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "arrays.h"
#include "batch.h"
#include "packed.h"

namespace weald {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The memory is its own, or somebody's.
class Packed {
  public:
    explicit Packed(PackedBuffer buffer) : own_(std::move(buffer)), forest_(own_->bytes()) {}
    // Memory that does not begin where it should is copied.
    explicit Packed(const Bytes& buffer)
        : own_(is_aligned(buffer) ? std::nullopt : std::optional(copy_of(buffer))),
          theirs_(own_ ? std::nullopt : std::optional(buffer)),
          forest_(checked(bytes())) {}

    const PackedForest& forest() const { return forest_; }
    std::span<const std::byte> bytes() const {
        return own_ ? std::as_const(*own_).bytes() : std::as_bytes(std::span(theirs_->data(), theirs_->size()));
    }

  private:
    static bool is_aligned(const Bytes& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.data()) % 16 == 0; }
    static PackedBuffer copy_of(const Bytes& buffer) {
        PackedBuffer copy(buffer.size());
        std::copy_n(reinterpret_cast<const std::byte*>(buffer.data()), buffer.size(), copy.bytes().data());
        return copy;
    }
    static std::span<const std::byte> checked(std::span<const std::byte> bytes) {
        check_packed(bytes);
        return bytes;
    }

    std::optional<PackedBuffer> own_;
    std::optional<Bytes> theirs_;
    PackedForest forest_;
};

// Refuses a table that the forest cannot be walked by.
inline void require_rows(const PackedForest& forest, const Matrix& x) {
    if (x.n_columns != forest.head().n_features) {
        throw std::invalid_argument("the table has another number of features than the forest");
    }
    if (!x.by_row.is_empty() && forest.head().has_categories()) {
        throw std::invalid_argument("a sparse table has no categories");
    }
    if (!forest.is_large() && !fits_float(x)) {
        throw std::invalid_argument("small nodes are for tables of floats");
    }
}

}  // namespace weald
