// The first features drawn by two sibling nodes: one run of philox serves both.
//
//   SiblingDraws   the first swaps of both shuffles
//   FewDraw        the first features that a node draws

#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "base/random_block.h"

namespace weald {

// Step v of a shuffle swaps v with this later position.
inline constexpr std::uint32_t kFirstSteps = kPhiloxBlock;
using FirstSteps = std::array<std::uint32_t, kFirstSteps>;

class SiblingDraws {
  public:
    explicit SiblingDraws(std::uint32_t n_features) {
        for (std::uint32_t i = 0; i < kPhiloxBlock; ++i) {
            const std::uint32_t v = 2 * (i % kPairs);
            even_steps_[i] = v;
            n_even_[i] = v < n_features ? n_features - v : 0;
            n_odd_[i] = v + 1 < n_features ? n_features - v - 1 : 0;
        }
    }

    // Of both nodes, one after the other. Steps beyond the last feature are unused.
    using Steps = std::array<FirstSteps, 2>;
    Steps draw(const Address& address, const std::array<std::uint64_t, 2>& ids) const {
        PhiloxLanes lanes{};
        for (std::uint32_t i = 0; i < kPhiloxBlock; ++i) {
            lanes.word0[i] = ids[i / kPairs];
            lanes.word1[i] = ids[i / kPairs] >> 32;
            lanes.word2[i] = address.tree;
            lanes.word3[i] = address.purpose + 256u * (i % kPairs);
        }
        lanes = run_philox(lanes, address.seed);
        const Lanes even = even_steps_ + below(lanes.word0, lanes.word1, n_even_);
        const Lanes odd = even_steps_ + 1 + below(lanes.word2, lanes.word3, n_odd_);
        const Lanes both = even | odd << 32;
        Steps steps;
        static_assert(sizeof steps == sizeof both);
        __builtin_memcpy(&steps, &both, sizeof both);
        return steps;
    }

  private:
    static constexpr std::uint32_t kPairs = kPhiloxBlock / 2;  // pairs of draws for each node

    // floor(bits * n / 2^64), as in base/random.h; the bits are in two words.
    static Lanes below(const Lanes& low, const Lanes& high, const Lanes& n) {
        return (multiply(high, n) + (multiply(low, n) >> 32)) >> 32;
    }

    Lanes even_steps_{};
    Lanes n_even_{};
    Lanes n_odd_{};
};

// Features are few enough for a byte. `first` are the first steps of the node's shuffle; if all features are considered
// they come by column.
class FewDraw {
  public:
    static constexpr std::uint32_t kMostFeatures = 64;

    FewDraw(const Address& address, const FirstSteps& first, std::uint32_t n_features, bool in_order)
        : address_(address), first_(first), n_features_(n_features), in_order_(in_order) {}

    bool is_empty() const { return n_drawn_ == n_features_; }
    std::uint32_t next() {
        const std::uint32_t v = n_drawn_++;
        if (in_order_) {
            return v;
        }
        const std::uint32_t other = v < kFirstSteps ? first_[v] : v + later_step(v);
        const std::uint8_t feature = order_[other];
        order_[other] = order_[v];
        return feature;
    }

  private:
    std::uint32_t later_step(std::uint32_t v) {
        if (v == kFirstSteps || v % draws_.size() == 0) {
            draws_ = draw_block(address_, v / draws_.size() * kPhiloxBlock);
        }
        return static_cast<std::uint32_t>(below(draws_[v % draws_.size()], n_features_ - v));
    }

    static constexpr auto kInOrder = [] {
        std::array<std::uint8_t, kMostFeatures> order{};
        for (std::uint32_t i = 0; i < kMostFeatures; ++i) {
            order[i] = static_cast<std::uint8_t>(i);
        }
        return order;
    }();

    const Address& address_;
    const FirstSteps& first_;
    std::uint32_t n_features_;
    bool in_order_;
    std::uint32_t n_drawn_ = 0;
    std::array<std::uint8_t, kMostFeatures> order_ = kInOrder;
    DrawBlock draws_;
};

}  // namespace weald
