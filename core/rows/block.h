// The source of a node's codes: the table, or a copy of the node's rows that fits into a cache.
//
// Deep in a tree the rows of a node are far apart in the table, and each read of a code loads a cache line. So when a
// node is small enough, its rows are copied, column by column, and its subtree is grown from the copy. This happens
// twice on a path: for the last-level cache, and for the one before it.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "coding/binary_features.h"
#include "coding/codes.h"
#include "draw/feature_draw.h"
#include "rows/filled_blocks.h"
#include "rows/gather.h"

namespace weald {

// A square of rows and columns.
template <class Code>
struct CodeTile {
    static constexpr std::size_t kBytes = 16;
    static constexpr std::size_t kSide = kBytes / sizeof(Code);
    typedef Code Vector __attribute__((vector_size(kBytes)));

    struct Row {
        Vector codes;
    };
    using Rows = std::array<Row, kSide>;

    Rows rows;

    // The rows of the lower and the upper half are interleaved repeatedly, which transposes the square.
    void transpose() {
        for (std::size_t round = 1; round < kSide; round *= 2) {
            Rows woven;
            for (std::size_t j = 0; j < kSide / 2; ++j) {
                const Vector lower = rows[j].codes;
                const Vector upper = rows[j + kSide / 2].codes;
                woven[2 * j].codes = __builtin_shuffle(lower, upper, kLow);
                woven[2 * j + 1].codes = __builtin_shuffle(lower, upper, kHigh);
            }
            rows = woven;
        }
    }

  private:
    static constexpr Vector weave(std::size_t begin) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return Vector{static_cast<Code>(begin + I / 2 + I % 2 * kSide)...};
        }(std::make_index_sequence<kSide>());
    }
    static constexpr Vector kLow = weave(0);
    static constexpr Vector kHigh = weave(kSide / 2);
};

class CodeReader {
  public:
    CodeReader(const Codes& codes, std::uint32_t max_features)
        : codes_(codes),
          max_features_(max_features),
          width_(codes.width()),
          filled_(codes.filled, max_features),
          places_of_(codes.columns.size()) {
        for (std::uint32_t f = 0; f < codes.columns.size(); ++f) {
            if (!codes.binary.has(f)) {
                places_of_[f] = static_cast<std::uint32_t>(others_.size());
                others_.push_back(f);
            }
        }
    }

    void begin_tree() {
        for (Block& block : blocks_) {
            block.end = 0;
        }
        filled_.begin_tree();
    }

    // Copies the codes of a node's rows, which begin at `begin` among the tree's rows. Codes of one or two bytes are
    // copied as two.
    template <class Code>
    void read(std::uint32_t feature, std::uint32_t begin, std::span<const std::uint32_t> ids, Code* to) const {
        const auto n = static_cast<std::uint32_t>(ids.size());
        const Block* block = block_of(begin);
        if (block && codes_.binary.has(feature)) {
            gather_bits(block->words.data(), codes_.binary.bit(feature), ids.data(), n, to);
        } else if (block && width_ == 1) {
            gather_codes(block->column<std::uint8_t>(places_of_[feature]), ids.data(), n, to);
        } else if (block) {
            gather_codes(block->column<Code>(places_of_[feature]), ids.data(), n, to);
        } else {
            read_table(feature, begin, ids, to);
        }
    }

    // Copies all codes of a few rows as two bytes each, one row after the other, `length` apart. Those of features that
    // are `constant` are arbitrary. Returns whether none is missing; otherwise the copy is incomplete.
    bool copy_by_row(std::uint32_t begin, std::span<const std::uint32_t> ids, const FeatureSet& constant,
                     std::uint16_t* to, std::size_t length) const {
        const Block* block = block_of(begin);
        if (block && codes_.binary.is_empty()) {
            return width_ == 1 ? copy_block_by_row<std::uint8_t>(*block, ids, constant, to, length)
                               : copy_block_by_row<std::uint16_t>(*block, ids, constant, to, length);
        }
        std::array<std::uint16_t, kMostByRow> column;
        for (std::uint32_t feature = 0; feature < codes_.columns.size(); ++feature) {
            if (constant.has(feature)) {
                continue;
            }
            read(feature, begin, ids, column.data());
            for (std::size_t i = 0; i < ids.size(); ++i) {
                if (column[i] == std::numeric_limits<std::uint16_t>::max()) {
                    return false;
                }
                to[i * length + feature] = column[i];
            }
        }
        return true;
    }
    static constexpr std::size_t kMostByRow = 32;  // rows

    // The binary features of the rows that a node's ids refer to.
    const std::uint64_t* words(std::uint32_t begin) const {
        const Block* block = block_of(begin);
        return block ? block->words.data() : codes_.binary.words();
    }

