// Random draws that have an address: (seed, id, tree, purpose, i) -> 64 bits.
//
//   mix64      the splitmix64 finalizer: a hash of one word
//   philox     Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)
//   draw       the 64 bits at an address
//   below      64 random bits -> a number below n
//
// base/random_block.h draws several at once. There is no generator object: each draw is computed from its address, in
// any order, on any thread.

#pragma once

#include <array>
#include <cstdint>

namespace weald {

inline constexpr std::uint64_t mix64(std::uint64_t word) {
    word ^= word >> 30;
    word *= 0xBF58476D1CE4E5B9u;
    word ^= word >> 27;
    word *= 0x94D049BB133111EBu;
    word ^= word >> 31;
    return word;
}

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t first = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {
            static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
            static_cast<std::uint32_t>(second),
            static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
            static_cast<std::uint32_t>(first),
        };
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

struct Address {
    std::uint64_t seed;
    std::uint64_t id;       // the node or another source of draws; the root is 1
    std::uint32_t tree;     // index of the tree
    std::uint32_t purpose;  // below 256: what the draw is used for
};

// Draws 2j and 2j + 1 at an address: they share one run of philox.
inline constexpr std::array<std::uint64_t, 2> draw_pair(const Address& address, std::uint32_t pair) {
    const PhiloxCounter words = philox(
        {
            static_cast<std::uint32_t>(address.id),
            static_cast<std::uint32_t>(address.id >> 32),
            address.tree,
            address.purpose + 256u * pair,
        },
        {static_cast<std::uint32_t>(address.seed), static_cast<std::uint32_t>(address.seed >> 32)});
    return {words[0] | std::uint64_t{words[1]} << 32, words[2] | std::uint64_t{words[3]} << 32};
}

// Draw i at an address.
inline constexpr std::uint64_t draw(const Address& address, std::uint32_t i) {
    return draw_pair(address, i / 2)[i % 2];
}

// floor(bits * n / 2^64): a number from 0 to n - 1.
inline constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(bits) * n >> 64);
}

}  // namespace weald
