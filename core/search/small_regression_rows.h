// A regression node of few rows, prepared for approximate scores.
//
// With targets centered at the node's mean, the gain of a cut is A * A * W / (L * R): A is the sum of the left side, L
// and R are the weights of the sides, W is the node's. In float, with A scaled so that nothing overflows, this is an
// approximate gain, which determines the cuts that need the exact score.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "score/labels.h"
#include "score/scores.h"

namespace weald {

class FewNumbers {
  public:
    static constexpr std::int64_t kMostDraws = 0x7FFF;
    static constexpr std::int64_t kMostCount = 0xFF;  // maximum count of a row

    // Loads the rows of a node; `whole` is the mean rounded down, `undivided` the score without a cut. Returns whether
    // they are suitable. Targets may be large and differ by little: integers are subtracted first.
    bool look_at(const CountedNumbers& labels, const CountedNumbers::Payload* payloads, std::uint32_t n,
                 const CountedNumbers::Cell& total, std::int64_t whole, double undivided) {
        if (n > kMostSorted || total.weight > kMostDraws) {
            return false;
        }
        const auto above = static_cast<double>(total.sum - whole * total.weight);
        const double rest = above / static_cast<double>(total.weight);
        const auto distance = [&](CountedNumbers::Payload payload) {
            return static_cast<double>(labels.number(payload) - whole) - rest;
        };
        double reach = 1;
        std::int64_t most = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            reach = std::max(reach, std::abs(distance(payloads[i])));
            most = std::max(most, labels.count(payloads[i]));
        }
        const double scale = scale_of(reach);
        double squares = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const auto count = static_cast<double>(labels.count(payloads[i]));
            const double number = distance(payloads[i]) * scale;
            counts_[i] = static_cast<float>(count);
            sums_[i] = static_cast<float>(number * count);
            squares += number * number * count;
        }
        weight_ = static_cast<float>(total.weight);
        undivided_ = undivided;
        unit_ = scale * scale;
        slack_ = squares * std::sqrt(static_cast<double>(total.weight)) * kNearness;
        return most <= kMostCount;
    }

    float weight() const { return weight_; }
    const float* counts() const { return counts_.data(); }
    const float* sums() const { return sums_.data(); }

    template <class Floats>
    Floats gain(const Floats& sum, const Floats& left) const {
        return sum * sum * weight_ / (left * (weight_ - left));
    }
    float gain_of(double score) const { return static_cast<float>((score - undivided_) * unit_); }
    // The minimum of an approximate gain that can be as good as a given one. Sums over some hundred rows lose a few
    // bits of A, and the less weight one side has, the more this matters.
    float floor_below(float gain) const {
        return gain - std::abs(gain) * static_cast<float>(kNearness) - static_cast<float>(slack_);
    }

  private:
    // The power of two that scales x >= 1 to a number from 1/2 to 1: the negated exponent.
    static double scale_of(double x) {
        const std::uint64_t exponent = std::bit_cast<std::uint64_t>(x) >> 52;  // 1023 more than that of the first digit
        return std::bit_cast<double>((2 * 1023 - 1 - exponent) << 52);
    }

    alignas(64) std::array<float, kMostSorted> counts_{};
    alignas(64) std::array<float, kMostSorted> sums_{};  // count * (number - mean), scaled
    float weight_ = 0;
    double undivided_ = 0;
    double unit_ = 0;  // unit of gains, in scores
    double slack_ = 0;
};

}  // namespace weald
