// Times and events: every node computes its own targets, the martingale residuals of its rows. targets/target_model.h
// defines a model.
//
// The number of a row is 2 * place + event, with the place of its time among the distinct times of the table. A
// residual is event - H(time), in units of 2^-exponent, H the cumulative hazard of the node (Nelson-Aalen). The gain in
// squared error of residuals is the log-rank statistic of a cut, with the variance of permutations. So all searches of
// regression work as they are, except those that inherit the sums of a parent.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/sort_radix.h"
#include "targets/targets.h"

namespace weald {

// The times of a table.
struct SurvivalTimes {
    std::vector<std::uint32_t> numbers;  // by rank: 2 * place + event
    std::size_t n_places = 0;
    std::vector<std::uint32_t> events_from;  // by place: event times of the table from this one on

    explicit SurvivalTimes(std::span<const double> targets) {
        for (const double target : targets) {
            if (!(target >= 0) || target >= 0x1p32 || target != std::floor(target)) {
                throw std::invalid_argument("targets of survival are 2 * place + event");
            }
            numbers.push_back(static_cast<std::uint32_t>(target));
        }
        n_places = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) / 2 + 1;
        events_from.assign(n_places, 0);
        for (const std::uint32_t number : numbers) {
            events_from[number / 2] |= number % 2;
        }
        for (std::size_t place = n_places; place-- > 1;) {
            events_from[place - 1] += events_from[place];
        }
    }
};

template <class LabelsT>
class SurvivalModel : public NumberModel<LabelsT, SquaredError> {
    using Base = NumberModel<LabelsT, SquaredError>;

  public:
    using Payload = typename Base::Payload;
    using Cell = typename Base::Cell;
    using Share = typename Base::Share;
    using Sums = typename Base::Sums;
    struct Labels {};  // without sums for children to inherit: their targets are others

    SurvivalModel(const LabelsT& labels, int exponent, const SurvivalTimes& times)
        : Base(labels, 0.0, exponent),
          times_(&times),
          of_one_(std::ldexp(1.0, exponent)),
          by_number_(2 * times.n_places) {}

    // Computes the residuals of a node. Searches read these instead of the payloads.
    void look_at(const Payload* payloads, std::uint32_t n) {
        Walk walk{*times_, of_one_};
        for (std::uint32_t i = 0; i < n; ++i) {
            walk.at_risk += this->labels_.count(payloads[i]);
        }
        constexpr std::size_t kFewRows = 4;  // times as many places are not visited one by one
        if (n * kFewRows < times_->n_places) {
            pass_few(walk, payloads, n);
        } else {
            pass_all(walk, payloads, n);
        }
        risk_ = walk.risk;
        residuals_.resize(n + kMostSorted);  // keys are made in whole vectors
        for (std::uint32_t i = 0; i < n; ++i) {
            residuals_[i] = with_residual(payloads[i]);
        }
        Base::look_at(residuals_.data(), n);
    }
    void begin_search(const Payload*, std::uint32_t n, const Limits& limits) {
        Base::begin_search(residuals_.data(), n, limits);
    }
    double perfect(const Payload*, std::uint32_t n) const { return Base::perfect(residuals_.data(), n); }
    double mixed(const Payload*, std::uint32_t n) const { return Base::mixed(residuals_.data(), n); }

    void add_to_share(Share& share, const Payload& payload, std::uint32_t order) const {
        Base::add_to_share(share, with_residual(payload), order);
    }
    template <class Code>
    FeatureCuts search(const Code* codes, const Payload*, std::uint32_t n, double to_beat) {
        return Base::search(codes, residuals_.data(), n, to_beat);
    }
    template <class Code>
    LaneCuts search_lanes(const LaneColumns<Code>& codes, const Payload*, std::uint32_t n, const DrawnLanes& lanes,
                          double to_beat)
        requires Base::kHasQuickSearches
    {
        return Base::search_lanes(codes, residuals_.data(), n, lanes, to_beat);
    }
    LaneCuts search_lane_bins(std::span<const std::uint16_t* const> codes, const Payload*, std::uint32_t n,
                              const DrawnLanes& lanes, double to_beat)
        requires Base::kHasQuickSearches
    {
        return Base::search_lane_bins(codes, residuals_.data(), n, lanes, to_beat);
    }
    void move(Cell& left, const Payload& payload, bool goes_left) const {
        Base::move(left, with_residual(payload), goes_left);
    }

