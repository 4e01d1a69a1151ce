// Regression targets, counted or weighted. targets/target_model.h defines a model.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "coding/target.h"
#include "score/monotonic.h"
#include "search/cells.h"
#include "search/lane_bins.h"
#include "search/lanes.h"
#include "search/small_regression.h"
#include "targets/common.h"
#include "tree/tree.h"

namespace weald {

template <class LabelsT, class Criterion>
class NumberModel {
  public:
    using Labels = LabelsT;
    using Payload = typename Labels::Payload;
    using Cell = typename Labels::Cell;
    using Number = typename Labels::Number;
    using Squares = typename Labels::Squares;
    static constexpr bool kCounted = std::is_same_v<Labels, CountedNumbers>;
    static constexpr bool kIsWide = std::is_same_v<Squares, UInt256>;
    static constexpr bool kHasQuickSearches = kCounted && kIsSquaredError<Criterion>;
    static constexpr bool kIsPoisson = std::is_same_v<Criterion, Poisson>;

    // By node: the sum, and the sum of squares (in leaves; those of their ancestors follow).
    struct Sums {
        std::vector<Cell> totals;
        std::vector<Squares> squares;

        void append(const Sums& other, std::size_t begin, std::size_t n) {
            TreeCursor::append(totals, other.totals, begin, n);
            TreeCursor::append(squares, other.squares, begin, n);
        }
        void reserve(std::size_t n) {
            totals.reserve(n);
            squares.reserve(n);
        }
        void clear() {
            totals.clear();
            squares.clear();
        }
    };

    NumberModel(const Labels& labels, double center, int exponent)
        : labels_(labels), center_(center), exponent_(exponent), user_unit_(-exponent), user_square_(-2 * exponent) {}

    void look_at(const Payload* payloads, std::uint32_t n) {
        total_ = Cell{};
        is_pure_ = true;
        const Number first = labels_.number(payloads[0]);
        for (std::uint32_t i = 0; i < n; ++i) {
            total_ += labels_.cell(payloads[i]);
            is_pure_ &= labels_.number(payloads[i]) == first;
        }
    }
    void begin_search(const Payload* payloads, std::uint32_t n, const Limits& limits) {
        scorer_ = Scorer(total_, limits);
        if (n > std::min<std::size_t>(kMostSorted, kLeastInLaneBins - 1)) {
            scorer_.set_reach(farthest(payloads, n));
        }
        if constexpr (kHasQuickSearches) {
            are_few_ = few_.look_at(labels_, payloads, n, total_, scorer_.mean(), scorer_.undivided());
            are_many_ = n >= kLeastInLaneBins && limits.admit_all() &&
                        many_.look_at(labels_, payloads, n, total_, scorer_.mean(), scorer_.spread().reach,
                                      scorer_.undivided());
        }
    }
    const Labels& labels() const { return labels_; }
    bool is_pure() const { return is_pure_; }
    std::int64_t size() const { return total_.size(); }
    std::uint64_t weight() const { return static_cast<std::uint64_t>(total_.weight); }
    static bool weights_are_sizes() { return kCounted; }
    double undivided() const { return scorer_.undivided(); }
    // The best score of all partitions of a few rows, whatever the feature.
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
    double mixed(const Payload* payloads, std::uint32_t n) const {
        const double about = static_cast<double>(total_.sum - Int128{scorer_.mean()} * total_.weight);
        const double squares = static_cast<double>(centered(total_, sum_squares(payloads, n), scorer_.mean()));
        const double all = std::max(0.0, squares - about * about / static_cast<double>(total_.weight));
        if constexpr (kIsPoisson) {
            return all * (0.5 / Poisson::kNats) / value_of(total_);
        } else {
            return all;
        }
    }
    // Decreases are in the unit of squares for all criteria.
    double decrease(double of_score) const {
        if constexpr (kIsPoisson) {
            return ldexp_within(of_score * Poisson::kNats, std::min(exponent_, Poisson::kLargestShift));
        } else {
            return of_score;
        }
    }
    double in_user_units(double decrease) const { return user_square_.times(decrease); }

