// Bags: how often each row was drawn in each tree, and the rows of the roots.
//
//   draw_bags     draws -> a byte for each row
//   count_bags    rows of each chunk of a tree
//   place_chunks  where the rows of each chunk begin
//   fill_bags     bytes -> the list of rows of each tree, and its class counts

#pragma once

#include "draws.cuh"

constexpr u32 kBagThreads = 256;
constexpr u32 kChunkWords = 4 * kBagThreads;  // of four rows each

KERNEL(kBagThreads, 4) draw_bags() {
    const u64 n_pairs = (plan.n_draws + 1) / 2, total = n_pairs * plan.n_trees;
    const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
    for (u64 x = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; x < total; x += step) {
        const u32 tree = static_cast<u32>(x / n_pairs), pair = static_cast<u32>(x % n_pairs);
        const uint4 bits = philox(pair, plan.first_tree + tree, kPurposeBag);
        u32* copies = plan.copies + static_cast<u64>(tree) * plan.bag_words;
        const u32 first = below(bits.x, bits.y, plan.n_rows);
        atomicAdd(&copies[first / 4], 1u << (8 * (first % 4)));
        if (2 * pair + 1 < plan.n_draws) {
            const u32 second = below(bits.z, bits.w, plan.n_rows);
            atomicAdd(&copies[second / 4], 1u << (8 * (second % 4)));
        }
    }
}

DEVICE u32 count_bytes(u32 x) {  // that are not 0
    const u32 y = (x & 0x7f7f7f7fu) + 0x7f7f7f7fu;
    return __popc((y | x) & 0x80808080u);
}
// The four words of this thread in its block's chunk. Returns the number of rows.
DEVICE u32 load_copies(u32* words) {
    const u32 tree = blockIdx.x / plan.n_chunks, first = (blockIdx.x % plan.n_chunks) * kChunkWords + threadIdx.x * 4;
    u32 n = 0;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        words[i] = first + i < plan.bag_words ? plan.copies[static_cast<u64>(tree) * plan.bag_words + first + i] : 0;
        n += count_bytes(words[i]);
    }
    return n;
}

KERNEL(kBagThreads, 4) count_bags() {  // a block for each chunk of each tree
    SHARED_MEMORY(memory);
    u32* sum = reinterpret_cast<u32*>(memory);
    if (threadIdx.x == 0) {
        *sum = 0;
    }
    __syncthreads();
    u32 words[4];
    const u32 n = warp_sum(load_copies(words));
    if (lane_of_thread() == 0) {
        atomicAdd(sum, n);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        plan.chunk_rows[blockIdx.x] = *sum;
    }
}

KERNEL(32, 1) place_chunks() {  // a warp for each tree
    const u32 lane = lane_of_thread();
    u32 before = 0;
    u32* rows = plan.chunk_rows + blockIdx.x * plan.n_chunks;
    for (u32 begin = 0; begin < plan.n_chunks; begin += 32) {
        const u32 n = begin + lane < plan.n_chunks ? rows[begin + lane] : 0, sum = sum_up_to_lane(n, lane);
        if (begin + lane < plan.n_chunks) {
            rows[begin + lane] = before + sum - n;
        }
        before += from_lane(sum, 31);
    }
    if (lane == 0) {
        plan.tree_rows[blockIdx.x] = before;
    }
}

KERNEL(kBagThreads, 4) fill_bags() {  // a block for each chunk of each tree
    SHARED_MEMORY(memory);
    u32* of_warp = reinterpret_cast<u32*>(memory);
    u32* of_class = of_warp + kBagThreads / 32;
    const u32 lane = lane_of_thread(), warp = threadIdx.x / 32, tree = blockIdx.x / plan.n_chunks;
    if (threadIdx.x < kClasses) {
        of_class[threadIdx.x] = 0;
    }
    u32 words[4];
    const u32 n = load_copies(words), sum = sum_up_to_lane(n, lane);
    if (lane == 31) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    u32 place = plan.chunk_rows[blockIdx.x] + sum - n;
    for (u32 w = 0; w < warp; ++w) {
        place += of_warp[w];
    }
    const u32 first = ((blockIdx.x % plan.n_chunks) * kChunkWords + threadIdx.x * 4) * 4;
    Entry* entries = list_of(0, tree * plan.n_rows);
    u32 counts[kClasses] = {};
    for (u32 i = 0; i < 16; ++i) {
        const u32 copies = (words[i / 4] >> (8 * (i % 4))) & 255;
        if (copies) {
            const u32 row = first + i, k = plan.classes[row];
            Entry entry;
            entry.x = row;
            entry.y = copies | k << 24;
            entries[place++] = entry;
#pragma unroll
            for (u32 q = 0; q < kClasses; ++q) {
                counts[q] += q == k ? copies : 0;
            }
        }
    }
#pragma unroll
    for (u32 q = 0; q < kClasses; ++q) {
        const u32 of_warp_total = warp_sum(counts[q]);
        if (lane == 0) {
            atomicAdd(&of_class[q], of_warp_total);
        }
    }
    __syncthreads();
    if (threadIdx.x < kClasses) {
        atomicAdd(&plan.tree_counts[tree * kClasses + threadIdx.x], of_class[threadIdx.x]);
    }
}
