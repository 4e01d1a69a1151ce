// Bags: how often each row counts in a tree. Recomputed from the seed whenever they are wanted, never stored.

#pragma once

#include <cstdint>
#include <vector>

#include "codes.h"

namespace weald {

enum Purpose : std::uint32_t { kPurposeBag = 0, kPurposeFeatures = 1 };

// Draws rows with replacement: each draw picks a place on the line of weights, rows laid out in rank order.
class BagDrawer {
  public:
    explicit BagDrawer(const Codes& codes);

    // How often each rank was drawn.
    std::vector<std::uint32_t> draw(std::uint64_t n_draws, std::uint64_t seed, std::uint32_t tree) const;

  private:
    std::uint32_t rank_at(std::uint64_t place) const;

    std::uint32_t n_rows_;
    std::uint64_t length_;
    std::vector<std::uint64_t> ends_;   // of the rows on the line; empty: all weights are one
    std::vector<std::uint32_t> guide_;  // guide_[i]: the row at place i * step_
    std::uint64_t step_ = 1;
};

}  // namespace weald
