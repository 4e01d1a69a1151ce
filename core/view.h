// Views of what the caller owns: nothing here copies or frees.
//
//   Matrix   a table of float or double with any strides
//   Table    a training table: values, target, weights

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace weald {

struct Matrix {
    const std::byte* data;
    std::size_t n_rows;
    std::size_t n_columns;
    std::ptrdiff_t row_stride;     // in bytes
    std::ptrdiff_t column_stride;  // in bytes
    bool is_double;                // else float

    template <class Float>
    Float at(std::size_t row, std::size_t column) const {
        Float value;
        std::memcpy(
            &value,
            data + static_cast<std::ptrdiff_t>(row) * row_stride + static_cast<std::ptrdiff_t>(column) * column_stride,
            sizeof value);
        return value;
    }

    // Calls with_type.operator()<float>() or <double>(), after what the matrix holds.
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
    std::span<const std::int32_t> strata;  // numbers of the rows' strata; empty: there is but one
    std::span<const std::int32_t> groups;  // numbers of the rows' groups; empty: each row for itself
    std::vector<bool> categorical = {};  // by feature: its values are numbers of categories; empty: none is categorical
};

}  // namespace weald
