// Writing nodes in pre-order.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coding/codes.h"
#include "draw/cut_by_sets.h"
#include "draw/tree_params.h"
#include "search/random_cut.h"
#include "targets/target_model.h"
#include "tree/node.h"
#include "tree/thresholds.h"
#include "tree/tree.h"
#include "tree/tree_parts.h"

namespace weald {

template <TargetModel Model>
class TreeWriter {
  public:
    using Payload = typename Model::Payload;
    using Part = TreePart<typename Model::Sums>;

    // Memory is reserved in all arrays together.
    void begin(Part& part, Model& model) {
        tree_ = std::move(part.tree);
        const std::size_t n = tree_.feature.capacity();
        beside_.reserve(n);
        model.reserve(tree_, n);
    }
    void end(Part& part, Model& model) {
        part.tree = std::move(tree_);
        part.beside = std::exchange(beside_, {});
        part.sums = model.take_sums();
    }

    // The next tree may use the memory of this one's sums.
    void recycle(std::vector<CutCodes> beside) {
        beside.clear();
        beside_ = std::move(beside);
    }

    std::size_t n_nodes() const { return tree_.n_nodes(); }

    // The next node is the right child of an earlier one.
    void link(std::int64_t parent) {
        tree_.right[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(tree_.n_nodes());
    }

    // Writes a node that the model has read; without a split it is a leaf.
    void write(Model& model, const Payload* payloads, std::uint32_t n_rows, const std::optional<Split>& split) {
        tree_.feature.push_back(split ? static_cast<std::int32_t>(split->feature) : -1);
        tree_.threshold.push_back(split ? split->threshold : 0.0);
        beside_.push_back(split ? CutCodes{split->below, split->cut.cuts_off_missing() ? kNothingAbove : split->above}
                                : CutCodes{});
        tree_.right.push_back(0);
        tree_.flags.push_back(split && split->missing_left ? kMissingLeft : 0);
        tree_.size.push_back(static_cast<std::uint32_t>(model.size()));
        if (!model.weights_are_sizes()) {
            tree_.weight.push_back(static_cast<double>(model.weight()));
        }
        tree_.decrease.push_back(split ? split->decrease : 0.0);
        model.write_node(tree_, payloads, n_rows, !split);
    }
    // A subtree whose nodes were written elsewhere.
    template <class Nodes>
    void append(Model& model, const Nodes& nodes) {
        const std::size_t n = nodes.n;
        const auto first = static_cast<std::int32_t>(tree_.n_nodes());
        append(tree_.feature, nodes.feature.data(), n);
        tree_.threshold.insert(tree_.threshold.end(), n, 0.0);
        append(beside_, nodes.beside.data(), n);
        append(tree_.right, nodes.right.data(), n);
        for (auto right = tree_.right.begin() + first; right != tree_.right.end(); ++right) {
            *right += *right == 0 ? 0 : first;
        }
        append(tree_.flags, nodes.flags.data(), n);
        append(tree_.size, nodes.size.data(), n);
        append(tree_.decrease, nodes.decrease.data(), n);
        model.write_nodes(tree_, {nodes.totals.data(), n}, {nodes.squares.data(), n});
    }
    // For the node just written: the categories that go to its lighter child.
    void write_set(const Split& split, std::span<const std::uint32_t> set) {
        tree_.flags.back() |= kCategorical | (split.cut.left_is_heavier ? kOthersLeft : 0);
        tree_.set_length.push_back(static_cast<std::uint32_t>(set.size()));
        tree_.category_sets.insert(tree_.category_sets.end(), set.begin(), set.end());
    }
    // For the node just written: its value, limited to the bounds.
    void write_value(Model& model, const ValueBounds& bounds) { model.write_value(tree_, bounds); }

  private:
    template <class T>
    static void append(std::vector<T>& to, const T* from, std::size_t n) {
        to.insert(to.end(), from, from + n);
    }

    TreeArrays tree_;
    std::vector<CutCodes> beside_;  // indexed by node
};

// Thresholds are looked up when the tree is grown, all at once, so that the memory accesses overlap. `values` are by
// feature, for random cuts.
template <class Part>
void write_thresholds(Part& part, const Codes& codes, const Growth& growth, std::span<const ValueIndex> values) {
    for (std::size_t i = 0; i < part.tree.n_nodes(); ++i) {
        if (part.tree.feature[i] < 0) {
            continue;
        }
        const auto feature = static_cast<std::size_t>(part.tree.feature[i]);
        const Column& column = codes.columns[feature];
        if (is_cut_by_sets(column, growth)) {
            continue;
        }
        const auto [below, above] = part.beside[i];
        if (column.lows.are_left_out()) {
            part.tree.threshold[i] = put_off(part.beside[i]);
        } else if (above == kNothingAbove) {
            part.tree.threshold[i] = std::numeric_limits<double>::infinity();
        } else if (!values.empty()) {
            part.tree.threshold[i] = values[feature].threshold(part.tree.threshold[i]);
        } else {
            part.tree.threshold[i] = place_threshold(column.upper()[below], column.lows[above]);
        }
    }
}

}  // namespace weald
