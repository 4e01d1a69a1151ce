// Growing trees of numbers, by one criterion.
//
// Squared error is compiled together with the classification criteria, the other regression criteria separately.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/weights.h"
#include "coding/target.h"
#include "draw/row_weights.h"
#include "grow/forest_trainer.h"
#include "targets/targets.h"

namespace weald {

// Each file that includes this gets its own functions, so that inlining in one file does not depend on another.
namespace {

// `fill` gives a tree its rows and their payloads, for the sizes of its bag.
template <TargetModel Model, class Fill>
GrownTrees grow_all(const Order& order, const Model& model, const Fill& fill) {
    return ForestTrainer<Model, Fill>(order, model, fill).grow();
}

template <class Labels, class Criterion>
using ModelOfNumbers =
    std::conditional_t<std::is_same_v<Criterion, AbsoluteError>, MedianModel<Labels>, NumberModel<Labels, Criterion>>;

template <class Criterion>
GrownTrees grow_numbers(const Order& order) {
    const Codes& codes = order.codes;
    const bool fixed = in_fixed_point(codes, order.growth);
    constexpr bool kFromZero = std::is_same_v<Criterion, Poisson>;
    if (kFromZero && *std::min_element(codes.numbers.begin(), codes.numbers.end()) < 0) {
        throw std::invalid_argument("criterion '" + order.growth.criterion + "' needs targets of at least 0");
    }
    TargetUnit unit(codes.numbers, !fixed, order.growth.n_draws, kFromZero);
    GrownTrees grown;
    if (unit.widen(codes.numbers, codes.line)) {
        const ModelOfNumbers<WideNumbers, Criterion> model({}, unit.center, unit.exponent);
        grown = grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
            const FixedWeights weights = fixed ? fixed_weights(codes, {}) : FixedWeights();
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                if (sizes[r] != 0) {
                    const std::uint64_t weight = fixed ? weights.of_rows[r] : sizes[r];
                    rows.add(r, {unit.wide_whole(codes.numbers[r]), static_cast<std::int64_t>(weight), sizes[r]});
                }
            }
            return weights.scale;
        });
    } else if (fixed) {
        const ModelOfNumbers<WeightedNumbers, Criterion> model({}, unit.center, unit.exponent);
        grown = grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>&) {
            const FixedWeights weights = fixed_weights(codes, {});
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                rows.add(r, {unit.whole(codes.numbers[r]), static_cast<std::int64_t>(weights.of_rows[r])});
            }
            return weights.scale;
        });
    } else {
        const CountedNumbers labels{static_cast<unsigned>(std::bit_width(order.growth.n_draws))};
        const ModelOfNumbers<CountedNumbers, Criterion> model(labels, unit.center, unit.exponent);
        grown = grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                if (sizes[r] != 0) {
                    rows.add(r, labels.pack(unit.whole(codes.numbers[r]), sizes[r]));
                }
            }
            return 1.0;
        });
    }
    grown.target_center = unit.center;
    grown.target_exponent = unit.exponent;
    return grown;
}

}  // namespace

// For criteria other than squared error.
GrownTrees grow_other_numbers(const Order& order);

}  // namespace weald
