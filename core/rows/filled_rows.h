// Nodes of a sparse table: stored cells are read, zeros are counted.

#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "coding/codes.h"
#include "draw/feature_draw.h"
#include "rows/node_codes.h"
#include "rows/tree_rows.h"

namespace weald {

template <class Model>
class FilledRows {
  public:
    using Payload = typename Model::Payload;
    static constexpr bool kCountsClasses = std::is_same_v<Payload, std::uint32_t>;  // class << 16 | count

    explicit FilledRows(const Codes& codes) : codes_(codes) {}

    bool are_all() const { return codes_.filled.is_empty(); }

    // Called before the features of a node are evaluated. Features that are zero in all its rows cannot cut it.
    void begin_node(TreeInTraining<Payload>& tree, const Node& node, CodeReader& reader, FeatureSet constant) {
        if (are_all()) {
            return;
        }
        const std::span<const std::uint32_t> ids = tree.ids(node);
        reader.find_places(node.begin, ids);
        if constexpr (kCountsClasses) {
            counts_.assign(codes_.n_classes, 0);
            const Payload* payloads = tree.payloads(node);
            for (std::uint32_t i = 0; i < node.n_rows(); ++i) {
                counts_[payloads[i] >> 16] += payloads[i] & Model::Labels::kMaxCount;
            }
        }
        const std::size_t mean = codes_.filled.features.size() / codes_.n_rows + 1;
        if (ids.size() * mean > codes_.columns.size()) {
            return;  // most features are not zero in some row
        }
        const std::size_t n_words = FeatureSet::n_words(codes_.columns.size());
        seen_.assign(n_words, 0);
        FeatureSet seen(seen_.data());
        for (const std::uint32_t rank : ids) {
            for (const std::uint32_t feature : codes_.filled.features_of(rank)) {
                seen.add(feature);
            }
        }
        constant.add_all_but(seen, n_words);
    }

    // The rows of a large node that are zero differ only in their classes. So only the others are gathered, and one row
    // represents all the zero ones of a class. Returns their number; 0: it is not worthwhile.
    std::uint32_t gather(TreeInTraining<Payload>& tree, const Node& node, std::uint32_t feature, NodeCodes& node_codes,
                         int buffer)
        requires kCountsClasses
    {
        const Filled& filled = codes_.filled;
        constexpr std::uint32_t kMostCount = Model::Labels::kMaxCount;
        // Searches of few rows of many classes have read all of the node's rows before.
        constexpr bool kTakesRowsBefore = !std::is_same_v<typename Model::Labels, TwoClasses>;
        if (filled.is_empty() || (kTakesRowsBefore && node.n_rows() <= kMostSorted) ||
            node_codes.reader().n_offered(feature) + codes_.n_classes > node.n_rows() / 2) {
            return 0;
        }
        payloads_.clear();
        zero_counts_ = counts_;
        const Payload* payloads = tree.payloads(node);
        node_codes.use(feature, buffer, [&](auto* to) {
            using Code = std::remove_cvref_t<decltype(*to)>;
            node_codes.reader().for_filled(feature, node.begin, tree.ids(node),
                                           [&](std::uint32_t place, std::uint32_t code) {
                                               const Payload payload = payloads[place];
                                               zero_counts_[payload >> 16] -= payload & kMostCount;
                                               *to++ = static_cast<Code>(code);
                                               payloads_.push_back(payload);
                                           });
            for (std::uint32_t k = 0; k < codes_.n_classes; ++k) {
                push_counted(zero_counts_[k], kMostCount, [&](std::uint32_t count) {
                    *to++ = static_cast<Code>(filled.zero_codes[feature]);
                    payloads_.push_back(Model::Labels::pack(k, count));
                });
            }
        });
        const auto n = static_cast<std::uint32_t>(payloads_.size());
        payloads_.resize(n + kMostSorted);  // keys are made in whole vectors
        return n;
    }
    // For the gathered rows.
    const Payload* payloads() const { return payloads_.data(); }

  private:
    const Codes& codes_;
    std::vector<std::uint64_t> seen_;         // features that are not zero in all rows of a node
    std::vector<std::uint32_t> counts_;       // rows of each class in a node
    std::vector<std::uint32_t> zero_counts_;  // rows in which a feature is zero
    std::vector<Payload> payloads_;           // payloads of the rows that represent the node
};

}  // namespace weald
