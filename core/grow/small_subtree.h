// A regression subtree of few rows, grown at once.
//
// Most nodes of a tree are this small, and most of their time is constant overhead per node, which is minimized here.
// grow/small_rows.h stores the rows, grow/search_small_rows.h finds cuts, grow/small_nodes.h stores the nodes.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "coding/codes.h"
#include "draw/bag.h"
#include "draw/cut_by_sets.h"
#include "draw/sibling_draws.h"
#include "draw/tie_keys.h"
#include "draw/tree_params.h"
#include "grow/search_small_rows.h"
#include "grow/small_nodes.h"
#include "grow/small_rows.h"
#include "rows/block.h"
#include "rows/tree_rows.h"
#include "targets/regression.h"
#include "tree/node.h"

namespace weald {

// Whether a model has the fast method for small subtrees.
template <class Model>
inline constexpr bool kHasSmallSubtrees = std::is_same_v<Model, NumberModel<CountedNumbers, SquaredError>>;

struct NoSmallSubtree {
    NoSmallSubtree(const Codes&, const Growth&) {}
};

class SmallSubtree {
  public:
    using Labels = SmallRows::Labels;
    using Tree = TreeInTraining<Labels::Payload>;

    SmallSubtree(const Codes& codes, const Growth& growth)
        : growth_(growth),
          n_features_(static_cast<std::uint32_t>(codes.columns.size())),
          takes_all_(growth.max_features >= n_features_),
          ties_by_key_(takes_all_ && !growth.ties_by_column),
          all_features_(n_features_ == 0 ? 0 : ~std::uint64_t{0} >> (64 - std::min(n_features_, 64u))),
          draws_(n_features_),
          are_possible_(can_be_grown(codes, growth)),
          rows_(n_features_) {}

    // Grows the subtree of a node; `constant`: features that cannot cut it. Null: the subtree does not qualify.
    const FewNodes* grow(const Labels& labels, Tree& tree, const Node& node, const CodeReader& reader,
                         FeatureSet constant) {
        const std::uint32_t n = node.n_rows();
        if (!are_possible_ || n > SmallRows::kMost || !tree.limits.admit_all() ||
            !rows_.take_targets(labels, {tree.payloads(node), n}) ||
            (n > 1 && !rows_.take_codes(reader, node.begin, tree.ids(node), constant))) {
            return nullptr;
        }
        tree_ = &tree;
        nodes_.n = 0;
        Waiting root{
            .rows = ~0u >> (32 - n), .depth = node.depth, .id = node.id, .constant = constant.words()[0], .total = {}};
        for (std::uint32_t i = 0; i < n; ++i) {
            root.total += rows_.cell(i);
        }
        if (n > 1 && !takes_all_) {
            root.steps = draws_.draw(address(0), {node.id, node.id})[0];
        }
        n_waiting_ = 0;
        grow_from(root);
        while (n_waiting_ != 0) {
            const Waiting next = waiting_[--n_waiting_];
            nodes_.link(next.parent);
            grow_from(next);
        }
        return &nodes_;
    }

  private:
    using Scorer = SmallSearch::Scorer;

    struct Waiting {
        std::uint32_t rows;
        std::uint32_t parent = 0;
        std::int32_t depth;
        std::uint64_t id;
        std::uint64_t constant;
        SmallRows::Cell total;
        FirstSteps steps = {};
    };

    static bool can_be_grown(const Codes& codes, const Growth& growth) {
        return codes.columns.size() <= SmallRows::kMostFeatures && !growth.random_cuts && growth.monotonic.empty() &&
               growth.interaction_groups.empty() && growth.max_interacting == 0 && growth.feature_weights.empty() &&
               growth.max_leaf_nodes == 0 && growth.min_impurity_decrease <= 0 && codes.filled.is_empty() &&
               std::all_of(codes.columns.begin(), codes.columns.end(),
                           [&](const Column& column) { return column.width <= 2 && !is_cut_by_sets(column, growth); });
    }

    Address address(std::uint64_t id) const { return {tree_->seed, id, tree_->number, kPurposeFeatures}; }

    // ---- From node to node

    // Continues with left children down to a leaf; right children are processed later.
    void grow_from(Waiting node) {
        while (true) {
            const Scorer scorer(node.total, tree_->limits);
            const std::optional<SmallCut> cut = is_leaf(node) ? std::nullopt : find(node, scorer);
            if (!cut) {
                nodes_.write_leaf(node.total, rows_.squares_of(node.rows));
                return;
            }
            const std::uint32_t number = nodes_.write_split(
                node.total, {.feature = cut->feature,
                             .beside = cut->beside,
                             .missing_left = scorer.balance(cut->left) >= 0,
                             .decrease = std::max(0.0, cut->score - scorer.undivided()) / tree_->root_weight});
            const std::uint32_t rows_right = node.rows ^ cut->rows_left;
            Waiting& right = waiting_[n_waiting_++];
            right = {.rows = rows_right,
                     .parent = number,
                     .depth = node.depth + 1,
                     .id = child_id(node.id, 1),
                     .constant = node.constant,
                     .total = node.total - cut->left};
            node = {.rows = cut->rows_left,
                    .depth = node.depth + 1,
                    .id = child_id(node.id, 0),
                    .constant = node.constant,
                    .total = cut->left};
            if (!takes_all_ && (is_more_than_one(node.rows) || is_more_than_one(rows_right))) {
                const auto steps = draws_.draw(address(0), {node.id, right.id});
                node.steps = steps[0];
                right.steps = steps[1];
            }
        }
    }

