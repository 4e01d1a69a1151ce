// Joins pieces of a table, column by column.

#pragma once

#include <algorithm>
#include <cstddef>

#include "base/view.h"

namespace weald {

// Writes rows begin ... end - 1 of a piece to consecutive columns of n_rows values, where the piece starts at row
// `first`. Blocks of rows stay in the cache while their columns are copied.
template <class Float>
void store_by_column(const Matrix& piece, std::size_t begin, std::size_t end, Float* columns, std::size_t n_rows,
                     std::size_t first) {
    constexpr std::size_t kAtOnce = 256;  // rows
    piece.dispatch([&]<class Given>() {
        for (; begin < end; begin += kAtOnce) {
            const std::size_t behind = std::min(begin + kAtOnce, end);
            for (std::size_t f = 0; f < piece.n_columns; ++f) {
                Float* column = columns + f * n_rows + first;
                for (std::size_t row = begin; row < behind; ++row) {
                    column[row] = static_cast<Float>(piece.at<Given>(row, f));
                }
            }
        }
    });
}

}  // namespace weald
