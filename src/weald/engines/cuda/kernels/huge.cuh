// Huge nodes: many blocks divide one. Chunks of its rows are tasks of their own, in turns:
//
//   kBegin    draws the next features
//   kBins     counts the rows of a chunk in bins
//   kFine     counts them inside of the bins that could still win
//   kDivide   moves them to the children
//
// The block that ends a turn, whichever it is, decides on the next one and puts its chunks into the queue. Between
// turns the state of a node is in global memory.

#pragma once

#include "large.cuh"

#define HUGE_THREADS 512

enum Turn : u32 { kBegin, kBins, kFine, kDivide, kDone };

struct HugeWork {
    BlockState state;
    Refinement refinement;
    u32 remaining;  // chunks of this turn
};

// The arrays of a node between turns, in the form of its block's.
struct HugeArrays {
    u32* bins;
    u32* fine;
    u32* bounds;
    u32* slots;
};
DEVICE HugeArrays huge_arrays(u32 work) {
    const u64 n_bins = plan.features_at_once << plan.bin_bits;
    HugeArrays arrays;
    arrays.bins = plan.huge_bins + work * n_bins * plan.n_classes;
    arrays.fine = plan.huge_fine + static_cast<u64>(work) * plan.fine_words;
    arrays.bounds = reinterpret_cast<u32*>(plan.huge_bounds + work * n_bins);
    arrays.slots = reinterpret_cast<u32*>(plan.huge_slots + work * n_bins);
    return arrays;
}
// Other blocks wrote what is copied here, so it is read past the cache of the multiprocessor.
DEVICE void copy_in(u32* to, const u32* from, u32 n) {
    for (u32 i = threadIdx.x; i < n; i += HUGE_THREADS) {
        to[i] = load_shared_word(from + i);
    }
}
DEVICE void copy_out(u32* to, const u32* from, u32 n) {
    for (u32 i = threadIdx.x; i < n; i += HUGE_THREADS) {
        to[i] = from[i];
    }
}
DEVICE void clear(u32* words, u32 n) {
    for (u32 i = threadIdx.x; i < n; i += HUGE_THREADS) {
        words[i] = 0;
    }
}
DEVICE u32* words_of(BlockState& s) {
    return reinterpret_cast<u32*>(&s);
}
constexpr u32 kStateWords = sizeof(BlockState) / 4;

// The caller has counted it as pending.
DEVICE void push_turn(u32 work, u32 turn, u32 chunk) {
    const u32 place = atomicAdd(&plan.counters->huge_tail, 1u);
    if (place >= plan.huge_room) {
        fail(kTooManyHuge);
        return;
    }
    plan.huge_tasks[place] = static_cast<u64>(work) << 32 | turn << 24 | chunk;
    __threadfence();
    atomicAdd(&plan.huge_ready[place], 1u);
}
DEVICE void push_huge(const Task& task) {
    const u32 work = atomicAdd(&plan.counters->work_tail, 1u);
    if (work >= plan.work_room) {
        fail(kTooManyHuge);
        return;
    }
    plan.huge_work[work].state.task = task;
    plan.huge_work[work].remaining = 1;
    atomicAdd(&plan.counters->huge_pending, 1u);
    push_turn(work, kBegin, 0);
}

// A chunk of a node in one of its turns.
struct Chunk {
    u32 work, turn, begin, end, n_chunks;
};

// Counts the rows of a chunk in the block's memory, and adds that to the node's.
DEVICE void count_chunk(BlockState& s, const BinMemory& m, const Chunk& chunk, const Refinement& r) {
    const HugeArrays arrays = huge_arrays(chunk.work);
    const bool is_fine = chunk.turn == kFine;
    const u32 n_words = is_fine ? r.n_slots * r.slot_words : s.n_features * (plan.n_classes << plan.bin_bits);
    u32* counts = is_fine ? m.fine : m.bins;
    clear(counts, n_words);
    if (is_fine) {
        copy_in(reinterpret_cast<u32*>(m.slot), arrays.slots, (s.n_features << plan.bin_bits) / 2);
    }
    __syncthreads();
    const Entry* entries = list_of(s.task.list, s.task.begin);
    fill(s, entries, chunk.begin, chunk.end, FillTarget{m.bins, m.fine, m.slot, r.slot_words, is_fine}, threadIdx.x,
         HUGE_THREADS);
    __syncthreads();
    u32* of_node = is_fine ? arrays.fine : arrays.bins;
    for (u32 i = threadIdx.x; i < n_words; i += HUGE_THREADS) {
        if (counts[i]) {
            atomicAdd(&of_node[i], counts[i]);
        }
    }
}

