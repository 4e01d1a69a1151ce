// The best cut of a node of few rows and more than two classes by one feature.
//
// A key contains all data of a row that the search needs, so rows are not read after sorting. A tally sums them from
// the left; then every position between two codes is scored, many at a time.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"
#include "search/sweep.h"
#include "search/tally.h"

namespace weald {

template <class Criterion>
class FewOfManySearch {
  public:
    // There must be memory for kMostSorted codes and labels behind the first ones.
    struct Rows {
        const std::uint16_t* codes;
        const std::uint32_t* labels;  // slot << 16 | count
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: cuts below it need not be found, only whether one exists.
    FewOfManySearch(const ClassTotals& totals, const Limits& limits, double to_beat)
        : tally_(totals), to_beat_(to_beat), weight_(static_cast<std::uint32_t>(totals.weight)) {
        least_ = static_cast<std::uint32_t>(std::max<std::int64_t>({limits.min_size, limits.min_weight, 1}));
    }

    FeatureCuts run(const Rows& rows) {
        sort_labeled<few::kCountBits>(rows.codes, rows.labels, rows.n, keys_.data());
        std::uint32_t n_present = rows.n;
        while (n_present > 0 && code(n_present - 1) == kMissing<std::uint16_t>) {
            --n_present;
        }
        found_.has_missing = n_present < rows.n;
        if (n_present == 0 || (!found_.has_missing && code(0) == code(n_present - 1))) {
            return found_;
        }
        // With missing rows on the right, the last cut separates present from missing values.
        cut(found_.has_missing ? n_present : n_present - 1, {});
        if (found_.has_missing) {
            cut(n_present - 1, {keys_.data() + n_present, rows.n - n_present});
        }
        return found_;
    }

  private:
    using Keys = vectors::Keys;
    using Floats = vectors::Floats;
    static constexpr std::size_t kLanes = vectors::kLanes;

    std::uint32_t code(std::uint32_t i) const { return few::code_of(keys_[i]); }

    // Cuts after each of the first n_cuts keys where the code changes. Missing rows may go left, too.
    void cut(std::uint32_t n_cuts, std::span<const std::uint32_t> missing_left) {
        tally_.begin(keys_.data(), missing_left);
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            tally_.move(keys_[i]);
            tally_.keep(i);
        }
        const float top = near_scores(n_cuts);
        if (static_cast<double>(top) == kNoScore) {
            return;
        }
        found_.is_admissible = true;
        const double mark = tally_.measure(std::max(found_.best.score, to_beat_));
        const float floor = tally_.floor_below(std::max(static_cast<double>(top), mark));
        if (top < floor) {
            return;
        }
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (scores_[i] >= floor) {
                const bool is_last = code(i + 1) == kMissing<std::uint16_t>;
                offer(i, is_last ? Candidate::kPresentAgainstMissing
                                 : Candidate::order_of(code(i), !missing_left.empty()));
            }
        }
    }

    // Computes approximate scores of all cuts, and returns the maximum.
    float near_scores(std::uint32_t n_cuts) {
        constexpr float none = -std::numeric_limits<float>::infinity();
        Floats tops = Floats{} + none;
        for (std::uint32_t i = 0; i < n_cuts; i += kLanes) {
            const Keys left = vectors::load<Keys>(tally_.weights() + i);
            const Keys right = weight_ - left;
            const Keys changes = vectors::load<Keys>(keys_.data() + i) ^ vectors::load<Keys>(keys_.data() + i + 1);
            const auto is_cut =
                (changes >> 16 != 0) & (vectors::kNumbers + i < n_cuts) & (left >= least_) & (right >= least_);
            const Floats scores = is_cut ? tally_.near(i) : Floats{} + none;
            tops = scores > tops ? scores : tops;
            vectors::store(scores, scores_.data() + i);
        }
        return vectors::greatest<kLanes / 2>(tops);
    }

    void offer(std::uint32_t i, std::uint64_t order) {
        const std::int64_t balance = 2 * std::int64_t{tally_.weights()[i]} - weight_;
        found_.offer({tally_.score(i), 0.0, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    Tally<Criterion> tally_;
    double to_beat_;
    std::uint32_t weight_;
    std::uint32_t least_ = 1;
    FeatureCuts found_;
    alignas(64) std::array<std::uint32_t, kMostSorted + 16> keys_;
    alignas(64) std::array<float, kMostSorted> scores_;
};

}  // namespace weald
