// The best split of a node: features are drawn and searched until enough of them could cut it.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "carried_bins.h"
#include "codes.h"
#include "feature_draw.h"
#include "filled_rows.h"
#include "growth.h"
#include "models.h"
#include "monotonic.h"
#include "node.h"
#include "node_codes.h"
#include "random.h"
#include "search_binary.h"
#include "search_categories.h"
#include "search_constrained.h"
#include "search_random.h"
#include "threads.h"
#include "tree_rows.h"

namespace weald {

// Whether a model can search several features at once.
template <class Model>
inline constexpr bool kHasLanes = requires(const Model& model) { model.searches_lanes(1u); };
// Many rows at that: by bins, or by counts where codes have one byte.
template <class Model>
inline constexpr bool kHasLaneBins = requires(const Model& model) { model.searches_lane_bins(); };
template <class Model>
inline constexpr bool kCountsLanes = requires(const Model& model) { model.counts_lanes(1u); };

template <class Model>
class SplitFinder {
  public:
    using Payload = typename Model::Payload;
    using Tree = PlantedTree<Payload>;
    using Bins = typename CarriedBins<Model>::Bins;

    SplitFinder(const Codes& codes, const Growth& growth, Model model, const Work& work)
        : codes_(codes),
          growth_(growth),
          work_(work),
          model_(std::move(model)),
          node_codes_(codes, growth),
          carried_(codes, growth),
          filled_(codes),
          draw_(static_cast<std::uint32_t>(codes.columns.size()), feature_scales(growth.feature_weights)),
          interactions_(codes.columns.size(), growth.interaction_groups, growth.max_interacting),
          n_set_words_(FeatureSet::n_words(codes.columns.size())),
          has_categories_(std::any_of(codes.columns.begin(), codes.columns.end(),
                                      [](const Column& column) { return column.is_categorical; })),
          are_narrow_(std::all_of(codes.columns.begin(), codes.columns.end(),
                                  [](const Column& column) { return column.width <= 2; })),
          are_bytes_(std::all_of(codes.columns.begin(), codes.columns.end(),
                                 [](const Column& column) { return column.width == 1; })) {
        for (const Column& column : codes.columns) {
            if (growth.random_cuts) {
                values_.emplace_back(column);
            }
        }
    }

    // Before a tree or a part of one is grown from a node.
    void begin(Tree& tree, const Node& node) {
        tree_ = &tree;
        node_codes_.begin(node);
        categories_.forget_sets();
    }

    Model& model() { return model_; }
    NodeCodes& node_codes() { return node_codes_; }
    CarriedBins<Model>& carried() { return carried_; }
    CategorySearch<Model>& categories() { return categories_; }
    std::span<const ValueIndex> values() const { return values_; }
    bool is_categorical(std::uint32_t feature) const { return codes_.columns[feature].is_categorical; }
    int sign_of(std::uint32_t feature) const { return growth_.monotonic.empty() ? 0 : growth_.monotonic[feature]; }
    // The buffer that holds the codes of the split found last.
    int kept() const { return kept_; }

    // What is known of features is handed down: those that are dead and, where it matters, behind them the path. What
    // may not join the path is as good as dead.
    std::size_t n_known_words() const { return interactions_.are_free() ? n_set_words_ : 2 * n_set_words_; }
    std::vector<std::uint64_t> known_at_root() {
        std::vector<std::uint64_t> known(n_known_words());
        if (!interactions_.are_free()) {
            interactions_.close(known.data() + n_set_words_, known.data());
        }
        return known;
    }

    // The model has looked at the node. Whether it is not to be divided, whatever its features.
    bool is_leaf(const Node& node) const {
        return model_.is_pure() || model_.size() < growth_.min_samples_split || node.depth == growth_.max_depth;
    }

    // The model has looked at the node, which may have bins that were handed down. Nothing: it is a leaf.
    std::optional<Split> find(const Node& node, FeatureSet dead, const Bins& bins = {}) {
        if (is_leaf(node)) {
            return {};
        }
        model_.begin_search(tree_->payloads(node), node.n_rows(), tree_->limits);
        bins_ = &bins;
        std::optional<Split> split = best_split(node, dead);
        if (!split) {
            return {};
        }
        split->decrease = std::max(0.0, split->cut.score - model_.undivided()) / tree_->root_weight;
        if (growth_.min_impurity_decrease > 0 &&
            model_.in_user_units(split->decrease) < growth_.min_impurity_decrease) {
            return {};
        }
        if (!filled_.are_all() || bins.are_there() || (binary_.is_counted() && codes_.binary.has(split->feature))) {
            gather(split->feature, node, kept_);  // all rows, where the search saw some or none
        }
        place(node, *split);
        join_path(split->feature, dead);
        return split;
    }

