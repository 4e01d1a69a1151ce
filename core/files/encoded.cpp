#include "files/encoded.h"

#include <algorithm>

namespace weald {

using Kind = EncodedColumn::Kind;

EncodedColumn EncodedColumns::take(const std::string& name) {
    auto found = all_.extract(name);
    return found ? found.mapped() : EncodedColumn{};
}

EncodedColumn EncodedColumns::need(const std::string& name) {
    if (!has(name)) {
        refuse_array(name, "is missing");
    }
    return take(name);
}

void EncodedColumns::require_empty() const {
    std::string names;
    for (const auto& [name, column] : all_) {
        names += (names.empty() ? "" : ", ") + name;
    }
    if (!all_.empty()) {
        refuse("The file has unknown arrays: " + names + ".");
    }
}

namespace {

template <class T>
std::uint64_t largest_of(const EncodedColumn& column) {
    T most = 0;
    for (std::size_t i = 0; i < column.size; ++i) {
        most = std::max(most, column.load<T>(i));
    }
    return most;
}

}  // namespace

std::uint64_t EncodedColumn::largest() const {
    switch (width) {
        case 1:
            return largest_of<std::uint8_t>(*this);
        case 2:
            return largest_of<std::uint16_t>(*this);
        case 4:
            return largest_of<std::uint32_t>(*this);
        default:
            return largest_of<std::uint64_t>(*this);
    }
}

namespace {

void check_numbers(const EncodedColumn& column, const std::string& name, std::size_t length, std::uint64_t below) {
    if (!column.is_whole() || column.size != length) {
        refuse_array(name, "is not " + std::to_string(length) + " numbers from 0");
    }
    if (length != 0 && column.largest() >= below) {
        refuse_array(name, "has a number that is not below " + std::to_string(below));
    }
}

}  // namespace

EncodedColumn take_numbers(EncodedColumns& columns, const std::string& name, std::size_t length, std::uint64_t below) {
    const EncodedColumn column = columns.need(name);
    check_numbers(column, name, length, below);
    return column;
}

EncodedColumn take_numbers_if(EncodedColumns& columns, const std::string& name, std::size_t length,
                              std::uint64_t below) {
    return columns.has(name) ? take_numbers(columns, name, length, below) : EncodedColumn{};
}

EncodedColumn take_weights(EncodedColumns& columns, const std::string& name, std::size_t length) {
    const EncodedColumn column = columns.need(name);
    if (column.is_whole()) {
        check_numbers(column, name, length, (1ull << 53) + 1);
    } else if (!column.is_doubles() || column.size != length) {
        refuse_array(name, "is not " + std::to_string(length) + " numbers");
    }
    return column;
}

Doubles::Doubles(EncodedColumns& columns, const std::string& name, std::size_t length, std::size_t n_groups)
    : of_(columns.need(name)) {
    if (of_.is_doubles()) {
        if (of_.size != length) {
            refuse_array(name, "is not " + std::to_string(length) + " numbers");
        }
        return;
    }
    check_numbers(of_, name, length, 1ull << 63);
    counts_ = take_numbers(columns, name + ".counts", n_groups, 1ull << 32);
    first_.reserve(n_groups);
    std::uint64_t total = 0;
    for (std::size_t g = 0; g < n_groups; ++g) {
        first_.push_back(total);
        total += counts_.number(g);
    }
    values_ = columns.take(name + ".values");
    if ((!values_.is_doubles() && values_) || values_.size != total) {
        refuse_array(name + ".values", "is not as long as its lists are");
    }
}

Residual::Residual(EncodedColumns& columns, const std::string& name, std::size_t length)
    : near_(columns.take(name)), raw_(columns.take(name + ".raw")) {
    std::size_t n_far = raw_ && !near_ ? length : 0;
    if (near_) {
        if (near_.kind != Kind::with_sign || near_.width > 2 || near_.size != length) {
            refuse_array(name, "is not " + std::to_string(length) + " small numbers");
        }
        for (std::size_t i = 0; i < length; ++i) {
            n_far += difference_at(i) == far_mark() ? 1 : 0;
        }
    }
    const bool proper = raw_.kind == Kind::floating && raw_.width == sizeof(double) && raw_.size == n_far;
    if (!proper && (raw_ || n_far != 0)) {
        refuse_array(name + ".raw", "is not " + std::to_string(n_far) + " numbers");
    }
    if (near_ && n_far != 0) {
        n_far_before_.reserve(length);
        std::size_t before = 0;
        for (std::size_t i = 0; i < length; ++i) {
            n_far_before_.push_back(before);
            before += difference_at(i) == far_mark() ? 1 : 0;
        }
    }
}

}  // namespace weald
