// The rows of a small subtree in regression.
//
// Their codes and targets are copied once, row by row. A row keeps its position, and a node is a set of positions, a
// bit each: splitting a node divides its bits.
//
//   LaneFeatures   the features that are evaluated together, one in each lane of a vector
//   SmallRows      the rows

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/vectors.h"
#include "draw/feature_draw.h"
#include "draw/sibling_draws.h"
#include "rows/block.h"
#include "score/labels.h"
#include "search/lanes.h"

namespace weald {

struct LaneFeatures {
    std::uint64_t bytes = 0;  // one feature per lane
    std::uint32_t n = 0;

    void add(std::uint64_t feature) { bytes |= feature << (8 * n++); }
    std::uint32_t of(std::uint32_t lane) const { return bytes >> (8 * lane) & 0xFF; }
    std::uint32_t all() const { return (1u << n) - 1; }  // lanes that have a feature, a bit each
};

class SmallRows {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;

    // Without wide vectors, sorting more rows takes longer than what is saved.
    static constexpr std::uint32_t kMost = lanes::kLanes == 8 ? 32 : 16;
    static_assert(kMost <= CodeReader::kMostByRow);
    static constexpr std::uint32_t kMostFeatures = FewDraw::kMostFeatures;
    static constexpr double kScale = 0x1p-20;  // approximate sums: no over- or underflow of squares

    explicit SmallRows(std::uint32_t n_features) : n_features_(n_features) {}

    // Loads the targets of some rows. Returns whether counts fit a key.
    bool take_targets(const Labels& labels, std::span<const Labels::Payload> payloads) {
        std::int64_t most = 0;
        for (std::uint32_t i = 0; i < payloads.size(); ++i) {
            const std::int64_t count = labels.count(payloads[i]);
            most |= count;
            numbers_[i] = labels.number(payloads[i]);
            sums_[i] = numbers_[i] * count;
            counts_[i] = static_cast<double>(count);
            low_[i] = i << 8 | static_cast<std::uint32_t>(count);
        }
        return most <= 0xFF;
    }
    // The same for codes; `begin` is the position of the rows among the tree's. Returns whether no relevant code is
    // missing.
    bool take_codes(const CodeReader& reader, std::uint32_t begin, std::span<const std::uint32_t> ids,
                    const FeatureSet& constant) {
        return reader.copy_by_row(begin, ids, constant, codes_.data(), kMostFeatures);
    }

    // ---- One row

    std::int64_t number(std::uint32_t place) const { return numbers_[place]; }
    std::uint32_t code(std::uint32_t place, std::uint32_t feature) const {
        return codes_[place * kMostFeatures + feature];
    }
    // A bit for each feature that distinguishes two rows. Bits of features that were not loaded are arbitrary.
    std::uint64_t differences(std::uint32_t place, std::uint32_t other) const {
        const std::uint16_t* codes = codes_.data() + place * kMostFeatures;
        const std::uint16_t* others = codes_.data() + other * kMostFeatures;
        std::uint64_t bits = 0;
#if defined(__AVX2__)
        for (std::uint32_t begin = 0; begin < kMostFeatures; begin += 32) {
            typedef std::uint16_t Half __attribute__((vector_size(32)));
            const auto equal = [&](std::uint32_t from) {
                return __m256i(vectors::load<Half>(codes + from) == vectors::load<Half>(others + from));
            };
            // The pack instruction interleaves the lower and upper halves of both.
            const __m256i packed = _mm256_packs_epi16(equal(begin), equal(begin + 16));
            const __m256i in_order = _mm256_permute4x64_epi64(packed, 0xD8);
            bits |= std::uint64_t{~static_cast<std::uint32_t>(_mm256_movemask_epi8(in_order))} << begin;
        }
#else
        for (std::uint32_t f = 0; f < kMostFeatures; ++f) {
            bits |= std::uint64_t{codes[f] != others[f]} << f;
        }
#endif
        return bits;
    }
    Cell cell(std::uint32_t place) const { return {sums_[place], static_cast<std::int64_t>(low_[place] & 0xFF)}; }

    // ---- A set of rows

    std::int64_t sum_of(std::uint32_t rows) const {
        Words sums{};
        for (std::size_t begin = 0; begin < kMost; begin += kAtOnce) {
            sums += vectors::load<Words>(sums_.data() + begin) & are_in(rows, begin);
        }
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }
    Int128 squares_of(std::uint32_t rows) const {
        Int128 squares = 0;
        for (; rows != 0; rows &= rows - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            squares += Int128{numbers_[i]} * sums_[i];
        }
        return squares;
    }

