// The parameters of trees: weald.engines.params.Growth, field by field.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.h"
#include "draw/tree_params.h"

namespace weald {

namespace {

// The Python type of a field.
template <class T>
struct PythonType {
    static std::string name() {
        if constexpr (std::is_same_v<T, bool>) {
            return "bool";
        } else if constexpr (std::is_integral_v<T>) {
            return "int";
        } else if constexpr (std::is_floating_point_v<T>) {
            return "float";
        } else {
            return "str";  // also of an enum
        }
    }
};
template <class T>
struct PythonType<std::vector<T>> {
    static std::string name() { return "tuple[" + PythonType<T>::name() + ", ...]"; }
};

void assign(ClassWeight& to, const std::string& word) {
    if (word == "none") {
        to = ClassWeight::none;
    } else if (word == "given") {
        to = ClassWeight::given;
    } else if (word == "table") {
        to = ClassWeight::table;
    } else if (word == "bag") {
        to = ClassWeight::bag;
    } else {
        throw std::invalid_argument("class_weight must be none, given, table or bag");
    }
}

void assign(Strata& to, const std::string& word) {
    if (word == "none") {
        to = Strata::none;
    } else if (word == "class") {
        to = Strata::classes;
    } else if (word == "given") {
        to = Strata::given;
    } else {
        throw std::invalid_argument("strata must be none, class or given");
    }
}

template <class T>
void read_field(Growth& growth, const GrowthField<T>& field, const nb::kwargs& given) {
    using Given = std::conditional_t<std::is_enum_v<T>, std::string, T>;
    Given value{};
    if (!given.contains(field.name) || !nb::try_cast<Given>(given[field.name], value)) {
        const std::string type = PythonType<T>::name();
        throw nb::type_error(("Growth needs " + std::string(field.name) + ": " + type).c_str());
    }
    if constexpr (std::is_enum_v<T>) {
        assign(growth.*field.member, value);
    } else {
        growth.*field.member = std::move(value);
    }
}

void refuse_unknown(const nb::kwargs& given) {
    for (const auto& [key, value] : given) {
        const auto name = nb::cast<std::string>(key);
        bool is_known = false;
        for_each_growth_field([&](const auto& field) { is_known |= name == field.name; });
        if (!is_known) {
            throw nb::type_error(("Growth has no field " + name).c_str());
        }
    }
}

std::vector<std::pair<std::string, std::string>> growth_fields() {
    std::vector<std::pair<std::string, std::string>> fields;
    for_each_growth_field(
        [&]<class T>(const GrowthField<T>& field) { fields.emplace_back(field.name, PythonType<T>::name()); });
    return fields;
}

}  // namespace

void bind_growth(nb::module_& module) {
    nb::class_<Growth>(module, "Growth",
                       "Parameters of growing as plain numbers: all fields of growth_fields, by "
                       "name.")
        .def(
            "__init__",
            [](Growth* self, const nb::kwargs& given) {
                refuse_unknown(given);
                Growth growth;
                for_each_growth_field([&](const auto& field) { read_field(growth, field, given); });
                new (self) Growth(std::move(growth));
            },
            nb::sig("def __init__(self, **fields: object) -> None"));
    module.def("growth_fields", &growth_fields, "Names and Python types of the fields of Growth, in order.");
}

}  // namespace weald
