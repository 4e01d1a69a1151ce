// Scores of the cuts of one node: a criterion applied to the sums of the node and of its left side.
//
//   Limits            the minimum size and weight of both sides of a cut
//   TwoClassScorer    cells of two class counts
//   NumberScorer      cells of sums of targets
//   CountScorer       cells of sums of targets that are at least 0 (Poisson)
//
// `score` is the exact score of the contract. `near_score` and `bound` are fast approximations: a value of at least
// `floor_below(s)` may belong to an exact score of s. So they determine the cuts that need the exact score and the bins
// that must be searched.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "score/criteria.h"
#include "score/labels.h"

namespace weald {

struct Limits {
    std::int64_t min_size = 1;
    std::int64_t min_weight = 0;

    bool admit_all() const { return min_size <= 1 && min_weight <= 1; }
};

inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();
inline constexpr double kNearness = 0x1p-18;  // the error of a few float roundings, times eight

template <class Criterion>
class TwoClassScorer {
  public:
    using Cell = TwoClasses::Cell;
    using Bin = TwoClasses::Bin;
    using TieBreaker = typename Criterion::TieBreaker;
    using Near = float;

    TwoClassScorer() = default;
    // `scales` are the weights of the two classes.
    TwoClassScorer(Cell total, const std::array<std::uint64_t, 2>& scales, const Limits& limits)
        : total_(total), scales_(scales), limits_(limits) {
        const auto weight = static_cast<double>(weight_of(total));
        is_small_ = weight < kExactInDouble;
        slack_ = Criterion::magnitude(weight) * kNearness;
        for (std::size_t k = 0; k < 2; ++k) {
            near_scales_[k] = static_cast<float>(scales[k]);
        }
    }

    const Limits& limits() const { return limits_; }
    bool admits_all() const { return limits_.admit_all(); }
    // No cut can score more than this: both sides are pure. (Only if sums are exact can nothing exceed it by rounding.)
    double perfect() const {
        const auto weight0 = static_cast<double>(weight_of_class(total_, 0));
        const auto weight1 = static_cast<double>(weight_of_class(total_, 1));
        return is_small_ ? term<Criterion>(weight0, 0.0) + term<Criterion>(0.0, weight1)
                         : std::numeric_limits<double>::infinity();
    }
    double undivided() const { return term_of<Criterion>(total_); }
    // The score of the node if all of it were of one class.
    double pure() const {
        const std::array<std::uint64_t, 2> one{weight_of(total_), 0};
        return Criterion::term(ClassWeights<std::array<std::uint64_t, 2>>{one, one[0]});
    }
    std::int64_t mean() const { return 0; }
    static Spread spread() { return {}; }
    // The minimum of an approximate score or a bound that can be as good as a score.
    float floor_below(double score) const {
        // The tolerance is far larger than the rounding errors here.
        return static_cast<float>(score - std::abs(score) * kNearness - slack_);
    }

    bool is_admissible(Cell left) const {
        const auto left_size = static_cast<std::int64_t>(size_of(left));
        const auto right_size = static_cast<std::int64_t>(size_of(total_ - left));
        const auto left_weight = static_cast<std::int64_t>(weight_of(left));
        const auto right_weight = static_cast<std::int64_t>(weight_of(total_ - left));
        return (left_size >= limits_.min_size) & (right_size >= limits_.min_size) &
               (left_weight >= limits_.min_weight) & (right_weight >= limits_.min_weight);
    }
    double score(Cell left) const { return term_of<Criterion>(left) + term_of<Criterion>(total_ - left); }
    double tie_score(Cell left) const {
        if constexpr (std::is_void_v<TieBreaker>) {
            return 0.0;
        } else {
            return term_of<TieBreaker>(left) + term_of<TieBreaker>(total_ - left);
        }
    }
    // Weight of the left side minus that of the right.
    std::int64_t balance(Cell left) const {
        return static_cast<std::int64_t>(weight_of(left) - weight_of(total_ - left));
    }

