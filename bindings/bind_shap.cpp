// SHAP values.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "arrays.h"
#include "base/require.h"
#include "forest_dict.h"
#include "inspect/interventional.h"
#include "inspect/shap.h"

namespace weald {

using namespace nb::literals;

namespace {

using Marks = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

PathForest make_path_forest(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays) {
    KeptForest forest(n_features, n_classes, arrays);
    return {forest.view(), forest.keep<double>(arrays["weight"])};
}

using Rule = std::tuple<Vector<double>, Vector<double>, Vector<double>>;  // points, 1 - points, weights

QuadratureRule rule_of(const Rule& rule) {
    const auto& [points, rest, weights] = rule;
    require(points.size() > 0 && points.size() == rest.size() && points.size() == weights.size(),
            "points and weights differ in number");
    return {span_of(points), span_of(rest), span_of(weights)};
}

// Checks the arguments that all explanations have.
std::span<const std::uint8_t> check(const PathForest& forest, const Matrix& x, const Vector<double>& amounts,
                                    const std::optional<Marks>& is_new) {
    require(x.n_columns == forest.predictor().n_features(), "the table has another number of features than the forest");
    require(amounts.size() == forest.n_nodes(), "amounts and nodes differ in number");
    if (!is_new) {
        return {};
    }
    require(is_new->shape(0) == forest.predictor().n_trees() && is_new->shape(1) == x.n_rows,
            "is_new is not trees x rows");
    return {is_new->data(), is_new->size()};
}

NumpyMatrix<double> bind_explain(const PathForest& forest, const AnyTable& x, const Vector<double>& amounts,
                                 const std::vector<Rule>& rules, const Vector<std::uint32_t>& rule_of_tree,
                                 const std::optional<Marks>& is_new, bool pairs, std::size_t n_threads,
                                 const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    ShapTask task{{}, span_of(amounts), check(forest, matrix, amounts, is_new)};
    require(rule_of_tree.size() == forest.predictor().n_trees(), "rules and trees differ in number");
    for (const std::uint32_t number : span_of(rule_of_tree)) {
        task.rules.push_back(rule_of(rules.at(number)));
    }
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = pairs ? shap_interactions(forest, matrix, task, work) : shap_values(forest, matrix, task, work);
    }
    return to_numpy(std::move(found), matrix.n_rows, matrix.n_columns * (pairs ? matrix.n_columns : 1));
}

NumpyMatrix<double> bind_interventional(const PathForest& forest, const AnyTable& x, const Vector<double>& amounts,
                                        const AnyTable& background, const std::optional<Marks>& is_new,
                                        std::size_t n_threads, const nb::object& watch) {
    const Matrix matrix = matrix_of(x), others = matrix_of(background);
    require(others.n_columns == matrix.n_columns, "table and background differ in the number of features");
    const InterventionalTask task{others, span_of(amounts), check(forest, matrix, amounts, is_new)};
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = interventional_values(forest, matrix, task, work);
    }
    return to_numpy(std::move(found), matrix.n_rows, matrix.n_columns);
}

}  // namespace

void bind_shap(nb::module_& module) {
    nb::class_<PathForest>(module, "PathForest", "A forest with the fractions of its splits.")
        .def(
            "__init__",
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
        .def("shap", &bind_explain, "x"_a, "amounts"_a, "rules"_a, "rule_of_tree"_a, "is_new"_a.none(), "pairs"_a,
             "n_threads"_a, "watch"_a.none(),
             "SHAP values (rows x features), or those of pairs (rows x features * features), summed over trees.")
        .def("interventional", &bind_interventional, "x"_a, "amounts"_a, "background"_a, "is_new"_a.none(),
             "n_threads"_a, "watch"_a.none(), "SHAP values (rows x features), summed over trees and background rows.");
}

}  // namespace weald
