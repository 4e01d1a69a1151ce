// A tally: sums over the sorted rows of a small node from the left, stored at each position, so that all cuts can get
// approximate scores, many at a time. For criteria whose sums take one step per row.
//
//   begin         starts with the rows of some keys on the left
//   move, keep    a key's row goes left; the sums at this position
//   near          approximate scores after some positions, in a unit of the tally
//   measure       a score in that unit
//   floor_below   the lowest approximate score whose exact score can be as good
//   score         the score of the contract, after a position; positions increase from call to call
//
// Keys are code << 16 | slot of the class << 8 | count.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/sort_network.h"
#include "base/vectors.h"
#include "score/criteria.h"
#include "score/scores.h"
#include "search/sweep.h"

namespace weald {

namespace few {

inline constexpr std::uint32_t kMostSlots = 0x100;
inline constexpr unsigned kCountBits = 8;
inline constexpr std::uint32_t kMostCount = (1u << kCountBits) - 1;  // maximum count of a row

inline std::uint32_t code_of(std::uint32_t key) {
    return key >> 16;
}
inline std::uint32_t slot_of(std::uint32_t key) {
    return key >> kCountBits & 0xFF;
}
inline std::uint32_t count_of(std::uint32_t key) {
    return key & kMostCount;
}

}  // namespace few

template <class Criterion>
class Tally;

template <class Criterion>
inline constexpr bool kHasTally = requires { Tally<Criterion>::kMostDraws; };

// With L and T the counts of a class on the left and in the node, both sides' sums of squares follow from two sums:
// that of L * L, and that of T * L.
template <>
class Tally<Gini> {
  public:
    static constexpr std::int64_t kMostDraws = 0x7FFF;  // draws in a node: its sums of squares fit 32 bits

    explicit Tally(const ClassTotals& totals) : totals_(totals), weight_(static_cast<std::uint32_t>(totals.weight)) {
        for (const std::uint64_t t : totals.weights) {
            squares_ += static_cast<std::uint32_t>(t * t);
        }
    }

    void begin(const std::uint32_t*, std::span<const std::uint32_t> left) {
        std::fill_n(left_.begin(), totals_.weights.size(), 0u);
        sums_ = {};
        for (const std::uint32_t key : left) {
            move(key);
        }
    }
    void move(std::uint32_t key) {
        const std::uint32_t n = few::count_of(key);
        std::uint32_t& left = left_[few::slot_of(key)];
        sums_.weight += n;
        sums_.squares += n * (2 * left + n);
        sums_.products += n * static_cast<std::uint32_t>(totals_.weights[few::slot_of(key)]);
        left += n;
    }
    void keep(std::uint32_t i) {
        weights_[i] = sums_.weight;
        squares_left_[i] = sums_.squares;
        products_[i] = sums_.products;
    }

    const std::uint32_t* weights() const { return weights_.data(); }
    vectors::Floats near(std::uint32_t i) const {
        const auto left = vectors::load<vectors::Keys>(weights_.data() + i);
        const auto squares = vectors::load<vectors::Keys>(squares_left_.data() + i);
        const auto right_squares = squares + squares_ - 2 * vectors::load<vectors::Keys>(products_.data() + i);
        return to_floats(squares) / to_floats(left) + to_floats(right_squares) / to_floats(weight_ - left);
    }
    static double measure(double score) { return score; }
    float floor_below(double near) const {
        return static_cast<float>(near - std::abs(near) * kNearness - static_cast<double>(weight_) * kNearness);
    }

    double score(std::uint32_t i) {
        const std::uint32_t right_squares = squares_left_[i] + squares_ - 2 * products_[i];
        return static_cast<double>(squares_left_[i]) / static_cast<double>(weights_[i]) +
               static_cast<double>(right_squares) / static_cast<double>(weight_ - weights_[i]);
    }

  private:
    // The counts on the left: their sum, the sum of L * L and the sum of T * L.
    struct Sums {
        std::uint32_t weight = 0;
        std::uint32_t squares = 0;
        std::uint32_t products = 0;
    };

    // Counts and sums of squares are below 2^31.
    static vectors::Floats to_floats(vectors::Keys keys) {
        typedef std::int32_t Ints __attribute__((vector_size(sizeof(vectors::Keys))));
        return __builtin_convertvector(reinterpret_cast<const Ints&>(keys), vectors::Floats);
    }

