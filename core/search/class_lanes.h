// The cuts of a node of two classes by several features at once. Each lane of a vector is a feature.
//
// The counts on the left are known at some positions along each feature, with 16 bits for each class. All positions of
// all lanes get approximate scores, and the few cuts that could be the best exact ones.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "base/vectors.h"
#include "score/candidate.h"
#include "score/labels.h"
#include "score/scores.h"
#include "search/lanes.h"

namespace weald {

inline constexpr std::size_t kMostPlaces = 256;  // along a feature

// Memory that the search reuses.
struct ClassLaneScratch {
    alignas(64) std::array<lanes::Keys, lanes::kMostRows> keys;                  // indexed by position
    alignas(64) std::array<std::uint32_t, kMostPlaces * lanes::kLanes> bins{};   // empty between two searches
    alignas(64) std::array<std::uint64_t, kMostPlaces * lanes::kLanes> cells{};  // the same for very many rows
    alignas(64) std::array<lanes::Keys, kMostPlaces> lefts;  // up to each position: counts of both classes
    alignas(64) std::array<std::array<lanes::Floats, kMostPlaces>, 2> scores;  // missing right, left
};

template <class Scorer>
class ClassLanes {
  public:
    using Cell = TwoClasses::Cell;
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::int64_t kMostDraws = 0xFFFF;  // draws in a node

    // Counts have weight one each.
    ClassLanes(const Scorer& scorer, Cell total, ClassLaneScratch& scratch, const DrawnLanes& lanes)
        : scorer_(scorer), total_(counts_of(total)), scratch_(scratch), lanes_(lanes) {
        const std::int64_t least = std::max(scorer.limits().min_size, scorer.limits().min_weight);
        least_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(least, 1, kMostDraws + 1));
    }

    // The scratch's `lefts` are filled in. changes(position) returns the lanes in which another code follows,
    // code(position, lane) the last code that goes left; `missing` are the counts of missing rows.
    template <class Changes, class CodeAt>
    LaneCuts run(std::uint32_t n_places, const Keys& missing, double to_beat, const Changes& changes,
                 const CodeAt& code) {
        Floats tops = score_all(0, n_places, Keys{}, changes);
        missing_ = kNumbers < lanes_.n() ? missing : Keys{};
        const bool any_missing = vectors::bits_of(missing_ != 0) != 0;
        if (any_missing) {
            const Floats others = score_all(1, n_places, missing_, changes);
            tops = (missing_ != 0) & (others > tops) ? others : tops;
        }
        tops = kNumbers < lanes_.n() ? tops : Floats{} + kNone;
        found_.admissible = vectors::bits_of(tops > kNone);
        if (found_.admissible == 0) {
            return found_;
        }
        float top = kNone;
        for (std::size_t lane = 0; lane < lanes::kLanes; ++lane) {
            top = std::max(top, tops[lane]);
        }
        const float floor = scorer_.floor_below(std::max(static_cast<double>(top), to_beat));
        for (std::uint32_t near = vectors::bits_of(tops >= floor); near != 0; near &= near - 1) {
            offer_lane(static_cast<std::size_t>(std::countr_zero(near)), n_places, floor, code);
        }
        return found_;
    }

    static std::uint32_t counts_of(Cell cell) { return static_cast<std::uint32_t>(cell | cell >> 16); }
    static Cell cell_of(std::uint32_t counts) { return (counts & 0xFFFFu) | Cell{counts >> 16} << 32; }

  private:
    static constexpr float kNone = -std::numeric_limits<float>::infinity();
    static constexpr Keys kNumbers = []<std::size_t... I>(std::index_sequence<I...>) {
        return Keys{I...};
    }(std::make_index_sequence<lanes::kLanes>());

    // Approximate scores of the cuts after each position, with `added` on the left, and the maximum of each lane.
    template <class Changes>
    Floats score_all(std::size_t side, std::uint32_t n_places, const Keys& added, const Changes& changes) {
        const Scorer scorer = scorer_;  // a local copy, which the scores cannot alias
        Floats tops = Floats{} + kNone;
        for (std::uint32_t i = 0; i < n_places; ++i) {
            const Keys left = scratch_.lefts[i] + added;
            const Keys right = total_ - left;
            alignas(Keys) std::array<std::uint32_t, lanes::kLanes> counts;
            vectors::store(left, counts.data());
            alignas(Floats) std::array<float, lanes::kLanes> group;
            // As a loop, it is vectorized wherever it is inlined; unrolled, only sometimes.
#pragma GCC unroll 1
            for (std::size_t lane = 0; lane < lanes::kLanes; ++lane) {
                group[lane] = scorer.near_score_of_counts(counts[lane]);
            }
            const auto is_cut = changes(i) & (size_of(left) >= least_) & (size_of(right) >= least_);
            const Floats scores = is_cut ? vectors::load<Floats>(group.data()) : Floats{} + kNone;
            tops = scores > tops ? scores : tops;
            scratch_.scores[side][i] = scores;
        }
        return tops;
    }

    static Keys size_of(const Keys& counts) { return (counts & 0xFFFFu) + (counts >> 16); }

    // Scores the cuts of a lane that could be the best exactly. Lanes come in the order of their draw.
    template <class CodeAt>
    void offer_lane(std::size_t lane, std::uint32_t n_places, float floor, const CodeAt& code) {
        FeatureCuts cuts;
        cuts.has_missing = missing_[lane] != 0;
        for (std::size_t side = 0; side < (cuts.has_missing ? 2 : 1); ++side) {
            for (std::uint32_t i = 0; i < n_places; ++i) {
                if (scratch_.scores[side][i][lane] >= floor) {
                    const std::uint32_t left = scratch_.lefts[i][lane];
                    const bool is_last = cuts.has_missing && left + missing_[lane] == total_;
                    offer(cuts, cell_of(left + (side == 0 ? 0 : missing_[lane])),
                          is_last ? Candidate::kPresentAgainstMissing : Candidate::order_of(code(i, lane), side != 0));
                }
            }
        }
        found_.offer(cuts, lane, lanes_);
    }

    void offer(FeatureCuts& cuts, Cell left, std::uint64_t order) const {
        const std::int64_t balance = scorer_.balance(left);
        cuts.offer({scorer_.score(left), scorer_.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)), order,
                    balance >= 0});
    }

    const Scorer& scorer_;
    std::uint32_t total_;
    ClassLaneScratch& scratch_;
    DrawnLanes lanes_;
    std::uint32_t least_ = 1;
    Keys missing_{};
    LaneCuts found_;
};

}  // namespace weald
