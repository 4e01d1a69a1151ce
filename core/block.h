// Where a node's codes are read from: the table, or a copy of the node's rows that fits a cache.
//
// Deep in a tree the rows of a node lie far apart in the table, and each code read is a cache line lost. So when a node
// has become small enough, its rows are copied, column by column, and its whole subtree is grown from the copy. This
// happens twice on the way down: for the last cache, and for the one before it.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "codes.h"
#include "feature_draw.h"
#include "gather.h"

namespace weald {

class CodeReader {
  public:
    CodeReader(const Codes& codes, std::uint32_t max_features) : codes_(codes), max_features_(max_features) {}

    void begin_tree() {
        for (Block& block : blocks_) {
            block.end = 0;
        }
    }

    // Copies the codes of a node's rows, which begin at `begin` among the tree's rows. Codes of one or two bytes come
    // as two.
    template <class Code>
    void read(std::uint32_t feature, std::uint32_t begin, std::span<const std::uint32_t> ids, Code* to) const {
        const auto n = static_cast<std::uint32_t>(ids.size());
        if (const Block* block = block_of(begin)) {
            gather_codes(block->column<Code>(feature), ids.data(), n, to);
        } else {
            read_table(feature, ids, to);
        }
    }

    // Copies the rows of a node if that will pay, and numbers them from 0: `ids` refer to the copy from then on.
    // Features of the set `dead` are not needed any more.
    void enter(std::uint32_t begin, std::span<std::uint32_t> ids, const FeatureSet& dead) {
        for (std::size_t level = 0; level < blocks_.size(); ++level) {
            if (begin >= blocks_[level].end && is_worth_copying(level, ids.size())) {
                copy_rows(blocks_[level], begin, ids, dead);
            }
        }
    }

  private:
    struct Block {
        std::uint32_t end = 0;  // nodes that begin before this row of the tree are inside
        std::size_t n_rows = 0;
        std::vector<std::uint32_t>
            codes;  // room for the widest; narrower codes use the first part of their column's room

        template <class Code>
        Code* column(std::uint32_t feature) {
            return reinterpret_cast<Code*>(codes.data() + feature * n_rows);
        }
        template <class Code>
        const Code* column(std::uint32_t feature) const {
            return reinterpret_cast<const Code*>(codes.data() + feature * n_rows);
        }
    };

    static constexpr std::array<std::size_t, 2> kBytes{4u << 20,
                                                       512u << 10};  // of codes, for the last cache and the one before
    static constexpr std::size_t kLeastRows = 64;

    const Block* block_of(std::uint32_t begin) const {
        return begin < blocks_[1].end ? &blocks_[1] : begin < blocks_[0].end ? &blocks_[0] : nullptr;
    }

    bool is_worth_copying(std::size_t level, std::size_t n_rows) const {
        const std::size_t n_features = codes_.columns.size();
        const std::size_t row_bytes = n_features * sizeof(std::uint16_t);
        if (n_rows < kLeastRows || n_rows * row_bytes > kBytes[level]) {
            return false;
        }
        if (level == 1) {
            return max_features_ * std::bit_width(n_rows) >= n_features;  // reads to come against copies to make
        }
        // A few levels of the tree are grown from the larger copy; a table that is not much larger needs none.
        return n_rows * row_bytes > kBytes[1] && codes_.n_rows * row_bytes >= 4 * kBytes[0] &&
               6 * max_features_ >= n_features;
    }

    void copy_rows(Block& block, std::uint32_t begin, std::span<std::uint32_t> ids, const FeatureSet& dead) {
        const auto n_features = static_cast<std::uint32_t>(codes_.columns.size());
        const Block* outer = block_of(begin);
        block.n_rows = ids.size();
        if (block.codes.size() < ids.size() * n_features) {
            block.codes.resize(ids.size() * n_features);
        }
        if (outer == nullptr && !codes_.rows.empty()) {
            copy_from_rows(block, ids);
        } else {
            for (std::uint32_t f = 0; f < n_features; ++f) {
                if (!dead.has(f)) {
                    copy_column(block, f, begin, ids);
                }
            }
        }
        std::iota(ids.begin(), ids.end(), 0u);
        block.end = begin + static_cast<std::uint32_t>(ids.size());
    }

    void copy_column(Block& block, std::uint32_t feature, std::uint32_t begin,
                     std::span<const std::uint32_t> ids) const {
        if (codes_.columns[feature].width == 4) {
            read(feature, begin, ids, block.column<std::uint32_t>(feature));
        } else {
            read(feature, begin, ids, block.column<std::uint16_t>(feature));
        }
    }

    // From the copy of the table that is stored row by row: one or two cache lines a row, whatever the number of
    // features.
    void copy_from_rows(Block& block, std::span<const std::uint32_t> ids) const {
        constexpr std::size_t kTile = 16;  // rows at a time: a column's codes of them are written together
        const std::size_t n_features = codes_.columns.size();
        const std::uint16_t* rows = codes_.rows.data();
        std::size_t i = 0;
        for (; i + kTile <= ids.size(); i += kTile) {
            for (std::uint32_t f = 0; f < n_features; ++f) {
                std::uint16_t* to = block.column<std::uint16_t>(f) + i;
                for (std::size_t j = 0; j < kTile; ++j) {
                    to[j] = rows[ids[i + j] * n_features + f];
                }
            }
        }
        for (; i < ids.size(); ++i) {
            for (std::uint32_t f = 0; f < n_features; ++f) {
                block.column<std::uint16_t>(f)[i] = rows[ids[i] * n_features + f];
            }
        }
    }

    template <class Code>
    void read_table(std::uint32_t feature, std::span<const std::uint32_t> ids, Code* to) const {
        const Column& column = codes_.columns[feature];
        const auto n = static_cast<std::uint32_t>(ids.size());
        if constexpr (sizeof(Code) == 4) {
            gather_codes(column.as<std::uint32_t>(), ids.data(), n, to);
        } else if (column.width == 1) {
            gather_codes(column.as<std::uint8_t>(), ids.data(), n, to);
        } else {
            gather_codes(column.as<std::uint16_t>(), ids.data(), n, to);
        }
    }

    const Codes& codes_;
    std::size_t max_features_;
    std::array<Block, 2> blocks_;
};

}  // namespace weald
