// The nodes of a small subtree in pre-order, before they are appended to a tree.

#pragma once

#include <array>
#include <cstdint>

#include "grow/small_rows.h"
#include "score/criteria.h"
#include "score/labels.h"
#include "tree/tree.h"
#include "tree/tree_parts.h"

namespace weald {

struct FewNodes {
    using Cell = CountedNumbers::Cell;
    static constexpr std::uint32_t kMost = 2 * SmallRows::kMost - 1;

    std::uint32_t n = 0;
    std::array<std::int32_t, kMost> feature;
    std::array<CutCodes, kMost> beside;
    std::array<std::int32_t, kMost> right;  // relative to the first of these nodes; 0 in leaves
    std::array<std::uint8_t, kMost> flags;
    std::array<std::uint32_t, kMost> size;
    std::array<double, kMost> decrease;
    std::array<Cell, kMost> totals;
    std::array<Int128, kMost> squares;  // squares of leaves

    void write_leaf(const Cell& total, Int128 squares_of_targets) {
        const std::uint32_t number = write(total);
        feature[number] = -1;
        beside[number] = {};
        flags[number] = 0;
        decrease[number] = 0;
        squares[number] = squares_of_targets;
    }

    struct Divided {
        std::uint32_t feature;
        CutCodes beside;
        bool missing_left;
        double decrease;
    };
    // Returns the index of the node. Its left child is the next one.
    std::uint32_t write_split(const Cell& total, const Divided& by) {
        const std::uint32_t number = write(total);
        feature[number] = static_cast<std::int32_t>(by.feature);
        beside[number] = by.beside;
        flags[number] = by.missing_left ? kMissingLeft : 0;
        decrease[number] = by.decrease;
        squares[number] = 0;
        return number;
    }

    // The next node is the right child of an earlier one.
    void link(std::uint32_t parent) { right[parent] = static_cast<std::int32_t>(n); }

  private:
    std::uint32_t write(const Cell& total) {
        const std::uint32_t number = n++;
        right[number] = 0;
        size[number] = static_cast<std::uint32_t>(total.weight);
        totals[number] = total;
        return number;
    }
};

}  // namespace weald
