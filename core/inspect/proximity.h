// Rows that share leaves: how much does each row have in common with others?
//
// Each asked row is in one leaf of each tree. A leaf has members, each with a share. What a row and a member have in
// common is the sum of the member's shares over the leaves that the row is in, in tree order.
//
//   add_shares     for each asked row: its members and the sums, or only the largest ones
//   square_shares  for each asked row: the sum of squares over members of its kind
//
// Asked rows are taken together that share many leaves, one to a lane: the members of a leaf are read once for all of
// them. Members are taken some at a time, so that their sums stay in a cache.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"

namespace weald {

struct Sharing {
    std::size_t n_rows;                        // that are asked
    std::size_t n_members;                     // rows that may be members of leaves
    std::span<const std::int32_t> leaves;      // asked rows x trees: node of the tree; -1: the tree does not count
    std::span<const std::int64_t> tree_start;  // by tree: its first node
    std::span<const std::int64_t> start;       // by node of all trees, and the end: its first member
    std::span<const std::uint32_t> member;     // ascending inside a leaf
    std::span<const double> share;             // by member of a leaf; empty: 1
    // Bits of the trees that count for each row, words x rows; if given, asked rows and members are the same rows, and
    // sums are divided by the number of trees that count for both.
    std::span<const std::uint64_t> counting;

    std::size_t n_trees() const { return tree_start.size() - 1; }
    std::size_t n_words() const { return (n_trees() + 63) / 64; }
};

struct SharedRows {
    std::vector<std::int64_t> start;   // by asked row, and the end
    std::vector<std::int32_t> member;  // ascending inside a row
    std::vector<double> sum;
};

// Keeps the k largest sums of each row, of equal ones the first members; k = 0: all.
SharedRows add_shares(const Sharing& sharing, std::size_t k, Work& work);

std::vector<double> square_shares(const Sharing& sharing, std::span<const std::int32_t> kind_of_row,
                                  std::span<const std::int32_t> kind_of_member, Work& work);

}  // namespace weald
