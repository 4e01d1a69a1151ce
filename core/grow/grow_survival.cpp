#include "grow/grow_survival.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "base/weights.h"
#include "coding/target.h"
#include "draw/row_weights.h"
#include "targets/survival.h"

namespace weald {

namespace {

static_assert(TargetModel<SurvivalModel<CountedNumbers>>);
static_assert(TargetModel<SurvivalModel<WeightedNumbers>>);

template <TargetModel Model, class Fill>
GrownTrees grow_residuals(const Order& order, const Model& model, const Fill& fill) {
    return ForestTrainer<Model, Fill>(order, model, fill).grow();
}

// A cumulative hazard is at most 1 + ln(draws), which is less than 1 + bit_width(draws).
int bits_of_hazard(int bits_of_draws) {
    return std::bit_width(static_cast<unsigned>(1 + bits_of_draws));
}

}  // namespace

GrownTrees grow_survival(const Order& order) {
    const Codes& codes = order.codes;
    const SurvivalTimes times(codes.numbers);
    GrownTrees grown;
    if (in_fixed_point(codes, order.growth)) {
        const int exponent = kFixedPointTargetBits - bits_of_hazard(kFixedPointWeightBits);
        const SurvivalModel<WeightedNumbers> model({}, exponent, times);
        grown = grow_residuals(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>&) {
            const FixedWeights weights = fixed_weights(codes, {});
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                rows.add(r, {times.numbers[r], static_cast<std::int64_t>(weights.of_rows[r])});
            }
            return weights.scale;
        });
        grown.target_exponent = exponent;
    } else {
        const int count_bits = static_cast<int>(std::bit_width(order.growth.n_draws));
        const int exponent = 61 - bits_of_hazard(count_bits) - count_bits;
        const CountedNumbers labels{static_cast<unsigned>(count_bits)};
        const SurvivalModel<CountedNumbers> model(labels, exponent, times);
        grown = grow_residuals(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                if (sizes[r] != 0) {
                    rows.add(r, labels.pack(times.numbers[r], sizes[r]));
                }
            }
            return 1.0;
        });
        grown.target_exponent = exponent;
    }
    return grown;
}

}  // namespace weald
