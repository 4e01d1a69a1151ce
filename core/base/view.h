// Views of memory that the caller owns: nothing here copies or frees.
//
//   Sparse   the stored values of a sparse table
//   Matrix   a table of float or double with any strides, or a sparse one
//   Table    a training table: values, target, weights

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/task.h"

namespace weald {

// By column, or by row: those of column (row) i are starts[i] ... starts[i + 1] - 1.
struct Sparse {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> places;  // by column: rows; by row: columns
    std::span<const double> values;

    bool is_empty() const { return starts.empty(); }
};

struct Matrix {
    const std::byte* data;
    std::size_t n_rows;
    std::size_t n_columns;
    std::ptrdiff_t row_stride;     // in bytes
    std::ptrdiff_t column_stride;  // in bytes
    bool is_double;                // else float
    Sparse by_row = {};            // a sparse table, without data and strides; it contains doubles

    template <class Float>
    Float at(std::size_t row, std::size_t column) const {
        Float value;
        std::memcpy(
            &value,
            data + static_cast<std::ptrdiff_t>(row) * row_stride + static_cast<std::ptrdiff_t>(column) * column_stride,
            sizeof value);
        return value;
    }

    // Calls with_type.operator()<float>() or <double>(), depending on the type of the matrix.
    template <class WithType>
    decltype(auto) dispatch(WithType&& with_type) const {
        return is_double ? with_type.template operator()<double>() : with_type.template operator()<float>();
    }
};

struct Table {
    Matrix x;
    std::span<const std::int32_t> classes;  // empty: regression
    std::span<const double> numbers;        // empty: classification
    std::uint32_t n_classes;                // 0: regression
    std::span<const double> weights;        // empty: all one
    bool weights_whole;
    std::span<const std::int32_t> strata;  // strata of the rows; empty: there is only one
    std::span<const std::int32_t> groups;  // groups of the rows; empty: each row is its own group
    Sparse by_column = {};                 // a sparse table, of which x has only the shape
    std::vector<bool> categorical = {};    // by feature: its values are codes of categories; empty: none is categorical

    Task task() const { return task_of(n_classes); }
};

}  // namespace weald
