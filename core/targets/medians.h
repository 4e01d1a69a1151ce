// Regression targets scored by absolute deviations from the median. targets/target_model.h defines a model.
//
// The rows of a node are ranked by target once. For each feature they are sorted by code, and erased one by one: first
// from the right, for the deviations of all left sides, then from the left (search/medians.h). All sums are integers.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/sort_radix.h"
#include "coding/target.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "score/labels.h"
#include "score/monotonic.h"
#include "search/medians.h"
#include "targets/common.h"
#include "tree/tree.h"

namespace weald {

template <class LabelsT>
class MedianModel {
  public:
    using Payload = typename LabelsT::Payload;
    using Cell = typename LabelsT::Cell;
    using Number = typename LabelsT::Number;
    using Sum = typename LabelsT::Sum;

    // By node.
    struct Sums {
        std::vector<double> impurities;

        void append(const Sums& other, std::size_t begin, std::size_t n) {
            TreeCursor::append(impurities, other.impurities, begin, n);
        }
        void reserve(std::size_t n) { impurities.reserve(n); }
    };
    // One side of a cut: its rows.
    struct Side {
        std::vector<Payload> rows;
    };

    MedianModel(const LabelsT& labels, double center, int exponent)
        : labels_(labels), center_(center), exponent_(exponent), user_unit_(-exponent), user_square_(-2 * exponent) {}

    void look_at(const Payload* payloads, std::uint32_t n) {
        total_ = Cell{};
        is_pure_ = true;
        is_ranked_ = false;
        const Number first = labels_.number(payloads[0]);
        for (std::uint32_t i = 0; i < n; ++i) {
            total_ += labels_.cell(payloads[i]);
            is_pure_ &= labels_.number(payloads[i]) == first;
        }
    }
    void begin_search(const Payload* payloads, std::uint32_t n, const Limits& limits) {
        limits_ = limits;
        rank_rows(payloads, n);
    }
    bool is_pure() const { return is_pure_; }
    std::int64_t size() const { return total_.size(); }
    std::uint64_t weight() const { return static_cast<std::uint64_t>(total_.weight); }
    static bool weights_are_sizes() { return std::is_same_v<LabelsT, CountedNumbers>; }
    double undivided() const { return -deviations(); }
    static double perfect(const Payload*, std::uint32_t) { return 0; }  // both sides are pure
    double mixed(const Payload*, std::uint32_t) const { return deviations(); }
    // Decreases are in the unit of squares for all criteria.
    double decrease(double of_score) const { return ldexp_within(of_score, std::min(exponent_, kLargestShift)); }
    double in_user_units(double decrease) const { return user_square_.times(decrease); }

    // Categories are ordered by their means.
    using Share = Cell;
    static std::uint32_t n_orders() { return 1; }
    void add_to_share(Share& share, const Payload& payload, std::uint32_t) const { share += labels_.cell(payload); }
    static double share(const Share& cell) { return static_cast<double>(cell.sum) / static_cast<double>(cell.weight); }

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double) {
        const CodeRange range = sort_rows(codes, n);
        FeatureCuts found;
        found.has_missing = range.n_missing != 0;
        const auto n_present = static_cast<std::uint32_t>(sorted_.size());
        if (n_present == 0 || (range.low == range.high && !found.has_missing)) {
            return found;
        }
        find_lefts(payloads);
        sweep(found, payloads, false);
        if (found.has_missing) {
            sweep(found, payloads, true);
        }
        return found;
    }

    // The left side, row by row: for searches that evaluate few cuts.
    Side& nothing() {
        side_.rows.clear();
        return side_;
    }
    static void move(Side& left, const Payload& payload, bool goes_left) {
        if (goes_left) {
            left.rows.push_back(payload);
        }
    }
    // Rows of equal targets are alike: those of the left side are marked in the order of targets.
    std::optional<Candidate> judge(const Side& left, std::uint64_t order) {
        by_target_.clear();
        Cell of_left{};
        for (const Payload& payload : left.rows) {
            by_target_.push_back({labels_.number(payload), labels_.count(payload)});
            of_left += labels_.cell(payload);
        }
        if (!is_admissible(of_left)) {
            return {};
        }
        std::sort(by_target_.begin(), by_target_.end(), [](const auto& a, const auto& b) { return a.q < b.q; });
        const Sum of_right = deviations_without(by_target_, total_ - of_left);
        return candidate(deviations_of(by_target_, of_left), of_right, of_left, order);
    }
    static SideValues values(const Side&) { return {}; }  // there are no monotonic constraints

