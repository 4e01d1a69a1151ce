// Keys for ties between features, if a node considers all of them: the smaller key wins.
//
// One draw of the node gives every feature a key, so that no column wins more ties than another. It is computed on
// first use: most nodes of many rows have no ties.

#pragma once

#include <bit>
#include <cstdint>

#include "base/random.h"
#include "base/random_block.h"

namespace weald {

class TieKeys {
  public:
    void begin(const Address& address) {
        address_ = address;
        is_drawn_ = false;
    }
    // Keys are distinct: mix64 is a bijection.
    std::uint64_t of(std::uint32_t feature) { return mix64(word() + feature); }
    // Of features feature, feature + 1 ...
    Lanes of_block(std::uint32_t feature) { return mix64_lanes(kPlaces + (word() + feature)); }

    // The feature with the smallest key, from a non-empty set of up to 64 features.
    std::uint32_t least_of(std::uint64_t features) {
        auto first = static_cast<std::uint32_t>(std::countr_zero(features));
        if (std::has_single_bit(features)) {
            return first;
        }
        const auto end = static_cast<std::uint32_t>(std::bit_width(features));
        Lanes least = ~Lanes{};
        Lanes at = Lanes{} + first;
        for (std::uint32_t f = 0; f < end; f += kPhiloxBlock) {
            const Lanes keys = of_block(f);
            const auto is_less = (keys < least) & ((features >> (kPlaces + f) & 1) != 0);
            least = is_less ? keys : least;
            at = is_less ? kPlaces + f : at;
        }
        return at_least(least, at);
    }

    static constexpr Lanes kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};

    // The value in `at` at the lane of the smallest word.
    static std::uint32_t at_least(const Lanes& words, const Lanes& at) {
        std::uint32_t lane = 0;
        for (std::uint32_t i = 1; i < kPhiloxBlock; ++i) {
            lane = words[i] < words[lane] ? i : lane;
        }
        return static_cast<std::uint32_t>(at[lane]);
    }

  private:
    std::uint64_t word() {
        if (!is_drawn_) {
            word_ = draw(address_, 0);
            is_drawn_ = true;
        }
        return word_;
    }

    Address address_{};
    std::uint64_t word_ = 0;
    bool is_drawn_ = false;
};

}  // namespace weald
