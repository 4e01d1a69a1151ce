// The compiler's vector types, as wide as the instruction set allows.
//
//   Keys, Floats, Codes   vectors with the same number of lanes: of 32, 32 and 16 bits
//   running_sums          prefix sums of the lanes

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace weald::vectors {

#if defined(__AVX512F__)
constexpr std::size_t kLanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 4;
#endif

typedef std::uint32_t Keys __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));

typedef std::uint16_t Codes __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));

typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));

template <class Vector>
inline Vector load(const void* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof(Vector));
    return vector;
}
template <class Vector>
inline void store(const Vector& vector, void* to) {
    __builtin_memcpy(to, &vector, sizeof(Vector));
}

// A bit for each lane of 32 bits that is true.
template <class Truths>
inline std::uint32_t bits_of(const Truths& truths) {
#if defined(__AVX2__)
    if constexpr (sizeof(Truths) == sizeof(__m256i)) {
        return static_cast<std::uint32_t>(_mm256_movemask_ps(__m256(truths)));
    }
#endif
    std::uint32_t bits = 0;
    for (std::size_t lane = 0; lane < sizeof(Truths) / sizeof(std::uint32_t); ++lane) {
        bits |= std::uint32_t{truths[lane] != 0} << lane;
    }
    return bits;
}

template <class OfLane>
constexpr Keys lanes(OfLane of_lane) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return Keys{of_lane(static_cast<std::uint32_t>(I))...};
    }(std::make_index_sequence<kLanes>());
}

inline constexpr Keys kNumbers = lanes([](std::uint32_t lane) { return lane; });

// Prefix sums of the lanes.
template <std::uint32_t Distance, class Vector>
inline Vector running_sums(Vector vector) {
    if constexpr (Distance == kLanes) {
        return vector;
    } else {
        constexpr Keys from = lanes([](std::uint32_t lane) { return lane < Distance ? kLanes : lane - Distance; });
        return running_sums<2 * Distance>(vector + __builtin_shuffle(vector, Vector{}, from));
    }
}

template <class Vector>
inline Vector last_everywhere(Vector vector) {
    constexpr Keys from = lanes([](std::uint32_t) { return kLanes - 1; });
    return __builtin_shuffle(vector, from);
}

// The maximum of all lanes.
template <std::uint32_t Flip>
inline float greatest(Floats floats) {
    if constexpr (Flip == 0) {
        return floats[0];
    } else {
        constexpr Keys from = lanes([](std::uint32_t lane) { return lane ^ Flip; });
        const Floats others = __builtin_shuffle(floats, from);
        return greatest<Flip / 2>(floats > others ? floats : others);
    }
}

}  // namespace weald::vectors
