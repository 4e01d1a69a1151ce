// A forest packed for prediction: one buffer with small nodes, ordered for cache locality.
//
//   key_of           a number as an unsigned integer of the same order
//   SmallNode        8 bytes: thresholds rounded down to float, exact for rows that hold floats
//   LargeNode        16 bytes: double thresholds, exact for all rows
//   PackedForest     a view of the buffer; it owns nothing
//   pack_forest      makes the buffer
//   PackedBatches    some trees at a time, one after the other in the same memory
//   check_packed     checks an untrusted buffer
//
// Siblings are adjacent, so a node stores the position of the pair and the walk adds 1 for the right child. A node, its
// children and the larger of its grandchildren share a cache line. A leaf points to itself, since rows step together
// until the last has reached its leaf. It uses an extra column in which all keys are 0 (for a leaf that is a left
// child) or the maximum (for a right one), so its cut can store the index of its prediction.
//
// There are three kinds of columns, in this order: numeric ones; categories whose sets are words inside the nodes; and
// categories whose sets are stored separately. The column of a node determines how to continue, and a feature may have
// columns of several kinds.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/large_pages.h"
#include "base/task.h"
#include "base/threads.h"
#include "predict/packed_leaves.h"
#include "tree/category_sets.h"
#include "tree/forest_view.h"

namespace weald {

// Missing values have the largest key. -0.0 has the same key as 0.0.
template <class Float>
inline auto key_of(Float x) {
    using Key = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    const Key bits = std::bit_cast<Key>(x + Float{0});
    const Key key = bits ^ ((Key{0} - (bits >> (8 * sizeof(Key) - 1))) | kSign);
    return x == x ? key : ~Key{0};
}

constexpr std::uint32_t kMissingGoLeft = 1;  // bits of `link`
constexpr std::uint32_t kIsLeaf = 2;
constexpr std::uint32_t kLinkBits = 2;
constexpr std::uint32_t kOwnColumns = 2;  // extra columns before those of the table: zeros, and largest keys

struct SmallNode {
    using Float = float;
    using Key = std::uint32_t;
    static constexpr std::uint32_t kColumnBits = 10;
    static constexpr std::uint32_t kColumnMask = ((1u << kColumnBits) - 1) << kLinkBits;
    static constexpr std::uint64_t kMostColumns = (1u << kColumnBits) - kOwnColumns;
    static constexpr std::uint64_t kMostSlots = std::uint64_t{2} << (32 - kColumnBits - kLinkBits);
    static constexpr Key kOthersInWord = 31;
    static constexpr Key kOthersInSets = 0xFFFFFFFE;  // not allowed in a set

    Key cut;  // keys not above it go left; or bits of categories that go left, or the index of a set;
              // in a leaf: the index of its prediction
    std::uint32_t link;

    std::uint32_t pair() const { return link >> (kColumnBits + kLinkBits); }
    std::uint32_t column() const { return (link & kColumnMask) >> kLinkBits; }
    static SmallNode make(Key cut, std::uint32_t pair, std::uint32_t column, std::uint32_t bits) {
        return {cut, pair << (kColumnBits + kLinkBits) | column << kLinkBits | bits};
    }
};

struct LargeNode {
    using Float = double;
    using Key = std::uint64_t;
    static constexpr std::uint32_t kColumnMask = ~0u << kLinkBits;
    static constexpr std::uint64_t kMostColumns = (1u << 30) - kOwnColumns;
    static constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 32;
    static constexpr Key kOthersInWord = 63;
    static constexpr Key kOthersInSets = Key{1} << 32;

    Key cut;
    std::uint32_t own_pair;
    std::uint32_t link;

    std::uint32_t pair() const { return own_pair; }
    std::uint32_t column() const { return link >> kLinkBits; }
    static LargeNode make(Key cut, std::uint32_t pair, std::uint32_t column, std::uint32_t bits) {
        return {cut, pair, column << kLinkBits | bits};
    }
};

// The conversion of sums over trees to predictions.
struct Averaging {
    double total = 1;           // sums are divided by it
    std::uint64_t is_hard = 0;  // 1: a leaf has one vote, for its most common class

    bool operator==(const Averaging&) const = default;
};

struct PackedHead {
    static constexpr std::uint64_t kMark = 0x324B50444C414557;  // "WEALDPK2"; another layout needs another magic number

