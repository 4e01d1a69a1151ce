// The flow of the core: coding a table, growing trees, prediction.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "arrays.h"
#include "coding/codes.h"
#include "draw/bag.h"
#include "forest_dict.h"
#include "grow/grow.h"
#include "grow/grow_multi_output.h"
#include "predict/leaves.h"
#include "tree/join_trees.h"
#include "tree/thresholds.h"
#include "tree/tree.h"

namespace weald {

using namespace nb::literals;

namespace {

// ---- Codes

using CodedOrNot = std::variant<Table2D, SparseTable, ColumnBlocks*>;

// Indices of groups or strata, not negative and below the number of rows; or empty.
std::span<const std::int32_t> numbers_by_row(const std::optional<Vector<std::int32_t>>& numbers, std::size_t n_rows) {
    if (!numbers) {
        return {};
    }
    const auto of_row = span_of(*numbers);
    if (of_row.size() != n_rows || std::any_of(of_row.begin(), of_row.end(), [&](std::int32_t number) {
            return number < 0 || static_cast<std::size_t>(number) >= n_rows;
        })) {
        throw std::invalid_argument("groups or strata and rows differ in number");
    }
    return of_row;
}

// Moves the columns out of blocks that have been coded.
Codes bind_code_table(const CodedOrNot& x, const std::optional<Vector<std::int32_t>>& classes,
                      const std::optional<Vector<double>>& numbers, std::uint32_t n_classes,
                      const std::optional<Vector<double>>& weights, bool weights_whole, std::uint32_t max_bins,
                      const std::vector<std::size_t>& categorical, std::size_t n_threads, const nb::object& watch,
                      const std::optional<Vector<std::int32_t>>& strata,
                      const std::optional<Vector<std::int32_t>>& groups, std::size_t n_trees) {
    const auto* sparse = std::get_if<SparseTable>(&x);
    auto* const* blocks = std::get_if<ColumnBlocks*>(&x);
    const Matrix matrix = sparse   ? sparse->shape()
                          : blocks ? Matrix{nullptr, (*blocks)->n_rows(), (*blocks)->coded.columns.size(), 0, 0, true}
                                   : matrix_of(std::get<Table2D>(x));
    const bool of_classes = task_of(n_classes) == Task::classification;
    const std::size_t n_targets = of_classes ? (classes ? classes->size() : 0) : (numbers ? numbers->size() : 0);
    if (matrix.n_rows == 0 || matrix.n_columns == 0 || n_targets != matrix.n_rows ||
        (weights && weights->size() != matrix.n_rows)) {
        throw std::invalid_argument("table, target and weights differ in length, or are empty");
    }
    if (matrix.n_rows > 0x7FFFFFFFu) {
        throw std::invalid_argument("a table may have at most 2^31 - 1 rows");
    }
    if (of_classes) {
        const auto of_row = span_of(*classes);
        if (std::any_of(of_row.begin(), of_row.end(),
                        [&](std::int32_t k) { return k < 0 || static_cast<std::uint32_t>(k) >= n_classes; })) {
            throw std::invalid_argument("a class is out of range");
        }
    }
    Table table{matrix, {}, {}, n_classes, {}, weights_whole, {}, {}};
    if (of_classes) {
        table.classes = span_of(*classes);
    } else {
        table.numbers = span_of(*numbers);
    }
    if (weights) {
        table.weights = span_of(*weights);
    }
    if (sparse) {
        table.by_column = sparse->view();
        if (table.by_column.starts.size() != matrix.n_columns + 1) {
            throw std::invalid_argument("a sparse table must be given column by column here");
        }
    }
    table.strata = numbers_by_row(strata, matrix.n_rows);
    table.groups = numbers_by_row(groups, matrix.n_rows);
    if (!categorical.empty()) {
        table.categorical.resize(matrix.n_columns);
        for (const std::size_t feature : categorical) {
            table.categorical.at(feature) = true;
        }
    }
    Work work = make_work(n_threads, watch);
    Codes codes;
    {
        const nb::gil_scoped_release release;
        codes = code_table(table, max_bins, work, blocks ? std::move((*blocks)->coded) : CodedColumns{}, n_trees);
    }
    if (codes.source) {
        codes.owner = std::make_shared<Table2D>(std::get<Table2D>(x));
    }
    return codes;
}

void bind_add_columns(ColumnBlocks& blocks, const Table2D& x, const std::vector<bool>& categorical,
                      std::size_t n_threads, const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    if (matrix.n_rows == 0 || matrix.n_rows > kSampleSize ||
        (!categorical.empty() && categorical.size() != matrix.n_columns) ||
        (!blocks.coded.columns.empty() && blocks.n_rows() != matrix.n_rows)) {
        throw std::invalid_argument("these columns cannot be coded with the others");
    }
    Work work = make_work(n_threads, watch);
    const nb::gil_scoped_release release;
    blocks.add(matrix, categorical, work);
}

template <class Code>
std::vector<std::uint32_t> codes_by_position(const Codes& codes, const Column& column) {
    std::vector<std::uint32_t> by_position(codes.n_rows);
    for (std::size_t r = 0; r < codes.n_rows; ++r) {
        const Code code = column.as<Code>()[r];
        by_position[codes.positions[r]] = code == static_cast<Code>(~Code{0}) ? 0xFFFFFFFFu : code;
    }
    return by_position;
}

std::vector<double> all_of(const Values& values) {
    std::vector<double> all(values.size());
    for (std::size_t code = 0; code < all.size(); ++code) {
        all[code] = values[code];
    }
    return all;
}

nb::tuple bind_column(const Codes& codes, std::size_t feature) {
    const Column& column = codes.columns.at(feature);
    std::vector<std::uint32_t> by_position = column.width == 1   ? codes_by_position<std::uint8_t>(codes, column)
                                             : column.width == 2 ? codes_by_position<std::uint16_t>(codes, column)
                                                                 : codes_by_position<std::uint32_t>(codes, column);
    const auto [lows, highs] = look_up_values(codes, feature);
    return nb::make_tuple(to_numpy(std::move(by_position)), to_numpy(all_of(lows)), to_numpy(all_of(highs)));
}

// ---- Trees

// The trees as arrays of a forest, by name.
nb::dict arrays_of(GrownTrees grown) {
    nb::dict arrays = dict_of(std::move(grown.forest));
    arrays["weight_scale"] = to_numpy(std::move(grown.weight_scale));
    arrays["target_center"] = grown.target_center;
    arrays["target_exponent"] = grown.target_exponent;
    return arrays;
}

nb::dict bind_grow(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t first_tree,
                   std::uint32_t n_trees, std::size_t n_threads, const nb::object& watch, std::size_t n_slots) {
    Work work = make_work(n_threads, watch, n_slots);
    GrownTrees grown;
    {
        const nb::gil_scoped_release release;
        grown = grow_trees(codes, growth, seed, first_tree, n_trees, work);
    }
    return arrays_of(std::move(grown));
}

// Returns the arrays of a tree, and the range of its nodes that belong to the piece: first, and one past the last.
nb::tuple bind_grow_piece(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t tree,
                          std::uint32_t number, std::uint32_t n_pieces) {
    if (number >= n_pieces) {
        throw std::invalid_argument("a piece is out of range");
    }
    Work work = make_work(1, nb::none());
    Piece piece{number, n_pieces};
    GrownTrees grown;
    {
        const nb::gil_scoped_release release;
        grown = grow_piece(codes, growth, seed, tree, piece, work);
    }
    return nb::make_tuple(arrays_of(std::move(grown)), *piece.begin, *piece.end);
}

// `target_values` has the value of each target for each joint target (joint targets x targets). Returns the arrays, and
// the center of each target.
nb::tuple bind_grow_targets(const Codes& codes, const Vector<double>& target_values, std::uint32_t n_targets,
                            std::vector<std::uint32_t> n_classes, const Growth& growth, std::uint64_t seed,
                            std::uint32_t first_tree, std::uint32_t n_trees, std::size_t n_threads,
                            const nb::object& watch) {
    const auto values = span_of(target_values);
    const bool are_classes = !n_classes.empty();
    if (n_targets == 0 || values.size() != std::size_t{codes.n_classes} * n_targets ||
        (are_classes && n_classes.size() != n_targets)) {
        throw std::invalid_argument("the targets are not those of the table");
    }
    for (std::size_t i = 0; are_classes && i < values.size(); ++i) {
        if (!(values[i] >= 0 && values[i] < n_classes[i % n_targets])) {
            throw std::invalid_argument("a class is out of range");
        }
    }
    const Targets targets{n_targets, std::move(n_classes), {values.begin(), values.end()}};
    Work work = make_work(n_threads, watch);
    GrownTargets found;
    {
        const nb::gil_scoped_release release;
        found = grow_targets(codes, targets, growth, seed, first_tree, n_trees, work);
    }
    return nb::make_tuple(arrays_of(std::move(found.grown)), found.centers);
}

NumpyVector<std::uint32_t> bind_bag(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t tree) {
    const std::vector<std::uint32_t> by_rank = BagDrawer(codes, growth).sizes(seed, tree);
    std::vector<std::uint32_t> by_position(by_rank.size());
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
        by_position[codes.positions[r]] = by_rank[r];
    }
    return to_numpy(std::move(by_position));
}

// ---- Bags

// Everything needed to draw bags, as arrays that can be sent to another process.
nb::tuple bind_bag_arrays(const Codes& codes) {
    const Design& design = codes.design;
    return nb::make_tuple(to_numpy(codes.positions), codes.n_classes, to_numpy(codes.classes), to_numpy(codes.line),
                          codes.whole, codes.fingerprint, codes.values, to_numpy(design.strata),
                          to_numpy(design.groups), design.n_groups, design.fingerprint);
}

template <class T>
std::vector<T> by_rank(const Vector<T>& array, std::size_t n_rows) {
    if (array.size() != n_rows && array.size() != 0) {
        throw std::invalid_argument("values and ranks differ in number");
    }
    return {array.data(), array.data() + array.size()};
}

Codes bind_bag_source(const Vector<std::uint32_t>& positions, std::uint32_t n_classes,
                      const Vector<std::int32_t>& classes, const Vector<std::uint64_t>& line, bool whole,
                      std::uint64_t fingerprint, std::optional<std::uint64_t> values,
                      const Vector<std::uint32_t>& strata, const Vector<std::uint32_t>& groups, std::uint32_t n_groups,
                      std::uint64_t design) {
    const std::size_t n_rows = positions.size();
    Codes codes;
    codes.n_rows = static_cast<std::uint32_t>(n_rows);
    codes.n_classes = n_classes;
    codes.positions = by_rank(positions, n_rows);
    codes.classes = by_rank(classes, n_rows);
    codes.line = by_rank(line, n_rows);
    codes.line_length = codes.line.empty() ? n_rows : std::accumulate(codes.line.begin(), codes.line.end(), 0ULL);
    codes.whole = whole;
    codes.fingerprint = fingerprint;
    codes.values = values;
    codes.design = {by_rank(strata, n_rows), by_rank(groups, n_rows), n_groups, design};
    const auto is_in = [](auto limit) { return [limit](auto x) { return x >= 0 && x < limit; }; };
    const bool is_right =
        std::all_of(codes.positions.begin(), codes.positions.end(), is_in(codes.n_rows)) &&
        std::all_of(codes.classes.begin(), codes.classes.end(), is_in(static_cast<std::int32_t>(n_classes))) &&
        std::all_of(codes.design.groups.begin(), codes.design.groups.end(), is_in(n_groups));
    if (!is_right) {
        throw std::invalid_argument("the arrays are not a table");
    }
    return codes;
}

// ---- Prediction

void require_same_width(const Predictor& predictor, const Matrix& x) {
    if (x.n_columns != predictor.n_features()) {
        throw std::invalid_argument("the table and the forest differ in the number of features");
    }
}

NumpyMatrix<std::int32_t> bind_leaves(const Predictor& predictor, const AnyTable& x, std::size_t n_threads,
                                      const nb::object& watch) {
    const Matrix matrix = matrix_of(x);
    require_same_width(predictor, matrix);
    std::vector<std::int32_t> leaves(matrix.n_rows * predictor.n_trees());
    Work work = make_work(n_threads, watch);
    {
        const nb::gil_scoped_release release;
        predictor.find_leaves(matrix, leaves, work);
    }
    return to_numpy(std::move(leaves), matrix.n_rows, predictor.n_trees());
}

// Trees x rows, as bytes.
using Mask = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

NumpyMatrix<std::int32_t> bind_leaves_outside(const Predictor& predictor, const AnyTable& x, const Mask& outside,
                                              std::size_t n_threads) {
    const Matrix matrix = matrix_of(x);
    require_same_width(predictor, matrix);
    if (outside.shape(0) != predictor.n_trees() || outside.shape(1) != matrix.n_rows) {
        throw std::invalid_argument("the marks are not trees x rows");
    }
    std::vector<std::int32_t> leaves(matrix.n_rows * predictor.n_trees());
    Work work = make_work(n_threads, nb::none());
    {
        const nb::gil_scoped_release release;
        predictor.find_leaves(matrix, {outside.data(), outside.size()}, leaves, work);
    }
    return to_numpy(std::move(leaves), predictor.n_trees(), matrix.n_rows);
}

}  // namespace

