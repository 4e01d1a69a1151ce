// Prediction of many rows by a packed forest, and of one.
//
// Rows become keys, in groups of eight whose keys of one feature stand side by side. A group walks a tree in step:
// eight nodes are on their way at any time, and no branch has to be foretold. Several trees that fit the cache together
// are walked by one group after the other; a tree is brought there by asking for it from its first line to its last,
// before the walks ask for lines here and there. Sums over trees run in tree order for each row, whatever the threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads.h"
#include "base/view.h"
#include "predict/packed.h"

namespace weald {

// Where predictions go: rows x width numbers with any strides, in bytes.
struct Output {
    std::byte* data;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;
    bool is_double;  // else float
};

// Whether all values are floats, and so small nodes are exact for them.
bool fits_float(const Matrix& x);

// What the trees say of each row, added up in tree order and divided.
void predict_rows(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output,
                  Work& work);

}  // namespace weald
