// Scores of all bins of a feature with many classes: approximate scores of their edges, and bounds of the cuts inside
// (docs/how-it-works/bounds.md).
//
//   BinCounts   counts left of each edge
//   BinScores   of a criterion with a bound that takes one step per class and bin
//
// Edge b lies before bin b, and the last edge after the last bin. If an edge leaves a side empty, its score is
// undefined. An approximate score of at least floor_below(s) may belong to an exact score of at least s.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "score/criteria.h"
#include "search/sweep.h"

namespace weald {

struct BinCounts {
    static constexpr std::uint32_t kMostBins = 512;

    const ClassTotals& totals;
    const std::uint32_t* counts;   // indexed by slot and edge
    std::size_t stride;            // from slot to slot
    const std::uint32_t* weights;  // weights of all classes, by edge
    std::size_t n_bins;

    const std::uint32_t* of(std::size_t slot) const { return counts + slot * stride; }
    std::size_t n_slots() const { return totals.weights.size(); }

    // Counts are below 2^26, and there are instructions for signed integers.
    template <class Real>
    static Real to_real(std::uint32_t count) {
        return static_cast<Real>(static_cast<std::int32_t>(count));
    }
};

template <class Criterion>
class BinScores;

template <class Criterion>
inline constexpr bool kHasBinScores = requires { BinScores<Criterion>::kMostDraws; };

// Edges are scored exactly. To a side of weight l and class shares p, rows x of weight w add
//   a + (x.x - a w) / (l + w),   a = 2 p.x - p.p w,
// where the second part is at most (1 + p.p) w w / (l + w). Each class of a bin goes where it adds the more. And no
// rows add more than their weight, be it to an empty side.
template <>
class BinScores<Gini> {
  public:
    static constexpr std::int64_t kMostDraws = std::int64_t{1}
                                               << 26;  // draws in a node: sums of squares are exact in double

    BinScores(const BinCounts& bins, bool has_insides) : weight_(static_cast<double>(bins.totals.weight)) {
        add_squares(bins);
        for (std::size_t e = 0; e <= bins.n_bins; ++e) {
            const auto left = BinCounts::to_real<double>(bins.weights[e]);
            scores_[e] = squares_[e] / left + squares_right_[e] / (weight_ - left);
        }
        if (has_insides) {
            begin_bounds(bins);
            add_to_bounds(bins);
        }
    }
    double edge(std::size_t e) const { return scores_[e]; }
    double bound(std::size_t b) const { return std::min(bounds_[b], simple_bounds_[b]); }
    // The margin is far larger than the rounding errors of a sum over all classes.
    double floor_below(double score) const { return score - weight_ * 0x1p-34; }

  private:
    using OfBins = std::array<double, BinCounts::kMostBins>;
    using OfEdges = std::array<double, BinCounts::kMostBins + 1>;

    void add_squares(const BinCounts& bins) {
        std::fill_n(squares_.begin(), bins.n_bins + 1, 0.0);
        std::fill_n(squares_right_.begin(), bins.n_bins + 1, 0.0);
        for (std::size_t slot = 0; slot < bins.n_slots(); ++slot) {
            const std::uint32_t* lefts = bins.of(slot);
            const auto total = static_cast<double>(bins.totals.weights[slot]);
            for (std::size_t e = 0; e <= bins.n_bins; ++e) {
                const auto left = BinCounts::to_real<double>(lefts[e]);
                const double right = total - left;
                squares_[e] += left * left;
                squares_right_[e] += right * right;
            }
        }
    }

    void begin_bounds(const BinCounts& bins) {
        for (std::size_t b = 0; b < bins.n_bins; ++b) {
            const auto left = BinCounts::to_real<double>(bins.weights[b]);
            const double right = weight_ - BinCounts::to_real<double>(bins.weights[b + 1]);
            const double inside = weight_ - left - right;
            const double left_share = 1 / left;
            const double right_share = 1 / right;
            left_factors_[b] = left == 0 ? 0.0 : 2 * left_share;
            right_factors_[b] = right == 0 ? 0.0 : 2 * right_share;
            const double left_term = left == 0 ? 0.0 : squares_[b] * left_share;
            const double right_term = right == 0 ? 0.0 : squares_right_[b + 1] * right_share;
            left_shares_[b] = left == 0 ? -1.0 : left_term * left_share;
            right_shares_[b] = right == 0 ? -1.0 : right_term * right_share;
            const double left_curvature = (1 + left_shares_[b]) / (weight_ - right);
            const double right_curvature = (1 + right_shares_[b]) / (weight_ - left);
            simple_bounds_[b] = left_term + right_term + inside;
            bounds_[b] = left_term + right_term +
                         inside * inside * ((left == 0 ? 0.0 : left_curvature) + (right == 0 ? 0.0 : right_curvature));
        }
    }

    void add_to_bounds(const BinCounts& bins) {
        for (std::size_t slot = 0; slot < bins.n_slots(); ++slot) {
            const std::uint32_t* lefts = bins.of(slot);
            const auto total = static_cast<double>(bins.totals.weights[slot]);
            for (std::size_t b = 0; b < bins.n_bins; ++b) {
                const auto before = BinCounts::to_real<double>(lefts[b]);
                const auto after = BinCounts::to_real<double>(lefts[b + 1]);
                const double to_left = before * left_factors_[b] - left_shares_[b];
                const double to_right = (total - after) * right_factors_[b] - right_shares_[b];
                bounds_[b] += (after - before) * (to_left > to_right ? to_left : to_right);
            }
        }
    }

