// The best cut of a node of a small subtree, many features at once.
//
// As in search/lanes.h: sorted keys are code << 16 | position << 8 | count, approximate gains follow, and the few cuts
// that could be the best are scored exactly. Two features that divide the rows in the same way have the same score,
// which is computed once.
//
//   SmallCut       a cut
//   SmallScratch   memory that the search reuses
//   SmallSearch    finds the best one

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/vectors.h"
#include "draw/tie_keys.h"
#include "grow/small_rows.h"
#include "score/criteria.h"
#include "score/scores.h"
#include "search/lanes.h"
#include "tree/tree_parts.h"

namespace weald {

struct SmallCut {
    double score = kNoScore;
    std::uint32_t parts = 0;   // the rows of the side that contains the first row
    std::uint32_t number = 0;  // position of the feature in the order of the draw
    std::uint32_t feature = 0;
    std::uint32_t rows_left = 0;
    SmallRows::Cell left;
    CutCodes beside;
};

// By position in the order of each lane.
struct SmallScratch {
    alignas(64) std::array<lanes::Keys, SmallRows::kMost> keys;
    alignas(64) std::array<lanes::Floats, SmallRows::kMost> gains;
    alignas(64) std::array<lanes::Floats, SmallRows::kMost> lefts;  // weight on the left
    alignas(64) std::array<lanes::Keys, SmallRows::kMost> rows_left;
};

class SmallSearch {
  public:
    using Cell = SmallRows::Cell;
    using Scorer = NumberScorer<CountedNumbers, SquaredError>;

    struct Of {
        std::uint32_t rows;     // the node
        std::int64_t weight;    // weight of all rows
        double sum_of_squares;  // about their mean, from which approximate sums are measured
    };

    // `keys` decide ties between features; null: the one drawn earlier wins.
    SmallSearch(const SmallRows& rows, const Scorer& scorer, const Of& node, SmallScratch& scratch, TieKeys* keys)
        : rows_(rows),
          scorer_(scorer),
          scratch_(scratch),
          keys_(keys),
          node_(node.rows),
          n_(static_cast<std::uint32_t>(std::popcount(node.rows))),
          weight_(static_cast<float>(node.weight)),
          // Each of up to 32 float additions has an error of up to 2^-24 of the sum; it matters more if one side has
          // little weight.
          slack_(
              static_cast<float>(node.sum_of_squares * std::sqrt(static_cast<double>(node.weight)) * 2 * kNearness)) {}

    // Evaluates some features, which were drawn after those before. Returns the lanes that can cut the node.
    std::uint32_t look_at(const LaneFeatures& features) {
        rows_.fill_keys(node_, features, scratch_.keys.data());
        const std::uint32_t admissible = search<3, 4, 6, 8, 12, 16, 24, 32>(features);
        n_before_ += kLanes;
        return admissible;
    }
    const SmallCut& best() const { return best_; }

  private:
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::size_t kLanes = lanes::kLanes;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();

    // By a network for at least this many rows.
    template <std::size_t N, std::size_t... More>
    std::uint32_t search(const LaneFeatures& features) {
        if constexpr (sizeof...(More) != 0) {
            if (n_ > N) {
                return search<More...>(features);
            }
        }
        if constexpr (N > SmallRows::kMost) {
            __builtin_unreachable();
        } else {
            return search_sorted<N>(features);
        }
    }

    template <std::size_t N>
    std::uint32_t search_sorted(const LaneFeatures& features) {
        for (std::size_t i = 0; i < N; ++i) {
            scratch_.keys[i] = i < n_ ? scratch_.keys[i] : ~Keys{};
        }
        lanes::sort<N>(scratch_.keys.data());
        const Floats tops = gain_all<N>();
        const std::uint32_t admissible = features.all() & vectors::bits_of(tops > kNone);
        if (admissible == 0) {
            return 0;
        }
        float top = kNone;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            top = lane < features.n ? std::max(top, tops[lane]) : top;
        }
        if (best_.score != kNoScore) {
            constexpr double kUnit = SmallRows::kScale * SmallRows::kScale;
            top = std::max(top, static_cast<float>((best_.score - scorer_.undivided()) * kUnit));
        }
        offer_near<N>(features, top - std::abs(top) * static_cast<float>(kNearness) - slack_);
        return admissible;
    }

