// Sorting some tens or hundreds of keys without a branch.
//
// A bitonic network on vectors of keys: each step compares every key with a partner at a fixed distance, so a step is a
// shuffle, a minimum, a maximum and a blend. The vectors are those of the compiler, as wide as the instruction set
// allows.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/vectors.h"

namespace weald {

namespace network {

using namespace vectors;

inline Keys lesser(Keys a, Keys b) {
    return a < b ? a : b;
}
inline Keys greater(Keys a, Keys b) {
    return a < b ? b : a;
}

// The key of the lane whose number differs by the bits of Flip.
template <std::uint32_t Flip>
inline Keys partner(Keys keys) {
    constexpr Keys from = lanes([](std::uint32_t lane) { return lane ^ Flip; });
    return __builtin_shuffle(keys, from);
}

// The lower lane of each pair takes the smaller key.
template <std::uint32_t Flip>
inline Keys step(Keys keys) {
    constexpr Keys is_upper = lanes([](std::uint32_t lane) { return (lane ^ Flip) < lane ? ~0u : 0u; });
    const Keys other = partner<Flip>(keys);
    return is_upper ? greater(keys, other) : lesser(keys, other);
}

// Sorts runs of 2 * Distance keys that rise and then fall, or the reverse.
template <std::uint32_t Distance>
inline Keys merge(Keys keys) {
    if constexpr (Distance == 0) {
        return keys;
    } else {
        return merge<Distance / 2>(step<Distance>(keys));
    }
}

// Sorts a vector in which runs of Run / 2 keys are sorted.
template <std::uint32_t Run>
inline Keys sort(Keys keys) {
    keys = merge<Run / 4>(step<Run - 1>(keys));
    if constexpr (Run == kLanes) {
        return keys;
    } else {
        return sort<2 * Run>(keys);
    }
}

// Merges two sorted halves of N vectors each.
template <std::size_t N>
inline void merge_halves(std::array<Keys, N>& v, std::size_t begin, std::size_t n) {
    for (std::size_t i = 0; i < n / 2; ++i) {
        const Keys a = v[begin + i];
        const Keys b = partner<kLanes - 1>(v[begin + n - 1 - i]);
        v[begin + i] = lesser(a, b);
        v[begin + n - 1 - i] = partner<kLanes - 1>(greater(a, b));
    }
    for (std::size_t distance = n / 4; distance > 0; distance /= 2) {
        for (std::size_t i = 0; i < n; ++i) {
            if ((i & distance) == 0) {
                const Keys a = v[begin + i];
                const Keys b = v[begin + i + distance];
                v[begin + i] = lesser(a, b);
                v[begin + i + distance] = greater(a, b);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        v[begin + i] = merge<kLanes / 2>(v[begin + i]);
    }
}

template <std::size_t NKeys>
inline void sort_keys(std::uint32_t* keys) {
    constexpr std::size_t N = NKeys / kLanes;
    std::array<Keys, N> v;
    for (std::size_t i = 0; i < N; ++i) {
        __builtin_memcpy(&v[i], keys + i * kLanes, sizeof(Keys));
        v[i] = sort<2>(v[i]);
    }
    for (std::size_t n = 2; n <= N; n *= 2) {
        for (std::size_t begin = 0; begin < N; begin += n) {
            merge_halves<N>(v, begin, n);
        }
    }
    for (std::size_t i = 0; i < N; ++i) {
        __builtin_memcpy(keys + i * kLanes, &v[i], sizeof(Keys));
    }
}

}  // namespace network

// The maximum that fits into registers: beyond it, the network is slower than a histogram.
inline constexpr std::size_t kMostSorted = vectors::kLanes == 16 ? 256 : vectors::kLanes == 8 ? 64 : 32;

// Sorts `room` keys: 16, 32, 64 ... kMostSorted.
template <std::size_t Room>
inline void sort_room(std::uint32_t* keys, std::size_t room) {
    if (room == Room) {
        network::sort_keys<Room>(keys);
    } else if constexpr (Room < kMostSorted) {
        sort_room<2 * Room>(keys, room);
    }
}

// Sorted keys code << 16 | label << CountBits | count of n <= kMostSorted rows; `labels` are label << 16 | count. All
// three arrays must have room for kMostSorted entries.
template <unsigned CountBits>
inline void sort_labeled(const std::uint16_t* codes, const std::uint32_t* labels, std::uint32_t n,
                         std::uint32_t* keys) {
    using namespace vectors;
    constexpr std::uint32_t kCount = (1u << CountBits) - 1;
    const std::size_t room = std::max<std::size_t>(16, std::bit_ceil(n));
    for (std::uint32_t i = 0; i < room; i += kLanes) {
        const Keys upper = __builtin_convertvector(load<vectors::Codes>(codes + i), Keys) << 16;
        const Keys lower = load<Keys>(labels + i);
        const Keys made = upper | lower >> 16 << CountBits | (lower & kCount);
        store(kNumbers + i < n ? made : ~Keys{}, keys + i);
    }
    sort_room<16>(keys, room);
}

// Sorted keys code << 16 | index of n <= kMostSorted codes. Both arrays must have room for kMostSorted entries, and
// those after the first n are overwritten.
inline void sort_few(const std::uint16_t* codes, std::size_t n, std::uint32_t* keys) {
    const std::size_t room = std::max<std::size_t>(16, std::bit_ceil(n));
    for (std::uint32_t i = 0; i < room; i += 16) {
        for (std::uint32_t j = i; j < i + 16; ++j) {
            const std::uint32_t key = std::uint32_t{codes[j]} << 16 | j;
            keys[j] = j < n ? key : ~0u;
        }
    }
    sort_room<16>(keys, room);
}

// Sorts up to kMostSorted keys code << 32 | row by their codes of two bytes. Equal codes stay in order.
inline void sort_few_by_code(std::uint64_t* keys, std::uint32_t n) {
    // Keys of 32 bits: the code, and the position in the list instead of the row.
    alignas(64) std::array<std::uint32_t, kMostSorted> places;
    alignas(64) std::array<std::uint16_t, kMostSorted> codes{};
    std::array<std::uint64_t, kMostSorted> list;
    for (std::uint32_t i = 0; i < n; ++i) {
        list[i] = keys[i];
        codes[i] = static_cast<std::uint16_t>(keys[i] >> 32);
    }
    sort_few(codes.data(), n, places.data());
    for (std::uint32_t i = 0; i < n; ++i) {
        keys[i] = list[places[i] & 0xFFFF];
    }
}

}  // namespace weald
