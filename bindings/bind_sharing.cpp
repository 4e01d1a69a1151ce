// Proximities: rows that share leaves.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "arrays.h"
#include "base/require.h"
#include "inspect/distribution.h"
#include "inspect/proximity.h"

namespace weald {

using namespace nb::literals;

namespace {

using Leaves = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check(const Sharing& sharing) {
    const auto& nodes = sharing.tree_start;
    require(!nodes.empty() && !sharing.start.empty(), "there are no trees or no nodes");
    require(std::is_sorted(nodes.begin(), nodes.end()) && nodes.front() == 0 &&
                static_cast<std::size_t>(nodes.back()) + 1 == sharing.start.size(),
            "trees and nodes differ");
    require(std::is_sorted(sharing.start.begin(), sharing.start.end()) && sharing.start.front() == 0 &&
                static_cast<std::size_t>(sharing.start.back()) == sharing.member.size(),
            "leaves and members differ");
    require(sharing.n_members <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
            "there are too many members");
    for (std::size_t node = 0; node + 1 < sharing.start.size(); ++node) {
        const auto begin = sharing.member.begin() + sharing.start[node];
        const auto end = sharing.member.begin() + sharing.start[node + 1];
        require(std::is_sorted(begin, end) && (begin == end || *(end - 1) < sharing.n_members),
                "members are not in order or out of range");
    }
    require(sharing.share.empty() || sharing.share.size() == sharing.member.size(), "members and shares differ");
    require(sharing.counting.empty() ||
                (sharing.n_rows == sharing.n_members && sharing.counting.size() == sharing.n_rows * sharing.n_words()),
            "counting is not rows x words");
    for (std::size_t i = 0; i < sharing.leaves.size(); ++i) {
        const std::size_t tree = i % sharing.n_trees();
        require(sharing.leaves[i] < nodes[tree + 1] - nodes[tree], "a leaf is out of range");
    }
}

Sharing sharing_of(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                   const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member, const Vector<double>& share,
                   const Vector<std::uint64_t>& counting) {
    require(leaves.shape(1) + 1 == tree_start.size(), "leaves are not rows x trees");
    const Sharing sharing{leaves.shape(0),     n_members,        {leaves.data(), leaves.size()},
                          span_of(tree_start), span_of(start),   span_of(member),
                          span_of(share),      span_of(counting)};
    check(sharing);
    return sharing;
}

std::tuple<NumpyVector<std::int64_t>, NumpyVector<std::int32_t>, NumpyVector<double>> bind_add(
    const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
    const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member, const Vector<double>& share,
    const Vector<std::uint64_t>& counting, std::size_t k, std::size_t n_threads, const nb::object& watch) {
    const Sharing sharing = sharing_of(leaves, n_members, tree_start, start, member, share, counting);
    Work work = make_work(n_threads, watch);
    SharedRows found;
    {
        const nb::gil_scoped_release release;
        found = add_shares(sharing, k, work);
    }
    return {to_numpy(std::move(found.start)), to_numpy(std::move(found.member)), to_numpy(std::move(found.sum))};
}

NumpyVector<double> bind_square(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                                const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member,
                                const Vector<double>& share, const Vector<std::uint64_t>& counting,
                                const Vector<std::int32_t>& kind_of_row, const Vector<std::int32_t>& kind_of_member,
                                std::size_t n_threads, const nb::object& watch) {
    const Sharing sharing = sharing_of(leaves, n_members, tree_start, start, member, share, counting);
    require(kind_of_row.size() == sharing.n_rows && kind_of_member.size() == n_members, "rows and kinds differ");
    Work work = make_work(n_threads, watch);
    std::vector<double> squares;
    {
        const nb::gil_scoped_release release;
        squares = square_shares(sharing, span_of(kind_of_row), span_of(kind_of_member), work);
    }
    return to_numpy(std::move(squares));
}

// A distribution needs shares, and a target for each member. The rest is checked leaf by leaf.
Sharing weighed_sharing_of(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                           const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member,
                           const Vector<double>& share, const Vector<double>& target) {
    require(leaves.shape(1) + 1 == tree_start.size() && start.size() > 0, "leaves are not rows x trees");
    require(share.size() == member.size(), "shares and members differ in number");
    require(target.size() == n_members, "targets are not those of members");
    return {leaves.shape(0),
            n_members,
            {leaves.data(), leaves.size()},
            span_of(tree_start),
            span_of(start),
            span_of(member),
            span_of(share),
            {}};
}

NumpyVector<double> bind_quantiles(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                                   const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member,
                                   const Vector<double>& share, const Vector<double>& target,
                                   const Vector<double>& levels, std::size_t n_threads, const nb::object& watch) {
    const Sharing sharing = weighed_sharing_of(leaves, n_members, tree_start, start, member, share, target);
    require(std::all_of(levels.data(), levels.data() + levels.size(), [](double q) { return 0 <= q && q <= 1; }),
            "levels are not from 0 to 1");
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = quantiles(sharing, span_of(target), span_of(levels), work);
    }
    return to_numpy(std::move(found));
}

NumpyVector<double> bind_cumulated(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                                   const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member,
                                   const Vector<double>& share, const Vector<double>& target,
                                   const Vector<std::int64_t>& limits, std::size_t n_threads, const nb::object& watch) {
    const Sharing sharing = weighed_sharing_of(leaves, n_members, tree_start, start, member, share, target);
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = cumulated_shares(sharing, span_of(limits), work);
    }
    return to_numpy(std::move(found));
}

