// The best cut of a node of many rows by several features at once, in regression. Each lane of a vector is
// a feature.
//
// A row is one word, sum << 16 | count, and is added to one bin of each feature. Along the bins, the left side is
// summed in all lanes at once, and cuts get approximate scores. If a bin has several codes, no cut inside can gain more
// than a bound, and only bins whose bound reaches the best cut are searched. The few cuts that could be the best are
// scored exactly.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"
#include "search/cells.h"
#include "search/lanes.h"
#include "search/small_regression_rows.h"

namespace weald {

// Minimum number of rows for which bins are faster than sorting.
inline constexpr std::uint32_t kLeastInLaneBins = kMostSorted == 256 ? 129 : 65;

// A regression node of many rows, prepared for sums in words of 64 bits.
//
// Targets are centered at the node's mean and scaled, so that the sum of any rows has 46 bits and a sign. Approximate
// gains are computed from its upper 32 bits, with an error of at most kError. Most of it comes from truncating the
// lower bits and from rounding the mean to an integer; each row adds at most half of a lowest bit.
class ManyNumbers {
  public:
    static constexpr std::int64_t kMostDraws = 0x7FFF;
    static constexpr int kCountBits = 16;
    static constexpr float kError = 3;

    // Loads the rows of a node, in which no target is farther than `reach` from the mean. Returns whether they are
    // suitable.
    bool look_at(const CountedNumbers& labels, const CountedNumbers::Payload* payloads, std::uint32_t n,
                 const CountedNumbers::Cell& total, std::int64_t mean, double reach, double undivided) {
        constexpr double kLeastReach = 0x1p30;  // otherwise the rounding of the mean would matter
        if (total.weight > kMostDraws || reach < kLeastReach) {
            return false;
        }
        words_.resize(std::max<std::size_t>(words_.size(), n));
        const double scale =
            std::ldexp(1.0, 45 - std::ilogb(reach) - std::bit_width(static_cast<std::uint64_t>(total.weight)));
        for (std::uint32_t i = 0; i < n; ++i) {
            constexpr double kWhole = 0x1.8p52;  // adding it rounds a number to the lower bits
            const std::int64_t count = labels.count(payloads[i]);
            const auto sum = static_cast<double>((labels.number(payloads[i]) - mean) * count);
            words_[i] = std::bit_cast<std::int64_t>(sum * scale + kWhole) << kCountBits | count;
        }
        const double upper = scale * 0x1p-16;
        weight_ = static_cast<float>(total.weight);
        reach_ = static_cast<float>(reach * upper);
        undivided_ = undivided;
        unit_ = upper * upper;
        return true;
    }

    const std::int64_t* words() const { return words_.data(); }
    float weight() const { return weight_; }
    float reach() const { return reach_; }

    float gain_of(double score) const { return static_cast<float>((score - undivided_) * unit_); }
    // An empty side has almost no gain.
    template <class Floats>
    Floats gain(const Floats& sum, const Floats& left) const {
        const Floats sides = left * (weight_ - left);
        return sum * sum * weight_ / (sides > 1 ? sides : Floats{} + 1);
    }
    // How far the approximate gain of a cut can be below the maximum if its exact gain is as good. With an error e of
    // A, gains differ by (2 |A| e + e * e) * W / (L * R), which is at most 2.9 e * root of the gain + 2 e * e.
    static float slack(float top) {
        const float gain = std::max(top, 0.0f);
        return gain * static_cast<float>(kNearness) + kError * (6 * std::sqrt(gain) + 24 * kError);
    }

  private:
    std::vector<std::int64_t> words_;  // indexed by row
    float weight_ = 0;
    float reach_ = 0;
    double undivided_ = 0;
    double unit_ = 0;  // unit of gains, in scores
};

// Memory that the search reuses. Bins are empty between two searches.
struct LaneBinScratch {
    static constexpr std::size_t kRoom = 2 * kCoarseBins * lanes::kLanes;
    alignas(64) std::array<std::int64_t, kRoom> bins{};            // by bin, sign and lane; or by bin and lane
    alignas(64) std::array<lanes::Floats, kCoarseBins + 1> gains;  // gain of the cut before each bin
    std::vector<std::uint32_t> keys;                               // keys of rows in bins that are searched
    struct Near {
        float gain;
        std::uint32_t lane;
        std::uint32_t last_left;
    };
    std::vector<Near> near;  // cuts that could be the best
};

template <class Scorer>
    requires kIsSquaredError<typename Scorer::Criterion>
class LaneBinSearch {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;

