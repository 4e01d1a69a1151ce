// Any number of classes, counted or weighted. targets/target_model.h defines a model.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "score/monotonic.h"
#include "search/class_bins.h"
#include "search/many_classes.h"
#include "search/small_many_classes.h"
#include "search/small_two_classes.h"
#include "targets/common.h"
#include "tree/tree.h"

namespace weald {

template <class LabelsT, class Criterion>
class ManyClassModel {
  public:
    using Labels = LabelsT;
    using Payload = typename Labels::Payload;
    using Sums = NoSums;
    static constexpr bool kCounted = std::is_same_v<Labels, CountedClasses>;

    explicit ManyClassModel(std::uint32_t n_classes) : of_class_(std::size_t{2} * n_classes) {
        totals_.slot_of_class.resize(n_classes);
    }

    // Weights of the classes, which may differ from tree to tree.
    void set_scales(std::span<const std::uint64_t> scales) {
        scales_.assign(scales.begin(), scales.end());
        labels_.scales = scales_;
        weights_are_sizes_ =
            std::all_of(scales_.begin(), scales_.end(), [](std::uint64_t scale) { return scale == 1; });
    }
    void weigh_like(const ManyClassModel& other) {
        if constexpr (std::is_same_v<Labels, CountedClasses>) {
            set_scales(other.scales_);
        }
    }

    void look_at(const Payload* payloads, std::uint32_t n) {
        totals_.classes.clear();
        totals_.weights.clear();
        totals_.weight = 0;
        totals_.size = 0;
        std::uint64_t seen = 0;  // classes; those 64 apart share a bit
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t k = labels_.class_of(payloads[i]);
            seen |= std::uint64_t{1} << (k % 64);
            // Adjacent rows are added to separate sums: often they have the same class, and one addition would wait for
            // the other.
            of_class_[2 * k + i % 2] += labels_.weight(payloads[i]);
            totals_.size += labels_.size(payloads[i]);
        }
        for (; seen != 0; seen &= seen - 1) {
            for (auto k = static_cast<std::uint32_t>(std::countr_zero(seen)); 2 * k < of_class_.size(); k += 64) {
                if ((of_class_[2 * k] | of_class_[2 * k + 1]) != 0) {
                    totals_.classes.push_back(k);
                }
            }
        }
        if (of_class_.size() > 2 * 64) {
            std::sort(totals_.classes.begin(), totals_.classes.end());
        }
        for (std::uint32_t slot = 0; slot < totals_.classes.size(); ++slot) {
            const std::uint32_t k = totals_.classes[slot];
            const std::uint64_t weight = of_class_[2 * k] + of_class_[2 * k + 1];
            totals_.slot_of_class[k] = slot;
            totals_.weights.push_back(weight);
            totals_.weight += weight;
            of_class_[2 * k] = of_class_[2 * k + 1] = 0;
        }
    }
    void begin_search(const Payload* payloads, std::uint32_t n, const Limits& limits) {
        scratch_.reserve(n);
        limits_ = limits;
        payloads_ = payloads;
        if constexpr (kCounted) {
            choose_search(payloads, n);
        }
    }
    bool is_pure() const { return totals_.classes.size() == 1; }
    std::int64_t size() const { return totals_.size; }
    std::uint64_t weight() const { return totals_.weight; }
    bool weights_are_sizes() const { return weights_are_sizes_; }
    double undivided() const { return Criterion::term(ManyWeights{totals_.weights, totals_.weight}); }
    double perfect(const Payload*, std::uint32_t) const {
        if (totals_.weights.size() != 2 || static_cast<double>(totals_.weight) >= kExactInDouble) {
            return std::numeric_limits<double>::infinity();
        }
        const std::span<const std::uint64_t> all(totals_.weights);
        return Criterion::term(ManyWeights{all.subspan(0, 1), all[0]}) +
               Criterion::term(ManyWeights{all.subspan(1, 1), all[1]});
    }
    double mixed(const Payload*, std::uint32_t) const {
        return Criterion::term(ManyWeights{{&totals_.weight, 1}, totals_.weight}) - undivided();
    }
    static double decrease(double of_score) { return of_score; }
    static double in_user_units(double decrease) { return decrease; }

