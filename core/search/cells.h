// The best cut of a node by one feature, if the left side is one small cell (two class counts, or a sum and a
// weight).
//
// Three methods to order the rows by code, one method to score:
//   few rows          sort them
//   few codes         a histogram with a bin for each code
//   many of both      a coarse histogram; its edges are cuts and are scored. No cut inside a bin can score more than a
//                     bound, and only bins whose bound reaches the best cut so far are searched. So the best cut is
//                     found in little more than the time of the histogram.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/sort_network.h"
#include "base/sort_radix.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"

namespace weald {

inline constexpr std::uint32_t kCoarseBins = 256;    // bins of a coarse histogram
inline constexpr std::uint32_t kFineBins = 1 << 16;  // maximum number of bins of a histogram with a bin for each code
inline constexpr std::uint32_t kGroup = 16;          // candidates are scored in groups of this many

// More bins for more rows: sorting a few rows per bin is faster than making more bins.
inline std::uint32_t n_coarse_bins(std::uint32_t n_rows) {
    return std::clamp(std::bit_floor(n_rows / 4), kCoarseBins / 4, kCoarseBins);
}

// Memory that the search reuses. Bins are empty between two searches.
template <class Labels, class Near>
struct CellScratch {
    std::vector<typename Labels::Bin> bins;
    typename Labels::Cells lefts;       // left sides of the candidates
    std::vector<std::uint32_t> cuts;    // for each candidate, the last code that goes left
    std::vector<Near> scores;           // approximate scores of the candidates
    std::vector<std::uint64_t> sorted;  // code << 32 | row
    std::vector<std::uint64_t> spare;
    std::vector<std::uint32_t> occupied;  // indices of bins that are not empty
    typename Labels::Cells befores;       // what lies before the bins that may be searched
    std::vector<typename Labels::Inside> insides;
    std::vector<std::uint32_t> numbers;

    // Reserves memory for a node of n rows. A histogram has no more cuts than bins; only codes of four bytes have more
    // inside a bin.
    void reserve(std::size_t n, bool codes_are_wide) {
        const std::size_t n_cuts = codes_are_wide ? n : std::min<std::size_t>(n, kFineBins);
        const std::size_t room = std::max<std::size_t>(n_cuts, kCoarseBins) + 2 * kGroup;
        if (cuts.size() < room) {
            bins.resize(
                std::min<std::size_t>(2 * room, kFineBins));  // a bin for each code: fewer than two bins per row
            lefts.resize(room);
            cuts.resize(room);
            scores.resize(room);
            occupied.resize(room);
            befores.resize(kCoarseBins + kGroup);
            insides.resize(kCoarseBins + kGroup);
            numbers.resize(kCoarseBins + kGroup);
        }
    }
    void reserve_sorted(std::size_t n) {
        if (sorted.size() < n) {
            sorted.resize(n);
            spare.resize(n);
        }
    }
};

// The scores of the edges of a feature's bins, and the maximum score of a cut inside one of them.
struct Survey {
    FeatureCuts edges;
    double most = std::numeric_limits<double>::infinity();
};

template <class Labels, class Scorer, class Code>
class CellSearch {
  public:
    using Payload = typename Labels::Payload;
    using Cell = typename Labels::Cell;
    using Bin = typename Labels::Bin;
    using Near = typename Scorer::Near;

    struct Rows {
        const Code* codes;
        const Payload* payloads;
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: cuts below it need not be found, only whether one exists.
    CellSearch(const Labels& labels, const Scorer& scorer, CellScratch<Labels, typename Scorer::Near>& scratch,
               const Rows& rows, double to_beat)
        : labels_(labels), scorer_(scorer), scratch_(scratch), rows_(rows), to_beat_(to_beat) {}

    FeatureCuts run(const Cell& total) {
        scratch_.reserve(rows_.n, sizeof(Code) == 4);
        if (sizeof(Code) == 2 && rows_.n <= kMostSorted) {
            sort_few_rows();
        } else {
            range_ = range_of(rows_.codes, rows_.n);
            add_missing();
            if (range_.low < range_.high) {
                cut_many_rows();
            }
        }
        return finish(total);
    }

    // The same for inherited bins (search/inherited_bins.h), the last of them for missing values. First only their
    // edges are scored, and the cuts inside are bounded.
    template <class Carried>
    Survey survey(const Cell& total, std::span<const Carried> bins, int shift) {
        const std::uint32_t n_occupied = begin_with(bins, shift);
        if (shift != 0 && are_few(n_occupied, bins.size())) {
            return {};
        }
        consider(n_occupied == 0 ? 0 : n_occupied - 1);
        const std::uint32_t n = shift == 0 ? 0 : bound_insides(bins.data(), n_occupied);
        const Near* bounds = scratch_.scores.data();
        const Near most = n == 0 ? -std::numeric_limits<Near>::infinity() : *std::max_element(bounds, bounds + n);
        finish(total);
        return {found_, found_.is_admissible || n == 0 ? static_cast<double>(most) : Survey{}.most};
    }

