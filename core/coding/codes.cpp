#include "coding/codes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/release_memory.h"
#include "base/weights.h"
#include "coding/code_columns.h"
#include "coding/cuts.h"
#include "coding/ranks.h"

namespace weald {

bool Codes::weights_are_copies() const {
    return whole && line_length < kWholeLimit;
}

std::size_t Codes::width() const {
    std::size_t width = 1;
    for (std::uint32_t f = 0; f < columns.size(); ++f) {
        width = binary.has(f) ? width : std::max<std::size_t>(width, columns[f].width);
    }
    return width;
}

void Codes::weigh(std::span<const std::uint64_t> lengths) {
    line.resize(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) {
        line[r] = lengths[positions[r]];
    }
    line_length = std::accumulate(line.begin(), line.end(), std::uint64_t{0});
}

Codes Codes::without_columns() const {
    Codes rest;
    rest.n_rows = n_rows;
    rest.n_classes = n_classes;
    rest.classes = classes;
    rest.line = line;
    rest.line_length = line_length;
    rest.whole = whole;
    rest.positions = positions;
    rest.fingerprint = fingerprint;
    rest.values = values;
    rest.design = design;
    return rest;
}

namespace {

// ---- Hashes of the values: the fingerprint of all rows, and the rows from which quantile codes are cut

RowHashes bits_of_targets(const Table& table, Work& work) {
    RowHashes bits(table.x.n_rows);
    for_blocks(bits.size(), kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            bits[r] = target_bits(table, r);
        }
    });
    return bits;
}

RowHashes hash_raw_rows(const Table& table, const RowHashes& targets, Work& work) {
    if (!table.by_column.is_empty()) {
        return hash_sparse_rows(table.by_column, targets);
    }
    RowHashes hashes(table.x.n_rows);
    for_blocks(hashes.size(), kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        hash_values(table.x, targets, begin, end, hashes);
    });
    return hashes;
}

// The same, from the contributions of the values of each row.
RowHashes hash_sums(RowHashes sums, const RowHashes& targets) {
    for (std::size_t r = 0; r < sums.size(); ++r) {
        sums[r] = mix64(sums[r] + mix64(targets[r]));
    }
    return sums;
}

// Integer weights count as copies of rows.
template <class CopiesOf>
std::uint64_t sum_hashes(const RowHashes& hashes, const CopiesOf& copies_of, Work& work) {
    std::atomic<std::uint64_t> total{0};
    for_blocks(hashes.size(), kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        std::uint64_t sum = 0;
        for (std::size_t r = begin; r < end; ++r) {
            sum += copies_of(r) * hashes[r];
        }
        total += sum;
    });
    return total;
}

// Hashes are uniformly distributed: the first bits of the highest are found by counting, and few rows share them.
template <class CopiesOf>
std::uint64_t highest_of_sample(const RowHashes& hashes, const CopiesOf& copies_of) {
    constexpr int kShift = 64 - 12;
    std::vector<std::uint64_t> n_copies(std::size_t{1} << (64 - kShift));
    for (std::size_t r = 0; r < hashes.size(); ++r) {
        n_copies[hashes[r] >> kShift] += copies_of(r);
    }
    std::uint64_t seen = 0;
    std::size_t first_bits = 0;
    for (; seen + n_copies[first_bits] < kSampleSize; ++first_bits) {
        seen += n_copies[first_bits];
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> near;  // hashes and copies
    for (std::size_t r = 0; r < hashes.size(); ++r) {
        if (hashes[r] >> kShift == first_bits) {
            near.emplace_back(hashes[r], copies_of(r));
        }
    }
    std::sort(near.begin(), near.end());
    std::size_t i = 0;
    for (; seen + near[i].second < kSampleSize; ++i) {
        seen += near[i].second;
    }
    return near[i].first;
}

// One flag per row; empty: all rows.
template <class CopiesOf>
std::vector<std::uint8_t> sample_rows(const RowHashes& hashes, const CopiesOf& copies_of) {
    std::uint64_t n_copies = 0;
    for (std::size_t r = 0; r < hashes.size(); ++r) {
        n_copies += copies_of(r);
    }
    if (n_copies <= kSampleSize) {
        return {};
    }
    const std::uint64_t highest = highest_of_sample(hashes, copies_of);
    std::vector<std::uint8_t> sampled(hashes.size());
    std::transform(hashes.begin(), hashes.end(), sampled.begin(), [&](std::uint64_t h) { return h <= highest; });
    return sampled;
}

// ---- Ranks

template <class T, class Source>
std::vector<T> by_rank(const Source& values, const std::vector<std::uint32_t>& positions, Work& work) {
    std::vector<T> ranked(positions.size());
    for_blocks(ranked.size(), kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            ranked[i] = static_cast<T>(values[positions[i]]);
        }
    });
    return ranked;
}