    // The codes of a feature for the ids of a node, if they are stored as Code; or nothing.
    template <class Code>
    const Code* column(std::uint32_t feature, std::uint32_t begin) const {
        const Block* block = block_of(begin);
        if (!codes_.filled.is_empty() || (block && codes_.binary.has(feature)) ||
            sizeof(Code) != (block ? width_in_blocks(feature) : codes_.columns[feature].width)) {
            return nullptr;
        }
        return block ? block->column<Code>(places_of_[feature]) : codes_.columns[feature].as<Code>();
    }

    // Copies the rows of a node if that is worthwhile, and numbers them from 0: from then on, `ids` refer to the copy.
    // Features of the set `constant` are not needed any more.
    void enter(std::uint32_t begin, std::span<std::uint32_t> ids, const FeatureSet& constant) {
        if (!codes_.filled.is_empty()) {
            filled_.enter(begin, ids);  // ids are unchanged
            return;
        }
        for (std::size_t level = 0; level < blocks_.size(); ++level) {
            if (begin >= blocks_[level].end && is_worth_copying(level, ids.size())) {
                copy_rows(blocks_[level], begin, ids, constant);
            }
        }
    }

    // For a sparse table, before the codes of a node are read.
    void find_places(std::uint32_t begin, std::span<const std::uint32_t> ids) {
        filled_.leave(begin, ids.size());
        places_.resize(codes_.n_rows);
        for (std::uint32_t i = 0; i < ids.size(); ++i) {
            places_[ids[i]] = begin + i;
        }
    }

    // How many cells of a feature for_filled visits.
    std::size_t n_offered(std::uint32_t feature) const { return filled_.cells_of(feature).size(); }

    // Calls use(position in the node, code) for the cells of a feature that are not zero; the positions have been
    // found.
    template <class Use>
    void for_filled(std::uint32_t feature, std::uint32_t begin, std::span<const std::uint32_t> ids, Use&& use) const {
        for (const Filled::Cell& cell : filled_.cells_of(feature)) {
            // A row with a very large count occurs more than once in the node, at adjacent positions.
            for (std::uint32_t place = places_[cell.rank] - begin; place < ids.size() && ids[place] == cell.rank;
                 --place) {
                use(place, cell.code);
            }
        }
    }

  private:
    struct Block {
        std::uint32_t end = 0;  // nodes that begin before this row of the tree are inside
        std::size_t column_bytes = 0;
        std::vector<std::byte> codes;  // for the widest codes; narrower ones use the first part

        std::vector<std::uint64_t> words;  // codes of the binary features

        // By index among the features that are not binary.
        template <class Code>
        Code* column(std::uint32_t place) {
            return reinterpret_cast<Code*>(codes.data() + place * column_bytes);
        }
        template <class Code>
        const Code* column(std::uint32_t place) const {
            return reinterpret_cast<const Code*>(codes.data() + place * column_bytes);
        }
    };

    static constexpr std::array<std::size_t, 2> kBytes{4u << 20, 512u << 10};  // bytes of codes, for two caches
    static constexpr std::size_t kLeastRows = 64;

    const Block* block_of(std::uint32_t begin) const {
        return begin < blocks_[1].end ? &blocks_[1] : begin < blocks_[0].end ? &blocks_[0] : nullptr;
    }

    // Bytes of a code of a feature that is not binary.
    std::size_t width_in_blocks(std::uint32_t feature) const {
        return width_ == 1 ? 1 : std::max<std::size_t>(2, codes_.columns[feature].width);
    }

    bool is_worth_copying(std::size_t level, std::size_t n_rows) const {
        const std::size_t n_features = codes_.columns.size();
        const std::size_t word_bytes = codes_.binary.is_empty() ? 0 : sizeof(std::uint64_t);
        const std::size_t row_bytes = others_.size() * std::min<std::size_t>(width_, 2) + word_bytes;
        if (n_rows < kLeastRows || n_rows * row_bytes > kBytes[level]) {
            return false;
        }
        if (level == 1) {
            return max_features_ * std::bit_width(n_rows) >= n_features;  // future reads compared with copies
        }
        // A few levels of the tree are grown from the larger copy; a table that is not much larger needs none.
        return n_rows * row_bytes > kBytes[1] && codes_.n_rows * row_bytes >= 4 * kBytes[0] &&
               6 * max_features_ >= n_features;
    }

    void copy_rows(Block& block, std::uint32_t begin, std::span<std::uint32_t> ids, const FeatureSet& constant) {
        const Block* outer = block_of(begin);
        block.column_bytes = ids.size() * width_;
        if (block.codes.size() < block.column_bytes * others_.size()) {
            block.codes.resize(block.column_bytes * others_.size());
        }
        if (outer == nullptr && !codes_.rows.empty()) {
            width_ == 1 ? copy_from_rows<std::uint8_t>(block, ids) : copy_from_rows<std::uint16_t>(block, ids);
        } else {
            for (const std::uint32_t feature : others_) {
                if (!constant.has(feature)) {
                    copy_column(block, feature, begin, ids);
                }
            }
        }
        if (!codes_.binary.is_empty()) {
            const std::uint64_t* from = words(begin);
            block.words.resize(std::max(block.words.size(), ids.size()));
            std::transform(ids.begin(), ids.end(), block.words.begin(), [&](std::uint32_t id) { return from[id]; });
        }
        std::iota(ids.begin(), ids.end(), 0u);
        block.end = begin + static_cast<std::uint32_t>(ids.size());
    }

