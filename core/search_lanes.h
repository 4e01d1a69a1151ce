// The best cut of a node of few rows by several features at once, where targets are numbers. Each lane of a vector is a
// feature.
//
// With so few rows nothing is sorted: for each row, what goes left when the cut is after its code is summed over all
// rows. That is n * n steps for n rows, but each of them serves all lanes.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "candidate.h"
#include "few_numbers.h"
#include "scores.h"
#include "sort_network.h"
#include "vectors.h"

namespace weald {

// Codes of a node, row by row; in each row a lane for each feature.
struct LaneCodes {
    static constexpr std::size_t kLanes = vectors::kLanes;
    static constexpr std::uint32_t kMostRows = 48;
    static constexpr std::int32_t kMissing = std::numeric_limits<std::int32_t>::max();

    alignas(64) std::array<std::int32_t, kMostRows * kLanes> codes;

    void clear(std::uint32_t n_rows) { std::fill_n(codes.begin(), n_rows * kLanes, 0); }
    std::int32_t* lane(std::size_t lane) { return codes.data() + lane; }
    std::int32_t get(std::uint32_t row, std::size_t lane) const { return codes[row * kLanes + lane]; }

    // Whether the lanes are quicker than one feature after the other, which are sorted.
    static bool pay(std::uint32_t n_rows, std::uint32_t n_features) {
        return n_rows <= kMostRows &&
               n_rows * n_rows <= 160 * std::min<std::uint32_t>(n_features, static_cast<std::uint32_t>(kLanes));
    }
};

// What was found: which lanes can cut the node, and the best cut of all of them.
struct LaneCuts {
    std::uint32_t admissible = 0;  // bit by bit
    std::size_t lane = 0;          // of the best
    FeatureCuts best;
};

template <class Scorer>
class LaneSearch {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;

    struct Rows {
        const LaneCodes& codes;
        const Labels::Payload* payloads;
        std::uint32_t n;
        std::uint32_t n_lanes;
    };

    LaneSearch(const Labels& labels, const FewNumbers& node, const Scorer& scorer, const Rows& rows)
        : labels_(labels), node_(node), scorer_(scorer), rows_(rows) {}

    LaneCuts run(double to_beat) {
        Floats tops = gain_all<false>();
        if (find_missing()) {
            const Floats others = gain_all<true>();
            tops = others > tops ? others : tops;
        }
        const float top = vectors::greatest<kLanes / 2>(tops);
        if (top == kNone) {
            return found_;
        }
        const float floor = node_.floor_below(std::max(top, node_.gain_of(to_beat)));
        for (std::size_t lane = 0; lane < rows_.n_lanes; ++lane) {
            found_.admissible |= std::uint32_t{tops[lane] != kNone} << lane;
            if (tops[lane] >= floor) {
                offer_lane(lane, floor);
            }
        }
        return found_;
    }

  private:
    using Floats = vectors::Floats;
    typedef std::int32_t Ints __attribute__((vector_size(sizeof(Floats))));
    static constexpr std::size_t kLanes = LaneCodes::kLanes;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();

    Ints codes_of(std::uint32_t row) const { return vectors::load<Ints>(rows_.codes.codes.data() + row * kLanes); }

    // Near gains of the cuts after each row's code, and the greatest of each lane.
    template <bool MissingLeft>
    Floats gain_all() {
        const float* counts = node_.counts();
        const float* sums = node_.sums();
        const auto least =
            static_cast<float>(std::max<std::int64_t>({scorer_.limits().min_size, scorer_.limits().min_weight, 1}));
        Floats tops = Floats{} + kNone;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const Ints last_left = codes_of(i);
            Floats left = MissingLeft ? missing_weight_ : Floats{};
            Floats sum = MissingLeft ? missing_sum_ : Floats{};
            for (std::uint32_t j = 0; j < rows_.n; ++j) {
                const Ints goes_left = codes_of(j) <= last_left;
                left += goes_left ? Floats{} + counts[j] : Floats{};
                sum += goes_left ? Floats{} + sums[j] : Floats{};
            }
            const auto is_cut = (last_left != LaneCodes::kMissing) & (left >= least) & (node_.weight() - left >= least);
            const Floats gains = is_cut ? node_.gain(sum, left) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            vectors::store(gains, gains_[MissingLeft].data() + i * kLanes);
        }
        return tops;
    }

    bool find_missing() {
        Ints any{};
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            any |= codes_of(i) == LaneCodes::kMissing;
        }
        vectors::store(any, has_missing_.data());
        if (std::none_of(has_missing_.begin(), has_missing_.end(), [](std::int32_t has) { return has != 0; })) {
            return false;
        }
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const Ints is_missing = codes_of(i) == LaneCodes::kMissing;
            missing_weight_ += is_missing ? Floats{} + node_.counts()[i] : Floats{};
            missing_sum_ += is_missing ? Floats{} + node_.sums()[i] : Floats{};
        }
        return true;
    }

    // Scores the cuts of a lane that could be the best exactly. Lanes come in the order of their draw.
    void offer_lane(std::size_t lane, float floor) {
        FeatureCuts cuts;
        cuts.has_missing = has_missing_[lane] != 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (gains_[0][i * kLanes + lane] >= floor) {
                offer(cuts, lane, i, false);
            }
            if (cuts.has_missing && gains_[1][i * kLanes + lane] >= floor) {
                offer(cuts, lane, i, true);
            }
        }
        if (cuts.best.score != kNoScore && cuts.best.beats_earlier_feature(found_.best.best)) {
            found_.best = cuts;
            found_.lane = lane;
        }
    }

    void offer(FeatureCuts& cuts, std::size_t lane, std::uint32_t row, bool missing_left) {
        const std::int32_t last_left = rows_.codes.get(row, lane);
        Cell left{};
        bool is_last = true;  // no present code goes right
        for (std::uint32_t j = 0; j < rows_.n; ++j) {
            const std::int32_t code = rows_.codes.get(j, lane);
            const bool is_missing = code == LaneCodes::kMissing;
            if (code <= last_left || (is_missing && missing_left)) {
                left += labels_.cell(rows_.payloads[j]);
            } else {
                is_last &= is_missing;
            }
        }
        const std::uint64_t order = is_last ? Candidate::kPresentAgainstMissing
                                            : Candidate::order_of(static_cast<std::uint32_t>(last_left), missing_left);
        const std::int64_t balance = scorer_.balance(left);
        cuts.offer({scorer_.score(left), 0.0, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    const Labels& labels_;
    const FewNumbers& node_;
    const Scorer& scorer_;
    Rows rows_;
    LaneCuts found_;
    Floats missing_weight_{};
    Floats missing_sum_{};
    std::array<std::int32_t, kLanes> has_missing_{};
    alignas(64) std::array<std::array<float, LaneCodes::kMostRows * kLanes>, 2> gains_;  // missing right, left
};

}  // namespace weald
