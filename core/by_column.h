// Pieces of a table in one, column by column.

#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "view.h"

namespace weald {

// Writes the columns of all pieces, which have n_rows together, one behind the other. Some rows at a time stay in the
// cache while their columns are picked.
template <class Float>
void store_by_column(std::span<const Matrix> pieces, std::size_t n_rows, Float* columns) {
    constexpr std::size_t kAtOnce = 256;  // rows
    std::size_t first = 0;
    for (const Matrix& piece : pieces) {
        piece.dispatch([&]<class Given>() {
            for (std::size_t begin = 0; begin < piece.n_rows; begin += kAtOnce) {
                const std::size_t end = std::min(begin + kAtOnce, piece.n_rows);
                for (std::size_t f = 0; f < piece.n_columns; ++f) {
                    Float* column = columns + f * n_rows + first;
                    for (std::size_t row = begin; row < end; ++row) {
                        column[row] = static_cast<Float>(piece.at<Given>(row, f));
                    }
                }
            }
        });
        first += piece.n_rows;
    }
}

}  // namespace weald
