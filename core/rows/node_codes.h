// The codes of the current features, gathered for the rows of a node.
//
// There are several buffers: the best feature so far keeps its own while others are evaluated, because its codes are
// used to partition the rows.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/random_block.h"
#include "base/sort_network.h"
#include "draw/tree_params.h"
#include "rows/block.h"
#include "rows/lane_columns.h"
#include "tree/node.h"

namespace weald {

inline constexpr std::size_t kMostTogether = 1 << 14;  // maximum rows for features evaluated together

class NodeCodes {
  public:
    NodeCodes(const Codes& codes, const Growth& growth)
        : codes_(codes), reader_(codes, growth.max_features), buffers_(growth.random_cuts ? kPhiloxBlock + 1 : 2) {}

    CodeReader& reader() { return reader_; }

    // Called before a tree, or a part of one, is grown from a node.
    void begin(const Node& node) {
        reader_.begin_tree();
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            const std::size_t n_rows = i < 2 ? node.n_rows() : std::min<std::size_t>(node.n_rows(), kMostTogether);
            buffers_[i].resize(std::max(buffers_[i].size(), n_rows + kMostSorted));  // keys are made in whole vectors
        }
    }

    // Codes of one or two bytes are handled as two, others as four.
    template <class Use>
    auto use(std::uint32_t feature, int buffer, Use&& with) {
        std::uint32_t* codes = buffers_[static_cast<std::size_t>(buffer)].data();
        return codes_.columns[feature].width == 4 ? with(codes) : with(reinterpret_cast<std::uint16_t*>(codes));
    }

    // Codes of one or two bytes.
    const std::uint16_t* narrow(int buffer) const {
        return reinterpret_cast<const std::uint16_t*>(buffers_[static_cast<std::size_t>(buffer)].data());
    }

    void gather(std::uint32_t feature, const Node& node, std::span<const std::uint32_t> ids, int buffer) {
        use(feature, buffer, [&](auto* to) { reader_.read(feature, node.begin, ids, to); });
    }

  private:
    const Codes& codes_;
    CodeReader reader_;
    std::vector<std::vector<std::uint32_t>> buffers_;
};

// Memory for codes of several features that are searched at once, if they are not available as two bytes.
class LaneRoom {
  public:
    LaneRoom() { std::iota(places_.begin(), places_.end(), 0u); }

    // The locations of the codes of some features, if all of them are stored as Code. Lanes without a feature have the
    // first.
    template <class Code>
    static std::optional<LaneColumns<Code>> columns(const CodeReader& reader, std::span<const std::uint32_t> features,
                                                    std::uint32_t begin, std::span<const std::uint32_t> ids) {
        LaneColumns<Code> columns{{}, ids};
        for (std::size_t lane = 0; lane < lanes::kLanes; ++lane) {
            columns.columns[lane] = reader.column<Code>(features[lane < features.size() ? lane : 0], begin);
            if (columns.columns[lane] == nullptr) {
                return {};
            }
        }
        return columns;
    }

    // Calls use(columns) with the locations of the codes of few rows, which are copied if necessary.
    template <class Use>
    auto use_columns(const CodeReader& reader, std::span<const std::uint32_t> features, std::uint32_t begin,
                     std::span<const std::uint32_t> ids, Use&& use) {
        if (const auto bytes = columns<std::uint8_t>(reader, features, begin, ids)) {
            return use(*bytes);
        }
        if (const auto pairs = columns<std::uint16_t>(reader, features, begin, ids)) {
            return use(*pairs);
        }
        LaneColumns<std::uint16_t> copies{{}, {places_.data(), ids.size()}};
        for (std::size_t lane = 0; lane < lanes::kLanes; ++lane) {
            copies.columns[lane] = room_[lane].data();
            if (lane < features.size()) {
                reader.read(features[lane], begin, ids, room_[lane].data());
            }
        }
        return use(copies);
    }

    // The codes of a node's rows, one after the other.
    std::span<const std::uint16_t* const> gathered(const CodeReader& reader, std::span<const std::uint32_t> features,
                                                   std::uint32_t begin, std::span<const std::uint32_t> ids) {
        for (std::size_t lane = 0; lane < features.size(); ++lane) {
            many_[lane].resize(std::max(many_[lane].size(), ids.size()));
            reader.read(features[lane], begin, ids, many_[lane].data());
            columns_[lane] = many_[lane].data();
        }
        return {columns_.data(), features.size()};
    }

  private:
    std::array<std::uint32_t, lanes::kMostRows> places_;
    std::array<std::array<std::uint16_t, lanes::kMostRows>, lanes::kLanes> room_{};
    std::array<std::vector<std::uint16_t>, lanes::kLanes> many_;  // indexed by lane
    std::array<const std::uint16_t*, lanes::kLanes> columns_{};
};

}  // namespace weald
