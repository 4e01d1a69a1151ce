// The best cut of a node by a feature with a monotonic constraint: rows are sorted by code, and every cut is scored.
//
// Cuts of present against missing values are not constrained.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "rows/gather.h"
#include "score/monotonic.h"
#include "search/searched_model.h"

namespace weald {

template <class Code, SearchedModel Model>
class ConstrainedSearch {
  public:
    using Payload = typename Model::Payload;

    // `sorted` is reused memory.
    ConstrainedSearch(Model& model, const Direction& direction, const Code* codes, const Payload* payloads,
                      std::uint32_t n, std::vector<std::uint64_t>& sorted)
        : model_(model), direction_(direction), codes_(codes), payloads_(payloads), n_(n), sorted_(sorted) {}

    RuledCuts run() {
        sort_rows();
        const auto n_present = static_cast<std::uint32_t>(sorted_.size());
        found_.cuts.has_missing = n_present < n_;
        sweep(false);
        if (found_.cuts.has_missing && n_present != 0) {
            sweep(true);
            cut_off_missing();
        }
        return found_;
    }

  private:
    // Keys are code << 32 | row; rows with missing values are left out.
    void sort_rows() {
        sorted_.clear();
        for (std::uint32_t i = 0; i < n_; ++i) {
            if (codes_[i] != kMissing<Code>) {
                sorted_.push_back(std::uint64_t{codes_[i]} << 32 | i);
            }
        }
        std::sort(sorted_.begin(), sorted_.end());
    }

    void sweep(bool missing_left) {
        auto&& left = model_.nothing();
        if (missing_left) {
            for (std::uint32_t i = 0; i < n_; ++i) {
                model_.move(left, payloads_[i], codes_[i] == kMissing<Code>);
            }
        }
        for (std::size_t i = 0; i + 1 < sorted_.size(); ++i) {
            model_.move(left, payloads_[static_cast<std::uint32_t>(sorted_[i])], true);
            const auto code = static_cast<std::uint32_t>(sorted_[i] >> 32);
            if (code == static_cast<std::uint32_t>(sorted_[i + 1] >> 32)) {
                continue;
            }
            const std::optional<Candidate> cut = model_.judge(left, Candidate::order_of(code, missing_left));
            if (cut) {
                found_.is_constant = false;
                const SideValues values = model_.values(left);
                if (direction_.admits(values)) {
                    offer(*cut, values.middle());
                }
            }
        }
    }

    void cut_off_missing() {
        auto&& left = model_.nothing();
        for (std::uint32_t i = 0; i < n_; ++i) {
            model_.move(left, payloads_[i], codes_[i] != kMissing<Code>);
        }
        if (const std::optional<Candidate> cut = model_.judge(left, Candidate::kPresentAgainstMissing)) {
            found_.is_constant = false;
            offer(*cut, 0);
        }
    }

    void offer(const Candidate& cut, double middle) {
        if (!found_.cuts.is_admissible || cut.beats(found_.cuts.best)) {
            found_.cuts.best = cut;
            found_.middle = middle;
        }
        found_.cuts.is_admissible = true;
    }

    Model& model_;
    Direction direction_;
    const Code* codes_;
    const Payload* payloads_;
    std::uint32_t n_;
    std::vector<std::uint64_t>& sorted_;
    RuledCuts found_;
};

}  // namespace weald
