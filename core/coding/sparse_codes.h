// Codes of a sparse table, column by column: zeros are only counted, never read.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_pages.h"
#include "base/threads.h"
#include "base/view.h"
#include "coding/column.h"

namespace weald {

// The stored cells of a sparse table, by row and by column. All other cells of a column have the same code.
struct Filled {
    struct Cell {
        std::uint32_t rank;
        std::uint32_t code;  // all bits: missing
    };

    std::vector<std::uint64_t> row_starts;     // by rank; empty: the table is not sparse
    std::vector<std::uint32_t> features;       // those of rank r are row_starts[r] ... row_starts[r + 1] - 1
    std::vector<std::uint32_t> row_codes;      // codes of these features
    std::vector<std::uint64_t> column_starts;  // indexed by feature
    std::vector<Cell> cells;                   // ascending by rank in each column
    std::vector<std::uint32_t> zero_codes;     // indexed by feature

    bool is_empty() const { return row_starts.empty(); }
    std::span<const std::uint32_t> features_of(std::uint32_t rank) const {
        return {features.data() + row_starts[rank], features.data() + row_starts[rank + 1]};
    }
    std::span<const Cell> cells_of(std::uint32_t feature) const {
        return {cells.data() + column_starts[feature], cells.data() + column_starts[feature + 1]};
    }
};

// How columns are binned.
struct SparseCoding {
    std::size_t n_rows;
    const std::vector<std::uint8_t>& sampled;  // rows from which quantiles are computed; empty: all
    const std::vector<std::uint64_t>& line;    // weights of the rows; empty: all one
    std::uint32_t max_bins;
};

std::vector<Column> code_sparse_columns(const Sparse& by_column, const SparseCoding& coding, Work& work);

// The hash that determines the sample, row by row.
LargeVector<std::uint64_t> hash_sparse_rows(const Sparse& by_column, std::span<const std::uint64_t> targets);

// For columns whose codes are by rank.
Filled list_filled(const Sparse& by_column, const std::vector<Column>& columns,
                   const std::vector<std::uint32_t>& positions, Work& work);

}  // namespace weald
