// The best cut of a node by one feature, where what goes left is one small cell (two class counts, or a sum and a
// weight).
//
// Three ways to bring the rows into the order of their codes, one way to score:
//   few rows          sort them
//   few codes         a histogram with a bin for each code
//   many of both      a coarse histogram; its edges are cuts and are scored. Inside a bin no cut can score more than a
//   bound,
//                     and only bins whose bound reaches the best cut so far are looked into. So the best cut is found
//                     among all cuts at little more than the price of the histogram.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "candidate.h"
#include "gather.h"
#include "scores.h"

namespace weald {

inline constexpr std::uint32_t kSortedRows = 32;     // up to this many rows are sorted
inline constexpr std::uint32_t kCoarseBins = 256;    // bins of a coarse histogram
inline constexpr std::uint32_t kFineBins = 1 << 16;  // most bins of a histogram with a bin for each code

// Memory that the search uses again and again. Bins are empty between two searches.
template <class Labels>
struct CellScratch {
    using Cell = typename Labels::Cell;
    std::vector<typename Labels::Bin> bins = std::vector<typename Labels::Bin>(kFineBins);
    std::vector<Cell> lefts;            // of the candidates
    std::vector<std::uint32_t> cuts;    // of the candidates: last code that goes left
    std::vector<double> scores;         // of the candidates
    std::vector<std::uint64_t> sorted;  // code << 32 | row

    // Makes room for a node of n rows.
    void reserve(std::size_t n) {
        const std::size_t room = std::max<std::size_t>(n, kCoarseBins) + 8;
        if (lefts.size() < room) {
            lefts.resize(room);
            cuts.resize(room);
            scores.resize(room);
            sorted.resize(room);
        }
    }
};

template <class Labels, class Scorer, class Code>
class CellSearch {
  public:
    using Payload = typename Labels::Payload;
    using Cell = typename Labels::Cell;
    using Bin = typename Labels::Bin;

    struct Rows {
        const Code* codes;
        const Payload* payloads;
        std::uint32_t n;
        CodeRange range;
    };

    // `to_beat` is the best score of features drawn earlier: what is below it need not be found, only whether it
    // exists.
    CellSearch(const Labels& labels, const Scorer& scorer, CellScratch<Labels>& scratch, const Rows& rows,
               double to_beat)
        : labels_(labels), scorer_(scorer), scratch_(scratch), rows_(rows), to_beat_(to_beat) {}

    FeatureCuts run(const Cell& total) {
        if (rows_.range.n_missing != 0) {
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                if (rows_.codes[i] == kMissing<Code>) {
                    missing_ += labels_.cell(rows_.payloads[i]);
                }
            }
        }
        if (rows_.range.low < rows_.range.high) {
            cut_between_codes();
        }
        if (rows_.range.n_missing != 0 && rows_.range.low <= rows_.range.high) {
            const Cell left = total - missing_;
            if (scorer_.is_admissible(left)) {
                found_.is_admissible = true;
                offer(left, Candidate::kPresentAgainstMissing);
            }
        }
        return found_;
    }

  private:
    void cut_between_codes() {
        const std::uint32_t n_present = rows_.n - rows_.range.n_missing;
        const std::uint32_t span = rows_.range.high - rows_.range.low;
        if (n_present <= kSortedRows) {
            sort_rows();
        } else if (span < kCoarseBins || (span < kFineBins && span / 2 < n_present)) {
            fill_fine_bins();
        } else {
            fill_coarse_bins();
        }
    }

    // ---- Few rows

