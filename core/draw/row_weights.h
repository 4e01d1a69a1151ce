// Weights of the rows of a bag in the statistics.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/weights.h"
#include "coding/codes.h"
#include "draw/tree_params.h"

namespace weald {

inline bool in_fixed_point(const Codes& codes, const Growth& growth) {
    return !growth.bootstrap && !codes.weights_are_copies();
}

// Whether the weights of the statistics have another scale than the user's.
inline bool has_weight_scale(const Codes& codes, const Growth& growth) {
    return growth.class_weight != ClassWeight::none || in_fixed_point(codes, growth);
}

inline std::uint64_t line_weight(const Codes& codes, std::size_t rank) {
    return codes.line.empty() ? 1 : codes.line[rank];
}

// Weights of the classes, or nothing if they are equal.
inline std::vector<WideDouble> class_weights(const Codes& codes, const Growth& growth,
                                             const std::vector<std::uint32_t>& sizes) {
    switch (growth.class_weight) {
        case ClassWeight::none:
            return {};
        case ClassWeight::given:
            return {growth.class_weights.begin(), growth.class_weights.end()};
        default:
            break;
    }
    const bool of_bag = growth.class_weight == ClassWeight::bag && growth.bootstrap;
    std::vector<std::uint64_t> of_class(codes.n_classes);
    for (std::size_t r = 0; r < codes.n_rows; ++r) {
        of_class[static_cast<std::size_t>(codes.classes[r])] += of_bag ? sizes[r] : line_weight(codes, r);
    }
    return balanced_weights(of_class);
}

// Whether rows of a class are removed from the bag because its weight is 0. `of_class` are the class weights; empty:
// equal.
inline bool is_left_out(const std::vector<WideDouble>& of_class, std::int32_t k) {
    return !of_class.empty() && of_class[static_cast<std::size_t>(k)].mantissa == 0;
}

// Weights in fixed point, including class weights, and the user's unit of weight.
struct FixedWeights {
    std::vector<std::uint64_t> of_rows;
    double scale = 1;
};

inline FixedWeights fixed_weights(const Codes& codes, const std::vector<WideDouble>& of_class) {
    if (of_class.empty()) {
        const std::span<const double> given(codes.weights);
        return {fixed_point(given), positive_power(1.0, -fixed_point_shift(given))};
    }
    std::vector<WideDouble> weights(codes.weights.begin(), codes.weights.end());
    for (std::size_t r = 0; r < weights.size(); ++r) {
        weights[r] = weights[r] * of_class[static_cast<std::size_t>(codes.classes[r])];
    }
    const std::span<const WideDouble> given(weights);
    return {fixed_point(given), positive_power(1.0, -fixed_point_shift(given))};
}

}  // namespace weald
