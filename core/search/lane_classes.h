// The best cut of a node of few rows and two classes by several features at once. Each lane of a vector is a feature.
//
// Keys are code << 16 | class << 15 | count, one vector for each row. A network sorts all lanes at once; then the
// counts of the left side are summed from position to position.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "rows/gather.h"
#include "score/labels.h"
#include "search/class_lanes.h"
#include "search/lanes.h"

namespace weald {

template <class Scorer>
class FewClassLanes {
  public:
    using Payload = TwoClasses::Payload;
    static constexpr std::int64_t kMostDraws = 0x7FFF;  // draws in a node: counts fit into a key
    static constexpr std::uint32_t kMostRows = std::min(kMostSorted == 256 ? 128u : 64u, lanes::kMostRows);

    struct Rows {
        const Payload* payloads;
        std::uint32_t n;
        DrawnLanes lanes;  // codes of the others are arbitrary
    };

    FewClassLanes(const Scorer& scorer, ClassLaneScratch& scratch, const Rows& rows)
        : scorer_(scorer), scratch_(scratch), keys_(scratch.keys.data()), rows_(rows) {}

    template <class Code>
    LaneCuts run(const LaneColumns<Code>& codes, TwoClasses::Cell total, double to_beat) {
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const Payload payload = rows_.payloads[i];
            keys_[i] = codes.key(i) | (payload >> 16 << 15 | (payload & 0x7FFFu));
        }
        sort<4, 6, 8, 12, 16, 24, 32, 48, lanes::kMostAtOnce, 128>();
        Keys left{};
        Keys missing{};
        for (std::uint32_t i = 0; i < rows_.n; ++i) {
            const Keys counts = keys_[i] & 0x7FFFu;
            const Keys both = (keys_[i] & 0x8000u) != 0 ? counts << 16 : counts;
            left += both;
            scratch_.lefts[i] = left;
            missing += keys_[i] >> 16 == kMissing<std::uint16_t> ? both : Keys{};
        }
        const Keys* keys = keys_;
        return ClassLanes<Scorer>(scorer_, total, scratch_, rows_.lanes)
            .run(
                rows_.n - 1, missing, to_beat, [keys](std::uint32_t i) { return (keys[i] ^ keys[i + 1]) >> 16 != 0; },
                [keys](std::uint32_t i, std::size_t lane) { return keys[i][lane] >> 16; });
    }

  private:
    using Keys = lanes::Keys;

    // By a network for at least this many rows.
    template <std::size_t N, std::size_t... More>
    void sort() {
        if constexpr (sizeof...(More) != 0) {
            if (rows_.n > N) {
                return sort<More...>();
            }
        }
        if constexpr (N <= lanes::kMostAtOnce && N <= kMostRows) {
            std::fill(keys_ + rows_.n, keys_ + N, ~Keys{});
            lanes::sort<N>(keys_);
        } else if constexpr (N <= kMostRows) {
            lanes::sort_many(keys_, rows_.n);
        } else {
            __builtin_unreachable();
        }
    }

    const Scorer& scorer_;
    ClassLaneScratch& scratch_;
    Keys* keys_;  // sorted, by position
    Rows rows_;
};

}  // namespace weald
