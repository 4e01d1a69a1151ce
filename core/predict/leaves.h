// Walking rows to their leaves by name: for all that must know which leaf a row is in.
//
//   Predictor   a forest made ready for walking; made once and kept
//
// Predictions come from a packed forest (`batch`, `out_of_bag`). Here rows go through a tree several at a time, so that
// the processor waits for several nodes at once.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "tree/category_sets.h"
#include "tree/forest_view.h"

namespace weald {

class Predictor {
  public:
    // Throws std::invalid_argument where the arrays do not make a forest.
    explicit Predictor(const ForestView& forest);

    std::size_t n_trees() const { return roots_.size(); }
    std::size_t width() const { return n_classes_ == 0 ? 1 : n_classes_; }
    std::uint32_t n_features() const { return n_features_; }
    std::uint32_t n_classes() const { return n_classes_; }

    // Node numbers inside their trees, rows x trees.
    void find_leaves(const Matrix& x, std::span<std::int32_t> leaves, Work& work) const;

    // ---- One step at a time

    struct Node {
        union {
            double threshold;         // in a leaf of a regression tree: what it says
            std::uint64_t left_bits;  // the categories that go left
            std::uint64_t set;        // number of the set
        };
        std::uint32_t feature;     // kLeaf in a leaf
        std::uint32_t right : 31;  // in a leaf of a classification tree: its commonest class
        std::uint32_t missing_left : 1;

        bool is_leaf() const { return feature == kLeaf; }
        std::uint32_t column() const { return feature & kFeature; }
    };

    std::span<const Node> nodes(std::size_t tree) const {
        const std::size_t end = tree + 1 < roots_.size() ? roots_[tree + 1] : nodes_.size();
        return std::span(nodes_).subspan(roots_[tree], end - roots_[tree]);
    }

    bool has_categories() const { return has_categories_; }

    // Where a row goes from the node with this number; x is its value of the node's feature.
    template <bool HasCategories>
    std::uint32_t child(const Node& node, std::uint32_t number, double x) const {
        const bool by_set = HasCategories && (node.feature & (kInWord | kInSets)) != 0 && x == x;
        const bool left = by_set ? goes_left(node, x) : (x <= node.threshold) | ((x != x) & node.missing_left);
        // A choice without a branch: which way a row goes cannot be foretold.
        const std::uint32_t right = node.right;
        return right + ((number + 1 - right) & (0u - static_cast<std::uint32_t>(left)));
    }

    // What a tree that stands alone predicts in a leaf: its mean, or the number of its commonest class.
    double answer(const Node& leaf) const { return n_classes_ == 0 ? leaf.threshold : static_cast<double>(leaf.right); }

  private:
    static constexpr std::uint32_t kLeaf = 0xFFFFFFFFu;
    // Bits of `feature` at a categorical split: where its set is.
    static constexpr std::uint32_t kInWord = 1u << 31;
    static constexpr std::uint32_t kInSets = 1u << 30;
    static constexpr std::uint32_t kFeature = kInSets - 1;
    static constexpr std::uint32_t kOthers = 63;  // bit of the word that stands for this category and all above it

    // Forests without categories are walked without asking for them.
    template <class Float>
    void walk(std::size_t tree, const Float* const* rows, std::size_t n, std::uint32_t* nodes) const {
        has_categories_ ? walk_with<true>(tree, rows, n, nodes) : walk_with<false>(tree, rows, n, nodes);
    }
    template <bool HasCategories, class Float>
    void walk_with(std::size_t tree, const Float* const* rows, std::size_t n, std::uint32_t* nodes) const;
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
