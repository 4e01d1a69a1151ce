// The best cut of a node by one feature, with many classes: in the order of their codes, rows move from the right side
// to the left, one by one, and each position between two codes is a cut.
//
// Two methods to sort them:
//   few codes and classes   a table of counts by (code, class); all rows of a code and class move at once
//   otherwise               a sorting network if they are few, else a radix sort

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/sort_network.h"
#include "base/sort_radix.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/labels.h"
#include "score/scores.h"
#include "search/sweep.h"

namespace weald {

struct RowScratch {
    std::vector<std::uint64_t> sorted;  // code << 32 | row
    std::vector<std::uint64_t> spare;
    std::vector<std::uint32_t> table;  // counts by (code, class); zero between two searches
    SweepScratch sweep;

    void reserve(std::size_t n) {
        if (sorted.size() < n) {
            sorted.resize(n);
            spare.resize(n);
        }
    }
};

template <class Labels, class Criterion, class Code>
class RowSearch {
  public:
    using Payload = typename Labels::Payload;

    struct Rows {
        const Code* codes;
        const Payload* payloads;
        std::uint32_t n;
    };

    RowSearch(const Labels& labels, const ClassTotals& totals, const Limits& limits, RowScratch& scratch,
              const Rows& rows, double to_beat)
        : labels_(labels), totals_(totals), limits_(limits), scratch_(scratch), rows_(rows), to_beat_(to_beat) {}

    FeatureCuts run() {
        range_ = range_of(rows_.codes, rows_.n);
        found_.has_missing = range_.n_missing != 0;
        if (range_.low < range_.high && !cut_by_table()) {
            sort_rows();
            sweep_rows(false);
            if (found_.has_missing) {
                sweep_rows(true);
            }
        }
        if (found_.has_missing && range_.low <= range_.high) {
            cut_off_missing();
        }
        return found_;
    }

  private:
    void cut_off_missing() {
        Sweep<Criterion> sweep(totals_, scratch_.sweep);
        std::int64_t left_size = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] != kMissing<Code>) {
                move(sweep, left_size, i);
            }
        }
        consider(sweep, left_size, Candidate::kPresentAgainstMissing);
    }

    // ---- Few codes, counted classes: a table of counts

    bool cut_by_table() {
        if constexpr (!std::is_same_v<Labels, CountedClasses>) {
            return false;
        } else {
            const std::size_t n_slots = totals_.weights.size();
            const std::size_t n_codes = range_.high - range_.low + std::size_t{1};
            if (range_.n_missing != 0 || n_codes * n_slots > rows_.n) {
                return false;
            }
            if (scratch_.table.size() < n_codes * n_slots) {
                scratch_.table.resize(n_codes * n_slots);
            }
            std::uint32_t* table = scratch_.table.data();
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                table[(rows_.codes[i] - range_.low) * n_slots + slot(i)] += labels_.size(rows_.payloads[i]);
            }
            Sweep<Criterion> sweep(totals_, scratch_.sweep);
            std::int64_t left_size = 0;
            for (std::uint32_t c = 0; c < n_codes; ++c) {
                std::uint32_t in_code = 0;
                for (std::uint32_t k = 0; k < n_slots; ++k) {
                    const std::uint32_t count = std::exchange(table[c * n_slots + k], 0);
                    if (count != 0) {
                        sweep.move(k, count * labels_.scales[totals_.classes[k]], count);
                        in_code += count;
                    }
                }
                left_size += in_code;
                if (in_code != 0 && c + 1 < n_codes) {
                    consider(sweep, left_size, Candidate::order_of(range_.low + c, false));
                }
            }
            return true;
        }
    }

    // ---- Sorted rows

    void sort_rows() {
        if (sizeof(Code) == 2 && rows_.n <= kMostSorted) {
            sort_few_rows();
            return;
        }
        n_sorted_ = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            scratch_.sorted[n_sorted_] = std::uint64_t{rows_.codes[i]} << 32 | i;
            n_sorted_ += rows_.codes[i] != kMissing<Code>;
        }
        sort_by_code(scratch_.sorted, scratch_.spare, n_sorted_, range_.low, range_.high);
    }

    // Keys are code << 16 | row. Missing is the largest code, so missing rows come last.
    void sort_few_rows() {
        alignas(64) std::array<std::uint32_t, kMostSorted> keys;
        sort_few(reinterpret_cast<const std::uint16_t*>(rows_.codes), rows_.n, keys.data());
        n_sorted_ = rows_.n - range_.n_missing;
        for (std::uint32_t i = 0; i < n_sorted_; ++i) {
            scratch_.sorted[i] = std::uint64_t{keys[i] >> 16} << 32 | (keys[i] & 0xFFFF);
        }
    }

    void sweep_rows(bool missing_left) {
        Sweep<Criterion> sweep(totals_, scratch_.sweep);
        std::int64_t left_size = 0;
        if (missing_left) {
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                if (rows_.codes[i] == kMissing<Code>) {
                    move(sweep, left_size, i);
                }
            }
        }
        const std::uint64_t* sorted = scratch_.sorted.data();
        for (std::uint32_t i = 0; i + 1 < n_sorted_; ++i) {
            move(sweep, left_size, static_cast<std::uint32_t>(sorted[i]));
            const auto code = static_cast<std::uint32_t>(sorted[i] >> 32);
            if (code != static_cast<std::uint32_t>(sorted[i + 1] >> 32)) {
                consider(sweep, left_size, Candidate::order_of(code, missing_left));
            }
        }
    }

    // ---- Scores

    std::uint32_t slot(std::uint32_t row) const { return totals_.slot_of_class[labels_.class_of(rows_.payloads[row])]; }

    void move(Sweep<Criterion>& sweep, std::int64_t& left_size, std::uint32_t row) const {
        const Payload& payload = rows_.payloads[row];
        sweep.move(slot(row), labels_.weight(payload), labels_.size(payload));
        left_size += labels_.size(payload);
    }

    void consider(const Sweep<Criterion>& sweep, std::int64_t left_size, std::uint64_t order) {
        const auto left_weight = static_cast<std::int64_t>(sweep.left_weight());
        const auto right_weight = static_cast<std::int64_t>(sweep.right_weight());
        if (std::min(left_size, totals_.size - left_size) < limits_.min_size ||
            std::min(left_weight, right_weight) < limits_.min_weight) {
            return;
        }
        found_.is_admissible = true;
        if (sweep.score() + sweep.slack() < std::max(found_.best.score, to_beat_)) {
            return;
        }
        double tie_score = 0;
        if constexpr (!std::is_void_v<typename Criterion::TieBreaker>) {
            tie_score = sweep.template exact<typename Criterion::TieBreaker>();
        }
        const std::int64_t balance = left_weight - right_weight;
        found_.offer(
            {sweep.exact_score(), tie_score, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    const Labels& labels_;
    const ClassTotals& totals_;
    Limits limits_;
    RowScratch& scratch_;
    Rows rows_;
    double to_beat_;
    CodeRange range_;
    std::uint32_t n_sorted_ = 0;
    FeatureCuts found_;
};

}  // namespace weald
