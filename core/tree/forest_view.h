// A forest as arrays owned by Python.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/task.h"

namespace weald {

// The arrays that a walk needs (tree/forest_arrays.h has their names).
struct ForestView {
    std::uint32_t n_features = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::span<const std::int64_t> tree_start;
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int32_t> right;
    std::span<const std::uint8_t> flags;
    std::span<const std::int64_t> leaf_start;
    std::span<const std::int32_t> leaf_class;
    std::span<const double> leaf_weight;
    std::span<const double> value;
    std::span<const std::int64_t> category_start;
    std::span<const std::uint32_t> category_sets;

    std::size_t n_trees() const { return tree_start.size() - 1; }
    Task task() const { return task_of(n_classes); }
    std::size_t width() const { return task() == Task::regression ? 1 : n_classes; }
};

// Some trees of a forest. Leaves and sets keep their indices in the whole forest.
class SomeTrees {
  public:
    SomeTrees(const ForestView& forest, std::size_t begin, std::size_t end);
    SomeTrees(const SomeTrees&) = delete;
    SomeTrees& operator=(const SomeTrees&) = delete;

    const ForestView& view() const { return view_; }

  private:
    std::vector<std::int64_t> tree_start_;
    ForestView view_;
};

// Throws std::invalid_argument if the arrays are not a valid forest.
void check_forest(const ForestView& forest);

}  // namespace weald
