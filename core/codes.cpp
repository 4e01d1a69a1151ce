#include "codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "cuts.h"
#include "freed.h"
#include "random.h"
#include "ranks.h"
#include "sort_keys.h"
#include "sortable.h"
#include "weights.h"

namespace weald {

bool Codes::weights_are_copies() const {
    return whole && line_length < kWholeLimit;
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
    rest.design = design;
    return rest;
}

namespace {

// ---- The rows from which quantile codes are cut

std::vector<std::uint64_t> bits_of_targets(const Table& table) {
    std::vector<std::uint64_t> bits(table.x.n_rows);
    for (std::size_t r = 0; r < bits.size(); ++r) {
        bits[r] = target_bits(table, r);
    }
    return bits;
}

std::vector<std::uint64_t> hash_raw_rows(const Table& table, const std::vector<std::uint64_t>& targets, Work& work) {
    const Matrix& x = table.x;
    std::vector<std::uint64_t> hashes(x.n_rows);
    work.run(n_blocks(x.n_rows), [&](std::size_t block, std::size_t) {
        const std::size_t end = std::min(x.n_rows, (block + 1) * kRowBlock);
        hash_values(x, targets, block * kRowBlock, end, hashes);
    });
    return hashes;
}

// One flag a row; empty: all rows.
std::vector<std::uint8_t> sample_rows(const Table& table, const std::vector<std::uint64_t>& targets,
                                      const std::vector<std::uint64_t>& line, Work& work) {
    const bool copies = table.weights_whole && !line.empty();
    const std::uint64_t n_copies =
        copies ? std::accumulate(line.begin(), line.end(), std::uint64_t{0}) : table.x.n_rows;
    if (n_copies <= kSampleSize) {
        return {};
    }
    const std::vector<std::uint64_t> hashes =
        table.by_column.is_empty() ? hash_raw_rows(table, targets, work) : hash_sparse_rows(table.by_column, targets);
    std::vector<std::uint32_t> order(hashes.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto lower = [&](std::uint32_t a, std::uint32_t b) { return hashes[a] < hashes[b]; };
    // Each row is at least one copy, so the highest hash is among the lowest kSampleSize rows.
    const std::size_t enough = std::min<std::size_t>(order.size(), kSampleSize);
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough - 1), order.end(), lower);
    std::uint64_t highest = hashes[order[enough - 1]];
    if (copies) {
        std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough), lower);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < enough && seen < kSampleSize; ++i) {
            seen += line[order[i]];
            highest = hashes[order[i]];
        }
    }
    std::vector<std::uint8_t> sampled(hashes.size());
    std::transform(hashes.begin(), hashes.end(), sampled.begin(), [&](std::uint64_t h) { return h <= highest; });
    return sampled;
}

// ---- One column

template <class Key>
std::size_t count_distinct(const std::vector<Keyed<Key>>& items) {
    std::size_t n = items.empty() ? 0 : 1;
    for (std::size_t i = 1; i < items.size(); ++i) {
        n += items[i].key != items[i - 1].key;
    }
    return n;
}

// The smallest key of each code. Walks the sampled values upward and closes a code when its weight times the codes left
// reaches the weight that was left at its start.
template <class Key>
std::vector<Key> cut_quantiles(const std::vector<Keyed<Key>>& items, const std::vector<std::uint8_t>& sampled,
                               const std::vector<std::uint64_t>& line, std::uint32_t max_bins) {
    const auto weight_of = [&](const Keyed<Key>& item) -> std::uint64_t {
        return !sampled.empty() && !sampled[item.row] ? 0 : line.empty() ? 1 : line[item.row];
    };
    std::uint64_t weight_left = 0;
    for (const Keyed<Key>& item : items) {
        weight_left += weight_of(item);
    }
    __extension__ using Wide = unsigned __int128;
    std::vector<Key> starts;
    std::uint64_t inside = 0;
    std::uint64_t at_start = 0;
    for (std::size_t i = 0; i < items.size();) {
        const Key key = items[i].key;
        std::uint64_t weight = 0;
        for (; i < items.size() && items[i].key == key; ++i) {
            weight += weight_of(items[i]);
        }
        if (weight == 0) {
            continue;  // not sampled
        }
        if (inside == 0) {
            starts.push_back(key);
            at_start = weight_left;
        }
        inside += weight;
        weight_left -= weight;
        if (static_cast<Wide>(inside) * (max_bins - starts.size() + 1) >= at_start) {
            inside = 0;
        }
    }
    if (starts.empty()) {
        starts.push_back(items[0].key);
    }
    return starts;
}

