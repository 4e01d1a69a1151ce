// Scores of the cuts of one node: a criterion applied to what a node holds and what goes left.
//
//   Limits            what both sides of a cut must have
//   TwoClassScorer    cells of two class counts
//   NumberScorer      cells of sums of targets
//
// `score` is what the contract defines wherever `is_exact()`; otherwise it is within `slack` of it, and `exact_score`
// is asked about those that come near the best.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "criteria.h"
#include "labels.h"

namespace weald {

struct Limits {
    std::int64_t min_size = 1;
    std::int64_t min_weight = 0;
};

inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

template <class Criterion>
class TwoClassScorer {
  public:
    using Cell = TwoClasses::Cell;
    using Bin = TwoClasses::Bin;
    using TieBreaker = typename Criterion::TieBreaker;

    // `scales` weigh the counts of the two classes.
    TwoClassScorer(Cell total, const std::array<std::uint64_t, 2>& scales, const Limits& limits)
        : total_(total), scales_(scales), limits_(limits) {
        scale0_ = static_cast<double>(scales[0]);
        scale1_ = static_cast<double>(scales[1]);
        total0_ = count0(total) * scale0_;
        total1_ = count1(total) * scale1_;
        weight_ = total0_ + total1_;
        slack_ = is_exact() ? 0.0 : weight_ * 0x1p-40;
    }

    bool is_exact() const { return weight_ < kExactInDouble; }
    // No cut can score more than this: both sides are pure. (Only where sums are exact can nothing exceed it by
    // rounding.)
    double perfect() const {
        return is_exact() ? term<Criterion>(total0_, 0.0) + term<Criterion>(0.0, total1_)
                          : std::numeric_limits<double>::infinity();
    }
    double undivided() const { return exact_term<Criterion>(total_); }
    std::int64_t mean() const { return 0; }
    double slack(double score) const { return std::abs(score) * 0x1p-40 + slack_; }

    bool is_admissible(Cell left) const {
        const auto left_size = static_cast<std::int64_t>((left & 0xFFFFFFFFu) + (left >> 32));
        const auto total_size = static_cast<std::int64_t>((total_ & 0xFFFFFFFFu) + (total_ >> 32));
        const double left_weight = count0(left) * scale0_ + count1(left) * scale1_;
        const auto min_weight = static_cast<double>(limits_.min_weight);
        return (left_size >= limits_.min_size) & (total_size - left_size >= limits_.min_size) &
               (left_weight >= min_weight) & (weight_ - left_weight >= min_weight);
    }
    double score(Cell left) const { return score_at<Criterion>(count0(left) * scale0_, count1(left) * scale1_); }
    double exact_score(Cell left) const { return is_exact() ? score(left) : exact<Criterion>(left); }
    double tie_score(Cell left) const {
        if constexpr (std::is_void_v<TieBreaker>) {
            return 0.0;
        } else {
            return exact<TieBreaker>(left);
        }
    }
    // Weight of the left side less that of the right.
    std::int64_t balance(Cell left) const {
        return static_cast<std::int64_t>(weight_of(left) - weight_of(total_ - left));
    }
    std::uint64_t weight_of(Cell cell) const { return (cell & 0xFFFFFFFFu) * scales_[0] + (cell >> 32) * scales_[1]; }

    // The most that a cut inside a bin can score. A score is convex in the counts, so it is greatest at a corner of the
    // box between the counts before and after the bin; two of the corners are the bin's own edges, which are scored
    // anyway.
    double bound(Cell before, const Bin& bin) const {
        const double l0 = count0(before) * scale0_;
        const double l1 = count1(before) * scale1_;
        const double b0 = count0(bin) * scale0_;
        const double b1 = count1(bin) * scale1_;
        return std::max(corner(l0 + b0, l1), corner(l0, l1 + b1));
    }
    // Whether a bin can hold a cut that its edges are not.
    static bool has_inside(const Bin& bin) { return (bin & 0xFFFFFFFFu) + (bin >> 32) > 1; }

  private:
    static double count0(Cell cell) { return static_cast<double>(static_cast<std::uint32_t>(cell)); }
    static double count1(Cell cell) { return static_cast<double>(static_cast<std::uint32_t>(cell >> 32)); }