void bind_forest(nb::module_& module) {
    module.def("criteria", &criteria, "Names of the criteria, and whether they are for classification.");

    nb::class_<SparseTable>(module, "SparseTable", "The nonzero values of a table, by column or by row.")
        .def(nb::init<const Vector<std::int64_t>&, const Vector<std::int32_t>&, const Vector<double>&, std::size_t,
                      std::size_t>(),
             "starts"_a, "places"_a, "values"_a, "n_rows"_a, "n_columns"_a);

    nb::class_<ColumnBlocks>(module, "ColumnBlocks", "Columns that are coded a few at a time.")
        .def(
            "__init__",
            [](ColumnBlocks* blocks, const std::optional<Vector<double>>& weights, bool whole, std::uint32_t max_bins) {
                new (blocks) ColumnBlocks(weights ? span_of(*weights) : std::span<const double>{}, whole, max_bins);
            },
            "weights"_a.none(), "weights_whole"_a, "max_bins"_a)
        .def("add", &bind_add_columns, "x"_a, "categorical"_a, "n_threads"_a, "watch"_a.none(),
             "Code a block of further columns.");

    nb::class_<Codes>(module, "Codes", "A training table as codes, its rows in rank order.")
        .def_ro("n_rows", &Codes::n_rows)
        .def_ro("line_length", &Codes::line_length)
        .def_ro("n_classes", &Codes::n_classes)
        .def_prop_ro("n_columns", [](const Codes& codes) { return codes.columns.size(); })
        .def_ro("fingerprint", &Codes::fingerprint, "Fingerprint of the training data, as codes.")
        .def_ro("values", &Codes::values, "Fingerprint of the values of the training data; None: unknown.")
        .def_prop_ro(
            "design", [](const Codes& codes) { return codes.design.fingerprint; },
            "Fingerprint of strata and groups; 0: there are none.")
        .def(
            "positions", [](const Codes& codes) { return to_numpy(codes.positions); },
            "The row of the table at each rank.")
        .def(
            "weigh",
            [](Codes& codes, const Vector<std::uint64_t>& line) {
                const auto lengths = span_of(line);
                if (lengths.size() != codes.n_rows || std::count(lengths.begin(), lengths.end(), 0) > 0) {
                    throw std::invalid_argument("each row needs a length above 0");
                }
                codes.weigh(lengths);
            },
            "line"_a, "Replace the line that bags are drawn from: lengths by row of the table.")
        .def("without_columns", &Codes::without_columns,
             "A copy without columns, from which bags can be drawn, but "
             "no trees grown.")
        .def("bag_arrays", &bind_bag_arrays, "The same as arrays, for other processes; see bag_source.")
        .def(
            "column", &bind_column, "feature"_a,
            "Codes of a feature by row of the table (2**32 - 1: missing), and the smallest and largest value of each.");

    module.def("bag_source", &bind_bag_source, "positions"_a, "n_classes"_a, "classes"_a, "line"_a, "whole"_a,
               "fingerprint"_a, "values"_a.none(), "strata"_a, "groups"_a, "n_groups"_a, "design"_a,
               "Make Codes without columns from Codes.bag_arrays: bags can be drawn, but no trees grown.");

    module.def(
        "code_table", &bind_code_table, "x"_a, "classes"_a.none(), "numbers"_a.none(), "n_classes"_a,
        "weights"_a.none(), "weights_whole"_a, "max_bins"_a, "categorical"_a, "n_threads"_a, "watch"_a.none(),
        "strata"_a.none() = nb::none(), "groups"_a.none() = nb::none(), "n_trees"_a = 0,
        "Code a table and rank its rows; max_bins=0 keeps every distinct value. Values of categorical features are "
        "numbers of categories. `n_trees`: trees grown from these codes in one call; 0 if unknown.");

    module.def("grow", &bind_grow, "codes"_a, "growth"_a, "seed"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a,
               "watch"_a.none(), "n_slots"_a,
               "Grow trees; returns their arrays by name. Idle threads among the `n_slots` that several calls share "
               "take part.");
    module.def(
        "grow_piece", &bind_grow_piece, "codes"_a, "growth"_a, "seed"_a, "tree"_a, "number"_a, "n_pieces"_a,
        "Grow one piece of a tree; returns the arrays of the tree, in which a leaf replaces each other piece, and "
        "the range of the piece's own nodes.");
    module.def("grow_targets", &bind_grow_targets, "codes"_a, "target_values"_a, "n_targets"_a, "n_classes"_a,
               "growth"_a, "seed"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a, "watch"_a.none(),
               "Grow multi-output trees; returns their arrays by name, and the center of each target.");
    module.def("bag", &bind_bag, "codes"_a, "growth"_a, "seed"_a, "tree"_a,
               "How often each row of the table is in the bag of a tree.");

    nb::class_<Predictor>(module, "Predictor", "A forest packed for prediction, which finds the leaf of each row.")
        .def(
            "__init__",
            [](Predictor* self, std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays) {
                new (self) Predictor(KeptForest(n_features, n_classes, arrays).view());
            },
            "n_features"_a, "n_classes"_a, "arrays"_a)
        .def("leaves", &bind_leaves, "x"_a, "n_threads"_a, "watch"_a.none(),
             "Node number of each row's leaf inside each tree.")
        .def("leaves_outside", &bind_leaves_outside, "x"_a, "outside"_a, "n_threads"_a,
             "The same for rows that are new to a tree, -1 for others (trees x rows).");
}

}  // namespace weald
