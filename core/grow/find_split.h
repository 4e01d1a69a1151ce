// The best split of a node: features are drawn and searched until enough of them can cut it.
//
// Several features are searched at once if that is faster (grow/lane_split.h), otherwise one by one. Random cuts are in
// grow/random_split.h.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "coding/codes.h"
#include "draw/cut_by_sets.h"
#include "draw/feature_draw.h"
#include "draw/tree_params.h"
#include "grow/lane_split.h"
#include "grow/random_split.h"
#include "grow/split_common.h"
#include "rows/filled_rows.h"
#include "rows/node_codes.h"
#include "rows/tree_rows.h"
#include "score/monotonic.h"
#include "search/binary.h"
#include "search/categories.h"
#include "search/constrained.h"
#include "search/inherited_bins.h"
#include "targets/targets.h"
#include "tree/node.h"

namespace weald {

inline constexpr std::size_t kFreeCategories = 10;  // columns with at most this many categories have no penalty

template <TargetModel Model>
class SplitFinder {
  public:
    using Payload = typename Model::Payload;
    using Tree = TreeInTraining<Payload>;
    using Bins = typename CarriedBins<Model>::Bins;

    SplitFinder(const Codes& codes, const Growth& growth, Model model, const Work& work)
        : parts_(codes, growth, std::move(model), work),
          carried_(codes, growth),
          filled_(codes),
          interactions_(codes.columns.size(), growth.interaction_groups, growth.max_interacting),
          n_set_words_(FeatureSet::n_words(codes.columns.size())),
          has_categories_(std::any_of(codes.columns.begin(), codes.columns.end(),
                                      [&](const Column& column) { return is_cut_by_sets(column, growth); })) {}

    // Before a tree or a part of one is grown from a node.
    void begin(Tree& tree, const Node& node) {
        parts_.tree = &tree;
        parts_.node_codes.begin(node);
        parts_.categories.forget_sets();
    }

    Model& model() { return parts_.model; }
    NodeCodes& node_codes() { return parts_.node_codes; }
    CarriedBins<Model>& carried() { return carried_; }
    CategorySearch<Model>& categories() { return parts_.categories; }
    std::span<const ValueIndex> values() const { return random_.values(); }
    bool is_categorical(std::uint32_t feature) const { return parts_.is_categorical(feature); }
    int sign_of(std::uint32_t feature) const { return parts_.sign_of(feature); }
    // The buffer with the codes of the split found last.
    int kept() const { return parts_.kept; }

    // Passed to children: the set of constant features and, if needed, after it the features of the path. Features that
    // may not join the path count as constant.
    std::size_t n_known_words() const { return interactions_.are_free() ? n_set_words_ : 2 * n_set_words_; }
    std::vector<std::uint64_t> known_at_root() {
        std::vector<std::uint64_t> known(n_known_words());
        if (!interactions_.are_free()) {
            interactions_.close(known.data() + n_set_words_, known.data());
        }
        return known;
    }

    // Whether the node is a leaf regardless of its features. The model has read the node.
    bool is_leaf(const Node& node) const {
        return parts_.model.is_pure() || parts_.model.size() < parts_.growth.min_samples_split ||
               node.depth == parts_.growth.max_depth;
    }

    // Returns the split, or nothing for a leaf. The model has read the node, which may have inherited bins.
    std::optional<Split> find(const Node& node, FeatureSet constant, const Bins& bins = {}) {
        if (is_leaf(node)) {
            return {};
        }
        parts_.model.begin_search(parts_.tree->payloads(node), node.n_rows(), parts_.tree->limits);
        bins_ = &bins;
        std::optional<Split> split = best_split(node, constant);
        if (!split) {
            return {};
        }
        split->decrease = parts_.model.decrease(std::max(0.0, split->cut.score - parts_.model.undivided()) /
                                                parts_.tree->root_weight);
        if (parts_.growth.min_impurity_decrease > 0 &&
            parts_.model.in_user_units(split->decrease) < parts_.growth.min_impurity_decrease) {
            return {};
        }
        if (!filled_.are_all() || bins.are_there() ||
            (binary_.is_counted() && parts_.codes.binary.has(split->feature))) {
            parts_.gather(split->feature, node, parts_.kept);  // reads all rows, unless the search has
        }
        place(node, *split);
        join_path(split->feature, constant);
        return split;
    }

