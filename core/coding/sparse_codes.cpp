#include "coding/sparse_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace weald {

namespace {

constexpr std::uint64_t kNanBits = 0x7FF8000000000000u;

struct Entry {
    double value;
    std::uint32_t row;
};

// The stored values of a column.
struct SparseParts {
    std::vector<Entry> entries;          // values other than zero, ascending
    std::vector<std::uint32_t> missing;  // rows
    std::size_t n_zero = 0;
    std::uint64_t zero_weight = 0;  // number of sampled rows that are zero
};

// A distinct value and the weight of its sampled rows.
struct Weighed {
    double value;
    std::uint64_t weight;
};

std::uint64_t weight_of(const SparseCoding& coding, std::uint32_t row) {
    return !coding.sampled.empty() && !coding.sampled[row] ? 0 : coding.line.empty() ? 1 : coding.line[row];
}

SparseParts take_apart(const Sparse& columns, std::size_t f, const SparseCoding& coding, std::uint64_t total) {
    SparseParts parts;
    parts.zero_weight = total;
    parts.n_zero = coding.n_rows;
    for (auto i = static_cast<std::size_t>(columns.starts[f]); i < static_cast<std::size_t>(columns.starts[f + 1]);
         ++i) {
        const auto row = static_cast<std::uint32_t>(columns.places[i]);
        const double value = columns.values[i];
        if (value == 0) {
            continue;
        }
        --parts.n_zero;
        parts.zero_weight -= weight_of(coding, row);
        if (std::isnan(value)) {
            parts.missing.push_back(row);
        } else {
            parts.entries.push_back({value, row});
        }
    }
    std::sort(parts.entries.begin(), parts.entries.end(),
              [](const Entry& a, const Entry& b) { return a.value < b.value; });
    return parts;
}

std::vector<Weighed> list_values(const SparseParts& parts, const SparseCoding& coding) {
    std::vector<Weighed> values;
    const auto add = [&](double value, std::uint64_t weight) {
        if (values.empty() || values.back().value != value) {
            values.push_back({value, 0});
        }
        values.back().weight += weight;
    };
    bool zero_is_due = parts.n_zero > 0;
    for (const Entry& entry : parts.entries) {
        if (zero_is_due && entry.value > 0) {
            add(0.0, parts.zero_weight);
            zero_is_due = false;
        }
        add(entry.value, weight_of(coding, entry.row));
    }
    if (zero_is_due) {
        add(0.0, parts.zero_weight);
    }
    return values;
}

// The smallest value of each code: closes a code when its weight times the codes left reaches the weight left at its
// start.
std::vector<double> cut_quantiles(const std::vector<Weighed>& values, std::uint32_t max_bins) {
    __extension__ using Wide = unsigned __int128;
    std::uint64_t weight_left = 0;
    for (const Weighed& v : values) {
        weight_left += v.weight;
    }
    std::vector<double> starts;
    std::uint64_t inside = 0;
    std::uint64_t at_start = 0;
    for (const Weighed& v : values) {
        if (v.weight == 0) {
            continue;  // not sampled
        }
        if (inside == 0) {
            starts.push_back(v.value);
            at_start = weight_left;
        }
        inside += v.weight;
        weight_left -= v.weight;
        if (static_cast<Wide>(inside) * (max_bins - starts.size() + 1) >= at_start) {
            inside = 0;
        }
    }
    if (starts.empty()) {
        starts.push_back(values[0].value);
    }
    return starts;
}

// The code of each distinct value.
std::vector<std::uint32_t> number_values(const std::vector<Weighed>& values, std::uint32_t max_bins) {
    std::vector<std::uint32_t> codes(values.size());
    std::vector<double> starts;
    if (max_bins != 0 && values.size() > max_bins) {
        starts = cut_quantiles(values, max_bins);
    }
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (starts.empty()) {
            code = static_cast<std::uint32_t>(i);
        }
        while (code + 1 < starts.size() && starts[code + 1] <= values[i].value) {
            ++code;
        }
        codes[i] = code;
    }
    return codes;
}

template <class Code>
void write_codes(const SparseParts& parts, const std::vector<Weighed>& values, const std::vector<std::uint32_t>& codes,
                 std::size_t n_rows, Column& column) {
    Code* to = reinterpret_cast<Code*>(column.codes.get());
    const auto zero =
        std::lower_bound(values.begin(), values.end(), 0.0, [](const Weighed& v, double x) { return v.value < x; });
    if (zero != values.end() && parts.n_zero > 0) {
        std::fill_n(to, n_rows, static_cast<Code>(codes[static_cast<std::size_t>(zero - values.begin())]));
    }
    std::size_t i = 0;
    for (const Entry& entry : parts.entries) {
        while (values[i].value != entry.value) {
            ++i;
        }
        to[entry.row] = static_cast<Code>(codes[i]);
    }
    for (const std::uint32_t row : parts.missing) {
        to[row] = std::numeric_limits<Code>::max();
    }
}

Column code_column(const SparseParts& parts, const SparseCoding& coding) {
    const std::vector<Weighed> values = list_values(parts, coding);
    const std::vector<std::uint32_t> codes = number_values(values, coding.max_bins);
    const std::size_t n_codes = codes.empty() ? 0 : codes.back() + 1;
    Column column;
    column.width = n_codes <= 0xFF ? 1 : n_codes <= 0xFFFF ? 2 : 4;
    column.codes = std::make_shared<std::byte[]>(coding.n_rows * column.width);
    std::vector<double> lows;
    std::vector<double> highs;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (codes[i] == lows.size()) {
            lows.push_back(values[i].value);
            highs.push_back(values[i].value);
        }
        highs[codes[i]] = values[i].value;
    }
    column.highs = Values(n_codes == values.size() ? std::vector<double>{} : std::move(highs));
    column.lows = Values(std::move(lows));
    switch (column.width) {
        case 1:
            write_codes<std::uint8_t>(parts, values, codes, coding.n_rows, column);
            break;
        case 2:
            write_codes<std::uint16_t>(parts, values, codes, coding.n_rows, column);
            break;
        default:
            write_codes<std::uint32_t>(parts, values, codes, coding.n_rows, column);
            break;
    }
    return column;
}

}  // namespace

