// The best cut of a node of a small subtree, many features at once.
//
// As in search/lanes.h: sorted keys are code << 16 | position << 8 | count, approximate gains follow, and the few cuts
// that could be the best are scored exactly. Two features that divide the rows in the same way have the same score,
// which is computed once. Categories are put in order by their means, one feature after the other.
//
//   SmallCut          a cut
//   SmallCategories   the categories of a node, in order
//   SmallScratch      memory that the search reuses
//   SmallSearch       finds the best cut

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "base/vectors.h"
#include "draw/tie_keys.h"
#include "grow/small_rows.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/criteria.h"
#include "score/scores.h"
#include "search/lanes.h"
#include "tree/thresholds.h"
#include "tree/tree_parts.h"

namespace weald {

struct SmallCut {
    double offered = kNoScore;  // the score that is compared with other features: by chance, it is larger
    double score = kNoScore;
    std::uint32_t parts = 0;   // the rows of the side that contains the first row; 0: of a score that is reduced
    std::uint32_t number = 0;  // position of the feature in the order of the draw
    std::uint32_t feature = 0;
    std::uint32_t rows_left = 0;
    SmallRows::Cell left;
    CutCodes beside;
    std::uint64_t order = 0;  // among the cuts of its feature, as in a Candidate
    bool has_missing = false;

    bool cuts_off_missing() const { return order == Candidate::kPresentAgainstMissing; }
};

// The categories of some rows by one feature, which are put in the order of their means.
struct SmallCategories {
    struct Category {
        double share;
        std::uint32_t code;
        std::uint32_t rows;
        SmallRows::Cell sum;

        bool operator<(const Category& other) const {
            return share != other.share ? share < other.share : code < other.code;
        }
    };

    std::uint32_t n = 0;
    std::array<Category, SmallRows::kMost> sorted;
    std::uint32_t missing_rows = 0;
    SmallRows::Cell missing;

    // `slots`: kNoSlot for each category, as it will be afterwards.
    static constexpr std::uint8_t kNoSlot = 0xFF;
    void read(const SmallRows& from, std::uint32_t rows, std::uint32_t feature, std::vector<std::uint8_t>& slots) {
        n = 0;
        missing_rows = 0;
        missing = {};
        for (; rows != 0; rows &= rows - 1) {
            const auto row = static_cast<std::uint32_t>(std::countr_zero(rows));
            if (from.is_missing(row, feature)) {
                missing_rows |= 1u << row;
                missing += from.cell(row);
                continue;
            }
            const std::uint32_t code = from.code(row, feature);
            if (slots[code] == kNoSlot) {
                slots[code] = static_cast<std::uint8_t>(n);
                sorted[n++] = {0, code, 0, {}};
            }
            Category& category = sorted[slots[code]];
            category.rows |= 1u << row;
            category.sum += from.cell(row);
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            slots[sorted[i].code] = kNoSlot;
            sorted[i].share = static_cast<double>(sorted[i].sum.sum) / static_cast<double>(sorted[i].sum.weight);
        }
    }
    void sort() {
        for (std::uint32_t i = 1; i < n; ++i) {
            const Category category = sorted[i];
            std::uint32_t at = i;
            for (; at > 0 && category < sorted[at - 1]; --at) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = category;
        }
    }
};

// By position in the order of each lane.
struct SmallScratch {
    struct Side {
        alignas(64) std::array<lanes::Floats, SmallRows::kMost> gains;
        alignas(64) std::array<lanes::Floats, SmallRows::kMost> lefts;  // weight on the left
        alignas(64) std::array<lanes::Keys, SmallRows::kMost> rows_left;
    };
    alignas(64) std::array<lanes::Keys, SmallRows::kMost> keys;
    std::array<Side, 2> sides;                  // missing values right, left
    std::array<SmallCategories, 2> categories;  // those of the best cut so far, and others
    std::vector<std::uint8_t> slots;            // SmallCategories::kNoSlot by category
};

class SmallSearch {
  public:
    using Cell = SmallRows::Cell;
    using Scorer = NumberScorer<CountedNumbers, SquaredError>;

    struct Of {
        std::uint32_t rows;     // the node
        std::int64_t weight;    // weight of all rows
        double sum_of_squares;  // about their mean, from which approximate sums are measured
    };

