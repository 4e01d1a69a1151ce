// The best cut of a node of many rows and two classes by several features at once, for codes of one byte.
//
// Every code has a bin. A row is one word, and is added to one bin of each feature, directly from the table: its codes
// are not gathered first.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "score/labels.h"
#include "search/class_lanes.h"
#include "search/lanes.h"

namespace weald {

// Minimum number of rows for which counting is faster than sorting.
inline constexpr std::uint32_t kLeastCounted = std::min<std::uint32_t>(64, kMostSorted) + 1;

// Adds word_of(row) to a bin of each of N features. The bins of a feature are Step apart, those of features Stride.
template <std::size_t N, std::size_t Step, std::size_t Stride, class WordOf, class Word>
void add_to_bins(const LaneColumns<std::uint8_t>& codes, const WordOf& word_of, Word* bins) {
    const auto columns = codes.columns;
    [&]<std::size_t... Lane>(std::index_sequence<Lane...>) {
        for (std::uint32_t i = 0; i < codes.ids.size(); ++i) {
            const std::uint32_t id = codes.ids[i];
            const Word word = word_of(i);
            ((bins[columns[Lane][id] * Step + Lane * Stride] += word), ...);
        }
    }(std::make_index_sequence<N>());
}

template <std::size_t Step, std::size_t Stride, std::size_t N = lanes::kLanes, class WordOf, class Word>
void fill_bins(std::size_t n_lanes, const LaneColumns<std::uint8_t>& codes, const WordOf& word_of, Word* bins) {
    if constexpr (N > 1) {
        if (n_lanes < N) {
            return fill_bins<Step, Stride, N - 1>(n_lanes, codes, word_of, bins);
        }
    }
    add_to_bins<N, Step, Stride>(codes, word_of, bins);
}

// For counts of two bytes.
template <class Scorer>
class LaneCountSearch {
  public:
    using Cell = TwoClasses::Cell;
    using Payload = TwoClasses::Payload;

    LaneCountSearch(const Scorer& scorer, ClassLaneScratch& scratch, const DrawnLanes& lanes)
        : scorer_(scorer), scratch_(scratch), lanes_(lanes) {}

    LaneCuts run(const LaneColumns<std::uint8_t>& codes, const Payload* payloads, Cell total, double to_beat) {
        const auto counts_of = [payloads](std::uint32_t i) {
            return (payloads[i] & TwoClasses::kMaxCount) << (payloads[i] >> 16) * 16;
        };
        fill_bins<lanes::kLanes, 1>(lanes_.n(), codes, counts_of, scratch_.bins.data());
        Keys left{};
        for (std::size_t b = 0; b < kMissingBin; ++b) {
            left += bin(b);
            scratch_.lefts[b] = left;
        }
        const LaneCuts cuts =
            ClassLanes<Scorer>(scorer_, total, scratch_, lanes_)
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
    DrawnLanes lanes_;
};

// For wider counts. The features are counted together, then searched one after the other: search(bins, to_beat) finds
// the cuts of one, whose last bin is for missing values.
template <class Search>
LaneCuts search_wide_counts(const LaneColumns<std::uint8_t>& codes, const TwoClasses::Payload* payloads,
                            const DrawnLanes& lanes, ClassLaneScratch& scratch, double to_beat, const Search& search) {
    const auto cell_of = [payloads](std::uint32_t i) { return TwoClasses::cell(payloads[i]); };
    fill_bins<1, kMostPlaces>(lanes.n(), codes, cell_of, scratch.cells.data());
    LaneCuts found;
    for (std::size_t lane = 0; lane < lanes.n(); ++lane) {
        const std::span<const TwoClasses::Cell> bins(scratch.cells.data() + lane * kMostPlaces, kMostPlaces);
        const FeatureCuts cuts = search(bins, std::max(to_beat, found.best.best.score));
        found.admissible |= std::uint32_t{cuts.is_admissible} << lane;
        found.offer(cuts, lane, lanes);
    }
    scratch.cells.fill(0);
    return found;
}

}  // namespace weald
