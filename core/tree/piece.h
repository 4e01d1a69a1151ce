// A piece of a tree: several processes without shared memory grow one tree.
//
// A split puts the rows of its left child before those of its right child. So nodes in pre-order begin at rows in
// ascending order, and those that begin in one range of the tree's rows are consecutive: they are a piece. To find
// them, only nodes with rows of this range must be split. All others are left as leaves; they belong to other pieces.
// Few nodes have rows of several pieces, but one of them is the root.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tree/node.h"

namespace weald {

struct Piece {
    std::uint32_t number = 0;
    std::uint32_t n_pieces = 1;
    std::optional<std::size_t> begin = {};  // first node of the piece, when known
    std::optional<std::size_t> end = {};    // the node behind its last one

    bool has_rows_of(const Node& node, std::uint32_t n_rows) const {
        return node.begin < first_row(number + 1, n_rows) && node.end > first_row(number, n_rows);
    }
    // Nodes come in pre-order; `n_before` were written before this one.
    void meet(const Node& node, std::uint32_t n_rows, std::size_t n_before) {
        if (!begin && node.begin >= first_row(number, n_rows)) {
            begin = n_before;
        }
        if (!end && number + 1 < n_pieces && node.begin >= first_row(number + 1, n_rows)) {
            end = n_before;
        }
    }
    void finish(std::size_t n_nodes) {
        begin = begin.value_or(n_nodes);
        end = end.value_or(n_nodes);
    }

  private:
    std::uint32_t first_row(std::uint32_t piece, std::uint32_t n_rows) const {
        return static_cast<std::uint32_t>(std::uint64_t{n_rows} * piece / n_pieces);
    }
};

}  // namespace weald
