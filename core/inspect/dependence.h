// Partial dependence: predictions as functions of groups of features, for all groups in one pass.
//
// A group is one feature or two. Consider a leaf and a group with a feature on its path. The rows that meet all other
// conditions of the path reach the leaf at all points where the group meets its conditions: in an interval of numbers,
// or in a set of categories. Their weight is an integer, so its sum is exact in any order. For each group, the leaves
// add weight * value to these points, in the order of trees and leaves: the same bits on any number of threads.
//
// Axes. The points of a numeric feature are ascending values. `place` is the number of points that are at most the
// threshold of a node. A leaf adds +1 at its first point and -1 after its last point; the caller cumulates these. A
// categorical feature has a point for each category; values added at place n_points apply to all categories. The last
// place, n_points + 1, is for missing values.
//
// Rows of a tree are partitioned in place, once for each group on the path: the list of a group is not partitioned at
// splits by its own features.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "predict/leaves.h"
#include "tree/forest_view.h"

namespace weald {

struct FreeGroups {
    std::span<const std::int32_t> first;           // by group: a feature
    std::span<const std::int32_t> second;          // another one, or -1
    std::span<const std::uint32_t> n_points;       // indexed by feature
    std::span<const std::uint8_t> has_categories;  // by feature: whether it is split by sets of its points
    std::span<const std::int32_t> place;           // by node: number of points on the left, at splits by thresholds

    std::size_t size() const { return first.size(); }
    std::size_t n_places(std::int32_t feature) const {
        return feature < 0 ? 1 : std::size_t{n_points[static_cast<std::size_t>(feature)]} + 2;
    }
    std::size_t n_places(std::size_t group) const { return n_places(first[group]) * n_places(second[group]); }
};

// For accumulated local effects: a row counts at a step between two points only if it is in the bin of the step. Groups
// are single numeric features.
struct LocalBins {
    std::span<const std::uint16_t> of_row;   // features x rows; kNoBin: in no bin
    std::span<const std::uint16_t> of_step;  // by feature and point: the bin of the step to this point; kNoBin: none

    static constexpr std::uint16_t kNoBin = 0xFFFF;
    bool is_empty() const { return of_step.empty(); }
};

struct DependenceSums {
    std::vector<double> steps;    // by group and place, width values each
    std::vector<double> on_path;  // groups x width: sums of the rows' own leaves that have the group on their path
    std::vector<double> total;    // width: sums of all own leaves
};

constexpr std::size_t kMostDependenceRows = 65536;  // rows in one call

// `values`: nodes x width, read in leaves. `weight`: by row; empty: 1 each.
DependenceSums sum_dependence(const ForestView& forest, const Predictor& predictor, std::span<const double> values,
                              const Matrix& x, std::span<const std::int64_t> weight, const FreeGroups& groups,
                              const LocalBins& bins, Work& work);

}  // namespace weald