    void write_node(TreeArrays& tree, const Payload* payloads, std::uint32_t n, bool) {
        if (!is_ranked_) {
            rank_rows(payloads, n);
        }
        const std::uint32_t low = all_.median;
        const bool is_even = 2 * all_.weight_below == all_.weight && low < n;
        value_ =
            static_cast<double>(ranked_[low].q) / 2 + static_cast<double>(ranked_[low + (is_even ? 1u : 0u)].q) / 2;
        tree.value.push_back(in_user_values(value_));
        sums_.impurities.push_back(user_unit_.times(deviations() / static_cast<double>(total_.weight)));
    }
    void write_value(TreeArrays& tree, const ValueBounds& bounds) const {
        tree.value.back() = in_user_values(bounds.keep(value_));
    }
    void reserve(TreeArrays& tree, std::size_t n_nodes) {
        tree.value.reserve(n_nodes);
        sums_.reserve(n_nodes);
    }
    Sums take_sums() { return std::exchange(sums_, {}); }
    void finish(TreeArrays& tree, Sums sums) { tree.impurity = std::move(sums.impurities); }
    void weigh_like(const MedianModel&) {}

  private:
    static constexpr int kLargestShift =
        900;  // limit for shifts of decreases: their sums stay below the largest double
    using Ranked = RankedNumber<Number>;

    double in_user_values(double value) const { return within_doubles(center_ + user_unit_.times(value)); }
    double deviations() const { return static_cast<double>(all_.deviations(ranked_[all_.median].q)); }

    bool is_admissible(const Cell& left) const {
        return left.size() >= limits_.min_size && total_.size() - left.size() >= limits_.min_size &&
               left.weight >= limits_.min_weight && total_.weight - left.weight >= limits_.min_weight;
    }
    Candidate candidate(Sum of_left, Sum of_right, const Cell& left, std::uint64_t order) const {
        const std::int64_t balance = 2 * left.weight - total_.weight;
        return {-static_cast<double>(of_left) - static_cast<double>(of_right), 0.0,
                static_cast<std::uint64_t>(std::abs(balance)), order, balance >= 0};
    }

    // Ranks the rows by target, and finds their median.
    void rank_rows(const Payload* payloads, std::uint32_t n) {
        keys_.resize(n);
        for (std::uint32_t i = 0; i < n; ++i) {
            keys_[i] = {labels_.number(payloads[i]), i};
        }
        if (!is_pure_) {
            std::sort(keys_.begin(), keys_.end(), [](const auto& a, const auto& b) {
                return a.first != b.first ? a.first < b.first : a.second < b.second;
            });
        }
        ranked_.resize(std::size_t{n} + 1);
        rank_of_.resize(n);
        all_ = {total_.weight, total_.sum, 0, 0, 0};
        for (std::uint32_t rank = 1; rank <= n; ++rank) {
            const auto& [q, row] = keys_[rank - 1];
            ranked_[rank] = {q, labels_.count(payloads[row])};
            rank_of_[row] = rank;
            if (2 * all_.weight_below < all_.weight) {
                all_.weight_below += ranked_[rank].weight;
                all_.sum_below += static_cast<Sum>(q) * ranked_[rank].weight;
                all_.median = rank;
            }
        }
        is_ranked_ = true;
    }

    // Rows by code; those with missing values are listed apart.
    template <class Code>
    CodeRange sort_rows(const Code* codes, std::uint32_t n) {
        const CodeRange range = range_of(codes, n);
        sorted_.clear();
        missing_.clear();
        for (std::uint32_t i = 0; i < n; ++i) {
            if (codes[i] == kMissing<Code>) {
                missing_.push_back(i);
            } else {
                sorted_.push_back(std::uint64_t{codes[i]} << 32 | i);
            }
        }
        if (sorted_.size() > kFew) {
            spare_.resize(sorted_.size());
            sort_by_code(sorted_, spare_, static_cast<std::uint32_t>(sorted_.size()), range.low, range.high);
        } else {
            std::sort(sorted_.begin(), sorted_.end());
        }
        return range;
    }
    std::uint32_t row_at(std::size_t i) const { return static_cast<std::uint32_t>(sorted_[i]); }
    std::uint32_t code_at(std::size_t i) const { return static_cast<std::uint32_t>(sorted_[i] >> 32); }
    // Whether a cut lies after the row at place i; the last cuts present from missing values.
    bool is_cut(std::size_t i) const { return i + 1 == sorted_.size() || code_at(i) != code_at(i + 1); }

