// How to grow, in plain numbers: what the user said has been resolved before it comes here.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weald {

enum class ClassWeight { none, given, table, bag };
enum class Strata { none, classes, given };

struct Growth {
    std::string criterion;
    std::uint32_t max_features = 1;
    std::int32_t max_depth = 0;
    std::int64_t min_samples_split = 2;
    std::int64_t min_samples_leaf = 1;
    double min_weight_fraction_leaf = 0;
    double min_impurity_decrease = 0;
    std::uint32_t max_leaf_nodes = 0;  // 0: no limit
    bool bootstrap = true;
    std::uint64_t n_draws = 0;  // the most that a bag can hold
    ClassWeight class_weight = ClassWeight::none;
    std::vector<double> class_weights;  // where they are given
    Strata strata = Strata::none;       // what has draws of its own
    std::vector<std::uint64_t> draws;   // from each stratum; empty: n_draws from all rows
    bool random_cuts = false;           // each feature offers one cut at a random place
    std::vector<int> monotonic;         // by feature: 1 rising, -1 falling, 0 free; empty: all are free
    std::vector<std::vector<std::uint32_t>> interaction_groups;  // features that may meet on a path; empty: all may
    std::uint32_t max_interacting = 0;                           // most that may meet on a path; 0: no limit
    std::vector<double> feature_weights;                         // empty: all alike
    double category_penalty = 0;  // what a category beyond two costs, in gains that labels without meaning have
};

}  // namespace weald
