// The best cut by categories: their codes become positions in an order, which is cut like numbers.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/random_block.h"
#include "coding/column.h"
#include "rows/category_order.h"
#include "rows/gather.h"
#include "score/candidate.h"
#include "search/searched_model.h"
#include "tree/node.h"

namespace weald {

template <SearchedModel Model>
class CategorySearch {
  public:
    using Payload = typename Model::Payload;

    // Searches every order of the categories. The codes in `buffer` are left in the order of the best cut.
    template <class Code>
    FeatureCuts run(Model& model, Code* codes, const Payload* payloads, std::uint32_t n, int buffer, double to_beat) {
        const std::uint32_t n_orders = model.n_orders();
        order_.number_slots(codes, n);
        Code* slots = codes;
        if (n_orders > 1) {
            slots_.resize(std::max<std::size_t>(slots_.size(), n));
            slots = reinterpret_cast<Code*>(slots_.data());
            std::copy_n(codes, n, slots);
        }
        std::vector<std::uint32_t>& code_at = code_at_of(buffer);
        const auto put = [&](std::uint32_t order) {
            put_slots_in_order(model, order, slots, payloads, n, codes, code_at);
        };
        put(0);
        FeatureCuts found = model.search(codes, payloads, n, to_beat);
        best_order_ = 0;
        for (std::uint32_t order = 1; order < n_orders; ++order) {
            put(order);
            const FeatureCuts cuts = model.search(codes, payloads, n, std::max(to_beat, found.best.score));
            found.is_admissible |= cuts.is_admissible;
            if (cuts.best.beats_earlier_order(found.best)) {
                found.best = cuts.best;
                best_order_ = order;
            }
        }
        if (best_order_ + 1 != n_orders) {
            put(best_order_);
        }
        return found;
    }
    // For the previous search: the order of its best cut, and the number of categories.
    std::uint32_t best_order() const { return best_order_; }
    std::uint32_t n_categories() const { return order_.n_slots(); }

    // Replaces codes by their positions in one order; the model has read the node.
    template <class Code>
    void put_in_order(const Model& model, Code* codes, const Payload* payloads, std::uint32_t n, int buffer,
                      std::uint32_t order) {
        order_.number_slots(codes, n);
        put_slots_in_order(model, order, codes, payloads, n, codes, code_at_of(buffer));
    }

    // Replaces codes by their positions in a random order; returns the last position that goes left.
    template <class Code>
    std::uint32_t cut_at_random(Code* codes, std::uint32_t n, int buffer, std::uint64_t bits) {
        order_.number_slots(codes, n);
        order_.put_at_random(bits, codes, n, code_at_of(buffer));
        return order_.n_slots() < 2 ? 0 : static_cast<std::uint32_t>(below(mix64(bits), order_.n_slots() - 1));
    }

    // Stores the categories in the lighter child: all others go to the heavier one.
    void keep_set(Split& split, const Column& column, int buffer) {
        const std::vector<std::uint32_t>& code_at = code_at_of(buffer);
        const Values& category = column.lows;
        const std::size_t n_left =
            split.cut.cuts_off_missing() ? code_at.size() : split.cut.last_left() + std::size_t{1};
        split.set_begin = sets_.size();
        const auto middle = code_at.begin() + static_cast<std::ptrdiff_t>(std::min(n_left, code_at.size()));
        const auto write = [&](std::uint32_t code) { sets_.push_back(static_cast<std::uint32_t>(category[code])); };
        if (split.cut.left_is_heavier) {
            std::for_each(middle, code_at.end(), write);
        } else {
            std::for_each(code_at.begin(), middle, write);
        }
        split.set_end = sets_.size();
        std::sort(sets_.begin() + static_cast<std::ptrdiff_t>(split.set_begin), sets_.end());
    }
    std::span<const std::uint32_t> set_of(const Split& split) const {
        return std::span(sets_).subspan(split.set_begin, split.set_end - split.set_begin);
    }
    void forget_sets() { sets_.clear(); }

  private:
    // Replaces slots by places in an order of the model.
    template <class Code>
    void put_slots_in_order(const Model& model, std::uint32_t order, const Code* slots, const Payload* payloads,
                            std::uint32_t n, Code* places, std::vector<std::uint32_t>& code_at) {
        tallies_.assign(order_.n_slots(), {});
        for (std::uint32_t i = 0; i < n; ++i) {
            if (slots[i] != kMissing<Code>) {
                model.add_to_share(tallies_[slots[i]], payloads[i], order);
            }
        }
        order_.put_in_order([&](std::uint32_t slot) { return model.share(tallies_[slot]); }, slots, n, places, code_at);
    }

    std::vector<std::uint32_t>& code_at_of(int buffer) { return code_at_[static_cast<std::size_t>(buffer)]; }

    CategoryOrder order_;
    std::vector<typename Model::Share> tallies_;                        // indexed by slot
    std::array<std::vector<std::uint32_t>, kPhiloxBlock + 1> code_at_;  // for each buffer the code at each position
    std::uint32_t best_order_ = 0;
    std::vector<std::uint32_t> slots_;  // if several orders are searched
    std::vector<std::uint32_t> sets_;   // categories of the splits found
};

}  // namespace weald
