// A table as small integers, its rows in rank order.
//
//   Codes          all columns, the target and the weights, by rank
//   ColumnBlocks   columns that are coded in blocks
//   code_table     sort each column, replace values by codes, hash the rows' codes, rank the rows
//   map_codes      a table whose columns are already coded and ranked, in memory of the caller

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/large_pages.h"
#include "base/task.h"
#include "base/threads.h"
#include "base/view.h"
#include "coding/binary_features.h"
#include "coding/column.h"
#include "coding/design.h"
#include "coding/ranks.h"
#include "coding/sparse_codes.h"

namespace weald {

struct Codes {
    std::uint32_t n_rows = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::vector<Column> columns;
    BinaryFeatures binary;                 // the columns with two codes, additionally as bits
    LargeVector<std::byte> rows;           // codes of the others, row by row, if worthwhile; else empty
    std::size_t row_bytes = 0;             // bytes of one rank in `rows`: its codes, padded to a multiple of 16
    std::vector<std::int32_t> classes;     // indexed by rank
    std::vector<double> numbers;           // indexed by rank
    std::vector<double> weights;           // by rank; empty: all one
    std::vector<std::uint64_t> line;       // by rank: length on the line from which bags are drawn; empty: all one
    std::uint64_t line_length = 0;         // sum of the line
    bool whole = true;                     // all weights are integers
    std::vector<std::uint32_t> positions;  // by rank: the row of the table
    std::uint64_t fingerprint = 0;         // fingerprint of the training data as codes
    std::optional<std::uint64_t> values;   // fingerprint of the values; nothing: unknown
    Design design;                         // strata and groups
    Filled filled;                         // by rank, of a sparse table: which features are not zero
    std::optional<Matrix> source;          // the caller's table, if values of codes were left out
    std::shared_ptr<const void> owner;     // owner of the source, which is kept alive as long as it may be read

    Task task() const { return task_of(n_classes); }

    // Bytes of a code that any feature fits into, except those stored as bits.
    std::size_t width() const;

    // Without bootstrap, weights count as copies of rows, or are in fixed point.
    bool weights_are_copies() const;

    // Sets another line to draw bags from: lengths by row of the table.
    void weigh(std::span<const std::uint64_t> lengths);

    // The data needed to draw bags, but not to grow trees.
    Codes without_columns() const;
};

constexpr std::uint64_t kSampleSize = std::uint64_t{1} << 18;  // copies of rows from which quantiles are computed

// Columns that have been coded, by row.
struct CodedColumns {
    std::vector<Column> columns;
    RowHashes sums;  // the contribution of the values of each row to its hash; empty: unknown
};

// Columns that are coded a few at a time, so that not all values need to be in memory. For tables of at most
// kSampleSize copies of rows: the sample of larger ones depends on all columns.
class ColumnBlocks {
  public:
    ColumnBlocks(std::span<const double> weights, bool whole, std::uint32_t max_bins);

    void add(const Matrix& x, const std::vector<bool>& categorical, Work& work);

    std::size_t n_rows() const { return n_rows_; }

    CodedColumns coded;

  private:
    std::size_t n_rows_ = 0;
    std::vector<std::uint64_t> line_;
    std::uint32_t max_bins_;
};

// max_bins 0 keeps every distinct value. `coded`: the table's columns, if they have been coded; then x is only a shape,
// and the caller computes the fingerprint of the values if their sums are unknown. `n_trees`: trees grown from these
// codes in one call with the best splits; 0 if unknown. If it is known, values may be left out, and the table must not
// change until the trees are grown.
Codes code_table(const Table& table, std::uint32_t max_bins, Work& work, CodedColumns coded = {},
                 std::size_t n_trees = 0);

// Columns by rank; target and weights by row of the table, and no target is -0.0. There are no strata and no groups.
Codes map_codes(const Table& table, std::vector<Column> columns, Ranking ranking, Work& work);

}  // namespace weald