    // For a cut that leaves rows on both sides.
    float near_score(Cell left) const {
        const Cell right = total_ - left;  // exact integers, here and in bounds: a few rows of many must not be lost
        return term<Criterion>(near_weight(left, 0), near_weight(left, 1)) +
               term<Criterion>(near_weight(right, 0), near_weight(right, 1));
    }
    // The same for counts of 16 bits.
    float near_score_of_counts(std::uint32_t left) const {
        const std::uint32_t left0 = left & 0xFFFFu;
        const std::uint32_t left1 = left >> 16;
        const std::uint32_t right0 = static_cast<std::uint32_t>(total_) - left0;
        const std::uint32_t right1 = static_cast<std::uint32_t>(total_ >> 32) - left1;
        const std::array<float, 2> left_weights{near_count(left0, 0), near_count(left1, 1)};
        const std::array<float, 2> right_weights{near_count(right0, 0), near_count(right1, 1)};
        if constexpr (requires { Criterion::near_terms(left_weights, right_weights); }) {
            return Criterion::near_terms(left_weights, right_weights);
        } else {
            return term<Criterion>(left_weights[0], left_weights[1]) +
                   term<Criterion>(right_weights[0], right_weights[1]);
        }
    }
    // The maximum score of a cut inside a bin. A score is convex in the counts, so its maximum is at a corner of the
    // box between the counts before and after the bin; two of the corners are the bin's own edges, which are scored
    // anyway.
    float bound(Cell before, const Bin& bin) const {
        const float one = corner(before + (bin & 0xFFFFFFFFu));
        const float other = corner(before + (bin & 0xFFFFFFFF00000000u));
        return one > other ? one : other;
    }
    // Whether a bin can contain a cut that is not one of its edges.
    static bool has_inside(const Bin& bin) { return size_of(bin) > 1; }

  private:
    static std::uint64_t count(Cell cell, std::size_t k) { return k == 0 ? cell & 0xFFFFFFFFu : cell >> 32; }
    static std::uint64_t size_of(Cell cell) { return count(cell, 0) + count(cell, 1); }
    std::uint64_t weight_of_class(Cell cell, std::size_t k) const { return count(cell, k) * scales_[k]; }
    std::uint64_t weight_of(Cell cell) const { return weight_of_class(cell, 0) + weight_of_class(cell, 1); }
    float near_count(std::uint32_t count, std::size_t k) const {
        return static_cast<float>(static_cast<std::int32_t>(count)) * near_scales_[k];  // counts are below 2^31
    }
    float near_weight(Cell cell, std::size_t k) const {
        return near_count(static_cast<std::uint32_t>(count(cell, k)), k);
    }

    template <class C, class Number>
    static auto term(Number weight0, Number weight1) {
        return C::term(ClassWeights<std::array<Number, 2>>{{weight0, weight1}, weight0 + weight1});
    }
    template <class C>
    double term_of(Cell cell) const {
        const std::uint64_t weight0 = weight_of_class(cell, 0);
        const std::uint64_t weight1 = weight_of_class(cell, 1);
        return is_small_ ? term<C>(static_cast<double>(weight0), static_cast<double>(weight1))
                         : term<C>(weight0, weight1);
    }
    float corner(Cell left) const { return near_term(left) + near_term(total_ - left); }
    // An empty side adds nothing.
    float near_term(Cell side) const {
        const float value = term<Criterion>(near_weight(side, 0), near_weight(side, 1));
        return side == 0 ? 0.0f : value;
    }

    Cell total_ = 0;
    std::array<std::uint64_t, 2> scales_{};
    Limits limits_;
    bool is_small_ = true;
    double slack_ = 0;
    std::array<float, 2> near_scales_{};
};

template <class Labels, class CriterionT>
class NumberScorer {
  public:
    using Criterion = CriterionT;
    using Cell = typename Labels::Cell;
    using Inside = typename Labels::Inside;
    using Number = typename Labels::Number;
    using Sum = typename Labels::Sum;
    using Near = typename Labels::Near;  // float, if squares of sums fit it

