// Tables whose columns were coded elsewhere, for example part by part.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "codes.h"
#include "cuts.h"
#include "weighing.h"

namespace weald {

using namespace nb::literals;

namespace {

using AnyCodes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Codes of one, two or four bytes, in pieces one behind the other; the smallest and the largest value of each, and
// whether they are categories.
using CodedColumn = std::tuple<std::vector<AnyCodes>, Vector<double>, Vector<double>, bool>;

void require(bool condition, const char* what) {
    if (!condition) {
        throw std::invalid_argument(what);
    }
}

template <class Code>
void check_codes(const Column& column, std::size_t n_rows) {
    const Code* codes = column.as<Code>();
    constexpr Code kMissing = static_cast<Code>(~Code{0});
    require(std::all_of(codes, codes + n_rows, [&](Code c) { return c == kMissing || c < column.lows.size(); }),
            "a code has no values");
}

Column column_of(const CodedColumn& given, std::size_t n_rows, CodeRoom& room) {
    const auto& [pieces, lows, highs, is_categorical] = given;
    require(!pieces.empty() && lows.size() == highs.size(), "the parts of a column differ in length");
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
                "the pieces of a column do not suit the rows");
        std::memcpy(column.codes.get() + place, piece.data(), piece.nbytes());
        place += piece.nbytes();
    }
    require(place == n_bytes, "the pieces of a column do not suit the rows");
    column.lows = Values(std::vector<double>(lows.data(), lows.data() + lows.size()));
    column.highs = Values(std::vector<double>(highs.data(), highs.data() + highs.size()));
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

template <class T>
std::span<const T> span_or_nothing(const std::optional<Vector<T>>& array) {
    return array ? span_of(*array) : std::span<const T>{};
}

// Numbers of groups or strata: one for each row, none beyond the rows; or there are none.
bool suit_rows(std::span<const std::int32_t> numbers, std::size_t n_rows) {
    const auto is_within = [&](std::int32_t k) { return k >= 0 && static_cast<std::size_t>(k) < n_rows; };
    return numbers.empty() || (numbers.size() == n_rows && std::all_of(numbers.begin(), numbers.end(), is_within));
}

Codes bind_rank_table(const std::vector<CodedColumn>& columns, const std::optional<Vector<std::int32_t>>& classes,
                      const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                      const std::optional<Vector<double>>& weights, bool weights_whole, std::size_t n_threads,
                      const nb::object& watch, const std::optional<Vector<std::int32_t>>& strata,
                      const std::optional<Vector<std::int32_t>>& groups) {
    Table table{{},
                span_or_nothing(classes),
                span_or_nothing(numbers),
                n_classes,
                span_or_nothing(weights),
                weights_whole,
                span_or_nothing(strata),
                span_or_nothing(groups)};
    const std::size_t n_rows = n_classes != 0 ? table.classes.size() : table.numbers.size();
    require(n_rows > 0 && n_rows <= 0x7FFFFFFFu && !columns.empty(), "the table is empty or too long");
    require(table.weights.empty() || table.weights.size() == n_rows, "target and weights differ in length");
    require(std::all_of(table.classes.begin(), table.classes.end(),
                        [&](std::int32_t k) { return k >= 0 && static_cast<std::uint32_t>(k) < n_classes; }),
            "a class is out of range");
    require(suit_rows(table.strata, n_rows) && suit_rows(table.groups, n_rows),
            "numbers of groups or strata do not suit the rows");
    table.x.n_rows = n_rows;
    table.x.n_columns = columns.size();
    std::vector<Column> copied;
    copied.reserve(columns.size());
    CodeRoom room(n_rows * sizeof(std::uint32_t), columns.size());
    for (const CodedColumn& column : columns) {
        copied.push_back(column_of(column, n_rows, room));
    }
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    return code_table(table, 0, work, std::move(copied));
}

// ---- Cuts

NumpyVector<std::uint64_t> bind_hash_values(const Table2D& x, const Vector<std::uint64_t>& targets) {
    const Matrix matrix = matrix_of(x);
    require(targets.size() == matrix.n_rows, "x and targets differ in length");
    std::vector<std::uint64_t> hashes(matrix.n_rows);
    {
        const nb::gil_scoped_release release;
        constexpr std::size_t kBlock = 4096;  // rows that a cache holds
        for (std::size_t begin = 0; begin < hashes.size(); begin += kBlock) {
            hash_values(matrix, span_of(targets), begin, std::min(hashes.size(), begin + kBlock), hashes);
        }
    }
    return to_numpy(std::move(hashes));
}

nb::tuple bind_weigh_values(const Table2D& x, std::size_t column, const std::optional<Vector<std::uint32_t>>& rows,
                            const std::optional<Vector<std::uint64_t>>& lengths) {
    const Matrix matrix = matrix_of(x);
    const auto of_rows = span_or_nothing(rows);
    require(column < matrix.n_columns && matrix.n_rows <= 0xFFFFFFFFu, "there is no such column, or it is too long");
    require(!lengths || lengths->size() == matrix.n_rows, "x and lengths differ in length");
    require(std::all_of(of_rows.begin(), of_rows.end(), [&](std::uint32_t r) { return r < matrix.n_rows; }),
            "there is no such row");
    return matrix.dispatch([&]<class Float>() {
        WeighedValues<Float> found;
        if (!rows || rows->size() > 0) {
            const nb::gil_scoped_release release;
            found = weigh_values<Float>(matrix, column, of_rows, span_or_nothing(lengths));
        }
        return nb::make_tuple(to_numpy(std::move(found.values)), to_numpy(std::move(found.weights)));
    });
}

NumpyVector<double> bind_cut_quantiles(const Vector<double>& values, const Vector<std::uint64_t>& weights,
                                       std::uint32_t max_bins) {
    require(values.size() == weights.size() && max_bins > 0, "values and weights differ in length");
    return to_numpy(cut_quantiles(span_of(values), span_of(weights), max_bins));
}

template <class Code>
nb::tuple code_as(const Matrix& x, std::size_t column, std::span<const double> starts, bool with_extremes) {
    std::vector<Code> codes(x.n_rows);
    Extremes extremes;
    {
        const nb::gil_scoped_release release;
        code_values<Code>(x, column, starts, codes);
        if (with_extremes) {
            extremes = find_extremes<Code>(x, column, codes, starts.size());
        }
    }
    return nb::make_tuple(to_numpy(std::move(codes)), to_numpy(std::move(extremes.lows)),
                          to_numpy(std::move(extremes.highs)));
}

nb::tuple bind_code_values(const Table2D& x, std::size_t column, const Vector<double>& starts, bool with_extremes) {
    const Matrix matrix = matrix_of(x);
    require(column < matrix.n_columns, "there is no such column");
    const auto of_codes = span_of(starts);
    if (of_codes.size() <= 0xFF) {
        return code_as<std::uint8_t>(matrix, column, of_codes, with_extremes);
    }
    return of_codes.size() <= 0xFFFF ? code_as<std::uint16_t>(matrix, column, of_codes, with_extremes)
                                     : code_as<std::uint32_t>(matrix, column, of_codes, with_extremes);
}

nb::tuple bind_find_extremes(const Table2D& x, std::size_t column, const AnyCodes& codes, std::size_t n_codes) {
    const Matrix matrix = matrix_of(x);
    require(column < matrix.n_columns && codes.size() == matrix.n_rows, "the codes do not suit the table");
    const auto find = [&]<class Code>() {
        const std::span<const Code> of_rows(static_cast<const Code*>(codes.data()), codes.size());
        constexpr Code kMissing = static_cast<Code>(~Code{0});
        require(std::all_of(of_rows.begin(), of_rows.end(), [&](Code c) { return c == kMissing || c < n_codes; }),
                "a code has no values");
        return find_extremes<Code>(matrix, column, of_rows, n_codes);
    };
    Extremes extremes;
    {
        const nb::gil_scoped_release release;
        extremes = codes.dtype() == nb::dtype<std::uint8_t>()    ? find.operator()<std::uint8_t>()
                   : codes.dtype() == nb::dtype<std::uint16_t>() ? find.operator()<std::uint16_t>()
                                                                 : find.operator()<std::uint32_t>();
    }
    return nb::make_tuple(to_numpy(std::move(extremes.lows)), to_numpy(std::move(extremes.highs)));
}

}  // namespace