    std::uint64_t mark = kMark;
    std::uint64_t n_bytes = 0;  // size of the buffer
    std::uint32_t node_bytes = 0;
    std::uint32_t n_features = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::uint32_t n_columns = 0;  // columns that the trees use
    std::uint32_t n_numbers = 0;  // number of numeric columns
    std::uint32_t n_in_word = 0;  // number of categorical columns with sets inside the nodes
    std::uint64_t n_trees = 0;
    std::uint64_t n_slots = 0;
    std::uint64_t n_values = 0;
    std::uint64_t n_mixed = 0;
    std::uint64_t n_weights = 0;  // 0: all trees have one vote
    std::uint64_t n_sets = 0;
    std::uint64_t n_words = 0;
    std::uint64_t n_listed = 0;
    Averaging averaging;

    Task task() const { return task_of(n_classes); }
    std::size_t width() const { return task() == Task::regression ? 1 : n_classes; }
    bool has_categories() const { return n_numbers < n_columns; }
};

class PackedForest {
  public:
    // The buffer must have been packed here, or checked.
    explicit PackedForest(std::span<const std::byte> buffer);

    const PackedHead& head() const { return *head_; }
    bool is_large() const { return head_->node_bytes == sizeof(LargeNode); }
    std::size_t n_trees() const { return head_->n_trees; }
    std::size_t width() const { return head_->width(); }

    std::span<const std::uint32_t> columns() const { return columns_; }  // feature of each column
    std::span<const double> weights() const { return weights_; }         // weights of the trees' votes; empty: all 1
    const CategorySetsView& sets() const { return sets_; }
    std::span<const std::uint64_t> starts() const { return roots_; }  // start of each tree among the slots
    template <class Node>
    std::span<const Node> tree(std::size_t t) const {
        return {static_cast<const Node*>(nodes_) + roots_[t], roots_[t + 1] - roots_[t]};
    }
    template <class Node>
    std::span<const Node> trees(std::size_t begin, std::size_t end) const {
        return {static_cast<const Node*>(nodes_) + roots_[begin], roots_[end] - roots_[begin]};
    }
    std::span<const double> values() const { return values_; }           // means by leaf, or probabilities of leaves
    std::span<const std::uint32_t> classes() const { return classes_; }  // classes of the probabilities
    std::span<const MixedLeaf> mixed() const { return mixed_; }

  private:
    const PackedHead* head_;
    std::span<const std::uint32_t> columns_;
    std::span<const std::uint64_t> roots_;
    const void* nodes_;
    std::span<const double> values_;
    std::span<const std::uint32_t> classes_;
    std::span<const MixedLeaf> mixed_;
    std::span<const double> weights_;
    CategorySetsView sets_;
};

// A buffer that is aligned to a cache line, uninitialized: the caller writes all that is read.
class PackedBuffer {
  public:
    explicit PackedBuffer(std::size_t n_bytes = 0) : bytes_(n_bytes) {}
    std::span<std::byte> bytes() { return bytes_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    // Reuses the memory for another forest, which may be a little larger.
    void use_again(std::size_t n_bytes) {
        bytes_.clear();
        if (n_bytes > bytes_.capacity()) {
            bytes_ = {};
            bytes_.reserve(n_bytes + n_bytes / 8);
        }
        bytes_.resize(n_bytes);
    }

  private:
    LargeVector<std::byte> bytes_;
};

// None if the forest is too large for such nodes. `weights` of the trees' votes; empty: all 1. Throws
// std::invalid_argument if the arrays are not a valid forest.
std::optional<PackedBuffer> pack_forest(const ForestView& forest, std::span<const double> weights, bool large,
                                        const Averaging& averaging, Work& work);

// For a forest that is walked once: new memory pages take longer than packing. So some trees are packed at a time, in
// the same memory. Nodes are small if that is exact and possible.
class PackedBatches {
  public:
    // Throws std::invalid_argument if the arrays are not a valid forest. They must not be freed.
    PackedBatches(const ForestView& forest, bool small_is_exact, std::size_t n_nodes);

    const ForestView& forest() const { return forest_; }
    bool small_is_exact() const { return small_is_exact_; }
    // The end of the batch that begins with a tree: it has at most `n_nodes`, unless one tree per thread has more.
    std::size_t end_from(std::size_t begin, std::size_t n_threads) const;
    // Packs the batch into `room`, replacing its contents. Gaps are not initialized: they are never read.
    PackedForest pack_some(std::size_t begin, std::size_t end, PackedBuffer& room, Work& work) const;

  private:
    ForestView forest_;
    bool small_is_exact_;
    std::size_t n_nodes_;
};

// Throws std::invalid_argument if a walk could leave the buffer or never end.
void check_packed(std::span<const std::byte> buffer);

}  // namespace weald
