// Walking rows to their leaves when the index of the leaf is needed: `apply`, proximities, permutation importance.
//
//   Predictor   a forest prepared for walking; created once and kept
//
// There are two walks. Predictions and out-of-bag votes use a packed forest (predict/walk.h): its nodes are in another
// order, and leaves with the same prediction are merged, which is faster, but loses the index of the leaf. The walk in
// this file keeps the indices of nodes. It also uses raw values, so that permuted values need no keys.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/task.h"
#include "base/threads.h"
#include "base/view.h"
#include "tree/category_sets.h"
#include "tree/forest_view.h"

namespace weald {

constexpr std::size_t kFewSteps = 16384;  // rows x trees below which threads are not worthwhile

class Predictor {
  public:
    // Throws std::invalid_argument if the arrays are not a valid forest.
    explicit Predictor(const ForestView& forest);

    std::size_t n_trees() const { return roots_.size(); }
    Task task() const { return task_of(n_classes_); }
    std::size_t width() const { return task() == Task::regression ? 1 : n_classes_; }
    std::uint32_t n_features() const { return n_features_; }
    std::uint32_t n_classes() const { return n_classes_; }

    // Node indices inside their trees, rows x trees.
    void find_leaves(const Matrix& x, std::span<std::int32_t> leaves, Work& work) const;

    // The same for rows that are new to a tree, -1 for others; `outside` and leaves are trees x rows.
    void find_leaves(const Matrix& x, std::span<const std::uint8_t> outside, std::span<std::int32_t> leaves,
                     Work& work) const;

    // ---- One step at a time

    struct Node {
        union {
            double threshold;         // in a leaf of a regression tree: its mean
            std::uint64_t left_bits;  // the categories that go left
            std::uint64_t set;        // index of the set
        };
        std::uint32_t feature;     // kLeaf in a leaf
        std::uint32_t right : 31;  // in a leaf of a classification tree: its most common class
        std::uint32_t missing_left : 1;

        bool is_leaf() const { return feature == kLeaf; }
        std::uint32_t column() const { return feature & kFeature; }
    };

    std::span<const Node> nodes(std::size_t tree) const {
        const std::size_t end = tree + 1 < roots_.size() ? roots_[tree + 1] : nodes_.size();
        return std::span(nodes_).subspan(roots_[tree], end - roots_[tree]);
    }

    bool has_categories() const { return has_categories_; }

    // The next node of a row at this node; x is its value of the node's feature.
    template <bool HasCategories>
    std::uint32_t child(const Node& node, std::uint32_t number, double x) const {
        const bool by_set = HasCategories && (node.feature & (kInWord | kInSets)) != 0 && x == x;
        const bool left = by_set ? goes_left(node, x) : (x <= node.threshold) | ((x != x) & node.missing_left);
        // A branchless selection: the direction of a row is unpredictable.
        const std::uint32_t right = node.right;
        return right + ((number + 1 - right) & (0u - static_cast<std::uint32_t>(left)));
    }

    // Walks n rows down a tree, several at a time, so that memory accesses overlap; when one has reached its leaf, the
    // next takes its place. Row i begins at the node start(i), has value(i, column), and arrive(i, node) gets its leaf.
    template <bool HasCategories, class Start, class Value, class Arrive>
    void walk(std::span<const Node> nodes, std::size_t n, const Start& start, const Value& value,
              const Arrive& arrive) const {
        struct Walker {
            std::uint32_t row;
            std::uint32_t at;
        };
        std::array<Walker, kInFlight> walkers;
        std::uint32_t next = 0;
        const auto begin_next = [&] {
            const std::uint32_t row = next++;
            return Walker{row, start(row)};
        };
        std::size_t n_walkers = std::min(n, kInFlight);
        std::generate_n(walkers.begin(), n_walkers, begin_next);
        while (n_walkers > 0) {
            for (std::size_t j = 0; j < n_walkers; ++j) {
                Walker& walker = walkers[j];
                const Node& node = nodes[walker.at];
                if (!node.is_leaf()) {
                    const std::uint32_t column = HasCategories ? node.column() : node.feature;
                    walker.at = child<HasCategories>(node, walker.at, static_cast<double>(value(walker.row, column)));
                    continue;
                }
                arrive(walker.row, walker.at);
                walker = next < n ? begin_next() : walkers[--n_walkers];
            }
        }
    }

    // The prediction of a single tree in a leaf: its mean, or the index of its most common class.
    double answer(const Node& leaf) const {
        return task() == Task::regression ? leaf.threshold : static_cast<double>(leaf.right);
    }

  private:
    static constexpr std::size_t kInFlight = 16;  // rows that are walked at a time
    static constexpr std::uint32_t kLeaf = 0xFFFFFFFFu;
    // Bits of `feature` at a categorical split: where its set is.
    static constexpr std::uint32_t kInWord = 1u << 31;
    static constexpr std::uint32_t kInSets = 1u << 30;
    static constexpr std::uint32_t kFeature = kInSets - 1;
    static constexpr std::uint32_t kOthers = 63;  // bit of the word for this category and all above it

    void add_set(const ForestView& forest, std::size_t i, Node& node);
    bool goes_left(const Node& node, double category) const;

    std::uint32_t n_features_;
    std::uint32_t n_classes_;
    std::vector<std::size_t> roots_;  // where the nodes of each tree begin
    std::vector<Node> nodes_;
    CategorySets sets_;
    bool has_categories_ = false;
};

}  // namespace weald