    // `keys` decide ties between features; null: the one drawn earlier wins.
    SmallSearch(const SmallRows& rows, const Scorer& scorer, const Of& node, SmallScratch& scratch, TieKeys* keys)
        : rows_(rows),
          scorer_(scorer),
          scratch_(scratch),
          keys_(keys),
          node_(node.rows),
          n_(static_cast<std::uint32_t>(std::popcount(node.rows))),
          weight_(static_cast<float>(node.weight)),
          // Each of up to 32 float additions has an error of up to 2^-24 of the sum; it matters more if one side has
          // little weight.
          slack_(
              static_cast<float>(node.sum_of_squares * std::sqrt(static_cast<double>(node.weight)) * 2 * kNearness)) {}

    // Evaluates some features. Returns the lanes that can cut the node.
    std::uint32_t look_at(const LaneFeatures& features) {
        rows_.fill_keys(node_, features, scratch_.keys.data());
        return search<3, 4, 6, 8, 12, 16, 24, 32>(features);
    }

    // The same for a categorical feature. `noise_of` is the expected gain by chance of a cut by a number of categories.
    enum class Verdict { is_constant, is_noise, counts };
    template <class NoiseOf>
    Verdict look_at_categories(std::uint32_t feature, std::uint32_t number, const NoiseOf& noise_of) {
        SmallCategories& categories = scratch_.categories[1 - kept_];
        categories.read(rows_, node_, feature, scratch_.slots);
        if (categories.n + (categories.missing_rows != 0) < 2) {
            return Verdict::is_constant;
        }
        categories.sort();
        const SmallCut cut = best_of(categories, feature, number);
        const double noise = noise_of(categories.n);
        if (noise > 0 && cut.score - noise <= scorer_.undivided()) {
            return Verdict::is_noise;
        }
        offer_whole(cut, noise);
        return Verdict::counts;
    }

    // Nothing: no feature counts.
    std::optional<SmallCut> best() const { return best_.offered == kNoScore ? std::nullopt : std::optional(best_); }
    // If the best cut is by categories.
    const SmallCategories& categories() const { return scratch_.categories[kept_]; }

  private:
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::size_t kLanes = lanes::kLanes;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();

    // By a network for at least this many rows.
    template <std::size_t N, std::size_t... More>
    std::uint32_t search(const LaneFeatures& features) {
        if constexpr (sizeof...(More) != 0) {
            if (n_ > N) {
                return search<More...>(features);
            }
        }
        if constexpr (N > SmallRows::kMost) {
            __builtin_unreachable();
        } else {
            return search_sorted<N>(features);
        }
    }

    template <std::size_t N>
    std::uint32_t search_sorted(const LaneFeatures& features) {
        for (std::size_t i = 0; i < N; ++i) {
            scratch_.keys[i] = i < n_ ? scratch_.keys[i] : ~Keys{};
        }
        lanes::sort<N>(scratch_.keys.data());
        Floats tops = gain_all<N>();
        is_missing_ = scratch_.keys[n_ - 1] >> 16 == kMissing<std::uint16_t>;
        const bool has_missing = (vectors::bits_of(is_missing_ != 0) & features.all()) != 0;
        if (has_missing) {
            const Floats others = gain_missing_left();
            tops = others > tops ? others : tops;
        }
        const std::uint32_t admissible = features.all() & vectors::bits_of(tops > kNone);
        if (admissible == 0) {
            return 0;
        }
        float top = kNone;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            top = lane < features.n ? std::max(top, tops[lane]) : top;
        }
        if (best_.offered != kNoScore) {
            constexpr double kUnit = SmallRows::kScale * SmallRows::kScale;
            top = std::max(top, static_cast<float>((best_.offered - scorer_.undivided()) * kUnit));
        }
        const float floor = top - std::abs(top) * static_cast<float>(kNearness) - slack_;
        offer_near<N>(features, floor);
        if (has_missing) {
            offer_near_missing_left(features, floor);
        }
        return admissible;
    }

