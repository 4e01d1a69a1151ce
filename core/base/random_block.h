// Several draws of base/random.h at once, in the compiler's vector types.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/random.h"

namespace weald {

inline constexpr std::size_t kPhiloxBlock = 8;
using DrawBlock = std::array<std::uint64_t, 2 * kPhiloxBlock>;

// Eight words of 32 bits, each in a lane of 64, so that products fit.
typedef std::uint64_t Lanes __attribute__((vector_size(kPhiloxBlock * sizeof(std::uint64_t))));

// Products of the lower halves of the lanes: one instruction where the compiler would take three.
inline Lanes multiply(const Lanes& lanes, const Lanes& factors) {
#if defined(__AVX512F__)
    return Lanes(_mm512_maskz_mul_epu32(0xFF, __m512i(lanes), __m512i(factors)));
#elif defined(__AVX2__)
    Lanes product;
    for (int half = 0; half < 2; ++half) {
        const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&lanes) + half);
        const __m256i other = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&factors) + half);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(&product) + half, _mm256_mul_epu32(part, other));
    }
    return product;
#else
    return (lanes & 0xFFFFFFFFu) * (factors & 0xFFFFFFFFu);
#endif
}
inline Lanes multiply(const Lanes& lanes, std::uint32_t factor) {
    return multiply(lanes, Lanes{} + factor);
}

// mix64 of each lane.
inline Lanes mix64_lanes(Lanes words) {
    words ^= words >> 30;
    words *= 0xBF58476D1CE4E5B9u;
    words ^= words >> 27;
    words *= 0x94D049BB133111EBu;
    words ^= words >> 31;
    return words;
}

struct PhiloxLanes {
    Lanes word0, word1, word2, word3;
};

// Only the lower halves of the resulting lanes are used.
inline PhiloxLanes run_philox(PhiloxLanes lanes, std::uint64_t seed) {
    auto key0 = static_cast<std::uint32_t>(seed);
    auto key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const Lanes first = multiply(lanes.word0, 0xD2511F53u);
        const Lanes second = multiply(lanes.word2, 0xCD9E8D57u);
        // From here on only the lower halves matter: multiply ignores the upper ones.
        lanes.word0 = (second >> 32) ^ lanes.word1 ^ key0;
        lanes.word1 = second;
        lanes.word2 = (first >> 32) ^ lanes.word3 ^ key1;
        lanes.word3 = first;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return lanes;
}

inline DrawBlock draw_lanes(PhiloxLanes lanes, std::uint64_t seed) {
    lanes = run_philox(lanes, seed);
    const Lanes even = (lanes.word0 & 0xFFFFFFFFu) | lanes.word1 << 32;
    const Lanes odd = (lanes.word2 & 0xFFFFFFFFu) | lanes.word3 << 32;
    DrawBlock draws;
    for (std::size_t i = 0; i < kPhiloxBlock; ++i) {
        draws[2 * i] = even[i];
        draws[2 * i + 1] = odd[i];
    }
    return draws;
}

// Draws 0 and 1 of the ids first_id, first_id + 1 ...
inline DrawBlock draw_block_of_ids(std::uint64_t seed, std::uint64_t first_id, std::uint32_t tree,
                                   std::uint32_t purpose) {
    PhiloxLanes lanes;
    for (std::size_t i = 0; i < kPhiloxBlock; ++i) {
        lanes.word0[i] = first_id + i;
        lanes.word1[i] = (first_id + i) >> 32;
        lanes.word2[i] = tree;
        lanes.word3[i] = purpose;
    }
    return draw_lanes(lanes, seed);
}

// Draws number 2 * first_pair, 2 * first_pair + 1 ... at one address.
inline DrawBlock draw_block(const Address& address, std::uint32_t first_pair) {
    PhiloxLanes lanes;
    for (std::size_t i = 0; i < kPhiloxBlock; ++i) {
        lanes.word0[i] = address.id;
        lanes.word1[i] = address.id >> 32;
        lanes.word2[i] = address.tree;
        lanes.word3[i] = address.purpose + 256u * (first_pair + static_cast<std::uint32_t>(i));
    }
    return draw_lanes(lanes, address.seed);
}

// Draws 2 * pair and 2 * pair + 1 of several pairs at one address.
inline DrawBlock draw_block_of_pairs(const Address& address, const std::array<std::uint32_t, kPhiloxBlock>& pairs) {
    PhiloxLanes lanes;
    for (std::size_t i = 0; i < kPhiloxBlock; ++i) {
        lanes.word0[i] = address.id;
        lanes.word1[i] = address.id >> 32;
        lanes.word2[i] = address.tree;
        lanes.word3[i] = address.purpose + 256u * pairs[i];
    }
    return draw_lanes(lanes, address.seed);
}

}  // namespace weald
