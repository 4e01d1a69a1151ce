// The arrays of all trees, each put together to one.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "forest.h"
#include "freed.h"
#include "large_pages.h"
#include "threads.h"

namespace weald {

struct JoinedTrees {
    std::vector<std::size_t> n_nodes;  // by tree
    LargeVector<std::int32_t> feature;
    LargeVector<double> threshold;
    LargeVector<std::int32_t> right;
    LargeVector<std::uint8_t> flags;
    LargeVector<std::uint32_t> size;
    LargeVector<double> weight;
    LargeVector<double> decrease;
    LargeVector<std::uint32_t> leaf_length;
    LargeVector<std::int32_t> leaf_class;
    LargeVector<double> leaf_weight;
    LargeVector<double> value;
    LargeVector<double> impurity;
    LargeVector<std::uint32_t> set_length;
    LargeVector<std::uint32_t> category_sets;
};

// Each array of a tree is freed when it has been copied.
template <class T>
void join_arrays(std::vector<TreeArrays>& trees, std::vector<T> TreeArrays::* member, LargeVector<T>& joined) {
    std::size_t n = 0;
    for (const TreeArrays& tree : trees) {
        n += (tree.*member).size();
    }
    joined.resize(n);
    T* to = joined.data();
    Freed freed;
    for (TreeArrays& tree : trees) {
        to = std::copy((tree.*member).begin(), (tree.*member).end(), to);
        const std::size_t n_bytes = (tree.*member).capacity() * sizeof(T);
        std::vector<T>().swap(tree.*member);
        freed.add(n_bytes);
    }
}

// Trees keep no weights where these are the sizes.
inline void join_weights(std::vector<TreeArrays>& trees, std::size_t n_nodes, LargeVector<double>& joined) {
    joined.resize(n_nodes);
    double* to = joined.data();
    for (TreeArrays& tree : trees) {
        to = tree.weight.empty() ? std::copy(tree.size.begin(), tree.size.end(), to)
                                 : std::copy(tree.weight.begin(), tree.weight.end(), to);
        std::vector<double>().swap(tree.weight);
    }
}

// Sets of categories are numbered through all trees, in the order of their nodes.
inline void number_sets(std::vector<TreeArrays>& trees) {
    std::size_t n_sets = 0;
    for (TreeArrays& tree : trees) {
        for (std::size_t i = 0; i < tree.n_nodes() && !tree.set_length.empty(); ++i) {
            if ((tree.flags[i] & kCategorical) != 0) {
                tree.threshold[i] = static_cast<double>(n_sets++);
            }
        }
    }
}

// Large arrays are joined side by side: one thread would take as long as it takes to grow some of the trees.
inline JoinedTrees join_trees(std::vector<TreeArrays> trees, Work& work) {
    constexpr std::size_t kMuch = 1 << 16;  // nodes
    JoinedTrees joined;
    std::size_t n_nodes = 0;
    for (const TreeArrays& tree : trees) {
        joined.n_nodes.push_back(tree.n_nodes());
        n_nodes += tree.n_nodes();
    }
    number_sets(trees);
    const std::vector<std::function<void()>> joins = {
        [&] { join_arrays(trees, &TreeArrays::threshold, joined.threshold); },
        [&] { join_arrays(trees, &TreeArrays::decrease, joined.decrease); },
        [&] { join_arrays(trees, &TreeArrays::value, joined.value); },
        [&] { join_arrays(trees, &TreeArrays::impurity, joined.impurity); },
        [&] {
            join_weights(trees, n_nodes, joined.weight);
            join_arrays(trees, &TreeArrays::size, joined.size);
        },
        [&] { join_arrays(trees, &TreeArrays::feature, joined.feature); },
        [&] { join_arrays(trees, &TreeArrays::right, joined.right); },
        [&] { join_arrays(trees, &TreeArrays::flags, joined.flags); },
        [&] { join_arrays(trees, &TreeArrays::leaf_length, joined.leaf_length); },
        [&] { join_arrays(trees, &TreeArrays::leaf_class, joined.leaf_class); },
        [&] { join_arrays(trees, &TreeArrays::leaf_weight, joined.leaf_weight); },
        [&] { join_arrays(trees, &TreeArrays::set_length, joined.set_length); },
        [&] { join_arrays(trees, &TreeArrays::category_sets, joined.category_sets); },
    };
    if (n_nodes < kMuch) {
        for (const auto& join : joins) {
            join();
        }
    } else {
        work.run(joins.size(), [&](std::size_t i, std::size_t) { joins[i](); }, [] { return 1.0; });
    }
    return joined;
}

}  // namespace weald
