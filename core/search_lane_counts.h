// The best cut of a node of many rows and two classes by several features at once, where codes have one byte.
//
// Every code has a bin. A row is one word, and is added to one bin of each feature, straight from the table: its codes
// are not gathered first.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "class_lanes.h"
#include "labels.h"
#include "search_lanes.h"
#include "sort_network.h"
#include "vectors.h"

namespace weald {

// Rows from which on counting is quicker than sorting.
inline constexpr std::uint32_t kLeastCounted = std::min<std::uint32_t>(64, kMostSorted) + 1;

// Where the codes of the features of each lane are, as Code: those of a node's row stand at its id. A missing code has
// all bits of a byte set.
template <class Code>
struct LaneColumns {
    std::array<const Code*, lanes::kLanes> columns;
    std::span<const std::uint32_t> ids;
};

// Adds what word_of(row) says to a bin of each of N features. The bins of a feature are Step apart, those of features
// Stride.
template <std::size_t N, std::size_t Step, std::size_t Stride, class Code, class WordOf, class Word>
void add_to_bins(const LaneColumns<Code>& codes, const WordOf& word_of, Word* bins) {
    const auto columns = codes.columns;
    [&]<std::size_t... Lane>(std::index_sequence<Lane...>) {
        for (std::uint32_t i = 0; i < codes.ids.size(); ++i) {
            const std::uint32_t id = codes.ids[i];
            const Word word = word_of(i);
            ((bins[static_cast<std::uint8_t>(columns[Lane][id]) * Step + Lane * Stride] += word), ...);
        }
    }(std::make_index_sequence<N>());
}

template <std::size_t Step, std::size_t Stride, std::size_t N = lanes::kLanes, class Code, class WordOf, class Word>
void fill_bins(std::size_t n_lanes, const LaneColumns<Code>& codes, const WordOf& word_of, Word* bins) {
    if constexpr (N > 1) {
        if (n_lanes < N) {
            return fill_bins<Step, Stride, N - 1>(n_lanes, codes, word_of, bins);
        }
    }
    add_to_bins<N, Step, Stride>(codes, word_of, bins);
}

template <class Scorer>
class LaneCountSearch {
  public:
    using Cell = TwoClasses::Cell;
    using Payload = TwoClasses::Payload;

    LaneCountSearch(const Scorer& scorer, ClassLaneScratch& scratch, std::uint32_t n_lanes)
        : scorer_(scorer), scratch_(scratch), n_lanes_(n_lanes) {}

    template <class Code>
    LaneCuts run(const LaneColumns<Code>& codes, const Payload* payloads, Cell total, double to_beat) {
        const auto counts_of = [payloads](std::uint32_t i) {
            return (payloads[i] & TwoClasses::kMaxCount) << (payloads[i] >> 16) * 16;
        };
        fill_bins<lanes::kLanes, 1>(n_lanes_, codes, counts_of, scratch_.bins.data());
        Keys left{};
        for (std::size_t b = 0; b < kMissingBin; ++b) {
            left += bin(b);
            scratch_.lefts[b] = left;
        }
        const LaneCuts cuts =
            ClassLanes<Scorer>(scorer_, total, scratch_, n_lanes_)
                .run(
                    kMissingBin, bin(kMissingBin), to_beat, [this](std::uint32_t b) { return bin(b) != 0; },
                    [](std::uint32_t b, std::size_t) { return b; });
        scratch_.bins.fill(0);
        return cuts;
    }

  private:
    using Keys = lanes::Keys;
    static constexpr std::uint32_t kMissingBin = 255;

    Keys bin(std::size_t b) const { return vectors::load<Keys>(scratch_.bins.data() + b * lanes::kLanes); }

    const Scorer& scorer_;
    ClassLaneScratch& scratch_;
    std::uint32_t n_lanes_;
};

}  // namespace weald
