// Prediction of many rows by a packed forest, and of one.
//
// Rows are converted to keys, in groups of eight whose keys of one feature are adjacent. A group walks a tree in step:
// eight nodes are loaded at the same time, and no branch has to be predicted. Several trees that fit into the cache are
// walked by one group after the other; a tree is prefetched from its first line to its last, before the walks access it
// at random. Sums over trees run in tree order for each row, for any number of threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads.h"
#include "base/view.h"
#include "predict/packed.h"

namespace weald {

// The destination of predictions: rows x width numbers with any strides, in bytes.
struct Output {
    std::byte* data;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;
    bool is_double;  // else float
};

// Whether all values are floats, so that small nodes are exact for them.
bool fits_float(const Matrix& x);

// The predictions of the trees for each row, added up in tree order and divided.
void predict_rows(const PackedForest& forest, const Matrix& x, const Averaging& averaging, const Output& output,
                  Work& work);

}  // namespace weald