    // Gathers the codes of a split that was found before other nodes were searched.
    void gather_again(const Node& node, const Split& split) {
        kept_ = 0;
        gather(split.feature, node, kept_);
        if (is_categorical(split.feature)) {
            const Payload* payloads = tree_->payloads(node);
            model_.look_at(payloads, node.n_rows());
            const Address address{tree_->seed, node.id, tree_->number, kPurposeCuts};
            node_codes_.use(split.feature, kept_, [&](auto* codes) {
                if (growth_.random_cuts) {
                    categories_.cut_at_random(codes, node.n_rows(), kept_, draw(address, 2 * split.feature));
                } else {
                    categories_.put_in_order(model_, codes, payloads, node.n_rows(), kept_, split.order);
                }
            });
        }
    }

  private:
    void gather(std::uint32_t feature, const Node& node, int buffer) {
        node_codes_.gather(feature, node, tree_->ids(node), buffer);
    }

    void join_path(std::uint32_t feature, FeatureSet dead) {
        if (!interactions_.are_free()) {
            std::uint64_t* path = dead.words() + n_set_words_;
            FeatureSet(path).add(feature);
            interactions_.close(path, dead.words());
        }
    }

    std::optional<Split> best_split(const Node& node, FeatureSet dead) {
        filled_.begin_node(*tree_, node, node_codes_.reader(), dead);
        binary_.begin_node();
        if (growth_.random_cuts) {
            return best_random_split(node, dead);
        }
        const bool is_plain = !has_categories_ && growth_.monotonic.empty();
        if (is_plain && filled_.are_all() && node.n_rows() == 2) {
            return best_split_of_two(node, dead);
        }
        const bool are_searched_together = is_plain && are_narrow_ && !are_counted_apart();
        if constexpr (kHasLaneBins<Model>) {
            if (are_searched_together && !bins_->are_there() && model_.searches_lane_bins()) {
                return best_split_of_lanes(node, dead, [&](std::span<const std::uint32_t> features, double to_beat) {
                    work_.check();
                    return model_.search_lane_bins(
                        lane_room_.gathered(node_codes_.reader(), features, node.begin, tree_->ids(node)),
                        tree_->payloads(node), node.n_rows(), to_beat);
                });
            }
        }
        if constexpr (kCountsLanes<Model>) {
            if (are_searched_together && are_bytes_ && !bins_->are_there() && model_.counts_lanes(node.n_rows())) {
                return best_split_of_lanes(node, dead, [&](std::span<const std::uint32_t> features, double to_beat) {
                    work_.check();
                    const auto columns =
                        LaneRoom::columns<std::uint8_t>(node_codes_.reader(), features, node.begin, tree_->ids(node));
                    return model_.count_lanes(*columns, tree_->payloads(node),
                                              static_cast<std::uint32_t>(features.size()), to_beat);
                });
            }
        }
        if constexpr (kHasLanes<Model>) {
            if (are_searched_together && model_.searches_lanes(node.n_rows())) {
                return best_split_of_lanes(node, dead, [&](std::span<const std::uint32_t> features, double to_beat) {
                    return lane_room_.use_columns(
                        node_codes_.reader(), features, node.begin, tree_->ids(node), [&](const auto& columns) {
                            return model_.search_lanes(columns, tree_->payloads(node), node.n_rows(),
                                                       static_cast<std::uint32_t>(features.size()), to_beat);
                        });
                });
            }
        }
        return best_split_one_by_one(node, dead);
    }

    // Whether there is a quicker way for some features: as bits, or by what is filled.
    bool are_counted_apart() const { return kCountsBits<Model> && !(filled_.are_all() && codes_.binary.is_empty()); }

    void begin_draw(const Node& node) {
        draw_.begin({tree_->seed, node.id, tree_->number, kPurposeFeatures}, growth_.max_features);
    }

