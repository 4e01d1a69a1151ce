// Multi-output: a row has a class, or a number, for each target, and the score of a cut is the mean of its scores for
// the targets.
//
//   Targets        the targets of each joint target; `Codes::classes` are the joint targets of rows
//   TargetsModel   a model of targets/target_model.h, for all criteria; it sorts the rows and scores every cut

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/task.h"
#include "coding/target.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/criteria.h"
#include "score/monotonic.h"
#include "targets/target_model.h"
#include "tree/tree.h"

namespace weald {

struct Targets {
    std::uint32_t n_targets = 0;
    std::vector<std::uint32_t> n_classes;  // number of classes of each target; empty: numeric targets
    std::vector<double> values;            // by joint target, then by target: a class, or a number

    Task task() const { return n_classes.empty() ? Task::regression : Task::classification; }
};

// Terms of a side: by its class weights, or of a sum about the node's mean.
using ClassSide = ClassWeights<std::span<const std::uint64_t>>;
struct Terms {
    double (*of_classes)(const ClassSide& side) = nullptr;
    double (*of_tie)(const ClassSide& side) = nullptr;  // null: the criterion has no tie breaker
    double (*of_numbers)(double about_mean, double weight) = nullptr;
};

// A regression target: q by joint target, and its unit.
struct Numbers {
    std::vector<std::int64_t> q;
    double center = 0;
    int exponent = 0;
};

class TargetsModel {
  public:
    struct Payload {
        std::uint32_t joint;
        std::uint32_t size;
        std::uint64_t weight;
    };

    // Sums over a set of rows.
    struct Tally {
        std::int64_t size = 0;
        std::uint64_t weight = 0;
        std::vector<std::uint64_t> classes;  // weights, target by target
        std::vector<Int128> sums;            // indexed by target
    };

    // By (node, target), in regression.
    struct Sums {
        std::size_t n_targets = 0;
        std::vector<double> values;
        std::vector<double> impurities;

        void append(const Sums& other, std::size_t begin, std::size_t n) {
            n_targets = other.n_targets;
            TreeCursor::append(values, other.values, begin * n_targets, n * n_targets);
            TreeCursor::append(impurities, other.impurities, begin * n_targets, n * n_targets);
        }
        void reserve(std::size_t) {}
    };

    // For classification.
    TargetsModel(const Targets& targets, const Terms& terms)
        : task_(Task::classification), n_targets_(targets.n_targets), terms_(terms) {
        for (const std::uint32_t n : targets.n_classes) {
            first_class_.push_back(n_classes_);
            n_classes_ += n;
        }
        first_class_.push_back(n_classes_);
        std::transform(targets.values.begin(), targets.values.end(), std::back_inserter(slots_),
                       [](double k) { return static_cast<std::uint32_t>(k); });
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            slots_[i] += first_class_[i % n_targets_];
        }
        shifts_.assign(n_targets_, 0);
        sums_.n_targets = 0;
    }
    // For regression: for each target those of all joint targets, as integers.
    TargetsModel(std::vector<Numbers> numbers, int unit, const Terms& terms)
        : task_(Task::regression),
          n_targets_(static_cast<std::uint32_t>(numbers.size())),
          numbers_(std::move(numbers)),
          unit_(unit),
          terms_(terms) {
        for (const Numbers& of_target : numbers_) {
            shifts_.push_back(2 * (unit - of_target.exponent));
        }
        sums_.n_targets = n_targets_;
    }

    void weigh_like(const TargetsModel&) {}

    // ---- The node

    void look_at(const Payload* payloads, std::uint32_t n) {
        clear(node_);
        for (std::uint32_t i = 0; i < n; ++i) {
            add(node_, payloads[i]);
        }
        find_orders();
        is_pure_ = true;
        if (of_classes()) {
            is_pure_ = n_present_ == n_targets_;
        } else {
            means_.resize(n_targets_);
            for (std::uint32_t o = 0; o < n_targets_; ++o) {
                means_[o] = floor_mean(node_.sums[o], node_.weight);
                const std::vector<std::int64_t>& q = numbers_[o].q;
                is_pure_ = is_pure_ && std::all_of(payloads, payloads + n, [&](const Payload& payload) {
                               return q[payload.joint] == q[payloads[0].joint];
                           });
            }
        }
    }
    void begin_search(const Payload*, std::uint32_t, const Limits& limits) { limits_ = limits; }
    bool is_pure() const { return is_pure_; }
    std::int64_t size() const { return node_.size; }
    std::uint64_t weight() const { return node_.weight; }
    double undivided() const { return score(terms_.of_classes, {&node_}); }
    static bool weights_are_sizes() { return false; }
    static double perfect(const Payload*, std::uint32_t) { return std::numeric_limits<double>::infinity(); }
    static double mixed(const Payload*, std::uint32_t) { return 0; }  // multi-output has no penalty
    static double decrease(double of_score) { return of_score; }
    double in_user_units(double decrease) const { return ldexp_within(decrease, -2 * unit_); }

    // ---- Categories: the orders of each target in turn