    // Categories are ordered by their means.
    using Share = Cell;
    static std::uint32_t n_orders() { return 1; }
    void add_to_share(Share& share, const Payload& payload, std::uint32_t) const { share += labels_.cell(payload); }
    static double share(const Share& cell) { return static_cast<double>(cell.sum) / static_cast<double>(cell.weight); }

    template <class Code>
    FeatureCuts search(const Code* codes, const Payload* payloads, std::uint32_t n, double to_beat) {
        if constexpr (kHasQuickSearches && sizeof(Code) == 2) {
            if (are_few_) {
                return FewNumbersSearch<Scorer>(labels_, few_, scorer_, {codes, payloads, n}, to_beat).run(total_);
            }
        }
        return CellSearch<Labels, Scorer, Code>(labels_, scorer_, scratch_, {codes, payloads, n}, to_beat).run(total_);
    }

    // Whether several features are best searched at once, and the search. Codes must be narrow.
    bool searches_lanes(std::uint32_t n) const
        requires kHasQuickSearches
    {
        return are_few_ && n <= lanes::kMostRows;
    }
    template <class Code>
    LaneCuts search_lanes(const LaneColumns<Code>& codes, const Payload* payloads, std::uint32_t n,
                          const DrawnLanes& lanes, double to_beat)
        requires kHasQuickSearches
    {
        return LaneSearch<Scorer>(labels_, few_, scorer_, lane_scratch_, {payloads, n, lanes}).run(codes, to_beat);
    }

    // The same for many rows: codes are by lane.
    bool searches_lane_bins() const
        requires kHasQuickSearches
    {
        return are_many_;
    }
    LaneCuts search_lane_bins(std::span<const std::uint16_t* const> codes, const Payload* payloads, std::uint32_t n,
                              const DrawnLanes& lanes, double to_beat)
        requires kHasQuickSearches
    {
        return LaneBinSearch<Scorer>(labels_, many_, scorer_, lane_bin_scratch_, {codes, payloads, n, lanes})
            .run(to_beat);
    }

    // The same for inherited bins: first at their edges, then inside, for which codes must be gathered.
    template <class Carried>
    Survey survey(std::span<const Carried> bins, int shift, const Payload* payloads, std::uint32_t n)
        requires kCounted
    {
        return CellSearch<Labels, Scorer, std::uint16_t>(labels_, scorer_, scratch_, {nullptr, payloads, n}, kNoScore)
            .survey(total_, bins, shift);
    }
    template <class Carried>
    FeatureCuts search_bins(std::span<const Carried> bins, int shift, const std::uint16_t* codes,
                            const Payload* payloads, std::uint32_t n, double to_beat)
        requires kCounted
    {
        return CellSearch<Labels, Scorer, std::uint16_t>(labels_, scorer_, scratch_, {codes, payloads, n}, to_beat)
            .run_with(total_, bins, shift);
    }
    // The minimum of a bound that can be as good as a score.
    double floor_below(double score) const { return static_cast<double>(scorer_.floor_below(score)); }

    // The left side, row by row: for searches that evaluate few cuts.
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
        sums_.totals.push_back(total_);
        sums_.squares.push_back(is_leaf ? sum_squares(payloads, n) : Squares(0));
    }

    // The same for several nodes with known statistics.
    void write_nodes(TreeArrays& tree, std::span<const Cell> totals, std::span<const Squares> squares) {
        for (const Cell& total : totals) {
            tree.value.push_back(in_user_values(value_of(total)));
        }
        sums_.totals.insert(sums_.totals.end(), totals.begin(), totals.end());
        sums_.squares.insert(sums_.squares.end(), squares.begin(), squares.end());
    }