    const ClassTotals& totals_;
    std::uint32_t weight_;
    std::uint32_t squares_ = 0;
    Sums sums_;
    std::array<std::uint32_t, few::kMostSlots> left_;  // indexed by slot
    alignas(64) std::array<std::uint32_t, kMostSorted> weights_;
    alignas(64) std::array<std::uint32_t, kMostSorted> squares_left_;
    alignas(64) std::array<std::uint32_t, kMostSorted> products_;
};

// The sum of F over the classes of both sides changes by one class at a time. Gains are stored instead of scores (the
// gain is the score minus that of the undivided node): they are small, so their errors in single precision are small.
template <>
class Tally<Entropy> {
  public:
    static constexpr std::int64_t kMostDraws = kKnownLogs - 1;  // draws in a node: F is looked up

    explicit Tally(const ClassTotals& totals)
        : totals_(totals),
          known_(known_x_log2_x()),
          weight_(static_cast<std::uint32_t>(totals.weight)),
          undivided_(Entropy::term(ManyWeights{totals.weights, totals.weight})) {}

    void begin(const std::uint32_t* keys, std::span<const std::uint32_t> left) {
        keys_ = keys;
        left_first_ = left;
        n_counted_ = 0;
        left_weight_ = 0;
        sum_ = known_[weight_];
        for (std::size_t slot = 0; slot < totals_.weights.size(); ++slot) {
            const auto total = static_cast<std::uint32_t>(totals_.weights[slot]);
            slots_[slot] = {known_[total], 0, total};
        }
        for (const std::uint32_t key : left) {
            move(key);
        }
    }
    void move(std::uint32_t key) {
        Slot& slot = slots_[few::slot_of(key)];
        const std::uint32_t n = few::count_of(key);
        slot.left += n;
        slot.right -= n;
        left_weight_ += n;
        const double term = known_[slot.left] + known_[slot.right];
        sum_ += term - slot.term;
        slot.term = term;
    }
    void keep(std::uint32_t i) {
        weights_[i] = left_weight_;
        gains_[i] = static_cast<float>(sum_ - (known_[left_weight_] + known_[weight_ - left_weight_]));
    }

    const std::uint32_t* weights() const { return weights_.data(); }
    vectors::Floats near(std::uint32_t i) const { return vectors::load<vectors::Floats>(gains_.data() + i); }
    double measure(double score) const { return score - undivided_; }
    // A move and a keep round four sums that are below 2 F(weight), and there are fewer than 2^9 of them: that is less
    // than 2^-41 F(weight).
    float floor_below(double near) const {
        return static_cast<float>(near - std::abs(near) * kNearness - known_[weight_] * 0x1p-38);
    }

    double score(std::uint32_t i) {
        if (n_counted_ == 0) {
            std::fill_n(left_.begin(), totals_.weights.size(), 0);
            count(left_first_);
        }
        count({keys_ + n_counted_, keys_ + i + 1});
        n_counted_ = i + 1;
        std::transform(totals_.weights.begin(), totals_.weights.end(), left_.begin(), right_.begin(), std::minus<>());
        return term(left_, weights_[i]) + term(right_, weight_ - weights_[i]);
    }

  private:
    struct Slot {
        double term;  // F of both sides' counts
        std::uint32_t left;
        std::uint32_t right;
    };
    using Counts = std::array<std::uint64_t, few::kMostSlots>;

    void count(std::span<const std::uint32_t> keys) {
        for (const std::uint32_t key : keys) {
            left_[few::slot_of(key)] += few::count_of(key);
        }
    }
    double term(const Counts& counts, std::uint64_t weight) const {
        return Entropy::term(ManyWeights{{counts.data(), totals_.weights.size()}, weight});
    }

    const ClassTotals& totals_;
    const double* known_;
    std::uint32_t weight_;
    double undivided_;
    const std::uint32_t* keys_ = nullptr;
    std::span<const std::uint32_t> left_first_;
    std::uint32_t n_counted_ = 0;  // keys that are counted in left_
    std::uint32_t left_weight_ = 0;
    double sum_ = 0;  // of F over the classes of both sides, minus that of the node; and F(weight)
    std::array<Slot, few::kMostSlots> slots_;
    Counts left_;
    Counts right_;
    alignas(64) std::array<std::uint32_t, kMostSorted> weights_;
    alignas(64) std::array<float, kMostSorted> gains_;
};

}  // namespace weald