    // Gathers the codes of a split that was found before other nodes were searched.
    void gather_again(const Node& node, const Split& split) {
        parts_.kept = 0;
        parts_.gather(split.feature, node, parts_.kept);
        if (is_categorical(split.feature)) {
            const Payload* payloads = parts_.tree->payloads(node);
            parts_.model.look_at(payloads, node.n_rows());
            const Address address{parts_.tree->seed, node.id, parts_.tree->number, kPurposeCuts};
            parts_.node_codes.use(split.feature, parts_.kept, [&](auto* codes) {
                if (parts_.growth.random_cuts) {
                    parts_.categories.cut_at_random(codes, node.n_rows(), parts_.kept,
                                                    draw(address, 2 * split.feature));
                } else {
                    parts_.categories.put_in_order(parts_.model, codes, payloads, node.n_rows(), parts_.kept,
                                                   split.order);
                }
            });
        }
    }

  private:
    void join_path(std::uint32_t feature, FeatureSet constant) {
        if (!interactions_.are_free()) {
            std::uint64_t* path = constant.words() + n_set_words_;
            FeatureSet(path).add(feature);
            interactions_.close(path, constant.words());
        }
    }

    std::optional<Split> best_split(const Node& node, FeatureSet constant) {
        filled_.begin_node(*parts_.tree, node, parts_.node_codes.reader(), constant);
        binary_.begin_node();
        if (parts_.growth.random_cuts) {
            return random_.find(node, constant);
        }
        if (parts_.growth.monotonic.empty()) {
            if (filled_.are_all() && node.n_rows() == 2) {
                return best_split_of_two(node, constant);
            }
            if (!has_categories_ && !are_counted_apart()) {
                const LaneSplit found = lanes_.find(node, constant, bins_->are_there());
                if (found.is_found) {
                    return found.split;
                }
            }
        }
        return best_split_one_by_one(node, constant);
    }

    // Whether some features have a faster method: binary features, or stored cells of sparse tables.
    bool are_counted_apart() const {
        return kCountsBits<Model> && !(filled_.are_all() && parts_.codes.binary.is_empty());
    }

    // Scores the edges of all inherited bins. Returns the best score: cuts below it need not be found.
    double survey(const Node& node, FeatureSet constant) {
        double best = kNoScore;
        if constexpr (kCarriesBins<Model>) {
            surveys_.resize(parts_.codes.columns.size());
            for (std::uint32_t feature = 0; feature < surveys_.size() && bins_->are_there(); ++feature) {
                if (!constant.has(feature)) {
                    const auto [sums, shift] = carried_.of(*bins_, feature);
                    surveys_[feature] = parts_.model.survey(sums, shift, parts_.tree->payloads(node), node.n_rows());
                    best = std::max(best, surveys_[feature].edges.best.score);
                }
            }
        }
        return best;
    }

