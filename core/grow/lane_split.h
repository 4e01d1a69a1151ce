// The best split of a node, several features at once: each lane of a vector is a feature.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "coding/codes.h"
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
    bool is_found = false;  // false: features must be searched one by one
    std::optional<Split> split;
};

template <TargetModel Model>
class LaneSplitFinder {
  public:
    explicit LaneSplitFinder(SplitParts<Model>& parts)
        : parts_(parts), are_narrow_(have_bytes(parts.codes, 2)), are_bytes_(have_bytes(parts.codes, 1)) {}

    // No feature is categorical or has a monotonic constraint. `has_bins`: the node has inherited bins.
    LaneSplit find(const Node& node, FeatureSet constant, bool has_bins) {
        if (!are_narrow_) {
            return {};
        }
        const auto ids = parts_.tree->ids(node);
        const auto* payloads = parts_.tree->payloads(node);
        const std::uint32_t n = node.n_rows();
        const CodeReader& reader = parts_.node_codes.reader();
        if constexpr (kHasLaneBins<Model>) {
            if (!has_bins && parts_.model.searches_lane_bins()) {
                return find_by(node, constant, [&](const DrawnLanes& drawn, double to_beat) {
                    parts_.work.check();
                    return parts_.model.search_lane_bins(room_.gathered(reader, drawn.features, node.begin, ids),
                                                         payloads, n, drawn, to_beat);
                });
            }
        }
        if constexpr (kCountsLanes<Model>) {
            if (are_bytes_ && !has_bins && parts_.model.counts_lanes(n)) {
                return find_by(node, constant, [&](const DrawnLanes& drawn, double to_beat) {
                    parts_.work.check();
                    const auto columns = LaneRoom::columns<std::uint8_t>(reader, drawn.features, node.begin, ids);
                    return parts_.model.count_lanes(*columns, payloads, drawn, to_beat);
                });
            }
        }
        if constexpr (kHasLanes<Model>) {
            if (parts_.model.searches_lanes(n)) {
                return find_by(node, constant, [&](const DrawnLanes& drawn, double to_beat) {
                    return room_.use_columns(reader, drawn.features, node.begin, ids, [&](const auto& columns) {
                        return parts_.model.search_lanes(columns, payloads, n, drawn, to_beat);
                    });
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

    // Evaluates max_features features that can cut the node, in the order of the draw.
    template <class Search>
    LaneSplit find_by(const Node& node, FeatureSet constant, const Search& search_lanes) {
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        parts_.begin_draw(node);
        while (n_looked_at < parts_.growth.max_features && !parts_.draw.is_empty()) {
            std::array<std::uint32_t, lanes::kLanes> features;
            std::uint32_t n_lanes = 0;
            while (n_lanes < std::min<std::size_t>(features.size(), parts_.growth.max_features - n_looked_at) &&
                   !parts_.draw.is_empty()) {
                const std::uint32_t feature = parts_.draw.next();
                if (!constant.has(feature)) {
                    features[n_lanes++] = feature;
                }
            }
            if (n_lanes == 0) {
                break;
            }
            const LaneCuts cuts =
                search_lanes({parts_.draw, {features.data(), n_lanes}}, best ? best->cut.score : kNoScore);
            if (!cuts.is_done) {
                parts_.draw.end();
                return {};
            }
            for (std::uint32_t lane = 0; lane < n_lanes; ++lane) {
                if (cuts.admissible >> lane & 1) {
                    ++n_looked_at;
                } else {
                    constant.add(features[lane]);
                }
            }
            const Candidate& cut = cuts.best.best;
            const auto wins_tie = [&] { return parts_.draw.wins_tie(features[cuts.lane], best->feature); };
            if (cut.score != kNoScore && (!best || cut.beats_earlier_feature(best->cut, wins_tie))) {
                best = Split{.feature = features[cuts.lane], .cut = cut, .has_missing = cuts.best.has_missing};
            }
        }
        parts_.draw.end();
        if (best) {
            parts_.gather(best->feature, node, parts_.kept);
        }
        return {true, best};
    }

    SplitParts<Model>& parts_;
    bool are_narrow_;  // codes have one or two bytes
    bool are_bytes_;   // codes have one byte
    LaneRoom room_;
};

}  // namespace weald
