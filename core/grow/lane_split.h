// The best split of a node, several features at once: each lane of a vector is one.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "coding/codes.h"
#include "draw/cut_by_sets.h"
#include "draw/feature_draw.h"
#include "grow/split_common.h"
#include "rows/node_codes.h"
#include "score/candidate.h"
#include "search/lanes.h"
#include "targets/target_model.h"
#include "tree/node.h"

namespace weald {

// Whether a model can search several features at once.
template <class Model>
inline constexpr bool kHasLanes = requires(const Model& model) { model.searches_lanes(1u); };
// Also for many rows: by bins, or by counts if codes have one byte.
template <class Model>
inline constexpr bool kHasLaneBins = requires(const Model& model) { model.searches_lane_bins(); };
template <class Model>
inline constexpr bool kCountsLanes = requires(const Model& model) { model.counts_lanes(1u); };

struct LaneSplit {
    bool is_found = false;  // otherwise features must be searched one by one
    std::optional<Split> split;
};

template <TargetModel Model>
class LaneSplitFinder {
  public:
    explicit LaneSplitFinder(SplitParts<Model>& parts)
        : parts_(parts),
          are_narrow_(have_bytes(parts.codes, 2)),
          are_bytes_(have_bytes(parts.codes, 1)),
          are_numbers_(std::none_of(parts.codes.columns.begin(), parts.codes.columns.end(), [&](const Column& column) {
              return is_cut_by_sets(column, parts.growth);
          })) {}

    // No feature has a monotonic constraint. `has_bins`: the node has inherited bins. Features with is_alone(feature) are
    // evaluated by look_at(feature, best so far).
    template <class IsAlone, class LookAt>
    LaneSplit find(const Node& node, FeatureSet constant, bool has_bins, const IsAlone& is_alone,
                   const LookAt& look_at) {
        if (!are_narrow_ || (!are_numbers_ && parts_.model.n_orders() != 1)) {
            return {};
        }
        const Found found_by{is_alone, look_at};
        const auto ids = parts_.tree->ids(node);
        const auto* payloads = parts_.tree->payloads(node);
        const std::uint32_t n = node.n_rows();
        const CodeReader& reader = parts_.node_codes.reader();
        if constexpr (kHasLaneBins<Model>) {
            if (!has_bins && parts_.model.searches_lane_bins()) {
                return find_by(node, constant, found_by, [&](const DrawnLanes& drawn, double to_beat) {
                    parts_.work.check();
                    const auto columns = room_.gathered(reader, drawn.features, node.begin, ids);
                    put_in_order(drawn.features, columns, payloads, n);
                    return parts_.model.search_lane_bins(columns, payloads, n, drawn, to_beat);
                });
            }
        }
        if constexpr (kCountsLanes<Model>) {
            if (are_bytes_ && are_numbers_ && !has_bins && parts_.model.counts_lanes(n)) {
                return find_by(node, constant, found_by, [&](const DrawnLanes& drawn, double to_beat) {
                    parts_.work.check();
                    const auto columns = LaneRoom::columns<std::uint8_t>(reader, drawn.features, node.begin, ids);
                    return parts_.model.count_lanes(*columns, payloads, drawn, to_beat);
                });
            }
        }
        if constexpr (kHasLanes<Model>) {
            if (parts_.model.searches_lanes(n)) {
                return find_by(node, constant, found_by, [&](const DrawnLanes& drawn, double to_beat) {
                    const auto search = [&](const auto& columns) {
                        return parts_.model.search_lanes(columns, payloads, n, drawn, to_beat);
                    };
                    if (have_numbers(drawn.features)) {
                        return room_.use_columns(reader, drawn.features, node.begin, ids, search);
                    }
                    const auto copies = room_.copies(reader, drawn.features, node.begin, ids);
                    put_in_order(drawn.features, room_.pointers(), payloads, n);
                    return search(copies);
                });
            }
        }
        return {};
    }

  private:
    static bool have_bytes(const Codes& codes, std::size_t most) {
        return std::all_of(codes.columns.begin(), codes.columns.end(),
                           [&](const Column& column) { return column.width <= most; });
    }

    template <class IsAlone, class LookAt>
    struct Found {
        const IsAlone& is_alone;
        const LookAt& look_at;
    };

