// What a tree predicts, and all that depends on it: what travels with a row, what is known of a node, how a feature is
// searched, what a leaf says.
//
//   TwoClassModel     two classes, counted
//   ManyClassModel    any number of classes, counted or weighted
//   NumberModel       numbers, counted or weighted
//
// A model has
//   Payload                what travels with a row
//   look_at                takes in the rows of a node; size, weight, is_pure and undivided speak of that node
//   begin_search, search   the best cut of it by one feature after the other
//   perfect                the score that no cut of it can exceed
//   nothing, move, judge   a cut of it, made row by row: what goes left, and whether that is admissible; `values` are
//                          those of its sides, for monotonic constraints
//   write_node, finish     its entries in the tree; Sums are what it keeps of each node until the tree is grown;
//                          write_value keeps a promise
//   weigh_like             takes over what may differ from tree to tree

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forest.h"
#include "monotonic.h"
#include "search_cells.h"
#include "search_few_classes.h"
#include "search_few_gini.h"
#include "search_few_numbers.h"
#include "search_lanes.h"
#include "search_rows.h"
#include "target.h"

namespace weald {

template <class Scorer, class Cell>
std::optional<Candidate> judge_cell(const Scorer& scorer, const Cell& left, std::uint64_t order) {
    if (!scorer.is_admissible(left)) {
        return {};
    }
    const std::int64_t balance = scorer.balance(left);
    return Candidate{scorer.score(left), scorer.tie_score(left), static_cast<std::uint64_t>(std::abs(balance)), order,
                     balance >= 0};
}

// Of classes nothing is kept.
struct NoSums {
    void append(const NoSums&, std::size_t, std::size_t) {}
    void reserve(std::size_t) {}
};

// ------------------------------------------------------------------------------------------------------ two classes

template <class Criterion>
class TwoClassModel {
  public:
    using Labels = TwoClasses;
    using Payload = Labels::Payload;
    using Cell = Labels::Cell;
    using Sums = NoSums;

    // Weights of the classes, which may differ from tree to tree.
    void set_scales(std::span<const std::uint64_t> scales) { scales_ = {scales[0], scales[1]}; }
    void weigh_like(const TwoClassModel& other) { scales_ = other.scales_; }

    void look_at(const Payload* payloads, std::uint32_t n) {
        std::uint32_t size = 0;
        std::uint32_t of_second = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t count = payloads[i] & Labels::kMaxCount;
            size += count;
            of_second += count * (payloads[i] >> 16);
        }
        total_ = Cell{size - of_second} | Cell{of_second} << 32;
    }
    // Before the features of the node are searched.
    void begin_search(const Payload*, std::uint32_t, const Limits& limits) {
        scorer_ = Scorer(total_, scales_, limits);
    }
    bool is_pure() const { return (total_ & 0xFFFFFFFFu) == 0 || total_ >> 32 == 0; }
    std::int64_t size() const { return static_cast<std::int64_t>((total_ & 0xFFFFFFFFu) + (total_ >> 32)); }
    std::uint64_t weight() const { return (total_ & 0xFFFFFFFFu) * scales_[0] + (total_ >> 32) * scales_[1]; }
    double undivided() const { return scorer_.undivided(); }
    double perfect(const Payload*, std::uint32_t) const { return scorer_.perfect(); }
    static double in_user_units(double decrease) { return decrease; }

