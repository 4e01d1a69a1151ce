// Tables whose codes are in a file that the caller has mapped.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "base/require.h"
#include "coding/codes.h"
#include "coding/ranks.h"

namespace weald {

using namespace nb::literals;

namespace {

using AnyCodes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Codes of one, two or four bytes, the smallest and the largest value of each, and whether they are categories.
using MappedColumn = std::tuple<AnyCodes, Vector<double>, Vector<double>, bool>;

template <class Code>
bool have_values(const Column& column, std::size_t n_rows) {
    const Code* codes = column.as<Code>();
    constexpr Code kMissing = static_cast<Code>(~Code{0});
    return std::all_of(codes, codes + n_rows, [&](Code c) { return c == kMissing || c < column.lows.size(); });
}

// A view of the caller's codes.
Column column_of(const MappedColumn& given, std::size_t n_rows) {
    const auto& [codes, lows, highs, is_categorical] = given;
    const auto type = codes.dtype();
    require(
        type == nb::dtype<std::uint8_t>() || type == nb::dtype<std::uint16_t>() || type == nb::dtype<std::uint32_t>(),
        "codes must be uint8, uint16 or uint32");
    require(codes.size() == n_rows && lows.size() == highs.size(), "the parts of a column differ in length");
    Column column;
    column.width = static_cast<std::uint8_t>(type.bits / 8);
    column.mapped = static_cast<const std::byte*>(codes.data());
    column.lows = Values(std::vector<double>(lows.data(), lows.data() + lows.size()));
    column.highs = Values(std::vector<double>(highs.data(), highs.data() + highs.size()));
    column.is_categorical = is_categorical;
    require(column.width == 1   ? have_values<std::uint8_t>(column, n_rows)
            : column.width == 2 ? have_values<std::uint16_t>(column, n_rows)
                                : have_values<std::uint32_t>(column, n_rows),
            "a code has no values");
    return column;
}

std::vector<Column> columns_of(const std::vector<MappedColumn>& given, std::size_t n_rows) {
    std::vector<Column> columns;
    columns.reserve(given.size());
    for (const MappedColumn& column : given) {
        columns.push_back(column_of(column, n_rows));
    }
    return columns;
}

// The parts of a table other than its columns.
Table table_of(const std::optional<Vector<std::int32_t>>& classes, const std::optional<Vector<double>>& numbers,
               std::uint32_t n_classes, const std::optional<Vector<double>>& weights, bool weights_whole,
               std::size_t n_columns) {
    Table table{
        {}, span_or_nothing(classes), span_or_nothing(numbers), n_classes, span_or_nothing(weights), weights_whole, {},
        {}};
    table.x.n_rows = table.task() == Task::classification ? table.classes.size() : table.numbers.size();
    table.x.n_columns = n_columns;
    require(table.x.n_rows > 0 && table.x.n_rows <= 0x7FFFFFFFu && n_columns > 0, "the table is empty or too long");
    require(table.weights.empty() || table.weights.size() == table.x.n_rows, "target and weights differ in length");
    require(std::all_of(table.classes.begin(), table.classes.end(),
                        [&](std::int32_t k) { return k >= 0 && static_cast<std::uint32_t>(k) < n_classes; }),
            "a class is out of range");
    return table;
}

nb::tuple bind_find_ranks(const std::vector<MappedColumn>& columns, const std::optional<Vector<std::int32_t>>& classes,
                          const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                          const std::optional<Vector<double>>& weights, bool weights_whole, std::size_t n_threads,
                          const nb::object& watch) {
    const Table table = table_of(classes, numbers, n_classes, weights, weights_whole, columns.size());
    const std::vector<Column> mapped = columns_of(columns, table.x.n_rows);
    Work work = make_work(n_threads, watch);
    Ranking ranking;
    {
        const nb::gil_scoped_release release;
        ranking = rank_table(table, mapped, work);
    }
    return nb::make_tuple(to_numpy(std::move(ranking.positions)), ranking.fingerprint);
}

Codes bind_map_table(const std::vector<MappedColumn>& columns, const std::optional<Vector<std::int32_t>>& classes,
                     const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                     const std::optional<Vector<double>>& weights, bool weights_whole,
                     const Vector<std::uint32_t>& positions, std::uint64_t fingerprint,
                     std::optional<std::uint64_t> values, std::size_t n_threads, const nb::object& watch) {
    const Table table = table_of(classes, numbers, n_classes, weights, weights_whole, columns.size());
    const auto rows = span_of(positions);
    require(rows.size() == table.x.n_rows, "ranks and target differ in length");
    std::vector<bool> is_there(rows.size());
    for (const std::uint32_t row : rows) {
        require(row < rows.size() && !is_there[row], "the ranks are not those of the rows");
        is_there[row] = true;
    }
    Ranking ranking{{rows.begin(), rows.end()}, fingerprint, values};
    std::vector<Column> mapped = columns_of(columns, table.x.n_rows);
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    return map_codes(table, std::move(mapped), std::move(ranking), work);
}

}  // namespace

void bind_stored(nb::module_& module) {
    module.def("find_ranks", &bind_find_ranks, "columns"_a, "classes"_a.none(), "numbers"_a.none(), "n_classes"_a,
               "weights"_a.none(), "weights_whole"_a, "n_threads"_a, "watch"_a.none(),
               "Find the row at each rank and the fingerprint of the training data, without copies.");
    module.def("map_table", &bind_map_table, nb::keep_alive<0, 1>(), "columns"_a, "classes"_a.none(),
               "numbers"_a.none(), "n_classes"_a, "weights"_a.none(), "weights_whole"_a, "positions"_a, "fingerprint"_a,
               "values"_a.none(), "n_threads"_a, "watch"_a.none(),
               "Make Codes of ranked columns without copies; target and weights are by row. The list of columns must "
               "not change.");
}

}  // namespace weald