// Writes codes for rows in sorted order. `starts` empty: each distinct value is a code.
template <class Float, class Code>
void write_codes(const std::vector<Keyed<Bits<Float>>>& items, const std::vector<Bits<Float>>& starts,
                 std::size_t n_codes, Column& column) {
    Code* codes = reinterpret_cast<Code*>(column.codes.data());
    std::vector<Float> lows;
    std::vector<Float> highs(starts.empty() ? 0 : n_codes);
    lows.reserve(n_codes);
    std::size_t code = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto key = items[i].key;
        if (starts.empty()) {
            code += i > 0 && key != items[i - 1].key;
        } else {
            while (code + 1 < starts.size() && starts[code + 1] <= key) {
                ++code;
            }
            highs[code] = unsortable<Float>(key);
        }
        codes[items[i].row] = static_cast<Code>(code);
        if (code == lows.size()) {
            lows.push_back(unsortable<Float>(key));
        }
    }
    column.lows = Values(std::move(lows));
    column.highs = Values(std::move(highs));
}

template <class Float>
Column code_column(std::vector<Keyed<Bits<Float>>>& items, std::size_t n_rows, const std::vector<std::uint8_t>& sampled,
                   const std::vector<std::uint64_t>& line, std::uint32_t max_bins) {
    std::size_t n_codes = count_distinct(items);
    std::vector<Bits<Float>> starts;
    if (max_bins != 0 && n_codes > max_bins) {
        starts = cut_quantiles(items, sampled, line, max_bins);
        n_codes = starts.size();
    }
    Column column;
    column.width = n_codes <= 0xFF ? 1 : n_codes <= 0xFFFF ? 2 : 4;
    column.codes.assign(n_rows * column.width, std::byte{0xFF});  // missing until written
    switch (column.width) {
        case 1:
            write_codes<Float, std::uint8_t>(items, starts, n_codes, column);
            break;
        case 2:
            write_codes<Float, std::uint16_t>(items, starts, n_codes, column);
            break;
        default:
            write_codes<Float, std::uint32_t>(items, starts, n_codes, column);
            break;
    }
    return column;
}

// A column of two values needs no sorting. Nothing: it has fewer or more.
template <class Float>
std::optional<Column> code_two_values(const std::vector<Keyed<Bits<Float>>>& items, std::size_t n_rows) {
    const auto differs = [&](const auto& item) { return item.key != items[0].key; };
    const auto other = std::find_if(items.begin(), items.end(), differs);
    if (other == items.end()) {
        return {};
    }
    const auto [low, high] = std::minmax(items[0].key, other->key);
    Column column;
    column.codes.assign(n_rows, std::byte{0xFF});  // missing until written
    for (const auto& item : items) {
        if (item.key != low && item.key != high) {
            return {};
        }
        column.codes[item.row] = std::byte{item.key == high};
    }
    column.lows = Values(std::vector<Float>{unsortable<Float>(low), unsortable<Float>(high)});
    return column;
}

// Columns are read a few at a time, because neighbours share cache lines in a table that is stored row by row. Where
// threads are many, fewer: all shall have some.
constexpr std::size_t kColumnsAtOnce = 4;

template <class Float>
struct Sorter {
    using Items = std::vector<Keyed<Bits<Float>>>;
    std::array<Items, kColumnsAtOnce> columns;  // of each: the values that are present
    Items spare;
};

template <class Float>
void read_columns(const Matrix& x, std::size_t first, std::size_t n, Sorter<Float>& into) {
    for (std::size_t j = 0; j < n; ++j) {
        into.columns[j].clear();
        into.columns[j].reserve(x.n_rows);
    }
    for (std::size_t r = 0; r < x.n_rows; ++r) {
        for (std::size_t j = 0; j < n; ++j) {
            const Float value = x.at<Float>(r, first + j);
            if (value == value) {
                into.columns[j].push_back({sortable(value), static_cast<std::uint32_t>(r)});
            }
        }
    }
}

