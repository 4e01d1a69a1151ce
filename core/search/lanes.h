// The best cut of a node of few rows by several features at once, in regression. Each lane of a vector is a
// feature.
//
// Keys are code << 16 | row << 8 | count, one vector for each row. A network of minima and maxima sorts all lanes at
// once; then the left side is summed from position to position. Cuts get approximate scores; the few that could be the
// best are scored exactly.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/sort_network.h"
#include "base/vectors.h"
#include "draw/feature_draw.h"
#include "rows/gather.h"
#include "rows/lane_columns.h"
#include "score/candidate.h"
#include "score/scores.h"
#include "search/small_regression_rows.h"

namespace weald {

namespace lanes {

// ---- Sorting

struct Pair {
    std::uint8_t low;
    std::uint8_t high;
};

// Calls use(low, high) for the pairs of Batcher's odd-even merge sort of n keys.
template <class Use>
constexpr void for_pairs(std::size_t n, Use&& use) {
    for (std::size_t run = 1; run < n; run *= 2) {
        for (std::size_t distance = run; distance > 0; distance /= 2) {
            for (std::size_t begin = distance % run; begin + distance < n; begin += 2 * distance) {
                for (std::size_t i = begin; i < std::min(begin + distance, n - distance); ++i) {
                    if (i / (2 * run) == (i + distance) / (2 * run)) {
                        use(i, i + distance);
                    }
                }
            }
        }
    }
}

constexpr std::size_t count_pairs(std::size_t n) {
    std::size_t n_pairs = 0;
    for_pairs(n, [&](std::size_t, std::size_t) { ++n_pairs; });
    return n_pairs;
}

template <std::size_t N>
constexpr auto make_pairs() {
    std::array<Pair, count_pairs(N)> pairs{};
    std::size_t n_pairs = 0;
    for_pairs(N, [&](std::size_t low, std::size_t high) {
        pairs[n_pairs++] = {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high)};
    });
    return pairs;
}

inline void put_in_order(Keys& low, Keys& high) {
    const Keys a = low;
    const Keys b = high;
    low = a < b ? a : b;
    high = a < b ? b : a;
}

// Sorts each lane of N vectors.
template <std::size_t N>
inline void sort(Keys* keys) {
    static constexpr auto kPairs = make_pairs<N>();
    std::array<Keys, N> v;
    std::copy_n(keys, N, v.begin());
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put_in_order(v[kPairs[I].low], v[kPairs[I].high]), ...);
    }(std::make_index_sequence<kPairs.size()>());
    std::copy_n(v.begin(), N, keys);
}

// The last steps of a merge.
inline void merge_sixteen(Keys* keys) {
    std::array<Keys, 16> v;
    std::copy_n(keys, 16, v.begin());
#pragma GCC unroll 4
    for (std::size_t distance = 8; distance > 0; distance /= 2) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i) {
            if ((i & distance) == 0) {
                put_in_order(v[i], v[i + distance]);
            }
        }
    }
    std::copy_n(v.begin(), 16, keys);
}

// Sorts each lane of the first vectors: of all n, or of the largest N.
template <std::size_t N, std::size_t... More>
inline void sort_run(Keys* keys, std::uint32_t n) {
    if constexpr (sizeof...(More) != 0) {
        if (n > N) {
            return sort_run<More...>(keys, n);
        }
    }
    sort<N>(keys);
}

// Sorts each lane of n vectors, with memory for up to the next multiple of 16: in runs, which are merged. A bitonic
// network in which the smaller key always goes to the lower position; entries behind n would be the largest, so they
// are not needed.
inline void sort_many(Keys* keys, std::uint32_t n_rows) {
    const std::uint32_t n = (n_rows + 15) / 16 * 16;
    std::fill(keys + n_rows, keys + n, ~Keys{});
    for (std::uint32_t begin = 0; begin < n; begin += kMostAtOnce) {
        sort_run<16, 32, 48, kMostAtOnce>(keys + begin, n - begin);
    }
    for (std::uint32_t run = kMostAtOnce; run < n; run *= 2) {
        for (std::uint32_t begin = 0; begin + run < n; begin += 2 * run) {
            const std::uint32_t end = std::min(begin + 2 * run, n);
            for (std::uint32_t i = 0; i < end - begin - run; ++i) {
                put_in_order(keys[begin + run - 1 - i], keys[begin + run + i]);
            }
            for (std::uint32_t distance = run / 2; distance >= 16; distance /= 2) {
                for (std::uint32_t from = begin; from + distance < end; from += 2 * distance) {
                    for (std::uint32_t i = from; i < std::min(from + distance, end - distance); ++i) {
                        put_in_order(keys[i], keys[i + distance]);
                    }
                }
            }
            for (std::uint32_t from = begin; from < end; from += 16) {
                merge_sixteen(keys + from);
            }
        }
    }
}