    struct Rows {
        std::span<const std::uint16_t* const> codes;  // indexed by lane
        const Labels::Payload* payloads;
        std::uint32_t n;
        DrawnLanes lanes;
    };

    LaneBinSearch(const Labels& labels, const ManyNumbers& node, const Scorer& scorer, LaneBinScratch& scratch,
                  const Rows& rows)
        : labels_(labels), node_(node), scorer_(scorer), scratch_(scratch), rows_(rows) {}

    // Every cut must be admissible. Gives up if a code is missing, or if very many cuts are as good as the best.
    LaneCuts run(double to_beat) {
        if (!find_ranges()) {
            found_.is_done = false;
            return found_;
        }
        if (found_.admissible == 0) {
            return found_;
        }
        has_insides_ ? fill<true>() : fill<false>();
        has_insides_ ? gain_edges<true>() : gain_edges<false>();
        top_ = std::max(top_, node_.gain_of(to_beat));
        scratch_.near.clear();
        if (has_insides_) {
            look_into_bins();
        }
        add_edges();
        if (scratch_.near.size() <= kMostNear) {
            offer_all();
        } else {
            found_.is_done = false;
        }
        std::fill_n(scratch_.bins.begin(), place_of(n_bins_), 0);
        return found_;
    }

  private:
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::size_t kLanes = lanes::kLanes;
    static constexpr std::size_t kMostNear = 64;  // maximum number of cuts: each needs a pass over all rows
    static constexpr float kNone = -std::numeric_limits<float>::infinity();
    typedef std::int64_t Half __attribute__((vector_size(sizeof(Keys))));
    typedef std::int32_t Ints __attribute__((vector_size(sizeof(Keys))));

    // One word per lane.
    struct Words {
        Half low{};
        Half high{};

        static Words load(const std::int64_t* from) {
            return {vectors::load<Half>(from), vectors::load<Half>(from + kLanes / 2)};
        }
        Words& operator+=(const Words& other) {
            low += other.low;
            high += other.high;
            return *this;
        }
        friend Words operator+(Words a, const Words& b) { return a += b; }
        Floats counts() const { return __builtin_convertvector(Ints(every_other<0>() & 0xFFFF), Floats); }
        Floats sums() const { return __builtin_convertvector(Ints(every_other<1>()), Floats); }

        template <std::uint32_t First>
        Keys every_other() const {
            constexpr Keys from = []<std::size_t... I>(std::index_sequence<I...>) {
                return Keys{(2 * I + First)...};
            }(std::make_index_sequence<kLanes>());
            return __builtin_shuffle(Keys(low), Keys(high), from);
        }
    };

    std::size_t n_lanes() const { return rows_.codes.size(); }
    std::size_t place_of(std::uint32_t bin) const { return (has_insides_ ? 2 : 1) * kLanes * bin; }
    Words below_mean(std::uint32_t bin) const { return Words::load(scratch_.bins.data() + place_of(bin) + kLanes); }
    Words above_mean(std::uint32_t bin) const { return Words::load(scratch_.bins.data() + place_of(bin)); }

    bool find_ranges() {
        for (std::size_t lane = 0; lane < n_lanes(); ++lane) {
            const CodeRange range = range_of(rows_.codes[lane], rows_.n);
            if (range.n_missing != 0) {
                return false;
            }
            const std::uint32_t span = range.high - range.low;
            lows_[lane] = range.low;
            shifts_[lane] = span < kCoarseBins ? 0 : static_cast<int>(std::bit_width(span / n_coarse_bins(rows_.n)));
            has_insides_ |= shifts_[lane] != 0;
            n_bins_ = std::max(n_bins_, (span >> shifts_[lane]) + 1);
            found_.admissible |= std::uint32_t{span != 0} << lane;
        }
        return true;
    }

    // If bins have several codes, the sums above and below the mean are separate.
    template <bool HasInsides>
    void fill() {
        const std::int64_t* words = node_.words();
        for (std::size_t lane = 0; lane < n_lanes(); ++lane) {
            std::int64_t* bins = scratch_.bins.data() + lane;
            const std::uint16_t* codes = rows_.codes[lane];
            const std::uint32_t low = lows_[lane];
            const int shift = shifts_[lane];
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                const std::int64_t word = words[i];
                const std::size_t bin = (codes[i] - low) >> shift;
                if constexpr (HasInsides) {
                    bins[(2 * bin + (static_cast<std::uint64_t>(word) >> 63)) * kLanes] += word;
                } else {
                    bins[bin * kLanes] += word;
                }
            }
        }
    }

