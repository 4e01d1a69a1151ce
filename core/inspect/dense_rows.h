// Rows of a table by position; those of a sparse table are copied.

#pragma once

#include <cstddef>
#include <vector>

#include "base/view.h"

namespace weald {

class DenseRows {
  public:
    DenseRows(const Matrix& x, std::size_t begin, std::size_t end) : x_(x), begin_(begin) {
        if (x.by_row.is_empty()) {
            return;
        }
        cells_.resize((end - begin) * x.n_columns);
        for (std::size_t row = begin; row < end; ++row) {
            const auto last = static_cast<std::size_t>(x.by_row.starts[row + 1]);
            for (auto j = static_cast<std::size_t>(x.by_row.starts[row]); j < last; ++j) {
                const auto column = static_cast<std::size_t>(x.by_row.places[j]);
                cells_[(row - begin) * x.n_columns + column] = x.by_row.values[j];
            }
        }
    }

    double at(std::size_t row, std::size_t column) const {
        if (!cells_.empty()) {
            return cells_[(row - begin_) * x_.n_columns + column];
        }
        return x_.is_double ? x_.at<double>(row, column) : static_cast<double>(x_.at<float>(row, column));
    }

  private:
    const Matrix& x_;
    std::size_t begin_;
    std::vector<double> cells_;
};

}  // namespace weald