    // The rows up to each place, as cells.
    void find_lefts(const Payload* payloads) {
        lefts_.resize(sorted_.size());
        Cell left{};
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            left += labels_.cell(payloads[row_at(i)]);
            lefts_[i] = left;
        }
    }

    // Scores every cut, with the missing values on one side.
    void sweep(FeatureCuts& found, const Payload* payloads, bool missing_left) {
        Cell of_missing{};
        if (missing_left) {
            for (const std::uint32_t row : missing_) {
                of_missing += labels_.cell(payloads[row]);
            }
        }
        const std::size_t n_present = sorted_.size();
        of_left_.resize(n_present);
        of_right_.resize(n_present);
        const bool from_right = true;
        if (!erase_rows(linked_, from_right, missing_left)) {
            erase_rows(summed_, from_right, missing_left);
        }
        if (!erase_rows(linked_, !from_right, missing_left)) {
            erase_rows(summed_, !from_right, missing_left);
        }
        const bool has_missing = !missing_.empty();
        for (std::size_t i = 0; i < n_present; ++i) {
            const bool is_last = i + 1 == n_present;
            if (!is_cut(i) || (is_last && (missing_left || !has_missing))) {
                continue;
            }
            const Cell left = lefts_[i] + of_missing;
            if (is_admissible(left)) {
                found.is_admissible = true;
                found.offer(candidate(
                    of_left_[i], of_right_[i], left,
                    is_last ? Candidate::kPresentAgainstMissing : Candidate::order_of(code_at(i), missing_left)));
            }
        }
    }

    // The deviations of the left sides of all cuts, or of the right sides. Returns false if this method failed.
    template <class Median>
    bool erase_rows(Median& median, bool from_right, bool missing_left) {
        median.begin(ranked_, static_cast<std::uint32_t>(ranked_.size() - 1), all_);
        if (from_right != missing_left) {
            for (const std::uint32_t row : missing_) {
                if (!median.erase(rank_of_[row])) {
                    return false;
                }
            }
        }
        for (std::size_t k = 0; k < sorted_.size(); ++k) {
            const std::size_t i = from_right ? sorted_.size() - 1 - k : k;
            if (from_right && is_cut(i)) {
                of_left_[i] = median.deviations();
            }
            if (!median.erase(rank_of_[row_at(i)])) {
                return false;
            }
            if (!from_right && is_cut(i)) {
                of_right_[i] = median.deviations();
            }
        }
        return true;
    }

    // For rows sorted by target; `total` is their sum.
    static Sum deviations_of(const std::vector<Ranked>& rows, const Cell& total) {
        DeviationSum<Sum> at{total.weight, total.sum, 0, 0, 0};
        Number q = 0;
        for (std::size_t i = 0; 2 * at.weight_below < at.weight; ++i) {
            q = rows[i].q;
            at.weight_below += rows[i].weight;
            at.sum_below += static_cast<Sum>(q) * rows[i].weight;
        }
        return at.deviations(q);
    }
    // The same for the other rows of the node.
    Sum deviations_without(const std::vector<Ranked>& rows, const Cell& total) const {
        DeviationSum<Sum> at{total.weight, total.sum, 0, 0, 0};
        Number q = 0;
        std::size_t next = 0;
        for (std::size_t rank = 1; 2 * at.weight_below < at.weight;) {
            q = ranked_[rank].q;
            std::int64_t weight = 0;
            for (; rank < ranked_.size() && ranked_[rank].q == q; ++rank) {
                weight += ranked_[rank].weight;
            }
            for (; next < rows.size() && rows[next].q == q; ++next) {
                weight -= rows[next].weight;
            }
            at.weight_below += weight;
            at.sum_below += static_cast<Sum>(q) * weight;
        }
        return at.deviations(q);
    }

    static constexpr std::size_t kFew = 64;  // rows that are sorted by comparison

    LabelsT labels_;
    double center_;
    int exponent_;
    PowerOfTwo user_unit_;
    PowerOfTwo user_square_;
    Limits limits_;
    Cell total_{};
    bool is_pure_ = false;
    bool is_ranked_ = false;
    std::vector<std::pair<Number, std::uint32_t>> keys_;
    std::vector<Ranked> ranked_;  // from 1
    std::vector<std::uint32_t> rank_of_;
    DeviationSum<Sum> all_;  // deviations of the node
    double value_ = 0;
    std::vector<std::uint64_t> sorted_;  // code << 32 | row
    std::vector<std::uint64_t> spare_;
    std::vector<std::uint32_t> missing_;
    std::vector<Cell> lefts_;
    std::vector<Sum> of_left_;
    std::vector<Sum> of_right_;
    LinkedMedian<Number, Sum> linked_;
    SummedMedian<Number, Sum> summed_;
    Side side_;
    std::vector<Ranked> by_target_;
    Sums sums_;
};

}  // namespace weald