    // Then bins are searched if that is worthwhile.
    template <class Carried>
    FeatureCuts run_with(const Cell& total, std::span<const Carried> bins, int shift) {
        const std::uint32_t n_occupied = begin_with(bins, shift);
        if (are_few(n_occupied, bins.size())) {
            missing_ = {};
            return run(total);
        }
        consider(n_occupied - 1);
        refine(bins.data(), shift, n_occupied);
        return finish(total);
    }

  private:
    // If few of a feature's bins are not empty in a node, they are computed again.
    static bool are_few(std::size_t n_occupied, std::size_t n_bins) { return 8 * n_occupied < n_bins; }

    template <class Carried>
    std::uint32_t begin_with(std::span<const Carried> bins, int shift) {
        scratch_.reserve(rows_.n, false);
        const auto n_bins = static_cast<std::uint32_t>(bins.size() - 1);
        missing_ = labels_.cell_of(bins[n_bins]);
        range_ = {0, (n_bins << shift) - 1, !labels_.is_empty(missing_)};
        const std::uint32_t n_occupied = add_up(bins.data(), n_bins, shift);
        if (n_occupied == 0) {
            range_ = {1, 0, 1};  // all values are missing
        }
        return n_occupied;
    }

    FeatureCuts finish(const Cell& total) {
        if (range_.n_missing != 0 && range_.low <= range_.high) {
            const Cell left = total - missing_;
            if (scorer_.is_admissible(left)) {
                found_.is_admissible = true;
                offer(left, Candidate::kPresentAgainstMissing);
            }
        }
        found_.has_missing = range_.n_missing != 0;
        return found_;
    }

