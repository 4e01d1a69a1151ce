// SHAP values.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <optional>

#include "arrays.h"
#include "base/require.h"
#include "forest_dict.h"
#include "inspect/shap.h"

namespace weald {

using namespace nb::literals;

namespace {

using Marks = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

PathForest make_path_forest(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays) {
    KeptForest forest(n_features, n_classes, arrays);
    return {forest.view(), forest.keep<double>(arrays["weight"])};
}

// rule_start: by tree, where the points of its rule begin; rules of n points are one after the other.
NumpyMatrix<double> bind_explain(const PathForest& forest, const AnyTable& x, const Vector<double>& amounts,
                              const Vector<std::int64_t>& rule_start, const Vector<std::int64_t>& rule_size,
                              const Vector<double>& points, const Vector<double>& rest, const Vector<double>& weights,
                              const std::optional<Marks>& is_new, bool pairs, std::size_t n_threads,
                              const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    const std::size_t n_trees = forest.predictor().n_trees();
    require(matrix.n_columns == forest.predictor().n_features(),
            "the table has another number of features than the forest");
    require(amounts.size() == forest.n_nodes(), "amounts and nodes differ in number");
    require(rule_start.size() == n_trees && rule_size.size() == n_trees, "rules and trees differ in number");
    require(points.size() == rest.size() && points.size() == weights.size(), "points and weights differ in number");
    require(!is_new || (is_new->shape(0) == n_trees && is_new->shape(1) == matrix.n_rows), "is_new is not trees x rows");
    ShapTask task{{}, span_of(amounts), {}};
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        const std::int64_t begin = rule_start.data()[tree], n = rule_size.data()[tree];
        require(begin >= 0 && n > 0 && static_cast<std::size_t>(begin + n) <= points.size(), "there is no such rule");
        const auto part = [&](const Vector<double>& all) {
            return span_of(all).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
        };
        task.rules.push_back({part(points), part(rest), part(weights)});
    }
    if (is_new) {
        task.is_new = {is_new->data(), is_new->size()};
    }
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = pairs ? shap_interactions(forest, matrix, task, work) : shap_values(forest, matrix, task, work);
    }
    return to_numpy(std::move(found), matrix.n_rows, matrix.n_columns * (pairs ? matrix.n_columns : 1));
}

}  // namespace

void bind_shap(nb::module_& module) {
    nb::class_<PathForest>(module, "PathForest", "A forest with the fractions of its splits.")
        .def("__init__",
             [](PathForest* self, std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays) {
                 new (self) PathForest(make_path_forest(n_features, n_classes, arrays));
             },
             "n_features"_a, "n_classes"_a, "arrays"_a)
        .def(
            "n_distinct",
            [](const PathForest& forest) {
                return to_numpy(std::vector<std::uint32_t>(forest.n_distinct().begin(), forest.n_distinct().end()));
            },
            "By tree: the maximum number of distinct features on a path.")
        .def("shap", &bind_explain, "x"_a, "amounts"_a, "rule_start"_a, "rule_size"_a, "points"_a, "rest"_a, "weights"_a,
             "is_new"_a.none(), "pairs"_a, "n_threads"_a, "watch"_a.none(),
             "SHAP values (rows x features), or those of pairs (rows x features * features), summed over trees.");
}

}  // namespace weald