    // Categories are put in the order of the second class's share.
    using Share = Cell;
    static std::uint32_t n_orders() { return 1; }
    static void add_to_share(Share& share, Payload payload, std::uint32_t) { share += Labels::cell(payload); }
    double share(const Share& cell) const {
        const std::uint64_t of_first = (cell & 0xFFFFFFFFu) * scales_[0];
        const std::uint64_t of_second = (cell >> 32) * scales_[1];
        return static_cast<double>(of_second) / static_cast<double>(of_first + of_second);
    }

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double to_beat) {
        if constexpr (sizeof(Code) == 2) {
            if (n <= kMostSorted && size() <= FewRowsSearch<Scorer>::kMostDraws) {
                return FewRowsSearch<Scorer>(scorer_, to_beat).run({codes, payloads, n}, total_);
            }
        }
        return CellSearch<Labels, Scorer, Code>(Labels{}, scorer_, scratch_, {codes, payloads, n}, to_beat).run(total_);
    }

    // What goes left, row by row: for searches that look at few cuts.
    Cell nothing() const { return {}; }
    void move(Cell& left, const Payload& payload, bool goes_left) const {
        left += goes_left ? Labels::cell(payload) : Cell{};
    }
    std::optional<Candidate> judge(const Cell& left, std::uint64_t order) const {
        return judge_cell(scorer_, left, order);
    }
    SideValues values(const Cell& left) const { return {value_of(left), value_of(total_ - left)}; }

    void write_node(TreeArrays& tree, const Payload*, std::uint32_t, bool is_leaf) const {
        if (!is_leaf) {
            return;
        }
        std::uint32_t n_classes = 0;
        for (const int k : {0, 1}) {
            const std::uint64_t count = k == 0 ? total_ & 0xFFFFFFFFu : total_ >> 32;
            if (count != 0) {
                tree.leaf_class.push_back(k);
                tree.leaf_weight.push_back(static_cast<double>(count * scales_[static_cast<std::size_t>(k)]));
                ++n_classes;
            }
        }
        tree.leaf_length.push_back(n_classes);
    }
    void write_value(TreeArrays& tree, const Promise& promise) const {
        tree.value.push_back(promise.keep(value_of(total_)));
    }
    NoSums take_sums() { return {}; }
    void finish(TreeArrays&, const NoSums&) const {}

  private:
    using Scorer = TwoClassScorer<Criterion>;

    double value_of(Cell cell) const {
        const std::uint64_t first = (cell & 0xFFFFFFFFu) * scales_[0];
        const std::uint64_t second = (cell >> 32) * scales_[1];
        return static_cast<double>(second) / static_cast<double>(first + second);
    }

    std::array<std::uint64_t, 2> scales_{1, 1};
    Cell total_ = 0;
    Scorer scorer_;
    CellScratch<Labels, typename Scorer::Near> scratch_;
};

// ----------------------------------------------------------------------------------------------------- many classes

template <class LabelsT, class Criterion>
class ManyClassModel {
  public:
    using Labels = LabelsT;
    using Payload = typename Labels::Payload;
    using Sums = NoSums;

    explicit ManyClassModel(std::uint32_t n_classes) : of_class_(n_classes) { totals_.slot_of_class.resize(n_classes); }

    // Weights of the classes, which may differ from tree to tree.
    void set_scales(std::span<const std::uint64_t> scales) {
        scales_.assign(scales.begin(), scales.end());
        labels_.scales = scales_;
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
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t k = labels_.class_of(payloads[i]);
            if (of_class_[k] == 0) {
                totals_.classes.push_back(k);
            }
            of_class_[k] += labels_.weight(payloads[i]);
            totals_.size += labels_.size(payloads[i]);
        }
        std::sort(totals_.classes.begin(), totals_.classes.end());
        for (std::uint32_t slot = 0; slot < totals_.classes.size(); ++slot) {
            const std::uint32_t k = totals_.classes[slot];
            totals_.slot_of_class[k] = slot;
            totals_.weights.push_back(of_class_[k]);
            totals_.weight += of_class_[k];
            of_class_[k] = 0;
        }
    }
    void begin_search(const Payload* payloads, std::uint32_t n, const Limits& limits) {
        scratch_.reserve(n);
        limits_ = limits;
        if constexpr (kCounted) {
            look_at_few(payloads, n);
        }
    }
    bool is_pure() const { return totals_.classes.size() == 1; }
    std::int64_t size() const { return totals_.size; }
    std::uint64_t weight() const { return totals_.weight; }
    double undivided() const { return Criterion::term(ManyWeights{totals_.weights, totals_.weight}); }
    double perfect(const Payload*, std::uint32_t) const {
        if (totals_.weights.size() != 2 || static_cast<double>(totals_.weight) >= kExactInDouble) {
            return std::numeric_limits<double>::infinity();
        }
        const std::span<const std::uint64_t> all(totals_.weights);
        return Criterion::term(ManyWeights{all.subspan(0, 1), all[0]}) +
               Criterion::term(ManyWeights{all.subspan(1, 1), all[1]});
    }
    static double in_user_units(double decrease) { return decrease; }

    // Categories are put in the order of each class's share; where the node has two, of the second's.
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
            if (few_ == Few::two) {
                return FewRowsSearch<TwoScorer>(two_, to_beat).run({codes, few_labels_.data(), n}, two_total_);
            }
            if (few_ == Few::gini) {
                return FewGiniSearch(totals_, limits_, to_beat).run({codes, few_labels_.data(), n});
            }
        }
        return RowSearch<Labels, Criterion, Code>(labels_, totals_, limits_, scratch_, {codes, payloads, n}, to_beat)
            .run();
    }

    // What goes left, row by row: for searches that look at few cuts.
    struct Left {
        std::vector<std::uint64_t> weights;  // by slot
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
    // Of two classes; a node that can be cut has both.
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
    // Of two classes.
    void write_value(TreeArrays& tree, const Promise& promise) const {
        const std::uint64_t second = totals_.classes.back() == 1 ? totals_.weights.back() : 0;
        tree.value.push_back(promise.keep(static_cast<double>(second) / static_cast<double>(totals_.weight)));
    }
    NoSums take_sums() { return {}; }
    void finish(TreeArrays&, const NoSums&) const {}

  private:
    using TwoScorer = TwoClassScorer<Criterion>;
    static constexpr bool kCounted = std::is_same_v<Labels, CountedClasses>;

    // A node of few rows may have only two of the classes, or be counted by Gini: there are quick searches for both.
    enum class Few { no, two, gini };

    void look_at_few(const Payload* payloads, std::uint32_t n) {
        few_ = Few::no;
        const std::size_t n_slots = totals_.classes.size();
        if (n > kMostSorted || totals_.size > FewGiniSearch::kMostDraws) {
            return;
        }
        std::uint32_t most = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t count = labels_.size(payloads[i]);
            few_labels_[i] = totals_.slot_of_class[labels_.class_of(payloads[i])] << 16 | count;
            most = std::max(most, count);
        }
        if (n_slots == 2) {
            const std::array<std::uint64_t, 2> scales{scales_[totals_.classes[0]], scales_[totals_.classes[1]]};
            two_total_ = totals_.weights[0] / scales[0] | totals_.weights[1] / scales[1] << 32;
            two_ = TwoScorer(two_total_, scales, limits_);
            few_ = Few::two;
        } else if (std::is_same_v<Criterion, Gini> && n_slots <= FewGiniSearch::kMostSlots &&
                   most <= FewGiniSearch::kMostCount && totals_.weight == static_cast<std::uint64_t>(totals_.size)) {
            few_ = Few::gini;
        }
    }

    Labels labels_;
    std::vector<std::uint64_t> scales_;
    Few few_ = Few::no;
    alignas(64) std::array<std::uint32_t, kMostSorted> few_labels_{};  // slot << 16 | count
    TwoScorer two_;
    TwoClasses::Cell two_total_ = 0;
    ClassTotals totals_;
    Limits limits_;
    std::vector<std::uint64_t> of_class_;  // zero between two nodes
    RowScratch scratch_;
    Left left_;
    std::vector<std::uint64_t> right_;
};

