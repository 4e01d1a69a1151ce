// The distribution of the target at queried rows, by the weights of a forest.
//
// Members of leaves are the distinct targets of training rows, in ascending order. The weight of a target at a row is
// the sum of its shares over the leaves that the row is in, in tree order. Weights are cumulated in the order of
// targets.
//
//   quantiles            for each row and level: the first target at which the cumulated weight reaches level * total
//   cumulated_shares     for each row and limit: the cumulated weight of the first targets, over the total
//   standard_deviations  for each row
//
// The result of a row that is in no leaf is NaN. Only the leaves of the queried rows are read and checked, so that a
// few rows take little time even in a large forest.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "inspect/proximity.h"

namespace weald {

std::vector<double> quantiles(const Sharing& sharing, std::span<const double> target, std::span<const double> levels,
                              Work& work);

// limits: numbers of targets, from 0 to n_members
std::vector<double> cumulated_shares(const Sharing& sharing, std::span<const std::int64_t> limits, Work& work);

std::vector<double> standard_deviations(const Sharing& sharing, std::span<const double> target, Work& work);

}  // namespace weald
