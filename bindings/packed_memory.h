// Packed forests and their memory.
//
//   Packed       all of a forest
//   PackedBatch     some trees at a time, for a forest that is walked once
//   RowsWanted   requirements for a table

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "arrays.h"
#include "forest_dict.h"
#include "predict/batch.h"
#include "predict/packed.h"

namespace weald {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The memory is owned by this object or by another one.
class Packed {
  public:
    explicit Packed(PackedBuffer buffer) : own_(std::move(buffer)), forest_(own_->bytes()) {}
    // Memory that is not aligned as required is copied.
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

class PackedBatch {
  public:
    PackedBatch(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays, bool small_is_exact,
                std::size_t n_nodes)
        : kept_(n_features, n_classes, arrays), packed_(checked(kept_, small_is_exact, n_nodes)) {}

    const PackedBatches& packed() const { return packed_; }

  private:
    static PackedBatches checked(const KeptForest& kept, bool small_is_exact, std::size_t n_nodes) {
        const nb::gil_scoped_release release;
        return {kept.view(), small_is_exact, n_nodes};
    }

    KeptForest kept_;
    PackedBatches packed_;
};

// Requirements for a table to be predicted by a forest.
struct RowsWanted {
    std::uint32_t n_features;
    bool has_categories;
    bool as_floats;  // for small nodes

    explicit RowsWanted(const PackedForest& forest)
        : n_features(forest.head().n_features),
          has_categories(forest.head().has_categories()),
          as_floats(!forest.is_large()) {}
    explicit RowsWanted(const PackedBatches& batches)
        : n_features(batches.forest().n_features),
          has_categories(batches.forest().category_start.size() > 1),
          as_floats(batches.small_is_exact()) {}

    // Throws if the table does not meet the requirements.
    void require(const Matrix& x) const {
        if (x.n_columns != n_features) {
            throw std::invalid_argument("the table and the forest differ in the number of features");
        }
        if (!x.by_row.is_empty() && has_categories) {
            throw std::invalid_argument("a sparse table has no categories");
        }
        if (as_floats && !fits_float(x)) {
            throw std::invalid_argument("small nodes are for tables of floats");
        }
    }
};

}  // namespace weald