    NumberScorer() = default;
    NumberScorer(const Cell& total, const Limits& limits) : total_(total), limits_(limits) {
        Sum mean = total.sum / total.weight;
        mean -= mean * total.weight > total.sum;  // rounded down
        mean_ = static_cast<Number>(mean);
        about_mean_ = total.sum - static_cast<Sum>(mean_) * total.weight;
        spread_.mean = mean_;
    }

    const Limits& limits() const { return limits_; }
    bool admits_all() const { return limits_.admit_all(); }
    double undivided() const {
        return Criterion::term(static_cast<double>(about_mean_), static_cast<double>(total_.weight));
    }
    Number mean() const { return mean_; }
    const SpreadOf<Number>& spread() const { return spread_; }
    // This improves the bounds.
    void set_reach(double distance) { spread_.reach = distance; }
    Near floor_below(double score) const { return static_cast<Near>(score - std::abs(score) * kNearness); }

    bool is_admissible(const Cell& left) const {
        return (left.size() >= limits_.min_size) & (total_.size() - left.size() >= limits_.min_size) &
               (left.weight >= limits_.min_weight) & (total_.weight - left.weight >= limits_.min_weight);
    }
    double score(const Cell& left) const { return score_as<double>(left); }
    double tie_score(const Cell&) const { return 0.0; }
    Cell rest(const Cell& left) const { return total_ - left; }
    std::int64_t balance(const Cell& left) const { return 2 * left.weight - total_.weight; }

    Near near_score(const Cell& left) const { return score_as<Near>(left); }
    // A score is convex in (sum about the mean, weight), so inside a bin its maximum is at a corner of the box of the
    // bin: all that lies above the mean or all that lies below it, and the smallest or the largest weight. This allows
    // for few rows with large deviations. So squared error has another bound: the term of a set is at most the sum of
    // the terms of its parts, down to single rows, whose terms are squares.
    Near bound(const Cell& before, const Inside& bin) const {
        const Sum a = before.sum - static_cast<Sum>(mean_) * before.weight;
        const Sum inside = bin.cell.sum - static_cast<Sum>(mean_) * bin.cell.weight;
        const Sum low = a + inside - bin.above;
        const Sum high = a + bin.above;
        const std::int64_t least = before.weight + 1;
        const std::int64_t most = before.weight + bin.cell.weight - 1;
        const Near corners = std::max(std::max(score_as<Near>(low, least), score_as<Near>(high, least)),
                                      std::max(score_as<Near>(low, most), score_as<Near>(high, most)));
        if constexpr (kIsSquaredError<Criterion>) {
            const std::int64_t after = total_.weight - before.weight - bin.cell.weight;
            const Near parts = Criterion::term(to<Near>(a), to<Near>(before.weight + (before.weight == 0))) +
                               Criterion::term(to<Near>(about_mean_ - a - inside), to<Near>(after + (after == 0))) +
                               bin.squares;
            return std::min(corners, parts);
        } else {
            return corners;
        }
    }
    static bool has_inside(const Inside& bin) { return bin.cell.weight > 1; }

  private:
    // For a side with this sum about the node's mean and this weight, and the rest.
    template <class Float>
    Float score_as(Sum about_mean, std::int64_t weight) const {
        return Criterion::term(to<Float>(about_mean), to<Float>(weight)) +
               Criterion::term(to<Float>(about_mean_ - about_mean), to<Float>(total_.weight - weight));
    }
    template <class Float>
    Float score_as(const Cell& left) const {
        return score_as<Float>(left.sum - static_cast<Sum>(mean_) * left.weight, left.weight);
    }
    // Via double: the compiler can vectorize both steps, but not the conversion from 64 bits to float.
    template <class Float, class Integer>
    static Float to(Integer x) {
        return static_cast<Float>(static_cast<double>(x));
    }

