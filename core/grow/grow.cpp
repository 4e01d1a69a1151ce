#include "grow/grow.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/weights.h"
#include "coding/target.h"
#include "draw/row_weights.h"
#include "grow/forest_trainer.h"
#include "targets/targets.h"

namespace weald {

namespace {

// `fill` gives a tree its rows and their payloads, for the sizes of its bag.
template <TargetModel Model, class Fill>
GrownTrees grow_all(const Order& order, const Model& model, const Fill& fill) {
    return ForestTrainer<Model, Fill>(order, model, fill).grow();
}

template <TargetModel Model>
GrownTrees grow_counted_classes(const Order& order, const Model& model) {
    using Labels = typename Model::Labels;
    const Codes& codes = order.codes;
    return grow_all(order, model, [&](auto& model_of_tree, auto& rows, const std::vector<std::uint32_t>& sizes) {
        const std::vector<WideDouble> of_class = class_weights(codes, order.growth, sizes);
        model_of_tree.set_scales(of_class.empty() ? std::vector<std::uint64_t>(codes.n_classes, 1)
                                                  : class_scales(of_class));
        for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
            const std::uint32_t size = is_left_out(of_class, codes.classes[r]) ? 0 : sizes[r];
            push_counted(size, Labels::kMaxCount, [&](std::uint32_t count) {
                rows.add(r, Labels::pack(static_cast<std::uint32_t>(codes.classes[r]), count));
            });
        }
        return class_weight_scale(of_class);
    });
}

template <class Criterion>
GrownTrees grow_classes(const Order& order) {
    const Codes& codes = order.codes;
    if (!in_fixed_point(codes, order.growth)) {
        return codes.n_classes == 2
                   ? grow_counted_classes(order, TwoClassModel<Criterion>())
                   : grow_counted_classes(order, ManyClassModel<CountedClasses, Criterion>(codes.n_classes));
    }
    const ManyClassModel<WeightedClasses, Criterion> model(codes.n_classes);
    return grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
        const std::vector<WideDouble> of_class = class_weights(codes, order.growth, sizes);
        const FixedWeights weights = fixed_weights(codes, of_class);
        for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
            if (!is_left_out(of_class, codes.classes[r])) {
                rows.add(r, {weights.of_rows[r], static_cast<std::uint32_t>(codes.classes[r])});
            }
        }
        return weights.scale;
    });
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

GrownTrees grow_order(const Order& order) {
    const Codes& codes = order.codes;
    const Growth& growth = order.growth;
    std::optional<GrownTrees> grown;
    if (codes.task() == Task::classification) {
        for_each_criterion<ClassCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = grow_classes<Criterion>(order);
        });
    } else {
        for_each_criterion<NumberCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = grow_numbers<Criterion>(order);
        });
    }
    if (!grown) {
        throw std::invalid_argument("criterion '" + growth.criterion + "' is not available for this target");
    }
    return std::move(*grown);
}

}  // namespace

std::vector<std::pair<std::string, bool>> criteria() {
    std::vector<std::pair<std::string, bool>> names;
    for_each_criterion<ClassCriteria>([&]<class Criterion>() { names.emplace_back(Criterion::name, true); });
    for_each_criterion<NumberCriteria>([&]<class Criterion>() { names.emplace_back(Criterion::name, false); });
    return names;
}

GrownTrees grow_trees(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t first_tree,
                      std::uint32_t n_trees, Work& work) {
    return grow_order({codes, growth, seed, first_tree, n_trees, work});
}

GrownTrees grow_piece(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t tree, Piece& piece,
                      Work& work) {
    if (growth.max_leaf_nodes != 0) {
        throw std::invalid_argument("a tree with this many leaves cannot be grown in parts");
    }
    return grow_order({codes, growth, seed, tree, 1, work, &piece});
}

}  // namespace weald
