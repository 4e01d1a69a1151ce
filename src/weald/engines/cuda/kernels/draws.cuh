// Random draws by address, and the order in which a node draws its features.
//
//   mix64, philox, below   as in core/base/random.h
//   FeatureDraw            the shuffle of a node, without its array
//
// Step v of the shuffle swaps place v with place v + (draw v below D - v). Nothing is swapped here: the feature at a
// place is found by following the swaps backwards, through offsets that the lanes of a warp hold. So a node needs no
// memory for its features, however many there are.

#pragma once

#include "plan.cuh"

constexpr u32 kPurposeBag = 0;
constexpr u32 kPurposeFeatures = 1;
constexpr u32 kChunkSteps = 64;  // of the shuffle, two a lane

DEVICE u64 mix64(u64 word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return word ^ (word >> 31);
}
DEVICE u64 id_of_child(u64 id, u32 side) {
    return mix64(2 * id + side);
}

DEVICE uint4 philox(u64 id, u32 tree, u32 purpose) {
    u32 c0 = static_cast<u32>(id), c1 = static_cast<u32>(id >> 32), c2 = tree, c3 = purpose;
    u32 k0 = plan.seed_low, k1 = plan.seed_high;
#pragma unroll 1
    for (int round = 0; round < 10; ++round) {
        const u64 first = static_cast<u64>(c0) * 0xD2511F53u, second = static_cast<u64>(c2) * 0xCD9E8D57u;
        c0 = static_cast<u32>(second >> 32) ^ c1 ^ k0;
        c1 = static_cast<u32>(second);
        c2 = static_cast<u32>(first >> 32) ^ c3 ^ k1;
        c3 = static_cast<u32>(first);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    uint4 words;
    words.x = c0;
    words.y = c1;
    words.z = c2;
    words.w = c3;
    return words;
}
// floor(bits * n / 2^64), n below 2^32.
DEVICE u32 below(u32 low, u32 high, u32 n) {
    return static_cast<u32>((static_cast<u64>(high) * n + ((static_cast<u64>(low) * n) >> 32)) >> 32);
}

struct FeatureDraw {
    u64 id;
    u32 tree, step, chunk, even, odd;
};

// When a node considers all features nothing is shuffled: they come in the order of their keys, which decides ties, or
// of the columns. The lanes then hold the features of their steps. Keys are distinct: mix64 is a bijection.
DEVICE u64 key_of(u64 word, u32 feature) {
    return mix64(word + feature);
}
DEVICE void sort_by_key(FeatureDraw& draw, u32 chunk, u32 lane) {
    const uint4 bits = philox(draw.id, draw.tree, kPurposeFeatures);
    const u64 word = bits.x | static_cast<u64>(bits.y) << 32;
    const u32 n = plan.n_features, first = kChunkSteps * chunk + 2 * lane;
    draw.even = draw.odd = kNone;
#pragma unroll 1
    for (u32 begin = 0; begin < n; begin += 32) {  // each lane finds the step of one feature
        const u32 feature = begin + lane;
        const u64 key = key_of(word, feature);
        u32 step = 0;
#pragma unroll 1
        for (u32 other = 0; other < n; ++other) {
            step += key_of(word, other) < key;
        }
        for (u32 i = 0; i < 32 && begin + i < n; ++i) {
            const u32 its_step = from_lane(step, i);
            draw.even = its_step == first ? begin + i : draw.even;
            draw.odd = its_step == first + 1 ? begin + i : draw.odd;
        }
    }
}
DEVICE bool considers_all() {
    return plan.max_features >= plan.n_features;
}

DEVICE void load_steps(FeatureDraw& draw, u32 chunk, u32 lane) {
    draw.chunk = chunk;
    if (considers_all()) {
        if (plan.ties_by_column) {
            draw.even = kChunkSteps * chunk + 2 * lane;
            draw.odd = draw.even + 1;
        } else {
            sort_by_key(draw, chunk, lane);
        }
        return;
    }
    const u32 v = kChunkSteps * chunk + 2 * lane, n = plan.n_features;
    const uint4 bits = philox(draw.id, draw.tree, kPurposeFeatures + 256 * (v / 2));
    draw.even = v < n ? v + below(bits.x, bits.y, n - v) : kNone;
    draw.odd = v + 1 < n ? v + 1 + below(bits.z, bits.w, n - v - 1) : kNone;
}
DEVICE FeatureDraw begin_draw(u64 id, u32 tree, u32 lane) {
    FeatureDraw draw;
    draw.id = id;
    draw.tree = plan.first_tree + tree;
    draw.step = 0;
    load_steps(draw, 0, lane);
    return draw;
}
// The feature that step v draws. A whole warp calls it with the same v.
DEVICE u32 feature_at(FeatureDraw& draw, u32 v, u32 lane) {
    if (v / kChunkSteps != draw.chunk) {
        load_steps(draw, v / kChunkSteps, lane);
    }
    u32 place = from_lane(v & 1 ? draw.odd : draw.even, (v % kChunkSteps) / 2);
    if (considers_all()) {
        return place;
    }
    for (u32 before = v;;) {  // what stood at `place` before step `before`?
        const u32 step = kChunkSteps * draw.chunk + 2 * lane;
        const u32 even = ballot(draw.even == place && step < before);
        const u32 odd = ballot(draw.odd == place && step + 1 < before);
        if ((even | odd) == 0) {
            if (draw.chunk == 0) {
                return place;
            }
            load_steps(draw, draw.chunk - 1, lane);
            continue;
        }
        // The latest step that swapped it brought what stood at the place of that step.
        const u32 at = 31 - __clz(even | odd);
        place = kChunkSteps * draw.chunk + 2 * at + (odd >> at & 1);
        before = place;
    }
}
DEVICE bool has_next(const FeatureDraw& draw) {
    return draw.step < plan.n_features;
}
DEVICE u32 next_feature(FeatureDraw& draw, u32 lane) {
    return feature_at(draw, draw.step++, lane);
}
