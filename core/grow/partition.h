// Partitioning the rows of a node; both sides keep their order.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "rows/gather.h"
#include "score/candidate.h"

namespace weald {

template <class Payload>
struct PartitionScratch {
    std::vector<std::uint32_t> ids;
    std::vector<Payload> payloads;
};

// Which codes go left.
template <class Code>
struct LeftCodes {
    Code last;
    bool missing_too;

    explicit LeftCodes(const Candidate& cut)
        : last(cut.cuts_off_missing() ? static_cast<Code>(kMissing<Code> - 1) : static_cast<Code>(cut.last_left())),
          missing_too(cut.missing_left()) {}
    bool has(Code code) const { return (code <= last) | (missing_too & (code == kMissing<Code>)); }
};

// The rows of a node during partitioning: left rows come first, right rows are stored elsewhere.
template <class Payload>
struct DividedRows {
    std::uint32_t* ids;
    Payload* payloads;
    std::uint32_t* right_ids;
    Payload* right_payloads;
    std::uint32_t n_left = 0;
    std::uint32_t n_right = 0;

    void move(std::uint32_t i, bool left) {
        const std::uint32_t id = ids[i];
        const Payload payload = payloads[i];
        ids[n_left] = id;
        payloads[n_left] = payload;
        right_ids[n_right] = id;
        right_payloads[n_right] = payload;
        n_left += left;
        n_right += !left;
    }
};

#if defined(__AVX512VBMI2__)

namespace sixteen {

inline constexpr std::uint32_t kRows = 16;

// A bit for each of 16 codes: whether it goes left.
inline std::uint32_t bits_left(const std::uint16_t* codes, const LeftCodes<std::uint16_t>& left) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
    const std::uint32_t bits = _mm256_cmple_epu16_mask(all, _mm256_set1_epi16(static_cast<short>(left.last)));
    return left.missing_too ? bits | _mm256_cmpeq_epi16_mask(all, _mm256_set1_epi16(-1)) : bits;
}
inline std::uint32_t bits_left(const std::uint32_t* codes, const LeftCodes<std::uint32_t>& left) {
    const __m512i all = _mm512_loadu_si512(codes);
    const std::uint32_t bits = _mm512_cmple_epu32_mask(all, _mm512_set1_epi32(static_cast<int>(left.last)));
    return left.missing_too ? bits | _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32(-1)) : bits;
}

// Writes, consecutively, those of 16 integers whose bits are set; the memory after them is overwritten.
inline void pack(const __m512i& numbers, std::uint32_t bits, std::uint32_t* to) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), numbers));
}

}  // namespace sixteen

// Sixteen rows at once. Left rows are written to memory that has been read.
template <class Code>
std::uint32_t divide_sixteens(const Code* codes, const LeftCodes<Code>& left, std::uint32_t n,
                              DividedRows<std::uint32_t>& rows) {
    std::uint32_t i = 0;
    for (; i + sixteen::kRows <= n; i += sixteen::kRows) {
        const std::uint32_t bits = sixteen::bits_left(codes + i, left);
        const std::uint32_t others = ~bits & 0xFFFFu;
        const __m512i ids = _mm512_loadu_si512(rows.ids + i);
        const __m512i payloads = _mm512_loadu_si512(rows.payloads + i);
        sixteen::pack(ids, bits, rows.ids + rows.n_left);
        sixteen::pack(payloads, bits, rows.payloads + rows.n_left);
        sixteen::pack(ids, others, rows.right_ids + rows.n_right);
        sixteen::pack(payloads, others, rows.right_payloads + rows.n_right);
        rows.n_left += static_cast<std::uint32_t>(std::popcount(bits));
        rows.n_right += static_cast<std::uint32_t>(std::popcount(others));
    }
    return i;
}

#endif

// Returns the number of rows that went left; they come first.
template <class Code, class Payload>
std::uint32_t partition_rows(const Code* codes, const Candidate& cut, std::uint32_t* ids, Payload* payloads,
                             std::uint32_t n, PartitionScratch<Payload>& scratch) {
    constexpr std::size_t kRoom = 16;  // some are written behind the last
    if (scratch.ids.size() < n + kRoom) {
        scratch.ids.resize(n + kRoom);
        scratch.payloads.resize(n + kRoom);
    }
    const LeftCodes<Code> left(cut);
    DividedRows<Payload> rows{ids, payloads, scratch.ids.data(), scratch.payloads.data()};
    std::uint32_t i = 0;
#if defined(__AVX512VBMI2__)
    if constexpr (std::is_same_v<Payload, std::uint32_t>) {
        i = divide_sixteens(codes, left, n, rows);
    }
#endif
    for (; i < n; ++i) {
        rows.move(i, left.has(codes[i]));
    }
    std::copy_n(scratch.ids.begin(), rows.n_right, ids + rows.n_left);
    std::copy_n(scratch.payloads.begin(), rows.n_right, payloads + rows.n_left);
    return rows.n_left;
}

}  // namespace weald
