// Growing one tree or a part of it: the order of nodes, and their splits.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "grow/find_split.h"
#include "grow/partition.h"
#include "grow/small_subtree.h"
#include "grow/write_tree.h"
#include "rows/tree_rows.h"
#include "targets/target_model.h"
#include "tree/piece.h"
#include "tree/tree_parts.h"

namespace weald {

inline constexpr std::uint32_t kLeastGiven = 8192;  // minimum rows of a subtree that another thread may grow

template <TargetModel Model>
class Grower {
  public:
    using Payload = typename Model::Payload;
    using Tree = TreeInTraining<Payload>;
    using Part = TreePart<typename Model::Sums>;
    using Bins = typename CarriedBins<Model>::Bins;
    // A right subtree for another thread to grow.
    struct SharedSubtree {
        Node node;
        std::vector<std::uint64_t> constant;
        Part* part;
        Bins bins = {};
    };
    using GiveAway = std::function<void(SharedSubtree)>;

    Grower(const Codes& codes, const Growth& growth, const Model& model, const Work& work)
        : codes_(codes),
          growth_(growth),
          finder_(codes, growth, model, work),
          model_(finder_.model()),
          n_words_(finder_.n_known_words()),
          small_(codes, growth) {}

    Model& model() { return model_; }
    std::vector<std::uint64_t> known_at_root() { return finder_.known_at_root(); }

    // Starts with a tree whose rows are set.
    void begin(Tree& tree) {
        const auto n = static_cast<std::uint32_t>(tree.rows.ids.size());
        tree.rows.end();
        model_.look_at(tree.rows.payloads.data(), n);
        tree.root_weight = static_cast<double>(model_.weight());
        tree.limits.min_size = growth_.min_samples_leaf;
        tree.limits.min_weight =
            static_cast<std::int64_t>(std::ceil(growth_.min_weight_fraction_leaf * tree.root_weight));
    }

    // The whole tree; or a piece of it, with leaves for nodes of other pieces.
    TreeArrays grow(Tree& tree, Piece* piece = nullptr) {
        begin(tree);
        piece_ = piece;
        Part part;
        part.tree = std::move(spare_);
        part.tree.reserve(n_nodes_before_ + n_nodes_before_ / 16);
        grow_part(tree, {tree.root(), known_at_root(), &part}, {});
        n_nodes_before_ = part.tree.n_nodes();
        if (piece) {
            piece->finish(n_nodes_before_);
        }
        return finish(std::move(part));
    }

    // Grows the subtree of a node. Large right subtrees are offered to `give_away`.
    void grow_part(Tree& tree, SharedSubtree offer, const GiveAway& give_away) {
        const auto& [node, constant, given, bins] = offer;
        Part& part = *given;
        tree_ = &tree;
        finder_.begin(tree, node);
        finder_.carried().begin(bins);
        writer_.begin(part, model_);
        if (growth_.max_leaf_nodes == 0) {
            grow_depth_first(node, constant, std::move(offer.bins), part, give_away);
        } else {
            grow_best_first(node);
        }
        writer_.end(part, model_);
    }

    // Reuses the memory of a finished tree.
    void recycle(TreeArrays room) { spare_ = std::move(room); }

    TreeArrays finish(Part part) {
        if (!part.gaps.empty()) {
            part = std::move(part).join();
        }
        write_thresholds(part, codes_, growth_, finder_.values());
        model_.finish(part.tree, std::move(part.sums));
        writer_.recycle(std::move(part.beside));
        return std::move(part.tree);
    }

  private:
    // ---- Order of growth