template <class Code>
void reorder_codes(Column& column, const std::vector<std::uint32_t>& positions, std::vector<std::byte>& spare) {
    Code* ranked = reinterpret_cast<Code*>(column.codes.get());
    spare.assign(column.codes.get(), column.codes.get() + positions.size() * sizeof(Code));
    const Code* by_row = reinterpret_cast<const Code*>(spare.data());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        ranked[i] = by_row[positions[i]];
    }
}

void reorder_columns(std::vector<Column>& columns, const std::vector<std::uint32_t>& positions, Work& work) {
    std::vector<std::vector<std::byte>> spares(work.n_threads());
    work.run(columns.size(), [&](std::size_t f, std::size_t thread) {
        work.check();
        switch (columns[f].width) {
            case 1:
                reorder_codes<std::uint8_t>(columns[f], positions, spares[thread]);
                break;
            case 2:
                reorder_codes<std::uint16_t>(columns[f], positions, spares[thread]);
                break;
            default:
                reorder_codes<std::uint32_t>(columns[f], positions, spares[thread]);
                break;
        }
    });
}

// Codes of a table that does not fit into a cache are also stored row by row, unless some have four bytes. If a column
// is short enough for the cache close to the core, all of its rows are close to one another anyway.
constexpr std::size_t kHeldByCache = std::size_t{2} << 20;
constexpr std::size_t kShortColumn = std::size_t{64} << 10;  // bytes

template <class From, class To>
void write_row_codes(const Column& column, std::size_t begin, std::size_t end, To* to, std::size_t row_length) {
    const From* codes = column.as<From>();
    for (std::size_t r = begin; r < end; ++r) {
        to[r * row_length] =
            codes[r] == std::numeric_limits<From>::max() ? std::numeric_limits<To>::max() : static_cast<To>(codes[r]);
    }
}

template <class Code>
void write_rows(const std::vector<const Column*>& columns, std::size_t begin, std::size_t end, Codes& codes) {
    Code* rows = reinterpret_cast<Code*>(codes.rows.data());
    const std::size_t row_length = codes.row_bytes / sizeof(Code);
    for (std::size_t f = 0; f < columns.size(); ++f) {
        if (columns[f]->width == 1) {
            write_row_codes<std::uint8_t>(*columns[f], begin, end, rows + f, row_length);
        } else {
            write_row_codes<std::uint16_t>(*columns[f], begin, end, rows + f, row_length);
        }
    }
    for (std::size_t r = begin; r < end; ++r) {
        std::fill(rows + r * row_length + columns.size(), rows + (r + 1) * row_length, Code{0});
    }
}

void add_codes_by_row(Codes& codes, Work& work) {
    codes.binary = BinaryFeatures(codes.columns, codes.n_rows, work);
    std::vector<const Column*> columns;
    for (std::uint32_t f = 0; f < codes.columns.size(); ++f) {
        if (!codes.binary.has(f)) {
            columns.push_back(&codes.columns[f]);
        }
    }
    const std::size_t width = codes.width();
    const std::size_t column_bytes = codes.n_rows * width;
    if (width == 4 || column_bytes <= kShortColumn || column_bytes * columns.size() <= kHeldByCache) {
        return;
    }
    constexpr std::size_t kTile = 256;  // rows whose codes stay in the L1 cache while all columns are written
    const std::size_t n_rows = codes.n_rows;
    codes.row_bytes = (columns.size() * width + 15) / 16 * 16;
    codes.rows.resize(n_rows * codes.row_bytes);
    for_blocks(n_rows, kRowBlock, work, [&](std::size_t, std::size_t first, std::size_t last) {
        for (std::size_t begin = first; begin < last; begin += kTile) {
            const std::size_t end = std::min(last, begin + kTile);
            width == 1 ? write_rows<std::uint8_t>(columns, begin, end, codes)
                       : write_rows<std::uint16_t>(columns, begin, end, codes);
        }
    });
}

}  // namespace

ColumnBlocks::ColumnBlocks(std::span<const double> weights, bool whole, std::uint32_t max_bins)
    : line_(lay_line(weights, whole)), max_bins_(max_bins) {}

void ColumnBlocks::add(const Matrix& x, const std::vector<bool>& categorical, Work& work) {
    n_rows_ = x.n_rows;
    coded.sums.resize(n_rows_, 0);
    for_blocks(n_rows_, kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        add_values(x, coded.columns.size(), begin, end, coded.sums);
    });
    for (Column& column : code_columns(x, {categorical, {}, line_, max_bins_}, work)) {
        coded.columns.push_back(std::move(column));
    }
}

constexpr std::size_t kReadAndSorted = 8;  // memory freed after a table has been coded, in columns

