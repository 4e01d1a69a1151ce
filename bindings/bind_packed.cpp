// Packed forests: created from arrays or found in memory, and prediction with them.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "arrays.h"
#include "forest_dict.h"
#include "packed_memory.h"
#include "predict/batch.h"

namespace weald {

using namespace nb::literals;

namespace {

using Predictions = nb::ndarray<nb::ndim<2>, nb::device::cpu>;

nb::object bind_pack(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays, bool large,
                     double total, bool hard, std::size_t n_threads) {
    KeptForest kept(n_features, n_classes, arrays);
    const std::span<const double> tree_weight = kept.keep<double>(arrays["tree_weight"]);
    Work work = make_work(n_threads, nb::none());
    std::optional<PackedBuffer> buffer;
    {
        const nb::gil_scoped_release release;
        buffer = pack_forest(kept.view(), tree_weight, large, Averaging{total, hard}, work);
    }
    return buffer ? nb::cast(Packed(std::move(*buffer))) : nb::none();
}

Output output_of(const Predictions& out) {
    const bool is_double = out.dtype() == nb::dtype<double>();
    if (!is_double && out.dtype() != nb::dtype<float>()) {
        throw std::invalid_argument("predictions must be float32 or float64");
    }
    const std::ptrdiff_t item = is_double ? sizeof(double) : sizeof(float);
    return {static_cast<std::byte*>(out.data()), out.stride(0) * item, out.stride(1) * item, is_double};
}

void bind_predict(const Packed& packed, const AnyTable& x, bool hard, double total, const Predictions& out,
                  std::size_t n_threads, const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    RowsWanted(packed.forest()).require(matrix);
    if (out.shape(0) != matrix.n_rows || out.shape(1) != packed.forest().width()) {
        throw std::invalid_argument("out is not rows x classes");
    }
    const Output output = output_of(out);
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    predict_rows(packed.forest(), matrix, Averaging{total, hard}, output, work);
}

// One row gives one result, a table one result per row.
nb::object bind_call(const Packed& packed, const nb::ndarray<nb::ro, nb::device::cpu>& x, std::size_t threads) {
    if (x.ndim() != 1 && x.ndim() != 2) {
        throw std::invalid_argument("give a row, or a table of rows and columns");
    }
    const bool is_double = x.dtype() == nb::dtype<double>();
    if (!is_double && x.dtype() != nb::dtype<float>()) {
        throw std::invalid_argument("a table must contain float32 or float64");
    }
    const std::ptrdiff_t item = is_double ? sizeof(double) : sizeof(float);
    const bool is_row = x.ndim() == 1;
    const std::size_t n_rows = is_row ? 1 : x.shape(0);
    const Matrix matrix{
        static_cast<const std::byte*>(x.data()), n_rows,   x.shape(is_row ? 0 : 1), is_row ? 0 : x.stride(0) * item,
        x.stride(is_row ? 0 : 1) * item,         is_double};
    const PackedForest& forest = packed.forest();
    RowsWanted(forest).require(matrix);
    const std::size_t width = forest.width();
    std::vector<double> found(n_rows * width);
    const Output output{reinterpret_cast<std::byte*>(found.data()), static_cast<std::ptrdiff_t>(width * sizeof(double)),
                        sizeof(double), true};
    Work work = make_work(threads, nb::none());
    {
        const nb::gil_scoped_release release;
        predict_rows(forest, matrix, forest.head().averaging, output, work);
    }
    if (forest.head().task() == Task::regression) {
        return is_row ? nb::cast(found[0]) : nb::cast(to_numpy(std::move(found)));
    }
    return is_row ? nb::cast(to_numpy(std::move(found))) : nb::cast(to_numpy(std::move(found), n_rows, width));
}

}  // namespace

void bind_packed(nb::module_& module) {
    constexpr std::uint64_t kMark = PackedHead::kMark;
    module.attr("packed_mark") = nb::str(reinterpret_cast<const char*>(&kMark), sizeof kMark);
    nb::class_<Packed>(module, "Packed", "A forest packed for prediction as one buffer, without Python objects.")
        .def(nb::init<const Bytes&>(), "buffer"_a, "Open a packed forest in a buffer, and check it.")
        .def("__call__", &bind_call, "x"_a, "threads"_a = 1,
             "Predict a row or a table: class probabilities, or "
             "means.")
        .def("__reduce__",
             [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(self.attr("buffer")())); })
        .def("predict", &bind_predict, "x"_a, "hard"_a, "total"_a, "out"_a, "n_threads"_a, "watch"_a.none(),
             "Predictions of the trees for each row, added in tree order and divided by the total.")
        .def(
            "buffer",
            [](nb::handle self) {
                const auto bytes = nb::cast<const Packed&>(self).bytes();
                return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(bytes.data(), {bytes.size()}, self);
            },
            "The whole buffer.")
        .def_prop_ro("n_features", [](const Packed& packed) { return packed.forest().head().n_features; })
        .def_prop_ro("n_classes", [](const Packed& packed) { return packed.forest().head().n_classes; })
        .def_prop_ro("n_trees", [](const Packed& packed) { return packed.forest().n_trees(); })
        .def_prop_ro("is_large", [](const Packed& packed) { return packed.forest().is_large(); });
    nb::class_<PackedBatch>(module, "PackedBatch", "A forest packed some trees at a time, for a single pass.")
        .def(nb::init<std::uint32_t, std::uint32_t, const nb::dict&, bool, std::size_t>(), "n_features"_a,
             "n_classes"_a, "arrays"_a, "small_is_exact"_a, "n_nodes"_a,
             "Nodes are small if that is possible and exact for the rows to predict. A batch has at most "
             "`n_nodes`, or one tree for each thread.");
    module.def("pack_forest", &bind_pack, "n_features"_a, "n_classes"_a, "arrays"_a, "large"_a, "total"_a, "hard"_a,
               "n_threads"_a,
               "Pack a forest with small nodes (exact for rows of floats) or large ones (exact for all); None if it is "
               "too large for them.");
    module.def(
        "fits_float", [](const AnyTable& x) { return fits_float(matrix_of(x)); }, "x"_a,
        "Whether all values of a table can be represented as 32-bit floats.");
}

}  // namespace weald
