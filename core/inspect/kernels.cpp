#include "inspect/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weald {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t kLanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 4;
#endif

// Two registers, so that their latencies overlap.
typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Longs __attribute__((vector_size(kLanes * sizeof(std::int64_t))));

constexpr std::size_t kPrototypesAtOnce = 4;
constexpr std::size_t kPanelsAtOnce = 8;  // panels of a task

// ---- Shapes, computed by + - * / only, in the order written

// exp(x) for x <= 0; 0 below -700. x = k ln 2 + r, and exp(r) is its series up to r^13, from its last term inward.
Doubles exp_of(Doubles x) {
    constexpr double kMagic = 0x1.8p52;  // adding it rounds to an integer, whose bits are at the end
    constexpr double kInverse[] = {1.0 / 6227020800.0,
                                   1.0 / 479001600.0,
                                   1.0 / 39916800.0,
                                   1.0 / 3628800.0,
                                   1.0 / 362880.0,
                                   1.0 / 40320.0,
                                   1.0 / 5040.0,
                                   1.0 / 720.0,
                                   1.0 / 120.0,
                                   1.0 / 24.0,
                                   1.0 / 6.0,
                                   0.5,
                                   1.0,
                                   1.0};
    const Doubles zero{};
    const Doubles inside = x < -700.0 ? zero : x;
    const Doubles shifted = inside * 1.4426950408889634 + kMagic;
    const Doubles k = shifted - kMagic;
    const Doubles r = (inside - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    Doubles sum = zero + kInverse[0];
    for (std::size_t i = 1; i < std::size(kInverse); ++i) {
        sum = sum * r + kInverse[i];
    }
    const Longs exponent = (reinterpret_cast<Longs>(shifted) << 52) + (std::int64_t{1023} << 52);
    return x < -700.0 ? zero : sum * reinterpret_cast<Doubles>(exponent);
}

Doubles shape_of(Doubles sum, const KernelRule& rule) {
    const Doubles zero{};
    switch (rule.shape) {
        case Shape::plain:
            return sum;
        case Shape::gaussian:
            return exp_of(-rule.gamma * sum);
        case Shape::power: {
            const Doubles base = sum * rule.gamma + rule.shift;
            Doubles power = base;
            for (std::uint32_t i = 1; i < rule.degree; ++i) {
                power = power * base;
            }
            return power;
        }
        case Shape::tanh: {
            const Doubles x = sum * rule.gamma + rule.shift;
            const Doubles e = exp_of((x < zero ? x : -x) * 2.0);
            const Doubles t = (1.0 - e) / (1.0 + e);
            return x < zero ? -t : t;
        }
    }
    return sum;
}

// ---- Panels: samples of one length, one per lane, element by element

struct Panel {
    std::size_t length = 0;
    std::size_t n = 0;  // number of lanes in use
    std::size_t rows[kLanes];
    std::vector<Doubles> places;
};

void fill_panel(const Samples& samples, std::span<const std::uint32_t> rows, Panel& panel) {
    panel.length = samples.length(rows[0]);
    panel.n = rows.size();
    panel.places.assign(panel.length, Doubles{});
    for (std::size_t lane = 0; lane < rows.size(); ++lane) {
        panel.rows[lane] = rows[lane];
        const double* values = samples.at(rows[lane]);
        for (std::size_t i = 0; i < panel.length; ++i) {
            panel.places[i][lane] = values[i];
        }
    }
}

void write(const Doubles& values, const Panel& panel, std::size_t n_rows, std::size_t prototype,
           std::span<double> columns) {
    for (std::size_t lane = 0; lane < panel.n; ++lane) {
        columns[prototype * n_rows + panel.rows[lane]] = values[lane];
    }
}

template <Pairing pairing, std::size_t N>
void add_up(const Panel& panel, const Samples& prototypes, std::size_t first, const KernelRule& rule,
            std::size_t n_rows, std::span<double> columns) {
    Doubles sums[N] = {};
    const double* values[N];
    for (std::size_t p = 0; p < N; ++p) {
        values[p] = prototypes.at(first + p);
    }
    for (std::size_t i = 0; i < panel.length; ++i) {
        const Doubles x = panel.places[i];
        for (std::size_t p = 0; p < N; ++p) {
            if constexpr (pairing == Pairing::product) {
                sums[p] += x * values[p][i];
            } else {
                const Doubles apart = x - values[p][i];
                sums[p] += apart * apart;
            }
        }
    }
    for (std::size_t p = 0; p < N; ++p) {
        write(shape_of(sums[p], rule), panel, n_rows, first + p, columns);
    }
}

template <Pairing pairing>
void compare(const Panel& panel, const Samples& prototypes, const KernelRule& rule, std::size_t n_rows,
             std::span<double> columns) {
    std::size_t p = 0;
    for (; p + kPrototypesAtOnce <= prototypes.size(); p += kPrototypesAtOnce) {
        add_up<pairing, kPrototypesAtOnce>(panel, prototypes, p, rule, n_rows, columns);
    }
    for (; p < prototypes.size(); ++p) {
        add_up<pairing, 1>(panel, prototypes, p, rule, n_rows, columns);
    }
}

// ---- Warping

// The width of the band: enough to reach the end of the longer curve.
std::size_t band_width(double share, std::size_t n, std::size_t m) {
    const auto wide = static_cast<std::size_t>(std::floor(share * static_cast<double>(std::max(n, m))));
    return std::max(wide, n > m ? n - m : m - n);
}

Doubles smaller(const Doubles& a, const Doubles& b) {
    return a < b ? a : b;
}

// costs[j + 1]: of the cheapest path to position j of the samples and position i of the prototype, row by row.
Doubles warp(const Panel& panel, const double* prototype, std::size_t m, double share, std::vector<Doubles>& before,
             std::vector<Doubles>& costs) {
    const std::size_t n = panel.length;
    const std::size_t width = band_width(share, n, m);
    const Doubles never = Doubles{} + std::numeric_limits<double>::infinity();
    before.assign(n + 1, never);
    costs.assign(n + 1, never);
    before[0] = Doubles{};
    for (std::size_t i = 0; i < m; ++i) {
        const std::size_t begin = i > width ? i - width : 0;
        const std::size_t end = std::min(n, i + width + 1);
        costs[begin] = never;
        Doubles last = never;
        for (std::size_t j = begin; j < end; ++j) {
            const Doubles apart = panel.places[j] - prototype[i];
            last = apart * apart + smaller(smaller(before[j], before[j + 1]), last);
            costs[j + 1] = last;
        }
        if (end < n) {
            costs[end + 1] = never;
        }
        before.swap(costs);
    }
    return before[n];
}

void warp_all(const Panel& panel, const Samples& prototypes, const KernelRule& rule, std::size_t n_rows,
              std::span<double> columns, Work& work) {
    std::vector<Doubles> before;
    std::vector<Doubles> costs;
    for (std::size_t p = 0; p < prototypes.size(); ++p) {
        work.check();
        const Doubles sum = warp(panel, prototypes.at(p), prototypes.length(p), rule.band, before, costs);
        write(shape_of(sum, rule), panel, n_rows, p, columns);
    }
}

// Samples in one vector must have the same length.
std::vector<std::uint32_t> sort_by_length(const Samples& samples) {
    std::vector<std::uint32_t> rows(samples.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
        rows[i] = i;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return samples.length(a) < samples.length(b); });
    return rows;
}

