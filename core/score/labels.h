// The payload of a row next to its id, and its sums.
//
//   TwoClasses       counts of two classes, packed into one 64-bit word
//   CountedClasses   a class and a count
//   WeightedClasses  a class and a weight in fixed point
//   CountedNumbers   a target as an integer and a count, packed into one 64-bit word
//   WeightedNumbers  a target as an integer and a weight in fixed point; sums have 128 bits
//   WideNumbers      the same with more bits, if outliers leave too few digits for the other targets
//
// A Payload is stored next to a row's id; a Cell is a sum over rows. For the search by bins, a Bin is a Cell with
// additional sums to bound the cuts inside the bin; an Inside has these sums for one node. A Carried is an inherited
// bin (search/inherited_bins.h). A Cells is an array of cells, laid out for vector code.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/uint256.h"
#include "score/criteria.h"

namespace weald {

template <class Cell>
class PlainCells {
  public:
    void resize(std::size_t n) { cells_.resize(n); }
    void set(std::size_t i, const Cell& cell) { cells_[i] = cell; }
    Cell get(std::size_t i) const { return cells_[i]; }

    struct View {
        const Cell* cells;
        Cell get(std::size_t i) const { return cells[i]; }
    };
    // Some adjacent cells, with another added to each.
    template <std::size_t N>
    struct Group {
        std::array<Cell, N> cells;
        Group(const View& view, std::size_t begin, const Cell& added) {
            for (std::size_t j = 0; j < N; ++j) {
                cells[j] = view.cells[begin + j] + added;
            }
        }
        Cell get(std::size_t j) const { return cells[j]; }
    };
    View view() const { return {cells_.data()}; }

  private:
    std::vector<Cell> cells_;
};

// The distribution of the targets of a node about their mean.
template <class Number>
struct SpreadOf {
    Number mean = 0;
    double reach = std::numeric_limits<double>::infinity();  // the largest distance from it
};
using Spread = SpreadOf<std::int64_t>;

struct TwoClasses {
    using Payload = std::uint32_t;  // class << 16 | count
    using Cell = std::uint64_t;     // count of class 0 | count of class 1 << 32
    using Bin = Cell;
    using Cells = PlainCells<Cell>;
    static constexpr std::uint32_t kMaxCount = 0xFFFF;

    static Payload pack(std::uint32_t of_class, std::uint32_t count) { return of_class << 16 | count; }
    static Cell cell(Payload payload) { return static_cast<Cell>(payload & kMaxCount) << ((payload >> 16) * 32); }
    static void add(Bin& bin, Payload payload) { bin += cell(payload); }
    static void add(Bin& bin, Payload payload, std::int64_t /*mean*/) { add(bin, payload); }
    static Cell cell_of(const Bin& bin) { return bin; }
    static bool is_empty(const Cell& cell) { return cell == 0; }

    using Carried = Cell;
    static Carried carried(Payload payload) { return cell(payload); }

    using Inside = Bin;
    static Inside inside_of(const Bin& bin, const Spread&) { return bin; }
};

struct CountedClasses {
    using Payload = std::uint32_t;  // class << 16 | count
    static constexpr std::uint32_t kMaxCount = 0xFFFF;

    std::span<const std::uint64_t> scales;  // scale of each class

    static Payload pack(std::uint32_t of_class, std::uint32_t count) { return of_class << 16 | count; }
    static std::uint32_t class_of(Payload payload) { return payload >> 16; }
    static std::uint32_t size(Payload payload) { return payload & kMaxCount; }
    std::uint64_t weight(Payload payload) const { return size(payload) * scales[class_of(payload)]; }
};

struct WeightedClasses {
    struct Payload {
        std::uint64_t weight;
        std::uint32_t of_class;
    };

    static std::uint32_t class_of(const Payload& payload) { return payload.of_class; }
    static std::uint32_t size(const Payload&) { return 1; }
    static std::uint64_t weight(const Payload& payload) { return payload.weight; }
};

struct CountedNumbers {
    using Payload = std::uint64_t;  // q << count_bits | count
    struct Cell {
        std::int64_t sum = 0;
        std::int64_t weight = 0;

