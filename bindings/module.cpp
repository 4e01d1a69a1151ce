// The Python module: nothing but bind calls.
//
// This file is compiled once for each instruction set; the build gives WEALD_MODULE (the module's name) and WEALD_SIMD
// (the set's name).

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "base/cpu.h"

namespace nb = nanobind;

namespace weald {

void bind_codes(nb::module_& module);
void bind_dependence(nb::module_& module);
void bind_files(nb::module_& module);
void bind_forest(nb::module_& module);
void bind_growth(nb::module_& module);
void bind_importance(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_out_of_bag(nb::module_& module);
void bind_packed(nb::module_& module);
void bind_packed_rows(nb::module_& module);
void bind_parts(nb::module_& module);
void bind_shap(nb::module_& module);
void bind_sharing(nb::module_& module);
void bind_stored(nb::module_& module);
void bind_surface(nb::module_& module);

}  // namespace weald

NB_MODULE(WEALD_MODULE, module) {
    nb::set_leak_warnings(false);  // a model that a user keeps until the interpreter exits is not a leak
    module.attr("simd") = WEALD_SIMD;
    module.def("cpu_supports", &weald::cpu_supports, nb::arg("simd"),
               "Whether this processor can run the instruction set of that name.");
    weald::bind_growth(module);
    weald::bind_forest(module);
    weald::bind_codes(module);
    weald::bind_dependence(module);
    weald::bind_files(module);
    weald::bind_importance(module);
    weald::bind_kernels(module);
    weald::bind_packed(module);
    weald::bind_packed_rows(module);
    weald::bind_out_of_bag(module);
    weald::bind_parts(module);
    weald::bind_shap(module);
    weald::bind_sharing(module);
    weald::bind_stored(module);
    weald::bind_surface(module);
}
