// The stored cells of a sparse table that a node reads.
//
// Deeper in a tree, fewer of a column's stored cells belong to rows of the node. So at some nodes the cells of their
// rows are copied, column by column, and the subtree reads the copy.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coding/sparse_codes.h"

namespace weald {

class FilledBlocks {
  public:
    FilledBlocks(const Filled& filled, std::size_t max_features) : filled_(filled), max_features_(max_features) {}

    void begin_tree() { n_blocks_ = 0; }

    // Drops the copies that do not contain a node, whose rows begin at `begin` among the tree's rows.
    void leave(std::uint32_t begin, std::size_t n_rows) {
        while (n_blocks_ > 0 && (begin < blocks_[n_blocks_ - 1].begin || begin + n_rows > blocks_[n_blocks_ - 1].end)) {
            --n_blocks_;
        }
    }

    // Copies the cells of a node's rows if that is worthwhile.
    void enter(std::uint32_t begin, std::span<const std::uint32_t> ids) {
        leave(begin, ids.size());
        if (!is_worth_copying(ids.size())) {
            return;
        }
        if (n_blocks_ == blocks_.size()) {
            blocks_.emplace_back();
        }
        Block& block = blocks_[n_blocks_++];
        block.begin = begin;
        block.end = begin + static_cast<std::uint32_t>(ids.size());
        copy_cells(block, ids);
    }

    // They include those in rows of the node.
    std::span<const Filled::Cell> cells_of(std::uint32_t feature) const {
        if (n_blocks_ == 0) {
            return filled_.cells_of(feature);
        }
        const Block& block = blocks_[n_blocks_ - 1];
        return {block.cells.data() + block.starts[feature], block.cells.data() + block.starts[feature + 1]};
    }

  private:
    struct Block {
        std::uint32_t begin = 0;  // rows of the tree
        std::uint32_t end = 0;
        std::vector<std::size_t> starts;  // indexed by feature
        std::vector<Filled::Cell> cells;
    };

    // Cells that need not be read, in one node for every four rows, compared with cells and columns to be written.
    bool is_worth_copying(std::size_t n_rows) const {
        const std::size_t n_features = filled_.zero_codes.size();
        const std::size_t n_table = filled_.row_starts.size() - 1;
        const std::size_t n_outer =
            n_blocks_ == 0 ? n_table : blocks_[n_blocks_ - 1].end - blocks_[n_blocks_ - 1].begin;
        const double filled =
            static_cast<double>(filled_.cells.size()) / static_cast<double>(n_table);  // cells of a row
        const double n_cells = filled * static_cast<double>(n_rows);
        const double spared = filled * static_cast<double>(n_outer) / static_cast<double>(n_features) *
                              static_cast<double>(max_features_ * n_rows) / 4;
        return kLeastShrink * n_rows <= n_outer && spared > 2 * n_cells + static_cast<double>(n_features);
    }

    void copy_cells(Block& block, std::span<const std::uint32_t> ids) {
        block.starts.assign(filled_.zero_codes.size() + 2, 0);
        for_ranks(ids, [&](std::uint32_t rank) {
            for (const std::uint32_t feature : filled_.features_of(rank)) {
                ++block.starts[feature + 2];
            }
        });
        for (std::size_t f = 2; f < block.starts.size(); ++f) {
            block.starts[f] += block.starts[f - 1];
        }
        block.cells.resize(block.starts.back());
        for_ranks(ids, [&](std::uint32_t rank) {
            for (std::uint64_t i = filled_.row_starts[rank]; i < filled_.row_starts[rank + 1]; ++i) {
                block.cells[block.starts[filled_.features[i] + 1]++] = {rank, filled_.row_codes[i]};
            }
        });
    }

    // A row with a very large count occurs more than once in the node, at adjacent positions.
    template <class Use>
    static void for_ranks(std::span<const std::uint32_t> ids, Use&& use) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (i == 0 || ids[i] != ids[i - 1]) {
                use(ids[i]);
            }
        }
    }

    static constexpr std::size_t kLeastShrink = 4;

    const Filled& filled_;
    std::size_t max_features_;
    std::size_t n_blocks_ = 0;  // those in use, each inside the one before
    std::vector<Block> blocks_;
};

}  // namespace weald
