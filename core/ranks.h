// The order of rows that does not depend on where they lie in the table: by (hash of the codes, target, position).
//
//   hash_rows    columns -> a hash for each row
//   rank_rows    hashes, targets -> the row at each rank
//   rank_table   both, and the fingerprint of the training data

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "column.h"
#include "cuts.h"
#include "threads.h"
#include "view.h"

namespace weald {

inline constexpr std::size_t kRowBlock = 4096;  // rows of a task that goes through the table row by row

inline std::size_t n_blocks(std::size_t n_rows) {
    return (n_rows + kRowBlock - 1) / kRowBlock;
}

// How a target enters hashes.
inline std::uint64_t target_bits(const Table& table, std::size_t row) {
    return table.n_classes ? static_cast<std::uint64_t>(table.classes[row]) : value_bits(table.numbers[row]);
}

std::vector<std::uint64_t> hash_rows(const std::vector<Column>& columns, std::size_t n_rows, Work& work);

std::vector<std::uint32_t> rank_rows(const std::vector<std::uint64_t>& hashes, std::span<const std::int32_t> target,
                                     Work& work);
std::vector<std::uint32_t> rank_rows(const std::vector<std::uint64_t>& hashes, std::span<const double> target,
                                     Work& work);

struct Ranking {
    std::vector<std::uint32_t> positions;  // by rank: the row of the table
    std::uint64_t fingerprint = 0;         // of the training data
};

// Of a table whose columns are coded, by row. No target is -0.0.
Ranking rank_table(const Table& table, const std::vector<Column>& columns, Work& work);

}  // namespace weald
