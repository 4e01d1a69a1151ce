// Which columns are cut by sets of categories; all others are cut in the order of their codes, like numbers.

#pragma once

#include "coding/column.h"
#include "draw/tree_params.h"

namespace weald {

inline bool is_cut_by_sets(const Column& column, const Growth& growth) {
    return column.is_categorical && (growth.max_categories == 0 || column.lows.size() <= growth.max_categories);
}

}  // namespace weald