        Cell& operator+=(const Cell& other) {
            sum += other.sum;
            weight += other.weight;
            return *this;
        }
        friend Cell operator+(Cell a, const Cell& b) { return a += b; }
        friend Cell operator-(const Cell& a, const Cell& b) { return {a.sum - b.sum, a.weight - b.weight}; }
        bool operator==(const Cell&) const = default;
        std::int64_t size() const { return weight; }
    };
    using Number = std::int64_t;
    using Sum = std::int64_t;
    using Squares = Int128;  // sums of squared targets
    using Near = float;      // squares of sums are below 2^124
    class Cells {
      public:
        void resize(std::size_t n) {
            sums_.resize(n);
            weights_.resize(n);
        }
        void set(std::size_t i, const Cell& cell) {
            sums_[i] = cell.sum;
            weights_[i] = cell.weight;
        }
        Cell get(std::size_t i) const { return {sums_[i], weights_[i]}; }

        struct View {
            const std::int64_t* sums;
            const std::int64_t* weights;
            Cell get(std::size_t i) const { return {sums[i], weights[i]}; }
        };
        template <std::size_t N>
        struct Group {
            std::array<std::int64_t, N> sums;
            std::array<std::int64_t, N> weights;
            Group(const View& view, std::size_t begin, const Cell& added) {
                for (std::size_t j = 0; j < N; ++j) {
                    sums[j] = view.sums[begin + j] + added.sum;
                    weights[j] = view.weights[begin + j] + added.weight;
                }
            }
            Cell get(std::size_t j) const { return {sums[j], weights[j]}; }
        };
        View view() const { return {sums_.data(), weights_.data()}; }

      private:
        std::vector<std::int64_t> sums_;
        std::vector<std::int64_t> weights_;
    };
    struct Bin {
        Cell cell;
        std::int64_t above = 0;  // sum of the deviations above the node's mean
    };

    unsigned count_bits = 0;  // a count is at most the number of draws, so both fit

    Payload pack(std::int64_t q, std::uint32_t count) const {
        return static_cast<std::uint64_t>(q) << count_bits | count;
    }
    std::int64_t count(Payload payload) const {
        return static_cast<std::int64_t>(payload & ((std::uint64_t{1} << count_bits) - 1));
    }
    std::int64_t number(Payload payload) const { return static_cast<std::int64_t>(payload) >> count_bits; }
    Cell cell(Payload payload) const { return {number(payload) * count(payload), count(payload)}; }
    void add(Bin& bin, Payload payload) const { bin.cell += cell(payload); }
    void add(Bin& bin, Payload payload, std::int64_t mean) const {
        const std::int64_t n = count(payload);
        const std::int64_t q = number(payload);
        bin.cell += Cell{q * n, n};
        const std::int64_t over = q - mean;
        bin.above += (over & ~(over >> 63)) * n;  // a branch would be unpredictable
    }
    static Cell cell_of(const Bin& bin) { return bin.cell; }
    static bool is_empty(const Cell& cell) { return cell.weight == 0; }

