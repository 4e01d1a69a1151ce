// SHAP values of the interventional game: features that are not known take the values of background rows (see
// engines/reference/interventional.py for the definition).
//
// Background rows with the same deciding features walk together: their list is divided in place at splits. So the upper
// part of a tree is walked once for many background rows.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "base/view.h"
#include "inspect/shap.h"

namespace weald {

struct InterventionalTask {
    const Matrix& background;
    std::span<const double> amounts;       // by node of all trees: the values of the leaves
    std::span<const std::uint8_t> is_new;  // trees x rows: trees count for these rows only; empty: for all
};

// Rows x features, summed over background rows.
std::vector<double> interventional_values(const PathForest& forest, const Matrix& x, const InterventionalTask& task,
                                          Work& work);

}  // namespace weald
