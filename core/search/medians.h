// Sums of absolute deviations from the median, of sets that lose one row after the other.
//
//   RankedNumber     a target and its weight; a node's rows are ranked by target
//   DeviationSum     of all rows: their weight, their sum, and the same up to the median
//   LinkedMedian     a linked list with a pointer to the median: an erased row moves it by few places
//   SummedMedian     a binary indexed tree: every row takes the same time, whatever the weights
//
// With m the smallest target up to which at least half of the weight lies, the sum of w * |q - m| is
// S - 2 * S(<= m) + m * (2 * w(<= m) - w): an exact integer. It is the same for every median.

#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weald {

template <class Number>
struct RankedNumber {
    Number q = 0;
    std::int64_t weight = 0;
};

template <class Sum>
struct DeviationSum {
    std::int64_t weight = 0;
    Sum sum = 0;
    std::uint32_t median = 0;       // rank of the target, from 1
    std::int64_t weight_below = 0;  // up to the median
    Sum sum_below = 0;

    template <class Number>
    Sum deviations(const Number& median_q) const {
        return sum - 2 * sum_below + static_cast<Sum>(median_q) * (2 * weight_below - weight);
    }
};

// Ranks are from 1; entry 0 of `rows` is empty.
template <class Number, class Sum>
class LinkedMedian {
  public:
    using Rows = std::vector<RankedNumber<Number>>;

    void begin(const Rows& rows, std::uint32_t n, const DeviationSum<Sum>& all) {
        rows_ = rows.data();
        at_ = all;
        next_.resize(n + 2);
        previous_.resize(n + 2);
        std::iota(next_.begin(), next_.end(), 1u);
        std::iota(previous_.begin() + 1, previous_.end(), 0u);
        n_moves_left_ = std::uint64_t{16} * n + 64;
    }
    // Returns false if the median moved too often, because weights are very uneven. The sums are then invalid.
    bool erase(std::uint32_t rank) {
        const RankedNumber<Number>& row = rows_[rank];
        at_.weight -= row.weight;
        at_.sum -= part(row);
        if (rank <= at_.median) {
            at_.weight_below -= row.weight;
            at_.sum_below -= part(row);
        }
        if (rank == at_.median) {
            at_.median = previous_[rank];
        }
        next_[previous_[rank]] = next_[rank];
        previous_[next_[rank]] = previous_[rank];
        while (2 * at_.weight_below < at_.weight) {
            at_.median = next_[at_.median];
            at_.weight_below += rows_[at_.median].weight;
            at_.sum_below += part(rows_[at_.median]);
            --n_moves_left_;
        }
        while (at_.median != 0 && 2 * (at_.weight_below - rows_[at_.median].weight) >= at_.weight) {
            at_.weight_below -= rows_[at_.median].weight;
            at_.sum_below -= part(rows_[at_.median]);
            at_.median = previous_[at_.median];
            --n_moves_left_;
        }
        return static_cast<std::int64_t>(n_moves_left_) >= 0;
    }
    Sum deviations() const { return at_.deviations(rows_[at_.median].q); }

  private:
    static Sum part(const RankedNumber<Number>& row) { return static_cast<Sum>(row.q) * row.weight; }

    const RankedNumber<Number>* rows_ = nullptr;
    DeviationSum<Sum> at_;
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> previous_;
    std::uint64_t n_moves_left_ = 0;
};

template <class Number, class Sum>
class SummedMedian {
  public:
    using Rows = std::vector<RankedNumber<Number>>;

    void begin(const Rows& rows, std::uint32_t n, const DeviationSum<Sum>& all) {
        rows_ = rows.data();
        n_ = n;
        at_ = all;
        weights_.assign(n + 1, 0);
        sums_.assign(n + 1, 0);
        for (std::uint32_t i = 1; i <= n; ++i) {
            weights_[i] += rows[i].weight;
            sums_[i] += static_cast<Sum>(rows[i].q) * rows[i].weight;
            const std::uint32_t above = i + (i & (~i + 1));
            if (above <= n) {
                weights_[above] += weights_[i];
                sums_[above] += sums_[i];
            }
        }
    }
    bool erase(std::uint32_t rank) {
        const RankedNumber<Number>& row = rows_[rank];
        const Sum part = static_cast<Sum>(row.q) * row.weight;
        at_.weight -= row.weight;
        at_.sum -= part;
        for (std::uint32_t i = rank; i <= n_; i += i & (~i + 1)) {
            weights_[i] -= row.weight;
            sums_[i] -= part;
        }
        return true;
    }
    Sum deviations() const {
        DeviationSum<Sum> at = at_;
        at.weight_below = 0;
        at.sum_below = 0;
        std::uint32_t before = 0;  // largest number of ranks with less than half of the weight
        for (std::uint32_t step = std::bit_floor(n_); step != 0; step /= 2) {
            const std::uint32_t next = before + step;
            if (next <= n_ && 2 * (at.weight_below + weights_[next]) < at.weight) {
                before = next;
                at.weight_below += weights_[next];
                at.sum_below += sums_[next];
            }
        }
        // The median is the next remaining rank. Its own contribution cancels: m * w - m * w.
        return at.deviations(rows_[before + 1].q);
    }

  private:
    const RankedNumber<Number>* rows_ = nullptr;
    std::uint32_t n_ = 0;
    DeviationSum<Sum> at_;
    std::vector<std::int64_t> weights_;
    std::vector<Sum> sums_;
};

}  // namespace weald
