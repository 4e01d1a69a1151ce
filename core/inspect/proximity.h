// Proximities: rows that share leaves.
//
// Each queried row is in one leaf of each tree. A leaf has members, each with a weight. The proximity of a row and a
// member is the sum of the member's weights over the leaves of the row, in tree order.
//
//   add_shares     for each queried row: its members and the sums, or only the largest ones
//   square_shares  for each queried row: the sum of squares over members of its class
//
// Queried rows that share many leaves are processed together, one per lane: the members of a leaf are read once for all
// of them. Members are processed in tiles, so that their sums stay in a cache.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"

namespace weald {

struct Sharing {
    std::size_t n_rows;                        // number of queried rows
    std::size_t n_members;                     // rows that may be members of leaves
    std::span<const std::int32_t> leaves;      // queried rows x trees: node of the tree; -1: the tree does not count
    std::span<const std::int64_t> tree_start;  // by tree: its first node
    std::span<const std::int64_t> start;       // by node of all trees, and the end: its first member
    std::span<const std::uint32_t> member;     // ascending inside a leaf
    std::span<const double> share;             // by member of a leaf; empty: 1
    // Bits of the trees that count for each row, words x rows; if given, queried rows and members are the same rows,
    // and sums are divided by the number of trees that count for both.
    std::span<const std::uint64_t> counting;

    std::size_t n_trees() const { return tree_start.size() - 1; }
    std::size_t n_words() const { return (n_trees() + 63) / 64; }
};

struct SharedRows {
    std::vector<std::int64_t> start;   // by queried row, and the end
    std::vector<std::int32_t> member;  // ascending inside a row
    std::vector<double> sum;
};

// Keeps the k largest sums of each row, on a tie those of the first members; k = 0: all.
SharedRows add_shares(const Sharing& sharing, std::size_t k, Work& work);

std::vector<double> square_shares(const Sharing& sharing, std::span<const std::int32_t> kind_of_row,
                                  std::span<const std::int32_t> kind_of_member, Work& work);

}  // namespace weald
