// Growing trees of times and events. Compiled apart from other targets.

#pragma once

#include "grow/forest_trainer.h"

namespace weald {

// Squared error of martingale residuals, which each node computes.
inline constexpr const char* kLogRank = "log_rank";

GrownTrees grow_survival(const Order& order);

}  // namespace weald
