// Bags: how often each row counts in a tree. Recomputed from the seed when needed, never stored.
//
//   Line        a line of consecutive weights on which draws are positions
//   BagDrawer   draws rows or groups of rows with replacement, from each stratum a given number

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "coding/codes.h"
#include "draw/tree_params.h"

namespace weald {

enum Purpose : std::uint32_t { kPurposeBag = 0, kPurposeFeatures = 1, kPurposeCuts = 2, kPurposeMix = 16 };

class Line {
  public:
    // Of n units of length one.
    explicit Line(std::uint32_t n) : n_(n), length_(n) {}
    explicit Line(const std::vector<std::uint64_t>& lengths);

    std::uint64_t length() const { return length_; }
    std::uint32_t unit_at(std::uint64_t place) const;

  private:
    std::uint32_t n_;
    std::uint64_t length_;
    std::vector<std::uint64_t> ends_;   // empty: all lengths are one
    std::vector<std::uint32_t> index_;  // index_[i]: the unit at position i * step_
    std::uint64_t step_ = 1;
};

class BagDrawer {
  public:
    BagDrawer(const Codes& codes, const Growth& growth);

    // How often each rank counts in a tree; without bootstrap, its number of copies.
    std::vector<std::uint32_t> sizes(std::uint64_t seed, std::uint32_t tree) const;

  private:
    struct Stratum {
        std::uint64_t n_draws;
        std::vector<std::uint32_t> units;  // in rank order; empty: all of them
        Line line;
    };

    std::vector<std::uint32_t> draw(std::uint64_t seed, std::uint32_t tree) const;
    void add_stratum(std::uint64_t n_draws, std::vector<std::uint32_t> units);
    std::vector<std::uint32_t> strata_of_units(const Growth& growth) const;
    std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& of_groups) const;

    const Codes& codes_;
    bool bootstrap_;
    std::uint32_t n_units_;  // rows, or groups
    std::vector<Stratum> strata_;
};

// A tree whose bag is drawn again.
struct Drawn {
    const Growth* growth;
    std::uint64_t seed;
    std::uint32_t tree;
};

// Which rows are out of the bags of some trees, 64 at most: for each row of the table a bit for each tree.
std::vector<std::uint64_t> draw_out_of_bag(const Codes& codes, std::span<const Drawn> trees, Work& work);

}  // namespace weald