// `categorical` may be empty: no column is.
std::vector<Column> code_columns(const Matrix& x, const std::vector<bool>& categorical,
                                 const std::vector<std::uint8_t>& sampled, const std::vector<std::uint64_t>& line,
                                 std::uint32_t max_bins, Work& work) {
    std::vector<Column> columns(x.n_columns);
    const std::size_t for_each_thread = (x.n_columns + work.n_threads() - 1) / work.n_threads();
    const std::size_t at_once = std::min(kColumnsAtOnce, for_each_thread);
    const std::size_t n_groups = (x.n_columns + at_once - 1) / at_once;
    x.dispatch([&]<class Float>() {
        std::vector<Sorter<Float>> sorters(work.n_threads());
        work.run(n_groups, [&](std::size_t group, std::size_t thread) {
            const std::size_t first = group * at_once;
            const std::size_t n = std::min(at_once, x.n_columns - first);
            read_columns<Float>(x, first, n, sorters[thread]);
            for (std::size_t j = 0; j < n; ++j) {
                work.check();
                const bool is_categorical = !categorical.empty() && categorical[first + j];
                const std::uint32_t most = is_categorical ? 0 : max_bins;
                auto& items = sorters[thread].columns[j];
                std::optional<Column> column = most == 1 ? std::nullopt : code_two_values<Float>(items, x.n_rows);
                if (!column) {
                    radix_sort(items, sorters[thread].spare);
                    column = code_column<Float>(items, x.n_rows, sampled, line, most);
                }
                column->is_categorical = is_categorical;
                columns[first + j] = std::move(*column);
            }
        });
    });
    return columns;
}

// ---- Ranks

template <class T, class Source>
std::vector<T> by_rank(const Source& values, const std::vector<std::uint32_t>& positions) {
    std::vector<T> ranked(positions.size());
    std::transform(positions.begin(), positions.end(), ranked.begin(),
                   [&](std::uint32_t r) { return static_cast<T>(values[r]); });
    return ranked;
}

template <class Code>
void reorder_codes(Column& column, const std::vector<std::uint32_t>& positions) {
    std::vector<std::byte> ranked(column.codes.size());
    Code* to = reinterpret_cast<Code*>(ranked.data());
    const Code* from = column.as<Code>();
    for (std::size_t i = 0; i < positions.size(); ++i) {
        to[i] = from[positions[i]];
    }
    column.codes = std::move(ranked);
}

// Codes of a table that no cache holds are kept row by row, too, unless some have four bytes. Where a column is short
// enough for the cache next to the processor, rows far apart in it are near all the same.
constexpr std::size_t kHeldByCache = std::size_t{2} << 20;
constexpr std::size_t kShortColumn = std::size_t{64} << 10;  // bytes

template <class Code>
void write_row_codes(const Column& column, std::size_t begin, std::size_t end, std::uint16_t* to,
                     std::size_t row_length) {
    const Code* codes = column.as<Code>();
    for (std::size_t r = begin; r < end; ++r) {
        to[r * row_length] = codes[r] == std::numeric_limits<Code>::max() ? std::numeric_limits<std::uint16_t>::max()
                                                                          : static_cast<std::uint16_t>(codes[r]);
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
    const bool any_wide = std::any_of(columns.begin(), columns.end(), [](const Column* c) { return c->width == 4; });
    const std::size_t column_bytes = codes.n_rows * sizeof(std::uint16_t);
    if (any_wide || column_bytes <= kShortColumn || column_bytes * columns.size() <= kHeldByCache) {
        return;
    }
    constexpr std::size_t kTile = 256;  // rows whose codes stay in the first cache while all columns are written
    const std::size_t n_rows = codes.n_rows;
    codes.row_length = (columns.size() + 7) / 8 * 8;
    codes.rows.resize(n_rows * codes.row_length);
    work.run(n_blocks(n_rows), [&](std::size_t block, std::size_t) {
        const std::size_t last = std::min(n_rows, (block + 1) * kRowBlock);
        for (std::size_t begin = block * kRowBlock; begin < last; begin += kTile) {
            const std::size_t end = std::min(last, begin + kTile);
            for (std::size_t f = 0; f < columns.size(); ++f) {
                if (columns[f]->width == 1) {
                    write_row_codes<std::uint8_t>(*columns[f], begin, end, codes.rows.data() + f, codes.row_length);
                } else {
                    write_row_codes<std::uint16_t>(*columns[f], begin, end, codes.rows.data() + f, codes.row_length);
                }
            }
        }
    });
}

}  // namespace