    bool have_numbers(std::span<const std::uint32_t> features) const {
        return are_numbers_ || std::none_of(features.begin(), features.end(),
                                            [&](std::uint32_t feature) { return parts_.is_categorical(feature); });
    }

    // Replaces categories by their positions in the order of the target, which are cut like numbers.
    template <class Payload>
    void put_in_order(std::span<const std::uint32_t> features, std::span<std::uint16_t* const> columns,
                      const Payload* payloads, std::uint32_t n) {
        for (std::size_t lane = 0; lane < features.size() && !are_numbers_; ++lane) {
            if (parts_.is_categorical(features[lane])) {
                parts_.categories.put_in_order(parts_.model, columns[lane], payloads, n, 1 - parts_.kept, 0);
                n_categories_[lane] = parts_.categories.n_categories();
            }
        }
    }

    // Evaluates max_features features that can cut the node, in the order of the draw.
    template <class Others, class Search>
    LaneSplit find_by(const Node& node, FeatureSet constant, const Others& others, const Search& search_lanes) {
        BestSoFar so_far;
        parts_.begin_draw(node);
        while (so_far.n_looked_at < parts_.growth.max_features && !parts_.draw.is_empty()) {
            std::array<std::uint32_t, lanes::kLanes> features;
            std::optional<std::uint32_t> alone;
            std::uint32_t n_lanes = 0;
            while (n_lanes < std::min<std::size_t>(features.size(), parts_.growth.max_features - so_far.n_looked_at) &&
                   !alone && !parts_.draw.is_empty()) {
                const std::uint32_t feature = parts_.draw.next();
                if (constant.has(feature)) {
                    continue;
                }
                if (!are_numbers_ && others.is_alone(feature)) {
                    alone = feature;
                } else {
                    features[n_lanes++] = feature;
                }
            }
            if (n_lanes != 0 && !look_at_lanes({features.data(), n_lanes}, constant, so_far, search_lanes)) {
                parts_.draw.end();
                return {};
            }
            if (alone) {
                others.look_at(*alone, so_far);
            }
        }
        parts_.draw.end();
        if (so_far.best) {
            gather(node, *so_far.best);
        }
        return {true, so_far.best};
    }

    // Returns whether the search is suitable for these rows.
    template <class Search>
    bool look_at_lanes(std::span<const std::uint32_t> features, FeatureSet constant, BestSoFar& so_far,
                       const Search& search_lanes) {
        const LaneCuts cuts = search_lanes({parts_.draw, features}, so_far.standing.score);
        if (!cuts.is_done) {
            return false;
        }
        for (std::uint32_t lane = 0; lane < features.size(); ++lane) {
            if (cuts.admissible >> lane & 1) {
                ++so_far.n_looked_at;
            } else if (!parts_.is_categorical(features[lane]) || parts_.stays_constant(n_categories_[lane])) {
                constant.add(features[lane]);
            }
        }
        const Candidate& cut = cuts.best.best;
        const auto wins_tie = [&] { return parts_.draw.wins_tie(features[cuts.lane], so_far.best->feature); };
        if (cut.score != kNoScore && (!so_far.best || cut.beats_earlier_feature(so_far.standing, wins_tie))) {
            so_far.best = Split{.feature = features[cuts.lane], .cut = cut, .has_missing = cuts.best.has_missing};
            so_far.standing = cut;
        }
        return true;
    }

    // The codes of the best feature, by which the rows are partitioned.
    void gather(const Node& node, const Split& best) {
        parts_.gather(best.feature, node, parts_.kept);
        if (parts_.is_categorical(best.feature)) {
            parts_.node_codes.use(best.feature, parts_.kept, [&](auto* codes) {
                parts_.categories.put_in_order(parts_.model, codes, parts_.tree->payloads(node), node.n_rows(),
                                               parts_.kept, best.order);
            });
        }
    }

    SplitParts<Model>& parts_;
    bool are_narrow_;  // codes have one or two bytes
    bool are_bytes_;   // codes have one byte
    bool are_numbers_;  // no feature is categorical
    LaneRoom room_;
    std::array<std::uint32_t, lanes::kLanes> n_categories_{};  // of the node, by lane
};

}  // namespace weald