// Scans the counts of the whole node.
DEVICE void scan_node(BlockState& s, const BinMemory& m, const Chunk& chunk, const Refinement& r) {
    const HugeArrays arrays = huge_arrays(chunk.work);
    const u32 n_bins = s.n_features << plan.bin_bits, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    copy_in(m.bins, arrays.bins, n_bins * plan.n_classes);
    if (chunk.turn == kBins) {
        clear(reinterpret_cast<u32*>(m.bound), n_bins);
    } else {
        copy_in(reinterpret_cast<u32*>(m.bound), arrays.bounds, n_bins);
        copy_in(m.fine, arrays.fine, r.n_slots * r.slot_words);
    }
    __syncthreads();
#pragma unroll 1
    for (u32 x = warp; x < (chunk.turn == kBins ? s.n_features : r.n_slots); x += HUGE_THREADS / 32) {
        if (chunk.turn == kBins) {
            scan_feature(s, m, x, lane);
        } else {
            scan_slot(s, m, x, r.slot_words, lane);
        }
    }
    __syncthreads();
    if (chunk.turn == kFine) {
#pragma unroll 1
        for (u32 j = warp; j < s.n_features; j += HUGE_THREADS / 32) {
            if (s.refined[j]) {
                join_slots(s, j, r.n_slots, lane);
            }
        }
        __syncthreads();
    }
}

// Which bins are refined next. Returns whether there are any; then the node's arrays are ready for it.
DEVICE bool refine_more(BlockState& s, const BinMemory& m, const Chunk& chunk, Refinement& r) {
    const u32 shift = widest_bin(s), n_bins = s.n_features << plan.bin_bits;
    if (shift == 0 || (chunk.turn == kFine && r.n_slots == r.n_wanted)) {
        return false;
    }
    r = choose_bins(s, m, shift, threadIdx.x, HUGE_THREADS);
    if (r.n_slots == 0) {
        return false;
    }
    const HugeArrays arrays = huge_arrays(chunk.work);
    copy_out(arrays.bins, m.bins, n_bins * plan.n_classes);
    copy_out(arrays.bounds, reinterpret_cast<u32*>(m.bound), n_bins);
    copy_out(arrays.slots, reinterpret_cast<u32*>(m.slot), n_bins / 2);
    clear(arrays.fine, r.n_slots * r.slot_words);
    return true;
}

// Draws the next features. Returns the next turn.
DEVICE u32 next_round(BlockState& s, const Chunk& chunk) {
    if (threadIdx.x < 32) {
        FeatureDraw draw = begin_draw(s.task.id, s.task.tree, threadIdx.x);
        draw.step = s.next_step;
        begin_round(s, draw, threadIdx.x);
    }
    __syncthreads();
    if (s.n_features == 0) {
        return is_worth_it(s) ? kDivide : kDone;
    }
    clear(huge_arrays(chunk.work).bins, s.n_features * (plan.n_classes << plan.bin_bits));
    return kBins;
}

// All chunks of a turn are done. Returns the next turn.
DEVICE u32 decide(BlockState& s, const BinMemory& m, const Chunk& chunk, Refinement& r) {
    if (chunk.turn == kBegin) {
        if (threadIdx.x == 0) {
            begin_node(s);
        }
        __syncthreads();
        return next_round(s, chunk);
    }
    scan_node(s, m, chunk, r);
    if (refine_more(s, m, chunk, r)) {
        return kFine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        end_round(s);
    }
    __syncthreads();
    if (s.found < plan.max_features) {
        return next_round(s, chunk);
    }
    return is_worth_it(s) ? kDivide : kDone;
}