    void copy_column(Block& block, std::uint32_t feature, std::uint32_t begin,
                     std::span<const std::uint32_t> ids) const {
        const std::size_t width = width_in_blocks(feature);
        if (width == 4) {
            read(feature, begin, ids, block.column<std::uint32_t>(places_of_[feature]));
        } else if (width == 2) {
            read(feature, begin, ids, block.column<std::uint16_t>(places_of_[feature]));
        } else {
            gather_codes(column<std::uint8_t>(feature, begin), ids.data(), static_cast<std::uint32_t>(ids.size()),
                         block.column<std::uint8_t>(places_of_[feature]));
        }
    }

    // From the row-by-row copy of the table: one or two cache lines per row, whatever the number of features. As many
    // rows as there are codes in a vector are transposed together.
    template <class Code>
    void copy_from_rows(Block& block, std::span<const std::uint32_t> ids) const {
        using Tile = CodeTile<Code>;
        const auto n_features = static_cast<std::uint32_t>(others_.size());
        const auto row = [&](std::size_t i) {
            return reinterpret_cast<const Code*>(codes_.rows.data() + ids[i] * codes_.row_bytes);
        };
        std::size_t i = 0;
        for (; i + Tile::kSide <= ids.size(); i += Tile::kSide) {
            for (std::uint32_t f = 0; f < n_features; f += Tile::kSide) {
                Tile tile;
                for (std::size_t j = 0; j < Tile::kSide; ++j) {
                    __builtin_memcpy(&tile.rows[j], row(i + j) + f, Tile::kBytes);
                }
                tile.transpose();
                for (std::uint32_t j = 0; j < Tile::kSide && f + j < n_features; ++j) {
                    __builtin_memcpy(block.column<Code>(f + j) + i, &tile.rows[j], Tile::kBytes);
                }
            }
        }
        for (; i < ids.size(); ++i) {
            for (std::uint32_t f = 0; f < n_features; ++f) {
                block.column<Code>(f)[i] = row(i)[f];
            }
        }
    }

    template <class Code>
    bool copy_block_by_row(const Block& block, std::span<const std::uint32_t> ids, const FeatureSet& constant,
                           std::uint16_t* to, std::size_t length) const {
        constexpr Code kMissingCode = std::numeric_limits<Code>::max();
        const std::size_t n_features = others_.size();
        for (const std::uint32_t id : ids) {
            const std::byte* from = block.codes.data() + id * sizeof(Code);
            Code highest = 0;
            for (std::size_t feature = 0; feature < n_features; ++feature, from += block.column_bytes) {
                const Code code = *reinterpret_cast<const Code*>(from);
                highest = std::max(highest, code);
                to[feature] = code;
            }
            if (highest == kMissingCode && is_missing(to, kMissingCode, constant)) {
                return false;
            }
            to += length;
        }
        return true;
    }
    bool is_missing(const std::uint16_t* row, std::uint16_t missing, const FeatureSet& constant) const {
        for (std::uint32_t feature = 0; feature < others_.size(); ++feature) {
            if (row[feature] == missing && !constant.has(feature)) {
                return true;
            }
        }
        return false;
    }

    // If there are few stored cells: all codes are zero except for these.
    template <class Code>
    bool read_filled(std::uint32_t feature, std::uint32_t begin, std::span<const std::uint32_t> ids, Code* to) const {
        if (codes_.filled.is_empty() || n_offered(feature) > 2 * ids.size()) {
            return false;
        }
        std::fill_n(to, ids.size(), static_cast<Code>(codes_.filled.zero_codes[feature]));
        for_filled(feature, begin, ids,
                   [&](std::uint32_t place, std::uint32_t code) { to[place] = static_cast<Code>(code); });
        return true;
    }

    template <class Code>
    void read_table(std::uint32_t feature, std::uint32_t begin, std::span<const std::uint32_t> ids, Code* to) const {
        if (read_filled(feature, begin, ids, to)) {
            return;
        }
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
    std::size_t width_;  // maximum bytes of codes in blocks
    std::array<Block, 2> blocks_;
    FilledBlocks filled_;
    std::vector<std::uint32_t> others_;     // features that are not binary
    std::vector<std::uint32_t> places_of_;  // by feature: its index among them
    std::vector<std::uint32_t> places_;     // by rank, of a sparse table: its last known position among the tree's rows
};

}  // namespace weald
