// The out-of-bag error after each tree.
//
//   KnownTargets the targets of some rows, and their weights
//   ErrorCurve   the errors after each tree, summed as integers: neither threads nor the order of rows can matter
//
// A misclassified row has the error 1. The error of a number is rint(d * d), with d the
// difference times 2^shift, which leaves d below 2^30.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "coding/codes.h"
#include "coding/target.h"
#include "score/criteria.h"

namespace weald {

struct KnownTargets {
    std::vector<std::int32_t> classes;  // by row; empty: regression
    std::vector<double> numbers;        // indexed by row
    std::vector<std::uint64_t> line;    // by row: length on the line; empty: all one
    int shift = 0;

    // For the rows at these ranks; empty: for all rows of the table. Votes were scaled by 2^-room, so that sums of very
    // large numbers stay finite.
    KnownTargets(const Codes& codes, int room, std::span<const std::uint32_t> ranks = {}) {
        const auto put_in_place = [&](const auto& by_rank, auto& by_row) {
            by_row.resize(by_rank.empty() || ranks.empty() ? by_rank.size() : ranks.size());
            for (std::size_t i = 0; i < by_row.size(); ++i) {
                if (ranks.empty()) {
                    by_row[codes.positions[i]] = by_rank[i];
                } else {
                    by_row[i] = by_rank[ranks[i]];
                }
            }
        };
        put_in_place(codes.classes, classes);
        put_in_place(codes.numbers, numbers);
        put_in_place(codes.line, line);
        if (!codes.numbers.empty()) {
            const auto [low, high] = std::minmax_element(codes.numbers.begin(), codes.numbers.end());
            const double center = *low / 2 + *high / 2;
            const double reach = std::max(*high - center, center - *low);
            shift = reach == 0 ? 0 : 29 - frexp_exponent(reach);
            to_what_is_said_ = PowerOfTwo(-room);
            to_units_ = PowerOfTwo(shift + room);
        }
    }

    std::uint64_t weight(std::size_t row) const { return line.empty() ? 1 : line[row]; }

    // The error of a row for which n trees have votes with these sums.
    std::uint64_t error(std::size_t row, std::span<const double> sums, std::uint32_t n) const {
        if (n == 0) {
            return 0;
        }
        if (!classes.empty()) {
            const auto predicted = std::max_element(sums.begin(), sums.end()) - sums.begin();  // ties: the first class
            return predicted != classes[row];
        }
        constexpr double kMost = 1 << 30;
        const double difference = to_what_is_said_.times(numbers[row]) - sums[0] / static_cast<double>(n);
        const double d = std::min(std::abs(to_units_.times(difference)), kMost);
        return static_cast<std::uint64_t>(std::rint(d * d));
    }

  private:
    PowerOfTwo to_what_is_said_{0};
    PowerOfTwo to_units_{0};
};

class ErrorCurve {
  public:
    // Rows are counted from the first row with a known truth.
    ErrorCurve(const KnownTargets& truth, std::size_t n_trees) : truth_(&truth), errors_(n_trees), seen_(n_trees) {}

    // Some rows on their way through some trees. Each row is reported after each tree that votes for it.
    class Part {
      public:
        Part(const KnownTargets& truth, std::size_t first_row, std::span<const double> sums,
             std::span<const std::uint32_t> n_trees)
            : truth_(&truth), first_row_(first_row), width_(sums.size() / n_trees.size()), error_(n_trees.size()) {
            for (std::size_t i = 0; i < n_trees.size(); ++i) {
                error_[i] = truth.error(first_row + i, sums.subspan(i * width_, width_), n_trees[i]);
                total_ += static_cast<Int128>(error_[i]) * truth.weight(first_row + i);
                seen_ += n_trees[i] > 0 ? truth.weight(first_row + i) : 0;
            }
        }
        void tell(std::size_t i, const double* sums, std::uint32_t n_trees) {
            const std::uint64_t weight = truth_->weight(first_row_ + i);
            const std::uint64_t error = truth_->error(first_row_ + i, {sums, width_}, n_trees);
            total_ += (static_cast<Int128>(error) - static_cast<Int128>(error_[i])) * weight;
            error_[i] = error;
            seen_ += n_trees == 1 ? weight : 0;
        }
        void end_tree() {
            totals_.push_back(total_);
            seen_after_.push_back(seen_);
        }

      private:
        friend class ErrorCurve;
        const KnownTargets* truth_;
        std::size_t first_row_;
        std::size_t width_;
        std::vector<std::uint64_t> error_;  // current error of each row
        Int128 total_ = 0;
        std::uint64_t seen_ = 0;
        std::vector<Int128> totals_;
        std::vector<std::uint64_t> seen_after_;
    };

    Part begin(std::size_t first_row, std::span<const double> sums, std::span<const std::uint32_t> n_trees) const {
        return {*truth_, first_row, sums, n_trees};
    }
    void add(const Part& part, std::size_t first_tree) {
        const std::scoped_lock lock(mutex_);
        for (std::size_t t = 0; t < part.totals_.size(); ++t) {
            errors_[first_tree + t] += part.totals_[t];
            seen_[first_tree + t] += part.seen_after_[t];
        }
    }

    // The weighted mean error after each tree; NaN if no row has been out-of-bag.
    std::vector<double> errors() const {
        std::vector<double> means(errors_.size());
        std::transform(errors_.begin(), errors_.end(), seen_.begin(), means.begin(), [&](Int128 e, std::uint64_t w) {
            return w == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : ldexp_within(static_cast<double>(e) / static_cast<double>(w), -2 * truth_->shift);
        });
        return means;
    }
    // The fraction of the rows, by weight, that have been out-of-bag after each tree.
    std::vector<double> shares(std::uint64_t line_length) const {
        std::vector<double> found(seen_.size());
        std::transform(seen_.begin(), seen_.end(), found.begin(),
                       [&](std::uint64_t w) { return static_cast<double>(w) / static_cast<double>(line_length); });
        return found;
    }

    // Computes both from the sums of errors and of the weights of their rows.
    const std::vector<Int128>& totals() const { return errors_; }
    const std::vector<std::uint64_t>& seen() const { return seen_; }

  private:
    const KnownTargets* truth_;
    std::mutex mutex_;
    std::vector<Int128> errors_;
    std::vector<std::uint64_t> seen_;
};

}  // namespace weald