    // Looks at the edges of all bins that were handed down. Returns the best score: what comes below it need not be
    // found.
    double survey(const Node& node, FeatureSet dead) {
        double best = kNoScore;
        if constexpr (kCarriesBins<Model>) {
            surveys_.resize(codes_.columns.size());
            for (std::uint32_t feature = 0; feature < surveys_.size() && bins_->are_there(); ++feature) {
                if (!dead.has(feature)) {
                    const auto [sums, shift] = carried_.of(*bins_, feature);
                    surveys_[feature] = model_.survey(sums, shift, tree_->payloads(node), node.n_rows());
                    best = std::max(best, surveys_[feature].edges.best.score);
                }
            }
        }
        return best;
    }

    // Looks at max_features features that can cut the node, in the order of the draw.
    std::optional<Split> best_split_one_by_one(const Node& node, FeatureSet dead) {
        const double perfect = model_.perfect(tree_->payloads(node), node.n_rows());
        const double at_edges = survey(node, dead);
        std::optional<Split> best;
        Candidate standing;  // its cut, as it is compared with those of other features
        std::uint32_t n_looked_at = 0;
        begin_draw(node);
        while (n_looked_at < growth_.max_features && !draw_.is_empty()) {
            const std::uint32_t feature = draw_.next();
            if (dead.has(feature)) {
                continue;
            }
            work_.check();
            const double to_beat = std::max(at_edges, standing.score);
            const int spare = 1 - kept_;
            const RuledCuts found = search(feature, node, dead, spare, to_beat);
            const FeatureCuts& cuts = found.cuts;
            if (!cuts.is_admissible) {
                // Three categories may come in another order in a child, and some cut be admissible there.
                const bool stays =
                    !is_categorical(feature) || tree_->limits.admit_all() || categories_.n_categories() < 3;
                if (found.is_dead && stays) {
                    dead.add(feature);
                }
                continue;
            }
            ++n_looked_at;
            Candidate offered = cuts.best;
            offered.score -= is_penalised(feature) ? noise_of_labels(node) : 0;
            if (cuts.best.score != kNoScore && (!best || offered.beats_earlier_feature(standing))) {
                best = split_of(feature, found);
                best->order = categories_.best_order();
                standing = offered;
                kept_ = spare;  // the winner's codes will divide the rows
            }
            // What comes later can only tie, and would lose: two rows can be divided in one way.
            if (node.n_rows() == 2 || standing.score >= perfect) {
                break;
            }
        }
        draw_.end();
        return best;
    }

    bool is_penalised(std::uint32_t feature) const { return growth_.category_penalty > 0 && is_categorical(feature); }

    // What a cut by the categories that were searched last may gain by chance, as far as it is not to count.
    double noise_of_labels(const Node& node) const {
        if (categories_.n_categories() <= 2) {
            return 0;
        }
        const double mixed = model_.mixed(tree_->payloads(node), node.n_rows());
        const double labels = static_cast<double>(categories_.n_categories() - 2);
        return growth_.category_penalty * labels * mixed / static_cast<double>(model_.size() - 1);
    }

    // The same for two rows. They can be divided in one way, by the first feature that tells them apart: what comes
    // later can only tie, and would lose.
    std::optional<Split> best_split_of_two(const Node& node, FeatureSet dead) {
        std::optional<Split> split;
        begin_draw(node);
        while (!split && !draw_.is_empty()) {
            const std::uint32_t feature = draw_.next();
            if (dead.has(feature)) {
                continue;
            }
            gather(feature, node, kept_);
            split = node_codes_.use(feature, kept_,
                                    [&](const auto* codes) { return cut_two(feature, codes, tree_->payloads(node)); });
            if (!split) {
                dead.add(feature);
            }
        }
        draw_.end();
        return split;
    }

    template <class Code>
    std::optional<Split> cut_two(std::uint32_t feature, const Code* codes, const Payload* payloads) {
        if (codes[0] == codes[1]) {
            return {};
        }
        const int low = codes[0] < codes[1] ? 0 : 1;
        const bool has_missing = codes[1 - low] == kMissing<Code>;  // which is the largest
        auto&& left = model_.nothing();
        model_.move(left, payloads[low], true);
        const std::optional<Candidate> cut = model_.judge(
            left, has_missing ? Candidate::kPresentAgainstMissing : Candidate::order_of(codes[low], false));
        return cut ? std::optional(Split{.feature = feature, .cut = *cut, .has_missing = has_missing}) : std::nullopt;
    }

