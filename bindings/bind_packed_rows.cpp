// Codes for engines that do not run in the core: rows in as few bits as they need, and the values of codes.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/require.h"
#include "coding/packed_rows.h"
#include "tree/thresholds.h"

namespace weald {

using namespace nb::literals;

namespace {

std::vector<std::tuple<std::size_t, bool, bool>> bind_column_facts(const Codes& codes, std::size_t n_threads) {
    Work work = make_work(n_threads, nb::none());
    std::vector<std::tuple<std::size_t, bool, bool>> found;
    const nb::gil_scoped_release release;
    for (const auto& [n_codes, has_missing, is_categorical] : column_facts(codes, work)) {
        found.emplace_back(n_codes, has_missing, is_categorical);
    }
    return found;
}

NumpyVector<std::uint32_t> bind_pack_rows(const Codes& codes, const Vector<std::uint32_t>& words,
                                          const Vector<std::uint32_t>& shifts, std::size_t row_words,
                                          std::size_t n_threads) {
    const auto in_row = [&](std::uint32_t word) { return word < row_words; };
    const auto word_of = span_of(words);
    const auto shift_of = span_of(shifts);
    require(words.size() == codes.columns.size() && shifts.size() == words.size() &&
                std::all_of(word_of.begin(), word_of.end(), in_row) &&
                std::all_of(shift_of.begin(), shift_of.end(), [](std::uint32_t shift) { return shift < 32; }),
            "each column needs a place in the row");
    std::vector<PackedField> fields;
    for (std::size_t f = 0; f < words.size(); ++f) {
        fields.push_back({word_of[f], shift_of[f]});
    }
    Work work = make_work(n_threads, nb::none());
    std::vector<std::uint32_t> rows;
    {
        const nb::gil_scoped_release release;
        rows = pack_rows(codes, fields, row_words, work);
    }
    return to_numpy(std::move(rows));
}

std::vector<double> all_values(const Values& values) {
    std::vector<double> all(values.size());
    for (std::size_t code = 0; code < all.size(); ++code) {
        all[code] = values[code];
    }
    return all;
}

nb::tuple bind_values_of(const Codes& codes, std::size_t feature) {
    require(feature < codes.columns.size(), "there is no such feature");
    const auto [lows, highs] = look_up_values(codes, feature);
    return nb::make_tuple(to_numpy(all_values(lows)), to_numpy(all_values(highs)));
}

}  // namespace

void bind_packed_rows(nb::module_& module) {
    module.def("column_facts", &bind_column_facts, "codes"_a, "n_threads"_a,
               "For each column: its number of codes, whether values are missing, and whether it is categorical.");
    module.def("pack_rows", &bind_pack_rows, "codes"_a, "words"_a, "shifts"_a, "row_words"_a, "n_threads"_a,
               "Rows in rank order, of 32-bit words, with each column at its word and bit. A missing value is the "
               "number of codes.");
    module.def("values_of", &bind_values_of, "codes"_a, "feature"_a, "The smallest and largest value of each code.");
}

}  // namespace weald
