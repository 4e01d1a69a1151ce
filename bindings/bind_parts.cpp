// Parts of the core, bound one by one so that the tests can hold them against published values and the reference.

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include "random.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace weald {

void bind_parts(nb::module_& module) {
    module.def("mix64", &mix64, "word"_a, "The splitmix64 finaliser.");
    module.def("philox", &philox, "counter"_a, "key"_a, "Philox4x32-10: four words of random bits.");
    module.def(
        "draw",
        [](std::uint64_t seed, std::uint64_t id, std::uint32_t tree, std::uint32_t purpose, std::uint32_t i) {
            return draw({seed, id, tree, purpose}, i);
        },
        "seed"_a, "id"_a, "tree"_a, "purpose"_a, "i"_a, "The 64 random bits at an address.");
    module.def("below", &below, "bits"_a, "n"_a, "floor(bits * n / 2**64): a number from 0 to n - 1.");
}

}  // namespace weald