    void write_node(TreeArrays& tree, const Payload*, std::uint32_t n, bool) {
        tree.value.push_back(this->user_unit_.times(static_cast<double>(risk_)));
        this->sums_.totals.push_back(this->total_);
        this->sums_.squares.push_back(this->sum_squares(residuals_.data(), n));
    }
    void write_value(TreeArrays&, const ValueBounds&) const {}  // there are no monotonic constraints
    // Unlike those of other targets, the squares of a node are not those of its children.
    void finish(TreeArrays& tree, Sums sums) {
        tree.impurity.resize(tree.n_nodes());
        for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
            tree.impurity[i] = this->variance(sums.totals[i], sums.squares[i]);
        }
        sums.clear();
        this->sums_ = std::move(sums);
    }
    void weigh_like(const SurvivalModel&) {}

  private:
    // The cumulative hazard while time passes.
    struct Walk {
        const SurvivalTimes& times;
        double of_one;
        std::int64_t at_risk = 0;
        std::int64_t hazard = 0;
        Int128 risk = 0;  // the sum of the cumulative hazard over the event times of the table

        // Weights of the rows that leave at a time, without and with an event.
        void pass(std::size_t place, std::int64_t censored, std::int64_t events) {
            if (events != 0) {
                const double step = static_cast<double>(events) / static_cast<double>(at_risk) * of_one;
                const auto rounded = static_cast<std::int64_t>(std::rint(step));
                hazard += rounded;
                risk += Int128{rounded} * times.events_from[place];
            }
            at_risk -= censored + events;
        }
        std::int64_t residual(std::int64_t event) const { return event * static_cast<std::int64_t>(of_one) - hazard; }
    };

    std::uint32_t number(const Payload& payload) const {
        return static_cast<std::uint32_t>(this->labels_.number(payload));
    }
    Payload with_residual(const Payload& payload) const {
        const std::int64_t q = by_number_[number(payload)];
        if constexpr (std::is_same_v<LabelsT, CountedNumbers>) {
            return this->labels_.pack(q, static_cast<std::uint32_t>(this->labels_.count(payload)));
        } else {
            return {q, payload.weight};
        }
    }

    // Few rows are sorted by time.
    void pass_few(Walk& walk, const Payload* payloads, std::uint32_t n) {
        keys_.resize(n);
        std::uint32_t low = ~0u;
        std::uint32_t high = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t of_row = number(payloads[i]);
            keys_[i] = static_cast<std::uint64_t>(of_row) << 32 | i;
            low = std::min(low, of_row);
            high = std::max(high, of_row);
        }
        constexpr std::uint32_t kFewToSort = 64;
        if (n > kFewToSort) {
            spare_.resize(n);
            sort_by_code(keys_, spare_, n, low, high);
        } else {
            std::sort(keys_.begin(), keys_.end());
        }
        for (std::uint32_t i = 0; i < n;) {
            const std::uint64_t place = keys_[i] >> 33;
            std::int64_t weights[2] = {0, 0};
            for (; i < n && keys_[i] >> 33 == place; ++i) {
                weights[keys_[i] >> 32 & 1] += this->labels_.count(payloads[static_cast<std::uint32_t>(keys_[i])]);
            }
            walk.pass(place, weights[0], weights[1]);
            by_number_[2 * place] = walk.residual(0);
            by_number_[2 * place + 1] = walk.residual(1);
        }
    }

    // Many rows are counted by time.
    void pass_all(Walk& walk, const Payload* payloads, std::uint32_t n) {
        std::fill(by_number_.begin(), by_number_.end(), 0);
        for (std::uint32_t i = 0; i < n; ++i) {
            by_number_[number(payloads[i])] += this->labels_.count(payloads[i]);
        }
        for (std::size_t place = 0; place < times_->n_places; ++place) {
            walk.pass(place, by_number_[2 * place], by_number_[2 * place + 1]);
            by_number_[2 * place] = walk.residual(0);
            by_number_[2 * place + 1] = walk.residual(1);
        }
    }

    const SurvivalTimes* times_;
    double of_one_;
    Int128 risk_ = 0;
    std::vector<std::int64_t> by_number_;  // residuals of the node; other numbers have those of earlier nodes
    std::vector<Payload> residuals_;       // by row of the node
    std::vector<std::uint64_t> keys_;      // number << 32 | row
    std::vector<std::uint64_t> spare_;
};

}  // namespace weald