    // Left children first: nodes are written in pre-order.
    void grow_depth_first(const Node& root, const std::vector<std::uint64_t>& constant_at_root, Bins bins_of_root,
                          Part& part, const GiveAway& give_away) {
        struct Waiting {
            Node node;
            std::int64_t parent;         // parent of a right child, to be linked; -1: none
            const Part* part = nullptr;  // grown by another thread
            Bins bins = {};
        };
        std::vector<Waiting> waiting;
        waiting.push_back({root, -1, nullptr, std::move(bins_of_root)});
        constant_.assign(static_cast<std::size_t>(root.depth) * n_words_, 0);
        constant_.insert(constant_.end(), constant_at_root.begin(), constant_at_root.end());
        while (!waiting.empty()) {
            auto [node, parent, given_away, bins] = std::move(waiting.back());
            waiting.pop_back();
            if (given_away) {
                part.gaps.push_back({writer_.n_nodes(), static_cast<std::size_t>(parent), given_away});
                continue;
            }
            if (parent >= 0) {
                writer_.link(parent);
            }
            if (is_elsewhere(node)) {
                write_leaf(node);
                finder_.carried().recycle(std::move(bins));
                continue;
            }
            if (grow_small(node)) {
                finder_.carried().recycle(std::move(bins));
                continue;
            }
            look_at(node);
            if (finder_.is_leaf(node)) {
                write_node(node, {});
                finder_.carried().recycle(std::move(bins));
                continue;
            }
            // The sets of constant features are stored by depth: a node's set is copied for its children.
            const std::size_t level = static_cast<std::size_t>(node.depth) * n_words_;
            if (constant_.size() < level + 2 * n_words_) {
                constant_.resize(level + 2 * n_words_);
            }
            std::uint64_t* constant = constant_.data() + level + n_words_;
            std::copy_n(constant_.data() + level, n_words_, constant);
            if (!give_away || node.n_rows() < 2 * kLeastGiven) {  // rows in a block cannot be passed to other threads
                finder_.node_codes().reader().enter(node.begin, tree_->ids(node), FeatureSet(constant));
            }
            finder_.carried().prepare(bins, model_, *tree_, node, finder_.node_codes(), FeatureSet(constant));
            const std::optional<Split> split = finder_.find(node, FeatureSet(constant), bins);
            write_node(node, split);
            finder_.categories().forget_sets();
            if (split) {
                const auto number = static_cast<std::int64_t>(writer_.n_nodes()) - 1;
                const auto children = divide(node, *split);
                const auto& [left, right] = children;
                if (node.n_rows() == 2) {
                    write_leaf(left);
                    writer_.link(number);
                    write_leaf(right);
                    continue;
                }
                auto [left_bins, right_bins] = finder_.carried().divide(std::move(bins), model_, *tree_, children,
                                                                        finder_.node_codes(), FeatureSet(constant));
                if (give_away && std::min(left.n_rows(), right.n_rows()) >= kLeastGiven) {
                    part.given_away.push_back(std::make_unique<Part>());
                    Part* given = part.given_away.back().get();
                    waiting.push_back({right, number, given});
                    give_away({right, {constant, constant + n_words_}, given, std::move(right_bins)});
                } else {
                    waiting.push_back({right, number, nullptr, std::move(right_bins)});
                }
                waiting.push_back({left, -1, nullptr, std::move(left_bins)});
            } else {
                finder_.carried().recycle(std::move(bins));
            }
        }
    }

    // Whether the next node belongs to other pieces of the tree, with its whole subtree.
    bool is_elsewhere(const Node& node) {
        if (!piece_) {
            return false;
        }
        const auto n_rows = static_cast<std::uint32_t>(tree_->rows.ids.size());
        piece_->meet(node, n_rows, writer_.n_nodes());
        return !piece_->has_rows_of(node, n_rows);
    }

    // Grows the whole subtree of a node, if it has few rows and there is a fast method.
    bool grow_small(const Node& node) {
        if constexpr (kHasSmallSubtrees<Model>) {
            if (node.n_rows() <= SmallRows::kMost) {
                const FeatureSet constant(constant_.data() + static_cast<std::size_t>(node.depth) * n_words_);
                const FewNodes* nodes =
                    small_.grow(model_.labels(), *tree_, node, finder_.node_codes().reader(), constant);
                if (nodes != nullptr) {
                    writer_.append(model_, *nodes);
                    return true;
                }
            }
        }
        return false;
    }

    struct NewNode {
        Node node;
        std::optional<Split> split;
        std::vector<std::uint64_t> constant;
        std::uint32_t left = 0;  // 0: not split
        std::uint32_t right = 0;
    };

    NewNode make(const Node& node, std::vector<std::uint64_t> constant) {
        NewNode made{node, {}, std::move(constant)};
        look_at(node);
        made.split = finder_.find(node, FeatureSet(made.constant.data()));
        return made;
    }

