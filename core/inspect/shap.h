// SHAP values of the path-dependent game: exact, by quadrature over t (see engines/reference/shap.py for the
// definition, whose names are used here).
//
//   PathForest         a forest with the fractions of its splits; created once and kept
//   QuadratureRules    points and weights, computed by the caller
//   add_shap_values    rows x features
//   add_interactions   rows x features x features
//
// A tree is walked depth-first for a group of rows at a time, the right side of a split before the left. On the way
// down, C is extended at each point and for each row of the group; on the way up, U is passed from the leaves to the
// root, and each split adds its integral to its feature. All rows of a group are at the same node, so the lanes of a
// vector are rows: their sums run in the same order for all instruction sets.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "predict/leaves.h"

namespace weald {

class PathForest {
  public:
    // weight: by node. Throws std::invalid_argument if the arrays are not a valid forest.
    PathForest(const ForestView& forest, std::span<const double> weight);

    struct Split {
        double left;  // fractions of the weight
        double right;
        double above;        // z: product of the fractions at the splits by the same feature above; 1 if there are none
        std::int32_t depth;  // depth of the nearest split by the same feature above; -1: none
        std::uint32_t slot;  // number of the feature among those of the tree
    };

    const Predictor& predictor() const { return predictor_; }
    std::span<const Split> splits(std::size_t tree) const {  // by node; those of leaves are empty
        return std::span(splits_).subspan(starts_[tree], starts_[tree + 1] - starts_[tree]);
    }
    std::span<const std::uint32_t> features(std::size_t tree) const {
        return std::span(features_).subspan(feature_starts_[tree], feature_starts_[tree + 1] - feature_starts_[tree]);
    }
    std::size_t node_start(std::size_t tree) const { return starts_[tree]; }
    std::size_t n_nodes() const { return splits_.size(); }
    // By tree: the maximum number of distinct features on a path, and of splits.
    std::span<const std::uint32_t> n_distinct() const { return n_distinct_; }
    std::span<const std::uint32_t> depth() const { return depth_; }

  private:
    void add_tree(std::size_t tree, std::span<const double> weight, std::vector<std::uint32_t>& slot_of);

    Predictor predictor_;
    std::vector<Split> splits_;
    std::vector<std::size_t> starts_;      // first node of each tree, and the end
    std::vector<std::uint32_t> features_;  // features that each tree uses, in the order of their first nodes
    std::vector<std::size_t> feature_starts_;
    std::vector<std::uint32_t> n_distinct_;
    std::vector<std::uint32_t> depth_;
};

struct QuadratureRule {
    std::span<const double> points;
    std::span<const double> rest;  // 1 - points
    std::span<const double> weights;

    std::size_t size() const { return points.size(); }
};

struct ShapTask {
    std::vector<QuadratureRule> rules;     // indexed by tree
    std::span<const double> amounts;       // by node of all trees: the values of the leaves
    std::span<const std::uint8_t> is_new;  // trees x rows: trees count for these rows only; empty: for all
};

std::vector<double> shap_values(const PathForest& forest, const Matrix& x, const ShapTask& task, Work& work);

// Pairs of different features; the diagonal is 0.
std::vector<double> shap_interactions(const PathForest& forest, const Matrix& x, const ShapTask& task, Work& work);

}  // namespace weald
