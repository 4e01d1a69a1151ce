#include "coding/target.h"

#include <array>
#include <numeric>
#include <utility>

namespace weald {

namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();  // the width of values that are all equal

using NumberOnLine = std::pair<double, std::uint64_t>;  // a value and its length

std::uint64_t length_of(std::span<const std::uint64_t> lengths, std::size_t i) {
    return lengths.empty() ? 1 : lengths[i];
}

// The smallest of sorted values up to which at least this many quarters of the length lie.
double quantile(const std::vector<NumberOnLine>& sorted, std::uint64_t total, std::uint64_t quarters) {
    std::uint64_t seen = 0;
    for (const auto& [value, length] : sorted) {
        seen += length;
        if (4 * seen >= quarters * total) {
            return value;
        }
    }
    return sorted.back().first;
}

std::uint64_t sort_and_add_up(std::vector<NumberOnLine>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const NumberOnLine& number) { return sum + number.second; });
}

// The same for values of equal weight, which are reordered.
double quantile(std::vector<double>& numbers, std::uint64_t quarters) {
    const auto place = static_cast<std::ptrdiff_t>((quarters * numbers.size() + 3) / 4) - 1;
    std::nth_element(numbers.begin(), numbers.begin() + place, numbers.end());
    return numbers[static_cast<std::size_t>(place)];
}

TargetSpread spread_of_equals(std::vector<double> numbers) {
    const double median = quantile(numbers, 2);
    const double width = quantile(numbers, 3) - quantile(numbers, 1);
    if (width > 0) {
        return {median, width};
    }
    std::erase(numbers, median);
    std::transform(numbers.begin(), numbers.end(), numbers.begin(), [&](double v) { return std::abs(v - median); });
    return {median, numbers.empty() ? kNone : quantile(numbers, 2)};
}

}  // namespace

TargetSpread spread_of(std::span<const double> y, std::span<const std::uint64_t> lengths) {
    if (lengths.empty()) {
        return spread_of_equals({y.begin(), y.end()});
    }
    std::vector<NumberOnLine> numbers(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        numbers[i] = {y[i], lengths[i]};
    }
    const std::uint64_t total = sort_and_add_up(numbers);
    const double median = quantile(numbers, total, 2);
    const double width = quantile(numbers, total, 3) - quantile(numbers, total, 1);
    if (width > 0) {
        return {median, width};
    }
    std::erase_if(numbers, [&](const NumberOnLine& number) { return number.first == median; });
    for (NumberOnLine& number : numbers) {
        number.first = std::abs(number.first - median);
    }
    const std::uint64_t of_others = sort_and_add_up(numbers);
    return {median, numbers.empty() ? kNone : quantile(numbers, of_others, 2)};
}

bool quartiles_are_apart(std::span<const double> y, std::span<const std::uint64_t> lengths, double least) {
    constexpr std::size_t kBuckets = 4096;
    const auto [low, high] = std::minmax_element(y.begin(), y.end());
    const double first = *low / 2;
    const double step = (*high / 2 - first) / kBuckets;  // half of the range of a bucket: the whole might overflow
    if (!std::isfinite(1 / step)) {
        return false;
    }
    std::array<std::uint64_t, kBuckets> filled{};
    for (std::size_t i = 0; i < y.size(); ++i) {
        const auto bucket = static_cast<std::size_t>((y[i] / 2 - first) * (1 / step));
        filled[std::min(bucket, kBuckets - 1)] += length_of(lengths, i);
    }
    const std::uint64_t total = std::accumulate(filled.begin(), filled.end(), std::uint64_t{0});
    const auto bucket_of = [&](std::uint64_t quarters) {
        std::uint64_t seen = 0;
        std::size_t bucket = 0;
        while (4 * (seen += filled[bucket]) < quarters * total) {
            ++bucket;
        }
        return bucket;
    };
    const std::size_t apart = bucket_of(3) - bucket_of(1);
    // The first and last bucket need not be full, and rounding may move a value to the next bucket.
    return apart > 4 && static_cast<double>(apart - 4) * 2 * step >= least;
}

}  // namespace weald