// The index of each lane's row, of a table of N.
template <std::size_t N>
inline Floats fetch(const float* table, const Keys& rows) {
    if constexpr (N > kMostAtOnce) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return Floats{table[rows[I] & 0xFF]...};
        }(std::make_index_sequence<kLanes>());
    } else if constexpr (N <= kLanes) {
        return __builtin_shuffle(vectors::load<Floats>(table), rows);
    } else if constexpr (N <= 2 * kLanes) {
        return __builtin_shuffle(vectors::load<Floats>(table), vectors::load<Floats>(table + kLanes), rows);
    } else {
        constexpr std::uint32_t kHalf = N / 2;
        const Floats low = fetch<kHalf>(table, rows);
        const Floats high = fetch<kHalf>(table + kHalf, rows);
        return (rows & kHalf) != 0 ? high : low;
    }
}

}  // namespace lanes

// The features of the lanes, in the order of their draw.
struct DrawnLanes {
    FeatureDraw& draw;
    std::span<const std::uint32_t> features;

    std::uint32_t n() const { return static_cast<std::uint32_t>(features.size()); }
    // Whether a lane wins a tie against an earlier one.
    bool wins_tie(std::size_t lane, std::size_t earlier) const {
        return draw.wins_tie(features[lane], features[earlier]);
    }
};

// The result: the lanes that can cut the node, and the best cut of all lanes.
struct LaneCuts {
    bool is_done = true;           // false: the rows are not suitable for the search
    std::uint32_t admissible = 0;  // bit by bit
    std::size_t lane = 0;          // the best lane
    FeatureCuts best;

    // Considers the cuts of a lane. Lanes come in the order of their draw. Returns whether they are the best so far.
    bool offer(const FeatureCuts& cuts, std::size_t of_lane, const DrawnLanes& drawn) {
        const bool is_best = cuts.best.score != kNoScore &&
                             cuts.best.beats_earlier_feature(best.best, [&] { return drawn.wins_tie(of_lane, lane); });
        if (is_best) {
            best = cuts;
            lane = of_lane;
        }
        return is_best;
    }
};

// Memory that the search reuses.
struct LaneScratch {
    alignas(64) std::array<lanes::Keys, lanes::kMostRows> keys;
    alignas(64) std::array<std::array<lanes::Floats, lanes::kMostRows>, 2> gains;  // missing right, left
};

template <class Scorer>
    requires kIsSquaredError<typename Scorer::Criterion>
class LaneSearch {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;

    struct Rows {
        const Labels::Payload* payloads;
        std::uint32_t n;
        DrawnLanes lanes;  // codes of the others are arbitrary
    };

    LaneSearch(const Labels& labels, const FewNumbers& node, const Scorer& scorer, LaneScratch& scratch,
               const Rows& rows)
        : labels_(labels),
          node_(node),
          scorer_(scorer),
          keys_(scratch.keys.data()),
          gains_(scratch.gains),
          rows_(rows) {}