    // The same, several features at once.
    template <class Search>
    std::optional<Split> best_split_of_lanes(const Node& node, FeatureSet dead, const Search& search_lanes) {
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        begin_draw(node);
        while (n_looked_at < growth_.max_features && !draw_.is_empty()) {
            std::array<std::uint32_t, lanes::kLanes> features;
            std::uint32_t n_lanes = 0;
            while (n_lanes < std::min<std::size_t>(features.size(), growth_.max_features - n_looked_at) &&
                   !draw_.is_empty()) {
                const std::uint32_t feature = draw_.next();
                if (!dead.has(feature)) {
                    features[n_lanes++] = feature;
                }
            }
            if (n_lanes == 0) {
                break;
            }
            const LaneCuts cuts = search_lanes({features.data(), n_lanes}, best ? best->cut.score : kNoScore);
            if (!cuts.is_done) {
                draw_.end();
                return best_split_one_by_one(node, dead);
            }
            for (std::uint32_t lane = 0; lane < n_lanes; ++lane) {
                if (cuts.admissible >> lane & 1) {
                    ++n_looked_at;
                } else {
                    dead.add(features[lane]);
                }
            }
            const Candidate& cut = cuts.best.best;
            if (cut.score != kNoScore && (!best || cut.beats_earlier_feature(best->cut))) {
                best = Split{.feature = features[cuts.lane], .cut = cut, .has_missing = cuts.best.has_missing};
            }
        }
        draw_.end();
        if (best) {
            gather(best->feature, node, kept_);
        }
        return best;
    }

    // The same where cuts are drawn. Several features are looked at together: while the processor waits for the memory
    // of one, it gets on with the others.
    std::optional<Split> best_random_split(const Node& node, FeatureSet dead) {
        const double perfect = model_.perfect(tree_->payloads(node), node.n_rows());
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        begin_draw(node);
        bool is_done = false;
        while (!is_done && n_looked_at < growth_.max_features && !draw_.is_empty()) {
            const std::span<const Look> looks = take_looks(node, dead, growth_.max_features - n_looked_at);
            std::array<std::uint32_t, kPhiloxBlock> pairs{};
            std::transform(looks.begin(), looks.end(), pairs.begin(), [](const Look& look) { return look.feature; });
            const DrawBlock draws = draw_block_of_pairs({tree_->seed, node.id, tree_->number, kPurposeCuts}, pairs);
            for (std::size_t i = 0; i < looks.size() && !is_done; ++i) {
                work_.check();
                const RuledCuts found = search_random_of(looks[i], node, draws[2 * i], draws[2 * i + 1]);
                if (!found.cuts.is_admissible) {
                    continue;
                }
                ++n_looked_at;
                if (!best || found.cuts.best.beats_earlier_feature(best->cut)) {
                    best = split_of(looks[i].feature, found);
                    kept_ = looks[i].buffer;
                }
                is_done = node.n_rows() == 2 || best->cut.score >= perfect;
            }
        }
        draw_.end();
        return best;
    }

    // Draws up to `most` features that are not constant, and gathers their codes.
    std::span<const Look> take_looks(const Node& node, FeatureSet dead, std::uint32_t most) {
        const std::size_t wanted = node.n_rows() <= kMostTogether ? std::min<std::size_t>(most, looks_.size()) : 1;
        std::size_t n = 0;
        int buffer = 0;
        while (n < wanted && !draw_.is_empty()) {
            const std::uint32_t feature = draw_.next();
            if (dead.has(feature)) {
                continue;
            }
            buffer += buffer == kept_;  // which holds the best so far
            gather(feature, node, buffer);
            const CodeRange range =
                node_codes_.use(feature, buffer, [&](const auto* codes) { return range_of(codes, node.n_rows()); });
            if (!Look::is_of_use(range)) {
                dead.add(feature);
                continue;
            }
            values_[feature].prefetch(range);
            looks_[n++] = {feature, buffer++, range};
        }
        return {looks_.data(), n};
    }

    RuledCuts search_random_of(const Look& look, const Node& node, std::uint64_t place, std::uint64_t side) {
        const Direction direction{sign_of(look.feature), node.promise};
        const Payload* payloads = tree_->payloads(node);
        return node_codes_.use(look.feature, look.buffer, [&](auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            if (is_categorical(look.feature)) {
                const std::uint32_t last_left = categories_.cut_at_random(codes, node.n_rows(), look.buffer, place);
                return judge_drawn(model_, direction, look.range, codes, payloads, node.n_rows(),
                                   static_cast<Code>(last_left), side);
            }
            return search_random(model_, direction, values_[look.feature], look.range, codes, payloads, node.n_rows(),
                                 place, side);
        });
    }