    // Approximate gains of the cuts after each position, and the maximum of each lane. After the last row there is no
    // cut.
    template <std::size_t N>
    Floats gain_all() {
        const float weight = weight_;
        Floats left{};
        Floats sum{};
        Keys rows{};
        Floats tops = Floats{} + kNone;
#pragma GCC unroll 16
        for (std::size_t i = 0; i + 1 < N; ++i) {
            const Keys keys = scratch_.keys[i];
            left += __builtin_convertvector(keys & 0xFF, Floats);
            sum += lanes::fetch<SmallRows::kMost>(rows_.near_sums(), keys >> 8);
            rows |= (Keys{} + 1) << (keys >> 8 & (SmallRows::kMost - 1));
            const auto is_cut = ((keys ^ scratch_.keys[i + 1]) >> 16 != 0) & (left < weight);
            const Floats gains = is_cut ? sum * sum * weight / (left * (weight - left)) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            scratch_.gains[i] = gains;
            scratch_.lefts[i] = left;
            scratch_.rows_left[i] = rows;
        }
        return tops;
    }

    // Computes exact scores of the cuts that could be the best.
    template <std::size_t N>
    void offer_near(const LaneFeatures& features, float floor) {
        constexpr std::size_t kPlacesOfWord = 64 / kLanes;
        for (std::size_t begin = 0; begin + 1 < N; begin += kPlacesOfWord) {
            std::uint64_t near = 0;  // a bit for each lane of each position
            for (std::size_t i = begin; i < std::min(begin + kPlacesOfWord, N - 1); ++i) {
                const std::uint64_t bits = vectors::bits_of(scratch_.gains[i] >= floor) & features.all();
                near |= bits << (kLanes * (i - begin));
            }
            for (; near != 0; near &= near - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(near));
                offer(features, begin + bit / kLanes, bit % kLanes);
            }
        }
    }

    // Positions of a lane come in order; lanes do not.
    void offer(const LaneFeatures& features, std::size_t place, std::uint32_t lane) {
        const std::uint32_t number = n_before_ + lane;
        const std::uint32_t rows_left = scratch_.rows_left[place][lane];
        const std::uint32_t first = node_ & (~node_ + 1);
        const std::uint32_t parts = (rows_left & first) != 0 ? rows_left : node_ ^ rows_left;
        Cell left;
        if (parts == best_.parts) {
            if (number == best_.number || !wins_tie(features.of(lane), number)) {
                return;
            }
            left = rows_left == best_.rows_left ? best_.left : scorer_.rest(best_.left);
        } else {
            left = {rows_.sum_of(rows_left), static_cast<std::int64_t>(scratch_.lefts[place][lane])};
            const double score = scorer_.score(left);
            if (score < best_.score || (score == best_.score && !wins_tie(features.of(lane), number, left))) {
                return;
            }
            best_.score = score;
        }
        best_.parts = parts;
        best_.number = number;
        best_.feature = features.of(lane);
        best_.rows_left = rows_left;
        best_.left = left;
        best_.beside = {scratch_.keys[place][lane] >> 16, scratch_.keys[place + 1][lane] >> 16};
    }

    // Against the best cut of another feature: the smaller key wins, or the feature drawn earlier.
    bool wins_tie(std::uint32_t feature, std::uint32_t number) const {
        return keys_ ? keys_->of(feature) < keys_->of(best_.feature) : number < best_.number;
    }
    // Next, the more even cut wins, then the earlier one.
    bool wins_tie(std::uint32_t feature, std::uint32_t number, const Cell& left) const {
        return number != best_.number ? wins_tie(feature, number)
                                      : std::abs(scorer_.balance(left)) < std::abs(scorer_.balance(best_.left));
    }

    const SmallRows& rows_;
    const Scorer& scorer_;
    SmallScratch& scratch_;
    TieKeys* keys_;
    std::uint32_t node_;  // rows of the side
    std::uint32_t n_;     // number of rows
    float weight_;
    float slack_;
    std::uint32_t n_before_ = 0;  // lanes
    SmallCut best_;
};

}  // namespace weald
