// The best cut of a node of few rows and more than two classes by one feature, scored by Gini.
//
// Keys are code << 16 | slot of the class << 8 | count, so sorted keys need no look back at their rows. With L and T
// the counts of a class on the left and in the node, both sides' sums of squares follow from two sums along the keys:
// that of L * L, and that of T * L.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "candidate.h"
#include "gather.h"
#include "scores.h"
#include "sort_network.h"
#include "sweep.h"
#include "vectors.h"

namespace weald {

class FewGiniSearch {
  public:
    static constexpr std::int64_t kMostDraws = 0x7FFF;  // of a node: so its sums of squares fit 32 bits
    static constexpr std::uint32_t kMostSlots = 0x100;
    static constexpr std::uint32_t kMostCount = 0xFF;  // of a row

    // There must be room for kMostSorted codes and labels behind the first ones.
    struct Rows {
        const std::uint16_t* codes;
        const std::uint32_t* labels;  // slot << 16 | count
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: what is below it need not be found, only whether it
    // exists.
    FewGiniSearch(const ClassTotals& totals, const Limits& limits, double to_beat)
        : totals_(totals), to_beat_(to_beat), weight_(static_cast<std::uint32_t>(totals.weight)) {
        least_ = static_cast<std::uint32_t>(std::max<std::int64_t>({limits.min_size, limits.min_weight, 1}));
        for (const std::uint64_t t : totals.weights) {
            squares_ += static_cast<std::uint32_t>(t * t);
        }
    }

    FeatureCuts run(const Rows& rows) {
        sort_rows(rows);
        std::uint32_t n_present = rows.n;
        while (n_present > 0 && code(n_present - 1) == kMissing<std::uint16_t>) {
            --n_present;
        }
        found_.has_missing = n_present < rows.n;
        if (n_present == 0 || (!found_.has_missing && code(0) == code(n_present - 1))) {
            return found_;
        }
        cut(0, n_present - 1, rows.n, false);
        if (found_.has_missing) {
            cut(n_present, n_present - 1, rows.n, true);
            cut_off_missing(n_present);
        }
        return found_;
    }

  private:
    using Keys = vectors::Keys;
    using Floats = vectors::Floats;
    static constexpr std::size_t kLanes = vectors::kLanes;

    std::uint32_t code(std::uint32_t i) const { return keys_[i] >> 16; }
    std::uint32_t slot(std::uint32_t i) const { return keys_[i] >> 8 & 0xFF; }
    std::uint32_t count(std::uint32_t i) const { return keys_[i] & 0xFF; }

    void sort_rows(const Rows& rows) {
        const std::size_t room = std::max<std::size_t>(16, std::bit_ceil(rows.n));
        for (std::uint32_t i = 0; i < room; i += kLanes) {
            const Keys codes = __builtin_convertvector(vectors::load<vectors::Codes>(rows.codes + i), Keys);
            const Keys labels = vectors::load<Keys>(rows.labels + i);
            const Keys keys = codes << 16 | labels >> 16 << 8 | (labels & 0xFFu);
            vectors::store(vectors::kNumbers + i < rows.n ? keys : ~Keys{}, keys_.data() + i);
        }
        sort_room<16>(keys_.data(), room);
    }

    // Cuts after each of the first n_cuts keys, where the code changes. The missing rows, if they go left, are the keys
    // from `missing` to `end`.
    void cut(std::uint32_t missing, std::uint32_t n_cuts, std::uint32_t end, bool missing_left) {
        std::fill_n(left_.begin(), totals_.weights.size(), 0u);
        Sums sums;
        for (std::uint32_t i = missing; missing_left && i < end; ++i) {
            move(i, sums);
        }
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            move(i, sums);
            weights_[i] = sums.weight;
            squares_left_[i] = sums.squares;
            products_[i] = sums.products;
        }
        const float top = near_scores(n_cuts);
        if (static_cast<double>(top) == kNoScore) {
            return;
        }
        found_.is_admissible = true;
        const float floor = floor_below(std::max({static_cast<double>(top), found_.best.score, to_beat_}));
        if (top < floor) {
            return;
        }
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (scores_[i] >= floor) {
                offer({weights_[i], squares_left_[i], products_[i]}, Candidate::order_of(code(i), missing_left));
            }
        }
    }

