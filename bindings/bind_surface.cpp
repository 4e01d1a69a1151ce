// The errors of a forest under many settings of its stopping rules.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.h"
#include "base/require.h"
#include "inspect/error_surface.h"
#include "tree/link_strengths.h"

namespace weald {

using namespace nb::literals;

namespace {

using LeafOfRows = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SurfaceArray = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Changing = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct TreeNodes {
    Vector<std::int64_t> tree_start;
    Vector<std::int32_t> feature;
    Vector<std::int32_t> right;
    Vector<double> decrease;

    explicit TreeNodes(const nb::dict& arrays)
        : tree_start(nb::cast<Vector<std::int64_t>>(arrays["tree_start"])),
          feature(nb::cast<Vector<std::int32_t>>(arrays["feature"])),
          right(nb::cast<Vector<std::int32_t>>(arrays["right"])),
          decrease(nb::cast<Vector<double>>(arrays["decrease"])) {
        const auto starts = span_of(tree_start);
        const std::size_t n_nodes = feature.size();
        require(starts.size() > 1 && starts.front() == 0 && starts.back() == static_cast<std::int64_t>(n_nodes) &&
                    std::is_sorted(starts.begin(), starts.end()) && right.size() == n_nodes &&
                    decrease.size() == n_nodes,
                "the arrays are not a forest");
        for (std::size_t t = 0; t + 1 < starts.size(); ++t) {
            const std::int64_t size = starts[t + 1] - starts[t];
            require(size > 0, "a tree has no nodes");
            for (std::int64_t i = 0; i < size; ++i) {
                const auto node = static_cast<std::size_t>(starts[t] + i);
                require(feature.data()[node] < 0 || (right.data()[node] > i + 1 && right.data()[node] < size),
                        "a child is out of range");
            }
        }
    }
};

NumpyVector<double> bind_link_strengths(const nb::dict& arrays, std::size_t n_threads) {
    const TreeNodes nodes(arrays);
    const auto starts = span_of(nodes.tree_start);
    std::vector<double> strengths(nodes.feature.size());
    Work work = make_work(n_threads, nb::none());
    {
        const nb::gil_scoped_release release;
        work.run(starts.size() - 1, [&](std::size_t t, std::size_t) {
            const auto begin = static_cast<std::size_t>(starts[t]);
            const auto size = static_cast<std::size_t>(starts[t + 1] - starts[t]);
            std::vector<std::uint8_t> kept(size);
            for (std::size_t i = 0; i < size; ++i) {
                kept[i] = nodes.feature.data()[begin + i] >= 0;
            }
            const std::vector<double> found = link_strengths(
                {kept, span_of(nodes.right).subspan(begin, size), span_of(nodes.decrease).subspan(begin, size)});
            std::copy(found.begin(), found.end(), strengths.begin() + static_cast<std::ptrdiff_t>(begin));
        });
    }
    return to_numpy(std::move(strengths));
}

SurfaceSettings settings_of(const nb::dict& rules, std::size_t n_votes) {
    const auto whole = [&](const char* name) { return span_of(nb::cast<Vector<std::int64_t>>(rules[name])); };
    const auto real = [&](const char* name) { return span_of(nb::cast<Vector<double>>(rules[name])); };
    const SurfaceSettings settings{
        whole("max_depth"),      whole("min_samples_split"), real("min_impurity_decrease"),
        whole("max_leaf_nodes"), real("ccp_alpha"),          span_of(nb::cast<Vector<std::int32_t>>(rules["votes"]))};
    const std::size_t n = settings.size();
    require(n > 0 && settings.min_samples_split.size() == n && settings.min_impurity_decrease.size() == n &&
                settings.max_leaf_nodes.size() == n && settings.ccp_alpha.size() == n && settings.votes.size() == n,
            "settings differ in number");
    for (const std::int32_t votes : settings.votes) {
        require(votes >= 0 && static_cast<std::size_t>(votes) < n_votes, "a setting has no votes");
    }
    return settings;
}

nb::tuple bind_add_to_surface(const nb::dict& arrays, const Vector<std::uint32_t>& size, int exponent,
                              const Vector<double>& vote_weight, const std::vector<Vector<double>>& votes,
                              const LeafOfRows& leaves, const nb::dict& rules,
                              const std::optional<Vector<std::int32_t>>& classes,
                              const std::optional<Vector<double>>& numbers, const Vector<double>& weight,
                              const Vector<std::uint8_t>& scored, const SurfaceArray& sums,
                              const Changing<double>& sum_of_weights, const Changing<std::int64_t>& n_leaves,
                              std::size_t n_threads) {
    const TreeNodes nodes(arrays);
    const std::size_t n_nodes = nodes.feature.size();
    SurfaceTrees trees{span_of(nodes.tree_start),     span_of(nodes.feature),
                       span_of(nodes.right),          span_of(size),
                       span_of(nodes.decrease),       exponent,
                       span_of(vote_weight),          {},
                       {leaves.data(), leaves.size()}};
    const std::size_t n_rows = sums.shape(0);
    const std::size_t width = sums.shape(1);
    for (const Vector<double>& of_nodes : votes) {
        require(of_nodes.size() == n_nodes * width, "votes are not nodes x width");
        trees.votes.push_back(span_of(of_nodes));
    }
    require(size.size() == n_nodes && vote_weight.size() == trees.n_trees() && scored.size() == trees.n_trees(),
            "trees differ in number");
    require(leaves.shape(0) == trees.n_trees() && leaves.shape(1) == n_rows, "leaves are not trees x rows");
    for (std::size_t t = 0; t < trees.n_trees(); ++t) {
        const std::int64_t most = trees.tree_start[t + 1] - trees.tree_start[t];
        for (std::size_t row = 0; row < n_rows; ++row) {
            require(trees.leaves[t * n_rows + row] < most, "a leaf is out of range");
        }
    }
    const SurfaceSettings settings = settings_of(rules, votes.size());
    require(sums.shape(2) == settings.size() && n_leaves.size() == settings.size() && sum_of_weights.size() == n_rows,
            "sums are not rows x width x settings");
    const KnownRows known{span_or_nothing(classes), span_or_nothing(numbers), span_of(weight)};
    require(known.weight.size() == n_rows && std::max(known.classes.size(), known.numbers.size()) == n_rows &&
                (known.classes.empty() || known.numbers.empty()),
            "targets and rows differ in number");
    const SurfaceSums state{n_rows,
                            width,
                            settings.size(),
                            {sums.data(), sums.size()},
                            {sum_of_weights.data(), sum_of_weights.size()},
                            {n_leaves.data(), n_leaves.size()}};
    Work work = make_work(n_threads, nb::none());
    SurfaceErrors found;
    {
        const nb::gil_scoped_release release;
        found = add_to_surface(trees, settings, known, span_of(scored), state, work);
    }
    return nb::make_tuple(to_numpy(std::move(found.losses)), to_numpy(std::move(found.squares)),
                          to_numpy(std::move(found.weight)), to_numpy(std::move(found.weight_squares)),
                          to_numpy(std::move(found.n_rows)), to_numpy(std::move(found.leaves)));
}

}  // namespace

void bind_surface(nb::module_& module) {
    module.def("link_strengths", &bind_link_strengths, "arrays"_a, "n_threads"_a,
               "The alpha at which each split is pruned, in units of decreases; -infinity in leaves.");
    module.def("add_to_surface", &bind_add_to_surface, "arrays"_a, "size"_a, "exponent"_a, "vote_weight"_a, "votes"_a,
               "leaves"_a, "rules"_a, "classes"_a.none(), "numbers"_a.none(), "weight"_a, "scored"_a, "sums"_a,
               "sum_of_weights"_a, "n_leaves"_a, "n_threads"_a,
               "Add the votes of trees under some settings to `sums` (rows x width x settings); returns, after each "
               "scored tree, sums of losses and of their squared distances from the mean (scored x settings), sums of "
               "weights and of their squares, numbers of rows, and numbers of leaves (scored x settings).");
}

}  // namespace weald