    // Approximate gains of the cuts after each non-empty bin.
    template <bool HasInsides>
    void gain_edges() {
        Words left;
        Floats before{};
        Floats tops{};
        scratch_.gains[0] = Floats{} + kNone;
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            left += above_mean(b);
            if constexpr (HasInsides) {
                left += below_mean(b);
            }
            const Floats weights = left.counts();
            const auto is_cut = (weights != before) & (weights != node_.weight());
            const Floats gains = is_cut ? node_.gain(left.sums(), weights) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            scratch_.gains[b + 1] = gains;
            before = weights;
        }
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            top_ = std::max(top_, tops[lane]);
        }
    }

    // ---- Inside of bins

    using Marks = std::array<std::uint64_t, kCoarseBins / 64>;

    void look_into_bins() {
        const float floor = top_ - 2 * ManyNumbers::slack(top_);
        std::array<Marks, kLanes> marks{};
        std::uint32_t marked_lanes = 0;
        Words before;
        Floats gains_before{};
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            const Words above = above_mean(b);
            const Words below = below_mean(b);
            const Words after = before + above + below;
            gains_before = scratch_.gains[b] > kNone ? scratch_.gains[b] : gains_before;
            const auto is_open = bound(before, above, below, after, gains_before, scratch_.gains[b + 1]) >= floor;
            if (is_any(is_open)) {
                for (std::size_t lane = 0; lane < n_lanes(); ++lane) {
                    if (is_open[lane] != 0 && shifts_[lane] != 0) {
                        marks[lane][b / 64] |= std::uint64_t{1} << (b % 64);
                        marked_lanes |= 1u << lane;
                    }
                }
            }
            before = after;
        }
        for (std::size_t lane = 0; lane < n_lanes(); ++lane) {
            if (marked_lanes >> lane & 1) {
                look_into(lane, marks[lane]);
            }
        }
    }

    template <class Truths>
    static bool is_any(const Truths& truths) {
        const auto halves = __builtin_bit_cast(Half, truths);
        std::int64_t any = 0;
        for (std::size_t i = 0; i < kLanes / 2; ++i) {
            any |= halves[i];
        }
        return any != 0;
    }

    // The maximum gain of a cut inside a bin. The gain is convex in what goes left, so its maximum is at a corner: all
    // that lies above the mean or all that lies below it, and the smallest or the largest weight. This allows for few
    // rows with large deviations. So there is another bound: the term of a set is at most the sum of the terms of its
    // parts, down to single rows.
    Floats bound(const Words& before, const Words& above, const Words& below, const Words& after,
                 const Floats& gains_before, const Floats& gains_after) const {
        const Floats weight_before = before.counts();
        const Floats weight_after = after.counts();
        const Floats up = above.sums() + 2;
        const Floats down = below.sums() - 2;
        const Floats sum = before.sums();
        const Floats high = (sum + up) * (sum + up);
        const Floats low = (sum + down) * (sum + down);
        const Floats least = (weight_before + 1) * (node_.weight() - weight_before - 1);
        const Floats most = (weight_after - 1) * (node_.weight() - weight_after + 1);
        const Floats sides = least < most ? least : most;
        const Floats corners = (high > low ? high : low) * node_.weight() / (sides > 1 ? sides : Floats{} + 1);
        const Floats outside = gains_before * (node_.weight() - weight_before) +
                               (gains_after > kNone ? gains_after * weight_after : Floats{});
        const Floats parts = outside / node_.weight() + (up - down) * node_.reach();
        const Floats bounds = corners < parts ? corners : parts;
        return weight_after - weight_before > 1 ? bounds : Floats{} + kNone;
    }

    void look_into(std::size_t lane, const Marks& marks) {
        const std::uint16_t* codes = rows_.codes[lane];
        const std::uint32_t low = lows_[lane];
        const int shift = shifts_[lane];
        std::vector<std::uint32_t>& keys = scratch_.keys;
        keys.resize(std::max<std::size_t>(keys.size(), rows_.n + kMostSorted));
        std::uint32_t n = 0;
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const std::uint32_t b = (codes[i] - low) >> shift;
            keys[n] = std::uint32_t{codes[i]} << 16 | i;
            n += marks[b / 64] >> (b % 64) & 1;
        }
        sort_keys(n);
        const auto bin_of = [&](std::uint32_t i) { return ((keys[i] >> 16) - low) >> shift; };
        const std::int64_t* bins = scratch_.bins.data() + lane;
        std::int64_t before = 0;
        std::uint32_t next_bin = 0;
        for (std::uint32_t i = 0; i < n;) {
            const std::uint32_t b = bin_of(i);
            for (; next_bin < b; ++next_bin) {
                before += bins[place_of(next_bin)] + bins[place_of(next_bin) + kLanes];
            }
            std::int64_t left = before;
            for (bool goes_on = true; goes_on; ++i) {
                left += node_.words()[keys[i] & 0xFFFF];
                goes_on = i + 1 < n && bin_of(i + 1) == b;
                if (goes_on && keys[i] >> 16 != keys[i + 1] >> 16) {
                    consider(left, lane, keys[i] >> 16);
                }
            }
        }
    }

    void sort_keys(std::uint32_t n) {
        std::uint32_t* keys = scratch_.keys.data();
        if (n > kMostSorted) {
            std::sort(keys, keys + n);
            return;
        }
        const std::size_t room = std::max<std::size_t>(16, std::bit_ceil(n));
        std::fill(keys + n, keys + room, ~0u);
        sort_room<16>(keys, room);
    }

    void consider(std::int64_t left, std::size_t lane, std::uint32_t last_left) {
        const auto sum = static_cast<float>(static_cast<std::int32_t>(left >> 32));
        const float gain = node_.gain(sum, static_cast<float>(left & 0xFFFF));
        if (gain >= top_ - ManyNumbers::slack(top_)) {
            scratch_.near.push_back({gain, static_cast<std::uint32_t>(lane), last_left});
            top_ = std::max(top_, gain);
        }
    }

    // ---- Exact scores

    // Removes the bins whose cuts inside are no longer good enough.
    void add_edges() {
        const float floor = top_ - ManyNumbers::slack(top_);
        std::erase_if(scratch_.near, [&](const LaneBinScratch::Near& cut) { return cut.gain < floor; });
        for (std::uint32_t b = 0; b < n_bins_; ++b) {
            const auto reaches = scratch_.gains[b + 1] >= floor;
            for (std::uint32_t lane = 0; is_any(reaches) && lane < n_lanes(); ++lane) {
                if (reaches[lane] != 0) {
                    const std::uint32_t last_left = lows_[lane] + ((b + 1) << shifts_[lane]) - 1;
                    scratch_.near.push_back({scratch_.gains[b + 1][lane], lane, last_left});
                }
            }
        }
    }

    // Lanes come in the order of their draw.
    void offer_all() {
        for (std::uint32_t lane = 0; lane < n_lanes(); ++lane) {
            FeatureCuts cuts;
            for (const LaneBinScratch::Near& cut : scratch_.near) {
                if (cut.lane == lane) {
                    offer(cuts, left_of(lane, cut.last_left), cut.last_left);
                }
            }
            found_.offer(cuts, lane, rows_.lanes);
        }
    }

    Cell left_of(std::uint32_t lane, std::uint32_t last_left) const {
        const std::uint16_t* codes = rows_.codes[lane];
        Cell left{};
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const Cell cell = labels_.cell(rows_.payloads[i]);
            const std::int64_t goes_left = -std::int64_t{codes[i] <= last_left};  // all bits, or none
            left += {cell.sum & goes_left, cell.weight & goes_left};
        }
        return left;
    }

    void offer(FeatureCuts& cuts, const Cell& left, std::uint32_t last_left) const {
        const std::int64_t balance = scorer_.balance(left);
        cuts.offer({scorer_.score(left), 0.0, static_cast<std::uint64_t>(std::abs(balance)),
                    Candidate::order_of(last_left, false), balance >= 0});
    }

    const Labels& labels_;
    const ManyNumbers& node_;
    const Scorer& scorer_;
    LaneBinScratch& scratch_;
    Rows rows_;
    std::array<std::uint32_t, kLanes> lows_{};
    std::array<int, kLanes> shifts_{};
    bool has_insides_ = false;  // whether some bin may have several codes
    std::uint32_t n_bins_ = 0;  // number of bins of the lane with the most bins
    float top_ = 0;             // the largest approximate gain so far
    LaneCuts found_;
};

}  // namespace weald
