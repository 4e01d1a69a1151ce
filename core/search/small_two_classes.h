// The best cut of a node of few rows and two classes by one feature.
//
// A key contains all data of a row that the search needs: code << 16 | class << 15 | count. So rows are not read after
// sorting: counts of the left side are prefix sums over the keys, many at a time, and every position between two codes
// is scored, many at a time.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"

namespace weald {

template <class Scorer>
class FewRowsSearch {
  public:
    using Cell = TwoClasses::Cell;
    using Payload = TwoClasses::Payload;
    static constexpr std::int64_t kMostDraws =
        0x7FFF;  // draws in a node: counts fit into a key, and their sums into 16 bits

    // There must be memory for kMostSorted codes and payloads behind the first ones.
    struct Rows {
        const std::uint16_t* codes;
        const Payload* payloads;
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: cuts below it need not be found, only whether one exists.
    FewRowsSearch(const Scorer& scorer, double to_beat) : scorer_(scorer), to_beat_(to_beat) {}

    FeatureCuts run(const Rows& rows, Cell total) {
        sort_labeled<15>(rows.codes, rows.payloads, rows.n, keys_.data());
        std::uint32_t n_present = rows.n;
        while (n_present > 0 && code(n_present - 1) == kMissing<std::uint16_t>) {
            --n_present;
        }
        found_.has_missing = n_present < rows.n;
        if (n_present == 0 || (!found_.has_missing && code(0) == code(n_present - 1))) {
            return found_;
        }
        sum_up(n_present);
        const std::uint32_t n_cuts = n_present - 1;
        cut(n_cuts, 0, false);
        if (found_.has_missing) {
            const Cell present = cell_of(lefts_[n_cuts]);
            const Cell missing = total - present;
            cut(n_cuts, static_cast<std::uint32_t>(missing | missing >> 16), true);
            if (scorer_.is_admissible(present)) {
                found_.is_admissible = true;
                offer(present, Candidate::kPresentAgainstMissing);
            }
        }
        return found_;
    }

  private:
    using Keys = vectors::Keys;
    using Floats = vectors::Floats;
    static constexpr std::size_t kLanes = vectors::kLanes;

    static Cell cell_of(std::uint32_t counts) { return (counts & 0xFFFFu) | Cell{counts >> 16} << 32; }
    std::uint32_t code(std::uint32_t i) const { return keys_[i] >> 16; }

    // Counts of both classes, 16 bits each, of the rows up to each position.
    void sum_up(std::uint32_t n) {
        Keys before{};
        for (std::uint32_t i = 0; i < n; i += kLanes) {
            const auto keys = vectors::load<Keys>(keys_.data() + i);
            const Keys counts = keys & 0x7FFFu;
            const Keys lefts = before + vectors::running_sums<1>((keys & 0x8000u) != 0 ? counts << 16 : counts);
            vectors::store(lefts, lefts_.data() + i);
            before = vectors::last_everywhere(lefts);
        }
    }

    // Cuts after each of the first n_cuts keys where the code changes, with `added` on the left.
    void cut(std::uint32_t n_cuts, std::uint32_t added, bool missing_left) {
        const float top = scorer_.admits_all() ? near_scores<true>(n_cuts, added) : near_scores<false>(n_cuts, added);
        if (static_cast<double>(top) == kNoScore) {
            return;
        }
        found_.is_admissible = true;
        const float floor = scorer_.floor_below(std::max({static_cast<double>(top), found_.best.score, to_beat_}));
        if (top < floor) {
            return;
        }
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (scores_[i] >= floor) {
                offer(cell_of(lefts_[i] + added), Candidate::order_of(code(i), missing_left));
            }
        }
    }

    // Computes approximate scores of all cuts, and returns the maximum.
    template <bool AdmitAll>
    float near_scores(std::uint32_t n_cuts, std::uint32_t added) {
        const Scorer scorer = scorer_;  // a local copy, which the scores cannot alias
        constexpr float none = -std::numeric_limits<float>::infinity();
        Floats tops = Floats{} + none;
        for (std::uint32_t i = 0; i < n_cuts; i += kLanes) {
            alignas(Floats) std::array<float, kLanes> group;
            for (std::uint32_t j = 0; j < kLanes; ++j) {
                group[j] = scorer.near_score_of_counts(lefts_[i + j] + added);
            }
            if constexpr (!AdmitAll) {
                for (std::uint32_t j = 0; j < kLanes; ++j) {
                    group[j] = scorer.is_admissible(cell_of(lefts_[i + j] + added)) ? group[j] : none;
                }
            }
            const Keys changes = vectors::load<Keys>(keys_.data() + i) ^ vectors::load<Keys>(keys_.data() + i + 1);
            const auto is_cut = (changes >> 16 != 0) & (vectors::kNumbers + i < n_cuts);
            const Floats scores = is_cut ? vectors::load<Floats>(group.data()) : Floats{} + none;
            tops = scores > tops ? scores : tops;
            vectors::store(scores, scores_.data() + i);
        }
        return vectors::greatest<kLanes / 2>(tops);
    }

    void offer(Cell left, std::uint64_t order) {
        const std::int64_t balance = scorer_.balance(left);
        found_.offer({scorer_.score(left), scorer_.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)),
                      order, balance >= 0});
    }

    const Scorer& scorer_;
    double to_beat_;
    FeatureCuts found_;
    alignas(64) std::array<std::uint32_t, kMostSorted + 16> keys_;
    alignas(64) std::array<std::uint32_t, kMostSorted + 16> lefts_;
    alignas(64) std::array<float, kMostSorted> scores_;
};

}  // namespace weald
