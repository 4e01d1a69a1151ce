// The cuts of a node by its binary features, all counted at once.
//
// A feature with two codes has one cut, which depends only on the number of rows of each class with the second code.
// Words have a bit for each feature, so one pass over the rows counts for all of them, and finds which are constant.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/vectors.h"
#include "coding/binary_features.h"
#include "draw/feature_draw.h"
#include "score/candidate.h"
#include "search/searched_model.h"

namespace weald {

// Whether rows of a model are counts of classes.
template <class Model>
inline constexpr bool kCountsBits =
    requires(const Model& model, const typename Model::Payload& payload) { model.slot_of(payload); };

class BinarySearch {
  public:
    void begin_node() { is_counted_ = false; }
    bool is_counted() const { return is_counted_; }

    // Counts the rows of a node, and adds features that are constant there to `constant`.
    template <SearchedModel Model>
    void count(const Model& model, const BinaryFeatures& binary, const std::uint64_t* words,
               std::span<const std::uint32_t> ids, const typename Model::Payload* payloads, FeatureSet constant) {
        ones_.assign(model.n_slots(), Ones{});
        pending_.assign(model.n_slots(), Pending{});
        std::uint64_t any = 0;
        std::uint64_t all = ~std::uint64_t{0};
        std::uint32_t n_pending = 0;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const std::uint64_t word = words[ids[i]];
            any |= word;
            all &= word;
            std::uint32_t count = model.count_of(payloads[i]);
            if (n_pending + count > kMostPending) {
                settle();
                n_pending = 0;
            }
            for (; count > kMostPending; count -= kMostPending) {
                add(pending_[model.slot_of(payloads[i])], word, kMostPending);
                settle();
            }
            n_pending += count;
            add(pending_[model.slot_of(payloads[i])], word, static_cast<Count>(count));
        }
        settle();
        const std::uint64_t same = ~any | all;
        for (std::uint32_t bit = 0; bit < binary.features().size(); ++bit) {
            if (same >> bit & 1) {
                constant.add(binary.features()[bit]);
            }
        }
        is_counted_ = true;
    }

    // For a feature that is not constant.
    template <SearchedModel Model>
    FeatureCuts cut(Model& model, std::uint32_t bit) const {
        FeatureCuts found;
        const std::size_t lane = lane_of(bit);
        const std::optional<Candidate> cut =
            model.judge_ones([&](std::size_t slot) { return ones_[slot][lane]; }, Candidate::order_of(0, false));
        found.is_admissible = cut.has_value();
        if (cut) {
            found.best = *cut;
        }
        return found;
    }

  private:
    // Counts of one byte for all bits of a word: each byte of the word is replicated eight times, and one bit of each
    // copy is tested. So the order of counts differs from that of bits. Vectors are no wider than the processor's: the
    // compiler would split wider ones lane by lane.
    using Count = std::uint8_t;
    static constexpr Count kMostPending = 0xFF;
    static constexpr std::size_t kBytes = sizeof(vectors::Keys);
    static constexpr std::size_t kLanes = kBytes / sizeof(Count);
    static constexpr std::size_t kVectors = BinaryFeatures::kMost / kLanes;
    typedef std::uint64_t Words __attribute__((vector_size(kBytes)));
    typedef Count Counts __attribute__((vector_size(kBytes)));
    struct Pending {
        std::array<Counts, kVectors> counts;
    };
    using Ones = std::array<std::uint32_t, BinaryFeatures::kMost>;

    static std::size_t lane_of(std::uint32_t bit) { return bit % 8 * 8 + bit / 8; }
    static constexpr Counts bits_of_vector(std::size_t vector) {
        return [&]<std::size_t... Lane>(std::index_sequence<Lane...>) {
            return Counts{static_cast<Count>(1u << ((vector * kLanes + Lane) / 8))...};
        }(std::make_index_sequence<kLanes>());
    }

    static void add(Pending& pending, std::uint64_t word, Count count) {
        const Words words = Words{} + word;
        const auto lanes = vectors::load<Counts>(&words);
        const Counts counts = Counts{} + count;
        [&]<std::size_t... Vector>(std::index_sequence<Vector...>) {
            ((pending.counts[Vector] += (lanes & bits_of_vector(Vector)) != 0 ? counts : Counts{}), ...);
        }(std::make_index_sequence<kVectors>());
    }

    // Adds counts of one byte to wider ones.
    void settle() {
        for (std::size_t slot = 0; slot < ones_.size(); ++slot) {
            std::array<Count, BinaryFeatures::kMost> counts;
            __builtin_memcpy(counts.data(), pending_[slot].counts.data(), sizeof(counts));
            for (std::size_t lane = 0; lane < counts.size(); ++lane) {
                ones_[slot][lane] += counts[lane];
            }
            pending_[slot] = {};
        }
    }

    bool is_counted_ = false;
    std::vector<Pending> pending_;  // indexed by slot
    std::vector<Ones> ones_;        // by slot: how many have the second code, by lane
};

}  // namespace weald
