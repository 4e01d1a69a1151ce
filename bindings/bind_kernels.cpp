// Kernels: columns of similarities, and columns that are coded a block at a time.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "arrays.h"
#include "inspect/kernels.h"

namespace weald {

using namespace nb::literals;

namespace {

template <class Word, std::size_t N>
Word find_word(const std::string& word, const std::array<std::pair<std::string_view, Word>, N>& words) {
    for (const auto& [name, meaning] : words) {
        if (name == word) {
            return meaning;
        }
    }
    throw std::invalid_argument("unknown part of a kernel: " + word);
}

Samples samples_of(const Vector<double>& values, const Vector<std::int64_t>& starts, bool any_length) {
    const Samples samples{span_of(values), span_of(starts)};
    bool is_right = !samples.starts.empty() && samples.starts.front() == 0 &&
                    samples.starts.back() == static_cast<std::int64_t>(values.size()) &&
                    std::is_sorted(samples.starts.begin(), samples.starts.end());
    for (std::size_t i = 0; is_right && i < samples.size(); ++i) {
        is_right = samples.length(i) > 0 && (any_length || samples.length(i) == samples.length(0));
    }
    if (!is_right || samples.size() > 0x7FFFFFFFu) {
        throw std::invalid_argument("the arrays are not samples");
    }
    return samples;
}

NumpyMatrix<double> bind_kernel_columns(const Vector<double>& values, const Vector<std::int64_t>& starts,
                                        const Vector<double>& prototype_values,
                                        const Vector<std::int64_t>& prototype_starts, const std::string& pairing,
                                        const std::string& shape, double gamma, double shift, std::uint32_t degree,
                                        double band, std::size_t n_threads, const nb::object& watch) {
    using namespace std::string_view_literals;
    const KernelRule rule{
        find_word(pairing,
                  std::array{std::pair{"product"sv, Pairing::product}, std::pair{"distance"sv, Pairing::distance},
                             std::pair{"warping"sv, Pairing::warping}}),
        find_word(shape, std::array{std::pair{"plain"sv, Shape::plain}, std::pair{"gaussian"sv, Shape::gaussian},
                                    std::pair{"power"sv, Shape::power}, std::pair{"tanh"sv, Shape::tanh}}),
        gamma,
        shift,
        degree,
        band};
    const bool any_length = rule.pairing == Pairing::warping;
    const Samples samples = samples_of(values, starts, any_length);
    const Samples prototypes = samples_of(prototype_values, prototype_starts, any_length);
    if (!any_length && samples.size() > 0 && prototypes.size() > 0 && samples.length(0) != prototypes.length(0)) {
        throw std::invalid_argument("samples and prototypes differ in length");
    }
    std::vector<double> columns(samples.size() * prototypes.size());
    Work work = make_work(n_threads, watch);
    {
        const nb::gil_scoped_release release;
        fill_kernel(samples, prototypes, rule, columns, work);
    }
    return to_numpy(std::move(columns), prototypes.size(), samples.size());
}

}  // namespace

void bind_kernels(nb::module_& module) {
    module.def("kernel_columns", &bind_kernel_columns, "values"_a, "starts"_a, "prototype_values"_a,
               "prototype_starts"_a, "pairing"_a, "shape"_a, "gamma"_a, "shift"_a, "degree"_a, "band"_a, "n_threads"_a,
               "watch"_a.none(), "Values of a kernel, prototypes x samples.");
}

}  // namespace weald