// ---------------------------------------------------------------------------------------------------------- numbers

template <class LabelsT, class Criterion>
class NumberModel {
  public:
    using Labels = LabelsT;
    using Payload = typename Labels::Payload;
    using Cell = typename Labels::Cell;
    static constexpr bool kCounted = std::is_same_v<Labels, CountedNumbers>;

    // By node: the sum, and the sum of squares (in leaves; those of their ancestors follow).
    struct Sums {
        std::vector<Cell> totals;
        std::vector<Int128> squares;

        void append(const Sums& other, std::size_t begin, std::size_t n) {
            TreeCursor::append(totals, other.totals, begin, n);
            TreeCursor::append(squares, other.squares, begin, n);
        }
        void reserve(std::size_t n) {
            totals.reserve(n);
            squares.reserve(n);
        }
    };

    NumberModel(const Labels& labels, double center, int exponent)
        : labels_(labels), center_(center), exponent_(exponent) {}

    void look_at(const Payload* payloads, std::uint32_t n) {
        total_ = Cell{};
        is_pure_ = true;
        const std::int64_t first = labels_.number(payloads[0]);
        for (std::uint32_t i = 0; i < n; ++i) {
            total_ += labels_.cell(payloads[i]);
            is_pure_ &= labels_.number(payloads[i]) == first;
        }
    }
    void begin_search(const Payload* payloads, std::uint32_t n, const Limits& limits) {
        scorer_ = Scorer(total_, limits);
        if constexpr (kCounted) {
            are_few_ = few_.look_at(labels_, payloads, n, total_, scorer_.undivided());
        }
    }
    bool is_pure() const { return is_pure_; }
    std::int64_t size() const { return total_.size(); }
    std::uint64_t weight() const { return static_cast<std::uint64_t>(total_.weight); }
    double undivided() const { return scorer_.undivided(); }
    // The best score of all ways to divide a few rows, whatever the feature.
    double perfect(const Payload* payloads, std::uint32_t n) const {
        constexpr std::uint32_t kFewRows = 5;
        if (n > kFewRows) {
            return std::numeric_limits<double>::infinity();
        }
        double best = kNoScore;
        for (std::uint32_t left_rows = 1; left_rows < 1u << (n - 1); ++left_rows) {
            Cell left{};
            for (std::uint32_t i = 0; i + 1 < n; ++i) {
                if (left_rows >> i & 1) {
                    left += labels_.cell(payloads[i]);
                }
            }
            best = std::max(best, scorer_.score(left));
        }
        return best;
    }
    double in_user_units(double decrease) const { return ldexp_within(decrease, -2 * exponent_); }