    Cell total_{};
    Limits limits_;
    Number mean_ = 0;
    Sum about_mean_ = 0;
    SpreadOf<Number> spread_;
};

template <class Labels>
class CountScorer {
  public:
    using Criterion = Poisson;
    using Cell = typename Labels::Cell;
    using Inside = typename Labels::Inside;
    using Number = typename Labels::Number;
    using Sum = typename Labels::Sum;
    using Near = double;  // gains are small compared with scores

    CountScorer() = default;
    CountScorer(const Cell& total, const Limits& limits) : total_(total), limits_(limits) {
        spread_.mean = static_cast<Number>(total.sum / total.weight);
        slack_ = static_cast<double>(total.sum) * kNearness;
    }

    const Limits& limits() const { return limits_; }
    static bool admits_all() { return false; }
    double undivided() const { return term(total_.sum, total_.weight); }
    Number mean() const { return spread_.mean; }
    const SpreadOf<Number>& spread() const { return spread_; }
    void set_reach(double) {}
    Near floor_below(double score) const { return score - slack_; }

    bool is_admissible(const Cell& left) const {
        return (left.size() >= limits_.min_size) & (total_.size() - left.size() >= limits_.min_size) &
               (left.weight >= limits_.min_weight) & (total_.weight - left.weight >= limits_.min_weight) &
               (left.sum != 0) & (left.sum != total_.sum);
    }
    double score(const Cell& left) const { return score_of(left.sum, left.weight); }
    double tie_score(const Cell&) const { return 0.0; }
    std::int64_t balance(const Cell& left) const { return 2 * left.weight - total_.weight; }

    Near near_score(const Cell& left) const { return score(left); }
    // A score is convex in (sum, weight), so inside a bin its maximum is at a corner of the polygon of the sums and
    // weights that a part of the bin can have: the sum is between 0 and the bin's, and its distance from the mean
    // between what lies below the mean and what lies above it. Two corners are where these limits meet.
    Near bound(const Cell& before, const Inside& bin) const {
        const auto mean = static_cast<double>(spread_.mean);
        const auto all = static_cast<double>(bin.cell.sum);
        const auto weight = static_cast<double>(bin.cell.weight);
        const auto above = static_cast<double>(bin.above);
        const double below = above - (all - mean * weight);
        const double most = weight - 1;
        const double unit = mean > 1 ? mean : 1;
        const auto at = [&](double sum, double weight_inside) {
            return near_of(static_cast<double>(before.sum) + sum, static_cast<double>(before.weight) + weight_inside);
        };
        const auto least_sum = [&](double w) { return std::max(0.0, mean * w - below); };
        const auto most_sum = [&](double w) { return std::min(all, mean * w + above); };
        const double none = std::min(std::max(1.0, below / unit), most);
        const double full = std::min(std::max(1.0, (all - above) / unit), most);
        return std::max(std::max(std::max(at(least_sum(1), 1), at(most_sum(1), 1)),
                                 std::max(at(least_sum(most), most), at(most_sum(most), most))),
                        std::max(at(0.0, none), at(all, full)));
    }
    static bool has_inside(const Inside& bin) { return bin.cell.weight > 1; }

  private:
    static constexpr double kNearness = 0x1p-40;  // sums and logarithms are rounded: to 2^-46 of the sum, at most

    static double term(Sum sum, std::int64_t weight) {
        return Poisson::term(static_cast<double>(sum), static_cast<double>(weight));
    }
    double score_of(Sum sum, std::int64_t weight) const {
        return term(sum, weight) + term(total_.sum - sum, total_.weight - weight);
    }
    // Sums are rounded, so they may be a little below 0.
    double near_of(double sum, double weight) const {
        const double rest = static_cast<double>(total_.sum) - sum;
        return Poisson::term(sum > 1 ? sum : 0, weight) +
               Poisson::term(rest > 1 ? rest : 0, static_cast<double>(total_.weight) - weight);
    }

    Cell total_{};
    Limits limits_;
    SpreadOf<Number> spread_;
    double slack_ = 0;
};

}  // namespace weald