    void sort_rows() {
        std::array<std::uint64_t, kSortedRows> keys;
        std::uint32_t n = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] == kMissing<Code>) {
                continue;
            }
            const std::uint64_t key = std::uint64_t{rows_.codes[i]} << 32 | i;
            std::uint32_t j = n++;
            for (; j > 0 && keys[j - 1] > key; --j) {
                keys[j] = keys[j - 1];
            }
            keys[j] = key;
        }
        consider(collect_runs(keys.data(), n, Cell{}));
    }

    // Turns sorted rows into candidates: one after each code but the last. Returns how many.
    std::uint32_t collect_runs(const std::uint64_t* keys, std::uint32_t n, Cell left) {
        std::uint32_t n_cuts = 0;
        for (std::uint32_t i = 0; i + 1 < n; ++i) {
            left += labels_.cell(rows_.payloads[static_cast<std::uint32_t>(keys[i])]);
            const auto code = static_cast<std::uint32_t>(keys[i] >> 32);
            scratch_.lefts[n_cuts] = left;
            scratch_.cuts[n_cuts] = code;
            n_cuts += code != static_cast<std::uint32_t>(keys[i + 1] >> 32);
        }
        return n_cuts;
    }

    // ---- A bin for each code

    void fill_fine_bins() {
        Bin* bins = scratch_.bins.data();
        const std::uint32_t low = rows_.range.low;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] != kMissing<Code>) {
                labels_.add(bins[rows_.codes[i] - low], rows_.payloads[i], 0);
            }
        }
        Cell left{};
        std::uint32_t n_cuts = 0;
        const std::uint32_t n_bins = rows_.range.high - low + 1;
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            const Cell cell = labels_.cell_of(bins[b]);
            bins[b] = Bin{};
            left += cell;
            scratch_.lefts[n_cuts] = left;
            scratch_.cuts[n_cuts] = low + b;
            n_cuts += !labels_.is_empty(cell);
        }
        consider(n_cuts - 1);  // after the last code there is no cut
    }

    // ---- Coarse bins, some of them refined

    void fill_coarse_bins() {
        Bin* bins = scratch_.bins.data();
        const std::uint32_t low = rows_.range.low;
        const std::uint32_t span = rows_.range.high - low;
        const int shift = std::bit_width(span / kCoarseBins);
        const std::uint32_t n_bins = (span >> shift) + 1;
        const std::int64_t mean = scorer_.mean();
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] != kMissing<Code>) {
                labels_.add(bins[(rows_.codes[i] - low) >> shift], rows_.payloads[i], mean);
            }
        }
        Cell left{};
        std::uint32_t n_cuts = 0;
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            const Cell cell = labels_.cell_of(bins[b]);
            left += cell;
            scratch_.lefts[n_cuts] = left;
            scratch_.cuts[n_cuts] = low + ((b + 1) << shift) - 1;
            n_cuts += !labels_.is_empty(cell);
        }
        consider(n_cuts - 1);
        refine(shift, n_bins);
        std::fill_n(bins, n_bins, Bin{});
    }

    void refine(int shift, std::uint32_t n_bins) {
        const Bin* bins = scratch_.bins.data();
        // Without an admissible cut so far, one must be looked for everywhere: the feature counts if there is one.
        const double best = std::max(found_.best.score, to_beat_);
        const double floor = found_.is_admissible ? best - scorer_.slack(best) : kNoScore;
        std::array<std::uint64_t, kCoarseBins / 64 + 1> marked{};
        std::uint32_t n_marked = 0;
        Cell before{};
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            double bound = scorer_.bound(before, bins[b]);
            if (rows_.range.n_missing != 0) {
                bound = std::max(bound, scorer_.bound(before + missing_, bins[b]));
            }
            if (scorer_.has_inside(bins[b]) && !(bound < floor)) {
                marked[b / 64] |= std::uint64_t{1} << (b % 64);
                ++n_marked;
            }
            before += labels_.cell_of(bins[b]);
        }
        if (n_marked != 0) {
            look_into(marked, shift);
        }
    }

    template <class Marks>
    void look_into(const Marks& marked, int shift) {
        std::uint64_t* sorted = scratch_.sorted.data();
        std::uint32_t n = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const std::uint32_t b = (rows_.codes[i] - rows_.range.low) >> shift;
            sorted[n] = std::uint64_t{rows_.codes[i]} << 32 | i;
            n += rows_.codes[i] != kMissing<Code> && (marked[b / 64] >> (b % 64) & 1) != 0;
        }
        std::sort(sorted, sorted + n);
        Cell before{};
        std::uint32_t next_bin = 0;
        for (std::uint32_t begin = 0; begin < n;) {
            const auto bin_of = [&](std::uint32_t i) {
                return (static_cast<std::uint32_t>(sorted[i] >> 32) - rows_.range.low) >> shift;
            };
            const std::uint32_t b = bin_of(begin);
            for (; next_bin < b; ++next_bin) {
                before += labels_.cell_of(scratch_.bins[next_bin]);
            }
            std::uint32_t end = begin + 1;
            while (end < n && bin_of(end) == b) {
                ++end;
            }
            consider(collect_runs(sorted + begin, end - begin, before));
            begin = end;
        }
    }

    // ---- Scores

    void consider(std::uint32_t n_cuts) {
        consider_with(n_cuts, Cell{}, false);
        if (rows_.range.n_missing != 0) {
            consider_with(n_cuts, missing_, true);
        }
    }

    void consider_with(std::uint32_t n_cuts, const Cell& missing, bool missing_left) {
        const Cell* lefts = scratch_.lefts.data();
        double* scores = scratch_.scores.data();
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            const Cell left = lefts[i] + missing;
            const double score = scorer_.score(left);
            scores[i] = scorer_.is_admissible(left) ? score : kNoScore;
        }
        double top = kNoScore;
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            top = scores[i] > top ? scores[i] : top;
        }
        if (top == kNoScore) {
            return;
        }
        found_.is_admissible = true;
        const double best = std::max({top, found_.best.score, to_beat_});
        const double floor = best - scorer_.slack(best);
        if (top < floor) {
            return;
        }
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (scores[i] >= floor) {
                offer(lefts[i] + missing, Candidate::order_of(scratch_.cuts[i], missing_left));
            }
        }
    }

    void offer(const Cell& left, std::uint64_t order) {
        found_.offer({scorer_.exact_score(left), scorer_.tie_score(left), scorer_.unevenness(left), order});
    }

    const Labels& labels_;
    const Scorer& scorer_;
    CellScratch<Labels>& scratch_;
    Rows rows_;
    double to_beat_;
    Cell missing_{};
    FeatureCuts found_;
};

}  // namespace weald
