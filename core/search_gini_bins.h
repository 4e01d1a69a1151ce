// The best cut of a node of many rows and more than two classes by one feature, scored by Gini.
//
// Rows are counted by bin and class. Where codes are few, each has a bin. Otherwise neighbours share one; edges of bins
// are scored, and only bins whose bound reaches the best cut so far are looked into, as in search_cells.h.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "candidate.h"
#include "gather.h"
#include "scores.h"
#include "sort_network.h"
#include "sort_radix.h"
#include "sweep.h"
#include "vectors.h"

namespace weald {

// Memory that the search uses again and again.
struct GiniBinScratch {
    std::vector<std::uint32_t> counts;  // by slot and bin, later left of the bins' upper edges; zero between searches
    std::vector<std::uint64_t> sorted;  // code << 32 | label
    std::vector<std::uint64_t> spare;
    std::vector<std::uint32_t> left;  // by slot, while a bin is looked into

    void reserve(std::size_t n) {
        if (sorted.size() < n) {
            sorted.resize(n);
            spare.resize(n);
        }
    }
};

class GiniBinSearch {
  public:
    static constexpr std::int64_t kMostDraws = std::int64_t{1} << 26;  // of a node: sums of squares are exact in double
    static constexpr std::uint32_t kMostBins = 512;

    struct Rows {
        const std::uint16_t* codes;
        const std::uint32_t* labels;  // slot << 16 | count
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: what is below it need not be found, only whether it
    // exists.
    GiniBinSearch(const ClassTotals& totals, const Limits& limits, GiniBinScratch& scratch, const Rows& rows,
                  double to_beat)
        : totals_(totals),
          scratch_(scratch),
          rows_(rows),
          to_beat_(to_beat),
          weight_(static_cast<double>(totals.weight)) {
        least_ = static_cast<double>(std::max<std::int64_t>({limits.min_size, limits.min_weight, 1}));
    }

    // Bins of very many classes would cost more than rows do.
    static bool is_for(std::size_t n_slots, std::uint32_t n_rows) {
        return most_bins(n_slots, n_rows) >= kMostBins / 8;
    }

    // Codes from low to high, none of them missing.
    FeatureCuts run(const CodeRange& range) {
        low_ = range.low;
        const std::uint32_t span = range.high - range.low;
        if (span == 0) {
            return found_;
        }
        const std::uint32_t most = most_bins(totals_.weights.size(), rows_.n);
        shift_ = span < most ? 0 : static_cast<int>(std::bit_width(span / most));
        n_bins_ = (span >> shift_) + 1;
        fill();
        add_up();
        cut_at_edges();
        if (shift_ != 0) {
            refine(range.high);
        }
        std::fill_n(scratch_.counts.begin(), totals_.weights.size() * stride_, 0u);
        return found_;
    }

  private:
    static std::uint32_t most_bins(std::size_t n_slots, std::uint32_t n_rows) {
        const std::size_t rows_a_bin = std::max<std::size_t>(4, n_slots / 4);
        return std::min(std::bit_floor(static_cast<std::uint32_t>(n_rows / rows_a_bin)), kMostBins);
    }

    std::uint32_t* counts_of(std::size_t slot) { return scratch_.counts.data() + slot * stride_; }

    void fill() {
        stride_ = (n_bins_ + vectors::kLanes - 1) / vectors::kLanes * vectors::kLanes;
        if (scratch_.counts.size() < totals_.weights.size() * stride_) {
            scratch_.counts.resize(totals_.weights.size() * stride_);
        }
        std::uint32_t* counts = scratch_.counts.data();
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const std::uint32_t bin = (rows_.codes[i] - low_) >> shift_;
            counts[(rows_.labels[i] >> 16) * stride_ + bin] += rows_.labels[i] & 0xFFFF;
        }
    }

    // What lies left of each edge: counts, their sum, and the sums of squares of both sides.
    void add_up() {
        std::fill_n(weights_.begin(), stride_, 0.0);
        std::fill_n(squares_.begin(), stride_, 0.0);
        std::fill_n(squares_right_.begin(), stride_, 0.0);
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            std::uint32_t* lefts = counts_of(slot);
            sum_along(lefts);
            const auto total = static_cast<double>(totals_.weights[slot]);
            for (std::size_t b = 0; b < stride_; ++b) {
                const double left = to_double(lefts[b]);
                const double right = total - left;
                weights_[b] += left;
                squares_[b] += left * left;
                squares_right_[b] += right * right;
            }
        }
    }

