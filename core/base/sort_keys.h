// Sorting rows by keys, many at once.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace weald {

template <class Key>
struct Keyed {
    Key key;
    std::uint32_t row;
};

template <class Key>
Key key_of(const Keyed<Key>& item) {
    return item.key;
}
inline std::uint32_t key_of(std::uint32_t key) {
    return key;
}
inline std::uint64_t key_of(std::uint64_t key) {
    return key;
}

// Stable sort by key: radix sort with digits of 11 bits, the lowest first. A digit that all keys share is skipped:
// doubles that were floats or small integers have many of those. Returns the array of the two that holds the result.
template <class Item>
std::span<Item> radix_sort(std::span<Item> items, std::span<Item> spare) {
    using Key = decltype(key_of(items[0]));
    constexpr int kDigit = 11;
    constexpr std::size_t kBuckets = std::size_t{1} << kDigit;
    constexpr int kDigits = (8 * sizeof(Key) + kDigit - 1) / kDigit;
    if (items.size() < 256) {
        std::stable_sort(items.begin(), items.end(),
                         [](const Item& a, const Item& b) { return key_of(a) < key_of(b); });
        return items;
    }
    std::array<std::array<std::uint32_t, kBuckets>, kDigits> counts{};
    for (const Item& item : items) {
        for (int d = 0; d < kDigits; ++d) {
            ++counts[d][(key_of(item) >> (d * kDigit)) & (kBuckets - 1)];
        }
    }
    for (int d = 0; d < kDigits; ++d) {
        auto& starts = counts[d];
        const auto digit = [&](const Item& item) { return (key_of(item) >> (d * kDigit)) & (kBuckets - 1); };
        if (starts[digit(items[0])] == items.size()) {
            continue;
        }
        std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::uint32_t{0});
        for (const Item& item : items) {
            spare[starts[digit(item)]++] = item;
        }
        std::swap(items, spare);
    }
    return items;
}

template <class Item>
void radix_sort(std::vector<Item>& items, std::vector<Item>& spare) {
    spare.resize(items.size());
    if (radix_sort(std::span<Item>(items), std::span<Item>(spare)).data() != items.data()) {
        items.swap(spare);
    }
}

}  // namespace weald
