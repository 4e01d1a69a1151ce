// The codes of several features at once: each lane of a vector is a feature.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/sort_network.h"
#include "base/vectors.h"
#include "rows/gather.h"

namespace weald {

namespace lanes {

// Half of the widest vectors: few nodes draw more features, and empty lanes cost as much as used ones.
inline constexpr std::size_t kLanes = std::min<std::size_t>(8, vectors::kLanes);
inline constexpr std::uint32_t kMostAtOnce = 64;  // sorted by one network
inline constexpr std::uint32_t kMostRows = kLanes == 8 ? kMostSorted : 16;

typedef std::uint32_t Keys __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
typedef std::uint16_t Codes __attribute__((vector_size(kLanes * sizeof(std::uint16_t))));
typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));

}  // namespace lanes

// The location of the codes of each lane's feature; the code of a row is at its id.
template <class Code>
struct LaneColumns {
    std::array<const Code*, lanes::kLanes> columns;
    std::span<const std::uint32_t> ids;

    // The codes of a row, at the position of codes in keys. Codes of one byte become two.
    lanes::Keys key(std::size_t row) const {
        const lanes::Keys codes = widened(ids[row], std::make_index_sequence<lanes::kLanes>());
        if constexpr (sizeof(Code) == 1) {
            return (codes == kMissing<Code> ? lanes::Keys{} + kMissing<std::uint16_t> : codes) << 16;
        } else {
            return codes << 16;
        }
    }

  private:
    // The compiler would use twice as many instructions for this.
    template <std::size_t... I>
    lanes::Keys widened(std::uint32_t id, std::index_sequence<I...>) const {
#if defined(__AVX2__)
        if constexpr (sizeof(Code) == 1) {
            __m128i codes = _mm_setzero_si128();
            ((codes = _mm_insert_epi8(codes, columns[I][id], I)), ...);
            return lanes::Keys(_mm256_cvtepu8_epi32(codes));
        } else {
            return lanes::Keys(_mm256_cvtepu16_epi32(__m128i(lanes::Codes{columns[I][id]...})));
        }
#else
        return __builtin_convertvector(lanes::Codes{columns[I][id]...}, lanes::Keys);
#endif
    }
};

}  // namespace weald
