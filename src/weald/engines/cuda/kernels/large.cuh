// Large nodes: a block divides one, in a persistent grid that takes nodes from a queue.

#pragma once

#include "bins.cuh"

#define LARGE_THREADS 512

// Fills the bins of the features of a round, then those inside of bins that could still win.
DEVICE void search_round(BlockState& s, const BinMemory& m, const Entry* entries, u32 thread, u32 n_threads) {
    const u32 lane = thread & 31, warp = thread / 32, n_warps = n_threads / 32;
    const u32 shift = widest_bin(s);
#pragma unroll 1
    for (u32 i = thread; i < s.n_features * (plan.n_classes << plan.bin_bits); i += n_threads) {
        m.bins[i] = 0;
    }
#pragma unroll 1
    for (u32 i = thread; i < s.n_features << plan.bin_bits; i += n_threads) {
        m.bound[i] = 0;
    }
    __syncthreads();
    Refinement r{0, 0, 0};
#pragma unroll 1
    for (bool is_fine = false;; is_fine = true) {
        fill(s, entries, 0, s.task.n_rows, FillTarget{m.bins, m.fine, m.slot, r.slot_words, is_fine}, thread,
             n_threads);
        __syncthreads();
#pragma unroll 1
        for (u32 x = warp; x < (is_fine ? r.n_slots : s.n_features); x += n_warps) {
            if (is_fine) {
                scan_slot(s, m, x, r.slot_words, lane);
            } else {
                scan_feature(s, m, x, lane);
            }
        }
        __syncthreads();
        if (is_fine) {
#pragma unroll 1
            for (u32 j = warp; j < s.n_features; j += n_warps) {
                if (s.refined[j]) {
                    join_slots(s, j, r.n_slots, lane);
                }
            }
            __syncthreads();
            if (r.n_slots == r.n_wanted) {
                return;
            }
        }
        if (shift == 0) {
            return;
        }
        r = choose_bins(s, m, shift, thread, n_threads);
        if (r.n_slots == 0) {
            return;
        }
#pragma unroll 1
        for (u32 i = thread; i < r.n_slots * r.slot_words; i += n_threads) {
            m.fine[i] = 0;
        }
        __syncthreads();
    }
}

// The best cut of the block's node.
DEVICE void search_node(BlockState& s, const BinMemory& m, const Entry* entries, u32 thread, u32 n_threads) {
    FeatureDraw draw;
    if (thread < 32) {
        draw = begin_draw(s.task.id, s.task.tree, thread);
    }
#pragma unroll 1
    for (;;) {
        if (thread < 32) {
            begin_round(s, draw, thread);
        }
        __syncthreads();
        if (s.n_features == 0) {
            return;
        }
        search_round(s, m, entries, thread, n_threads);
        __syncthreads();
        if (thread == 0) {
            end_round(s);
        }
        __syncthreads();
        if (s.found >= plan.max_features) {
            return;
        }
    }
}

DEVICE void divide_large(BlockState& s, const Entry* entries, u32 thread, u32 n_threads) {
    const u32 lane = thread & 31;
    if (thread == 0) {
        begin_partition(s);
    }
    __syncthreads();
    Entry* to = list_of(1 - s.task.list, s.task.begin);
    const Moved moved = partition(s, entries, to, 0, s.task.n_rows, s.cursor, thread / 32, n_threads / 32, lane);
    add_moved(s, moved, lane);
    __syncthreads();
    if (thread == 0) {
        write_large_split(s, decrease_of_best(s));
    }
    __syncthreads();
    if (thread < 2) {
        place_child(s.task, thread, s.cursor[0], s.pair + thread, thread ? s.right_count : s.left_count);
    }
    __syncthreads();
}

KERNEL(LARGE_THREADS, 2) grow_large() {
    SHARED_MEMORY(memory);
    BlockState& s = *reinterpret_cast<BlockState*>(memory);
    const BinMemory m = bin_memory(memory);
    Counters* c = plan.counters;
    const u32 thread = threadIdx.x;
#pragma unroll 1
    for (;;) {
        __syncthreads();
        if (thread == 0) {
            s.ticket = take(&c->large_head, &c->large_pending, plan.large_ready, plan.large_room);
            if (s.ticket != kNone) {
                s.task = plan.large_tasks[s.ticket];
                begin_node(s);
            }
        }
        __syncthreads();
        if (s.ticket == kNone) {
            return;
        }
        const Entry* entries = list_of(s.task.list, s.task.begin);
        search_node(s, m, entries, thread, LARGE_THREADS);
        __syncthreads();
        if (is_worth_it(s)) {
            divide_large(s, entries, thread, LARGE_THREADS);
        } else if (thread == 0) {
            write_leaf_record(s.task.record, s.task.count, s.task.weight);
        }
        if (thread == 0) {
            finish(&c->large_pending, 1);
        }
    }
}
