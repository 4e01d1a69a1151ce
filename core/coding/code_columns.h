// Coding the columns of a table.

#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "coding/column.h"

namespace weald {

struct ColumnCoding {
    const std::vector<bool>& categorical;      // by column; empty: no column is
    const std::vector<std::uint8_t>& sampled;  // by row: whether quantiles are computed from it; empty: from all
    const std::vector<std::uint64_t>& line;    // by row: its weight; empty: all one
    std::uint32_t max_bins;                    // 0: every distinct value is a code
    std::size_t n_trees = 0;                   // number of trees grown from these codes in one call; 0 if unknown
};

// Codes by row of the table. If the number of trees is known, values may be left out.
std::vector<Column> code_columns(const Matrix& x, const ColumnCoding& coding, Work& work);

// Number of columns that are read at a time, and their values, one column after the other.
std::size_t count_read_at_once(const Matrix& x, std::size_t n_threads);
template <class Float>
void read_columns(const Matrix& x, std::size_t first, std::size_t n, std::vector<Float>& values) {
    values.resize(n * x.n_rows);
    for (std::size_t r = 0; r < x.n_rows; ++r) {
        for (std::size_t j = 0; j < n; ++j) {
            values[j * x.n_rows + r] = x.at<Float>(r, first + j);
        }
    }
}

}  // namespace weald