Codes code_table(const Table& table, std::uint32_t max_bins, Work& work, CodedColumns coded, std::size_t n_trees) {
    const std::size_t n_rows = table.x.n_rows;
    const std::vector<std::uint64_t> line = lay_line(table.weights, table.weights_whole);
    std::vector<double> numbers(table.numbers.begin(), table.numbers.end());
    for (double& y : numbers) {
        y += 0.0;  // -0.0 becomes 0.0
    }
    const RowHashes targets = bits_of_targets(table, work);
    const bool is_coded = !coded.columns.empty();
    std::vector<std::uint8_t> sampled;
    Codes codes;
    {
        const RowHashes values =
            is_coded ? hash_sums(std::move(coded.sums), targets) : hash_raw_rows(table, targets, work);
        const bool are_copied = table.weights_whole && !line.empty();
        const auto copies_of = [&](std::size_t r) { return are_copied ? line[r] : 1; };
        if (!values.empty()) {
            codes.values = sum_hashes(values, copies_of, work);
        }
        if (max_bins != 0 && !is_coded) {
            sampled = sample_rows(values, copies_of);
        }
    }
    codes.n_rows = static_cast<std::uint32_t>(n_rows);
    codes.n_classes = table.n_classes;
    codes.whole = table.weights_whole;
    codes.columns = is_coded ? std::move(coded.columns)
                    : table.by_column.is_empty()
                        ? code_columns(table.x, {table.categorical, sampled, line, max_bins, n_trees}, work)
                        : code_sparse_columns(table.by_column, {n_rows, sampled, line, max_bins}, work);
    if (std::any_of(codes.columns.begin(), codes.columns.end(),
                    [](const Column& column) { return column.lows.are_left_out(); })) {
        codes.source = table.x;
    }
    const RowHashes hashes = hash_rows(codes.columns, n_rows, work);
    codes.positions = table.task() == Task::classification ? rank_rows(hashes, table.classes, work)
                                                           : rank_rows(hashes, std::span<const double>(numbers), work);
    reorder_columns(codes.columns, codes.positions, work);
    if (table.by_column.is_empty()) {
        add_codes_by_row(codes, work);
    } else {
        codes.filled = list_filled(table.by_column, codes.columns, codes.positions, work);
    }
    if (table.task() == Task::classification) {
        codes.classes = by_rank<std::int32_t>(table.classes, codes.positions, work);
    } else {
        codes.numbers = by_rank<double>(numbers, codes.positions, work);
    }
    if (!table.weights.empty()) {
        codes.weights = by_rank<double>(table.weights, codes.positions, work);
        codes.line = by_rank<std::uint64_t>(line, codes.positions, work);
    }
    std::vector<RowPrint> prints(table.strata.empty() && table.groups.empty() ? 0 : n_rows);
    std::atomic<std::uint64_t> fingerprint{0};
    for_blocks(n_rows, kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        std::uint64_t sum = 0;
        for (std::size_t r = begin; r < end; ++r) {
            const RowPrint row{print_row(hashes[r], targets[r]), line.empty() ? 1 : line[r]};
            sum += row.weight * row.print;
            if (!prints.empty()) {
                prints[r] = row;
            }
        }
        fingerprint += sum;
    });
    codes.fingerprint = fingerprint;
    codes.line_length = line.empty() ? n_rows : std::accumulate(line.begin(), line.end(), std::uint64_t{0});
    codes.design = make_design(table, prints, codes.positions);
    FreedMemory().add(n_rows * sizeof(std::uint64_t) * kReadAndSorted);
    return codes;
}

Codes map_codes(const Table& table, std::vector<Column> columns, Ranking ranking, Work& work) {
    constexpr std::size_t kFewBytes = std::size_t{1} << 30;
    Codes codes;
    codes.n_rows = static_cast<std::uint32_t>(table.x.n_rows);
    codes.n_classes = table.n_classes;
    codes.whole = table.weights_whole;
    codes.columns = std::move(columns);
    codes.positions = std::move(ranking.positions);
    codes.fingerprint = ranking.fingerprint;
    codes.values = ranking.values;
    if (codes.n_rows * codes.columns.size() * sizeof(std::uint16_t) <= kFewBytes) {
        add_codes_by_row(codes, work);
    }
    if (table.task() == Task::classification) {
        codes.classes = by_rank<std::int32_t>(table.classes, codes.positions, work);
    } else {
        codes.numbers = by_rank<double>(table.numbers, codes.positions, work);
    }
    codes.line_length = codes.n_rows;
    if (!table.weights.empty()) {
        codes.weights = by_rank<double>(table.weights, codes.positions, work);
        codes.line = lay_line(codes.weights, codes.whole);
        codes.line_length = std::accumulate(codes.line.begin(), codes.line.end(), std::uint64_t{0});
    }
    return codes;
}

}  // namespace weald
