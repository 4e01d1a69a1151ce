// The small arrays of a file, which are untrusted: all values are checked when they are read.
//
//   EncodedColumn    an array
//   EncodedColumns   all arrays by name; each is read once
//   take_numbers     integers below a limit
//   Doubles          doubles, or indices into lists of distinct doubles
//   Residual         doubles as differences from predictions
//
// src/weald/io/streams.py writes them. Numbers are little-endian, as those of the machines that weald runs on.

#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/require.h"

namespace weald {

[[noreturn]] inline void refuse(const std::string& why) {
    throw std::invalid_argument(why);
}
[[noreturn]] inline void refuse_array(const std::string& name, const std::string& why) {
    refuse("The array '" + name + "' " + why + ".");
}

// May be unaligned.
struct EncodedColumn {
    enum class Kind { none, whole, with_sign, floating, cut };  // truncated: doubles without their first bytes

    Kind kind = Kind::none;
    std::size_t width = 0;  // bytes of a number
    std::size_t size = 0;
    const std::byte* data = nullptr;

    explicit operator bool() const { return kind != Kind::none; }
    bool is_whole() const { return kind == Kind::whole; }
    bool is_doubles() const { return kind == Kind::floating || kind == Kind::cut; }

    template <class T>
    T load(std::size_t i) const {
        T value;
        std::memcpy(&value, data + i * sizeof(T), sizeof(T));
        return value;
    }
    std::uint64_t number(std::size_t i) const {
        switch (width) {
            case 1:
                return load<std::uint8_t>(i);
            case 2:
                return load<std::uint16_t>(i);
            case 4:
                return load<std::uint32_t>(i);
            default:
                return load<std::uint64_t>(i);
        }
    }
    std::uint64_t largest() const;  // the largest integer; 0 if there are none
    double value(std::size_t i) const {
        if (kind == Kind::floating) {
            return width == sizeof(float) ? static_cast<double>(load<float>(i)) : load<double>(i);
        }
        double whole = 0;
        std::memcpy(reinterpret_cast<std::byte*>(&whole) + sizeof(double) - width, data + i * width, width);
        return whole;
    }
};

class EncodedColumns {
  public:
    void add(const std::string& name, const EncodedColumn& column) { all_[name] = column; }
    bool has(const std::string& name) const { return all_.contains(name); }
    EncodedColumn take(const std::string& name);  // a column of kind `none` if there is none
    EncodedColumn need(const std::string& name);
    void require_empty() const;

  private:
    std::map<std::string, EncodedColumn> all_;
};

EncodedColumn take_numbers(EncodedColumns& columns, const std::string& name, std::size_t length, std::uint64_t below);
// An optional array: if absent, it is of kind none.
EncodedColumn take_numbers_if(EncodedColumns& columns, const std::string& name, std::size_t length,
                              std::uint64_t below);
// Integers up to 2^53, or doubles.
EncodedColumn take_weights(EncodedColumns& columns, const std::string& name, std::size_t length);

inline double weight_at(const EncodedColumn& weights, std::size_t i) {
    const double w = weights.is_whole() ? static_cast<double>(weights.number(i)) : weights.value(i);
    require(std::isfinite(w) && w > 0, "The array 'leaf.weight' contains a weight that is not above 0.");
    return w;
}

// Each group has its own list.
class Doubles {
  public:
    Doubles(EncodedColumns& columns, const std::string& name, std::size_t length, std::size_t n_groups);

    double at(std::size_t i, std::size_t group) const {
        if (of_.is_doubles()) {
            return of_.value(i);
        }
        const std::uint64_t place = of_.number(i);
        require(place < counts_.number(group), "A reference to a list of numbers is past its end.");
        return values_.value(first_[group] + place);
    }

  private:
    EncodedColumn of_, counts_, values_;
    std::vector<std::uint64_t> first_;  // first value of each list among all values
};

// Differences are in units of the last place; larger ones are stored separately.
class Residual {
  public:
    Residual(EncodedColumns& columns, const std::string& name, std::size_t length);

    double restore(std::size_t i, double guess) const {
        if (!near_) {
            return raw_ ? raw_.load<double>(i) : tidy(guess);
        }
        const std::int64_t difference = difference_at(i);
        if (difference == far_mark()) {
            return raw_.load<double>(n_far_before_[i]);
        }
        const auto bits = std::bit_cast<std::uint64_t>(tidy(guess)) + static_cast<std::uint64_t>(difference);
        return std::bit_cast<double>(bits);
    }

  private:
    // A prediction of NaN counts as 0, since the bits of NaN differ between machines.
    static double tidy(double guess) { return guess == guess ? guess : 0.0; }
    std::int64_t difference_at(std::size_t i) const {
        return near_.width == 1 ? near_.load<std::int8_t>(i) : near_.load<std::int16_t>(i);
    }
    std::int64_t far_mark() const {
        return near_.width == 1 ? std::numeric_limits<std::int8_t>::min() : std::numeric_limits<std::int16_t>::min();
    }

    EncodedColumn near_, raw_;
    std::vector<std::size_t> n_far_before_;
};

}  // namespace weald