    // Categories are ordered by the fraction of each class; if the node has two classes, by that of the second.
    struct Share {
        std::uint64_t of_class = 0;
        std::uint64_t weight = 0;
    };
    std::uint32_t n_orders() const {
        return totals_.classes.size() == 2 ? 1 : static_cast<std::uint32_t>(totals_.classes.size());
    }
    void add_to_share(Share& share, const Payload& payload, std::uint32_t order) const {
        const std::uint64_t weight = labels_.weight(payload);
        share.weight += weight;
        share.of_class += labels_.class_of(payload) == totals_.classes[n_orders() == 1 ? 1 : order] ? weight : 0;
    }
    static double share(const Share& share) {
        return static_cast<double>(share.of_class) / static_cast<double>(share.weight);
    }

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double to_beat) {
        if constexpr (kCounted && sizeof(Code) == 2) {
            if (quick_ == FastSearch::few_of_two) {
                return FewRowsSearch<TwoScorer>(two_, to_beat).run({codes, slotted_.data(), n}, two_total_);
            }
            if constexpr (kHasTally<Criterion>) {
                if (quick_ == FastSearch::few_of_many) {
                    return FewOfManySearch<Criterion>(totals_, limits_, to_beat).run({codes, slotted_.data(), n});
                }
            }
            if constexpr (kHasBinScores<Criterion>) {
                if (quick_ == FastSearch::many_by_bins &&
                    payloads == payloads_) {  // false for rows that represent several
                    return ClassBinSearch<Criterion>(totals_, limits_, bins_, {codes, slotted_.data(), n}, to_beat)
                        .run(range_of(codes, n));
                }
            }
        }
        return RowSearch<Labels, Criterion, Code>(labels_, totals_, limits_, scratch_, {codes, payloads, n}, to_beat)
            .run();
    }

    // The left side, row by row: for searches that evaluate few cuts.
    struct Left {
        std::vector<std::uint64_t> weights;  // indexed by slot
        std::uint64_t weight;
        std::int64_t size;
    };
    Left& nothing() {
        left_.weights.assign(totals_.weights.size(), 0);
        left_.weight = 0;
        left_.size = 0;
        return left_;
    }
    void move(Left& left, const Payload& payload, bool goes_left) const {
        const std::uint64_t weight = goes_left ? labels_.weight(payload) : 0;
        left.weights[totals_.slot_of_class[labels_.class_of(payload)]] += weight;
        left.weight += weight;
        left.size += goes_left ? labels_.size(payload) : 0;
    }
    std::optional<Candidate> judge(const Left& left, std::uint64_t order) {
        const std::uint64_t right_weight = totals_.weight - left.weight;
        if (std::min(left.size, totals_.size - left.size) < limits_.min_size ||
            static_cast<std::int64_t>(std::min(left.weight, right_weight)) < limits_.min_weight) {
            return {};
        }
        right_.resize(left.weights.size());
        for (std::size_t slot = 0; slot < right_.size(); ++slot) {
            right_[slot] = totals_.weights[slot] - left.weights[slot];
        }
        const ManyWeights sides[] = {{left.weights, left.weight}, {right_, right_weight}};
        double tie_score = 0;
        if constexpr (!std::is_void_v<typename Criterion::TieBreaker>) {
            tie_score = Criterion::TieBreaker::term(sides[0]) + Criterion::TieBreaker::term(sides[1]);
        }
        const auto balance = static_cast<std::int64_t>(left.weight - right_weight);
        return Candidate{Criterion::term(sides[0]) + Criterion::term(sides[1]), tie_score,
                         static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0};
    }
    // For counted rows.
    std::size_t n_slots() const { return totals_.classes.size(); }
    std::uint32_t slot_of(const Payload& payload) const
        requires kCounted
    {
        return totals_.slot_of_class[labels_.class_of(payload)];
    }
    static std::uint32_t count_of(const Payload& payload) { return Labels::size(payload); }
    // The cut of a binary feature: ones(slot) rows have the second code.
    template <class Ones>
    std::optional<Candidate> judge_ones(const Ones& ones, std::uint64_t order) {
        left_.weights = totals_.weights;
        left_.weight = totals_.weight;
        left_.size = totals_.size;
        for (std::size_t slot = 0; slot < totals_.classes.size(); ++slot) {
            const std::uint64_t weight = ones(slot) * scales_[totals_.classes[slot]];
            left_.weights[slot] -= weight;
            left_.weight -= weight;
            left_.size -= ones(slot);
        }
        return judge(left_, order);
    }
    // For two classes; a node that can be split has both.
    SideValues values(const Left& left) const {
        const std::uint64_t right = totals_.weights[1] - left.weights[1];
        return {static_cast<double>(left.weights[1]) / static_cast<double>(left.weight),
                static_cast<double>(right) / static_cast<double>(totals_.weight - left.weight)};
    }

    void write_node(TreeArrays& tree, const Payload*, std::uint32_t, bool is_leaf) const {
        if (!is_leaf) {
            return;
        }
        for (std::size_t slot = 0; slot < totals_.classes.size(); ++slot) {
            tree.leaf_class.push_back(static_cast<std::int32_t>(totals_.classes[slot]));
            tree.leaf_weight.push_back(static_cast<double>(totals_.weights[slot]));
        }
        tree.leaf_length.push_back(static_cast<std::uint32_t>(totals_.classes.size()));
    }
    // For two classes; 0 for an empty bag.
    void write_value(TreeArrays& tree, const ValueBounds& bounds) const {
        if (totals_.classes.empty()) {
            tree.value.push_back(0);
            return;
        }
        const std::uint64_t second = totals_.classes.back() == 1 ? totals_.weights.back() : 0;
        tree.value.push_back(bounds.keep(static_cast<double>(second) / static_cast<double>(totals_.weight)));
    }
    static void reserve(TreeArrays& tree, std::size_t n_nodes) { reserve_leaves(tree, n_nodes); }
    NoSums take_sums() { return {}; }
    void finish(TreeArrays&, const NoSums&) const {}

  private:
    using TwoScorer = TwoClassScorer<Criterion>;

    // A node of few rows may have only two of the classes, or a criterion with tallies; one of many rows, a criterion
    // that scores bins: there are fast searches for these.
    enum class FastSearch { no, few_of_two, few_of_many, many_by_bins };

    void choose_search(const Payload* payloads, std::uint32_t n) {
        quick_ = FastSearch::no;
        const bool is_few = n <= kMostSorted;
        const bool is_counted = totals_.weight == static_cast<std::uint64_t>(totals_.size);
        if (is_few && totals_.classes.size() == 2 && totals_.size <= FewRowsSearch<TwoScorer>::kMostDraws) {
            const std::array<std::uint64_t, 2> scales{scales_[totals_.classes[0]], scales_[totals_.classes[1]]};
            two_total_ = totals_.weights[0] / scales[0] | totals_.weights[1] / scales[1] << 32;
            two_ = TwoScorer(two_total_, scales, limits_);
            quick_ = FastSearch::few_of_two;
        } else if (is_few && is_counted && is_for_tally()) {
            quick_ = FastSearch::few_of_many;
        } else if (is_counted && is_for_bins(n)) {
            quick_ = FastSearch::many_by_bins;
        }
        if (quick_ != FastSearch::no && slot_rows(payloads, n) > few::kMostCount && quick_ == FastSearch::few_of_many) {
            quick_ = FastSearch::no;
        }
    }

    bool is_for_tally() const {
        if constexpr (kHasTally<Criterion>) {
            return totals_.size <= Tally<Criterion>::kMostDraws && totals_.classes.size() <= few::kMostSlots;
        }
        return false;
    }
    bool is_for_bins(std::uint32_t n) const {
        if constexpr (kHasBinScores<Criterion>) {
            return totals_.size < BinScores<Criterion>::kMostDraws &&
                   ClassBinSearch<Criterion>::is_for(totals_.classes.size(), n);
        }
        return false;
    }

    // Assigns slots to the rows, and returns the largest count of a row.
    std::uint32_t slot_rows(const Payload* payloads, std::uint32_t n) {
        slotted_.resize(std::max(slotted_.size(), n + kMostSorted));
        std::uint32_t most = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t count = labels_.size(payloads[i]);
            slotted_[i] = totals_.slot_of_class[labels_.class_of(payloads[i])] << 16 | count;
            most = std::max(most, count);
        }
        return most;
    }

    Labels labels_;
    std::vector<std::uint64_t> scales_;
    bool weights_are_sizes_ = false;
    const Payload* payloads_ = nullptr;  // rows of the node
    FastSearch quick_ = FastSearch::no;
    std::vector<std::uint32_t> slotted_;  // rows of the node: slot << 16 | count
    TwoScorer two_;
    TwoClasses::Cell two_total_ = 0;
    ClassTotals totals_;
    Limits limits_;
    std::vector<std::uint64_t> of_class_;  // two sums for each class; zero between two nodes
    RowScratch scratch_;
    ClassBinScratch bins_;
    Left left_;
    std::vector<std::uint64_t> right_;
};

}  // namespace weald