std::vector<Column> code_sparse_columns(const Sparse& by_column, const SparseCoding& coding, Work& work) {
    std::uint64_t total = 0;
    for (std::uint32_t r = 0; r < coding.n_rows; ++r) {
        total += weight_of(coding, r);
    }
    std::vector<Column> columns(by_column.starts.size() - 1);
    constexpr std::size_t kAtOnce = 16;  // columns of a task
    work.run((columns.size() + kAtOnce - 1) / kAtOnce, [&](std::size_t task, std::size_t) {
        work.check();
        for (std::size_t f = task * kAtOnce; f < std::min(columns.size(), (task + 1) * kAtOnce); ++f) {
            columns[f] = code_column(take_apart(by_column, f, coding, total), coding);
        }
    });
    return columns;
}

LargeVector<std::uint64_t> hash_sparse_rows(const Sparse& by_column, std::span<const std::uint64_t> targets) {
    LargeVector<std::uint64_t> hashes(targets.size(), 0);
    std::uint64_t of_zeros = 0;
    for (std::size_t f = 0; f + 1 < by_column.starts.size(); ++f) {
        const std::uint64_t salt = mix64(f + 1);
        const std::uint64_t of_zero = mix64(salt);  // the bits of 0.0 are 0
        of_zeros += of_zero;
        for (auto i = static_cast<std::size_t>(by_column.starts[f]);
             i < static_cast<std::size_t>(by_column.starts[f + 1]); ++i) {
            const double value = by_column.values[i];
            const std::uint64_t bits = std::isnan(value) ? kNanBits : std::bit_cast<std::uint64_t>(value + 0.0);
            hashes[static_cast<std::size_t>(by_column.places[i])] += mix64(bits + salt) - of_zero;
        }
    }
    for (std::size_t r = 0; r < hashes.size(); ++r) {
        hashes[r] = mix64(hashes[r] + of_zeros + mix64(targets[r]));
    }
    return hashes;
}

namespace {

template <class Code>
std::uint32_t read_code(const Column& column, std::uint32_t rank) {
    const Code code = column.as<Code>()[rank];
    return code == std::numeric_limits<Code>::max() ? ~std::uint32_t{0} : code;
}

std::uint32_t code_at(const Column& column, std::uint32_t rank) {
    return column.width == 1   ? read_code<std::uint8_t>(column, rank)
           : column.width == 2 ? read_code<std::uint16_t>(column, rank)
                               : read_code<std::uint32_t>(column, rank);
}

// The code of rows that a column does not list; 0 if it lists all of them.
std::uint32_t code_of_zero(const Column& column, std::span<const Filled::Cell> cells, std::size_t n_rows) {
    std::uint32_t rank = 0;
    for (const Filled::Cell& cell : cells) {
        if (cell.rank != rank) {
            break;
        }
        ++rank;
    }
    return rank < n_rows ? code_at(column, rank) : 0;
}

}  // namespace

Filled list_filled(const Sparse& by_column, const std::vector<Column>& columns,
                   const std::vector<std::uint32_t>& positions, Work& work) {
    std::vector<std::uint32_t> rank_of(positions.size());
    for (std::uint32_t rank = 0; rank < positions.size(); ++rank) {
        rank_of[positions[rank]] = rank;
    }
    Filled filled;
    filled.column_starts.assign(by_column.starts.begin(), by_column.starts.end());
    filled.cells.resize(by_column.places.size());
    filled.zero_codes.resize(columns.size());
    work.run(columns.size(), [&](std::size_t f, std::size_t) {
        Filled::Cell* cells = filled.cells.data() + filled.column_starts[f];
        const std::size_t n = filled.column_starts[f + 1] - filled.column_starts[f];
        for (std::size_t i = 0; i < n; ++i) {
            cells[i].rank = rank_of[static_cast<std::size_t>(by_column.places[filled.column_starts[f] + i])];
        }
        std::sort(cells, cells + n, [](const auto& a, const auto& b) { return a.rank < b.rank; });
        for (std::size_t i = 0; i < n; ++i) {
            cells[i].code = code_at(columns[f], cells[i].rank);
        }
        filled.zero_codes[f] = code_of_zero(columns[f], {cells, n}, positions.size());
    });
    filled.row_starts.resize(positions.size() + 1);
    for (const Filled::Cell& cell : filled.cells) {
        ++filled.row_starts[cell.rank + 1];
    }
    for (std::size_t rank = 0; rank < positions.size(); ++rank) {
        filled.row_starts[rank + 1] += filled.row_starts[rank];
    }
    filled.features.resize(filled.cells.size());
    filled.row_codes.resize(filled.cells.size());
    std::vector<std::uint64_t> next(filled.row_starts.begin(), filled.row_starts.end() - 1);
    for (std::uint32_t f = 0; f < columns.size(); ++f) {
        for (const Filled::Cell& cell : filled.cells_of(f)) {
            const std::uint64_t i = next[cell.rank]++;
            filled.features[i] = f;
            filled.row_codes[i] = cell.code;
        }
    }
    return filled;
}

}  // namespace weald