    template <class C>
    static double term(double weight0, double weight1) {
        const std::array<double, 2> weights{weight0, weight1};
        // An empty side has no score, and is_admissible says so.
        return C::template term<double>({weights, weight0 + weight1});
    }
    template <class C>
    double score_at(double left0, double left1) const {
        return term<C>(left0, left1) + term<C>(total0_ - left0, total1_ - left1);
    }
    static double term_or_none(double weight0, double weight1) {
        const double value = term<Criterion>(weight0, weight1);
        return weight0 + weight1 == 0.0 ? 0.0 : value;
    }
    double corner(double left0, double left1) const {
        return term_or_none(left0, left1) + term_or_none(total0_ - left0, total1_ - left1);
    }
    template <class C>
    double exact_term(Cell cell) const {
        const std::array<std::uint64_t, 2> weights{(cell & 0xFFFFFFFFu) * scales_[0], (cell >> 32) * scales_[1]};
        return C::template term<std::uint64_t>({weights, weights[0] + weights[1]});
    }
    template <class C>
    double exact(Cell left) const {
        return exact_term<C>(left) + exact_term<C>(total_ - left);
    }

    Cell total_;
    std::array<std::uint64_t, 2> scales_;
    Limits limits_;
    double scale0_, scale1_;
    double total0_, total1_;
    double weight_;
    double slack_;
};

template <class Labels, class Criterion>
class NumberScorer {
  public:
    using Cell = typename Labels::Cell;
    using Bin = typename Labels::Bin;
    using Sum = typename Labels::Sum;

    NumberScorer(const Cell& total, const Limits& limits) : total_(total), limits_(limits) {
        Sum mean = total.sum / total.weight;
        mean -= mean * total.weight > total.sum;  // rounded down
        mean_ = static_cast<std::int64_t>(mean);
        about_mean_ = total.sum - static_cast<Sum>(mean_) * total.weight;
    }

    bool is_exact() const { return true; }
    double perfect() const { return std::numeric_limits<double>::infinity(); }
    double undivided() const { return Criterion::term(static_cast<double>(about_mean_), to_double(total_.weight)); }
    std::int64_t mean() const { return mean_; }
    double slack(double score) const { return std::abs(score) * 0x1p-40; }

    bool is_admissible(const Cell& left) const {
        return (left.size() >= limits_.min_size) & (total_.size() - left.size() >= limits_.min_size) &
               (left.weight >= limits_.min_weight) & (total_.weight - left.weight >= limits_.min_weight);
    }
    double score(const Cell& left) const {
        const Sum a = left.sum - static_cast<Sum>(mean_) * left.weight;
        return Criterion::term(static_cast<double>(a), to_double(left.weight)) +
               Criterion::term(static_cast<double>(about_mean_ - a), to_double(total_.weight - left.weight));
    }
    double exact_score(const Cell& left) const { return score(left); }
    double tie_score(const Cell&) const { return 0.0; }
    std::int64_t balance(const Cell& left) const { return 2 * left.weight - total_.weight; }

    // A score is convex in (sum about the mean, weight), so inside a bin it is greatest at a corner of the box that the
    // bin spans: all that lies above the mean or all that lies below it, and the least or the greatest weight.
    double bound(const Cell& before, const Bin& bin) const {
        const Sum a = before.sum - static_cast<Sum>(mean_) * before.weight;
        const Sum inside = bin.cell.sum - static_cast<Sum>(mean_) * bin.cell.weight;
        const double low = static_cast<double>(a + inside - bin.above);
        const double high = static_cast<double>(a + bin.above);
        const double least = to_double(before.weight + 1);
        const double most = to_double(before.weight + bin.cell.weight - 1);
        return std::max(std::max(corner(low, least), corner(high, least)),
                        std::max(corner(low, most), corner(high, most)));
    }
    static bool has_inside(const Bin& bin) { return bin.cell.weight > 1; }

  private:
    static double to_double(std::int64_t weight) { return static_cast<double>(weight); }
    double corner(double a, double weight) const {
        return Criterion::term(a, weight) +
               Criterion::term(static_cast<double>(about_mean_) - a, to_double(total_.weight) - weight);
    }

    Cell total_;
    Limits limits_;
    std::int64_t mean_;
    Sum about_mean_;
};

}  // namespace weald