    template <class Code>
    LaneCuts run(const LaneColumns<Code>& codes, double to_beat) {
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            keys_[i] = codes.key(i) | (i << 8 | static_cast<std::uint32_t>(node_.counts()[i]));
        }
        Floats tops = sort_and_gain<4, 6, 8, 12, 16, 24, 32, 48, lanes::kMostAtOnce, 256>();
        tops = kNumbers < rows_.lanes.n() ? tops : Floats{} + kNone;
        float top = kNone;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            top = std::max(top, tops[lane]);
        }
        if (top == kNone) {
            return found_;
        }
        found_.admissible = vectors::bits_of(tops > kNone);
        const float floor = node_.floor_below(std::max(top, node_.gain_of(to_beat)));
        for (std::uint32_t near = vectors::bits_of(tops >= floor); near != 0; near &= near - 1) {
            offer_lane(static_cast<std::size_t>(std::countr_zero(near)), floor);
        }
        return found_;
    }

  private:
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::size_t kLanes = lanes::kLanes;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();
    static constexpr std::uint32_t kMissingCode = kMissing<std::uint16_t>;
    static constexpr Keys kNumbers = []<std::size_t... I>(std::index_sequence<I...>) {
        return Keys{I...};
    }(std::make_index_sequence<kLanes>());

    std::uint32_t key(std::uint32_t place, std::size_t lane) const { return keys_[place][lane]; }
    std::uint32_t code(std::uint32_t place, std::size_t lane) const { return key(place, lane) >> 16; }
    Cell cell(std::uint32_t place, std::size_t lane) const {
        return labels_.cell(rows_.payloads[key(place, lane) >> 8 & 0xFF]);
    }

    // By a network for at least this many rows.
    template <std::size_t N, std::size_t... More>
    Floats sort_and_gain() {
        if constexpr (sizeof...(More) != 0) {
            if (rows_.n > N) {
                return sort_and_gain<More...>();
            }
        }
        if constexpr (N <= lanes::kMostRows) {
            if constexpr (N <= lanes::kMostAtOnce) {
                std::fill(keys_ + rows_.n, keys_ + N, ~Keys{});
                lanes::sort<N>(keys_);
            } else {
                lanes::sort_many(keys_, rows_.n);
            }
            Floats tops = gain_all<N>(0, Floats{}, Floats{});
            has_missing_ = keys_[rows_.n - 1] >> 16 == kMissingCode;
            bool has_missing = false;
            for (std::size_t lane = 0; lane < kLanes; ++lane) {
                has_missing |= has_missing_[lane] != 0;
            }
            if (has_missing) {
                const Floats others = gain_missing_left<N>();
                tops = others > tops ? others : tops;
            }
            return tops;
        } else {
            __builtin_unreachable();
        }
    }

    // Approximate gains of the cuts after each position where the code changes, and the maximum of each lane. `left`
    // and `sum` go left in any case.
    template <std::size_t N>
    Floats gain_all(std::size_t side, Floats left, Floats sum) {
        const auto least =
            static_cast<float>(std::max<std::int64_t>({scorer_.limits().min_size, scorer_.limits().min_weight, 1}));
        Floats tops = Floats{} + kNone;
        for (std::uint32_t i = 0; i + 1 < rows_.n; ++i) {
            const Keys keys = keys_[i];
            left += __builtin_convertvector(keys & 0xFF, Floats);
            sum += lanes::fetch<std::bit_ceil(N)>(node_.sums(), keys >> 8);
            const auto is_cut = ((keys ^ keys_[i + 1]) >> 16 != 0) & (left >= least) & (node_.weight() - left >= least);
            const Floats gains = is_cut ? node_.gain(sum, left) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            gains_[side][i] = gains;
        }
        return tops;
    }

    // Missing is the largest code, so missing rows come last.
    template <std::size_t N>
    Floats gain_missing_left() {
        Floats left{};
        Floats sum{};
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const auto is_missing = keys_[i] >> 16 == kMissingCode;
            left += is_missing ? __builtin_convertvector(keys_[i] & 0xFF, Floats) : Floats{};
            sum += is_missing ? lanes::fetch<std::bit_ceil(N)>(node_.sums(), keys_[i] >> 8) : Floats{};
        }
        return gain_all<N>(1, left, sum);
    }

    // Whether a cut has the same sides as the best so far: then it has the same score, and can only win a tie.
    bool is_known(const Cell& left) const { return left == best_left_ || left == best_right_; }

    // Scores the cuts of a lane that could be the best exactly. Lanes come in the order of their draw.
    void offer_lane(std::size_t lane, float floor) {
        FeatureCuts cuts;
        cuts.has_missing = has_missing_[lane] != 0;
        offer_cuts(cuts, lane, floor, {}, false);
        if (cuts.has_missing) {
            Cell missing{};
            for (std::uint32_t i = 0; i < rows_.n; ++i) {
                missing += code(i, lane) == kMissingCode ? cell(i, lane) : Cell{};
            }
            offer_cuts(cuts, lane, floor, missing, true);
        }
        if (found_.offer(cuts, lane, rows_.lanes)) {
            best_left_ = left_of_lane_;
            best_right_ = scorer_.rest(left_of_lane_);
        }
    }

    void offer_cuts(FeatureCuts& cuts, std::size_t lane, float floor, Cell left, bool missing_left) {
        std::uint32_t next = 0;
        for (std::uint32_t i = 0; i + 1 < rows_.n; ++i) {
            if (gains_[missing_left][i][lane] >= floor) {
                for (; next <= i; ++next) {
                    left += cell(next, lane);
                }
                if (is_known(left) && !rows_.lanes.wins_tie(lane, found_.lane)) {
                    continue;
                }
                const bool is_last = code(i + 1, lane) == kMissingCode;  // no present code goes right
                const std::uint64_t order =
                    is_last ? Candidate::kPresentAgainstMissing : Candidate::order_of(code(i, lane), missing_left);
                const std::int64_t balance = scorer_.balance(left);
                const Candidate cut{scorer_.score(left), 0.0, static_cast<std::uint64_t>(std::abs(balance)), order,
                                    balance >= 0};
                if (cut.beats(cuts.best)) {
                    cuts.best = cut;
                    left_of_lane_ = left;
                }
            }
        }
    }

    const Labels& labels_;
    const FewNumbers& node_;
    const Scorer& scorer_;
    Keys* keys_;  // sorted, by position
    std::array<std::array<Floats, lanes::kMostRows>, 2>& gains_;
    Rows rows_;
    LaneCuts found_;
    Cell best_left_{};  // the sides of the best cut
    Cell best_right_{};
    Cell left_of_lane_{};  // left side of the best cut of the current lane
    Keys has_missing_{};
};

}  // namespace weald