    static bool is_more_than_one(std::uint32_t rows) { return (rows & (rows - 1)) != 0; }

    bool is_leaf(const Waiting& node) const {
        return node.total.weight < growth_.min_samples_split || node.depth == growth_.max_depth ||
               !is_more_than_one(node.rows);
    }

    // ---- One node

    // Returns the split, or nothing for a leaf. Constant features are added to node.constant.
    std::optional<SmallCut> find(Waiting& node, const Scorer& scorer) {
        const Address at = address(node.id);
        keys_.begin(at);
        FewDraw draw(at, node.steps, n_features_, takes_all_);
        if (std::popcount(node.rows) == 2) {
            return cut_two(node, scorer, draw);
        }
        const double squares = rows_.center(node.rows, node.total, scorer.mean());
        if (squares == 0) {
            return {};  // all targets are equal
        }
        const SmallSearch::Of of{node.rows, node.total.weight, squares};
        SmallSearch search(rows_, scorer, of, scratch_, ties_by_key_ ? &keys_ : nullptr);
        std::uint32_t n_looked_at = 0;
        while (n_looked_at < growth_.max_features) {
            const LaneFeatures features = take(draw, growth_.max_features - n_looked_at, node.constant);
            if (features.n == 0) {
                break;
            }
            const std::uint32_t admissible = search.look_at(features);
            n_looked_at += static_cast<std::uint32_t>(std::popcount(admissible));
            for (std::uint32_t constant = features.all() ^ admissible; constant != 0; constant &= constant - 1) {
                node.constant |= std::uint64_t{1}
                                 << features.of(static_cast<std::uint32_t>(std::countr_zero(constant)));
            }
        }
        return n_looked_at == 0 ? std::nullopt : std::optional(search.best());
    }

    // The next features of a draw that are not constant.
    static LaneFeatures take(FewDraw& draw, std::uint32_t most, std::uint64_t constant) {
        const auto wanted = std::min<std::uint32_t>(lanes::kLanes, most);
        LaneFeatures features;
        while (features.n < wanted && !draw.is_empty()) {
            const std::uint32_t feature = draw.next();
            if ((constant >> feature & 1) == 0) {
                features.add(feature);
            }
        }
        return features;
    }

    // Two rows can be divided in one way, by the first feature that distinguishes them.
    std::optional<SmallCut> cut_two(const Waiting& node, const Scorer& scorer, FewDraw& draw) {
        const auto first = static_cast<std::uint32_t>(std::countr_zero(node.rows));
        const auto second = static_cast<std::uint32_t>(std::bit_width(node.rows)) - 1;
        if (rows_.number(first) == rows_.number(second)) {
            return {};
        }
        const std::uint64_t apart = rows_.differences(first, second) & all_features_ & ~node.constant;
        if (apart == 0) {
            return {};
        }
        const std::uint32_t feature = first_of(apart, draw);
        const std::uint32_t code = rows_.code(first, feature);
        const std::uint32_t other = rows_.code(second, feature);
        const std::uint32_t low = code < other ? first : second;
        const SmallRows::Cell left = rows_.cell(low);
        return SmallCut{.score = scorer.score(left),
                        .feature = feature,
                        .rows_left = 1u << low,
                        .left = left,
                        .beside = {std::min(code, other), std::max(code, other)}};
    }

    // The feature of a set that is first in the order of keys or draws.
    std::uint32_t first_of(std::uint64_t features, FewDraw& draw) {
        if (ties_by_key_) {
            return keys_.least_of(features);
        }
        std::uint32_t feature = draw.next();
        while ((features >> feature & 1) == 0) {
            feature = draw.next();
        }
        return feature;
    }

    const Growth& growth_;
    std::uint32_t n_features_;
    bool takes_all_;  // all features are considered, so none is drawn
    bool ties_by_key_;
    std::uint64_t all_features_;  // one bit per feature
    SiblingDraws draws_;
    bool are_possible_;
    SmallRows rows_;
    SmallScratch scratch_;
    TieKeys keys_;  // tie keys of the node
    FewNodes nodes_;
    Tree* tree_ = nullptr;
    std::uint32_t n_waiting_ = 0;
    std::array<Waiting, SmallRows::kMost> waiting_;
};

}  // namespace weald