    // Evaluates max_features features that can cut the node, in the order of the draw.
    std::optional<Split> best_split_one_by_one(const Node& node, FeatureSet constant) {
        const double perfect = parts_.model.perfect(parts_.tree->payloads(node), node.n_rows());
        const double at_edges = survey(node, constant);
        std::optional<Split> best;
        Candidate standing;  // cut of the feature, with the score that is compared with other features
        std::uint32_t n_looked_at = 0;
        parts_.begin_draw(node);
        while (n_looked_at < parts_.growth.max_features && !parts_.draw.is_empty()) {
            const std::uint32_t feature = parts_.draw.next();
            if (constant.has(feature)) {
                continue;
            }
            parts_.work.check();
            const double to_beat = std::max(at_edges, standing.score);
            const int spare = 1 - parts_.kept;
            const RuledCuts found = search(feature, node, constant, spare, to_beat);
            const FeatureCuts& cuts = found.cuts;
            if (!cuts.is_admissible) {
                // With three or more categories, a child may have another order and an admissible cut.
                const bool stays =
                    !is_categorical(feature) || parts_.tree->limits.admit_all() || parts_.categories.n_categories() < 3;
                if (found.is_constant && stays) {
                    constant.add(feature);
                }
                continue;
            }
            const double noise = is_penalized(feature) ? noise_of_labels(node) : 0;
            Candidate offered = cuts.best;
            offered.score -= noise;
            if (noise > 0 && offered.score <= parts_.model.undivided()) {
                continue;  // no admissible cut here; there may be one in a child
            }
            ++n_looked_at;
            const auto wins_tie = [&] { return parts_.draw.wins_tie(feature, best->feature); };
            if (cuts.best.score != kNoScore && (!best || offered.beats_earlier_feature(standing, wins_tie))) {
                best = parts_.split_of(feature, found);
                best->order = parts_.categories.best_order();
                standing = offered;
                parts_.kept = spare;  // the winner's codes are used to partition the rows
            }
            // Later features can only tie, and lose the tie: two rows can be divided in only one way.
            if (node.n_rows() == 2) {
                break;
            }
            if (standing.score >= perfect) {
                parts_.draw.keep_rivals_of(best->feature);  // later features can only tie, and lose the tie
            }
        }
        parts_.draw.end();
        return best;
    }

    bool is_penalized(std::uint32_t feature) const {
        return parts_.growth.category_penalty > 0 && is_categorical(feature) &&
               parts_.codes.columns[feature].lows.size() > kFreeCategories;
    }

    // The penalty for the categories searched last: their expected gain by chance.
    double noise_of_labels(const Node& node) const {
        if (parts_.categories.n_categories() <= 2) {
            return 0;
        }
        const double mixed = parts_.model.mixed(parts_.tree->payloads(node), node.n_rows());
        const double to_gain = mixed / std::max(1.0, static_cast<double>(parts_.model.n_orders()) - 1);
        const double labels = static_cast<double>(parts_.categories.n_categories() - 2);
        return parts_.growth.category_penalty * labels * to_gain / static_cast<double>(parts_.model.size() - 1);
    }

    // The same for two rows. They can be divided in only one way, by the first feature that distinguishes them: later
    // features can only tie, and lose the tie.
    std::optional<Split> best_split_of_two(const Node& node, FeatureSet constant) {
        std::optional<Split> split;
        parts_.begin_draw(node);
        while (!split && !parts_.draw.is_empty()) {
            const std::uint32_t feature = parts_.draw.next();
            if (constant.has(feature)) {
                continue;
            }
            parts_.gather(feature, node, parts_.kept);
            split = parts_.node_codes.use(feature, parts_.kept, [&](auto* codes) {
                const Payload* payloads = parts_.tree->payloads(node);
                if (codes[0] != codes[1] && is_categorical(feature)) {  // all orders divide two rows in the same way
                    parts_.categories.put_in_order(parts_.model, codes, payloads, 2, parts_.kept, 0);
                }
                return cut_two(feature, codes, payloads);
            });
            if (!split) {
                constant.add(feature);
            }
        }
        parts_.draw.end();
        return split;
    }

    template <class Code>
    std::optional<Split> cut_two(std::uint32_t feature, const Code* codes, const Payload* payloads) {
        if (codes[0] == codes[1]) {
            return {};
        }
        const int low = codes[0] < codes[1] ? 0 : 1;
        const bool has_missing = codes[1 - low] == kMissing<Code>;  // the largest code
        auto&& left = parts_.model.nothing();
        parts_.model.move(left, payloads[low], true);
        const std::optional<Candidate> cut = parts_.model.judge(
            left, has_missing ? Candidate::kPresentAgainstMissing : Candidate::order_of(codes[low], false));
        return cut ? std::optional(Split{.feature = feature, .cut = *cut, .has_missing = has_missing}) : std::nullopt;
    }

    // For binary features: all of them are searched when the first one is drawn.
    FeatureCuts search_binary(std::uint32_t feature, const Node& node, FeatureSet constant) {
        if (!binary_.is_counted()) {
            binary_.count(parts_.model, parts_.codes.binary, parts_.node_codes.reader().words(node.begin),
                          parts_.tree->ids(node), parts_.tree->payloads(node), constant);
        }
        return constant.has(feature) ? FeatureCuts{} : binary_.cut(parts_.model, parts_.codes.binary.bit(feature));
    }