// Where each panel begins in the rows, and where the last ends.
std::vector<std::size_t> divide(const Samples& samples, const std::vector<std::uint32_t>& rows) {
    std::vector<std::size_t> begins{0};
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (i - begins.back() == kLanes || samples.length(rows[i]) != samples.length(rows[begins.back()])) {
            begins.push_back(i);
        }
    }
    begins.push_back(rows.size());
    return begins;
}

}  // namespace

void fill_kernel(const Samples& samples, const Samples& prototypes, const KernelRule& rule, std::span<double> columns,
                 Work& work) {
    if (samples.size() == 0) {
        return;
    }
    const std::vector<std::uint32_t> rows = sort_by_length(samples);
    const std::vector<std::size_t> begins = divide(samples, rows);
    const std::size_t n_panels = begins.size() - 1;
    std::vector<Panel> panels(work.n_threads());
    work.run((n_panels + kPanelsAtOnce - 1) / kPanelsAtOnce, [&](std::size_t task, std::size_t thread) {
        Panel& panel = panels[thread];
        const std::size_t end = std::min(n_panels, (task + 1) * kPanelsAtOnce);
        for (std::size_t p = task * kPanelsAtOnce; p < end; ++p) {
            work.check();
            fill_panel(samples, std::span(rows).subspan(begins[p], begins[p + 1] - begins[p]), panel);
            switch (rule.pairing) {
                case Pairing::product:
                    compare<Pairing::product>(panel, prototypes, rule, samples.size(), columns);
                    break;
                case Pairing::distance:
                    compare<Pairing::distance>(panel, prototypes, rule, samples.size(), columns);
                    break;
                case Pairing::warping:
                    warp_all(panel, prototypes, rule, samples.size(), columns, work);
                    break;
            }
        }
    });
}

}  // namespace weald