NumpyVector<double> bind_deviations(const Leaves& leaves, std::size_t n_members, const Vector<std::int64_t>& tree_start,
                                    const Vector<std::int64_t>& start, const Vector<std::uint32_t>& member,
                                    const Vector<double>& share, const Vector<double>& target, std::size_t n_threads,
                                    const nb::object& watch) {
    const Sharing sharing = weighed_sharing_of(leaves, n_members, tree_start, start, member, share, target);
    Work work = make_work(n_threads, watch);
    std::vector<double> found;
    {
        const nb::gil_scoped_release release;
        found = standard_deviations(sharing, span_of(target), work);
    }
    return to_numpy(std::move(found));
}

}  // namespace

void bind_sharing(nb::module_& module) {
    module.def("add_shares", &bind_add, "leaves"_a, "n_members"_a, "tree_start"_a, "start"_a, "member"_a, "share"_a,
               "counting"_a, "k"_a, "n_threads"_a, "watch"_a.none(),
               "Similarities of rows and the members of their leaves: starts, members and sums; all, or the k "
               "largest of each row.");
    module.def("square_shares", &bind_square, "leaves"_a, "n_members"_a, "tree_start"_a, "start"_a, "member"_a,
               "share"_a, "counting"_a, "kind_of_row"_a, "kind_of_member"_a, "n_threads"_a, "watch"_a.none(),
               "Sums of the squared similarities of rows and members of their kind.");
    module.def("quantiles", &bind_quantiles, "leaves"_a, "n_members"_a, "tree_start"_a, "start"_a, "member"_a,
               "share"_a, "target"_a, "levels"_a, "n_threads"_a, "watch"_a.none(),
               "Quantiles of the target at rows (rows x levels), by the weights of the members of their leaves.");
    module.def("cumulated_shares", &bind_cumulated, "leaves"_a, "n_members"_a, "tree_start"_a, "start"_a, "member"_a,
               "share"_a, "target"_a, "limits"_a, "n_threads"_a, "watch"_a.none(),
               "Fraction of the weight of members below each limit (rows x limits).");
    module.def("standard_deviations", &bind_deviations, "leaves"_a, "n_members"_a, "tree_start"_a, "start"_a,
               "member"_a, "share"_a, "target"_a, "n_threads"_a, "watch"_a.none(),
               "Standard deviations of the target at rows, by the weights of the members of their leaves.");
}

}  // namespace weald