    // Centers targets at the mean of a node, whose integer part is given: approximate sums use these. Returns the sum
    // of squares, which is 0 only if all targets are equal.
    double center(std::uint32_t rows, const Cell& total, std::int64_t mean) {
        const auto above = static_cast<double>(total.sum - mean * total.weight);
        const double rest = above / static_cast<double>(total.weight);
        Doubles squares{};
        for (std::size_t begin = 0; begin < kMost; begin += kAtOnce) {
            const auto words = vectors::load<Words>(numbers_.data() + begin) - mean;
            const auto counts = vectors::load<Doubles>(counts_.data() + begin);
            const Doubles distances = (__builtin_convertvector(words, Doubles) - rest) * kScale;
            const Doubles sums = distances * counts;
            squares += are_in(rows, begin) ? sums * distances : Doubles{};
            typedef float Narrow __attribute__((vector_size(32)));
            vectors::store(__builtin_convertvector(sums, Narrow), near_sums_.data() + begin);
        }
        return ((squares[0] + squares[1]) + (squares[2] + squares[3])) +
               ((squares[4] + squares[5]) + (squares[6] + squares[7]));
    }
    const float* near_sums() const { return near_sums_.data(); }

    // Keys of a node's rows by the feature of each lane: code << 16 | position << 8 | count. Lanes without a feature
    // have the first feature, which is ignored.
    void fill_keys(std::uint32_t rows, const LaneFeatures& features, lanes::Keys* to) const {
#if defined(__AVX512BW__)
        // Moves a code of each feature to the upper half of its lane: one instruction, whatever the features.
        const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(features.bytes));
        const __m512i from = _mm512_maskz_slli_epi32(0xFF, _mm512_maskz_cvtepu8_epi32(0xFF, bytes), 16);
        typedef std::uint32_t Wide __attribute__((vector_size(64)));
        constexpr std::size_t kInVector = 32;
        for (; rows != 0; rows &= rows - 1, ++to) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            const std::uint16_t* row = codes_.data() + i * kMostFeatures;
            const __m512i first = _mm512_load_si512(row);
            const Wide codes =
                Wide(n_features_ <= kInVector ? _mm512_maskz_permutexvar_epi16(0xAAAAAAAA, from, first)
                                              : _mm512_maskz_permutex2var_epi16(0xAAAAAAAA, first, from,
                                                                                _mm512_load_si512(row + kInVector)));
            *to = __builtin_shufflevector(codes, codes, 0, 1, 2, 3, 4, 5, 6, 7) | low_[i];
        }
#else
        std::array<std::uint32_t, lanes::kLanes> feature;
        for (std::uint32_t lane = 0; lane < lanes::kLanes; ++lane) {
            feature[lane] = features.of(lane);
        }
        for (; rows != 0; rows &= rows - 1, ++to) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            const std::uint16_t* row = codes_.data() + i * kMostFeatures;
            const lanes::Keys codes = [&]<std::size_t... I>(std::index_sequence<I...>) {
                return lanes::Keys{row[feature[I]]...};
            }(std::make_index_sequence<lanes::kLanes>());
            *to = codes << 16 | low_[i];
        }
#endif
    }

  private:
    typedef std::int64_t Words __attribute__((vector_size(64)));
    typedef double Doubles __attribute__((vector_size(64)));
    static constexpr std::size_t kAtOnce = 8;  // rows, in one vector
    static constexpr Words kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};

    // Which of the positions from `begin` on are in a set: all bits, or none.
    static Words are_in(std::uint32_t rows, std::size_t begin) {
        return (rows >> (kPlaces + static_cast<std::int64_t>(begin)) & 1) != 0;
    }

    std::uint32_t n_features_;
    alignas(64) std::array<std::uint16_t, kMost * kMostFeatures> codes_;  // codes of a row are consecutive
    alignas(64) std::array<std::int64_t, kMost> numbers_{};               // the targets
    alignas(64) std::array<std::int64_t, kMost> sums_{};                  // the same times counts
    alignas(64) std::array<double, kMost> counts_{};
    alignas(64) std::array<std::uint32_t, kMost> low_{};  // keys: position << 8 | count
    alignas(64) std::array<float, kMost> near_sums_{};    // about the node's mean, scaled
};

}  // namespace weald
