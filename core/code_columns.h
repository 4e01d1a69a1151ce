// The columns of a table to codes.

#pragma once

#include <cstdint>
#include <vector>

#include "column.h"
#include "threads.h"
#include "view.h"

namespace weald {

struct ColumnCoding {
    const std::vector<bool>& categorical;      // by column; empty: no column is
    const std::vector<std::uint8_t>& sampled;  // by row: whether quantile codes are cut from it; empty: from all
    const std::vector<std::uint64_t>& line;    // by row: what it weighs; empty: all one
    std::uint32_t max_bins;                    // 0: every distinct value is a code
};

// Codes by row of the table.
std::vector<Column> code_columns(const Matrix& x, const ColumnCoding& coding, Work& work);

}  // namespace weald