    // Categories are put in the order of their means.
    using Share = Cell;
    static std::uint32_t n_orders() { return 1; }
    void add_to_share(Share& share, const Payload& payload, std::uint32_t) const { share += labels_.cell(payload); }
    static double share(const Share& cell) { return static_cast<double>(cell.sum) / static_cast<double>(cell.weight); }

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double to_beat) {
        if constexpr (kCounted && sizeof(Code) == 2) {
            if (are_few_) {
                return FewNumbersSearch<Scorer>(labels_, few_, scorer_, {codes, payloads, n}, to_beat).run(total_);
            }
        }
        return CellSearch<Labels, Scorer, Code>(labels_, scorer_, scratch_, {codes, payloads, n}, to_beat).run(total_);
    }

    // Whether several features are best searched at once, and the search.
    bool searches_lanes(std::uint32_t n, std::uint32_t n_features) const
        requires kCounted
    {
        return are_few_ && LaneCodes::pay(n, n_features);
    }
    LaneCuts search_lanes(const LaneCodes& codes, const Payload* payloads, std::uint32_t n, std::uint32_t n_lanes,
                          double to_beat) const
        requires kCounted
    {
        return LaneSearch<Scorer>(labels_, few_, scorer_, {codes, payloads, n, n_lanes}).run(to_beat);
    }

    // What goes left, row by row: for searches that look at few cuts.
    Cell nothing() const { return {}; }
    void move(Cell& left, const Payload& payload, bool goes_left) const {
        left += goes_left ? labels_.cell(payload) : Cell{};
    }
    std::optional<Candidate> judge(const Cell& left, std::uint64_t order) const {
        return judge_cell(scorer_, left, order);
    }
    SideValues values(const Cell& left) const { return {value_of(left), value_of(total_ - left)}; }

    void write_node(TreeArrays& tree, const Payload* payloads, std::uint32_t n, bool is_leaf) {
        tree.value.push_back(in_user_values(value_of(total_)));
        Int128 squares = 0;
        if (is_leaf) {
            for (std::uint32_t i = 0; i < n; ++i) {
                const Int128 q = labels_.number(payloads[i]);
                squares += q * q * labels_.count(payloads[i]);
            }
        }
        sums_.totals.push_back(total_);
        sums_.squares.push_back(squares);
    }

    void write_value(TreeArrays& tree, const Promise& promise) const {
        tree.value.back() = in_user_values(promise.keep(value_of(total_)));
    }

    Sums take_sums() { return std::exchange(sums_, {}); }
    void finish(TreeArrays& tree, Sums sums) const {
        tree.impurity.resize(tree.n_nodes());
        for (std::size_t i = tree.n_nodes(); i-- > 0;) {
            if (tree.feature[i] >= 0) {
                sums.squares[i] = sums.squares[i + 1] + sums.squares[static_cast<std::size_t>(tree.right[i])];
            }
            tree.impurity[i] = variance(sums.totals[i], sums.squares[i]);
        }
    }
    void weigh_like(const NumberModel&) {}

  private:
    using Scorer = NumberScorer<Labels, Criterion>;

    static double value_of(const Cell& cell) {
        return static_cast<double>(cell.sum) / static_cast<double>(cell.weight);
    }
    double in_user_values(double value) const { return center_ + ldexp_within(value, -exponent_); }

    double variance(const Cell& total, Int128 squares) const {
        const Int128 mean = Scorer(total, {}).mean();
        const Int128 about = total.sum - mean * total.weight;
        // Terms may exceed 128 bits on the way; modulo 2^128 the result, which does not, is right.
        const UInt128 centred =
            static_cast<UInt128>(squares) - 2 * static_cast<UInt128>(mean) * static_cast<UInt128>(total.sum) +
            static_cast<UInt128>(total.weight) * static_cast<UInt128>(mean) * static_cast<UInt128>(mean);
        const double a = static_cast<double>(about);
        const double weight = static_cast<double>(total.weight);
        const double spread = (static_cast<double>(centred) - a * a / weight) / weight;
        return ldexp_within(std::max(0.0, spread), -2 * exponent_);
    }

    Labels labels_;
    double center_;
    int exponent_;
    Cell total_{};
    Scorer scorer_;
    bool is_pure_ = false;
    FewNumbers few_;
    bool are_few_ = false;  // the rows of the node at hand are fit for the quick search of few
    CellScratch<Labels, typename Scorer::Near> scratch_;
    Sums sums_;
};

}  // namespace weald
