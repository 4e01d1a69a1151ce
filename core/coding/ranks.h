// An order of rows that is independent of the order in the table: by (hash of the codes, target, position).
//
//   for_blocks   blocks of rows, on all threads
//   hash_rows    columns -> a hash for each row
//   print_row    hash, target -> the contribution of the row to the fingerprint of the training data
//   rank_rows    hashes, targets -> the row at each rank
//   rank_table   ranks a coded table and computes the fingerprint of the training data

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/large_pages.h"
#include "base/random.h"
#include "base/threads.h"
#include "base/view.h"
#include "coding/column.h"
#include "coding/cuts.h"

namespace weald {

inline constexpr std::size_t kRowBlock = 4096;  // rows of a task that goes through the table row by row

// Calls use(block, begin, end) for blocks of rows. A single block runs without threads.
template <class Use>
void for_blocks(std::size_t n_rows, std::size_t block_rows, Work& work, const Use& use) {
    const auto run = [&](std::size_t block, std::size_t) {
        use(block, block * block_rows, std::min(n_rows, (block + 1) * block_rows));
    };
    const std::size_t n = (n_rows + block_rows - 1) / block_rows;
    if (n == 1) {
        run(0, 0);
    } else if (n > 1) {
        work.run(n, run);
    }
}

using RowHashes = LargeVector<std::uint64_t>;  // one integer per row

// The contribution of a target to hashes.
inline std::uint64_t target_bits(const Table& table, std::size_t row) {
    return table.task() == Task::classification ? static_cast<std::uint64_t>(table.classes[row])
                                                : value_bits(table.numbers[row]);
}

// The contribution of a row of weight 1 to the fingerprint of the training data. mix64(0) is 0, and a row whose hash
// and target are 0 must count, too.
constexpr std::uint64_t kPrintSalt = 0x9E3779B97F4A7C15;
inline std::uint64_t print_row(std::uint64_t hash, std::uint64_t target) {
    return mix64(hash + mix64(target) + kPrintSalt);
}

RowHashes hash_rows(const std::vector<Column>& columns, std::size_t n_rows, Work& work);

std::vector<std::uint32_t> rank_rows(const RowHashes& hashes, std::span<const std::int32_t> target, Work& work);
std::vector<std::uint32_t> rank_rows(const RowHashes& hashes, std::span<const double> target, Work& work);

struct Ranking {
    std::vector<std::uint32_t> positions;  // by rank: the row of the table
    std::uint64_t fingerprint = 0;         // fingerprint of the training data as codes
    std::optional<std::uint64_t> values;   // fingerprint of its values, where the caller knows it
};

// For a table whose columns have been coded, by row. No target is -0.0.
Ranking rank_table(const Table& table, const std::vector<Column>& columns, Work& work);

}  // namespace weald
