// The best cut of a node of few rows by one feature, in regression.
//
// Keys are code << 16 | row << 8 | count. After sorting, cuts get approximate scores, many at a time; the few that
// could be the best are scored exactly.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/scores.h"
#include "search/small_regression_rows.h"

namespace weald {

template <class Scorer>
    requires kIsSquaredError<typename Scorer::Criterion>
class FewNumbersSearch {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;
    using Payload = Labels::Payload;

    // There must be memory for kMostSorted codes and payloads behind the first ones.
    struct Rows {
        const std::uint16_t* codes;
        const Payload* payloads;
        std::uint32_t n;
    };

    // `to_beat` is the best score of features drawn earlier: cuts below it need not be found, only whether one exists.
    FewNumbersSearch(const Labels& labels, const FewNumbers& node, const Scorer& scorer, const Rows& rows,
                     double to_beat)
        : labels_(labels), node_(node), scorer_(scorer), rows_(rows), to_beat_(to_beat) {}

    FeatureCuts run(const Cell& total) {
        sort_rows();
        std::uint32_t n_present = rows_.n;
        Cell missing{};
        float missing_sum = 0;
        while (n_present > 0 && code(n_present - 1) == kMissing<std::uint16_t>) {
            --n_present;
            missing += cell(n_present);
            missing_sum += node_.sums()[row(n_present)];
        }
        found_.has_missing = n_present < rows_.n;
        if (n_present == 0 || (!found_.has_missing && code(0) == code(n_present - 1))) {
            return found_;
        }
        sum_up(n_present);
        cut(n_present - 1, {}, 0, false);
        if (found_.has_missing) {
            cut(n_present - 1, missing, missing_sum, true);
            const Cell present = total - missing;
            if (scorer_.is_admissible(present)) {
                found_.is_admissible = true;
                offer(present, Candidate::kPresentAgainstMissing);
            }
        }
        return found_;
    }

  private:
    using Keys = vectors::Keys;
    using Floats = vectors::Floats;
    static constexpr std::size_t kLanes = vectors::kLanes;

    std::uint32_t code(std::uint32_t i) const { return keys_[i] >> 16; }
    std::uint32_t row(std::uint32_t i) const { return keys_[i] >> 8 & 0xFF; }
    Cell cell(std::uint32_t i) const { return labels_.cell(rows_.payloads[row(i)]); }

    void sort_rows() {
        const std::size_t room = std::max<std::size_t>(16, std::bit_ceil(rows_.n));
        for (std::uint32_t i = 0; i < room; i += kLanes) {
            const Keys codes = __builtin_convertvector(vectors::load<vectors::Codes>(rows_.codes + i), Keys);
            const Keys counts = __builtin_convertvector(vectors::load<Floats>(node_.counts() + i), Keys);
            const Keys keys = codes << 16 | (vectors::kNumbers + i) << 8 | counts;
            vectors::store(vectors::kNumbers + i < rows_.n ? keys : ~Keys{}, keys_.data() + i);
        }
        sort_room<16>(keys_.data(), room);
    }

    // Weights and sums of the rows up to each position.
    void sum_up(std::uint32_t n) {
        for (std::uint32_t i = 0; i < n; ++i) {
            sums_[i] = node_.sums()[row(i)];
        }
        Floats weight{};
        Floats sum{};
        for (std::uint32_t i = 0; i < n; i += kLanes) {
            const Keys counts = vectors::load<Keys>(keys_.data() + i) & 0xFFu;
            const Floats weights = weight + __builtin_convertvector(vectors::running_sums<1>(counts), Floats);
            const Floats sums = sum + vectors::running_sums<1>(vectors::load<Floats>(sums_.data() + i));
            vectors::store(weights, weights_.data() + i);
            vectors::store(sums, sums_.data() + i);
            weight = vectors::last_everywhere(weights);
            sum = vectors::last_everywhere(sums);
        }
    }

    // Cuts after each of the first n_cuts keys where the code changes, with the missing rows on the left or not.
    void cut(std::uint32_t n_cuts, const Cell& missing, float missing_sum, bool missing_left) {
        const auto missing_weight = static_cast<float>(missing.weight);
        const float least =
            static_cast<float>(std::max<std::int64_t>({scorer_.limits().min_size, scorer_.limits().min_weight, 1}));
        constexpr float none = -std::numeric_limits<float>::infinity();
        Floats tops = Floats{} + none;
        for (std::uint32_t i = 0; i < n_cuts; i += kLanes) {
            const Floats left = vectors::load<Floats>(weights_.data() + i) + missing_weight;
            const Floats sum = vectors::load<Floats>(sums_.data() + i) + missing_sum;
            const Keys changes = vectors::load<Keys>(keys_.data() + i) ^ vectors::load<Keys>(keys_.data() + i + 1);
            const auto is_cut = (changes >> 16 != 0) & (vectors::kNumbers + i < n_cuts) & (left >= least) &
                                (node_.weight() - left >= least);
            const Floats gains = is_cut ? node_.gain(sum, left) : Floats{} + none;
            tops = gains > tops ? gains : tops;
            vectors::store(gains, gains_.data() + i);
        }
        const float top = vectors::greatest<kLanes / 2>(tops);
        if (top == none) {
            return;
        }
        found_.is_admissible = true;
        const float floor = node_.floor_below(std::max(top, node_.gain_of(std::max(found_.best.score, to_beat_))));
        if (top < floor) {
            return;
        }
        Cell left = missing;
        std::uint32_t next = 0;
        for (std::uint32_t i = 0; i < n_cuts; ++i) {
            if (gains_[i] >= floor) {
                for (; next <= i; ++next) {
                    left += cell(next);
                }
                offer(left, Candidate::order_of(code(i), missing_left));
            }
        }
    }

    void offer(const Cell& left, std::uint64_t order) {
        const std::int64_t balance = scorer_.balance(left);
        found_.offer({scorer_.score(left), 0.0, static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0});
    }

    const Labels& labels_;
    const FewNumbers& node_;
    const Scorer& scorer_;
    Rows rows_;
    double to_beat_;
    FeatureCuts found_;
    alignas(64) std::array<std::uint32_t, kMostSorted + 16> keys_;
    alignas(64) std::array<float, kMostSorted> weights_;
    alignas(64) std::array<float, kMostSorted> sums_;
    alignas(64) std::array<float, kMostSorted> gains_;
};

}  // namespace weald
