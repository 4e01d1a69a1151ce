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
#include "grow/grow_numbers.h"
#include "grow/grow_survival.h"
#include "targets/targets.h"

namespace weald {

namespace {

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

GrownTrees grow_order(const Order& order) {
    const Codes& codes = order.codes;
    const Growth& growth = order.growth;
    std::optional<GrownTrees> grown;
    if (codes.task() == Task::classification) {
        for_each_criterion<ClassCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = grow_classes<Criterion>(order);
        });
    } else if (growth.criterion == kLogRank) {
        grown = grow_survival(order);
    } else {
        for_each_criterion<NumberCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = kIsSquaredError<Criterion> ? grow_numbers<SquaredError>(order) : grow_other_numbers(order);
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
