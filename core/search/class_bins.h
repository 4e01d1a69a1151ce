// The best cut of a node of many rows and more than two classes by one feature.
//
// Rows are counted by bin and class. If codes are few, each has a bin. Otherwise adjacent codes share one; edges of
// bins are scored, and only bins whose bound reaches the best cut so far are searched, as in search/cells.h.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/sort_network.h"
#include "base/sort_radix.h"
#include "base/vectors.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"
#include "search/bin_scores.h"
#include "search/sweep.h"

namespace weald {

// Memory that the search reuses.
struct ClassBinScratch {
    std::vector<std::uint32_t> counts;  // by slot and bin, later left of the bins' edges; zero between searches
    std::vector<std::uint64_t> sorted;  // code << 32 | label
    std::vector<std::uint64_t> spare;
    SweepScratch sweep;

    void reserve(std::size_t n) {
        if (sorted.size() < n) {
            sorted.resize(n);
            spare.resize(n);
        }
    }
};

template <class Criterion>
class ClassBinSearch {
  public:
    static constexpr std::uint32_t kMostBins = BinCounts::kMostBins;

    struct Rows {
        const std::uint16_t* codes;
        const std::uint32_t* labels;  // slot << 16 | count
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: cuts below it need not be found, only whether one exists.
    ClassBinSearch(const ClassTotals& totals, const Limits& limits, ClassBinScratch& scratch, const Rows& rows,
                   double to_beat)
        : totals_(totals),
          scratch_(scratch),
          rows_(rows),
          to_beat_(to_beat),
          weight_(static_cast<std::uint32_t>(totals.weight)) {
        least_ = static_cast<std::uint32_t>(std::max<std::int64_t>({limits.min_size, limits.min_weight, 1}));
    }

    // With very many classes, bins would cost more than rows.
    static bool is_for(std::size_t n_slots, std::uint32_t n_rows) {
        return most_bins(n_slots, n_rows) >= kMostBins / 8;
    }

    FeatureCuts run(const CodeRange& range) {
        found_.has_missing = range.n_missing != 0;
        if (range.low > range.high || (range.low == range.high && !found_.has_missing)) {
            return found_;
        }
        low_ = range.low;
        high_ = range.high;
        const std::uint32_t span = high_ - low_;
        const std::uint32_t most = most_bins(totals_.weights.size(), rows_.n);
        shift_ = span < most ? 0 : static_cast<int>(std::bit_width(span / most));
        n_bins_ = (span >> shift_) + 1;
        fill();
        add_up();
        cut(false);
        if (found_.has_missing) {
            move_missing();
            cut(true);
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

    // The bin of a row; missing rows have their own bin after the last.
    std::uint32_t bin_of(std::uint32_t code) const {
        return code == kMissing<std::uint16_t> ? n_bins_ : (code - low_) >> shift_;
    }

    // Counts of bin b are at edge b + 1.
    void fill() {
        stride_ = (n_bins_ + 2 + vectors::kLanes - 1) / vectors::kLanes * vectors::kLanes;
        if (scratch_.counts.size() < totals_.weights.size() * stride_) {
            scratch_.counts.resize(totals_.weights.size() * stride_);
        }
        std::uint32_t* counts = scratch_.counts.data() + 1;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            counts[(rows_.labels[i] >> 16) * stride_ + bin_of(rows_.codes[i])] += rows_.labels[i] & 0xFFFF;
        }
    }

    // The counts left of each edge, and their sum.
    void add_up() {
        std::fill_n(weights_.begin(), stride_, 0u);
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            std::uint32_t* counts = counts_of(slot);
            vectors::Keys before{};
            for (std::size_t e = 0; e < stride_; e += vectors::kLanes) {
                const auto sums = before + vectors::running_sums<1>(vectors::load<vectors::Keys>(counts + e));
                vectors::store(sums, counts + e);
                vectors::store(vectors::load<vectors::Keys>(weights_.data() + e) + sums, weights_.data() + e);
                before = vectors::last_everywhere(sums);
            }
        }
    }

    // Moves the missing rows to the left of all edges.
    void move_missing() {
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            std::uint32_t* counts = counts_of(slot);
            const auto missing = static_cast<std::uint32_t>(totals_.weights[slot]) - counts[n_bins_];
            std::for_each_n(counts, n_bins_ + 1, [&](std::uint32_t& count) { count += missing; });
        }
        const std::uint32_t missing = weight_ - weights_[n_bins_];
        std::for_each_n(weights_.begin(), n_bins_ + 1, [&](std::uint32_t& weight) { weight += missing; });
    }

    void cut(bool missing_left) {
        const BinScores<Criterion> scores({totals_, scratch_.counts.data(), stride_, weights_.data(), n_bins_},
                                          shift_ != 0);
        missing_left_ = missing_left;
        cut_at_edges(scores);
        if (shift_ != 0) {
            refine(scores);
        }
    }

    std::uint32_t weight_in(std::uint32_t b) const { return weights_[b + 1] - weights_[b]; }
    // Whether there is a cut after a bin. An empty bin has the same edge as the bin before it.
    bool is_cut(std::uint32_t b) const {
        return (weights_[b + 1] >= least_) & (weight_ - weights_[b + 1] >= least_) & (weight_in(b) != 0);
    }