void bind_codes(nb::module_& module) {
    module.def(
        "rank_table", &bind_rank_table, "columns"_a, "classes"_a.none(), "numbers"_a.none(), "n_classes"_a,
        "weights"_a.none(), "weights_whole"_a, "n_threads"_a, "watch"_a.none(), "strata"_a.none() = nb::none(),
        "groups"_a.none() = nb::none(),
        "Rank the rows of a table whose columns are coded already: (pieces of codes by row, smallest and largest "
        "value of each code, whether they are categories).");
    module.def("hash_values", &bind_hash_values, "x"_a, "targets"_a,
               "Hashes of rows by their values and the bits of their targets.");
    module.def(
        "weigh_values", &bind_weigh_values, "x"_a, "column"_a, "rows"_a.none(), "lengths"_a.none(),
        "Distinct values of some rows of a column, in ascending order, without missing ones; and what they weigh.");
    module.def("cut_quantiles", &bind_cut_quantiles, "values"_a, "weights"_a, "max_bins"_a,
               "The smallest value of each code, from distinct values in ascending order and what they weigh.");
    module.def("code_values", &bind_code_values, "x"_a, "column"_a, "starts"_a, "with_extremes"_a,
               "Codes of a column by the smallest value of each code, in as few bytes as they need; where wanted, the "
               "smallest and the largest value of each code in these rows.");
    module.def("find_extremes", &bind_find_extremes, "x"_a, "column"_a, "codes"_a, "n_codes"_a,
               "The smallest and the largest value of each code of a column in these rows.");
}

}  // namespace weald
