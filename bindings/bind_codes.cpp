// Tables whose columns were coded elsewhere, for example in parts.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.h"
#include "base/by_column.h"
#include "base/require.h"
#include "coding/codes.h"
#include "coding/cuts.h"
#include "coding/data_hash.h"
#include "coding/distinct_values.h"

namespace weald {

using namespace nb::literals;

namespace {

using AnyCodes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyFloats = AnyCodes;  // integers of four or eight bytes
using Words2D = nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Codes of one, two or four bytes, as consecutive pieces; the smallest value of each, and whether they are categories.
using CodedColumn = std::tuple<std::vector<AnyCodes>, AnyFloats, bool>;

// Runs task(i) for all i below n, on several threads if there are several. Does not need the GIL and does not check for
// signals: these are short steps.
template <class Task>
void do_each(std::size_t n, std::size_t n_threads, const Task& task) {
    if (n < 2 || n_threads < 2) {
        for (std::size_t i = 0; i < n; ++i) {
            task(i);
        }
        return;
    }
    Work(std::min(n, n_threads), [](double) {}).run(n, [&](std::size_t i, std::size_t /*thread*/) { task(i); });
}

template <class Code>
void check_codes(const Column& column, std::size_t n_rows) {
    const Code* codes = column.as<Code>();
    constexpr Code kMissing = static_cast<Code>(~Code{0});
    require(std::all_of(codes, codes + n_rows, [&](Code c) { return c == kMissing || c < column.lows.size(); }),
            "a code has no values");
}

Values values_of(const AnyFloats& given) {
    const auto copied = [&]<class Float>() {
        const auto* first = static_cast<const Float*>(given.data());
        return Values(std::vector<Float>(first, first + given.size()));
    };
    if (given.dtype() == nb::dtype<float>()) {
        return copied.operator()<float>();
    }
    require(given.dtype() == nb::dtype<double>(), "values must be float32 or float64");
    return copied.operator()<double>();
}

// Does not need the GIL.
Column column_of(const CodedColumn& given, std::size_t n_rows, CodeRoom& room) {
    const auto& [pieces, lows, is_categorical] = given;
    require(!pieces.empty(), "a column has no codes");
    const auto type = pieces.front().dtype();
    require(
        type == nb::dtype<std::uint8_t>() || type == nb::dtype<std::uint16_t>() || type == nb::dtype<std::uint32_t>(),
        "codes must be uint8, uint16 or uint32");
    Column column;
    column.width = static_cast<std::uint8_t>(type.bits / 8);
    const std::size_t n_bytes = n_rows * column.width;
    column.codes = room.take(n_bytes);
    std::size_t place = 0;
    for (const AnyCodes& piece : pieces) {
        require(piece.dtype() == type && place + piece.nbytes() <= n_bytes,
                "the pieces of a column and the rows differ in length");
        std::memcpy(column.codes.get() + place, piece.data(), piece.nbytes());
        place += piece.nbytes();
    }
    require(place == n_bytes, "the pieces of a column and the rows differ in length");
    column.lows = values_of(lows);
    column.is_categorical = is_categorical;
    switch (column.width) {
        case 1:
            check_codes<std::uint8_t>(column, n_rows);
            break;
        case 2:
            check_codes<std::uint16_t>(column, n_rows);
            break;
        default:
            check_codes<std::uint32_t>(column, n_rows);
            break;
    }
    return column;
}

// Indices of groups or strata: one per row, all below the number of rows; or empty.
bool suit_rows(std::span<const std::int32_t> numbers, std::size_t n_rows) {
    const auto is_within = [&](std::int32_t k) { return k >= 0 && static_cast<std::size_t>(k) < n_rows; };
    return numbers.empty() || (numbers.size() == n_rows && std::all_of(numbers.begin(), numbers.end(), is_within));
}

Codes bind_rank_table(const std::vector<CodedColumn>& columns, const std::optional<Vector<std::int32_t>>& classes,
                      const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                      const std::optional<Vector<double>>& weights, bool weights_whole, std::size_t n_threads,
                      const nb::object& watch, const std::optional<Vector<std::int32_t>>& strata,
                      const std::optional<Vector<std::int32_t>>& groups, std::optional<std::uint64_t> values) {
    Table table{{},
                span_or_nothing(classes),
                span_or_nothing(numbers),
                n_classes,
                span_or_nothing(weights),
                weights_whole,
                span_or_nothing(strata),
                span_or_nothing(groups)};
    const std::size_t n_rows = table.task() == Task::classification ? table.classes.size() : table.numbers.size();
    require(n_rows > 0 && n_rows <= 0x7FFFFFFFu && !columns.empty(), "the table is empty or too long");
    require(table.weights.empty() || table.weights.size() == n_rows, "target and weights differ in length");
    require(std::all_of(table.classes.begin(), table.classes.end(),
                        [&](std::int32_t k) { return k >= 0 && static_cast<std::uint32_t>(k) < n_classes; }),
            "a class is out of range");
    require(suit_rows(table.strata, n_rows) && suit_rows(table.groups, n_rows),
            "groups or strata and rows differ in number");
    table.x.n_rows = n_rows;
    table.x.n_columns = columns.size();
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    std::vector<Column> copied(columns.size());
    CodeRoom room(n_rows * sizeof(std::uint32_t), columns.size());
    work.run(columns.size(),
             [&](std::size_t f, std::size_t /*thread*/) { copied[f] = column_of(columns[f], n_rows, room); });
    Codes codes = code_table(table, 0, work, {std::move(copied), {}});
    codes.values = values;
    return codes;
}

void bind_give_values(Codes& codes, std::size_t feature, const AnyFloats& lows, const AnyFloats& highs) {
    require(feature < codes.columns.size(), "a feature is out of range");
    Column& column = codes.columns[feature];
    require(lows.size() == column.lows.size() && highs.size() == lows.size(), "each code needs two values");
    column.lows = values_of(lows);
    column.highs = values_of(highs);
}

// ---- Cuts

using ColumnArray = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t kRowsAtOnce = 4096;  // rows of a table that is read row by row

std::size_t count_blocks(std::size_t n_rows) {
    return (n_rows + kRowsAtOnce - 1) / kRowsAtOnce;
}

template <class Float>
void store_pieces(const std::vector<Matrix>& pieces, std::size_t n_rows, std::size_t n_threads, Float* columns) {
    struct Rows {
        const Matrix* piece;
        std::size_t begin, first;
    };
    std::vector<Rows> blocks;
    std::size_t first = 0;
    for (const Matrix& piece : pieces) {
        for (std::size_t block = 0; block < count_blocks(piece.n_rows); ++block) {
            blocks.push_back({&piece, block * kRowsAtOnce, first});
        }
        first += piece.n_rows;
    }
    do_each(blocks.size(), n_threads, [&](std::size_t i) {
        const auto [piece, begin, before] = blocks[i];
        store_by_column(*piece, begin, std::min(begin + kRowsAtOnce, piece->n_rows), columns, n_rows, before);
    });
}

void bind_store_by_column(const std::vector<Table2D>& given, const ColumnArray& columns, std::size_t n_threads) {
    std::vector<Matrix> pieces;
    std::size_t n_rows = 0;
    bool suit = true;
    for (const Table2D& piece : given) {
        pieces.push_back(matrix_of(piece));
        n_rows += pieces.back().n_rows;
        suit &= pieces.back().n_columns == columns.shape(0);
    }
    require(suit && n_rows == columns.shape(1), "the pieces and the columns differ in number");
    const nb::gil_scoped_release release;
    if (columns.dtype() == nb::dtype<double>()) {
        store_pieces(pieces, n_rows, n_threads, static_cast<double*>(columns.data()));
    } else {
        require(columns.dtype() == nb::dtype<float>(), "columns must contain float32 or float64");
        store_pieces(pieces, n_rows, n_threads, static_cast<float*>(columns.data()));
    }
}

NumpyVector<std::uint64_t> bind_hash_values(const Table2D& x, const Vector<std::uint64_t>& targets,
                                            std::size_t n_threads) {
    const Matrix matrix = matrix_of(x);
    require(targets.size() == matrix.n_rows, "x and targets differ in length");
    std::vector<std::uint64_t> hashes(matrix.n_rows);
    {
        const nb::gil_scoped_release release;
        do_each(count_blocks(hashes.size()), n_threads, [&](std::size_t block) {
            const std::size_t begin = block * kRowsAtOnce;
            hash_values(matrix, span_of(targets), begin, std::min(hashes.size(), begin + kRowsAtOnce), hashes);
        });
    }
    return to_numpy(std::move(hashes));
}

// The product of the rows of a data hash: a number of 384 bytes, lowest first.
nb::bytes bind_row_product(const Table2D& x, const Words2D& more, const std::optional<Vector<std::uint64_t>>& copies,
                           std::size_t n_threads) {
    static_assert(std::endian::native == std::endian::little);
    const Matrix matrix = matrix_of(x);
    require(more.shape(0) == matrix.n_rows, "x and the words of the rows differ in length");
    require(!copies || copies->size() == matrix.n_rows, "x and copies differ in length");
    const RowWords words{{more.data(), more.size()}, more.shape(1)};
    std::vector<RowProduct> products(count_blocks(matrix.n_rows));
    RowProduct product = kEmptyProduct;
    {
        const nb::gil_scoped_release release;
        do_each(products.size(), n_threads, [&](std::size_t block) {
            const std::size_t begin = block * kRowsAtOnce;
            const std::size_t end = std::min(matrix.n_rows, begin + kRowsAtOnce);
            products[block] = product_of(matrix, words, span_or_nothing(copies), begin, end);
        });
        for (const RowProduct& of_block : products) {
            multiply(product, of_block);
        }
    }
    return nb::bytes(product.data(), sizeof product);
}

// Integers in as few bytes as they need.
using Narrow = std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>,
                            std::vector<std::uint64_t>>;

Narrow narrow(std::vector<std::uint64_t> numbers) {
    const std::uint64_t largest = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
    const auto as = [&]<class T>() { return std::vector<T>(numbers.begin(), numbers.end()); };
    if (largest <= 0xFF) {
        return as.operator()<std::uint8_t>();
    }
    if (largest <= 0xFFFF) {
        return as.operator()<std::uint16_t>();
    }
    if (largest <= 0xFFFFFFFF) {
        return as.operator()<std::uint32_t>();
    }
    return numbers;
}

nb::object narrow_array(Narrow numbers) {
    return std::visit([](auto& of_some_width) { return nb::cast(to_numpy(std::move(of_some_width))); }, numbers);
}

// Columns are passed together, so that Python threads do not wait for the GIL at each of them.
void require_columns(const Matrix& x, const std::vector<std::size_t>& columns) {
    require(std::all_of(columns.begin(), columns.end(), [&](std::size_t f) { return f < x.n_columns; }),
            "there is no such column");
}

nb::list bind_weigh_values(const Table2D& x, const std::vector<std::size_t>& columns,
                           const std::optional<Vector<std::uint32_t>>& rows,
                           const std::optional<Vector<std::uint64_t>>& lengths, std::size_t n_threads) {
    const Matrix matrix = matrix_of(x);
    const auto of_rows = span_or_nothing(rows);
    require_columns(matrix, columns);
    require(matrix.n_rows <= 0xFFFFFFFFu, "the table is too long");
    require(!lengths || lengths->size() == matrix.n_rows, "x and lengths differ in length");
    require(std::all_of(of_rows.begin(), of_rows.end(), [&](std::uint32_t r) { return r < matrix.n_rows; }),
            "there is no such row");
    return matrix.dispatch([&]<class Float>() {
        std::vector<std::pair<std::vector<Float>, Narrow>> found(columns.size());
        if (!rows || rows->size() > 0) {
            const nb::gil_scoped_release release;
            do_each(columns.size(), n_threads, [&](std::size_t i) {
                auto weighed = weigh_values<Float>(matrix, columns[i], of_rows, span_or_nothing(lengths));
                found[i] = {std::move(weighed.values), narrow(std::move(weighed.weights))};
            });
        }
        nb::list told;
        for (auto& [values, weights] : found) {
            told.append(nb::make_tuple(to_numpy(std::move(values)), narrow_array(std::move(weights))));
        }
        return told;
    });
}

NumpyVector<double> bind_cut_quantiles(const Vector<double>& values, const Vector<std::uint64_t>& weights,
                                       std::uint32_t max_bins) {
    require(values.size() == weights.size() && max_bins > 0, "values and weights differ in length");
    std::vector<double> starts;
    {
        const nb::gil_scoped_release release;
        starts = cut_quantiles(span_of(values), span_of(weights), max_bins);
    }
    return to_numpy(std::move(starts));
}

// Values in ascending order and their weights, of one to eight bytes each, of one part.
using WeighedPiece = std::pair<AnyFloats, AnyCodes>;

template <class Float>
void append_values(std::vector<Float>& all, const AnyFloats& piece) {
    if (piece.dtype() == nb::dtype<float>()) {
        const auto* first = static_cast<const float*>(piece.data());
        all.insert(all.end(), first, first + piece.size());
    } else {
        require(piece.dtype() == nb::dtype<double>(), "values must be float32 or float64");
        const auto* first = static_cast<const double*>(piece.data());
        std::transform(first, first + piece.size(), std::back_inserter(all),
                       [](double value) { return static_cast<Float>(value); });
    }
}

void append_weights(std::vector<std::uint64_t>& all, const AnyCodes& piece) {
    const auto append = [&]<class Weight>() {
        const auto* first = static_cast<const Weight*>(piece.data());
        all.insert(all.end(), first, first + piece.size());
    };
    if (piece.dtype() == nb::dtype<std::uint8_t>()) {
        append.operator()<std::uint8_t>();
    } else if (piece.dtype() == nb::dtype<std::uint16_t>()) {
        append.operator()<std::uint16_t>();
    } else if (piece.dtype() == nb::dtype<std::uint32_t>()) {
        append.operator()<std::uint32_t>();
    } else {
        require(piece.dtype() == nb::dtype<std::uint64_t>(), "weights must be whole numbers");
        append.operator()<std::uint64_t>();
    }
}

struct CutColumn {
    std::variant<std::vector<float>, std::vector<double>> starts;
    bool is_few;  // distinct values: at most the maximum number of codes
};

template <class Float>
CutColumn cut_pieces(const std::vector<WeighedPiece>& pieces, std::uint32_t max_bins, bool keep_few) {
    std::vector<Float> values;
    std::vector<std::uint64_t> lengths;
    for (const auto& [of_piece, weights] : pieces) {
        append_values(values, of_piece);
        append_weights(lengths, weights);
    }
    require(values.size() == lengths.size(), "values and weights differ in length");
    require(values.size() <= 0xFFFFFFFFu, "the column is too long");
    const Matrix column{reinterpret_cast<const std::byte*>(values.data()),
                        values.size(),
                        1,
                        sizeof(Float),
                        0,
                        std::is_same_v<Float, double>};
    WeighedValues<Float> weighed = weigh_values<Float>(column, 0, {}, lengths);
    const bool is_few = max_bins == 0 || weighed.values.size() <= max_bins;
    if (is_few && keep_few) {
        return {std::move(weighed.values), is_few};
    }
    const std::vector<double> distinct(weighed.values.begin(), weighed.values.end());
    const std::vector<double> starts = cut_quantiles(distinct, weighed.weights, max_bins);
    return {std::vector<Float>(starts.begin(), starts.end()), is_few};  // each is a value of the column
}

nb::list bind_cut_columns(const std::vector<std::vector<WeighedPiece>>& columns, std::uint32_t max_bins, bool keep_few,
                          std::size_t n_threads) {
    require(max_bins > 0 || keep_few, "a column needs at least one code");
    std::vector<CutColumn> cut(columns.size());
    {
        const nb::gil_scoped_release release;
        do_each(columns.size(), n_threads, [&](std::size_t i) {
            const bool light = std::all_of(columns[i].begin(), columns[i].end(), [](const WeighedPiece& piece) {
                return piece.first.dtype() == nb::dtype<float>();
            });
            cut[i] = light ? cut_pieces<float>(columns[i], max_bins, keep_few)
                           : cut_pieces<double>(columns[i], max_bins, keep_few);
        });
    }
    nb::list told;
    for (CutColumn& column : cut) {
        told.append(std::visit([&](auto& starts) { return nb::make_tuple(to_numpy(std::move(starts)), column.is_few); },
                               column.starts));
    }
    return told;
}

Narrow code_narrowly(const Matrix& x, std::size_t column, const AnyFloats& given) {
    const Values values = values_of(given);
    std::vector<double> starts(values.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
        starts[i] = values[i];
    }
    const auto as = [&]<class Code>() {
        std::vector<Code> codes(x.n_rows);
        code_values<Code>(x, column, starts, codes);
        return codes;
    };
    if (starts.size() <= 0xFF) {
        return as.operator()<std::uint8_t>();
    }
    if (starts.size() <= 0xFFFF) {
        return as.operator()<std::uint16_t>();
    }
    return as.operator()<std::uint32_t>();
}

nb::list bind_code_values(const Table2D& x, const std::vector<std::size_t>& columns,
                          const std::vector<AnyFloats>& starts, std::size_t n_threads) {
    const Matrix matrix = matrix_of(x);
    require_columns(matrix, columns);
    require(columns.size() == starts.size(), "each column has starts");
    std::vector<Narrow> coded(columns.size());
    {
        const nb::gil_scoped_release release;
        do_each(columns.size(), n_threads,
                [&](std::size_t i) { coded[i] = code_narrowly(matrix, columns[i], starts[i]); });
    }
    nb::list told;
    for (Narrow& column : coded) {
        told.append(narrow_array(std::move(column)));
    }
    return told;
}

template <class Float>
Highs<Float> find_highs_of(const Matrix& x, std::size_t column, const AnyCodes& codes, std::size_t n_codes) {
    const auto find = [&]<class Code>() {
        const std::span<const Code> of_rows(static_cast<const Code*>(codes.data()), codes.size());
        constexpr Code kMissing = static_cast<Code>(~Code{0});
        require(std::all_of(of_rows.begin(), of_rows.end(), [&](Code c) { return c == kMissing || c < n_codes; }),
                "a code has no values");
        return find_highs<Float, Code>(x, column, of_rows, n_codes);
    };
    return codes.dtype() == nb::dtype<std::uint8_t>()    ? find.template operator()<std::uint8_t>()
           : codes.dtype() == nb::dtype<std::uint16_t>() ? find.template operator()<std::uint16_t>()
                                                         : find.template operator()<std::uint32_t>();
}

nb::list bind_find_highs(const Table2D& x, const std::vector<std::size_t>& columns, const std::vector<AnyCodes>& codes,
                         const std::vector<std::size_t>& n_codes, std::size_t n_threads) {
    const Matrix matrix = matrix_of(x);
    require_columns(matrix, columns);
    require(columns.size() == codes.size() && columns.size() == n_codes.size(), "each column has codes");
    require(std::all_of(codes.begin(), codes.end(), [&](const AnyCodes& c) { return c.size() == matrix.n_rows; }),
            "the codes do not suit the table");
    return matrix.dispatch([&]<class Float>() {
        std::vector<Highs<Float>> found(columns.size());
        {
            const nb::gil_scoped_release release;
            do_each(columns.size(), n_threads,
                    [&](std::size_t i) { found[i] = find_highs_of<Float>(matrix, columns[i], codes[i], n_codes[i]); });
        }
        nb::list told;
        for (Highs<Float>& highs : found) {
            told.append(nb::make_tuple(to_numpy(std::move(highs.of_code)), static_cast<double>(highs.least)));
        }
        return told;
    });
}

}  // namespace

void bind_codes(nb::module_& module) {
    module.def(
        "rank_table", &bind_rank_table, "columns"_a, "classes"_a.none(), "numbers"_a.none(), "n_classes"_a,
        "weights"_a.none(), "weights_whole"_a, "n_threads"_a, "watch"_a.none(), "strata"_a.none() = nb::none(),
        "groups"_a.none() = nb::none(), "values"_a.none() = nb::none(),
        "Rank the rows of a table of coded columns: (pieces of codes by row, smallest value of each code, whether "
        "they are categories). `values` is the fingerprint of the values.");
    module.def("give_values", &bind_give_values, "codes"_a, "feature"_a, "lows"_a, "highs"_a,
               "Set the smallest and the largest value of each code of a feature.");
    module.def("store_by_column", &bind_store_by_column, "pieces"_a, "columns"_a.noconvert(), "n_threads"_a = 1,
               "Write the columns of pieces of a table, one below the other, into an array of columns.");
    module.def("hash_values", &bind_hash_values, "x"_a, "targets"_a, "n_threads"_a = 1,
               "Hashes of rows by their values and the bits of their targets.");
    module.def("row_product", &bind_row_product, "x"_a, "more"_a, "copies"_a.none() = nb::none(), "n_threads"_a = 1,
               "The multiset hash of rows: the product of their numbers modulo 2^3072 - 1103717, as 384 bytes, lowest "
               "first. `more`: words that are hashed with each row (rows x words); `copies`: how often each counts.");
    module.def("weigh_values", &bind_weigh_values, "x"_a, "columns"_a, "rows"_a.none(), "lengths"_a.none(),
               "n_threads"_a = 1,
               "Distinct values of some columns in some rows, ascending and without missing values, and their "
               "weights in the smallest type.");
    module.def("cut_quantiles", &bind_cut_quantiles, "values"_a, "weights"_a, "max_bins"_a,
               "The smallest value of each code, from ascending distinct values and their weights.");
    module.def("cut_columns", &bind_cut_columns, "columns"_a, "max_bins"_a, "keep_few"_a, "n_threads"_a = 1,
               "Cut columns whose distinct values and weights come from several parts: the smallest value of each "
               "code, and whether there are at most as many distinct values as codes. With `keep_few`, each of those "
               "is a code.");
    module.def("code_values", &bind_code_values, "x"_a, "columns"_a, "starts"_a, "n_threads"_a = 1,
               "Codes of some columns, by the smallest value of each code, in the smallest type.");
    module.def("find_highs", &bind_find_highs, "x"_a, "columns"_a, "codes"_a, "n_codes"_a, "n_threads"_a = 1,
               "For some columns: the largest value of each code in these rows, and the smallest value of all rows.");
}

}  // namespace weald