DEVICE void divide_chunk(BlockState& s, const Chunk& chunk) {
    BlockState& of_node = plan.huge_work[chunk.work].state;
    const u32 lane = threadIdx.x & 31;
    const Moved moved = partition(s, list_of(s.task.list, s.task.begin), list_of(1 - s.task.list, s.task.begin),
                                  chunk.begin, chunk.end, of_node.cursor, threadIdx.x / 32, HUGE_THREADS / 32, lane);
    add_moved(of_node, moved, lane);
}

// The node was divided: writes it, and places its children.
DEVICE void end_huge(BlockState& s, const Chunk& chunk) {
    copy_in(words_of(s), words_of(plan.huge_work[chunk.work].state), kStateWords);
    __syncthreads();
    if (threadIdx.x == 0) {
        write_large_split(s, decrease_of_best(s));
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        place_child(s.task, threadIdx.x, s.cursor[0], s.pair + threadIdx.x, threadIdx.x ? s.right_count : s.left_count);
    }
}

DEVICE void begin_turn(BlockState& s, const Chunk& chunk, const Refinement& r, u32 turn) {
    HugeWork& work = plan.huge_work[chunk.work];
    if (threadIdx.x == 0 && turn == kDivide) {
        begin_partition(s);
    }
    __syncthreads();
    copy_out(words_of(work.state), words_of(s), kStateWords);
    if (threadIdx.x == 0) {
        work.refinement = r;
        work.remaining = chunk.n_chunks;
        atomicAdd(&plan.counters->huge_pending, chunk.n_chunks);
    }
    __threadfence();
    __syncthreads();
    for (u32 i = threadIdx.x; i < chunk.n_chunks; i += HUGE_THREADS) {
        push_turn(chunk.work, turn, i);
    }
}

// Whether this block is the last of the turn, so that it sees what all others have written.
DEVICE bool ends_turn(HugeWork& work, u32* is_last) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        *is_last = atomicAdd(&work.remaining, ~0u) == 1;
        __threadfence();
    }
    __syncthreads();
    return *is_last != 0;
}

DEVICE Chunk chunk_of(const BlockState& s, u32 work, u32 task) {
    Chunk chunk;
    chunk.work = work;
    chunk.turn = task >> 24;
    chunk.n_chunks = (s.task.n_rows + plan.huge_rows - 1) / plan.huge_rows;
    chunk.begin = (task & 0xffffff) * plan.huge_rows;
    chunk.end = chunk.begin + plan.huge_rows < s.task.n_rows ? chunk.begin + plan.huge_rows : s.task.n_rows;
    return chunk;
}

KERNEL(HUGE_THREADS, 2) grow_huge() {
    SHARED_MEMORY(memory);
    BlockState& s = *reinterpret_cast<BlockState*>(memory);
    const BinMemory m = bin_memory(memory);
    Counters* c = plan.counters;
#pragma unroll 1
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            m.control[0] = take(&c->huge_head, &c->huge_pending, plan.huge_ready, plan.huge_room);
        }
        __syncthreads();
        if (m.control[0] == kNone) {
            return;
        }
        const u32* task = reinterpret_cast<const u32*>(plan.huge_tasks + m.control[0]);
        const u32 number = load_shared_word(task + 1);
        HugeWork& work = plan.huge_work[number];
        copy_in(words_of(s), words_of(work.state), kStateWords);
        Refinement r{load_shared_word(&work.refinement.slot_words), load_shared_word(&work.refinement.n_slots),
                     load_shared_word(&work.refinement.n_wanted)};
        __syncthreads();
        const Chunk chunk = chunk_of(s, number, load_shared_word(task));
        if (chunk.turn == kDivide) {
            divide_chunk(s, chunk);
        } else if (chunk.turn != kBegin) {
            count_chunk(s, m, chunk, r);
        }
        if (ends_turn(work, m.control + 1)) {
            if (chunk.turn == kDivide) {
                end_huge(s, chunk);
            } else {
                const u32 turn = decide(s, m, chunk, r);
                if (turn != kDone) {
                    begin_turn(s, chunk, r, turn);
                } else if (threadIdx.x == 0) {
                    write_leaf_record(s.task.record, s.task.count, s.task.weight);
                }
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            finish(&c->huge_pending, 1);
        }
    }
}