    // Approximate gains of the cuts after each position, and the maximum of each lane. After the last row there is no
    // cut.
    template <std::size_t N>
    Floats gain_all() {
        const float weight = weight_;
        Floats left{};
        Floats sum{};
        Keys rows{};
        Floats tops = Floats{} + kNone;
#pragma GCC unroll 16
        for (std::size_t i = 0; i + 1 < N; ++i) {
            const Keys keys = scratch_.keys[i];
            left += __builtin_convertvector(keys & 0xFF, Floats);
            sum += lanes::fetch<SmallRows::kMost>(rows_.near_sums(), keys >> 8);
            rows |= (Keys{} + 1) << (keys >> 8 & (SmallRows::kMost - 1));
            const auto is_cut = ((keys ^ scratch_.keys[i + 1]) >> 16 != 0) & (left < weight);
            const Floats gains = is_cut ? sum * sum * weight / (left * (weight - left)) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            scratch_.sides[0].gains[i] = gains;
            scratch_.sides[0].lefts[i] = left;
            scratch_.sides[0].rows_left[i] = rows;
        }
        return tops;
    }

    // The same with missing values on the left, which have the largest key; only for lanes that have some.
    Floats gain_missing_left() {
        Floats left{};
        Floats sum{};
        Keys rows{};
        const auto add = [&](const Keys& keys, const auto& is_added) {
            left += is_added ? __builtin_convertvector(keys & 0xFF, Floats) : Floats{};
            sum += is_added ? lanes::fetch<SmallRows::kMost>(rows_.near_sums(), keys >> 8) : Floats{};
            rows |= is_added ? (Keys{} + 1) << (keys >> 8 & (SmallRows::kMost - 1)) : Keys{};
        };
        for (std::uint32_t i = 0; i < n_; ++i) {
            add(scratch_.keys[i], scratch_.keys[i] >> 16 == kMissing<std::uint16_t>);
        }
        Floats tops = Floats{} + kNone;
        for (std::uint32_t i = 0; i + 1 < n_; ++i) {
            const Keys keys = scratch_.keys[i];
            add(keys, keys >> 16 != kMissing<std::uint16_t>);
            const auto is_cut = ((keys ^ scratch_.keys[i + 1]) >> 16 != 0) & (left < weight_) & (is_missing_ != 0);
            const Floats gains = is_cut ? sum * sum * weight_ / (left * (weight_ - left)) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            scratch_.sides[1].gains[i] = gains;
            scratch_.sides[1].lefts[i] = left;
            scratch_.sides[1].rows_left[i] = rows;
        }
        return tops;
    }

