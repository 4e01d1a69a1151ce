// The steps of reading a forest from a file.
//
//   EncodedHead   numbers that are known before the arrays are read
//   Decoded       the arrays of the forest
//   Decoder       the steps: nodes, leaves and splits in files/decode.cpp,
//                 decreases and values in files/decode_gains.cpp

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/task.h"
#include "base/threads.h"
#include "files/encoded.h"
#include "tree/forest_arrays.h"

namespace weald {

enum class Rule { none, gini, entropy, misclassification, squared_error };

// Numbers that are known before the arrays are read.
struct EncodedHead {
    std::uint32_t n_features = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::size_t n_trees = 0;
    std::size_t n_nodes = 0;
    double center = 0;
    int exponent = 0;
    Rule rule = Rule::none;  // the rule that predicts decreases
    bool is_bound = false;
    std::size_t most_depth = 0;

    Task task() const { return task_of(n_classes); }
};

struct Decoded : ForestArrays {
    LargeVector<double> tree_weight;
};

// Arithmetic of integers is modulo 2^64, so that no input overflows.
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

inline std::int64_t to_whole(double x) {
    return x == x ? static_cast<std::int64_t>(std::rint(std::clamp(x, -0x1p62, 0x1p62))) : 0;
}

// ---- The steps

constexpr std::size_t kWorthThreads = 1 << 16;  // nodes

struct Tree {
    std::size_t begin;  // nodes of the tree
    std::size_t end;
    std::size_t first_split;  // index of its first split among the splits of all trees
    std::size_t first_leaf;

    std::ptrdiff_t first() const { return static_cast<std::ptrdiff_t>(begin); }
    std::ptrdiff_t last() const { return static_cast<std::ptrdiff_t>(end); }
    std::size_t n_nodes() const { return end - begin; }
    std::size_t n_splits() const { return n_nodes() / 2; }
};

class Decoder {
  public:
    Decoder(const EncodedHead& head, EncodedColumns columns, Work& work)
        : head_(head), columns_(std::move(columns)), work_(work) {}

    Decoded decode() {
        read_shape();
        read_leaves();
        read_weights();
        read_splits();
        if (head_.task() == Task::classification) {
            read_class_decreases();
        } else {
            read_means();
        }
        read_tree_weights();
        columns_.require_empty();
        return std::move(made_);
    }

  private:
    void read_shape();
    void read_links(const Tree& tree);
    void read_leaves();
    void read_weights();
    void read_sizes(const LargeVector<std::int64_t>& of_leaves);
    void read_splits();
    LargeVector<std::uint8_t> read_flags();
    void read_sets(std::size_t n_sets);
    void read_class_decreases();
    void read_bound_values();
    void read_means();
    void read_tree_weights();

    std::size_t right_of(const Tree& tree, std::size_t node) const {
        return tree.begin + static_cast<std::size_t>(made_.right[node]);
    }
    std::size_t n_splits() const { return (head_.n_nodes - head_.n_trees) / 2; }
    std::size_t n_leaves() const { return (head_.n_nodes + head_.n_trees) / 2; }

    Tree tree_at(std::size_t t) const {
        const auto begin = static_cast<std::size_t>(made_.tree_start[t]);
        const std::size_t first_split = (begin - t) / 2;  // each tree before has one more leaf than splits
        return {begin, static_cast<std::size_t>(made_.tree_start[t + 1]), first_split, first_split + t};
    }
    // Visits all trees, in parallel if they are large.
    template <class Visit>
    void each_tree(Visit visit) const {
        if (head_.n_nodes >= kWorthThreads) {
            work_.run(head_.n_trees, [&](std::size_t t, std::size_t) { visit(tree_at(t)); });
            return;
        }
        for (std::size_t t = 0; t < head_.n_trees; ++t) {
            visit(tree_at(t));
        }
    }
    // Visits the splits or the leaves of a tree in order.
    template <class Visit>
    void each_split(const Tree& tree, Visit visit) const {
        for (std::size_t split = tree.first_split; split < tree.first_split + tree.n_splits(); ++split) {
            visit(tree.begin + static_cast<std::size_t>(splits_[split]), split);
        }
    }
    template <class Visit>
    void each_leaf(const Tree& tree, Visit visit) const {
        for (std::size_t leaf = tree.first_leaf; leaf <= tree.first_leaf + tree.n_splits(); ++leaf) {
            visit(tree.begin + static_cast<std::size_t>(leaves_[leaf]), leaf);
        }
    }
    // Adds up integers of leaves, for each node of a tree over the leaves below it.
    template <class OfLeaf>
    std::vector<std::int64_t> add_up(const Tree& tree, OfLeaf of_leaf) const {
        std::vector<std::int64_t> sums(tree.n_nodes());
        each_leaf(tree, [&](std::size_t node, std::size_t leaf) { sums[node - tree.begin] = of_leaf(leaf); });
        for (std::size_t split = tree.first_split + tree.n_splits(); split-- > tree.first_split;) {
            const auto i = static_cast<std::size_t>(splits_[split]);
            sums[i] = plus(sums[i + 1], sums[static_cast<std::size_t>(made_.right[tree.begin + i])]);
        }
        return sums;
    }
    // Only the root of an empty bag has no classes.
    bool has_classes(std::size_t leaf) const { return made_.leaf_start[leaf] < made_.leaf_start[leaf + 1]; }
    std::int64_t weight_of_class(std::size_t leaf, std::int32_t k) const {
        const auto begin = made_.leaf_class.begin() + made_.leaf_start[leaf];
        const auto end = made_.leaf_class.begin() + made_.leaf_start[leaf + 1];
        const auto found = end - begin < 8 ? std::find(begin, end, k) : std::lower_bound(begin, end, k);
        return found == end || *found != k
                   ? 0
                   : to_whole(made_.leaf_weight[static_cast<std::size_t>(found - made_.leaf_class.begin())]);
    }

    EncodedHead head_;
    EncodedColumns columns_;
    Work& work_;
    Decoded made_;
    LargeVector<std::int32_t> splits_;  // indices of nodes inside their trees
    LargeVector<std::int32_t> leaves_;
};

}  // namespace weald
