// Permutation importance of a grown forest.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "base/require.h"
#include "inspect/permutation.h"

namespace weald {

using namespace nb::literals;

namespace {

using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::span<double> sums_of(const std::optional<Sums>& sums, std::size_t n_rows, std::size_t n_groups) {
    if (!sums) {
        return {};
    }
    require(sums->shape(0) == n_rows && sums->shape(1) == n_groups, "sums are not rows x groups");
    return {sums->data(), sums->size()};
}

void check(const PermutationTask& request, const Matrix& x, std::size_t n_trees) {
    const std::size_t n = x.n_rows;
    require(request.group_of.size() == x.n_columns, "groups and features differ in number");
    require(request.target.size() == n && request.weight.size() == n && request.order.size() == n,
            "table, target, weights and order differ in length");
    require(request.is_new.size() == n_trees * n, "is_new is not trees x rows");
    require(request.cells.empty() || request.cells.size() == n_trees * request.n_groups() * n,
            "cells are not trees x groups x rows");
    require(std::all_of(request.order.begin(), request.order.end(), [&](std::uint32_t r) { return r < n; }),
            "a row is out of range");
    const auto n_groups = static_cast<std::int64_t>(request.n_groups());
    require(std::all_of(request.group_of.begin(), request.group_of.end(), [&](std::int32_t g) { return g < n_groups; }),
            "a group is out of range");
}

NumpyMatrix<double> bind_mix(const Predictor& predictor, const Table2D& x,
                             const std::vector<std::tuple<std::size_t, std::uint64_t, std::uint32_t>>& trees,
                             const Vector<std::int32_t>& group_of, const Vector<std::uint32_t>& group_id,
                             std::uint32_t repeat, const Vector<std::uint32_t>& order, const Vector<double>& target,
                             const Vector<double>& weight, const Vector<std::uint8_t>& is_new,
                             const Vector<std::int32_t>& cells, const std::optional<Sums>& sums,
                             const std::optional<Sums>& squares, std::size_t n_threads, const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    require(matrix.n_columns == predictor.n_features(), "the table and the forest differ in the number of features");
    require(repeat < (1u << 24), "there are too many repeats");
    const PermutationTask request{span_of(group_of), span_of(group_id), repeat,          span_of(order),
                                  span_of(target),   span_of(weight),   span_of(is_new), span_of(cells)};
    check(request, matrix, trees.size());
    std::vector<NamedTree> named;
    for (const auto& [place, seed, number] : trees) {
        require(place < predictor.n_trees(), "a tree is out of range");
        named.push_back({place, seed, number});
    }
    const ByRow by_row{sums_of(sums, matrix.n_rows, request.n_groups()),
                       sums_of(squares, matrix.n_rows, request.n_groups())};
    require(by_row.squares.empty() || !by_row.sums.empty(), "squares need sums");
    Work work = make_work(n_threads, watch);
    std::vector<double> of_trees;
    {
        const nb::gil_scoped_release release;
        of_trees = mix_features(predictor, matrix, named, request, by_row, work);
    }
    return to_numpy(std::move(of_trees), named.size(), request.n_groups());
}

}  // namespace

void bind_importance(nb::module_& module) {
    module.def(
        "shuffle_rows",
        [](std::size_t n_rows, std::uint64_t seed, std::uint32_t tree, std::uint32_t group_id, std::uint32_t repeat) {
            return to_numpy(shuffle_rows({}, n_rows, seed, tree, group_id, repeat));
        },
        "n_rows"_a, "seed"_a, "tree"_a, "group_id"_a, "repeat"_a,
        "The rank from which each rank takes its values, by the draws of a tree and a group.");
    module.def("mix_features", &bind_mix, "predictor"_a, "x"_a, "trees"_a, "group_of"_a, "group_id"_a, "repeat"_a,
               "order"_a, "target"_a, "weight"_a, "is_new"_a, "cells"_a, "sums"_a.none(), "squares"_a.none(),
               "n_threads"_a, "watch"_a.none(),
               "Increase of each tree's loss when groups of features are permuted; trees are (place, seed, number). "
               "The losses of rows are added to sums and squares.");
}

}  // namespace weald