    void add_missing() {
        if (range_.n_missing == 0) {
            return;
        }
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] == kMissing<Code>) {
                missing_ += labels_.cell(rows_.payloads[i]);
            }
        }
    }

    void cut_many_rows() {
        const std::uint32_t n_present = rows_.n - range_.n_missing;
        const std::uint32_t span = range_.high - range_.low;
        if (span < kCoarseBins || (span < kFineBins && span / 2 < n_present)) {
            fill_fine_bins();
        } else {
            fill_coarse_bins();
        }
    }

    // ---- Few rows

    // Keys are code << 16 | row. Missing is the largest code, so missing rows come last.
    void sort_few_rows() {
        alignas(64) std::array<std::uint32_t, kMostSorted> keys;
        sort_few(reinterpret_cast<const std::uint16_t*>(rows_.codes), rows_.n, keys.data());
        std::uint32_t n = rows_.n;
        while (n > 0 && keys[n - 1] >> 16 == kMissing<std::uint16_t>) {
            --n;
            missing_ += labels_.cell(rows_.payloads[keys[n] & 0xFFFF]);
        }
        range_.n_missing = rows_.n - n;
        range_.low = n == 0 ? 1 : keys[0] >> 16;
        range_.high = n == 0 ? 0 : keys[n - 1] >> 16;
        if (range_.low >= range_.high) {
            return;
        }
        Cell left{};
        std::uint32_t n_cuts = 0;
        for (std::uint32_t i = 0; i + 1 < n; ++i) {
            left += labels_.cell(rows_.payloads[keys[i] & 0xFFFF]);
            scratch_.lefts.set(n_cuts, left);
            scratch_.cuts[n_cuts] = keys[i] >> 16;
            n_cuts += (keys[i] ^ keys[i + 1]) >> 16 != 0;
        }
        consider(n_cuts);
    }

    // ---- A bin for each code

    void fill_fine_bins() {
        Bin* bins = scratch_.bins.data();
        const std::uint32_t low = range_.low;
        for_present([&](std::uint32_t i) { labels_.add(bins[rows_.codes[i] - low], rows_.payloads[i]); });
        Cell left{};
        std::uint32_t n_cuts = 0;
        const std::uint32_t n_bins = range_.high - low + 1;
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            const Cell cell = labels_.cell_of(bins[b]);
            bins[b] = Bin{};
            left += cell;
            scratch_.lefts.set(n_cuts, left);
            scratch_.cuts[n_cuts] = low + b;
            n_cuts += !labels_.is_empty(cell);
        }
        consider(n_cuts - 1);  // after the last code there is no cut
    }

    // ---- Coarse bins, some of them refined

    void fill_coarse_bins() {
        Bin* bins = scratch_.bins.data();
        const std::uint32_t low = range_.low;
        const std::uint32_t span = range_.high - low;
        const int shift = static_cast<int>(std::bit_width(span / n_coarse_bins(rows_.n)));
        const std::uint32_t n_bins = (span >> shift) + 1;
        const auto mean = scorer_.mean();
        for_present(
            [&](std::uint32_t i) { labels_.add(bins[(rows_.codes[i] - low) >> shift], rows_.payloads[i], mean); });
        const std::uint32_t n_occupied = add_up(bins, n_bins, shift);
        consider(n_occupied - 1);
        refine(bins, shift, n_occupied);
        std::fill_n(bins, n_bins, Bin{});
    }

    // Cuts after each non-empty bin, and their number.
    template <class SomeBin>
    std::uint32_t add_up(const SomeBin* bins, std::uint32_t n_bins, int shift) {
        Cell left{};
        std::uint32_t n_occupied = 0;
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            const Cell cell = labels_.cell_of(bins[b]);
            left += cell;
            scratch_.lefts.set(n_occupied, left);
            scratch_.cuts[n_occupied] = range_.low + ((b + 1) << shift) - 1;
            scratch_.occupied[n_occupied] = b;
            n_occupied += !labels_.is_empty(cell);
        }
        return n_occupied;
    }

    using Marks = std::array<std::uint64_t, kCoarseBins / 64>;

    // Bounds the cuts inside of bins that have some, and returns their number.
    template <class SomeBin>
    std::uint32_t bound_insides(const SomeBin* bins, std::uint32_t n_occupied) {
        std::uint32_t n = 0;
        for (std::uint32_t j = 0; j < n_occupied; ++j) {
            const std::uint32_t b = scratch_.occupied[j];
            scratch_.befores.set(n, j == 0 ? Cell{} : scratch_.lefts.get(j - 1));
            scratch_.insides[n] = labels_.inside_of(bins[b], scorer_.spread());
            scratch_.numbers[n] = b;
            n += scorer_.has_inside(scratch_.insides[n]);
        }
        for (std::uint32_t j = n; j % kGroup != 0; ++j) {
            scratch_.befores.set(j, Cell{});  // so that the last group is full
            scratch_.insides[j] = {};
        }
        Near* bounds = scratch_.scores.data();
        const Scorer scorer = scorer_;
        const typename Labels::Cells::View befores = scratch_.befores.view();
        const typename Labels::Inside* insides = scratch_.insides.data();
        for (std::uint32_t i = 0; i < n; i += kGroup) {
            std::array<Near, kGroup> group;
            for (std::uint32_t j = 0; j < kGroup; ++j) {
                group[j] = scorer.bound(befores.get(i + j), insides[i + j]);
            }
            std::copy(group.begin(), group.end(), bounds + i);
        }
        if (range_.n_missing != 0) {
            for (std::uint32_t j = 0; j < n; ++j) {
                bounds[j] = std::max(bounds[j], scorer_.bound(scratch_.befores.get(j) + missing_, scratch_.insides[j]));
            }
        }
        return n;
    }

    template <class SomeBin>
    void refine(const SomeBin* bins, int shift, std::uint32_t n_occupied) {
        const std::uint32_t n = bound_insides(bins, n_occupied);
        const Near* bounds = scratch_.scores.data();
        // If no admissible cut is known, all bins must be searched: a feature counts only if it has one.
        const Near floor = found_.is_admissible ? scorer_.floor_below(std::max(found_.best.score, to_beat_))
                                                : -std::numeric_limits<Near>::infinity();
        Marks marks{};
        bool any = false;
        for (std::uint32_t j = 0; j < n; ++j) {
            if (bounds[j] >= floor) {
                const std::uint32_t b = scratch_.numbers[j];
                marks[b / 64] |= std::uint64_t{1} << (b % 64);
                any = true;
            }
        }
        if (any) {
            look_into(bins, marks, shift);
        }
    }

    template <class SomeBin>
    void look_into(const SomeBin* bins, const Marks& marks, int shift) {
        scratch_.reserve_sorted(rows_.n + 1);
        std::uint64_t* sorted = scratch_.sorted.data();
        std::uint32_t n = 0;
        for_present([&](std::uint32_t i) {
            const std::uint32_t b = (rows_.codes[i] - range_.low) >> shift;
            sorted[n] = std::uint64_t{rows_.codes[i]} << 32 | i;
            n += marks[b / 64] >> (b % 64) & 1;
        });
        sort_marked(n);
        sorted = scratch_.sorted.data();
        const auto bin_of = [&](std::uint32_t i) {
            return (static_cast<std::uint32_t>(sorted[i] >> 32) - range_.low) >> shift;
        };
        Cell before{};
        std::uint32_t next_bin = 0;
        for (std::uint32_t begin = 0; begin < n;) {
            const std::uint32_t b = bin_of(begin);
            for (; next_bin < b; ++next_bin) {
                before += labels_.cell_of(bins[next_bin]);
            }
            std::uint32_t end = begin + 1;
            while (end < n && bin_of(end) == b) {
                ++end;
            }
            cut_inside(sorted + begin, end - begin, before);
            begin = end;
        }
    }

    void sort_marked(std::uint32_t n) {
        if (sizeof(Code) != 2 || n > kMostSorted) {
            sort_by_code(scratch_.sorted, scratch_.spare, n, range_.low, range_.high);
            return;
        }
        sort_few_by_code(scratch_.sorted.data(), n);
    }

    // Cuts after each code of a bin except the last.
    void cut_inside(const std::uint64_t* keys, std::uint32_t n, Cell left) {
        std::uint32_t n_cuts = 0;
        for (std::uint32_t i = 0; i + 1 < n; ++i) {
            left += labels_.cell(rows_.payloads[static_cast<std::uint32_t>(keys[i])]);
            scratch_.lefts.set(n_cuts, left);
            scratch_.cuts[n_cuts] = static_cast<std::uint32_t>(keys[i] >> 32);
            n_cuts += keys[i] >> 32 != keys[i + 1] >> 32;
        }
        consider(n_cuts);
    }

    template <class Use>
    void for_present(Use&& use) const {
        if (range_.n_missing == 0) {
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                use(i);
            }
            return;
        }
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            if (rows_.codes[i] != kMissing<Code>) {
                use(i);
            }
        }
    }

    // ---- Scores

    void consider(std::uint32_t n_cuts) {
        if (n_cuts == 0) {
            return;
        }
        const Cell last = scratch_.lefts.get(n_cuts - 1);
        for (std::uint32_t i = n_cuts; i % kGroup != 0; ++i) {
            scratch_.lefts.set(i, last);  // so that the last group is full, too
        }
        consider_with(n_cuts, Cell{}, false);
        if (range_.n_missing != 0) {
            consider_with(n_cuts, missing_, true);
        }
    }

    void consider_with(std::uint32_t n_cuts, const Cell& missing, bool missing_left) {
        const Near top =
            scorer_.admits_all() ? near_scores<true>(n_cuts, missing) : near_scores<false>(n_cuts, missing);
        if (static_cast<double>(top) == kNoScore) {
            return;
        }
        found_.is_admissible = true;
        const Near floor = scorer_.floor_below(std::max({static_cast<double>(top), found_.best.score, to_beat_}));
        if (top < floor) {
            return;
        }
        const Near* scores = scratch_.scores.data();
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (scores[i] >= floor) {
                offer(scratch_.lefts.get(i) + missing, Candidate::order_of(scratch_.cuts[i], missing_left));
            }
        }
    }

    // Computes approximate scores of all candidates, and returns the maximum.
    template <bool AdmitAll>
    Near near_scores(std::uint32_t n_cuts, const Cell& missing) {
        const Scorer scorer = scorer_;  // a local copy, which the scores cannot alias, so that the loop is vectorized
        const typename Labels::Cells::View lefts = scratch_.lefts.view();
        Near* scores = scratch_.scores.data();
        constexpr Near none = -std::numeric_limits<Near>::infinity();
        std::array<Near, kGroup> tops;
        tops.fill(none);
        for (std::uint32_t i = 0; i < n_cuts; i += kGroup) {
            const typename Labels::Cells::template Group<kGroup> cells(lefts, i, missing);
            std::array<Near, kGroup> group;
            for (std::uint32_t j = 0; j < kGroup; ++j) {
                group[j] = scorer.near_score(cells.get(j));
            }
            if constexpr (!AdmitAll) {
                for (std::uint32_t j = 0; j < kGroup; ++j) {
                    group[j] = scorer.is_admissible(cells.get(j)) ? group[j] : none;
                }
            }
            for (std::uint32_t j = 0; j < kGroup; ++j) {
                scores[i + j] = group[j];
                tops[j] = group[j] > tops[j] ? group[j] : tops[j];
            }
        }
        for (std::uint32_t half = kGroup / 2; half > 0; half /= 2) {
            for (std::uint32_t j = 0; j < half; ++j) {
                tops[j] = tops[j] > tops[j + half] ? tops[j] : tops[j + half];
            }
        }
        return tops[0];
    }

    void offer(const Cell& left, std::uint64_t order) {
        const std::int64_t balance = scorer_.balance(left);
        found_.offer({scorer_.score(left), scorer_.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)),
                      order, balance >= 0});
    }

    const Labels& labels_;
    const Scorer& scorer_;
    CellScratch<Labels, typename Scorer::Near>& scratch_;
    Rows rows_;
    double to_beat_;
    CodeRange range_;
    Cell missing_{};
    FeatureCuts found_;
};

}  // namespace weald
