#include "grow/grow_multi_output.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/weights.h"
#include "coding/target.h"
#include "draw/row_weights.h"
#include "grow/forest_trainer.h"

namespace weald {

namespace {

// Weights of joint targets: those of their classes, multiplied in the order of the targets.
std::vector<WideDouble> joint_weights(const Codes& codes, const Targets& targets, const Growth& growth,
                                      const std::vector<std::uint32_t>& sizes) {
    if (growth.class_weight == ClassWeight::none) {
        return {};
    }
    const bool of_bag = growth.class_weight == ClassWeight::bag && growth.bootstrap;
    std::vector<WideDouble> weights(codes.n_classes, 1.0);
    auto given = growth.class_weights.begin();
    for (std::uint32_t o = 0; o < targets.n_targets; ++o) {
        const auto class_of = [&](std::size_t joint) {
            return static_cast<std::size_t>(targets.values[joint * targets.n_targets + o]);
        };
        std::vector<WideDouble> of_class(targets.n_classes[o], 0.0);
        if (growth.class_weight == ClassWeight::given) {
            std::copy_n(given, of_class.size(), of_class.begin());
            given += static_cast<std::ptrdiff_t>(of_class.size());
        } else {
            std::vector<std::uint64_t> counts(of_class.size());
            for (std::size_t r = 0; r < codes.n_rows; ++r) {
                counts[class_of(static_cast<std::size_t>(codes.classes[r]))] +=
                    of_bag ? sizes[r] : line_weight(codes, r);
            }
            of_class = balanced_weights(counts);
        }
        for (std::size_t joint = 0; joint < weights.size(); ++joint) {
            weights[joint] = weights[joint] * of_class[class_of(joint)];
        }
    }
    return weights;
}

GrownTrees grow_with(const Order& order, const Targets& targets, const TargetsModel& model) {
    const Codes& codes = order.codes;
    const auto fill = [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
        const std::vector<WideDouble> of_joint = joint_weights(codes, targets, order.growth, sizes);
        const bool fixed = in_fixed_point(codes, order.growth);
        const FixedWeights weights = fixed ? fixed_weights(codes, of_joint) : FixedWeights();
        const std::vector<std::uint64_t> scales =
            of_joint.empty() ? std::vector<std::uint64_t>(codes.n_classes, 1) : class_scales(of_joint);
        for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
            if (sizes[r] != 0 && !is_left_out(of_joint, codes.classes[r])) {
                const auto joint = static_cast<std::uint32_t>(codes.classes[r]);
                rows.add(r, {joint, sizes[r], fixed ? weights.of_rows[r] : sizes[r] * scales[joint]});
            }
        }
        return fixed ? weights.scale : class_weight_scale(of_joint);
    };
    return ForestTrainer<TargetsModel, decltype(fill)>(order, model, fill).grow();
}

GrownTargets grow_numbers(const Order& order, const Targets& targets, const Terms& terms) {
    const Codes& codes = order.codes;
    const bool copies = !in_fixed_point(codes, order.growth);
    const std::size_t n_joint = codes.n_classes;
    std::vector<Numbers> numbers;
    std::vector<double> centers;
    std::optional<int> unit;  // exponent of the target with the widest range; constant targets have none
    std::vector<double> of_target(n_joint);
    for (std::size_t o = 0; o < targets.n_targets; ++o) {
        for (std::size_t joint = 0; joint < n_joint; ++joint) {
            of_target[joint] = targets.values[joint * targets.n_targets + o];
        }
        const TargetUnit of_numbers(of_target, copies, order.growth.n_draws);
        std::vector<std::int64_t> q(n_joint);
        std::transform(of_target.begin(), of_target.end(), q.begin(), [&](double y) { return of_numbers.whole(y); });
        centers.push_back(of_numbers.center);
        if (std::any_of(q.begin(), q.end(), [](std::int64_t number) { return number != 0; })) {
            unit = std::min(unit.value_or(of_numbers.exponent), of_numbers.exponent);
        }
        numbers.push_back({std::move(q), of_numbers.center, of_numbers.exponent});
    }
    GrownTrees grown = grow_with(order, targets, TargetsModel(std::move(numbers), unit.value_or(0), terms));
    grown.target_exponent = unit.value_or(0);
    return {std::move(grown), std::move(centers)};
}

std::optional<Terms> find_class_terms(const std::string& name) {
    std::optional<Terms> found;
    for_each_criterion<ClassCriteria>([&]<class Criterion>() {
        if (name == Criterion::name) {
            found = Terms{.of_classes = [](const ClassSide& side) { return Criterion::term(side); }};
            if constexpr (!std::is_void_v<typename Criterion::TieBreaker>) {
                found->of_tie = [](const ClassSide& side) { return Criterion::TieBreaker::term(side); };
            }
        }
    });
    return found;
}

std::optional<Terms> find_number_terms(const std::string& name) {
    std::optional<Terms> found;
    for_each_criterion<NumberCriteria>([&]<class Criterion>() {
        if constexpr (kIsOfSeveralTargets<Criterion>) {
            if (name == Criterion::name) {
                found = Terms{.of_numbers = [](double sum, double weight) { return Criterion::term(sum, weight); }};
            }
        }
    });
    return found;
}

}  // namespace

GrownTargets grow_targets(const Codes& codes, const Targets& targets, const Growth& growth, std::uint64_t seed,
                          std::uint32_t first_tree, std::uint32_t n_trees, Work& work) {
    const Order order{codes, growth, seed, first_tree, n_trees, work};
    const std::optional<Terms> terms = targets.task() == Task::classification ? find_class_terms(growth.criterion)
                                                                              : find_number_terms(growth.criterion);
    if (!terms) {
        throw std::invalid_argument("criterion '" + growth.criterion + "' is not available for these targets");
    }
    if (targets.task() == Task::regression) {
        return grow_numbers(order, targets, *terms);
    }
    return {grow_with(order, targets, TargetsModel(targets, *terms)), std::vector<double>(targets.n_targets)};
}

}  // namespace weald
