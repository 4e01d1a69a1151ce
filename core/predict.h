// Walking rows to their leaves by name: for all that must know which leaf a row is in, or which trees may speak of it.
//
//   Predictor   a forest made ready for walking; made once and kept
//
// Predictions come from a packed forest (`batch`). Here rows go through a tree several at a time, so that the processor
// waits for several nodes at once. Sums over trees run in tree order for each row, whatever the number of threads.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "category_sets.h"
#include "curve.h"
#include "forest_view.h"
#include "threads.h"
#include "view.h"

namespace weald {

// For 64 trees at most: bit t of out[row] says whether the row is out of tree t's bag.
using OutOfBag = std::span<const std::uint64_t>;

struct OutOfBagVotes {
    std::vector<double> sums;            // rows x width
    std::vector<std::uint32_t> n_trees;  // by row: how many trees spoke of it
    ErrorCurve curve;
};

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

    // Adds what the trees begin ... begin + 63 at most say of rows that are out of bag to their sums; hard: one vote
    // for the commonest class of the leaf. Counts the trees that spoke of each row, and puts the error after each tree
    // on the curve.
    void add_votes_out_of_bag(const Matrix& x, bool hard, std::size_t begin, std::size_t end, OutOfBag out,
                              OutOfBagVotes& votes, Work& work) const;

    // ---- One step at a time

    struct Node {
        union {
            double threshold;         // in a leaf of a regression tree: what it says
            std::uint64_t left_bits;  // the categories that go left
            std::uint64_t set;        // number of the set
        };
        std::uint32_t feature;  // kLeaf in a leaf
        std::uint32_t right
            : 31;  // in a leaf of a classification tree: kPure + its class, or its number among the others
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
    double answer(const Node& leaf) const {
        if (n_classes_ == 0) {
            return leaf.threshold;
        }
        return leaf.right >= kPure ? leaf.right - kPure : leaves_[leaf.right].winner;
    }

  private:
    static constexpr std::uint32_t kLeaf = 0xFFFFFFFFu;
    static constexpr std::uint32_t kPure = 1u << 30;
    // Bits of `feature` at a categorical split: where its set is.
    static constexpr std::uint32_t kInWord = 1u << 31;
    static constexpr std::uint32_t kInSets = 1u << 30;
    static constexpr std::uint32_t kFeature = kInSets - 1;
    static constexpr std::uint32_t kOthers = 63;  // bit of the word that stands for this category and all above it

    struct Leaf {  // of several classes: where its shares are, and the commonest
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t winner;
    };

    // Forests without categories are walked without asking for them.
    template <class Float>
    void walk(std::size_t tree, const Float* const* rows, std::size_t n, std::uint32_t* nodes) const {
        has_categories_ ? walk_with<true>(tree, rows, n, nodes) : walk_with<false>(tree, rows, n, nodes);
    }
    template <bool HasCategories, class Float>
    void walk_with(std::size_t tree, const Float* const* rows, std::size_t n, std::uint32_t* nodes) const;
    void say(std::size_t tree, std::uint32_t number, bool hard, double* sums) const;
    std::uint32_t add_leaf(const ForestView& forest, std::size_t number);
    void add_set(const ForestView& forest, std::size_t i, Node& node);
    bool goes_left(const Node& node, double category) const;
    std::uint32_t add_bound_leaf(double second);
    std::uint32_t keep_leaf(Leaf leaf);

    std::uint32_t n_features_;
    std::uint32_t n_classes_;
    std::vector<std::size_t> roots_;  // where the nodes of each tree begin
    std::vector<Node> nodes_;
    std::vector<Leaf> leaves_;
    std::vector<std::int32_t> leaf_class_;
    std::vector<double> leaf_share_;
    CategorySets sets_;
    bool has_categories_ = false;
};

}  // namespace weald
