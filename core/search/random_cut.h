// One random cut of a node by a feature: between the smallest and the largest value of the node, or at a random
// position in a random order of its categories.
//
// The draw has the address of the node and the feature, so it depends on nothing else. A second draw gives the side of
// missing values. If all present values are equal, the cut separates them from the missing ones.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/random.h"
#include "coding/codes.h"
#include "draw/bag.h"
#include "rows/gather.h"
#include "score/monotonic.h"
#include "search/searched_model.h"

namespace weald {

// A random threshold between a < b, so that a goes left and b goes right. Infinities count as the largest double.
inline double place_at_random(double a, double b, std::uint64_t bits) {
    constexpr double largest = std::numeric_limits<double>::max();
    const double a_half = std::max(a, -largest) / 2;
    const double b_half = std::min(b, largest) / 2;
    const double share = static_cast<double>(bits >> 11) * 0x1p-53;
    const double t = 2 * (a_half + share * (b_half - a_half));
    return a <= t && t < b ? t : a;
}

// Finds codes by values. Every 64th smallest value is stored separately: these few stay in the cache, and are usually
// enough.
class ValueIndex {
  public:
    static constexpr std::uint32_t kBlock = 64;

    explicit ValueIndex(const Column& column)
        : lows_(column.lows), highs_(column.upper()), n_(static_cast<std::uint32_t>(column.lows.size())) {
        for (std::uint32_t code = 0; code < n_; code += kBlock) {
            starts_.push_back(lows_[code]);
        }
    }

    // Prefetches the values at both ends of a range.
    void prefetch(const CodeRange& range) const {
        highs_.prefetch(range.low);
        lows_.prefetch(range.high);
    }
    double low(std::uint32_t code) const { return lows_[code]; }
    double high(std::uint32_t code) const { return highs_[code]; }

    // The block of the last code whose smallest value is at most t, for low(begin) <= t < low(end).
    std::uint32_t block_of(double t, std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t block = begin / kBlock;
        for (std::uint32_t n = end / kBlock - block; n != 0;) {
            const std::uint32_t half = (n + 1) / 2;
            const auto is_beyond = static_cast<std::uint32_t>(-(starts_[block + half] <= t));  // all bits, or none
            block += half & is_beyond;
            n = ((n - half) & is_beyond) | ((half - 1) & ~is_beyond);
        }
        return block;
    }
    // The code itself.
    std::uint32_t last_up_to(double t, std::uint32_t block) const {
        std::uint32_t code = block * kBlock;
        for (std::uint32_t n = std::min(n_ - code, kBlock) - 1; n != 0;) {
            const std::uint32_t half = (n + 1) / 2;
            const bool is_beyond = lows_[code + half] <= t;
            code += is_beyond ? half : 0;
            n = is_beyond ? n - half : half - 1;
        }
        return code;
    }
    // A threshold at t, or at the end of the code that contains t.
    double threshold(double t) const {
        return &highs_ == &lows_ ? t : std::max(t, highs_[last_up_to(t, block_of(t, 0, n_ - 1))]);
    }

  private:
    const Values& lows_;
    const Values& highs_;  // empty if each code has one value
    std::uint32_t n_;
    std::vector<double> starts_;
};

// The last code of a node that is left of t.
template <class Code>
std::uint32_t last_left_of(const ValueIndex& values, double t, const CodeRange& range, const Code* codes,
                           std::uint32_t n) {
    constexpr std::uint32_t few_rows = 128;
    const std::uint32_t block = values.block_of(t, range.low, range.high);
    const std::uint32_t begin = block * ValueIndex::kBlock;
    if (n > few_rows) {
        return values.last_up_to(t, block);
    }
    bool is_inside = false;
    for (std::uint32_t i = 0; i < n; ++i) {
        is_inside |= codes[i] - begin < ValueIndex::kBlock;
    }
    return is_inside ? values.last_up_to(t, block) : begin - 1;  // the lowest code is left of t: before the block
}

// A feature with a random cut: its codes have been gathered, and not all of them are equal.
struct PendingCut {
    std::uint32_t feature;
    int buffer;
    CodeRange range;

    static bool is_of_use(const CodeRange& range) {
        return range.low < range.high || (range.low == range.high && range.n_missing != 0);
    }
};

// The cut after the code `last_left`, which is the only one if all present values are equal. `side` is the draw for
// missing values.
template <class Code, SearchedModel Model>
RuledCuts judge_drawn(Model& model, const Direction& direction, const CodeRange& range, const Code* codes,
                      const typename Model::Payload* payloads, std::uint32_t n, Code last_left, std::uint64_t side) {
    RuledCuts found;
    found.is_constant = false;
    found.cuts.has_missing = range.n_missing != 0;
    std::uint64_t order = Candidate::kPresentAgainstMissing;
    bool missing_left = false;
    if (range.low != range.high) {
        missing_left = range.n_missing != 0 && below(side, 2) == 1;
        order = Candidate::order_of(last_left, missing_left);
    }
    auto&& left = model.nothing();
    if (range.n_missing == 0) {
        for (std::uint32_t i = 0; i < n; ++i) {
            model.move(left, payloads[i], codes[i] <= last_left);
        }
    } else {
        for (std::uint32_t i = 0; i < n; ++i) {
            const bool is_missing = codes[i] == kMissing<Code>;
            model.move(left, payloads[i], (codes[i] <= last_left) | (missing_left & is_missing));
        }
    }
    const std::optional<Candidate> cut = model.judge(left, order);
    if (!cut) {
        return found;
    }
    if (direction.sign != 0 && !cut->cuts_off_missing()) {
        const SideValues sides = model.values(left);
        if (!direction.admits(sides)) {
            return found;
        }
        found.middle = sides.middle();
    }
    found.cuts.is_admissible = true;
    found.cuts.best = *cut;
    return found;
}

// `place` and `side` are the draws for the threshold and for missing values.
template <class Code, SearchedModel Model>
RuledCuts search_random(Model& model, const Direction& direction, const ValueIndex& values, const CodeRange& range,
                        const Code* codes, const typename Model::Payload* payloads, std::uint32_t n,
                        std::uint64_t place, std::uint64_t side) {
    double threshold = 0;
    std::uint32_t last_left = range.low;
    if (range.low != range.high) {
        threshold = place_at_random(values.high(range.low), values.low(range.high), place);
        last_left = last_left_of(values, threshold, range, codes, n);
    }
    RuledCuts found = judge_drawn(model, direction, range, codes, payloads, n, static_cast<Code>(last_left), side);
    found.threshold = threshold;
    return found;
}

}  // namespace weald
