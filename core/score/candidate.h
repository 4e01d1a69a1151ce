// Cuts, and which of two is better.
//
//   Candidate     a cut of a node by one feature
//   FeatureCuts   the best admissible cut of a feature, from candidates in any order

#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "score/scores.h"

namespace weald {

// Codes up to `last_left` go left. `order` is the candidate's index among those of its feature: on a tie the earlier
// wins.
struct Candidate {
    double score = kNoScore;
    double tie_score = 0;
    std::uint64_t unevenness = 0;
    std::uint64_t order = 0;
    bool left_is_heavier = false;  // or both sides have the same weight

    static constexpr std::uint64_t kPresentAgainstMissing = std::numeric_limits<std::uint64_t>::max();
    static std::uint64_t order_of(std::uint32_t last_left, bool missing_left) {
        return std::uint64_t{2} * last_left + missing_left;
    }
    bool cuts_off_missing() const { return order == kPresentAgainstMissing; }
    std::uint32_t last_left() const { return static_cast<std::uint32_t>(order >> 1); }
    bool missing_left() const { return !cuts_off_missing() && (order & 1) != 0; }

    bool beats(const Candidate& other) const {
        if (score != other.score)
            return score > other.score;
        if (tie_score != other.tie_score)
            return tie_score > other.tie_score;
        if (unevenness != other.unevenness)
            return unevenness < other.unevenness;
        return order < other.order;
    }
    // The same feature, with its categories in another order.
    bool beats_earlier_order(const Candidate& other) const {
        if (score != other.score)
            return score > other.score;
        if (tie_score != other.tie_score)
            return tie_score > other.tie_score;
        return unevenness < other.unevenness;
    }
    // Another feature, drawn earlier. It wins ties, unless wins_tie() returns otherwise.
    template <class WinsTie>
    bool beats_earlier_feature(const Candidate& other, const WinsTie& wins_tie) const {
        if (score != other.score)
            return score > other.score;
        if (tie_score != other.tie_score)
            return tie_score > other.tie_score;
        return wins_tie();
    }
};

struct FeatureCuts {
    bool is_admissible = false;  // whether the feature has an admissible cut, even if its score is too low
    bool has_missing = false;    // the node has missing values of the feature
    Candidate best;

    void offer(const Candidate& candidate) {
        if (candidate.beats(best)) {
            best = candidate;
        }
    }
};

}  // namespace weald