    void write_value(TreeArrays& tree, const ValueBounds& bounds) const {
        tree.value.back() = in_user_values(bounds.keep(value_of(total_)));
    }

    void reserve(TreeArrays& tree, std::size_t n_nodes) {
        tree.value.reserve(n_nodes);
        sums_.reserve(n_nodes);
    }
    Sums take_sums() { return std::exchange(sums_, {}); }
    // The next tree may use the memory of the sums.
    void finish(TreeArrays& tree, Sums sums) {
        tree.impurity.resize(tree.n_nodes());
        for (std::size_t i = tree.n_nodes(); i-- > 0;) {
            if (tree.feature[i] >= 0) {
                sums.squares[i] = sums.squares[i + 1] + sums.squares[static_cast<std::size_t>(tree.right[i])];
            }
            tree.impurity[i] = variance(sums.totals[i], sums.squares[i]);
        }
        sums.clear();
        sums_ = std::move(sums);
    }
    void weigh_like(const NumberModel&) {}

  protected:
    using Scorer = std::conditional_t<kIsPoisson, CountScorer<Labels>, NumberScorer<Labels, Criterion>>;

    // The largest distance of a target from the node's mean.
    double farthest(const Payload* payloads, std::uint32_t n) const {
        Number low = scorer_.mean();
        Number high = low;
        for (std::uint32_t i = 0; i < n; ++i) {
            low = std::min(low, labels_.number(payloads[i]));
            high = std::max(high, labels_.number(payloads[i]));
        }
        return static_cast<double>(std::max(scorer_.mean() - low, high - scorer_.mean()));
    }

    static double value_of(const Cell& cell) {
        return static_cast<double>(cell.sum) / static_cast<double>(cell.weight);
    }
    double in_user_values(double value) const { return within_doubles(center_ + user_unit_.times(value)); }

    Squares sum_squares(const Payload* payloads, std::uint32_t n) const {
        Squares squares = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const Int128 q = labels_.number(payloads[i]);
            if constexpr (kIsWide) {
                squares += UInt256::product(q * labels_.count(payloads[i]), q);
            } else {
                squares += q * q * labels_.count(payloads[i]);
            }
        }
        return squares;
    }
    // The sum of squares about the mean. Intermediate terms may exceed 128 bits (wide: 256), but the result does not,
    // so arithmetic modulo 2^128 is correct.
    static auto centered(const Cell& total, const Squares& squares, Int128 mean) {
        if constexpr (kIsWide) {
            const UInt256 product = UInt256::product(mean, total.sum);
            return squares - product - product + UInt256::product(mean * total.weight, mean);
        } else {
            return static_cast<UInt128>(squares) - 2 * static_cast<UInt128>(mean) * static_cast<UInt128>(total.sum) +
                   static_cast<UInt128>(total.weight) * static_cast<UInt128>(mean) * static_cast<UInt128>(mean);
        }
    }
    double variance(const Cell& total, const Squares& squares) const {
        const Int128 mean = NumberScorer<Labels, SquaredError>(total, {}).mean();
        const double a = static_cast<double>(total.sum - mean * total.weight);
        const double weight = static_cast<double>(total.weight);
        const double spread = (static_cast<double>(centered(total, squares, mean)) - a * a / weight) / weight;
        return user_square_.times(std::max(0.0, spread));
    }

    Labels labels_;
    double center_;
    int exponent_;
    PowerOfTwo user_unit_;
    PowerOfTwo user_square_;
    Cell total_{};
    Scorer scorer_;
    bool is_pure_ = false;
    FewNumbers few_;
    bool are_few_ = false;  // the rows of the current node are suitable for the fast search of few rows
    CellScratch<Labels, typename Scorer::Near> scratch_;
    LaneScratch lane_scratch_;
    ManyNumbers many_;
    bool are_many_ = false;  // the same for many rows
    LaneBinScratch lane_bin_scratch_;
    Sums sums_;
};

}  // namespace weald
