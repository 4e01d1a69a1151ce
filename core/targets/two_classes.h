// Two classes, counted. targets/target_model.h defines a model.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "score/monotonic.h"
#include "search/cells.h"
#include "search/lane_classes.h"
#include "search/lane_counts.h"
#include "search/small_two_classes.h"
#include "targets/common.h"
#include "tree/tree.h"

namespace weald {

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
    static Labels labels() { return {}; }
    bool is_pure() const { return (total_ & 0xFFFFFFFFu) == 0 || total_ >> 32 == 0; }
    std::int64_t size() const { return static_cast<std::int64_t>((total_ & 0xFFFFFFFFu) + (total_ >> 32)); }
    std::uint64_t weight() const { return (total_ & 0xFFFFFFFFu) * scales_[0] + (total_ >> 32) * scales_[1]; }
    bool weights_are_sizes() const { return scales_[0] == 1 && scales_[1] == 1; }
    double undivided() const { return scorer_.undivided(); }
    double perfect(const Payload*, std::uint32_t) const { return scorer_.perfect(); }
    double mixed(const Payload*, std::uint32_t) const { return scorer_.pure() - scorer_.undivided(); }
    static double decrease(double of_score) { return of_score; }
    static double in_user_units(double decrease) { return decrease; }

    // Categories are ordered by the fraction of the second class.
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

    // Whether several features are best searched at once, and the search. Codes must be narrow.
    bool searches_lanes(std::uint32_t n) const {
        return weights_are_sizes() && n <= FewClassLanes<Scorer>::kMostRows &&
               size() <= FewClassLanes<Scorer>::kMostDraws;
    }
    template <class Code>
    LaneCuts search_lanes(const LaneColumns<Code>& codes, const Payload* payloads, std::uint32_t n,
                          const DrawnLanes& lanes, double to_beat) {
        return FewClassLanes<Scorer>(scorer_, lane_scratch_, {payloads, n, lanes}).run(codes, total_, to_beat);
    }
    // The same for more rows and codes of one byte.
    bool counts_lanes(std::uint32_t n) const { return n >= (weights_are_sizes() ? kLeastCounted : kMostSorted + 1); }
    LaneCuts count_lanes(const LaneColumns<std::uint8_t>& codes, const Payload* payloads, const DrawnLanes& lanes,
                         double to_beat) {
        if (weights_are_sizes() && size() <= ClassLanes<Scorer>::kMostDraws) {
            return LaneCountSearch<Scorer>(scorer_, lane_scratch_, lanes).run(codes, payloads, total_, to_beat);
        }
        const auto n = static_cast<std::uint32_t>(codes.ids.size());
        return search_wide_counts(codes, payloads, lanes, lane_scratch_, to_beat,
                                  [&](std::span<const Cell> bins, double best) {
                                      return CellSearch<Labels, Scorer, std::uint16_t>(Labels{}, scorer_, scratch_,
                                                                                       {nullptr, payloads, n}, best)
                                          .survey(total_, bins, 0)
                                          .edges;
                                  });
    }

    // The same for inherited bins: first at their edges, then inside, for which codes must be gathered.
    Survey survey(std::span<const typename Labels::Carried> bins, int shift, const Payload* payloads, std::uint32_t n) {
        return CellSearch<Labels, Scorer, std::uint16_t>(Labels{}, scorer_, scratch_, {nullptr, payloads, n}, kNoScore)
            .survey(total_, bins, shift);
    }
    FeatureCuts search_bins(std::span<const typename Labels::Carried> bins, int shift, const std::uint16_t* codes,
                            const Payload* payloads, std::uint32_t n, double to_beat) {
        return CellSearch<Labels, Scorer, std::uint16_t>(Labels{}, scorer_, scratch_, {codes, payloads, n}, to_beat)
            .run_with(total_, bins, shift);
    }
    // The minimum of a bound that can be as good as a score.
    double floor_below(double score) const { return static_cast<double>(scorer_.floor_below(score)); }

    // The left side, row by row: for searches that evaluate few cuts.
    Cell nothing() const { return {}; }
    void move(Cell& left, const Payload& payload, bool goes_left) const {
        left += goes_left ? Labels::cell(payload) : Cell{};
    }
    std::optional<Candidate> judge(const Cell& left, std::uint64_t order) const {
        return judge_cell(scorer_, left, order);
    }
    static std::size_t n_slots() { return 2; }
    static std::uint32_t slot_of(Payload payload) { return payload >> 16; }
    static std::uint32_t count_of(Payload payload) { return payload & Labels::kMaxCount; }
    // The cut of a binary feature: ones(slot) rows have the second code.
    template <class Ones>
    std::optional<Candidate> judge_ones(const Ones& ones, std::uint64_t order) const {
        return judge(total_ - (Cell{ones(0)} | Cell{ones(1)} << 32), order);
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
    void write_value(TreeArrays& tree, const ValueBounds& bounds) const {
        tree.value.push_back(total_ == 0 ? 0.0 : bounds.keep(value_of(total_)));  // 0: an empty bag
    }
    static void reserve(TreeArrays& tree, std::size_t n_nodes) { reserve_leaves(tree, n_nodes); }
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
    ClassLaneScratch lane_scratch_;
};

}  // namespace weald
