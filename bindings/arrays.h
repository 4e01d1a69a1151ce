// Conversions between NumPy arrays and the core's views and vectors, and between Python signals and the core's work.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "base/threads.h"
#include "base/view.h"

namespace weald {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table2D = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NumpyMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
    return {array.data(), array.size()};
}

template <class T>
std::span<const T> span_or_nothing(const std::optional<Vector<T>>& array) {
    return array ? span_of(*array) : std::span<const T>{};
}

inline Matrix matrix_of(const Table2D& x) {
    const bool is_double = x.dtype() == nb::dtype<double>();
    if (!is_double && x.dtype() != nb::dtype<float>()) {
        throw std::invalid_argument("a table must contain float32 or float64");
    }
    const std::ptrdiff_t item = is_double ? sizeof(double) : sizeof(float);
    return {static_cast<const std::byte*>(x.data()),
            x.shape(0),
            x.shape(1),
            x.stride(0) * item,
            x.stride(1) * item,
            is_double};
}

// The stored values of a sparse table, by column or by row.
class SparseTable {
  public:
    SparseTable(const Vector<std::int64_t>& starts, const Vector<std::int32_t>& places, const Vector<double>& values,
                std::size_t n_rows, std::size_t n_columns)
        : starts_(starts), places_(places), values_(values), n_rows_(n_rows), n_columns_(n_columns) {
        const Sparse sparse = view();
        bool is_right = !sparse.starts.empty() && sparse.starts.front() == 0 && places.size() == values.size() &&
                        sparse.starts.back() == static_cast<std::int64_t>(places.size()) &&
                        std::is_sorted(sparse.starts.begin(), sparse.starts.end());
        const std::size_t n_places = starts.size() == n_columns + 1 ? n_rows : n_columns;
        for (const std::int32_t place : sparse.places) {
            is_right &= place >= 0 && static_cast<std::size_t>(place) < n_places;
        }
        if (!is_right) {
            throw std::invalid_argument("the arrays are not a sparse table");
        }
    }
    Sparse view() const { return {span_of(starts_), span_of(places_), span_of(values_)}; }
    // A matrix of which only the shape is known.
    Matrix shape() const { return {nullptr, n_rows_, n_columns_, 0, 0, true}; }

  private:
    Vector<std::int64_t> starts_;
    Vector<std::int32_t> places_;
    Vector<double> values_;
    std::size_t n_rows_;
    std::size_t n_columns_;
};

using AnyTable = std::variant<Table2D, SparseTable>;

// For prediction: a sparse table is passed row by row.
inline Matrix matrix_of(const AnyTable& x) {
    if (const auto* dense = std::get_if<Table2D>(&x)) {
        return matrix_of(*dense);
    }
    const auto& sparse = std::get<SparseTable>(x);
    Matrix matrix = sparse.shape();
    matrix.by_row = sparse.view();
    if (matrix.by_row.starts.size() != matrix.n_rows + 1) {
        throw std::invalid_argument("a sparse table must be given row by row here");
    }
    return matrix;
}

// Passes a vector to NumPy without a copy.
template <class T, class Memory>
nb::capsule keep(std::vector<T, Memory>* vector) {
    return {vector, [](void* p) noexcept { delete static_cast<std::vector<T, Memory>*>(p); }};
}

template <class T, class Memory>
NumpyVector<T> to_numpy(std::vector<T, Memory> values) {
    auto owned = std::make_unique<std::vector<T, Memory>>(std::move(values));
    std::vector<T, Memory>* raw = owned.release();
    return NumpyVector<T>(raw->data(), {raw->size()}, keep(raw));
}

template <class T>
NumpyMatrix<T> to_numpy(std::vector<T> values, std::size_t n_rows, std::size_t n_columns) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    std::vector<T>* raw = owned.release();
    return NumpyMatrix<T>(raw->data(), {n_rows, n_columns}, keep(raw));
}

// Runs work with checks for Ctrl-C; `watch` is None, or a function of the fraction done.
inline Work make_work(std::size_t n_threads, const nb::object& watch, std::size_t n_slots = 0) {
    return {n_threads,
            [watch = watch.ptr()](double share) {
                const nb::gil_scoped_acquire gil;
                if (PyErr_CheckSignals() != 0) {
                    throw nb::python_error();
                }
                if (watch != Py_None) {
                    const nb::handle callable(watch);
                    callable(share);
                }
            },
            n_slots};
}

}  // namespace weald
