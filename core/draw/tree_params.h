// The parameters of growth as plain numbers, resolved from the user's parameters.
//
//   Growth          the parameters
//   kGrowthFields   their names and members, for code that goes through all of them
//
// src/weald/engines/params.py has the same fields; a test compares both.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
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
    std::uint64_t n_draws = 0;  // the maximum number of draws in a bag
    ClassWeight class_weight = ClassWeight::none;
    std::vector<double> class_weights;  // if they are given
    Strata strata = Strata::none;       // the strata with their own draws
    std::vector<std::uint64_t> draws;   // from each stratum; empty: n_draws from all rows
    bool random_cuts = false;           // each feature offers one random cut
    std::vector<int> monotonic;         // by feature: 1 increasing, -1 decreasing, 0 free; empty: all 0
    std::vector<std::vector<std::uint32_t>> interaction_groups;  // features that may share a path; empty: all
    std::uint32_t max_interacting = 0;                           // maximum number on a path; 0: no limit
    std::vector<double> feature_weights;                         // empty: equal weights
    double category_penalty = 0;       // penalty per category beyond two, in expected gains of random labels
    bool ties_by_column = false;       // with all features considered, ties go to the first column, without a draw
    std::uint32_t max_categories = 0;  // columns with more are cut in category order; 0: no limit
};

template <class T>
struct GrowthField {
    const char* name;
    T Growth::* member;
};

inline constexpr std::tuple kGrowthFields{
    GrowthField{"criterion", &Growth::criterion},
    GrowthField{"max_features", &Growth::max_features},
    GrowthField{"max_depth", &Growth::max_depth},
    GrowthField{"min_samples_split", &Growth::min_samples_split},
    GrowthField{"min_samples_leaf", &Growth::min_samples_leaf},
    GrowthField{"min_weight_fraction_leaf", &Growth::min_weight_fraction_leaf},
    GrowthField{"min_impurity_decrease", &Growth::min_impurity_decrease},
    GrowthField{"max_leaf_nodes", &Growth::max_leaf_nodes},
    GrowthField{"bootstrap", &Growth::bootstrap},
    GrowthField{"n_draws", &Growth::n_draws},
    GrowthField{"class_weight", &Growth::class_weight},
    GrowthField{"class_weights", &Growth::class_weights},
    GrowthField{"strata", &Growth::strata},
    GrowthField{"draws", &Growth::draws},
    GrowthField{"random_cuts", &Growth::random_cuts},
    GrowthField{"monotonic", &Growth::monotonic},
    GrowthField{"interaction_groups", &Growth::interaction_groups},
    GrowthField{"max_interacting", &Growth::max_interacting},
    GrowthField{"feature_weights", &Growth::feature_weights},
    GrowthField{"category_penalty", &Growth::category_penalty},
    GrowthField{"ties_by_column", &Growth::ties_by_column},
    GrowthField{"max_categories", &Growth::max_categories},
};
inline constexpr std::size_t kGrowthSize = std::tuple_size_v<decltype(kGrowthFields)>;

// Calls visit(field) for each field, in order.
template <class Visit>
void for_each_growth_field(Visit&& visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, kGrowthFields);
}

// Whether Growth has at least n members: an aggregate takes no more initializers than it has members.
struct AnyValue {
    template <class T>
    operator T() const;
};
template <std::size_t... I>
constexpr bool has_members(std::index_sequence<I...>) {
    return requires { Growth{(static_cast<void>(I), AnyValue{})...}; };
}
static_assert(has_members(std::make_index_sequence<kGrowthSize>()) &&
                  !has_members(std::make_index_sequence<kGrowthSize + 1>()),
              "kGrowthFields lists every member of Growth");

}  // namespace weald