    // What goes left, as counts: their sum, the sum of L * L and the sum of T * L.
    struct Sums {
        std::uint32_t weight = 0;
        std::uint32_t squares = 0;
        std::uint32_t products = 0;
    };

    void move(std::uint32_t i, Sums& sums) {
        const std::uint32_t n = count(i);
        std::uint32_t& left = left_[slot(i)];
        sums.weight += n;
        sums.squares += n * (2 * left + n);
        sums.products += n * static_cast<std::uint32_t>(totals_.weights[slot(i)]);
        left += n;
    }

    void cut_off_missing(std::uint32_t n_present) {
        std::fill_n(left_.begin(), totals_.weights.size(), 0u);
        Sums sums;
        for (std::uint32_t i = 0; i < n_present; ++i) {
            move(i, sums);
        }
        if (sums.weight >= least_ && weight_ - sums.weight >= least_) {
            found_.is_admissible = true;
            offer(sums, Candidate::kPresentAgainstMissing);
        }
    }

    // Scores all cuts nearly, and returns the greatest score.
    float near_scores(std::uint32_t n_cuts) {
        constexpr float none = -std::numeric_limits<float>::infinity();
        Floats tops = Floats{} + none;
        for (std::uint32_t i = 0; i < n_cuts; i += kLanes) {
            const Keys left = vectors::load<Keys>(weights_.data() + i);
            const Keys right = weight_ - left;
            const Keys squares = vectors::load<Keys>(squares_left_.data() + i);
            const Keys squares_right = squares + squares_ - 2 * vectors::load<Keys>(products_.data() + i);
            const Floats near = to_floats(squares) / to_floats(left) + to_floats(squares_right) / to_floats(right);
            const Keys changes = vectors::load<Keys>(keys_.data() + i) ^ vectors::load<Keys>(keys_.data() + i + 1);
            const auto is_cut =
                (changes >> 16 != 0) & (vectors::kNumbers + i < n_cuts) & (left >= least_) & (right >= least_);
            const Floats scores = is_cut ? near : Floats{} + none;
            tops = scores > tops ? scores : tops;
            vectors::store(scores, scores_.data() + i);
        }
        return vectors::greatest<kLanes / 2>(tops);
    }

    // Counts and sums of squares are below 2^31.
    static Floats to_floats(Keys keys) {
        typedef std::int32_t Ints __attribute__((vector_size(sizeof(Keys))));
        return __builtin_convertvector(reinterpret_cast<const Ints&>(keys), Floats);
    }

    float floor_below(double score) const {
        return static_cast<float>(score - std::abs(score) * kNearness - static_cast<double>(weight_) * kNearness);
    }

    void offer(const Sums& left, std::uint64_t order) {
        const std::uint32_t right_weight = weight_ - left.weight;
        const std::uint32_t right_squares = left.squares + squares_ - 2 * left.products;
        const double score = static_cast<double>(left.squares) / static_cast<double>(left.weight) +
                             static_cast<double>(right_squares) / static_cast<double>(right_weight);
        const std::int64_t balance = std::int64_t{left.weight} - right_weight;
        found_.offer({score, 0.0, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    const ClassTotals& totals_;
    double to_beat_;
    std::uint32_t weight_;
    std::uint32_t squares_ = 0;
    std::uint32_t least_ = 1;
    FeatureCuts found_;
    std::array<std::uint32_t, kMostSlots> left_;  // by slot
    alignas(64) std::array<std::uint32_t, kMostSorted + 16> keys_;
    alignas(64) std::array<std::uint32_t, kMostSorted> weights_;
    alignas(64) std::array<std::uint32_t, kMostSorted> squares_left_;
    alignas(64) std::array<std::uint32_t, kMostSorted> products_;
    alignas(64) std::array<float, kMostSorted> scores_;
};

}  // namespace weald