ColumnBlocks::ColumnBlocks(std::span<const double> weights, bool whole, std::uint32_t max_bins)
    : line_(lay_line(weights, whole)), max_bins_(max_bins) {}

void ColumnBlocks::add(const Matrix& x, const std::vector<bool>& categorical, Work& work) {
    for (Column& column : code_columns(x, categorical, {}, line_, max_bins_, work)) {
        columns.push_back(std::move(column));
    }
}

Codes code_table(const Table& table, std::uint32_t max_bins, Work& work, std::vector<Column> columns) {
    const std::size_t n_rows = table.x.n_rows;
    const std::vector<std::uint64_t> line = lay_line(table.weights, table.weights_whole);
    std::vector<double> numbers(table.numbers.begin(), table.numbers.end());
    for (double& y : numbers) {
        y += 0.0;  // -0.0 becomes 0.0
    }
    const std::vector<std::uint64_t> targets = bits_of_targets(table);
    const std::vector<std::uint8_t> sampled =
        max_bins == 0 || !columns.empty() ? std::vector<std::uint8_t>{} : sample_rows(table, targets, line, work);

    Codes codes;
    codes.n_rows = static_cast<std::uint32_t>(n_rows);
    codes.n_classes = table.n_classes;
    codes.whole = table.weights_whole;
    codes.columns = !columns.empty() ? std::move(columns)
                    : table.by_column.is_empty()
                        ? code_columns(table.x, table.categorical, sampled, line, max_bins, work)
                        : code_sparse_columns(table.by_column, {n_rows, sampled, line, max_bins}, work);
    const std::vector<std::uint64_t> hashes = hash_rows(codes.columns, n_rows, work);
    codes.positions = table.n_classes ? rank_rows(hashes, table.classes, work)
                                      : rank_rows(hashes, std::span<const double>(numbers), work);
    work.run(codes.columns.size(), [&](std::size_t f, std::size_t) {
        work.check();
        switch (codes.columns[f].width) {
            case 1:
                reorder_codes<std::uint8_t>(codes.columns[f], codes.positions);
                break;
            case 2:
                reorder_codes<std::uint16_t>(codes.columns[f], codes.positions);
                break;
            default:
                reorder_codes<std::uint32_t>(codes.columns[f], codes.positions);
                break;
        }
    });
    if (table.by_column.is_empty()) {
        add_codes_by_row(codes, work);
    } else {
        codes.filled = list_filled(table.by_column, codes.columns, codes.positions, work);
    }
    if (table.n_classes) {
        codes.classes = by_rank<std::int32_t>(table.classes, codes.positions);
    } else {
        codes.numbers = by_rank<double>(numbers, codes.positions);
    }
    if (!table.weights.empty()) {
        codes.weights = by_rank<double>(table.weights, codes.positions);
        codes.line = by_rank<std::uint64_t>(line, codes.positions);
    }
    std::vector<RowPrint> prints(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) {
        const std::uint64_t weight = line.empty() ? 1 : line[r];
        prints[r] = {mix64(hashes[r] + mix64(targets[r])), weight};
        codes.line_length += weight;
        codes.fingerprint += weight * prints[r].print;
    }
    codes.design = make_design(table, prints, codes.positions);
    Freed().add(n_rows * sizeof(Keyed<std::uint64_t>) * kColumnsAtOnce);  // what was sorted
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
    if (codes.n_rows * codes.columns.size() * sizeof(std::uint16_t) <= kFewBytes) {
        add_codes_by_row(codes, work);
    }
    if (table.n_classes) {
        codes.classes = by_rank<std::int32_t>(table.classes, codes.positions);
    } else {
        codes.numbers = by_rank<double>(table.numbers, codes.positions);
    }
    codes.line_length = codes.n_rows;
    if (!table.weights.empty()) {
        codes.weights = by_rank<double>(table.weights, codes.positions);
        codes.line = lay_line(codes.weights, codes.whole);
        codes.line_length = std::accumulate(codes.line.begin(), codes.line.end(), std::uint64_t{0});
    }
    return codes;
}

}  // namespace weald