    // Computes exact scores of the cuts that could be the best.
    template <std::size_t N>
    void offer_near(const LaneFeatures& features, float floor) {
        constexpr std::size_t kPlacesOfWord = 64 / kLanes;
        for (std::size_t begin = 0; begin + 1 < N; begin += kPlacesOfWord) {
            std::uint64_t near = 0;  // a bit for each lane of each position
            for (std::size_t i = begin; i < std::min(begin + kPlacesOfWord, N - 1); ++i) {
                const std::uint64_t bits = vectors::bits_of(scratch_.sides[0].gains[i] >= floor) & features.all();
                near |= bits << (kLanes * (i - begin));
            }
            for (; near != 0; near &= near - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(near));
                offer(features, begin + bit / kLanes, bit % kLanes, 0);
            }
        }
    }

    void offer_near_missing_left(const LaneFeatures& features, float floor) {
        for (std::uint32_t i = 0; i + 1 < n_; ++i) {
            std::uint32_t near = vectors::bits_of(scratch_.sides[1].gains[i] >= floor) & features.all();
            for (; near != 0; near &= near - 1) {
                offer(features, i, static_cast<std::uint32_t>(std::countr_zero(near)), 1);
            }
        }
    }

    // Neither positions nor lanes come in order.
    void offer(const LaneFeatures& features, std::size_t place, std::uint32_t lane, std::size_t missing_left) {
        const SmallScratch::Side& side = scratch_.sides[missing_left];
        const std::uint32_t code = scratch_.keys[place][lane] >> 16;
        const std::uint32_t next = scratch_.keys[place + 1][lane] >> 16;
        SmallCut cut;
        cut.number = features.place_of(lane);
        cut.feature = features.of(lane);
        cut.rows_left = side.rows_left[place][lane];
        cut.parts = parts_of(cut.rows_left);
        cut.has_missing = is_missing_[lane] != 0;
        const bool is_last = next == kMissing<std::uint16_t>;  // no present code goes right
        cut.beside = is_last ? CutCodes{0, kNothingAbove} : CutCodes{code, next};
        cut.order = is_last ? Candidate::kPresentAgainstMissing : Candidate::order_of(code, missing_left != 0);
        if (cut.parts == best_.parts) {
            if (cut.number == best_.number || !wins_tie(cut.feature, cut.number)) {
                return;
            }
            cut.left = cut.rows_left == best_.rows_left ? best_.left : scorer_.rest(best_.left);
            cut.score = best_.score;
        } else {
            cut.left = {rows_.sum_of(cut.rows_left), static_cast<std::int64_t>(side.lefts[place][lane])};
            cut.score = scorer_.score(cut.left);
            if (cut.score < best_.offered || (cut.score == best_.offered && !wins_tie(cut))) {
                return;
            }
        }
        cut.offered = cut.score;
        best_ = cut;
    }

    // The best cut of a feature by its categories.
    SmallCut best_of(const SmallCategories& categories, std::uint32_t feature, std::uint32_t number) const {
        SmallCut best;
        Candidate best_cut;
        SmallCut cut;
        cut.number = number;
        cut.feature = feature;
        cut.has_missing = categories.missing_rows != 0;
        const auto offer_to_best = [&](std::uint64_t order) {
            const std::int64_t balance = scorer_.balance(cut.left);
            const Candidate candidate{scorer_.score(cut.left), 0.0, static_cast<std::uint64_t>(std::abs(balance)),
                                      order, balance >= 0};
            if (candidate.beats(best_cut)) {
                best_cut = candidate;
                best = cut;
                best.score = candidate.score;
                best.order = order;
            }
        };
        SmallRows::Cell left;
        std::uint32_t rows_left = 0;
        const auto put = [&](const SmallRows::Cell& also, std::uint32_t also_rows) {
            cut.left = left + also;
            cut.rows_left = rows_left | also_rows;
        };
        for (std::uint32_t place = 0; place < categories.n; ++place) {
            left += categories.sorted[place].sum;
            rows_left |= categories.sorted[place].rows;
            const bool is_last = place + 1 == categories.n;
            if (!is_last || cut.has_missing) {
                put({}, 0);
                offer_to_best(is_last ? Candidate::kPresentAgainstMissing : Candidate::order_of(place, false));
            }
            if (!is_last && cut.has_missing) {
                put(categories.missing, categories.missing_rows);
                offer_to_best(Candidate::order_of(place, true));
            }
        }
        best.parts = parts_of(best.rows_left);
        best.beside = {0, best.cuts_off_missing() ? kNothingAbove : 0};
        return best;
    }

    // The best cut of a categorical feature, compared with those of others.
    void offer_whole(SmallCut cut, double noise) {
        cut.offered = cut.score - noise;
        if (noise > 0) {
            cut.parts = 0;
        }
        const bool is_best = best_.offered == kNoScore || cut.offered > best_.offered ||
                             (cut.offered == best_.offered && wins_tie(cut.feature, cut.number));
        if (is_best) {
            best_ = cut;
            kept_ = 1 - kept_;
        }
    }

    std::uint32_t parts_of(std::uint32_t rows_left) const {
        const std::uint32_t first = node_ & (~node_ + 1);
        return (rows_left & first) != 0 ? rows_left : node_ ^ rows_left;
    }

    // Against the best cut of another feature: the smaller key wins, or the feature drawn earlier.
    bool wins_tie(std::uint32_t feature, std::uint32_t number) const {
        return keys_ ? keys_->of(feature) < keys_->of(best_.feature) : number < best_.number;
    }
    // Next, the more even cut wins, then the earlier one.
    bool wins_tie(const SmallCut& cut) const {
        if (cut.number != best_.number) {
            return wins_tie(cut.feature, cut.number);
        }
        const std::int64_t unevenness = std::abs(scorer_.balance(cut.left));
        const std::int64_t best_unevenness = std::abs(scorer_.balance(best_.left));
        return unevenness != best_unevenness ? unevenness < best_unevenness : cut.order < best_.order;
    }

    const SmallRows& rows_;
    const Scorer& scorer_;
    SmallScratch& scratch_;
    TieKeys* keys_;
    std::uint32_t node_;  // rows of the side
    std::uint32_t n_;     // number of rows
    float weight_;
    float slack_;
    Keys is_missing_{};       // lanes with missing values
    std::uint32_t kept_ = 0;  // the categories of the best cut
    SmallCut best_;
};

}  // namespace weald
