// Kernels: the similarity of samples and prototypes, many pairs at once.
//
//   KernelRule      the kernel and its parameters, as numbers
//   Samples         vectors or curves, one after the other
//   fill_kernel     a column for each prototype with a value for each sample
//
// The lanes of a vector hold different samples, and the sum of a pair runs over the elements of its samples from the
// first to the last. So every instruction set gives the same bits, and so does the definition in NumPy.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/threads.h"

namespace weald {

// The terms that are added up over the elements of two samples x and y.
enum class Pairing : std::uint8_t {
    product,   // x y
    distance,  // (x - y)^2
    warping,   // (x - y)^2 along the cheapest path that goes through both curves
};

// The function of that sum s.
enum class Shape : std::uint8_t {
    plain,     // s
    gaussian,  // exp(-gamma s)
    power,     // (gamma s + shift)^degree
    tanh,      // tanh(gamma s + shift)
};

struct KernelRule {
    Pairing pairing;
    Shape shape;
    double gamma;
    double shift;
    std::uint32_t degree;
    double band;  // warping: maximum distance of paths from the diagonal, as a fraction of the longer curve
};

// Sample i is values[starts[i]] ... values[starts[i + 1] - 1]. Only warping compares samples of different lengths.
struct Samples {
    std::span<const double> values;
    std::span<const std::int64_t> starts;

    std::size_t size() const { return starts.size() - 1; }
    std::size_t length(std::size_t i) const { return static_cast<std::size_t>(starts[i + 1] - starts[i]); }
    const double* at(std::size_t i) const { return values.data() + starts[i]; }
};

// The value of sample i and prototype p goes to columns[p * samples.size() + i].
void fill_kernel(const Samples& samples, const Samples& prototypes, const KernelRule& rule, std::span<double> columns,
                 Work& work);

}  // namespace weald