    struct Share {
        Int128 sum = 0;
        std::uint64_t weight = 0;
    };
    std::uint32_t n_orders() const { return static_cast<std::uint32_t>(orders_.size()); }
    void add_to_share(Share& share, const Payload& payload, std::uint32_t order) const {
        share.weight += payload.weight;
        const auto [target, slot] = orders_[order];
        if (!of_classes()) {
            share.sum += static_cast<Int128>(payload.weight) * numbers_[target].q[payload.joint];
        } else if (slots_[std::size_t{payload.joint} * n_targets_ + target] == slot) {
            share.sum += payload.weight;
        }
    }
    static double share(const Share& share) {
        return static_cast<double>(share.sum) / static_cast<double>(share.weight);
    }

    // ---- Cuts

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double) {
        sorted_.resize(n);
        std::iota(sorted_.begin(), sorted_.end(), 0u);
        std::sort(sorted_.begin(), sorted_.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return codes[a] < codes[b]; });
        FeatureCuts found;
        Tally missing = nothing();
        std::uint32_t n_present = n;
        for (; n_present > 0 && codes[sorted_[n_present - 1]] == kMissing<Code>; --n_present) {
            add(missing, payloads[sorted_[n_present - 1]]);
        }
        found.has_missing = n_present < n;
        const auto offer = [&](const Tally& left, std::uint64_t order) {
            if (const std::optional<Candidate> cut = judge(left, order)) {
                found.is_admissible = true;
                found.offer(*cut);
            }
        };
        Tally left = nothing();
        for (std::uint32_t i = 0; i < n_present; ++i) {
            const Code code = codes[sorted_[i]];
            add(left, payloads[sorted_[i]]);
            if (i + 1 == n_present || codes[sorted_[i + 1]] == code) {
                continue;
            }
            offer(left, Candidate::order_of(code, false));
            if (found.has_missing) {
                offer(sum_of_both(left, missing), Candidate::order_of(code, true));
            }
        }
        if (found.has_missing && n_present > 0) {
            offer(left, Candidate::kPresentAgainstMissing);
        }
        return found;
    }

    Tally nothing() const {
        Tally tally;
        clear(tally);
        return tally;
    }
    void move(Tally& left, const Payload& payload, bool goes_left) const {
        if (goes_left) {
            add(left, payload);
        }
    }
    std::optional<Candidate> judge(const Tally& left, std::uint64_t order) {
        const std::uint64_t right_weight = node_.weight - left.weight;
        if (std::min(left.size, node_.size - left.size) < limits_.min_size ||
            static_cast<std::int64_t>(std::min(left.weight, right_weight)) < limits_.min_weight) {
            return {};
        }
        right_ = node_;
        subtract(right_, left);
        const auto balance = static_cast<std::int64_t>(left.weight - right_weight);
        return Candidate{score(terms_.of_classes, {&left, &right_}),
                         terms_.of_tie ? score(terms_.of_tie, {&left, &right_}) : 0.0,
                         static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0};
    }
    // Multi-output has no monotonic constraints.
    static SideValues values(const Tally&) { return {}; }
    static void write_value(TreeArrays&, const ValueBounds&) {}

    // ---- Values of nodes: entries of leaves have the classes of all targets, one after the other

    void write_node(TreeArrays& tree, const Payload* payloads, std::uint32_t n, bool is_leaf) {
        if (!of_classes()) {
            for (std::uint32_t o = 0; o < n_targets_; ++o) {
                write_number(o, payloads, n);
            }
        } else if (is_leaf) {
            std::uint32_t n_entries = 0;
            for (std::uint32_t slot = 0; slot < n_classes_; ++slot) {
                if (node_.classes[slot] != 0) {
                    tree.leaf_class.push_back(static_cast<std::int32_t>(slot));
                    tree.leaf_weight.push_back(static_cast<double>(node_.classes[slot]));
                    ++n_entries;
                }
            }
            tree.leaf_length.push_back(n_entries);
        }
    }
    static void reserve(TreeArrays&, std::size_t) {}
    Sums take_sums() {
        Sums taken = std::exchange(sums_, {});
        sums_.n_targets = taken.n_targets;
        return taken;
    }
    static void finish(TreeArrays& tree, Sums sums) {
        tree.value = std::move(sums.values);
        tree.impurity = std::move(sums.impurities);
    }

  private:
    bool of_classes() const { return task_ == Task::classification; }

    static Int128 floor_mean(Int128 sum, std::uint64_t weight) {
        const auto divisor = static_cast<Int128>(weight);
        const Int128 quotient = sum / divisor;
        return quotient - (sum % divisor < 0 ? 1 : 0);
    }

    void clear(Tally& tally) const {
        tally.size = 0;
        tally.weight = 0;
        tally.classes.assign(n_classes_, 0);
        tally.sums.assign(numbers_.size(), 0);
    }
    void add(Tally& tally, const Payload& payload) const {
        tally.size += payload.size;
        tally.weight += payload.weight;
        if (of_classes()) {
            const std::uint32_t* slots = slots_.data() + std::size_t{payload.joint} * n_targets_;
            for (std::uint32_t o = 0; o < n_targets_; ++o) {
                tally.classes[slots[o]] += payload.weight;
            }
        } else {
            for (std::uint32_t o = 0; o < n_targets_; ++o) {
                tally.sums[o] += static_cast<Int128>(payload.weight) * numbers_[o].q[payload.joint];
            }
        }
    }
    static void subtract(Tally& from, const Tally& tally) {
        from.size -= tally.size;
        from.weight -= tally.weight;
        std::transform(from.classes.begin(), from.classes.end(), tally.classes.begin(), from.classes.begin(),
                       std::minus<>());
        std::transform(from.sums.begin(), from.sums.end(), tally.sums.begin(), from.sums.begin(), std::minus<>());
    }
    static Tally sum_of_both(const Tally& one, const Tally& other) {
        Tally both = one;
        both.size += other.size;
        both.weight += other.weight;
        std::transform(both.classes.begin(), both.classes.end(), other.classes.begin(), both.classes.begin(),
                       std::plus<>());
        std::transform(both.sums.begin(), both.sums.end(), other.sums.begin(), both.sums.begin(), std::plus<>());
        return both;
    }

    // The mean over targets of the sum of the sides' terms, each in the unit of the target with the widest range.
    double score(double (*of_classes_of)(const ClassSide&), std::initializer_list<const Tally*> sides) const {
        double total = 0;
        for (std::uint32_t o = 0; o < n_targets_; ++o) {
            double of_target = 0;
            bool is_first = true;
            for (const Tally* side : sides) {
                const double term = of_classes() ? of_classes_of(classes_of(*side, o)) : number_term(*side, o);
                of_target = is_first ? term : of_target + term;
                is_first = false;
            }
            total += std::ldexp(of_target, shifts_[o]);
        }
        return total / static_cast<double>(n_targets_);
    }
    ClassSide classes_of(const Tally& side, std::uint32_t target) const {
        const std::span<const std::uint64_t> all(side.classes);
        return {all.subspan(first_class_[target], first_class_[target + 1] - first_class_[target]), side.weight};
    }
    double number_term(const Tally& side, std::uint32_t target) const {
        const Int128 about_mean = side.sums[target] - static_cast<Int128>(side.weight) * means_[target];
        return terms_.of_numbers(static_cast<double>(about_mean), static_cast<double>(side.weight));
    }

    void find_orders() {
        orders_.clear();
        n_present_ = 0;
        for (std::uint32_t o = 0; o < n_targets_; ++o) {
            if (!of_classes()) {
                orders_.push_back({o, 0});
                continue;
            }
            const std::size_t begin = orders_.size();
            for (std::uint32_t slot = first_class_[o]; slot < first_class_[o + 1]; ++slot) {
                if (node_.classes[slot] != 0) {
                    orders_.push_back({o, slot});
                }
            }
            const std::size_t n_present = orders_.size() - begin;
            n_present_ += static_cast<std::uint32_t>(n_present);
            if (n_present == 2) {
                orders_.erase(orders_.begin() + static_cast<std::ptrdiff_t>(begin));
            }
        }
    }

    void write_number(std::uint32_t target, const Payload* payloads, std::uint32_t n) {
        const Numbers& numbers = numbers_[target];
        const double weight = static_cast<double>(node_.weight);
        const Int128 mean = means_[target];
        UInt128 squares = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const Int128 about_mean = numbers.q[payloads[i].joint] - mean;
            squares += static_cast<UInt128>(payloads[i].weight) * static_cast<UInt128>(about_mean * about_mean);
        }
        const double a = static_cast<double>(node_.sums[target] - static_cast<Int128>(node_.weight) * mean);
        const double spread = (static_cast<double>(squares) - a * a / weight) / weight;
        const double value = static_cast<double>(node_.sums[target]) / weight;
        sums_.values.push_back(within_doubles(numbers.center + ldexp_within(value, -numbers.exponent)));
        sums_.impurities.push_back(ldexp_within(std::max(0.0, spread), -2 * numbers.exponent));
    }

    struct OneOrder {
        std::uint32_t target;
        std::uint32_t slot;  // the class whose fraction is used
    };

    Task task_;
    std::uint32_t n_targets_;
    std::uint32_t n_classes_ = 0;             // of all targets together
    std::vector<std::uint32_t> first_class_;  // by target: index of its first class
    std::vector<std::uint32_t> slots_;        // by joint target, then by target: index of its class
    std::vector<Numbers> numbers_;            // by target, of regression
    std::vector<int> shifts_;                 // by target: factor from its unit of scores to the common one
    int unit_ = 0;                            // exponent of the target with the widest range
    Terms terms_;
    Tally node_;
    std::vector<Int128> means_;  // means of the node, rounded down
    bool is_pure_ = false;
    std::uint32_t n_present_ = 0;  // classes of all targets in the node
    std::vector<OneOrder> orders_;
    Limits limits_;
    Tally right_;
    std::vector<std::uint32_t> sorted_;
    Sums sums_;
};

static_assert(TargetModel<TargetsModel>);

}  // namespace weald
