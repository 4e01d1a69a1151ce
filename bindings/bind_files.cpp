// Conversion of the arrays of a file to those of a forest.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <utility>

#include "arrays.h"
#include "files/decode.h"
#include "forest_dict.h"

namespace weald {

using namespace nb::literals;

namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// An array with one axis, or bytes with two: truncated doubles.
EncodedColumn column_of(const std::string& name, const AnyArray& array) {
    const std::size_t width = array.dtype().bits / 8;
    const auto code = static_cast<nb::dlpack::dtype_code>(array.dtype().code);
    EncodedColumn column{EncodedColumn::Kind::none, width, array.ndim() > 0 ? array.shape(0) : 0,
                         static_cast<const std::byte*>(array.data())};
    if (array.ndim() == 2 && code == nb::dlpack::dtype_code::UInt && width == 1 && array.shape(1) > 0 &&
        array.shape(1) < sizeof(double)) {
        column.kind = EncodedColumn::Kind::cut;
        column.width = array.shape(1);
    } else if (array.ndim() == 1 && code == nb::dlpack::dtype_code::UInt) {
        column.kind = EncodedColumn::Kind::whole;
    } else if (array.ndim() == 1 && code == nb::dlpack::dtype_code::Int) {
        column.kind = EncodedColumn::Kind::with_sign;
    } else if (array.ndim() == 1 && code == nb::dlpack::dtype_code::Float && width >= sizeof(float)) {
        column.kind = EncodedColumn::Kind::floating;
    }
    if (!column) {
        refuse_array(name, "is of a type or a shape that no array of a forest has");
    }
    return column;
}

Rule rule_of(const std::string& name) {
    static const std::map<std::string, Rule> kRules{{"none", Rule::none},
                                                    {"gini", Rule::gini},
                                                    {"entropy", Rule::entropy},
                                                    {"misclassification", Rule::misclassification},
                                                    {"squared_error", Rule::squared_error}};
    const auto found = kRules.find(name);
    require(found != kRules.end(), "The rule for decreases is unknown.");
    return found->second;
}

nb::dict bind_decode(std::uint32_t n_features, std::uint32_t n_classes, std::size_t n_trees, std::size_t n_nodes,
                     double target_center, int target_exponent, const std::string& decrease, bool is_bound,
                     std::size_t most_depth, const nb::dict& arrays, std::size_t n_threads) {
    const EncodedHead head{n_features,      n_classes,         n_trees,  n_nodes,   target_center,
                           target_exponent, rule_of(decrease), is_bound, most_depth};
    std::vector<AnyArray> kept;
    EncodedColumns columns;
    for (const auto [name, array] : arrays) {
        kept.push_back(nb::cast<AnyArray>(array, false));
        columns.add(nb::cast<std::string>(name), column_of(nb::cast<std::string>(name), kept.back()));
    }
    Work work = make_work(n_threads, nb::none());
    Decoded made;
    {
        const nb::gil_scoped_release release;
        made = decode(head, std::move(columns), work);
    }
    LargeVector<double> tree_weight = std::move(made.tree_weight);
    nb::dict found = dict_of(std::move(made));
    found["tree_weight"] = to_numpy(std::move(tree_weight));
    return found;
}

}  // namespace

void bind_files(nb::module_& module) {
    module.def("decode", &bind_decode, "n_features"_a, "n_classes"_a, "n_trees"_a, "n_nodes"_a, "target_center"_a,
               "target_exponent"_a, "decrease"_a, "is_bound"_a, "most_depth"_a, "arrays"_a, "n_threads"_a,
               "Decode the arrays of a file to those of a forest, and check every number.");
}

}  // namespace weald