    RuledCuts search(std::uint32_t feature, const Node& node, FeatureSet constant, int buffer, double to_beat) {
        if constexpr (kCountsBits<Model>) {
            if (parts_.codes.binary.has(feature) && sign_of(feature) == 0 && !bins_->are_there()) {
                return {.cuts = search_binary(feature, node, constant)};
            }
        }
        if constexpr (FilledRows<Model>::kCountsClasses) {
            if (const std::uint32_t n = sign_of(feature) == 0
                                            ? filled_.gather(*parts_.tree, node, feature, parts_.node_codes, buffer)
                                            : 0) {
                return parts_.node_codes.use(feature, buffer, [&](const auto* codes) -> RuledCuts {
                    return {.cuts = parts_.model.search(codes, filled_.payloads(), n, to_beat)};
                });
            }
        }
        const Payload* payloads = parts_.tree->payloads(node);
        if constexpr (kCarriesBins<Model>) {
            if (bins_->are_there()) {
                if (surveys_[feature].most < parts_.model.floor_below(to_beat)) {
                    return {.cuts = surveys_[feature].edges};
                }
                parts_.gather(feature, node, buffer);
                const auto [sums, shift] = carried_.of(*bins_, feature);
                return {.cuts = parts_.model.search_bins(sums, shift, parts_.node_codes.narrow(buffer), payloads,
                                                         node.n_rows(), to_beat)};
            }
        }
        parts_.gather(feature, node, buffer);
        const Direction direction{sign_of(feature), node.bounds};
        return parts_.node_codes.use(feature, buffer, [&](auto* codes) -> RuledCuts {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const std::uint32_t n = node.n_rows();
            if (is_categorical(feature)) {
                const double floor = is_penalized(feature) ? kNoScore : to_beat;
                return {.cuts = parts_.categories.run(parts_.model, codes, payloads, n, buffer, floor)};
            }
            if (direction.sign != 0) {
                return ConstrainedSearch<Code, Model>(parts_.model, direction, codes, payloads, n, sorted_).run();
            }
            return {.cuts = parts_.model.search(codes, payloads, n, to_beat)};
        });
    }

    // Finds the codes on both sides of the cut, and the side of missing values, from the winner's codes.
    void place(const Node& node, Split& split) {
        split.missing_left = split.has_missing ? split.cut.missing_left() : split.cut.left_is_heavier;
        if (is_categorical(split.feature)) {
            parts_.categories.keep_set(split, parts_.codes.columns[split.feature], parts_.kept);
            return;
        }
        if (parts_.growth.random_cuts || split.cut.cuts_off_missing()) {
            return;
        }
        parts_.node_codes.use(split.feature, parts_.kept, [&](const auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const auto cut = static_cast<Code>(split.cut.last_left());
            Code below = 0;
            Code above = kMissing<Code>;  // never the smallest code
            for (std::uint32_t i = 0; i < node.n_rows(); ++i) {
                const auto goes_left = static_cast<Code>(-(codes[i] <= cut));  // all bits, or none
                const auto low = static_cast<Code>(codes[i] & goes_left);
                const auto high = static_cast<Code>(codes[i] | goes_left);
                below = low > below ? low : below;
                above = high < above ? high : above;
            }
            split.below = below;
            split.above = above;
        });
    }

    SplitParts<Model> parts_;
    RandomSplitFinder<Model> random_{parts_};
    LaneSplitFinder<Model> lanes_{parts_};
    CarriedBins<Model> carried_;
    const Bins* bins_ = nullptr;   // bins of the node
    std::vector<Survey> surveys_;  // surveys of the bins, by feature
    FilledRows<Model> filled_;
    BinarySearch binary_;
    Interactions interactions_;
    std::size_t n_set_words_;  // words of a set of features
    bool has_categories_;
    std::vector<std::uint64_t> sorted_;  // rows of a node by a feature with a monotonic constraint
};

}  // namespace weald