    void sum_along(std::uint32_t* counts) const {
        vectors::Keys before{};
        for (std::size_t b = 0; b < stride_; b += vectors::kLanes) {
            const auto sums = before + vectors::running_sums<1>(vectors::load<vectors::Keys>(counts + b));
            vectors::store(sums, counts + b);
            before = vectors::last_everywhere(sums);
        }
    }

    // Counts are below 2^26, and there are instructions for numbers with a sign.
    static double to_double(std::uint32_t count) { return static_cast<double>(static_cast<std::int32_t>(count)); }

    void cut_at_edges() {
        double top = kNoScore;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            const double right = weight_ - weights_[b];
            const double score = squares_[b] / weights_[b] + squares_right_[b] / right;
            const bool is_cut = (weights_[b] >= least_) & (right >= least_);
            scores_[b] = is_cut ? score : kNoScore;
            top = scores_[b] > top ? scores_[b] : top;
        }
        found_.is_admissible = top != kNoScore;
        for (std::uint32_t b = 0; b < n_bins_ && found_.is_admissible && top >= to_beat_; ++b) {
            // An empty bin has the edge of the bin before, which is the earlier candidate.
            if (scores_[b] == top) {
                offer(top, weights_[b], low_ + ((b + 1) << shift_) - 1);
            }
        }
    }

    void offer(double score, double left, std::uint32_t last_left) {
        const auto balance = static_cast<std::int64_t>(2 * left - weight_);
        found_.offer({score, 0.0, static_cast<std::uint64_t>(std::abs(balance)), Candidate::order_of(last_left, false),
                      balance >= 0});
    }

    // ---- Inside of bins

    void refine(std::uint32_t high) {
        // Without an admissible cut so far, one must be looked for everywhere: the feature counts if there is one.
        const double best = std::max(found_.best.score, to_beat_);
        const double floor = found_.is_admissible ? best * (1 - 0x1p-40) : kNoScore;
        bound_insides();
        std::array<bool, kMostBins> is_open;
        bool any = false;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            const double inside = weights_[b] - (b == 0 ? 0.0 : weights_[b - 1]);
            is_open[b] = (inside > 1) & (bounds_[b] >= floor) & (edges_[b] + inside >= floor);
            any |= is_open[b];
        }
        if (any) {
            look_into(is_open, high);
        }
    }

    // The most that a cut inside a bin can score. To a side of weight l and class shares p, rows x of weight w add
    //   a + (x.x - a w) / (l + w),   a = 2 p.x - p.p w,
    // where the second part is at most (1 + p.p) w w / (l + w). Each class of the bin goes where it adds the more.
    // And no rows add more than their weight, be it to an empty side.
    void bound_insides() {
        alignas(64) std::array<double, kMostBins> left_factors;
        alignas(64) std::array<double, kMostBins> right_factors;
        alignas(64) std::array<double, kMostBins> left_shares;
        alignas(64) std::array<double, kMostBins> right_shares;
        double left = 0;
        double squares = 0;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            const double right = weight_ - weights_[b];
            const double inside = weights_[b] - left;
            left_factors[b] = left == 0 ? 0.0 : 2 / left;
            right_factors[b] = right == 0 ? 0.0 : 2 / right;
            left_shares[b] = left == 0 ? -1.0 : squares / (left * left);
            right_shares[b] = right == 0 ? -1.0 : squares_right_[b] / (right * right);
            edges_[b] = (left == 0 ? 0.0 : squares / left) + (right == 0 ? 0.0 : squares_right_[b] / right);
            bounds_[b] = edges_[b] + inside * inside *
                                         ((1 + left_shares[b]) / (left + inside + (left + inside == 0)) +
                                          (1 + right_shares[b]) / (right + inside + (right + inside == 0)));
            left = weights_[b];
            squares = squares_[b];
        }
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            const std::uint32_t* lefts = counts_of(slot);
            const auto total = static_cast<double>(totals_.weights[slot]);
            double before = 0;
            for (std::uint32_t b = 0; b < n_bins_; ++b) {
                const double after = to_double(lefts[b]);
                const double to_left = before * left_factors[b] - left_shares[b];
                const double to_right = (total - after) * right_factors[b] - right_shares[b];
                bounds_[b] += (after - before) * (to_left > to_right ? to_left : to_right);
                before = after;
            }
        }
    }

    void look_into(const std::array<bool, kMostBins>& is_open, std::uint32_t high) {
        scratch_.reserve(rows_.n + 1);
        std::uint64_t* sorted = scratch_.sorted.data();
        std::uint32_t n = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            sorted[n] = std::uint64_t{rows_.codes[i]} << 32 | rows_.labels[i];
            n += is_open[(rows_.codes[i] - low_) >> shift_];
        }
        sort_open(n, high);
        sorted = scratch_.sorted.data();
        const auto bin_of = [&](std::uint32_t i) {
            return (static_cast<std::uint32_t>(sorted[i] >> 32) - low_) >> shift_;
        };
        for (std::uint32_t begin = 0; begin < n;) {
            const std::uint32_t b = bin_of(begin);
            std::uint32_t end = begin + 1;
            while (end < n && bin_of(end) == b) {
                ++end;
            }
            cut_inside(b, sorted + begin, end - begin);
            begin = end;
        }
    }

    void sort_open(std::uint32_t n, std::uint32_t high) {
        if (n > kMostSorted) {
            sort_by_code(scratch_.sorted, scratch_.spare, n, low_, high);
            return;
        }
        sort_few_by_code(scratch_.sorted.data(), n);
    }

    // Cuts after each code of a bin but the last. Sums of squares are kept up to date: (c + w)^2 = c^2 + w (2 c + w).
    void cut_inside(std::uint32_t b, const std::uint64_t* keys, std::uint32_t n) {
        scratch_.left.resize(totals_.weights.size());
        double weight = b == 0 ? 0.0 : weights_[b - 1];
        double squares = 0;
        double squares_right = 0;
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            scratch_.left[slot] = b == 0 ? 0 : counts_of(slot)[b - 1];
            const double left = to_double(scratch_.left[slot]);
            const double right = static_cast<double>(totals_.weights[slot]) - left;
            squares += left * left;
            squares_right += right * right;
        }
        for (std::uint32_t i = 0; i + 1 < n; ++i) {
            const auto slot = static_cast<std::uint32_t>(keys[i]) >> 16;
            const auto count = static_cast<double>(keys[i] & 0xFFFF);
            const double left = to_double(scratch_.left[slot]);
            const double right = static_cast<double>(totals_.weights[slot]) - left;
            squares += count * (2 * left + count);
            squares_right -= count * (2 * right - count);
            weight += count;
            scratch_.left[slot] += keys[i] & 0xFFFF;
            if (keys[i] >> 32 != keys[i + 1] >> 32) {
                consider(weight, squares, squares_right, static_cast<std::uint32_t>(keys[i] >> 32));
            }
        }
    }

    void consider(double left, double squares, double squares_right, std::uint32_t last_left) {
        const double right = weight_ - left;
        if (left < least_ || right < least_) {
            return;
        }
        found_.is_admissible = true;
        const double score = squares / left + squares_right / right;
        if (score >= std::max(found_.best.score, to_beat_)) {
            offer(score, left, last_left);
        }
    }

    const ClassTotals& totals_;
    GiniBinScratch& scratch_;
    Rows rows_;
    double to_beat_;
    double weight_;
    std::size_t stride_ = 0;  // room for the bins of a slot
    double least_ = 1;
    std::uint32_t low_ = 0;
    int shift_ = 0;
    std::uint32_t n_bins_ = 0;
    FeatureCuts found_;
    alignas(64) std::array<double, kMostBins> weights_;        // left of each edge
    alignas(64) std::array<double, kMostBins> squares_;        // left of it: sum of squares
    alignas(64) std::array<double, kMostBins> squares_right_;  // right of it
    alignas(64) std::array<double, kMostBins> scores_;
    alignas(64) std::array<double, kMostBins> edges_;   // the terms of what lies before a bin and behind it
    alignas(64) std::array<double, kMostBins> bounds_;  // of cuts inside
};

}  // namespace weald