    void cut_at_edges(const BinScores<Criterion>& scores) {
        double top = kNoScore;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            top = is_cut(b) & (scores.edge(b + 1) > top) ? scores.edge(b + 1) : top;
        }
        found_.is_admissible |= top != kNoScore;
        const double floor = scores.floor_below(std::max({top, found_.best.score, to_beat_}));
        for (std::uint32_t b = 0; b < n_bins_ && top != kNoScore && top >= floor; ++b) {
            if (is_cut(b) && scores.edge(b + 1) >= floor) {
                // After the last bin there are only the missing rows.
                const std::uint64_t order =
                    b + 1 == n_bins_ ? Candidate::kPresentAgainstMissing : order_of(low_ + ((b + 1) << shift_) - 1);
                offer(sweep_to(b + 1), order);
            }
        }
    }

    std::uint64_t order_of(std::uint32_t last_left) const { return Candidate::order_of(last_left, missing_left_); }

    // The state of a sweep at an edge: all rows left of it have moved.
    Sweep<Criterion> sweep_to(std::uint32_t e) {
        Sweep<Criterion> sweep(totals_, scratch_.sweep);
        for (std::uint32_t slot = 0; slot < totals_.weights.size(); ++slot) {
            sweep.move(slot, counts_of(slot)[e]);
        }
        return sweep;
    }

    void offer(const Sweep<Criterion>& sweep, std::uint64_t order) {
        const auto balance = static_cast<std::int64_t>(sweep.left_weight() - sweep.right_weight());
        found_.offer({sweep.exact_score(), 0.0, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    // ---- Inside of bins

    void refine(const BinScores<Criterion>& scores) {
        // If no admissible cut is known, all bins must be searched: a feature counts only if it has one.
        const double best = std::max(found_.best.score, to_beat_);
        const double floor = found_.is_admissible ? scores.floor_below(best) : kNoScore;
        std::array<bool, kMostBins + 1> is_open;
        is_open[n_bins_] = false;  // the missing rows
        bool any = false;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            is_open[b] = (weight_in(b) > 1) & (scores.bound(b) >= floor);
            any |= is_open[b];
        }
        if (any) {
            look_into(is_open);
        }
    }

    void look_into(const std::array<bool, kMostBins + 1>& is_open) {
        scratch_.reserve(rows_.n + 1);
        std::uint64_t* sorted = scratch_.sorted.data();
        std::uint32_t n = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            sorted[n] = std::uint64_t{rows_.codes[i]} << 32 | rows_.labels[i];
            n += is_open[bin_of(rows_.codes[i])];
        }
        sort_open(n);
        sorted = scratch_.sorted.data();
        const auto bin_at = [&](std::uint32_t i) { return bin_of(static_cast<std::uint32_t>(sorted[i] >> 32)); };
        for (std::uint32_t begin = 0; begin < n;) {
            const std::uint32_t b = bin_at(begin);
            std::uint32_t end = begin + 1;
            while (end < n && bin_at(end) == b) {
                ++end;
            }
            cut_inside(b, sorted + begin, end - begin);
            begin = end;
        }
    }

    void sort_open(std::uint32_t n) {
        if (n > kMostSorted) {
            sort_by_code(scratch_.sorted, scratch_.spare, n, low_, high_);
            return;
        }
        sort_few_by_code(scratch_.sorted.data(), n);
    }

    // Cuts after each code of a bin except the last.
    void cut_inside(std::uint32_t b, const std::uint64_t* keys, std::uint32_t n) {
        Sweep<Criterion> sweep = sweep_to(b);
        for (std::uint32_t i = 0; i + 1 < n; ++i) {
            sweep.move(static_cast<std::uint32_t>(keys[i]) >> 16, keys[i] & 0xFFFF);
            if (keys[i] >> 32 != keys[i + 1] >> 32) {
                consider(sweep, order_of(static_cast<std::uint32_t>(keys[i] >> 32)));
            }
        }
    }

    void consider(const Sweep<Criterion>& sweep, std::uint64_t order) {
        if (std::min(sweep.left_weight(), sweep.right_weight()) < least_) {
            return;
        }
        found_.is_admissible = true;
        if (sweep.score() + sweep.slack() >= std::max(found_.best.score, to_beat_)) {
            offer(sweep, order);
        }
    }

    const ClassTotals& totals_;
    ClassBinScratch& scratch_;
    Rows rows_;
    double to_beat_;
    std::uint32_t weight_;
    std::size_t stride_ = 0;  // room for the bins of a slot
    std::uint32_t least_ = 1;
    std::uint32_t low_ = 0;
    std::uint32_t high_ = 0;
    int shift_ = 0;
    std::uint32_t n_bins_ = 0;
    bool missing_left_ = false;
    FeatureCuts found_;
    alignas(64) std::array<std::uint32_t, kMostBins + 2 * vectors::kLanes> weights_;  // left of each edge
};

}  // namespace weald
