// The best split of a node with random cuts: one cut of each feature.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "base/random_block.h"
#include "draw/bag.h"
#include "draw/feature_draw.h"
#include "grow/split_common.h"
#include "rows/gather.h"
#include "score/monotonic.h"
#include "search/random_cut.h"
#include "targets/target_model.h"
#include "tree/node.h"

namespace weald {

template <TargetModel Model>
class RandomSplitFinder {
  public:
    explicit RandomSplitFinder(SplitParts<Model>& parts) : parts_(parts) {
        if (parts.growth.random_cuts) {
            for (const Column& column : parts.codes.columns) {
                values_.emplace_back(column);
            }
        }
    }

    // For random cuts, by feature.
    std::span<const ValueIndex> values() const { return values_; }

    // Several features are evaluated together: while one waits for memory, the others continue.
    std::optional<Split> find(const Node& node, FeatureSet constant) {
        const double perfect = parts_.model.perfect(parts_.tree->payloads(node), node.n_rows());
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        parts_.begin_draw(node);
        bool is_perfect = false;  // later features can only tie
        while (n_looked_at < parts_.growth.max_features && !parts_.draw.is_empty()) {
            const std::span<const PendingCut> looks =
                take_looks(node, constant, parts_.growth.max_features - n_looked_at);
            std::array<std::uint32_t, kPhiloxBlock> pairs{};
            std::transform(looks.begin(), looks.end(), pairs.begin(),
                           [](const PendingCut& look) { return look.feature; });
            const DrawBlock draws =
                draw_block_of_pairs({parts_.tree->seed, node.id, parts_.tree->number, kPurposeCuts}, pairs);
            for (std::size_t i = 0; i < looks.size(); ++i) {
                const auto wins_tie = [&] { return parts_.draw.wins_tie(looks[i].feature, best->feature); };
                if (is_perfect && !wins_tie()) {
                    continue;
                }
                parts_.work.check();
                const RuledCuts found = search_random_of(looks[i], node, draws[2 * i], draws[2 * i + 1]);
                if (!found.cuts.is_admissible) {
                    continue;
                }
                ++n_looked_at;
                if (!best || found.cuts.best.beats_earlier_feature(best->cut, wins_tie)) {
                    best = parts_.split_of(looks[i].feature, found);
                    parts_.kept = looks[i].buffer;
                }
                is_perfect = node.n_rows() == 2 || best->cut.score >= perfect;
            }
            if (is_perfect) {
                parts_.draw.keep_rivals_of(best->feature);
            }
        }
        parts_.draw.end();
        return best;
    }

  private:
    // Draws up to `most` features that are not constant, and gathers their codes.
    std::span<const PendingCut> take_looks(const Node& node, FeatureSet constant, std::uint32_t most) {
        const bool is_one_enough = node.n_rows() > kMostTogether || node.n_rows() == 2;
        const std::size_t wanted = is_one_enough ? 1 : std::min<std::size_t>(most, looks_.size());
        std::size_t n = 0;
        int buffer = 0;
        while (n < wanted && !parts_.draw.is_empty()) {
            const std::uint32_t feature = parts_.draw.next();
            if (constant.has(feature)) {
                continue;
            }
            buffer += buffer == parts_.kept;  // the other buffer holds the best cut so far
            parts_.gather(feature, node, buffer);
            const CodeRange range = parts_.node_codes.use(
                feature, buffer, [&](const auto* codes) { return range_of(codes, node.n_rows()); });
            if (!PendingCut::is_of_use(range)) {
                constant.add(feature);
                continue;
            }
            values_[feature].prefetch(range);
            looks_[n++] = {feature, buffer++, range};
        }
        return {looks_.data(), n};
    }

    RuledCuts search_random_of(const PendingCut& look, const Node& node, std::uint64_t place, std::uint64_t side) {
        const Direction direction{parts_.sign_of(look.feature), node.bounds};
        const auto* payloads = parts_.tree->payloads(node);
        return parts_.node_codes.use(look.feature, look.buffer, [&](auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            if (parts_.is_categorical(look.feature)) {
                const std::uint32_t last_left =
                    parts_.categories.cut_at_random(codes, node.n_rows(), look.buffer, place);
                return judge_drawn(parts_.model, direction, look.range, codes, payloads, node.n_rows(),
                                   static_cast<Code>(last_left), side);
            }
            return search_random(parts_.model, direction, values_[look.feature], look.range, codes, payloads,
                                 node.n_rows(), place, side);
        });
    }

    SplitParts<Model>& parts_;
    std::vector<ValueIndex> values_;
    std::array<PendingCut, kPhiloxBlock> looks_{};
};

}  // namespace weald