    // The node with the largest decrease is split first; on a tie, the node created earlier.
    void grow_best_first(const Node& root) {
        std::vector<NewNode> made;
        const auto later = [&](std::uint32_t a, std::uint32_t b) {
            const double decrease_a = made[a].split->decrease;
            const double decrease_b = made[b].split->decrease;
            return decrease_a != decrease_b ? decrease_a < decrease_b : a > b;
        };
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> waiting(later);
        const auto add = [&](const Node& node, const std::vector<std::uint64_t>& constant) {
            made.push_back(make(node, constant));
            const auto number = static_cast<std::uint32_t>(made.size() - 1);
            if (made.back().split) {
                waiting.push(number);
            }
            return number;
        };
        add(root, known_at_root());
        for (std::uint32_t n_leaves = 1; !waiting.empty() && n_leaves < growth_.max_leaf_nodes; ++n_leaves) {
            const std::uint32_t number = waiting.top();
            waiting.pop();
            const Node node = made[number].node;
            const std::vector<std::uint64_t> constant = made[number].constant;
            const Split split = *made[number].split;
            finder_.gather_again(node, split);
            const auto [left, right] = divide(node, split);
            const std::uint32_t left_number = add(left, constant);
            const std::uint32_t right_number = add(right, constant);
            made[number].left = left_number;
            made[number].right = right_number;
        }
        write_in_preorder(made);
    }

    void write_in_preorder(const std::vector<NewNode>& made) {
        std::vector<std::pair<std::uint32_t, std::int64_t>> waiting{{0, -1}};
        while (!waiting.empty()) {
            const auto [number, parent] = waiting.back();
            waiting.pop_back();
            const auto here = static_cast<std::int64_t>(writer_.n_nodes());
            if (parent >= 0) {
                writer_.link(parent);
            }
            const NewNode& node = made[number];
            const bool is_divided = node.left != 0;
            look_at(node.node);
            write_node(node.node, is_divided ? node.split : std::nullopt);
            if (is_divided) {
                waiting.emplace_back(node.right, here);
                waiting.emplace_back(node.left, -1);
            }
        }
    }

    // ---- One node

    void look_at(const Node& node) { model_.look_at(tree_->payloads(node), node.n_rows()); }

    std::pair<Node, Node> children(const Node& node, const Split& split, std::uint32_t middle) const {
        const int sign = split.cut.cuts_off_missing() ? 0 : finder_.sign_of(split.feature);
        const auto [left, right] =
            sign == 0 ? std::pair(node.bounds, node.bounds) : node.bounds.divided(sign, split.middle);
        return {{node.begin, middle, node.depth + 1, child_id(node.id, 0), left},
                {middle, node.end, node.depth + 1, child_id(node.id, 1), right}};
    }

    // Uses the codes that the split finder kept.
    std::pair<Node, Node> divide(const Node& node, const Split& split) {
        const std::uint32_t middle = finder_.node_codes().use(split.feature, finder_.kept(), [&](const auto* codes) {
            return node.begin + partition_rows(codes, split.cut, tree_->ids(node).data(), tree_->payloads(node),
                                               node.n_rows(), partition_scratch_);
        });
        return children(node, split, middle);
    }

    void write_leaf(const Node& node) {
        look_at(node);
        write_node(node, {});
    }

    // The model has read the node.
    void write_node(const Node& node, const std::optional<Split>& split) {
        writer_.write(model_, tree_->payloads(node), node.n_rows(), split);
        if (split && finder_.is_categorical(split->feature)) {
            writer_.write_set(*split, finder_.categories().set_of(*split));
        }
        if (!growth_.monotonic.empty()) {
            writer_.write_value(model_, node.bounds);
        }
    }

    const Codes& codes_;
    const Growth& growth_;
    SplitFinder<Model> finder_;
    Model& model_;         // the finder's
    std::size_t n_words_;  // words of the feature sets passed to children, for each level
    TreeWriter<Model> writer_;
    std::conditional_t<kHasSmallSubtrees<Model>, SmallSubtree, NoSmallSubtree> small_;
    Tree* tree_ = nullptr;
    Piece* piece_ = nullptr;  // the piece of the tree to grow; null: the whole tree
    PartitionScratch<Payload> partition_scratch_;
    std::vector<std::uint64_t> constant_;  // features that cannot cut, level by level
    TreeArrays spare_;                     // empty, with memory for the next tree
    std::size_t n_nodes_before_ = 0;       // nodes of the previous tree: an estimate for this one
};

}  // namespace weald