    static Split split_of(std::uint32_t feature, const RuledCuts& found) {
        return {.feature = feature,
                .cut = found.cuts.best,
                .has_missing = found.cuts.has_missing,
                .threshold = found.threshold,
                .middle = found.middle};
    }

    // Of a feature of two codes. The first of them that is drawn counts for all.
    FeatureCuts search_binary(std::uint32_t feature, const Node& node, FeatureSet dead) {
        if (!binary_.is_counted()) {
            binary_.count(model_, codes_.binary, node_codes_.reader().words(node.begin), tree_->ids(node),
                          tree_->payloads(node), dead);
        }
        return dead.has(feature) ? FeatureCuts{} : binary_.cut(model_, codes_.binary.bit(feature));
    }

    RuledCuts search(std::uint32_t feature, const Node& node, FeatureSet dead, int buffer, double to_beat) {
        if constexpr (kCountsBits<Model>) {
            if (codes_.binary.has(feature) && sign_of(feature) == 0 && !bins_->are_there()) {
                return {.cuts = search_binary(feature, node, dead)};
            }
        }
        if constexpr (FilledRows<Model>::kCountsClasses) {
            if (const std::uint32_t n =
                    sign_of(feature) == 0 ? filled_.gather(*tree_, node, feature, node_codes_, buffer) : 0) {
                return node_codes_.use(feature, buffer, [&](const auto* codes) -> RuledCuts {
                    return {.cuts = model_.search(codes, filled_.payloads(), n, to_beat)};
                });
            }
        }
        const Payload* payloads = tree_->payloads(node);
        if constexpr (kCarriesBins<Model>) {
            if (bins_->are_there()) {
                if (surveys_[feature].most < model_.floor_below(to_beat)) {
                    return {.cuts = surveys_[feature].edges};
                }
                gather(feature, node, buffer);
                const auto [sums, shift] = carried_.of(*bins_, feature);
                return {.cuts = model_.search_bins(sums, shift, node_codes_.narrow(buffer), payloads, node.n_rows(),
                                                   to_beat)};
            }
        }
        gather(feature, node, buffer);
        const Direction direction{sign_of(feature), node.promise};
        return node_codes_.use(feature, buffer, [&](auto* codes) -> RuledCuts {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const std::uint32_t n = node.n_rows();
            if (is_categorical(feature)) {
                const double floor = is_penalised(feature) ? kNoScore : to_beat;
                return {.cuts = categories_.run(model_, codes, payloads, n, buffer, floor)};
            }
            if (direction.sign != 0) {
                return ConstrainedSearch<Code, Model>(model_, direction, codes, payloads, n, sorted_).run();
            }
            return {.cuts = model_.search(codes, payloads, n, to_beat)};
        });
    }

    // Finds the codes beside the cut, and where missing values go, from the winner's codes.
    void place(const Node& node, Split& split) {
        split.missing_left = split.has_missing ? split.cut.missing_left() : split.cut.left_is_heavier;
        if (is_categorical(split.feature)) {
            categories_.keep_set(split, codes_.columns[split.feature], kept_);
            return;
        }
        if (growth_.random_cuts || split.cut.cuts_off_missing()) {
            return;
        }
        node_codes_.use(split.feature, kept_, [&](const auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const auto cut = static_cast<Code>(split.cut.last_left());
            Code below = 0;
            Code above = kMissing<Code>;  // which is never the least
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

    const Codes& codes_;
    const Growth& growth_;
    const Work& work_;
    Model model_;
    NodeCodes node_codes_;
    CarriedBins<Model> carried_;
    const Bins* bins_ = nullptr;   // of the node
    std::vector<Survey> surveys_;  // of them, by feature
    FilledRows<Model> filled_;
    BinarySearch binary_;
    CategorySearch<Model> categories_;
    FeatureDraw draw_;
    Interactions interactions_;
    std::size_t n_set_words_;  // of a set of features
    bool has_categories_;
    bool are_narrow_;  // codes have one or two bytes
    bool are_bytes_;   // codes have one byte
    Tree* tree_ = nullptr;
    int kept_ = 0;                       // the buffer of the best feature so far
    std::vector<std::uint64_t> sorted_;  // rows of a node by a feature that must rise or fall
    LaneRoom lane_room_;
    std::vector<ValueIndex> values_;  // by feature, where cuts are drawn
    std::array<Look, kPhiloxBlock> looks_{};
};

}  // namespace weald
