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

namespace weald {

using namespace nb::literals;

namespace {

using AnyCodes = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Codes of one, two or four bytes, the smallest and the largest value of each, and whether they are categories.
using CodedColumn = std::tuple<AnyCodes, Vector<double>, Vector<double>, bool>;

void require(bool condition, const char* what) {
    if (!condition) {
        throw std::invalid_argument(what);
    }
}

template <class Code>
void check_codes(const Column& column) {
    const std::size_t n = column.codes.size() / sizeof(Code);
    const Code* codes = column.as<Code>();
    constexpr Code kMissing = static_cast<Code>(~Code{0});
    require(std::all_of(codes, codes + n, [&](Code c) { return c == kMissing || c < column.lows.size(); }),
            "a code has no values");
}

Column column_of(const CodedColumn& given, std::size_t n_rows) {
    const auto& [codes, lows, highs, is_categorical] = given;
    const auto type = codes.dtype();
    require(
        type == nb::dtype<std::uint8_t>() || type == nb::dtype<std::uint16_t>() || type == nb::dtype<std::uint32_t>(),
        "codes must be uint8, uint16 or uint32");
    require(codes.size() == n_rows && lows.size() == highs.size(), "the parts of a column differ in length");
    Column column;
    column.width = static_cast<std::uint8_t>(type.bits / 8);
    column.codes.resize(codes.nbytes());
    std::memcpy(column.codes.data(), codes.data(), codes.nbytes());
    column.lows = Values(std::vector<double>(lows.data(), lows.data() + lows.size()));
    column.highs = Values(std::vector<double>(highs.data(), highs.data() + highs.size()));
    column.is_categorical = is_categorical;
    switch (column.width) {
        case 1:
            check_codes<std::uint8_t>(column);
            break;
        case 2:
            check_codes<std::uint16_t>(column);
            break;
        default:
            check_codes<std::uint32_t>(column);
            break;
    }
    return column;
}

template <class T>
std::span<const T> span_or_nothing(const std::optional<Vector<T>>& array) {
    return array ? span_of(*array) : std::span<const T>{};
}

Codes bind_rank_table(const std::vector<CodedColumn>& columns, const std::optional<Vector<std::int32_t>>& classes,
                      const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                      const std::optional<Vector<double>>& weights, bool weights_whole, std::size_t n_threads,
                      const nb::object& watch) {
    Table table{
        {}, span_or_nothing(classes), span_or_nothing(numbers), n_classes, span_or_nothing(weights), weights_whole, {},
        {}};
    const std::size_t n_rows = n_classes != 0 ? table.classes.size() : table.numbers.size();
    require(n_rows > 0 && n_rows <= 0x7FFFFFFFu && !columns.empty(), "the table is empty or too long");
    require(table.weights.empty() || table.weights.size() == n_rows, "target and weights differ in length");
    require(std::all_of(table.classes.begin(), table.classes.end(),
                        [&](std::int32_t k) { return k >= 0 && static_cast<std::uint32_t>(k) < n_classes; }),
            "a class is out of range");
    table.x.n_rows = n_rows;
    table.x.n_columns = columns.size();
    std::vector<Column> copied;
    copied.reserve(columns.size());
    for (const CodedColumn& column : columns) {
        copied.push_back(column_of(column, n_rows));
    }
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    return code_table(table, 0, work, std::move(copied));
}

}  // namespace

void bind_codes(nb::module_& module) {
    module.def("rank_table", &bind_rank_table, "columns"_a, "classes"_a.none(), "numbers"_a.none(), "n_classes"_a,
               "weights"_a.none(), "weights_whole"_a, "n_threads"_a, "watch"_a.none(),
               "Rank the rows of a table whose columns are coded already: (codes by row, smallest and largest value of "
               "each code, whether they are categories).");
}

}  // namespace weald
