// The categories of a node, ordered by the target: a cut of this order is a set of categories.
//
// With two classes, and in regression, no set of categories scores better than the best cut of the order. With more
// classes there is one order for the fraction of each class, and all are searched.
//
// A node's codes are first replaced by slots, numbers 0, 1, 2 ... in order of appearance, so that all costs depend only
// on the rows of the node and not on the number of categories.

#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "rows/gather.h"

namespace weald {

class CategoryOrder {
  public:
    // Replaces codes by slots; missing is unchanged.
    template <class Code>
    void number_slots(Code* codes, std::uint32_t n) {
        code_of_slot_.clear();
        for (std::uint32_t i = 0; i < n; ++i) {
            if (codes[i] == kMissing<Code>) {
                continue;
            }
            if (codes[i] >= slot_of_code_.size()) {
                slot_of_code_.resize(codes[i] + std::size_t{1}, kNone);
            }
            std::uint32_t& slot = slot_of_code_[codes[i]];
            if (slot == kNone) {
                slot = static_cast<std::uint32_t>(code_of_slot_.size());
                code_of_slot_.push_back(codes[i]);
            }
            codes[i] = static_cast<Code>(slot);
        }
        for (const std::uint32_t code : code_of_slot_) {
            slot_of_code_[code] = kNone;
        }
    }

    std::uint32_t n_slots() const { return static_cast<std::uint32_t>(code_of_slot_.size()); }

    // Replaces slots by positions in the order of fractions, of which share_of(slot) is one. `code_at` becomes the code
    // at each position.
    template <class Code, class ShareOf>
    void put_in_order(const ShareOf& share_of, const Code* slots, std::uint32_t n, Code* places,
                      std::vector<std::uint32_t>& code_at) {
        entries_.resize(n_slots());
        for (std::uint32_t slot = 0; slot < n_slots(); ++slot) {
            entries_[slot] = {share_of(slot), code_of_slot_[slot], slot};
        }
        place_entries(slots, n, places, code_at);
    }

    // Replaces slots by positions in a random order given by the bits of a draw.
    template <class Code>
    void put_at_random(std::uint64_t bits, Code* slots, std::uint32_t n, std::vector<std::uint32_t>& code_at) {
        keys_.resize(n_slots());
        for (std::uint32_t slot = 0; slot < n_slots(); ++slot) {
            keys_[slot] = {mix64(bits + code_of_slot_[slot] + 1), code_of_slot_[slot], slot};
        }
        std::sort(keys_.begin(), keys_.end());
        place_of_slot_.resize(n_slots());
        code_at.resize(n_slots());
        for (std::uint32_t place = 0; place < n_slots(); ++place) {
            const auto [key, code, slot] = keys_[place];
            place_of_slot_[slot] = place;
            code_at[place] = code;
        }
        write_places(slots, n, slots);
    }

  private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

    struct Entry {
        double share;
        std::uint32_t code;
        std::uint32_t slot;
    };

    template <class Code>
    void place_entries(const Code* slots, std::uint32_t n, Code* places, std::vector<std::uint32_t>& code_at) {
        std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            return a.share != b.share ? a.share < b.share : a.code < b.code;
        });
        place_of_slot_.resize(n_slots());
        code_at.resize(n_slots());
        for (std::uint32_t place = 0; place < n_slots(); ++place) {
            place_of_slot_[entries_[place].slot] = place;
            code_at[place] = entries_[place].code;
        }
        write_places(slots, n, places);
    }

    template <class Code>
    void write_places(const Code* slots, std::uint32_t n, Code* places) const {
        for (std::uint32_t i = 0; i < n; ++i) {
            places[i] = slots[i] == kMissing<Code> ? kMissing<Code> : static_cast<Code>(place_of_slot_[slots[i]]);
        }
    }

    std::vector<std::uint32_t> slot_of_code_;  // kNone between two nodes
    std::vector<std::uint32_t> code_of_slot_;
    std::vector<Entry> entries_;
    std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>>
        keys_;  // keys of a random order: code and slot
    std::vector<std::uint32_t> place_of_slot_;
};

}  // namespace weald