    // An inherited bin has no mean but squares, whose root bounds the sum above any mean. They are of the targets in
    // units of 2^unit(), rounded down, so that the sum over all draws fits 62 bits.
    typedef std::int64_t Carried __attribute__((vector_size(32)));  // sum, weight, squares, and nothing
    unsigned unit() const { return 61 - count_bits - (62 - count_bits) / 2; }
    Carried carried(Payload payload) const {
        const std::int64_t n = count(payload);
        const std::int64_t q = number(payload);
        const std::int64_t in_units = q >> unit();
        return Carried{q * n, n, in_units * in_units * n, 0};
    }
    static Cell cell_of(const Carried& bin) { return {bin[0], bin[1]}; }
    struct Inside {
        Cell cell;
        std::int64_t above;  // upper bound of the sum above the node's mean
        float squares;       // upper bound of the sum of squares about it
    };
    static Inside inside_of(const Bin& bin, const Spread& spread) {
        const auto inside = static_cast<double>(bin.cell.sum - spread.mean * bin.cell.weight);
        const double distances = 2 * static_cast<double>(bin.above) - inside;
        return {bin.cell, bin.above, static_cast<float>(distances * spread.reach)};
    }
    // The sum above the mean is half of (sum + sum of absolute deviations) about it, and by the Cauchy-Schwarz
    // inequality the sum of absolute deviations is at most the root of weight times sum of squares. An integer number
    // of units stands for targets up to half a unit from the middle of its unit.
    Inside inside_of(const Carried& bin, const Spread& spread) const {
        const auto one = static_cast<double>(std::int64_t{1} << unit());
        const auto weight = static_cast<double>(bin[1]);
        const auto squares = static_cast<double>(bin[2]);
        const double middle = static_cast<double>(spread.mean) / one - 0.5;
        const double sum = static_cast<double>(bin[0]) / one - 0.5 * weight;  // sum, within half a unit per number
        const double about = squares - 2 * middle * sum + (std::abs(middle) + middle * middle) * weight;
        const double rounding = (squares + middle * middle * weight) * 0x1p-48;
        const double length = std::sqrt(std::max(0.0, about + rounding)) + 0.5 * std::sqrt(weight);
        const double distances = std::sqrt(weight) * length * one;
        const auto inside = static_cast<double>(bin[0] - spread.mean * bin[1]);
        const double above = 0.5 * (inside + distances) + (std::abs(inside) + distances) * 0x1p-48;
        return {cell_of(bin), static_cast<std::int64_t>(above) + 1, static_cast<float>(length * length * one * one)};
    }
};

struct FixedNumber {
    std::int64_t q;
    std::int64_t weight;

    static std::int64_t size() { return 1; }
};

struct WideNumber {
    Int128 q;
    std::int64_t weight;
    std::int64_t n_draws;

    std::int64_t size() const { return n_draws; }
};

template <class PayloadT, class SquaresT>
struct LongNumbers {
    using Payload = PayloadT;
    using Number = decltype(Payload::q);
    using Squares = SquaresT;
    struct Cell {
        Int128 sum = 0;
        std::int64_t weight = 0;
        std::int64_t n_rows = 0;

        Cell& operator+=(const Cell& other) {
            sum += other.sum;
            weight += other.weight;
            n_rows += other.n_rows;
            return *this;
        }
        friend Cell operator+(Cell a, const Cell& b) { return a += b; }
        friend Cell operator-(const Cell& a, const Cell& b) {
            return {a.sum - b.sum, a.weight - b.weight, a.n_rows - b.n_rows};
        }
        std::int64_t size() const { return n_rows; }
    };
    using Sum = Int128;
    using Near = double;
    using Cells = PlainCells<Cell>;
    struct Bin {
        Cell cell;
        Int128 above = 0;
    };

    static Number number(const Payload& payload) { return payload.q; }
    static std::int64_t count(const Payload& payload) { return payload.weight; }
    static Cell cell(const Payload& payload) {
        return {static_cast<Int128>(payload.q) * payload.weight, payload.weight, payload.size()};
    }
    static void add(Bin& bin, const Payload& payload) { bin.cell += cell(payload); }
    static void add(Bin& bin, const Payload& payload, Number mean) {
        add(bin, payload);
        if (payload.q > mean) {
            bin.above += static_cast<Int128>(payload.q - mean) * payload.weight;
        }
    }
    static Cell cell_of(const Bin& bin) { return bin.cell; }
    struct Inside {
        Cell cell;
        Int128 above;
        double squares;
    };
    static Inside inside_of(const Bin& bin, const SpreadOf<Number>& spread) {
        const Int128 inside = bin.cell.sum - static_cast<Int128>(spread.mean) * bin.cell.weight;
        return {bin.cell, bin.above, static_cast<double>(2 * bin.above - inside) * spread.reach};
    }
    static bool is_empty(const Cell& cell) { return cell.weight == 0; }
};

using WeightedNumbers = LongNumbers<FixedNumber, Int128>;
using WideNumbers = LongNumbers<WideNumber, UInt256>;

}  // namespace weald
