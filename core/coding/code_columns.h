// The columns of a table to codes.

#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "coding/column.h"

namespace weald {

struct ColumnCoding {
    const std::vector<bool>& categorical;      // by column; empty: no column is
    const std::vector<std::uint8_t>& sampled;  // by row: whether quantile codes are cut from it; empty: from all
    const std::vector<std::uint64_t>& line;    // by row: what it weighs; empty: all one
    std::uint32_t max_bins;                    // 0: every distinct value is a code
    std::size_t n_trees = 0;                   // that will be grown at once, and then no more; 0: who knows?
};

// Codes by row of the table. Where it is known how many trees will be grown, values may be left out.
std::vector<Column> code_columns(const Matrix& x, const ColumnCoding& coding, Work& work);

// How many columns are read at a time, and their values, one column behind the other.
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