    double weight_;
    alignas(64) OfEdges squares_;        // left of each edge: sum of squares
    alignas(64) OfEdges squares_right_;  // right of it
    alignas(64) OfEdges scores_;
    alignas(64) OfBins bounds_;
    alignas(64) OfBins simple_bounds_;
    alignas(64) OfBins left_factors_;
    alignas(64) OfBins right_factors_;
    alignas(64) OfBins left_shares_;
    alignas(64) OfBins right_shares_;
};

// A side with the counts l of classes, |l| in all, has the term t(l) = sum of l_k log2(l_k / |l|). It is convex, and
// its slope along class k is log2(l_k / |l|). So rows x that join a side add no more than x times the slopes at the
// end:
//   t(l + x) <= t(l) + sum of x_k log2((l_k + x_k) / |l + x|).
// With b_k rows of the class in the bin, that logarithm is at most log2((l_k + b_k) / |l|), and never above 0. Each
// class of a bin goes where it loses the less.
template <>
class BinScores<Entropy> {
  public:
    static constexpr std::int64_t kMostDraws = std::int64_t{1} << 24;  // draws in a node: counts are exact in float

    BinScores(const BinCounts& bins, bool has_insides) : slack_(slack_of(bins)) {
        begin(bins);
        for (std::size_t slot = 0; slot < bins.n_slots(); ++slot) {
            add_class(bins.of(slot), static_cast<float>(bins.totals.weights[slot]), bins.n_bins);
            if (has_insides) {
                add_inside(bins.of(slot), bins.n_bins);
            }
        }
    }
    double edge(std::size_t e) const { return lefts_[e] + rights_[e]; }
    double bound(std::size_t b) const { return lefts_[b] + rights_[b + 1] + insides_[b]; }
    double floor_below(double score) const { return score - slack_; }

  private:
    using OfBins = std::array<float, BinCounts::kMostBins>;
    using OfEdges = std::array<float, BinCounts::kMostBins + 1>;

    // A fraction and its logarithm have a joint error of 2^-20, and a sum over K classes of a side of weight w, which
    // is at most w log2(K), is rounded K times.
    static double slack_of(const BinCounts& bins) {
        const auto n_slots = static_cast<double>(bins.n_slots());
        return static_cast<double>(bins.totals.weight) * (0x1p-18 + n_slots * log2_of(n_slots) * 0x1p-22);
    }

    void begin(const BinCounts& bins) {
        const auto weight = static_cast<float>(bins.totals.weight);
        for (std::size_t e = 0; e <= bins.n_bins; ++e) {
            const auto left = BinCounts::to_real<float>(bins.weights[e]);
            const float right = weight - left;
            left_factors_[e] = left == 0 ? 0.0f : 1 / left;
            right_factors_[e] = right == 0 ? 0.0f : 1 / right;
        }
        for (std::size_t b = 0; b < bins.n_bins; ++b) {
            const auto before = BinCounts::to_real<float>(bins.weights[b]);
            const auto left = BinCounts::to_real<float>(bins.weights[b + 1]);
            const float left_growth = log2_of(left * left_factors_[b]);
            const float right_growth = log2_of((weight - before) * right_factors_[b + 1]);
            left_growth_[b] = before == 0 ? kSteep : left_growth;
            right_growth_[b] = left == weight ? kSteep : right_growth;
        }
        std::fill_n(lefts_.begin(), bins.n_bins + 1, 0.0f);
        std::fill_n(rights_.begin(), bins.n_bins + 1, 0.0f);
        std::fill_n(insides_.begin(), bins.n_bins, 0.0f);
    }

    void add_class(const std::uint32_t* counts, float total, std::size_t n_bins) {
        for (std::size_t e = 0; e <= n_bins; ++e) {
            const auto left = BinCounts::to_real<float>(counts[e]);
            const float right = total - left;
            left_slopes_[e] = log2_of(left * left_factors_[e]);
            right_slopes_[e] = log2_of(right * right_factors_[e]);
            lefts_[e] += left * left_slopes_[e];
            rights_[e] += right * right_slopes_[e];
        }
    }

    void add_inside(const std::uint32_t* counts, std::size_t n_bins) {
        for (std::size_t b = 0; b < n_bins; ++b) {
            const float to_left = left_slopes_[b + 1] + left_growth_[b];
            const float to_right = right_slopes_[b] + right_growth_[b];
            const float slope = to_left > to_right ? to_left : to_right;
            insides_[b] += BinCounts::to_real<float>(counts[b + 1] - counts[b]) * (slope < 0 ? slope : 0.0f);
        }
    }

    static constexpr float kSteep = 1000;  // more than any logarithm: empty sides lose nothing

    double slack_;
    alignas(64) OfEdges lefts_;   // terms of the left side of each edge
    alignas(64) OfEdges rights_;  // and right of it
    alignas(64) OfBins insides_;  // upper bound of what a cut inside adds to the terms of what lies around the bin
    alignas(64) OfEdges left_factors_;
    alignas(64) OfEdges right_factors_;
    alignas(64) OfBins left_growth_;    // logarithm of the growth of the left side over the bin
    alignas(64) OfBins right_growth_;   // logarithm of the growth of the right side over the bin
    alignas(64) OfEdges left_slopes_;   // slopes of a class, left of each edge
    alignas(64) OfEdges right_slopes_;  // right of it
};

}  // namespace weald
