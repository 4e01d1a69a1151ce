// Partial dependence of predictions on features.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <tuple>

#include "arrays.h"
#include "base/require.h"
#include "forest_dict.h"
#include "inspect/dependence.h"

namespace weald {

using namespace nb::literals;

namespace {

using DependenceArrays = std::tuple<NumpyVector<double>, NumpyVector<double>, NumpyVector<double>>;

DependenceArrays bind_sum_dependence(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays,
                                     const Predictor& predictor, const Vector<double>& values, const AnyTable& x,
                                     const std::optional<Vector<std::int64_t>>& weight,
                                     const Vector<std::int32_t>& first, const Vector<std::int32_t>& second,
                                     const Vector<std::uint32_t>& n_points, const Vector<std::uint8_t>& has_categories,
                                     const Vector<std::int32_t>& place,
                                     const std::optional<Vector<std::uint16_t>>& bin_of_row,
                                     const std::optional<Vector<std::uint16_t>>& bin_of_step, std::size_t n_threads,
                                     const nb::object& watch) {
    const KeptForest forest(n_features, n_classes, arrays);
    require(predictor.n_trees() == forest.view().n_trees() && predictor.n_features() == n_features,
            "forest and predictor differ");
    const FreeGroups groups{span_of(first), span_of(second), span_of(n_points), span_of(has_categories),
                            span_of(place)};
    const LocalBins bins{span_or_nothing(bin_of_row), span_or_nothing(bin_of_step)};
    const Matrix matrix = matrix_of(x);
    Work work = make_work(n_threads, watch);
    DependenceSums sums;
    {
        const nb::gil_scoped_release release;
        check_forest(forest.view());
        sums = sum_dependence(forest.view(), predictor, span_of(values), matrix, span_or_nothing(weight), groups, bins,
                              work);
    }
    return {to_numpy(std::move(sums.steps)), to_numpy(std::move(sums.on_path)), to_numpy(std::move(sums.total))};
}

}  // namespace

void bind_dependence(nb::module_& module) {
    module.def("sum_dependence", &bind_sum_dependence, "n_features"_a, "n_classes"_a, "arrays"_a, "predictor"_a,
               "values"_a, "x"_a, "weight"_a.none(), "first"_a, "second"_a, "n_points"_a, "has_categories"_a, "place"_a,
               "bin_of_row"_a.none(), "bin_of_step"_a.none(), "n_threads"_a, "watch"_a.none(),
               "Contributions of the leaves of a forest to the points of groups of features: sums by place, "
               "sums over own leaves whose path uses a group, and sums over all own leaves.");
}

}  // namespace weald
